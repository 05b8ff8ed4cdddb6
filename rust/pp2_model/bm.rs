// SPDX-License-Identifier: GPL-2.0

//! Buffer manager: pools of buffers that drivers push and the receive path pops.
//!
//! # Counting
//!
//! The two count registers of a pool together show one buffer less than it holds, because one is
//! always prefetched; a single left-over buffer is invisible. Linux pops as many buffers as the
//! registers say, plus one, and frees what it got, so the counts must be exact.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

use crate::{
    config::PoolOrder,
    host::{
        Host,
        Lock,
        Storage, //
    },
    hostile::Fault,
    Device,
    ADDR_MASK, //
};

const CTRL_START: u32 = 1 << 0;
const CTRL_STOP: u32 = 1 << 1;
const CTRL_STATE: u32 = 1 << 4;

/// A buffer as the device knows it: where it is and what its owner calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// DMA address, 40 bits, aligned to 32 bytes.
    pub addr: u64,
    /// The driver's name for it, 40 bits, never interpreted.
    pub cookie: u64,
}

/// One pool.
pub(crate) struct Pool<S: Storage> {
    slots: S::Table<Buffer>,
    /// Slot of the oldest buffer.
    head: usize,
    len: usize,
    base: u32,
    size: u32,
    ctrl: u32,
}

impl<S: Storage> Pool<S> {
    pub(crate) fn new(slots: S::Table<Buffer>) -> Self {
        Self {
            slots,
            head: 0,
            len: 0,
            base: 0,
            size: 0,
            ctrl: 0,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.head = 0;
        self.len = 0;
        self.base = 0;
        self.size = 0;
        self.ctrl = 0;
    }

    /// How many buffers fit: what the driver gave memory for, within what the host did.
    fn capacity(&self) -> usize {
        self.slots.len().min(self.size as usize)
    }

    fn push(&mut self, buffer: Buffer) -> bool {
        if self.ctrl & CTRL_STATE == 0 || self.len >= self.capacity() {
            return false;
        }
        let slot = (self.head + self.len) % self.slots.len();
        self.slots[slot] = buffer;
        self.len += 1;
        true
    }

    fn pop(&mut self, order: PoolOrder) -> Option<Buffer> {
        let last = self.len.checked_sub(1)?;
        let slots = self.slots.len();
        let slot = match order {
            PoolOrder::Fifo => {
                let slot = self.head;
                self.head = (slot + 1) % slots;
                slot
            }
            PoolOrder::Lifo => (self.head + last) % slots,
        };
        self.len = last;
        Some(self.slots[slot])
    }
}

/// The registers through which one software thread handles buffers.
#[derive(Default)]
pub(crate) struct Latches {
    pub(crate) virt_alloc: AtomicU32,
    pub(crate) high_alloc: AtomicU32,
    pub(crate) virt_release: AtomicU32,
    pub(crate) high_release: AtomicU32,
}

impl Latches {
    pub(crate) fn reset(&self) {
        for latch in [
            &self.virt_alloc,
            &self.high_alloc,
            &self.virt_release,
            &self.high_release,
        ] {
            latch.store(0, Relaxed);
        }
    }

    /// `PHY_ALLOC` returned this buffer; the rest of it is read afterwards.
    fn popped(&self, buffer: Buffer) {
        self.virt_alloc.store(buffer.cookie as u32, Relaxed);
        let high = (buffer.addr >> 32 & 0xff) | (buffer.cookie >> 32 & 0xff) << 8;
        self.high_alloc.store(high as u32, Relaxed);
    }

    /// The buffer that a write of `low` to `PHY_RLS` releases.
    fn pushed(&self, low: u32) -> Buffer {
        let high = u64::from(self.high_release.load(Relaxed));
        Buffer {
            // The low bits are not address but flags (multicast, priority, guaranteed).
            addr: u64::from(low & !0x1f) | (high & 0xff) << 32,
            cookie: u64::from(self.virt_release.load(Relaxed)) | (high >> 8 & 0xff) << 32,
        }
    }
}

impl<H: Host> Device<H> {
    /// Takes a buffer from a pool, for the receive path or for a `PHY_ALLOC` read.
    pub(crate) fn pool_pop(&self, pool: usize) -> Option<Buffer> {
        // Drivers drain empty pools with thousands of reads; spare them the lock.
        if self.pool_level.get(pool)?.load(Relaxed) == 0 {
            return None;
        }
        self.pools[pool].with(|p| {
            let buffer = p.pop(self.config.pool_order);
            self.pool_level[pool].store(p.len as u32, Relaxed);
            buffer
        })
    }

    /// Puts a buffer into a pool. What a stopped or full pool is given is lost, as its owner will
    /// find when it counts.
    pub(crate) fn pool_push(&self, pool: usize, buffer: Buffer) -> bool {
        let Some(cell) = self.pools.get(pool) else {
            return false;
        };
        let buffer = Buffer {
            addr: buffer.addr & ADDR_MASK,
            cookie: buffer.cookie & ADDR_MASK,
        };
        cell.with(|p| {
            let taken = p.push(buffer);
            self.pool_level[pool].store(p.len as u32, Relaxed);
            taken
        })
    }

    /// The number of buffers in a pool; exact, unlike the registers.
    pub fn pool_len(&self, pool: usize) -> usize {
        self.pools.get(pool).map_or(0, |cell| cell.with(|p| p.len))
    }

    /// What the count registers show: all but one.
    fn pool_count(&self, pool: usize) -> u32 {
        let len = self.pool_len(pool) as u32;
        let count = len.saturating_sub(1);
        if self.hostile.take(Fault::PoolCount) {
            count.wrapping_add(self.hostile.value(Fault::PoolCount))
        } else {
            count
        }
    }

    /// `BM_POOL_PTRS_NUM`: buffers in memory.
    pub(crate) fn pool_ptrs_num(&self, pool: usize) -> u32 {
        self.pool_count(pool) & 0xfff8
    }

    /// `BM_BPPI_PTRS_NUM`: buffers in the device.
    pub(crate) fn pool_bppi_num(&self, pool: usize) -> u32 {
        self.pool_count(pool) & 7
    }

    pub(crate) fn pool_phy_alloc(&self, thread: usize, pool: usize) -> u32 {
        let buffer = self.pool_pop(pool).unwrap_or_default();
        self.threads[thread].latches.popped(buffer);
        buffer.addr as u32
    }

    pub(crate) fn pool_phy_release(&self, thread: usize, pool: usize, value: u32) {
        let buffer = self.threads[thread].latches.pushed(value);
        self.pool_push(pool, buffer);
    }

    pub(crate) fn pool_reg(&self, pool: usize, reg: PoolReg) -> u32 {
        self.pools.get(pool).map_or(0, |cell| {
            cell.with(|p| match reg {
                PoolReg::Base => p.base,
                PoolReg::Size => p.size,
                PoolReg::Ctrl => p.ctrl,
            })
        })
    }

    pub(crate) fn pool_set_reg(&self, pool: usize, reg: PoolReg, value: u32) {
        let Some(cell) = self.pools.get(pool) else {
            return;
        };
        cell.with(|p| match reg {
            PoolReg::Base => p.base = value & !0x7f,
            PoolReg::Size => p.size = value & 0xfff0,
            PoolReg::Ctrl => {
                // Start and stop are commands and read back as zero. Linux writes what it read
                // with START added; were STOP to stick, both would be set.
                let mut state = p.ctrl & CTRL_STATE;
                if value & CTRL_START != 0 {
                    if state == 0 && self.config.start_empties_pool {
                        p.head = 0;
                        p.len = 0;
                    }
                    state = CTRL_STATE;
                } else if value & CTRL_STOP != 0 {
                    state = 0;
                }
                p.ctrl = value & !(CTRL_START | CTRL_STOP | CTRL_STATE) | state;
                self.pool_level[pool].store(p.len as u32, Relaxed);
            }
        });
    }

    /// Lets the host look at the buffers in a pool, oldest first.
    pub fn pool_buffers(&self, pool: usize, mut f: impl FnMut(Buffer)) {
        if let Some(cell) = self.pools.get(pool) {
            cell.with(|p| {
                for i in 0..p.len {
                    f(p.slots[(p.head + i) % p.slots.len()]);
                }
            });
        }
    }
}

/// Registers that a pool keeps.
#[derive(Clone, Copy)]
pub(crate) enum PoolReg {
    Base,
    Size,
    Ctrl,
}
