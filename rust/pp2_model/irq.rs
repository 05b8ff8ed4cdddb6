// SPDX-License-Identifier: GPL-2.0

//! Interrupt causes, masks and lines.
//!
//! Causes are levels, not latches: the queues say what is ready, in atomic words, and a line is a
//! function of them. [`Device::update_hif`] computes it under the line's own lock after every
//! change of an input, so whoever computes last sees all changes and the host's line never sticks
//! at an old level.

use core::sync::atomic::{
    AtomicU32,
    Ordering::{
        Relaxed,
        SeqCst, //
    },
};

use crate::{
    host::{
        Host,
        Line,
        Lock, //
    },
    hostile::Fault,
    trace::Event,
    Device,
    PORTS,
    RXQS_PER_PORT,
    THREADS,
    TXQS_PER_PORT, //
};

/// Summary bits of the cause register that only faults set.
pub const CAUSE_MISC: u32 = 1 << 31;

/// Interrupt state of one port.
#[derive(Default)]
pub(crate) struct PortIrq {
    /// One bit for each receive queue that wants service.
    rx_ready: AtomicU32,
    /// The same for transmit queues, of each thread.
    tx_ready: [AtomicU32; THREADS],
    /// Bits 31:24 of the cause register.
    misc: [AtomicU32; THREADS],
    mask: [AtomicU32; THREADS],
    /// Threads whose line may rise.
    enable: AtomicU32,
    /// First queue and number of queues that a thread's cause register shows.
    group: [AtomicU32; THREADS],
}

impl PortIrq {
    pub(crate) fn reset(&self) {
        self.rx_ready.store(0, SeqCst);
        self.enable.store(0, SeqCst);
        for table in [&self.tx_ready, &self.misc, &self.mask, &self.group] {
            for word in table {
                word.store(0, SeqCst);
            }
        }
    }

    /// Shift and mask that turn `rx_ready` into a thread's cause bits.
    fn window(&self, thread: usize) -> (u32, u32) {
        let group = self.group[thread].load(Relaxed);
        let size = (group >> 8 & 0xf).min(8);
        (group & 0x1f, (1 << size) - 1)
    }

    fn cause(&self, thread: usize) -> u32 {
        let (start, mask) = self.window(thread);
        (self.rx_ready.load(SeqCst) >> start & mask)
            | self.tx_ready[thread].load(SeqCst) << 16
            | self.misc[thread].load(SeqCst)
    }

    fn level(&self, thread: usize) -> bool {
        self.enable.load(SeqCst) >> thread & 1 != 0
            && self.cause(thread) & self.mask[thread].load(SeqCst) != 0
    }
}

/// The level of a line.
#[derive(Default)]
pub(crate) struct LineState {
    high: bool,
    /// What the host was told; another level only if a rising edge was lost on purpose.
    told: bool,
}

impl<H: Host> Device<H> {
    /// Tells the host of a line's level if it has changed.
    pub(crate) fn update_line(&self, line: Line, level: impl FnOnce() -> bool) {
        self.lines[line.index()].with(|state| {
            let high = level();
            if state.high == high {
                return;
            }
            state.high = high;
            if state.told == high || high && self.hostile.take(Fault::LostInterrupt) {
                return;
            }
            state.told = high;
            if H::TRACE {
                self.host.trace(&Event::Line(line, high));
            }
            self.host.set_line(line, high);
        });
    }

    pub(crate) fn update_hif(&self, port: usize, thread: usize) {
        self.update_line(Line::Hif { port, thread }, || self.irqs[port].level(thread));
    }

    /// A receive queue has become ready or idle. Called with the queue locked; the caller updates
    /// the lines afterwards, see [`Device::update_rx_lines`].
    pub(crate) fn set_rx_ready(&self, queue: usize, ready: bool) {
        let word = &self.irqs[queue / RXQS_PER_PORT].rx_ready;
        let bit = 1 << (queue % RXQS_PER_PORT);
        if ready {
            word.fetch_or(bit, SeqCst);
        } else {
            word.fetch_and(!bit, SeqCst);
        }
    }

    /// Updates the lines of all threads that see a receive queue.
    pub(crate) fn update_rx_lines(&self, queue: usize) {
        let (port, q) = (queue / RXQS_PER_PORT, (queue % RXQS_PER_PORT) as u32);
        for thread in 0..THREADS {
            let (start, mask) = self.irqs[port].window(thread);
            if q >= start && (mask >> (q - start)) & 1 != 0 {
                self.update_hif(port, thread);
            }
        }
    }

    /// A transmit queue has, or no longer has, enough sent descriptors of a thread. Called with
    /// the queue locked; the caller updates the line afterwards.
    pub(crate) fn set_tx_ready(&self, queue: usize, thread: usize, ready: bool) {
        let word = &self.irqs[queue / TXQS_PER_PORT].tx_ready[thread];
        let bit = 1 << (queue % TXQS_PER_PORT);
        if ready {
            word.fetch_or(bit, SeqCst);
        } else {
            word.fetch_and(!bit, SeqCst);
        }
    }

    pub(crate) fn irq_cause(&self, port: usize, thread: usize) -> u32 {
        self.irqs[port].cause(thread)
    }

    /// A write to the cause register clears the summary bits that are written as zero.
    pub(crate) fn irq_write_cause(&self, port: usize, thread: usize, value: u32) {
        self.irqs[port].misc[thread].fetch_and(value, SeqCst);
        self.update_hif(port, thread);
    }

    pub(crate) fn irq_mask(&self, port: usize, thread: usize) -> u32 {
        self.irqs[port].mask[thread].load(SeqCst)
    }

    pub(crate) fn irq_set_mask(&self, port: usize, thread: usize, value: u32) {
        self.irqs[port].mask[thread].store(value, SeqCst);
        self.update_hif(port, thread);
    }

    pub(crate) fn irq_enable(&self, port: usize) -> u32 {
        self.irqs[port].enable.load(SeqCst)
    }

    /// The enable register takes threads to enable in its low half, to disable in its high half.
    pub(crate) fn irq_write_enable(&self, port: usize, value: u32) {
        let (on, off) = (value & 0xffff, value >> 16);
        // Not one update but two: nobody else changes the bits of this thread.
        let enable = &self.irqs[port].enable;
        enable.fetch_or(on, SeqCst);
        enable.fetch_and(!off, SeqCst);
        for thread in 0..THREADS {
            if (on | off) >> thread & 1 != 0 {
                self.update_hif(port, thread);
            }
        }
    }

    pub(crate) fn irq_group(&self, index: u32) -> u32 {
        let (thread, port) = Self::group_index(index);
        match self.irqs.get(port) {
            Some(irq) if thread < THREADS => irq.group[thread].load(Relaxed),
            _ => 0,
        }
    }

    pub(crate) fn irq_set_group(&self, index: u32, value: u32) {
        let (thread, port) = Self::group_index(index);
        if port < PORTS && thread < THREADS {
            self.irqs[port].group[thread].store(value & 0xf1f, Relaxed);
            self.update_hif(port, thread);
        }
    }

    fn group_index(index: u32) -> (usize, usize) {
        ((index & 0xf) as usize, (index >> 7 & 7) as usize)
    }

    /// Raises a thread's line without any reason, as faulty hardware would: sets the summary bit
    /// of the cause register until the driver clears it.
    pub fn spurious_interrupt(&self, port: usize, thread: usize) {
        if port < PORTS && thread < THREADS {
            self.irqs[port].misc[thread].fetch_or(CAUSE_MISC, SeqCst);
            self.update_hif(port, thread);
        }
    }

    pub(crate) fn irq_clear_misc(&self) {
        for (port, irq) in self.irqs.iter().enumerate() {
            for (thread, misc) in irq.misc.iter().enumerate() {
                if misc.swap(0, SeqCst) != 0 {
                    self.update_hif(port, thread);
                }
            }
        }
    }
}
