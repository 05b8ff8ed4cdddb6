// SPDX-License-Identifier: GPL-2.0

//! Time stamps: the time-of-day counter (TAI), stamps in receive descriptors, and the queues of
//! transmit stamps.
//!
//! A stamp is 32 bits: seconds modulo 4 in the top two, nanoseconds below.

use crate::{
    config::StampPop,
    host::{
        Host,
        Lock, //
    },
    regs,
    Device, //
};

const NS_PER_SEC: u64 = 1_000_000_000;
/// Entries of a transmit time-stamp queue.
const QUEUE: usize = 32;

const CR0_RUN: u32 = 1 << 0;
const TCFCR0_TRIGGER: u32 = 1 << 0;
const TCSR_CAPTURE_0: u32 = 1 << 0;

const GCR_TSU: u32 = 1 << 0;
const GCR_TX_RUN: u32 = 1 << 1;
const GCR_RX_RUN: u32 = 1 << 13;

/// `INT_CAUSE` bit of queue 0; queue 1 is the next.
const CAUSE_QUEUE: u32 = 5;

/// The time-of-day counter.
///
/// It gains the step registers' value with each cycle of a clock whose nominal period is 3 ns, so
/// a step of three nanoseconds makes it follow the host's clock.
#[derive(Default)]
pub(crate) struct Tai {
    running: bool,
    /// Host time at which the counter had the value below.
    base: u64,
    seconds: u64,
    nanos: u64,
    /// Signed adjustment of the step, in 2^-32 ns.
    adjust: i32,
    captured: bool,
}

impl Tai {
    /// Nominal clock period, in 2^-32 ns.
    const PERIOD: i64 = 3 << 32;

    /// Nanoseconds that the counter gains while the host's clock gains `elapsed`.
    ///
    /// The gain differs from `elapsed` by the ratio of step and period. 128-bit division is not
    /// to be had in a kernel; the ratio is computed by two divisions of 64 bits.
    fn gain(elapsed: u64, step: i64) -> u64 {
        let delta = step - Self::PERIOD;
        let (period, magnitude) = (Self::PERIOD as u64, delta.unsigned_abs());
        // The step registers have 48 bits; bound what they may ask for.
        let magnitude = magnitude.min(1 << 33);
        let (whole, rest) = ((magnitude << 30) / period, (magnitude << 30) % period);
        let ratio = (whole << 29) | ((rest << 29) / period);
        let extra = ((u128::from(elapsed) * u128::from(ratio)) >> 59) as u64;
        if delta < 0 {
            elapsed.saturating_sub(extra)
        } else {
            elapsed.saturating_add(extra)
        }
    }

    fn advance(&mut self, now: u64, step: i64) {
        if self.running {
            let gain = Self::gain(now.saturating_sub(self.base), step);
            self.add(gain / NS_PER_SEC, gain % NS_PER_SEC);
        }
        self.base = now;
    }

    fn add(&mut self, seconds: u64, nanos: u64) {
        let nanos = self.nanos + nanos % NS_PER_SEC;
        self.nanos = nanos % NS_PER_SEC;
        self.seconds = self
            .seconds
            .wrapping_add(seconds)
            .wrapping_add(nanos / NS_PER_SEC)
            & ((1 << 48) - 1);
    }

    fn sub(&mut self, seconds: u64, nanos: u64) {
        let nanos = nanos % NS_PER_SEC;
        let borrow = u64::from(nanos > self.nanos);
        self.nanos = self.nanos + borrow * NS_PER_SEC - nanos;
        self.seconds = self.seconds.wrapping_sub(seconds).wrapping_sub(borrow) & ((1 << 48) - 1);
    }
}

/// A transmit time stamp.
#[derive(Clone, Copy, Default)]
struct Stamp {
    id: u8,
    time: u32,
}

impl Stamp {
    /// Its three registers.
    fn register(self, n: u32) -> u32 {
        match n {
            0 => 1 | u32::from(self.id & 0x1f) << 1 | (self.time & 7) << 13,
            1 => self.time >> 3 & 0xffff,
            _ => self.time >> 19,
        }
    }
}

#[derive(Default)]
struct StampQueue {
    stamps: [Stamp; QUEUE],
    head: usize,
    len: usize,
    /// The stamp that R1 and R2 show once R0 has popped it.
    latch: Stamp,
}

impl StampQueue {
    fn push(&mut self, stamp: Stamp) {
        // A queue that nobody empties loses the new stamps.
        if self.len < QUEUE {
            self.stamps[(self.head + self.len) % QUEUE] = stamp;
            self.len += 1;
        }
    }

    fn pop(&mut self) {
        self.head = (self.head + 1) % QUEUE;
        self.len -= 1;
    }

    fn read(&mut self, n: u32, pop: StampPop) -> u32 {
        if pop == StampPop::AtR0 {
            if n != 0 {
                return self.latch.register(n);
            }
            if self.len == 0 {
                return 0;
            }
            self.latch = self.stamps[self.head];
            self.pop();
            return self.latch.register(0);
        }
        if self.len == 0 {
            return 0;
        }
        let value = self.stamps[self.head].register(n);
        if n == 2 {
            self.pop();
        }
        value
    }
}

/// The two transmit time-stamp queues of a port.
#[derive(Default)]
pub(crate) struct Stamps {
    queues: [StampQueue; 2],
}

/// What a transmit descriptor asks the time-stamp unit for.
#[derive(Clone, Copy)]
pub(crate) struct PtpCommand(u64);

impl PtpCommand {
    /// From the words of a descriptor: bits 11:0 are in word 2, 35:12 in word 5.
    pub(crate) fn new(words: &[u32; 8]) -> Self {
        Self(u64::from(words[2] & 0xfff) | u64::from(words[5] >> 8) << 12)
    }

    /// The queue and the entry id, if a stamp is to be captured.
    fn capture(self) -> Option<(usize, u8)> {
        let action = self.0 & 0xf;
        let capture = matches!(action, 3 | 6 | 7 | 9 | 10);
        let enabled = self.0 >> 11 & 1 != 0;
        (capture && enabled).then_some(((self.0 >> 18 & 1) as usize, (self.0 >> 12 & 0x1f) as u8))
    }
}

impl<H: Host> Device<H> {
    fn tai_step(&self, tai: &Tai) -> i64 {
        let half = |reg| i64::from(self.iface_reg(reg) & 0xffff);
        let frac = (half(regs::TAI_TOD_STEP_FRAC_HIGH) << 16 | half(regs::TAI_TOD_STEP_FRAC_LOW))
            as u32 as i32;
        (half(regs::TAI_TOD_STEP_NANO_CR) << 32) + i64::from(frac) + i64::from(tai.adjust)
    }

    fn tai_with<R>(&self, f: impl FnOnce(&mut Tai) -> R) -> R {
        self.tai.with(|tai| {
            let step = self.tai_step(tai);
            tai.advance(self.host.now(), step);
            f(tai)
        })
    }

    /// The time of day, as seconds and nanoseconds.
    pub fn time_of_day(&self) -> (u64, u32) {
        self.tai_with(|tai| (tai.seconds, tai.nanos as u32))
    }

    fn stamp(&self) -> u32 {
        let (seconds, nanos) = self.time_of_day();
        (seconds as u32) << 30 | nanos & 0x3fff_ffff
    }

    fn tai_operate(&self, function: u32) {
        let half = |reg| u64::from(self.iface_reg(reg) & 0xffff);
        let seconds = half(regs::TAI_TLV_SEC_HIGH) << 32
            | half(regs::TAI_TLV_SEC_MED) << 16
            | half(regs::TAI_TLV_SEC_LOW);
        let nanos = half(regs::TAI_TLV_NANO_HIGH) << 16 | half(regs::TAI_TLV_NANO_LOW);
        let frac = (half(regs::TAI_TLV_FRAC_HIGH) << 16 | half(regs::TAI_TLV_FRAC_LOW)) as u32;
        self.tai_with(|tai| match function {
            0 => {
                tai.seconds = seconds;
                tai.nanos = nanos % NS_PER_SEC;
            }
            1 => tai.adjust = frac as i32,
            2 => tai.add(seconds, nanos),
            3 => tai.sub(seconds, nanos),
            4 => {
                let values = [
                    (tai.seconds >> 32) as u32,
                    (tai.seconds >> 16) as u32,
                    tai.seconds as u32,
                    (tai.nanos >> 16) as u32,
                    tai.nanos as u32,
                    0,
                    0,
                ];
                for (n, value) in values.into_iter().enumerate() {
                    self.set_iface_reg(regs::TAI_TCV0_SEC_HIGH + 4 * n as u32, value & 0xffff);
                }
                tai.captured = true;
            }
            _ => (),
        });
    }

    pub(crate) fn tai_read(&self, offset: u32) -> u32 {
        match offset {
            regs::TAI_TCSR => self
                .tai
                .with(|tai| u32::from(tai.captured) * TCSR_CAPTURE_0),
            _ => self.iface_reg(offset),
        }
    }

    pub(crate) fn tai_write(&self, offset: u32, value: u32) {
        match offset {
            regs::TAI_CR0 => {
                let run = value & CR0_RUN != 0;
                self.tai_with(|tai| tai.running = run);
                self.set_iface_reg(offset, value);
            }
            regs::TAI_TCFCR0 => {
                self.set_iface_reg(offset, value & !TCFCR0_TRIGGER);
                if value & TCFCR0_TRIGGER != 0 {
                    self.tai_operate(value >> 2 & 7);
                }
            }
            regs::TAI_TOD_STEP_NANO_CR
            | regs::TAI_TOD_STEP_FRAC_HIGH
            | regs::TAI_TOD_STEP_FRAC_LOW => {
                // What has passed went by with the old step.
                self.tai_with(|_| self.set_iface_reg(offset, value & 0xffff));
            }
            _ => self.set_iface_reg(offset, value),
        }
    }

    fn ptp_gcr(&self, port: usize) -> u32 {
        self.config.gop.get(port).map_or(0, |gop| {
            self.iface_reg(regs::PTP_GCR + 0x1000 * (*gop as u32 & 3))
        })
    }

    /// Word 3 of a receive descriptor.
    pub(crate) fn ptp_receive_stamp(&self, port: usize) -> u32 {
        let on = GCR_TSU | GCR_RX_RUN;
        if self.ptp_gcr(port) & on == on {
            self.stamp()
        } else {
            0
        }
    }

    /// A frame has left; queues its time stamp if the descriptor asked for it.
    pub(crate) fn ptp_sent(&self, port: usize, command: PtpCommand) {
        let Some((queue, id)) = command.capture() else {
            return;
        };
        let on = GCR_TSU | GCR_TX_RUN;
        let Some(cell) = self.stamps.get(port) else {
            return;
        };
        if self.ptp_gcr(port) & on != on {
            return;
        }
        let time = self.stamp();
        cell.with(|stamps| stamps.queues[queue].push(Stamp { id, time }));
        self.update_link_line(port);
    }

    /// `PTP_INT_CAUSE`: queues that hold stamps.
    fn ptp_cause(&self, port: usize) -> u32 {
        self.stamps.get(port).map_or(0, |cell| {
            cell.with(|stamps| {
                u32::from(stamps.queues[0].len != 0) << CAUSE_QUEUE
                    | u32::from(stamps.queues[1].len != 0) << (CAUSE_QUEUE + 1)
            })
        })
    }

    /// Whether the time-stamp unit of a port asks for service.
    pub(crate) fn ptp_pending(&self, port: usize) -> bool {
        let gop = self.config.gop[port] as u32 & 3;
        self.ptp_cause(port) & self.iface_reg(regs::PTP_INT_MASK + 0x1000 * gop) != 0
    }

    /// Reads a register of the time-stamp unit, if `reg` is one that is not storage.
    pub(crate) fn ptp_read(&self, port: usize, reg: u32) -> Option<u32> {
        if reg == regs::PTP_INT_CAUSE {
            return Some(self.ptp_cause(port));
        }
        let n = regs::nth(reg, regs::PTP_TX_Q0_R0, 6)? as u32;
        let value = self.stamps[port]
            .with(|stamps| stamps.queues[n as usize / 3].read(n % 3, self.config.stamp_pop));
        self.update_link_line(port);
        Some(value)
    }

    /// Empties the transmit stamps of a port whose unit is held in reset.
    pub(crate) fn ptp_write(&self, port: usize, reg: u32, value: u32) {
        if reg == regs::PTP_GCR && value & GCR_TX_RUN == 0 {
            self.stamps[port].with(|stamps| *stamps = Stamps::default());
        }
    }

    pub(crate) fn tai_reset(&self) {
        self.tai.with(|tai| *tai = Tai::default());
    }
}
