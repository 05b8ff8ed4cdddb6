// SPDX-License-Identifier: GPL-2.0

//! Transmit scheduler registers, banked by port.
//!
//! The rates and token buckets are storage: a queue that is enabled sends at once. What matters is
//! which queues are enabled.

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
        Storage, //
    },
    regs,
    Device,
    PORTS, //
};

/// Egress port number of port 0.
const EGRESS_FIRST: u32 = 16;
/// Banked registers end before this one.
const BANK_END: u32 = 0x80a0;
const WORDS: usize = (BANK_END - regs::TXP_SCHED_Q_CMD) as usize / 4;

/// The banks of all ports.
pub(crate) struct Scheduler<S: Storage> {
    words: S::List<AtomicU32>,
    enabled: [AtomicU32; PORTS],
}

impl<S: Storage> Scheduler<S> {
    pub(crate) fn new(storage: &S) -> Result<Self, S::Error> {
        Ok(Self {
            words: storage.list(PORTS * WORDS, |_| Ok(AtomicU32::new(0)))?,
            enabled: Default::default(),
        })
    }

    pub(crate) fn reset(&self) {
        for word in self.words.iter().chain(&self.enabled) {
            word.store(0, SeqCst);
        }
    }

    fn word(&self, port: usize, offset: u32) -> &AtomicU32 {
        let word = (offset - regs::TXP_SCHED_Q_CMD) as usize / 4;
        &self.words[port % PORTS * WORDS + word % WORDS]
    }
}

impl<H: Host> Device<H> {
    /// Whether `offset` is a banked register.
    pub(crate) fn sched_owns(offset: u32) -> bool {
        (regs::TXP_SCHED_Q_CMD..BANK_END).contains(&offset)
    }

    /// The selected port. Other egress ports than the four do not exist.
    fn sched_port(&self) -> Option<usize> {
        let index = self
            .reg(regs::TXP_SCHED_PORT_INDEX)
            .checked_sub(EGRESS_FIRST)? as usize;
        (index < PORTS).then_some(index)
    }

    /// The queues of a port that may send, one bit each.
    pub(crate) fn sched_enabled(&self, port: usize) -> u32 {
        self.sched
            .enabled
            .get(port)
            .map_or(0, |word| word.load(SeqCst))
    }

    pub(crate) fn sched_read(&self, offset: u32) -> u32 {
        match (self.sched_port(), offset) {
            (None, _) => 0,
            (Some(port), regs::TXP_SCHED_Q_CMD) => self.sched_enabled(port),
            (Some(port), _) => self.sched.word(port, offset).load(Relaxed),
        }
    }

    pub(crate) fn sched_write(&self, offset: u32, value: u32) {
        let Some(port) = self.sched_port() else {
            return;
        };
        if offset != regs::TXP_SCHED_Q_CMD {
            self.sched.word(port, offset).store(value, Relaxed);
            return;
        }
        // Commands: enable the queues of the low byte, disable those of the next.
        let enabled = &self.sched.enabled[port];
        enabled.fetch_or(value & 0xff, SeqCst);
        enabled.fetch_and(!(value >> 8 & 0xff), SeqCst);
        if value & 0xff != 0 {
            self.tx_kick(port);
        }
    }
}
