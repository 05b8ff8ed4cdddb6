// SPDX-License-Identifier: GPL-2.0

//! Misbehaviour on request, to test what drivers do with hardware they cannot trust.
//!
//! Nothing happens unless the host asks for it. Each fault has a count, how many times it strikes,
//! and a value that says how. The normal path pays one relaxed load.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

/// A way to misbehave. The comment says what the value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A receive descriptor names the pool in the value's low four bits.
    PoolId,
    /// A receive descriptor carries the value as its cookie, extended by `0xff << 32`.
    Cookie,
    /// A receive descriptor carries the value as its address.
    Address,
    /// A receive descriptor's byte count is the value (0, 65535, ...).
    Length,
    /// A receive descriptor has its error summary set, with the value as error code.
    ErrorBits,
    /// A receive descriptor claims to be a buffer header.
    BufferHeader,
    /// A received packet is reported twice, with the same buffer.
    DuplicateRx,
    /// `RXQ_STATUS` reports the value more than there is (wrapping in its 14 bits).
    OccupiedCount,
    /// Pool counts are off by the value.
    PoolCount,
    /// A receiving queue finds its pool dry.
    PoolDry,
    /// A sent packet's descriptors are counted twice.
    DuplicateTx,
    /// A sent packet's descriptors are not counted.
    LostTx,
    /// Reservations are granted in part: the value is the grant.
    ShortReservation,
    /// A rising edge of an interrupt line is swallowed; the line stays low until the next change.
    LostInterrupt,
    /// `TXQ_PENDING` stays at the value, however the queue is drained.
    StuckDrain,
    /// Frames arrive with a bad check sequence.
    BadCrc,
}

impl Fault {
    /// Number of faults.
    pub const COUNT: usize = 16;
}

/// Which faults are still to strike.
#[derive(Default)]
pub struct Hostile {
    /// Number of faults whose count is not zero; keeps the well-behaved path short.
    armed: AtomicU32,
    left: [AtomicU32; Fault::COUNT],
    value: [AtomicU32; Fault::COUNT],
}

impl Hostile {
    /// Makes `fault` strike the next `times` times, with the given value. Zero times makes the
    /// device behave again.
    pub fn inject(&self, fault: Fault, times: u32, value: u32) {
        self.value[fault as usize].store(value, Relaxed);
        self.left[fault as usize].store(times, Relaxed);
        let armed = self.left.iter().filter(|n| n.load(Relaxed) != 0).count();
        self.armed.store(armed as u32, Relaxed);
    }

    /// How often `fault` is still to strike.
    pub fn left(&self, fault: Fault) -> u32 {
        self.left[fault as usize].load(Relaxed)
    }

    /// Behaves from now on.
    pub fn clear(&self) {
        self.armed.store(0, Relaxed);
        for n in &self.left {
            n.store(0, Relaxed);
        }
    }

    pub(crate) fn value(&self, fault: Fault) -> u32 {
        self.value[fault as usize].load(Relaxed)
    }

    /// Whether `fault` strikes now; if so it has one time less left.
    pub(crate) fn take(&self, fault: Fault) -> bool {
        if self.armed.load(Relaxed) == 0 {
            return false;
        }
        self.left[fault as usize]
            .fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1))
            .is_ok()
    }
}
