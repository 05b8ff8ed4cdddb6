// SPDX-License-Identifier: GPL-2.0

//! The world around the packet processor, as the traits a host implements.
//!
//! The model calls [`Dma`], [`Lines`], [`Clock`], [`Wire`] and [`Trace`] while it runs, and
//! [`Storage`] only from [`Device::new`](crate::Device::new). All of them take `&self`: several
//! CPUs may be inside the model at once.
//!
//! # Rules for implementations
//!
//! - [`Lines::set_line`] and [`Clock::arm`] are called with a lock of the model held. They record
//!   or forward; they must not call back into the model, not even through an interrupt handler
//!   that runs before they return.
//! - [`Dma`] may be called with a lock of the model held and must not sleep.
//! - [`Wire::transmit`] is called without any lock of the model held.

use core::{
    fmt,
    ops::Deref, //
};

/// A DMA access that no memory answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DmaError;

/// Memory as the device sees it.
pub trait Dma {
    /// Fills `buf` from bus address `addr`. The range may be anything a driver can write into a
    /// register or a descriptor; whatever is not memory is an error.
    fn dma_read(&self, addr: u64, buf: &mut [u8]) -> Result<(), DmaError>;

    /// Writes `buf` to bus address `addr`, in order with earlier writes of the same CPU.
    fn dma_write(&self, addr: u64, buf: &[u8]) -> Result<(), DmaError>;
}

/// A level-triggered, active-high interrupt output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Queue interrupt of a (port, thread) pair; the device tree calls it `hif<thread>`.
    Hif {
        /// Port id.
        port: usize,
        /// Software thread.
        thread: usize,
    },
    /// Link and time-stamp interrupt of a port.
    Link {
        /// Port id.
        port: usize,
    },
}

impl Line {
    /// Number of lines of one device.
    pub const COUNT: usize = crate::PORTS * (crate::THREADS + 1);

    /// A dense number below [`Line::COUNT`], for tables: nine `hif` lines and one `link` line for
    /// each port, as in the device tree.
    pub fn index(self) -> usize {
        match self {
            Line::Hif { port, thread } => port * (crate::THREADS + 1) + thread,
            Line::Link { port } => port * (crate::THREADS + 1) + crate::THREADS,
        }
    }
}

/// Interrupt outputs.
pub trait Lines {
    /// Sets the level of `line`; called only when the level changes.
    fn set_line(&self, line: Line, high: bool);
}

/// A coalescing timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Packets wait in this physical receive queue.
    Rx {
        /// Physical receive queue.
        queue: usize,
    },
    /// Sent descriptors of this port wait to be collected by this thread.
    Tx {
        /// Port id.
        port: usize,
        /// Software thread.
        thread: usize,
    },
}

impl Timer {
    /// Number of timers of one device.
    pub const COUNT: usize = crate::RXQS + crate::PORTS * crate::THREADS;

    /// A dense number below [`Timer::COUNT`].
    pub fn index(self) -> usize {
        match self {
            Timer::Rx { queue } => queue,
            Timer::Tx { port, thread } => crate::RXQS + port * crate::THREADS + thread,
        }
    }

    /// The inverse of [`Timer::index`].
    pub fn from_index(index: usize) -> Option<Timer> {
        if index < crate::RXQS {
            return Some(Timer::Rx { queue: index });
        }
        let n = index - crate::RXQS;
        (index < Self::COUNT).then_some(Timer::Tx {
            port: n / crate::THREADS,
            thread: n % crate::THREADS,
        })
    }
}

/// Time and timers.
pub trait Clock {
    /// Monotonic time in nanoseconds.
    fn now(&self) -> u64;

    /// Asks for one call of [`Device::timer`](crate::Device::timer) at or after `at`. A timer that
    /// is already armed moves to the new time. There is no way to cancel, and no need: the device
    /// ignores a timer whose reason has gone.
    fn arm(&self, timer: Timer, at: u64);
}

/// The far side of the ports' cables.
pub trait Wire {
    /// Sends a frame of `len` bytes, without frame check sequence, out of `port`. The host finds
    /// a buffer of exactly `len` bytes and calls `fill` on it once; if that fails the frame is
    /// lost inside the device and nothing must be sent. Returns whether the frame was sent.
    fn transmit(
        &self,
        port: usize,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), DmaError>,
    ) -> bool;
}

/// A sink for what drivers do to the device.
pub trait Trace {
    /// Whether the sink exists at all; if not, tracing costs nothing.
    const TRACE: bool = false;

    /// Takes one event. Its [`Display`](fmt::Display) form is the trace format.
    fn trace(&self, event: &crate::trace::Event) {
        let _ = event;
    }
}

/// Mutual exclusion chosen by the host: a mutex in user space, an irq-saving spinlock in a kernel.
pub trait Lock<T> {
    /// Runs `f` with exclusive access to the value. The model never sleeps in `f`.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R;
}

/// What a lock protects. Hosts with a lock validator need one class for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockClass {
    /// An aggregated transmit queue; may be held while a [`LockClass::TxQueue`] is taken.
    Aggregated,
    /// A transmit queue.
    TxQueue,
    /// A receive queue.
    RxQueue,
    /// A buffer pool.
    Pool,
    /// The state of the MAC of a port; may be held while [`LockClass::Stamps`] or
    /// [`LockClass::Line`] is taken.
    Mac,
    /// The time-stamp queues of a port.
    Stamps,
    /// The time-of-day counter.
    Tai,
    /// The level of an interrupt line.
    Line,
}

/// Memory and locks for the parts, asked for once.
pub trait Storage {
    /// A lock around a value.
    type Lock<T: Send>: Lock<T> + Send + Sync;
    /// A slice that the host owns.
    type List<T: Send + Sync>: Deref<Target = [T]> + Send + Sync;
    /// Like [`Storage::List`], but exclusively owned and writable.
    type Table<T: Send + Sync>: core::ops::DerefMut<Target = [T]> + Send + Sync;
    /// Why memory was not to be had.
    type Error;

    /// Builds a lock. No value handed to this is larger than a kilobyte.
    fn lock<T: Send>(&self, class: LockClass, value: T) -> Result<Self::Lock<T>, Self::Error>;

    /// Builds a slice of `len` values, element `i` from `init(i)`.
    fn list<T: Send + Sync>(
        &self,
        len: usize,
        init: impl FnMut(usize) -> Result<T, Self::Error>,
    ) -> Result<Self::List<T>, Self::Error>;

    /// Builds a writable slice of `len` copies of `value`.
    fn table<T: Copy + Send + Sync>(
        &self,
        len: usize,
        value: T,
    ) -> Result<Self::Table<T>, Self::Error>;
}

/// All that a host provides.
pub trait Host: Dma + Lines + Clock + Wire + Trace + Storage {}

impl<H: Dma + Lines + Clock + Wire + Trace + Storage> Host for H {}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Hif { port, thread } => write!(f, "port{port}.hif{thread}"),
            Line::Link { port } => write!(f, "port{port}.link"),
        }
    }
}
