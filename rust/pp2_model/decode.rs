// SPDX-License-Identifier: GPL-2.0

//! Address decoding: which block answers a register access.
//!
//! Registers that no block claims are storage, as most of the part's configuration is: they read
//! back what was written and nothing follows from it.

use core::sync::atomic::Ordering::Relaxed;

use crate::{
    bm::PoolReg,
    host::Host,
    regs::{
        self,
        nth, //
    },
    rxq::RxReg,
    trace::{
        Access,
        Event, //
    },
    txq::{
        AggrReg,
        TxReg,
        TXQ_FIRST, //
    },
    Device,
    Region,
    PORTS,
    RXQS,
    THREADS,
    TXQS, //
};

/// Ports that have registers for queues and interrupts.
const P: u32 = PORTS as u32;
/// Slots for pools in the register map.
const POOLS: u32 = 16;
/// Slots for threads in the register map.
const T: u32 = 16;
const RX: u32 = RXQS as u32;

fn rx_indirect(offset: u32) -> Option<RxReg> {
    Some(match offset {
        regs::RXQ_DESC_ADDR => RxReg::Addr,
        regs::RXQ_DESC_SIZE => RxReg::Size,
        regs::RXQ_THRESH => RxReg::Thresh,
        regs::RXQ_INDEX => RxReg::Index,
        _ => return None,
    })
}

fn tx_indirect(offset: u32) -> Option<TxReg> {
    Some(match offset {
        regs::TXQ_DESC_ADDR => TxReg::Addr,
        regs::TXQ_DESC_ADDR_HIGH => TxReg::AddrHigh,
        regs::TXQ_DESC_SIZE => TxReg::Size,
        regs::TXQ_THRESH => TxReg::Thresh,
        regs::TXQ_INDEX => TxReg::Index,
        regs::TXQ_PREF_BUF => TxReg::Pref,
        regs::TXQ_PENDING => TxReg::Pending,
        _ => return None,
    })
}

fn rx_direct(offset: u32) -> Option<(usize, RxReg)> {
    nth(offset, regs::RXQ_CONFIG, RX)
        .map(|q| (q, RxReg::Config))
        .or_else(|| nth(offset, regs::ISR_RX_THRESHOLD, RX).map(|q| (q, RxReg::Time)))
}

fn aggregated(offset: u32) -> Option<(usize, AggrReg)> {
    [
        (regs::AGGR_TXQ_DESC_ADDR, AggrReg::Addr),
        (regs::AGGR_TXQ_DESC_SIZE, AggrReg::Size),
        (regs::AGGR_TXQ_STATUS, AggrReg::Status),
        (regs::AGGR_TXQ_INDEX, AggrReg::Index),
    ]
    .into_iter()
    .find_map(|(base, reg)| nth(offset, base, T).map(|t| (t, reg)))
}

fn pool(offset: u32) -> Option<(usize, PoolReg)> {
    [
        (regs::BM_POOL_BASE, PoolReg::Base),
        (regs::BM_POOL_SIZE, PoolReg::Size),
        (regs::BM_POOL_CTRL, PoolReg::Ctrl),
    ]
    .into_iter()
    .find_map(|(base, reg)| nth(offset, base, POOLS).map(|k| (k, reg)))
}

/// Which block of 256 registers an offset lies in; the first decision of every access.
const fn page(offset: u32) -> u32 {
    offset >> 8
}

impl<H: Host> Device<H> {
    /// A 32-bit read by a driver.
    pub fn read(&self, region: Region, offset: u32) -> u32 {
        let offset = offset & !3;
        let select = self.selected(region, offset);
        let value = match region {
            Region::PacketProcessor => self.pp_read((offset >> 16) as usize, offset & 0xffff),
            Region::Interfaces => self.if_read(offset),
            Region::Cm3 => self.cm3_read(offset),
            Region::Syscon => self.syscon_reg(offset),
        };
        if H::TRACE {
            self.host.trace(&Event::Access(Access {
                region,
                offset,
                select,
                write: false,
                value,
            }));
        }
        value
    }

    /// A 32-bit write by a driver.
    pub fn write(&self, region: Region, offset: u32, value: u32) {
        let offset = offset & !3;
        if H::TRACE {
            self.host.trace(&Event::Access(Access {
                region,
                offset,
                select: self.selected(region, offset),
                write: true,
                value,
            }));
        }
        match region {
            Region::PacketProcessor => {
                self.pp_write((offset >> 16) as usize, offset & 0xffff, value)
            }
            Region::Interfaces => self.if_write(offset, value),
            Region::Cm3 => self.cm3_write(offset, value),
            Region::Syscon => self.set_syscon_reg(offset, value),
        }
    }

    /// What the index register of an indirect register selects, for the trace.
    fn selected(&self, region: Region, offset: u32) -> Option<u32> {
        if !H::TRACE || region != Region::PacketProcessor {
            return None;
        }
        let (thread, offset) = ((offset >> 16) as usize, offset & 0xffff);
        let thread = self.threads.get(thread)?;
        Some(match offset {
            0x1104..=0x1118 => self.reg(regs::PRS_TCAM_IDX),
            0x1204..=0x1210 => self.reg(regs::PRS_SRAM_IDX),
            regs::PRS_TCAM_HIT_CNT => self.reg(regs::PRS_TCAM_HIT_IDX),
            0x1504..=0x150c => self.reg(regs::RSS_INDEX),
            regs::CLS_LKP_TBL => self.reg(regs::CLS_LKP_INDEX),
            0x1824..=0x182c => self.reg(regs::CLS_FLOW_INDEX),
            0x1b10..=0x1b70 => self.reg(regs::C2_TCAM_IDX),
            regs::ISR_RXQ_SUB_GROUP_CONFIG => self.reg(regs::ISR_RXQ_GROUP_INDEX),
            0x7100..=0x7704 => self.reg(regs::CTRS_IDX),
            _ if Self::sched_owns(offset) => self.reg(regs::TXP_SCHED_PORT_INDEX),
            _ if rx_indirect(offset).is_some() => thread.rxq.load(Relaxed),
            _ if tx_indirect(offset).is_some() => thread.txq.load(Relaxed),
            _ => return None,
        })
    }

    /// The transmit queue that a window's index register selects.
    fn selected_txq(&self, thread: usize) -> Option<usize> {
        (self.threads[thread].txq.load(Relaxed) as usize & 0xff)
            .checked_sub(TXQ_FIRST)
            .filter(|queue| *queue < TXQS)
    }

    fn selected_rxq(&self, thread: usize) -> usize {
        self.threads[thread].rxq.load(Relaxed) as usize
    }

    fn pp_read(&self, thread: usize, offset: u32) -> u32 {
        let Some(window) = self.threads.get(thread) else {
            return 0;
        };
        match page(offset) {
            0x08..=0x09 | 0x52..=0x53 => {
                if let Some((queue, reg)) = rx_direct(offset) {
                    return self.rxq_reg(queue, reg);
                }
            }
            0x11..=0x12 => {
                if let Some(word) = nth(offset, regs::PRS_TCAM_DATA, 6) {
                    let line = self.reg(regs::PRS_TCAM_IDX);
                    return self.parser.tcam(line, word).load(Relaxed);
                }
                if let Some(word) = nth(offset, regs::PRS_SRAM_DATA, 4) {
                    let line = self.reg(regs::PRS_SRAM_IDX);
                    return self.parser.sram(line, word).load(Relaxed);
                }
                return self.read_hits(offset);
            }
            0x15 | 0x18 | 0x1b => {
                if let Some(word) = self.classifier_word(offset) {
                    return word.load(Relaxed);
                }
                return self.read_hits(offset);
            }
            0x20..=0x21 => return self.queue_read(thread, offset),
            0x30..=0x31 => return 0,
            0x34..=0x35 => {
                if let Some(queue) = nth(offset, regs::RXQ_STATUS, RX) {
                    return self.rxq_status(queue);
                }
            }
            0x3c..=0x3f => {
                let queue = nth(offset, regs::TXQ_SENT, 256).and_then(|q| q.checked_sub(TXQ_FIRST));
                return queue.map_or(0, |queue| self.txq_sent(queue, thread));
            }
            0x50 if offset == regs::VER_ID => return self.config.version,
            0x54 => return self.irq_read(thread, offset),
            0x60..=0x62 => {
                if let Some((k, reg)) = pool(offset) {
                    return self.pool_reg(k, reg);
                }
                if let Some(k) = nth(offset, regs::BM_POOL_PTRS_NUM, POOLS) {
                    return self.pool_ptrs_num(k);
                }
                if let Some(k) = nth(offset, regs::BM_BPPI_PTRS_NUM, POOLS) {
                    return self.pool_bppi_num(k);
                }
            }
            0x64 => {
                if let Some(k) = nth(offset, regs::BM_PHY_ALLOC, POOLS) {
                    return self.pool_phy_alloc(thread, k);
                }
                return match offset {
                    regs::BM_VIRT_ALLOC => window.latches.virt_alloc.load(Relaxed),
                    regs::BM_ADDR_HIGH_ALLOC => window.latches.high_alloc.load(Relaxed),
                    regs::BM_VIRT_RLS => window.latches.virt_release.load(Relaxed),
                    regs::BM_ADDR_HIGH_RLS => window.latches.high_release.load(Relaxed),
                    _ => 0,
                };
            }
            0x70..=0x72 => {
                if let Some(counter) = self.counter(offset) {
                    return counter.swap(0, Relaxed);
                }
            }
            0x77 => return self.read_hits(offset),
            0x80 if Self::sched_owns(offset) => return self.sched_read(offset),
            _ => (),
        }
        self.reg(offset)
    }

    fn pp_write(&self, thread: usize, offset: u32, value: u32) {
        let Some(window) = self.threads.get(thread) else {
            return;
        };
        match page(offset) {
            0x08..=0x09 | 0x52..=0x53 => {
                if let Some((queue, reg)) = rx_direct(offset) {
                    return self.rxq_set_reg(queue, reg, value);
                }
            }
            0x11..=0x12 => {
                if let Some(word) = nth(offset, regs::PRS_TCAM_DATA, 6) {
                    let line = self.reg(regs::PRS_TCAM_IDX);
                    return self.parser.write_tcam(line, word, value);
                }
                if let Some(word) = nth(offset, regs::PRS_SRAM_DATA, 4) {
                    let line = self.reg(regs::PRS_SRAM_IDX);
                    return self.parser.sram(line, word).store(value, Relaxed);
                }
            }
            0x15 | 0x18 | 0x1b => {
                if let Some(word) = self.classifier_word(offset) {
                    word.store(value, Relaxed);
                    if offset == regs::C2_TCAM_INV {
                        let line = self.reg(regs::C2_TCAM_IDX);
                        self.classifier.c2_invalid(line, value);
                    }
                    return;
                }
            }
            0x20..=0x21 => return self.queue_write(thread, offset, value),
            0x30..=0x31 => {
                if let Some(queue) = nth(offset, regs::RXQ_STATUS_UPDATE, RX) {
                    return self.rxq_update(queue, value);
                }
            }
            0x34..=0x35 => {
                if let Some(queue) = nth(offset, regs::RXQ_STATUS, RX) {
                    return self.rxq_set_status(queue, value);
                }
            }
            0x3c..=0x3f => return,
            0x51 => {
                self.set_reg(offset, value);
                if let Some(port) = nth(offset, regs::ISR_TX_THRESHOLD, P) {
                    self.txq_time_changed(port);
                }
                return;
            }
            0x54 => return self.irq_write(thread, offset, value),
            0x55 if offset == regs::ISR_MISC_CAUSE => {
                if value == 0 {
                    self.irq_clear_misc();
                }
                return;
            }
            0x60..=0x62 => {
                if let Some((k, reg)) = pool(offset) {
                    return self.pool_set_reg(k, reg, value);
                }
            }
            0x64 => {
                if let Some(k) = nth(offset, regs::BM_PHY_RLS, POOLS) {
                    return self.pool_phy_release(thread, k, value);
                }
                match offset {
                    regs::BM_VIRT_RLS => window.latches.virt_release.store(value, Relaxed),
                    regs::BM_ADDR_HIGH_RLS => window.latches.high_release.store(value, Relaxed),
                    _ => (),
                }
                return;
            }
            0x80 if Self::sched_owns(offset) => return self.sched_write(offset, value),
            0x88 if offset == regs::TX_PORT_FLUSH => {
                self.set_reg(offset, value);
                return self.tx_flush(value);
            }
            _ => (),
        }
        self.set_reg(offset, value);
    }

    fn read_hits(&self, offset: u32) -> u32 {
        match self.hit_counter(offset) {
            Some(counter) if self.config.hit_counters_clear => counter.swap(0, Relaxed),
            Some(counter) => counter.load(Relaxed),
            None => self.reg(offset),
        }
    }

    /// The descriptor manager, whose index registers belong to the window.
    fn queue_read(&self, thread: usize, offset: u32) -> u32 {
        let window = &self.threads[thread];
        if let Some(reg) = rx_indirect(offset) {
            return self.rxq_reg(self.selected_rxq(thread), reg);
        }
        if let Some(reg) = tx_indirect(offset) {
            return self.txq_reg(self.selected_txq(thread), thread, reg);
        }
        if let Some((t, reg)) = aggregated(offset) {
            return self.aggr_reg(t, reg);
        }
        match offset {
            regs::RXQ_NUM => window.rxq.load(Relaxed),
            regs::TXQ_NUM => window.txq.load(Relaxed),
            regs::TXQ_RSVD_RSLT => window.reserved.load(Relaxed),
            regs::AGGR_TXQ_UPDATE => 0,
            _ => self.reg(offset),
        }
    }

    fn queue_write(&self, thread: usize, offset: u32, value: u32) {
        let window = &self.threads[thread];
        if let Some(reg) = rx_indirect(offset) {
            return self.rxq_set_reg(self.selected_rxq(thread), reg, value);
        }
        if let Some(reg) = tx_indirect(offset) {
            return self.txq_set_reg(self.selected_txq(thread), thread, reg, value);
        }
        if let Some((t, reg)) = aggregated(offset) {
            return self.aggr_set_reg(t, reg, value);
        }
        match offset {
            regs::RXQ_NUM => window.rxq.store(value & 0xff, Relaxed),
            regs::TXQ_NUM => window.txq.store(value & 0xff, Relaxed),
            regs::AGGR_TXQ_UPDATE => self.aggr_doorbell(thread, value),
            regs::TXQ_RSVD_REQ => self.txq_reserve(thread, value),
            regs::TXQ_RSVD_RSLT => (),
            regs::TXQ_RSVD_CLR => self.txq_reserve_clear(thread, value),
            _ => self.set_reg(offset, value),
        }
    }

    fn irq_read(&self, thread: usize, offset: u32) -> u32 {
        if let Some(port) = nth(offset, regs::ISR_RX_TX_CAUSE, P) {
            return self.irq_cause(port, thread);
        }
        if let Some(port) = nth(offset, regs::ISR_RX_TX_MASK, P) {
            return self.irq_mask(port, thread);
        }
        if let Some(port) = nth(offset, regs::ISR_ENABLE, P) {
            return self.irq_enable(port);
        }
        match offset {
            regs::ISR_RXQ_SUB_GROUP_CONFIG => self.irq_group(self.reg(regs::ISR_RXQ_GROUP_INDEX)),
            _ => self.reg(offset),
        }
    }

    fn irq_write(&self, thread: usize, offset: u32, value: u32) {
        if let Some(port) = nth(offset, regs::ISR_RX_TX_CAUSE, P) {
            return self.irq_write_cause(port, thread, value);
        }
        if let Some(port) = nth(offset, regs::ISR_RX_TX_MASK, P) {
            return self.irq_set_mask(port, thread, value);
        }
        if let Some(port) = nth(offset, regs::ISR_ENABLE, P) {
            return self.irq_write_enable(port, value);
        }
        match offset {
            regs::ISR_RXQ_SUB_GROUP_CONFIG => {
                self.irq_set_group(self.reg(regs::ISR_RXQ_GROUP_INDEX), value)
            }
            _ => self.set_reg(offset, value),
        }
    }

    fn if_read(&self, offset: u32) -> u32 {
        match offset {
            0..=0x3ff => self.mib.read(offset),
            0x1400..=0x14ff => self.tai_read(offset),
            0x7000.. => {
                let computed = self.mac_at(offset).and_then(|(port, reg)| match reg {
                    0x7800..=0x78ff => self.ptp_read(port, reg),
                    0x7e00..=0x7fff => self.mac_read(port, reg),
                    _ => None,
                });
                computed.unwrap_or_else(|| self.iface_reg(offset))
            }
            _ => self.iface_reg(offset),
        }
    }

    fn if_write(&self, offset: u32, value: u32) {
        match offset {
            0..=0x3ff => (),
            0x1400..=0x14ff => self.tai_write(offset, value),
            0x7000.. => match self.mac_at(offset) {
                Some((port, reg @ 0x7e00..=0x7fff)) => self.mac_write(port, offset, reg, value),
                Some((port, reg @ 0x7800..=0x78ff)) => {
                    self.set_iface_reg(offset, value);
                    self.ptp_write(port, reg, value);
                    self.update_link_line(port);
                }
                _ => self.set_iface_reg(offset, value),
            },
            _ => self.set_iface_reg(offset, value),
        }
    }
}

const _: () = assert!(THREADS <= T as usize);
