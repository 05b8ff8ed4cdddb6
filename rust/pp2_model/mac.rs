// SPDX-License-Identifier: GPL-2.0

//! MACs and PCS: what a link is, who says so, and the interrupt when it changes.
//!
//! Every port has a gigabit MAC (GMAC); MAC 0 also has a 10G one (XLG), and a mode field that says
//! which of them is in use. Most registers are storage. Status registers are computed from force
//! bits and from what the host says about the cable.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

use crate::{
    config::StatClear,
    host::{
        Host,
        Line,
        Lock, //
    },
    regs,
    Device, //
};

/// Distance of the MACs' register blocks.
const STRIDE: u32 = 0x1000;

const GMAC_CTRL0_ENABLE: u32 = 1 << 0;
const GMAC_CTRL0_MIB: u32 = 1 << 15;
const GMAC_CTRL2_RESET: u32 = 1 << 6;
const AN_FORCE_DOWN: u32 = 1 << 0;
const AN_FORCE_PASS: u32 = 1 << 1;
const AN_INBAND: u32 = 1 << 2;
const AN_RESTART: u32 = 1 << 4;
const AN_MII_SPEED: u32 = 1 << 5;
const AN_GMII_SPEED: u32 = 1 << 6;
const AN_SPEED: u32 = 1 << 7;
const AN_FLOW: u32 = 1 << 11;
const AN_FULL_DUPLEX: u32 = 1 << 12;
const AN_DUPLEX: u32 = 1 << 13;

const STATUS0_LINK: u32 = 1 << 0;
const STATUS0_1000: u32 = 1 << 1;
const STATUS0_100: u32 = 1 << 2;
const STATUS0_FULL: u32 = 1 << 3;
const STATUS0_RX_PAUSE: u32 = 1 << 4;
const STATUS0_TX_PAUSE: u32 = 1 << 5;
const STATUS0_AN_DONE: u32 = 1 << 11;

const XLG_CTRL0_ENABLE: u32 = 1 << 0;
const XLG_CTRL0_RUN: u32 = 1 << 1;
const XLG_CTRL0_FORCE_DOWN: u32 = 1 << 2;
const XLG_CTRL0_FORCE_PASS: u32 = 1 << 3;
const XLG_CTRL0_MIB_OFF: u32 = 1 << 14;

/// Link change, in both MACs' `INT_STAT`.
const INT_LINK: u32 = 1 << 1;
/// Bits of `GMAC_INT_SUM`.
const SUM_INTERNAL: u32 = 1 << 1;
const SUM_PTP: u32 = 1 << 2;
/// Bits of `XLG_EXT_INT`.
const EXT_XLG: u32 = 1 << 1;
const EXT_GIG: u32 = 1 << 2;
const EXT_PTP: u32 = 1 << 7;

/// What is at the other end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Signal and, with in-band negotiation, agreement.
    pub up: bool,
    /// Mbit/s, as in-band negotiation tells it.
    pub speed: u32,
    /// Full duplex.
    pub full_duplex: bool,
    /// The partner sends pause frames that this side should obey.
    pub rx_pause: bool,
    /// The partner obeys pause frames.
    pub tx_pause: bool,
}

impl Link {
    /// A gigabit partner.
    pub const UP: Link = Link {
        up: true,
        speed: 1000,
        full_duplex: true,
        rx_pause: false,
        tx_pause: false,
    };

    /// Nothing there.
    pub const DOWN: Link = Link {
        up: false,
        speed: 0,
        full_duplex: false,
        rx_pause: false,
        tx_pause: false,
    };

    /// In the bits of `GMAC_STATUS0`.
    fn status0(self) -> u32 {
        let speed = match self.speed {
            1000.. => STATUS0_1000,
            100..=999 => STATUS0_100,
            _ => 0,
        };
        let bit = |on: bool, bit| if on { bit } else { 0 };
        speed
            | bit(self.full_duplex, STATUS0_FULL)
            | bit(self.rx_pause, STATUS0_RX_PAUSE)
            | bit(self.tx_pause, STATUS0_TX_PAUSE)
            | bit(self.up, STATUS0_AN_DONE)
    }
}

/// State of a port's MACs beyond their registers.
pub(crate) struct MacState {
    link: Link,
    /// Link status of GMAC and XLG when it was last looked at.
    was_up: [bool; 2],
    /// `INT_STAT` of GMAC and XLG.
    stat: [u32; 2],
}

impl MacState {
    pub(crate) const NEW: MacState = MacState {
        link: Link::UP,
        was_up: [false; 2],
        stat: [0; 2],
    };
}

/// Whether frames pass a port's MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    NoPort,
    Closed,
    Open,
}

/// The packed form of [`Gate`] and of whether the MIB counts, for the packet path.
pub(crate) struct Flags(AtomicU32);

impl Flags {
    const OPEN: u32 = 1;
    const MIB: u32 = 2;

    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }
}

const GMAC: usize = 0;
const XLG: usize = 1;

impl<H: Host> Device<H> {
    fn mac_reg(&self, port: usize, reg: u32) -> u32 {
        let gop = self.config.gop[port] as u32 & 3;
        self.iface_reg(reg + STRIDE * gop)
    }

    /// Which of the two MACs a port uses.
    fn mac_in_use(&self, port: usize) -> usize {
        let mode = self.mac_reg(port, regs::XLG_CTRL3) >> 13 & 7;
        if self.config.gop[port] == 0 && mode == 1 {
            XLG
        } else {
            GMAC
        }
    }

    fn gmac_up(&self, port: usize, link: Link) -> bool {
        let an = self.mac_reg(port, regs::GMAC_AUTONEG_CONFIG);
        if an & AN_FORCE_PASS != 0 {
            return true;
        }
        an & AN_FORCE_DOWN == 0
            && link.up
            && self.mac_reg(port, regs::GMAC_CTRL_0) & GMAC_CTRL0_ENABLE != 0
    }

    fn xlg_up(&self, port: usize, link: Link) -> bool {
        let ctrl = self.mac_reg(port, regs::XLG_CTRL0);
        if ctrl & XLG_CTRL0_FORCE_PASS != 0 {
            return true;
        }
        ctrl & XLG_CTRL0_FORCE_DOWN == 0 && link.up && ctrl & XLG_CTRL0_ENABLE != 0
    }

    fn mac_flags(&self, port: usize, up: [bool; 2]) -> u32 {
        let (running, counting) = match self.mac_in_use(port) {
            XLG => {
                let ctrl = self.mac_reg(port, regs::XLG_CTRL0);
                let run = XLG_CTRL0_ENABLE | XLG_CTRL0_RUN;
                (ctrl & run == run, ctrl & XLG_CTRL0_MIB_OFF == 0)
            }
            _ => {
                let ctrl0 = self.mac_reg(port, regs::GMAC_CTRL_0);
                let reset = self.mac_reg(port, regs::GMAC_CTRL_2) & GMAC_CTRL2_RESET;
                let on = ctrl0 & GMAC_CTRL0_ENABLE != 0 && reset == 0;
                (on, ctrl0 & GMAC_CTRL0_MIB != 0)
            }
        };
        let open = running && up[self.mac_in_use(port)];
        (u32::from(open) * Flags::OPEN) | (u32::from(counting) * Flags::MIB)
    }

    /// Looks at everything a MAC's state depends on, after any of it has changed, and lets
    /// interrupts and stuck packets follow.
    pub(crate) fn mac_changed(&self, port: usize) {
        let Some(cell) = self.macs.get(port) else {
            return;
        };
        let opened = cell.with(|mac| {
            let up = [self.gmac_up(port, mac.link), self.xlg_up(port, mac.link)];
            for n in [GMAC, XLG] {
                if up[n] != mac.was_up[n] {
                    mac.stat[n] |= INT_LINK;
                }
            }
            mac.was_up = up;
            let flags = self.mac_flags(port, up);
            let old = self.mac_flags[port].0.swap(flags, Relaxed);
            self.link_line(port, mac);
            flags & !old & Flags::OPEN != 0
        });
        if opened {
            self.tx_kick(port);
        }
    }

    /// The host plugs, unplugs or renegotiates a cable.
    pub fn set_link(&self, port: usize, link: Link) {
        if let Some(cell) = self.macs.get(port) {
            cell.with(|mac| mac.link = link);
            self.mac_changed(port);
        }
    }

    /// Takes the link of a port down and up again before anybody can look: only the interrupt
    /// tells.
    pub fn flap_link(&self, port: usize) {
        let Some(cell) = self.macs.get(port) else {
            return;
        };
        let link = cell.with(|mac| mac.link);
        self.set_link(
            port,
            Link {
                up: !link.up,
                ..link
            },
        );
        self.set_link(port, link);
    }

    /// Whether frames pass.
    pub(crate) fn mac_gate(&self, port: usize) -> Gate {
        match self.mac_flags.get(port) {
            None => Gate::NoPort,
            Some(flags) if flags.0.load(Relaxed) & Flags::OPEN == 0 => Gate::Closed,
            Some(_) => Gate::Open,
        }
    }

    /// Whether the port has its MAC enabled and a link: frames go in and out.
    pub fn port_up(&self, port: usize) -> bool {
        self.mac_gate(port) == Gate::Open
    }

    /// The MIB block that counts for a port, if it does.
    pub(crate) fn mib_of(&self, port: usize) -> Option<usize> {
        let flags = self.mac_flags.get(port)?.0.load(Relaxed);
        (flags & Flags::MIB != 0).then(|| self.config.gop[port] & 3)
    }

    /// Whether a frame of `len` bytes without check sequence is within the MAC's limit. The limit
    /// counts pairs of bytes after the Marvell header; a limit never set does not limit.
    pub(crate) fn mac_fits(&self, port: usize, len: usize) -> bool {
        let limit = match self.mac_in_use(port) {
            XLG => self.mac_reg(port, regs::XLG_CTRL1) & 0x1fff,
            _ => self.mac_reg(port, regs::GMAC_CTRL_0) >> 2 & 0x1fff,
        };
        len <= crate::MAX_FRAME && (limit == 0 || len + 4 <= 2 * limit as usize)
    }

    fn gmac_status(&self, port: usize, mac: &MacState) -> u32 {
        let an = self.mac_reg(port, regs::GMAC_AUTONEG_CONFIG);
        let link = mac.link.status0();
        let pick = |by_link: u32, mask: u32, forced: u32| {
            if an & AN_INBAND != 0 && an & by_link != 0 {
                link & mask
            } else {
                forced & mask
            }
        };
        let speed = match (an & AN_GMII_SPEED != 0, an & AN_MII_SPEED != 0) {
            (true, _) => STATUS0_1000,
            (_, true) => STATUS0_100,
            _ => 0,
        };
        let duplex = if an & AN_FULL_DUPLEX != 0 {
            STATUS0_FULL
        } else {
            0
        };
        let mut status = pick(AN_SPEED, STATUS0_1000 | STATUS0_100, speed)
            | pick(AN_DUPLEX, STATUS0_FULL, duplex)
            | pick(AN_FLOW, STATUS0_RX_PAUSE | STATUS0_TX_PAUSE, 0)
            | pick(AN_INBAND, STATUS0_AN_DONE, 0);
        if self.gmac_up(port, mac.link) {
            status |= STATUS0_LINK;
        }
        status
    }

    /// `GMAC_INT_SUM_STAT` of a port.
    fn gmac_summary(&self, port: usize, mac: &MacState) -> u32 {
        let mut sum = 0;
        if mac.stat[GMAC] & self.mac_reg(port, regs::GMAC_INT_MASK) != 0 {
            sum |= SUM_INTERNAL;
        }
        if self.ptp_pending(port) {
            sum |= SUM_PTP;
        }
        sum
    }

    /// `XLG_EXT_INT_STAT` of a port.
    fn xlg_summary(&self, port: usize, mac: &MacState) -> u32 {
        let mut sum = 0;
        if mac.stat[XLG] & self.mac_reg(port, regs::XLG_INT_MASK) != 0 {
            sum |= EXT_XLG;
        }
        let gmac = self.gmac_summary(port, mac);
        if gmac & self.mac_reg(port, regs::GMAC_INT_SUM_MASK) & SUM_INTERNAL != 0 {
            sum |= EXT_GIG;
        }
        if gmac & SUM_PTP != 0 {
            sum |= EXT_PTP;
        }
        sum
    }

    fn link_line(&self, port: usize, mac: &MacState) {
        self.update_line(Line::Link { port }, || {
            if self.config.gop[port] == 0 {
                self.xlg_summary(port, mac) & self.mac_reg(port, regs::XLG_EXT_INT_MASK) != 0
            } else {
                self.gmac_summary(port, mac) & self.mac_reg(port, regs::GMAC_INT_SUM_MASK) != 0
            }
        });
    }

    /// Updates the link line after a change outside of the MAC.
    pub(crate) fn update_link_line(&self, port: usize) {
        if let Some(cell) = self.macs.get(port) {
            cell.with(|mac| self.link_line(port, mac));
        }
    }

    /// The port whose MAC block an interface offset lies in, and the offset of the same register
    /// of MAC 0.
    pub(crate) fn mac_at(&self, offset: u32) -> Option<(usize, u32)> {
        let gop = offset.checked_sub(0x7000)? / STRIDE;
        let port = self.config.gop.iter().position(|g| *g as u32 == gop)?;
        Some((port, offset - STRIDE * gop))
    }

    /// Reads a computed MAC register, if `reg` is one.
    pub(crate) fn mac_read(&self, port: usize, reg: u32) -> Option<u32> {
        let clear = self.config.link_stat == StatClear::Read;

        self.macs[port].with(|mac| match reg {
            regs::GMAC_STATUS0 => Some(self.gmac_status(port, mac)),
            regs::GMAC_INT_SUM_STAT => Some(self.gmac_summary(port, mac)),
            regs::XLG_STATUS => Some(u32::from(self.xlg_up(port, mac.link))),
            regs::XLG_EXT_INT_STAT => Some(self.xlg_summary(port, mac)),
            regs::GMAC_INT_STAT | regs::XLG_INT_STAT => {
                let n = if reg == regs::XLG_INT_STAT { XLG } else { GMAC };
                let stat = mac.stat[n];
                if clear && stat != 0 {
                    mac.stat[n] = 0;
                    self.link_line(port, mac);
                }
                Some(stat)
            }
            _ => None,
        })
    }

    /// Writes a MAC register. What is not storage is ignored.
    pub(crate) fn mac_write(&self, port: usize, offset: u32, reg: u32, value: u32) {
        match reg {
            regs::GMAC_STATUS0
            | regs::GMAC_INT_SUM_STAT
            | regs::XLG_STATUS
            | regs::XLG_EXT_INT_STAT => return,
            regs::GMAC_INT_STAT | regs::XLG_INT_STAT => {
                let n = if reg == regs::XLG_INT_STAT { XLG } else { GMAC };
                if self.config.link_stat == StatClear::WriteOne {
                    self.macs[port].with(|mac| mac.stat[n] &= !value);
                }
            }
            // Restarting negotiation is a command.
            regs::GMAC_AUTONEG_CONFIG => self.set_iface_reg(offset, value & !AN_RESTART),
            _ => self.set_iface_reg(offset, value),
        }
        self.mac_changed(port);
    }

    pub(crate) fn mac_reset(&self, port: usize) {
        self.macs[port].with(|mac| {
            *mac = MacState {
                link: mac.link,
                ..MacState::NEW
            }
        });
        self.mac_changed(port);
        // What changed is history.
        self.macs[port].with(|mac| {
            mac.stat = [0; 2];
            self.link_line(port, mac);
        });
    }
}
