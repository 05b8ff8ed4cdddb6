// SPDX-License-Identifier: GPL-2.0

//! Receive queues: rings of descriptors, their counts, thresholds and timers.

use crate::{
    host::{
        Host,
        Lock,
        Timer, //
    },
    hostile::Fault,
    Device,
    ADDR_MASK, //
};

/// Largest value of the 14-bit counts.
const COUNT_MAX: u32 = 0x3fff;
const CONFIG_DISABLE: u32 = 1 << 31;

/// Bytes of a descriptor, receive or transmit.
pub(crate) const DESC_SIZE: usize = 32;

/// One receive queue.
#[derive(Default)]
pub(crate) struct RxQueue {
    config: u32,
    addr: u64,
    size: u32,
    index: u32,
    thresh: u32,
    /// `ISR_RX_THRESHOLD`, in clock cycles.
    time: u32,
    occupied: u32,
    free: u32,
    /// When packets became pending, or the driver last took some.
    since: u64,
    /// The time threshold has run out for the pending packets.
    expired: bool,
    /// The host holds a timer for this queue.
    armed: bool,
    ready: bool,
}

/// What the receive path needs to know before it fetches a buffer.
#[derive(Clone, Copy)]
pub(crate) struct RxTarget {
    pub(crate) short: usize,
    pub(crate) long: usize,
    /// Bytes before the Marvell header.
    pub(crate) offset: usize,
}

/// Why a queue takes no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Disabled,
    Full,
}

impl RxQueue {
    fn target(&self) -> Result<RxTarget, Refusal> {
        if self.config & CONFIG_DISABLE != 0 || self.addr == 0 || self.size == 0 {
            return Err(Refusal::Disabled);
        }
        if self.free == 0 {
            return Err(Refusal::Full);
        }
        Ok(RxTarget {
            short: (self.config >> 20 & 0xf) as usize,
            long: (self.config >> 24 & 0xf) as usize,
            offset: (self.config >> 28 & 7) as usize * 32,
        })
    }

    /// Accounts for one more packet and returns where its descriptor goes.
    fn next(&self) -> u64 {
        let index = self.index % self.size.max(1);
        self.addr.wrapping_add(u64::from(index) * DESC_SIZE as u64)
    }
}

impl<H: Host> Device<H> {
    /// Recomputes whether a queue wants service and starts its timer. Returns whether that
    /// changed. Called with the queue locked.
    fn rxq_evaluate(&self, queue: usize, q: &mut RxQueue) -> bool {
        let mut ready = false;
        if q.occupied > 0 {
            let period = self.config.cycles_to_ns(q.time);
            if q.time == 0 && self.config.time_zero_is_now {
                q.expired = true;
            } else if !q.armed && !q.expired {
                q.armed = true;
                self.host
                    .arm(Timer::Rx { queue }, q.since.saturating_add(period));
            }
            ready = q.expired || self.config.reaches(q.occupied, q.thresh & COUNT_MAX);
        } else {
            q.expired = false;
        }
        let changed = ready != q.ready;
        if changed {
            q.ready = ready;
            self.set_rx_ready(queue, ready);
        }
        changed
    }

    /// Changes a queue under its lock and lets interrupts follow.
    fn rxq_change<R>(&self, queue: usize, f: impl FnOnce(&mut RxQueue) -> R) -> Option<R> {
        let (result, changed) = self.rxqs.get(queue)?.with(|q| {
            let result = f(q);
            (result, self.rxq_evaluate(queue, q))
        });
        if changed {
            self.update_rx_lines(queue);
        }
        Some(result)
    }

    /// Whether a queue would take a packet now, and how.
    pub(crate) fn rxq_target(&self, queue: usize) -> Result<RxTarget, Refusal> {
        match self.rxqs.get(queue) {
            Some(cell) => cell.with(|q| q.target()),
            None => Err(Refusal::Disabled),
        }
    }

    /// Writes `desc` into the ring and reports it `times` times. The queue may have been disabled
    /// while the frame was copied; then nothing is written. This, and not the check before the
    /// copy, is what drivers rely on when they free a ring.
    pub(crate) fn rxq_deliver(
        &self,
        queue: usize,
        desc: &[u8; DESC_SIZE],
        times: u32,
    ) -> Result<(), Refusal> {
        self.rxq_change(queue, |q| {
            for n in 0..times {
                match q.target() {
                    Ok(_) => (),
                    Err(_) if n > 0 => break,
                    Err(refusal) => return Err(refusal),
                }
                // A ring that is not memory swallows the packet. The driver sees stale contents.
                let _ = self.host.dma_write(q.next(), desc);
                if q.occupied == 0 {
                    q.since = self.host.now();
                }
                q.index = (q.index.wrapping_add(1)) % q.size;
                q.free -= 1;
                q.occupied = (q.occupied + 1).min(COUNT_MAX);
            }
            Ok(())
        })
        .unwrap_or(Err(Refusal::Disabled))
    }

    pub(crate) fn rxq_status(&self, queue: usize) -> u32 {
        let Some(cell) = self.rxqs.get(queue) else {
            return 0;
        };
        let (occupied, free) = cell.with(|q| (q.occupied, q.free));
        let occupied = if self.hostile.take(Fault::OccupiedCount) {
            occupied.wrapping_add(self.hostile.value(Fault::OccupiedCount)) & COUNT_MAX
        } else {
            occupied
        };
        occupied | free << 16
    }

    /// Zero clears both counts. Other values are not defined; they set them.
    pub(crate) fn rxq_set_status(&self, queue: usize, value: u32) {
        self.rxq_change(queue, |q| {
            q.occupied = value & COUNT_MAX;
            q.free = value >> 16 & COUNT_MAX;
            q.expired = false;
            q.since = self.host.now();
        });
    }

    /// The driver has taken packets and given descriptors.
    pub(crate) fn rxq_update(&self, queue: usize, value: u32) {
        self.rxq_change(queue, |q| {
            let processed = value & COUNT_MAX;
            q.occupied = q.occupied.saturating_sub(processed);
            q.free = (q.free + (value >> 16 & COUNT_MAX)).min(COUNT_MAX);
            if processed != 0 {
                // What remains waits for the threshold or its own time.
                q.expired = false;
                q.since = self.host.now();
            }
        });
    }

    pub(crate) fn rxq_reg(&self, queue: usize, reg: RxReg) -> u32 {
        self.rxqs.get(queue).map_or(0, |cell| {
            cell.with(|q| match reg {
                RxReg::Config => q.config,
                RxReg::Addr => (q.addr >> 8) as u32,
                RxReg::Size => q.size,
                RxReg::Index => q.index,
                RxReg::Thresh => q.thresh,
                RxReg::Time => q.time,
            })
        })
    }

    pub(crate) fn rxq_set_reg(&self, queue: usize, reg: RxReg, value: u32) {
        self.rxq_change(queue, |q| match reg {
            RxReg::Config => q.config = value,
            RxReg::Addr => q.addr = u64::from(value) << 8 & ADDR_MASK,
            RxReg::Size => q.size = value & 0x3ff0,
            RxReg::Index => q.index = value & COUNT_MAX,
            RxReg::Thresh => q.thresh = value & 0x3fff_3fff,
            RxReg::Time => {
                q.time = value & 0xff_ffff;
                // What waits now waits by the new time.
                q.armed = false;
            }
        });
    }

    /// The coalescing timer of a queue has run out, perhaps for packets that are gone.
    pub(crate) fn rxq_timer(&self, queue: usize) {
        self.rxq_change(queue, |q| {
            q.armed = false;
            if q.occupied > 0 {
                let due = q.since.saturating_add(self.config.cycles_to_ns(q.time));
                // Too early for what waits now: evaluation arms the timer again.
                q.expired |= self.host.now() >= due;
            }
        });
    }

    pub(crate) fn rxq_reset(&self, queue: usize) {
        self.rxq_change(queue, |q| *q = RxQueue::default());
        self.set_rx_ready(queue, false);
    }
}

/// Registers that a receive queue keeps.
#[derive(Clone, Copy)]
pub(crate) enum RxReg {
    Config,
    Addr,
    Size,
    Index,
    Thresh,
    Time,
}
