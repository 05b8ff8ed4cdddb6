// SPDX-License-Identifier: GPL-2.0

//! A model of the Marvell PPv2.2 packet processor, the Ethernet controller of Armada 7K and 8K.
//!
//! The hardware as a value: a [`Device`] has registers to read and write, wires that frames come
//! in on and go out of, and interrupt lines. It knows memory, time and the cables only through the
//! traits of [`host`], so the same code is a device in a kernel module, in an emulator and in a
//! unit test.
//!
//! There is one file for each block of the hardware. What drivers can observe is modelled; what
//! they cannot, such as rates, FIFO depths and the depth of the pipeline, is not. Where the
//! sources say nothing about the silicon, [`Config`] has a field.
//!
//! # Calls
//!
//! - [`Device::read`] and [`Device::write`]: a driver's register accesses.
//! - [`Device::receive`]: a frame arrives from the network.
//! - [`Wire::transmit`](host::Wire::transmit): a frame leaves.
//! - [`Device::timer`]: a timer that the device armed has run out.
//! - [`Device::set_link`], [`Device::hostile`]: what the world does to hardware.
//!
//! None of them sleeps, allocates or panics, whatever a driver writes to registers or memory. They
//! take `&self` and may be called on several CPUs at once.
//!
//! # Locking
//!
//! The host chooses the lock, by [`host::Storage`]. Each pool, receive queue, transmit queue,
//! aggregated queue, interrupt line and MAC has one of its own; plain registers, tables, counters
//! and interrupt causes are atomics. Frames are copied without any lock held. Order:
//!
//! 1. `Aggregated`, then `TxQueue`.
//! 2. `Mac`, then `Stamps` or `Line`.
//!
//! All other locks are leaves. Drivers touch registers from hard interrupt handlers, so a kernel
//! host needs locks that disable interrupts.

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bm;
pub mod classifier;
mod cm3;
pub mod config;
mod counters;
mod decode;
pub mod frame;
pub mod host;
pub mod hostile;
mod irq;
pub mod mac;
mod mib;
pub mod parser;
mod ptp;
pub mod regs;
pub mod rx;
mod rxq;
mod sched;
pub mod trace;
mod tx;
mod txq;

use core::sync::atomic::{
    AtomicBool,
    AtomicU32,
    Ordering::Relaxed, //
};

use host::{
    Host,
    LockClass,
    Storage,
    Timer, //
};

pub use config::Config;
pub use host::{
    Line,
    Lock, //
};
pub use irq::CAUSE_MISC;
pub use rx::{
    Drop,
    Verdict,
    WireError, //
};
pub use txq::TXQ_FIRST;

/// Ports, with the loopback port, which has no MAC.
pub const PORTS: usize = 4;
/// Ports with a MAC.
pub const MACS: usize = 3;
/// Software threads, each with a register window and an interrupt line for each port.
pub const THREADS: usize = 9;
/// Receive queues.
pub const RXQS: usize = PORTS * RXQS_PER_PORT;
/// Receive queues of a port.
pub const RXQS_PER_PORT: usize = 32;
/// Transmit queues; the first is number [`TXQ_FIRST`].
pub const TXQS: usize = PORTS * TXQS_PER_PORT;
/// Transmit queues of a port.
pub const TXQS_PER_PORT: usize = 8;
/// Buffer pools.
pub const POOLS: usize = 8;
/// Longest frame that goes in or out, without check sequence.
pub const MAX_FRAME: usize = 10240;
/// Addresses that the device can put out: 40 bits.
pub const ADDR_MASK: u64 = (1 << 40) - 1;

/// An address range of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Windows of the packet processor, 64 KiB for each thread.
    PacketProcessor,
    /// MACs, PCS, counters, time of day.
    Interfaces,
    /// Memory shared with the flow-control firmware.
    Cm3,
    /// The CP's system controller, as far as it concerns ports.
    Syscon,
}

impl Region {
    /// Bytes of the range.
    pub const fn size(self) -> u32 {
        match self {
            Region::PacketProcessor => 0x10_0000,
            Region::Interfaces => 0xb000,
            Region::Cm3 => 0x800,
            Region::Syscon => 0x2000,
        }
    }
}

/// Registers that each window has for itself.
#[derive(Default)]
struct Window {
    latches: bm::Latches,
    rxq: AtomicU32,
    txq: AtomicU32,
    reserved: AtomicU32,
}

/// A packet processor.
pub struct Device<H: Host> {
    host: H,
    config: Config,
    /// Misbehaviour on request.
    hostile: hostile::Hostile,

    pp: H::List<AtomicU32>,
    iface: H::List<AtomicU32>,
    cm3: H::List<AtomicU32>,
    syscon: H::List<AtomicU32>,
    threads: H::List<Window>,

    pools: H::List<H::Lock<bm::Pool<H>>>,
    /// Buffers in each pool, to be looked at without the lock.
    pool_level: [AtomicU32; POOLS],
    rxqs: H::List<H::Lock<rxq::RxQueue>>,
    aggregated: H::List<H::Lock<txq::Aggregated>>,
    txqs: H::List<H::Lock<txq::TxQueue>>,
    tx_timers: [[AtomicBool; THREADS]; PORTS],
    sched: sched::Scheduler<H>,

    parser: parser::Parser<H>,
    classifier: classifier::Classifier<H>,

    irqs: H::List<irq::PortIrq>,
    lines: H::List<H::Lock<irq::LineState>>,

    macs: H::List<H::Lock<mac::MacState>>,
    mac_flags: [mac::Flags; MACS],
    mib: mib::Mib<H>,
    counters: counters::Counters<H>,
    tai: H::Lock<ptp::Tai>,
    stamps: H::List<H::Lock<ptp::Stamps>>,
}

impl<H: Host> Device<H> {
    /// Builds a device in reset, with memory and locks from the host.
    pub fn new(host: H, config: Config) -> Result<Self, <H as Storage>::Error> {
        let words = |bytes: usize| host.list(bytes / 4, |_| Ok(AtomicU32::new(0)));
        let capacity = config.pool_capacity;
        let this = Self {
            hostile: hostile::Hostile::default(),
            pp: words(0x1_0000)?,
            iface: words(Region::Interfaces.size() as usize)?,
            cm3: words(Region::Cm3.size() as usize)?,
            syscon: words(Region::Syscon.size() as usize)?,
            threads: host.list(THREADS, |_| Ok(Window::default()))?,
            pools: host.list(POOLS, |_| {
                let slots = host.table(capacity, bm::Buffer::default())?;
                host.lock(LockClass::Pool, bm::Pool::<H>::new(slots))
            })?,
            pool_level: Default::default(),
            rxqs: host.list(RXQS, |_| {
                host.lock(LockClass::RxQueue, rxq::RxQueue::default())
            })?,
            aggregated: host.list(THREADS, |_| {
                host.lock(LockClass::Aggregated, txq::Aggregated::default())
            })?,
            txqs: host.list(TXQS, |_| {
                host.lock(LockClass::TxQueue, txq::TxQueue::default())
            })?,
            tx_timers: Default::default(),
            sched: sched::Scheduler::new(&host)?,
            parser: parser::Parser::new(&host)?,
            classifier: classifier::Classifier::new(&host)?,
            irqs: host.list(PORTS, |_| Ok(irq::PortIrq::default()))?,
            lines: host.list(Line::COUNT, |_| {
                host.lock(LockClass::Line, irq::LineState::default())
            })?,
            macs: host.list(MACS, |_| host.lock(LockClass::Mac, mac::MacState::NEW))?,
            mac_flags: [const { mac::Flags::new() }; MACS],
            mib: mib::Mib::new(&host)?,
            counters: counters::Counters::new(&host)?,
            tai: host.lock(LockClass::Tai, ptp::Tai::default())?,
            stamps: host.list(MACS, |_| {
                host.lock(LockClass::Stamps, ptp::Stamps::default())
            })?,
            host,
            config,
        };
        Ok(this)
    }

    /// Puts everything into the state after power-on, except the cables. Must not run while
    /// another call does.
    pub fn reset(&self) {
        self.sched.reset();
        for irq in self.irqs.iter() {
            irq.reset();
        }
        for (thread, window) in self.threads.iter().enumerate() {
            window.latches.reset();
            for word in [&window.rxq, &window.txq, &window.reserved] {
                word.store(0, Relaxed);
            }
            for port in 0..PORTS {
                self.update_hif(port, thread);
            }
        }
        self.tx_reset();
        for queue in 0..RXQS {
            self.rxq_reset(queue);
        }
        for (pool, cell) in self.pools.iter().enumerate() {
            cell.with(bm::Pool::reset);
            self.pool_level[pool].store(0, Relaxed);
        }
        self.parser.reset();
        self.classifier.reset();
        self.counters.reset();
        self.mib.reset();
        for table in [&self.pp, &self.iface, &self.cm3, &self.syscon] {
            for word in table.iter() {
                word.store(0, Relaxed);
            }
        }
        self.tai_reset();
        for port in 0..MACS {
            self.stamps[port].with(|stamps| *stamps = ptp::Stamps::default());
            self.mac_reset(port);
        }
    }

    /// A timer that [`Clock::arm`](host::Clock::arm) was asked for has run out.
    pub fn timer(&self, timer: Timer) {
        match timer {
            Timer::Rx { queue } => self.rxq_timer(queue),
            Timer::Tx { port, thread } if port < PORTS && thread < THREADS => {
                self.txq_timer(port, thread)
            }
            Timer::Tx { .. } => (),
        }
    }

    /// The host that this device lives in.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// The settings that the device was built with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The switchboard of misbehaviour.
    pub fn hostile(&self) -> &hostile::Hostile {
        &self.hostile
    }

    /// A register of the packet processor that is storage.
    fn reg(&self, offset: u32) -> u32 {
        self.pp
            .get(offset as usize / 4)
            .map_or(0, |word| word.load(Relaxed))
    }

    fn set_reg(&self, offset: u32, value: u32) {
        if let Some(word) = self.pp.get(offset as usize / 4) {
            word.store(value, Relaxed);
        }
    }

    fn iface_reg(&self, offset: u32) -> u32 {
        self.iface
            .get(offset as usize / 4)
            .map_or(0, |word| word.load(Relaxed))
    }

    fn set_iface_reg(&self, offset: u32, value: u32) {
        if let Some(word) = self.iface.get(offset as usize / 4) {
            word.store(value, Relaxed);
        }
    }

    fn syscon_reg(&self, offset: u32) -> u32 {
        self.syscon
            .get(offset as usize / 4)
            .map_or(0, |word| word.load(Relaxed))
    }

    fn set_syscon_reg(&self, offset: u32, value: u32) {
        if let Some(word) = self.syscon.get(offset as usize / 4) {
            word.store(value, Relaxed);
        }
    }
}
