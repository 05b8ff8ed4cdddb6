// SPDX-License-Identifier: GPL-2.0

//! Transmit queues: aggregated queues, the queues of the ports, reservations and completions.
//!
//! Drivers put descriptors into the aggregated queue of their thread and ring its doorbell. The
//! device moves complete packets from there to the ring, in memory, of the queue that the first
//! descriptor names. The thread is noted in the descriptor, because it is the one that is told
//! when the packet has left.

use core::sync::atomic::Ordering::SeqCst;

use crate::{
    host::{
        Host,
        Lock,
        Timer, //
    },
    hostile::Fault,
    regs,
    rxq::DESC_SIZE,
    Device,
    ADDR_MASK,
    THREADS,
    TXQS,
    TXQS_PER_PORT, //
};

/// Number of the first physical transmit queue of port 0.
pub const TXQ_FIRST: usize = 128;
const COUNT_MAX: u32 = 0x3fff;

const PREF_DRAIN: u32 = 1 << 31;
pub(crate) const DESC_LAST: u32 = 1 << 28;

/// The words of a descriptor.
pub(crate) type Words = [u32; 8];

pub(crate) fn words(bytes: &[u8; DESC_SIZE]) -> Words {
    let mut words = [0; 8];
    for (word, b) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    }
    words
}

/// An aggregated queue.
#[derive(Default)]
pub(crate) struct Aggregated {
    addr: u64,
    size: u32,
    /// The next descriptor to fetch. Drivers read it at probe and start there.
    index: u32,
    pending: u32,
}

impl Aggregated {
    fn slot(&self, n: u32) -> u64 {
        let index = (self.index + n) % self.size.max(1);
        self.addr.wrapping_add(u64::from(index) * DESC_SIZE as u64)
    }

    fn consume(&mut self, n: u32) {
        self.index = (self.index + n) % self.size.max(1);
        self.pending -= n;
    }
}

/// What a transmit queue knows of one thread.
#[derive(Clone, Copy, Default)]
struct Share {
    reserved: u32,
    sent: u32,
    thresh: u32,
    expired: bool,
    ready: bool,
}

/// A transmit queue.
#[derive(Default)]
pub(crate) struct TxQueue {
    addr: u64,
    size: u32,
    /// Where the next descriptor goes.
    index: u32,
    /// Where the next packet starts.
    head: u32,
    pending: u32,
    pref: u32,
    /// A packet of this queue is being sent; it stays pending until then.
    busy: bool,
    /// Changes when pending descriptors are thrown away under a packet being sent.
    generation: u32,
    shares: [Share; THREADS],
}

impl TxQueue {
    fn usable(&self) -> bool {
        self.addr != 0 && self.size != 0
    }

    /// Forgets what is pending, but for a packet that is on its way.
    fn discard(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.head = self.index;
        self.pending = u32::from(self.busy);
    }

    fn free(&self) -> u32 {
        let reserved = self
            .shares
            .iter()
            .fold(0u32, |sum, share| sum.saturating_add(share.reserved));
        self.size
            .saturating_sub(self.pending)
            .saturating_sub(reserved)
    }
}

/// A claim on the first pending packet of a queue.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    addr: u64,
    size: u32,
    head: u32,
    /// Descriptors the packet has at most.
    pub(crate) pending: u32,
    generation: u32,
}

impl Job {
    /// The address of descriptor `n` of the packet.
    pub(crate) fn slot(&self, n: u32) -> u64 {
        let index = self.head.wrapping_add(n) % self.size.max(1);
        self.addr.wrapping_add(u64::from(index) * DESC_SIZE as u64)
    }
}

impl<H: Host> Device<H> {
    pub(crate) fn read_desc(&self, addr: u64) -> Option<Words> {
        let mut bytes = [0; DESC_SIZE];
        self.host.dma_read(addr, &mut bytes).ok()?;
        Some(words(&bytes))
    }

    /// A thread rings its doorbell: `count` more descriptors are in its aggregated queue.
    pub(crate) fn aggr_doorbell(&self, thread: usize, count: u32) {
        let mut touched = 0u32;
        self.aggregated[thread].with(|a| {
            a.pending = (a.pending + (count & COUNT_MAX)).min(a.size);
            while a.pending > 0 {
                let Some(first) = self.read_desc(a.slot(0)) else {
                    a.consume(1);
                    continue;
                };
                let len = if first[0] & DESC_LAST != 0 {
                    1
                } else {
                    match self.packet_len(a) {
                        Some(len) => len,
                        None => break,
                    }
                };
                if let Some(queue) = self.enqueue(thread, a, &first, len) {
                    touched |= 1 << queue;
                }
                a.consume(len);
            }
        });
        while touched != 0 {
            let queue = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            while self.tx_serve(queue) {}
        }
    }

    /// Number of descriptors of the packet at the head of an aggregated queue, if it is complete.
    /// The rest of a packet may come with the next doorbell, unless the queue is full.
    fn packet_len(&self, a: &Aggregated) -> Option<u32> {
        for n in 1..a.pending {
            let mut word = [0; 4];
            let read = self.host.dma_read(a.slot(n), &mut word);
            if read.is_err() || u32::from_le_bytes(word) & DESC_LAST != 0 {
                return Some(n + 1);
            }
        }
        (a.pending >= a.size).then_some(a.pending)
    }

    /// Moves a packet to its transmit queue.
    fn enqueue(&self, thread: usize, a: &Aggregated, first: &Words, len: u32) -> Option<usize> {
        let queue = ((first[1] >> 8 & 0xff) as usize).checked_sub(TXQ_FIRST)?;
        let cell = self.txqs.get(queue)?;
        let counters = self.counters.tx(queue);
        cell.with(|q| {
            if !q.usable() || q.pending.saturating_add(len) > q.size {
                counters.full_drop.fetch_add(1, SeqCst);
                return None;
            }
            if self.draining(queue, q) {
                return None;
            }
            for n in 0..len {
                let mut desc = if n == 0 {
                    *first
                } else {
                    self.read_desc(a.slot(n))
                        .unwrap_or([DESC_LAST, 0, 0, 0, 0, 0, 0, 0])
                };
                desc[3] = desc[3] & 0x0fff_ffff | (thread as u32) << 28;
                let mut bytes = [0; DESC_SIZE];
                for (b, word) in bytes.chunks_exact_mut(4).zip(desc) {
                    b.copy_from_slice(&word.to_le_bytes());
                }
                let slot = u64::from(q.index % q.size) * DESC_SIZE as u64;
                let _ = self.host.dma_write(q.addr.wrapping_add(slot), &bytes);
                q.index = (q.index % q.size + 1) % q.size;
            }
            q.pending += len;
            let reserved = &mut q.shares[thread].reserved;
            *reserved = reserved.saturating_sub(len);
            counters.enqueued.fetch_add(len, SeqCst);
            counters.to_ddr.fetch_add(len, SeqCst);
            Some(queue)
        })
    }

    /// Whether a queue throws away what it is given.
    fn draining(&self, queue: usize, q: &TxQueue) -> bool {
        q.pref & PREF_DRAIN != 0
            || self.reg(regs::TX_PORT_FLUSH) >> (queue / TXQS_PER_PORT) & 1 != 0
    }

    /// Claims the first packet of a queue, if it may be sent and nobody else is at it.
    pub(crate) fn tx_claim(&self, queue: usize) -> Option<Job> {
        if !self.tx_allowed(queue) {
            return None;
        }
        self.txqs.get(queue)?.with(|q| {
            if q.busy || q.pending == 0 || !q.usable() || self.draining(queue, q) {
                return None;
            }
            q.busy = true;
            Some(Job {
                addr: q.addr,
                size: q.size,
                head: q.head,
                pending: q.pending,
                generation: q.generation,
            })
        })
    }

    /// The packet of a claim has left, or is lost: `count` descriptors of `thread` are done.
    pub(crate) fn tx_complete(&self, queue: usize, job: &Job, count: u32, thread: usize) {
        let thread = thread % THREADS;
        let count = if self.hostile.take(Fault::DuplicateTx) {
            count.saturating_mul(2)
        } else {
            count
        };
        let lost = self.hostile.take(Fault::LostTx);
        self.txq_change(queue, thread, |q| {
            q.busy = false;
            if q.generation != job.generation {
                q.pending = q.pending.saturating_sub(1);
                return;
            }
            let done = count.min(q.pending);
            q.pending -= done;
            q.head = (q.head.wrapping_add(done)) % q.size.max(1);
            if !lost {
                let share = &mut q.shares[thread];
                share.sent = share.sent.saturating_add(count).min(COUNT_MAX);
            }
        });
    }

    /// Changes a queue and lets the interrupt of a thread follow.
    fn txq_change<R>(
        &self,
        queue: usize,
        thread: usize,
        f: impl FnOnce(&mut TxQueue) -> R,
    ) -> Option<R> {
        let port = queue / TXQS_PER_PORT;
        let (result, changed, wait) = self.txqs.get(queue)?.with(|q| {
            let result = f(q);
            let time = self.reg(regs::ISR_TX_THRESHOLD + 4 * port as u32);
            let share = &mut q.shares[thread];
            if share.sent == 0 {
                share.expired = false;
            } else if time == 0 && self.config.time_zero_is_now {
                share.expired = true;
            }
            let ready =
                share.sent > 0 && (share.expired || self.config.reaches(share.sent, share.thresh));
            let changed = ready != share.ready;
            if changed {
                share.ready = ready;
                self.set_tx_ready(queue, thread, ready);
            }
            (result, changed, (share.sent > 0 && !ready).then_some(time))
        });
        if changed {
            self.update_hif(port, thread);
        }
        if let Some(time) = wait {
            // One timer serves all queues of a port and thread; it runs from the first of them.
            if !self.tx_timers[port][thread].swap(true, SeqCst) {
                let period = self.config.cycles_to_ns(time);
                let due = self.host.now().saturating_add(period);
                self.host.arm(Timer::Tx { port, thread }, due);
            }
        }
        Some(result)
    }

    /// The coalescing timer of a port and thread has run out.
    pub(crate) fn txq_timer(&self, port: usize, thread: usize) {
        self.tx_timers[port][thread].store(false, SeqCst);
        for queue in port * TXQS_PER_PORT..(port + 1) * TXQS_PER_PORT {
            self.txq_change(queue, thread, |q| {
                let share = &mut q.shares[thread];
                share.expired = share.sent > 0;
            });
        }
    }

    /// The time threshold of a port was written: what waits now waits by the new time.
    pub(crate) fn txq_time_changed(&self, port: usize) {
        for thread in 0..THREADS {
            self.tx_timers[port][thread].store(false, SeqCst);
            for queue in port * TXQS_PER_PORT..(port + 1) * TXQS_PER_PORT {
                self.txq_change(queue, thread, |_| ());
            }
        }
    }

    /// `TXQ_SENT`: how many descriptors of this thread have gone since it last asked.
    pub(crate) fn txq_sent(&self, queue: usize, thread: usize) -> u32 {
        let sent = self.txq_change(queue, thread, |q| {
            core::mem::take(&mut q.shares[thread].sent)
        });
        sent.unwrap_or(0) << 16
    }

    /// A thread asks for room in a queue.
    pub(crate) fn txq_reserve(&self, thread: usize, value: u32) {
        let count = value & COUNT_MAX;
        let queue = ((value >> 16 & 0xff) as usize).checked_sub(TXQ_FIRST);
        let granted = queue.and_then(|queue| self.txqs.get(queue)).map(|cell| {
            cell.with(|q| {
                let mut granted = count.min(q.free());
                if self.hostile.take(Fault::ShortReservation) {
                    granted = granted.min(self.hostile.value(Fault::ShortReservation));
                }
                q.shares[thread].reserved += granted;
                granted
            })
        });
        let result = &self.threads[thread].reserved;
        result.store(granted.unwrap_or(0), SeqCst);
    }

    /// A thread gives its reservations in a queue back.
    pub(crate) fn txq_reserve_clear(&self, thread: usize, value: u32) {
        if let Some(queue) = ((value >> 16 & 0xff) as usize).checked_sub(TXQ_FIRST) {
            if let Some(cell) = self.txqs.get(queue) {
                cell.with(|q| q.shares[thread].reserved = 0);
            }
        }
    }

    pub(crate) fn txq_reg(&self, queue: Option<usize>, thread: usize, reg: TxReg) -> u32 {
        let Some(cell) = queue.and_then(|queue| self.txqs.get(queue)) else {
            return 0;
        };
        cell.with(|q| match reg {
            TxReg::Addr => q.addr as u32,
            TxReg::AddrHigh => (q.addr >> 32) as u32,
            TxReg::Size => q.size,
            TxReg::Index => q.index,
            TxReg::Pref => q.pref,
            TxReg::Thresh => q.shares[thread].thresh << 16,
            TxReg::Pending if self.hostile.take(Fault::StuckDrain) => {
                self.hostile.value(Fault::StuckDrain) & COUNT_MAX
            }
            TxReg::Pending => q.pending.min(COUNT_MAX),
        })
    }

    pub(crate) fn txq_set_reg(&self, queue: Option<usize>, thread: usize, reg: TxReg, value: u32) {
        let Some(queue) = queue else {
            return;
        };
        self.txq_change(queue, thread, |q| match reg {
            TxReg::Addr | TxReg::AddrHigh => {
                q.discard();
                let mask = if reg == TxReg::Addr {
                    0xffff_ffff
                } else {
                    0xff << 32
                };
                let value = match reg {
                    TxReg::Addr => u64::from(value),
                    _ => u64::from(value) << 32,
                };
                q.addr = (q.addr & !mask | value & mask) & ADDR_MASK;
                // A new ring, or none: what was reserved in the old one is void.
                for share in &mut q.shares {
                    share.reserved = 0;
                }
            }
            TxReg::Size => {
                q.size = value & 0x3ff0;
                q.index %= q.size.max(1);
                q.discard();
            }
            TxReg::Index => {
                q.index = (value & COUNT_MAX) % q.size.max(1);
                q.discard();
            }
            TxReg::Pref => {
                q.pref = value;
                if value & PREF_DRAIN != 0 {
                    q.discard();
                }
            }
            TxReg::Thresh => q.shares[thread].thresh = value >> 16 & COUNT_MAX,
            // Linux writes the count back as zero when it sets a queue up.
            TxReg::Pending if value & COUNT_MAX == 0 => q.discard(),
            TxReg::Pending => (),
        });
    }

    /// `TX_PORT_FLUSH` was written: throws away what the flushed ports have pending.
    pub(crate) fn tx_flush(&self, ports: u32) {
        for (queue, cell) in self.txqs.iter().enumerate() {
            if ports >> (queue / TXQS_PER_PORT) & 1 != 0 {
                cell.with(TxQueue::discard);
            }
        }
    }

    pub(crate) fn aggr_reg(&self, thread: usize, reg: AggrReg) -> u32 {
        self.aggregated.get(thread).map_or(0, |cell| {
            cell.with(|a| match reg {
                AggrReg::Addr => (a.addr >> 8) as u32,
                AggrReg::Size => a.size,
                AggrReg::Status => a.pending,
                AggrReg::Index => a.index,
            })
        })
    }

    pub(crate) fn aggr_set_reg(&self, thread: usize, reg: AggrReg, value: u32) {
        let Some(cell) = self.aggregated.get(thread) else {
            return;
        };
        cell.with(|a| match reg {
            // The index survives: a driver that comes back continues where the device is.
            AggrReg::Addr => {
                a.addr = u64::from(value) << 8 & ADDR_MASK;
                a.pending = 0;
            }
            AggrReg::Size => {
                a.size = value & 0x3ff0;
                a.pending = 0;
                a.index %= a.size.max(1);
            }
            AggrReg::Status | AggrReg::Index => (),
        });
    }

    pub(crate) fn tx_reset(&self) {
        for cell in self.aggregated.iter() {
            cell.with(|a| *a = Aggregated::default());
        }
        for queue in 0..TXQS {
            self.txqs[queue].with(|q| {
                // A packet on its way completes into the void.
                let (busy, generation) = (q.busy, q.generation);
                *q = TxQueue {
                    busy,
                    generation,
                    ..TxQueue::default()
                };
                q.discard();
            });
            for thread in 0..THREADS {
                self.set_tx_ready(queue, thread, false);
            }
        }
    }
}

/// Registers that a transmit queue keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TxReg {
    Addr,
    AddrHigh,
    Size,
    Index,
    Pref,
    Thresh,
    Pending,
}

/// Registers that an aggregated queue keeps.
#[derive(Clone, Copy)]
pub(crate) enum AggrReg {
    Addr,
    Size,
    Status,
    Index,
}
