// SPDX-License-Identifier: GPL-2.0

//! Packet and drop counters of ports and queues. All clear when read: drivers add up what they
//! read.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

use crate::{
    host::{
        Host,
        Storage, //
    },
    regs,
    Device,
    PORTS,
    RXQS,
    TXQS,
    TXQS_PER_PORT, //
};

/// Counters of a receive queue.
#[derive(Default)]
pub(crate) struct RxCounters {
    pub(crate) enqueued: AtomicU32,
    pub(crate) full_drop: AtomicU32,
    pub(crate) early_drop: AtomicU32,
    pub(crate) bm_drop: AtomicU32,
}

/// Counters of a transmit queue.
#[derive(Default)]
pub(crate) struct TxCounters {
    pub(crate) enqueued: AtomicU32,
    /// Descriptors that went through the ring in memory.
    pub(crate) to_ddr: AtomicU32,
    pub(crate) buffers_to_ddr: AtomicU32,
    pub(crate) hw_forward: AtomicU32,
    pub(crate) dequeued: AtomicU32,
    pub(crate) full_drop: AtomicU32,
    pub(crate) early_drop: AtomicU32,
    pub(crate) bm_drop: AtomicU32,
    pub(crate) bm_mc_drop: AtomicU32,
}

/// All of them.
pub(crate) struct Counters<S: Storage> {
    pub(crate) overrun_drop: [AtomicU32; PORTS],
    pub(crate) cls_drop: [AtomicU32; PORTS],
    rx: S::List<RxCounters>,
    tx: S::List<TxCounters>,
}

impl<S: Storage> Counters<S> {
    pub(crate) fn new(storage: &S) -> Result<Self, S::Error> {
        Ok(Self {
            overrun_drop: Default::default(),
            cls_drop: Default::default(),
            rx: storage.list(RXQS, |_| Ok(RxCounters::default()))?,
            tx: storage.list(TXQS, |_| Ok(TxCounters::default()))?,
        })
    }

    pub(crate) fn reset(&self) {
        for counter in self.overrun_drop.iter().chain(&self.cls_drop) {
            counter.store(0, Relaxed);
        }
        for rx in self.rx.iter() {
            for counter in [&rx.enqueued, &rx.full_drop, &rx.early_drop, &rx.bm_drop] {
                counter.store(0, Relaxed);
            }
        }
        for tx in self.tx.iter() {
            for counter in [
                &tx.enqueued,
                &tx.to_ddr,
                &tx.buffers_to_ddr,
                &tx.hw_forward,
                &tx.dequeued,
                &tx.full_drop,
                &tx.early_drop,
                &tx.bm_drop,
                &tx.bm_mc_drop,
            ] {
                counter.store(0, Relaxed);
            }
        }
    }

    pub(crate) fn rx(&self, queue: usize) -> &RxCounters {
        &self.rx[queue % RXQS]
    }

    /// `queue` counts from the first queue of port 0.
    pub(crate) fn tx(&self, queue: usize) -> &TxCounters {
        &self.tx[queue % TXQS]
    }
}

impl<H: Host> Device<H> {
    /// The counter at `offset`, if it is one.
    pub(crate) fn counter(&self, offset: u32) -> Option<&AtomicU32> {
        if let Some(port) = regs::nth(offset, regs::OVERRUN_ETH_DROP, PORTS as u32) {
            return Some(&self.counters.overrun_drop[port]);
        }
        if let Some(port) = regs::nth(offset, regs::CLS_ETH_DROP, PORTS as u32) {
            return Some(&self.counters.cls_drop[port]);
        }
        let index = self.reg(regs::CTRS_IDX) as usize;
        let rx = self.counters.rx(index & 0x7f);
        // Transmit queues are indexed by 0x80 | port << 3 | queue.
        let tx = self
            .counters
            .tx((index >> 3 & 3) * TXQS_PER_PORT + (index & 7));
        Some(match offset {
            regs::RX_DESC_ENQ => &rx.enqueued,
            regs::RX_PKTS_FULL_QUEUE_DROP => &rx.full_drop,
            regs::RX_PKTS_EARLY_DROP => &rx.early_drop,
            regs::RX_PKTS_BM_DROP => &rx.bm_drop,
            regs::TX_DESC_ENQ => &tx.enqueued,
            regs::TX_DESC_ENQ_TO_DDR => &tx.to_ddr,
            regs::TX_BUFF_ENQ_TO_DDR => &tx.buffers_to_ddr,
            regs::TX_DESC_ENQ_HW_FWD => &tx.hw_forward,
            regs::TX_PKTS_DEQ => &tx.dequeued,
            regs::TX_PKTS_FULL_QUEUE_DROP => &tx.full_drop,
            regs::TX_PKTS_EARLY_DROP => &tx.early_drop,
            regs::TX_PKTS_BM_DROP => &tx.bm_drop,
            regs::TX_PKTS_BM_MC_DROP => &tx.bm_mc_drop,
            _ => return None,
        })
    }
}
