// SPDX-License-Identifier: GPL-2.0

//! The register trace: what a driver did, in the words of a data sheet.
//!
//! One line for each access, the same from every host:
//!
//! ```text
//! t1 BM_PHY_RLS[3] <- 0x0badc000
//! t0 PRS_TCAM_DATA[5]@243 <- 0x000f0000
//! if GMAC_CTRL_2[0] -> 0x00000040
//! port0.hif1 high
//! ```
//!
//! `t1` is the register window (software thread), `[3]` which of several like registers, `@243`
//! what the index register of an indirect one selects, `<-` a write and `->` a read.

use core::fmt;

use crate::{
    host::Line,
    regs::{
        self,
        Reg, //
    },
    Region, //
};

/// Something worth a line in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A register access.
    Access(Access),
    /// An interrupt line changed its level.
    Line(Line, bool),
}

/// One register access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The address range.
    pub region: Region,
    /// Byte offset in the range.
    pub offset: u32,
    /// What the index register selected, if this register has one.
    pub select: Option<u32>,
    /// Written, not read.
    pub write: bool,
    /// Value written or read.
    pub value: u32,
}

/// Finds the name of a register and which of several it is.
pub fn name(region: Region, offset: u32) -> Option<(&'static Reg, u32)> {
    let (table, offset) = match region {
        Region::PacketProcessor => (regs::PP, offset & 0xffff),
        Region::Interfaces => (regs::IFACE, offset),
        Region::Cm3 => (regs::CM3, offset),
        Region::Syscon => (regs::SYSCON, offset),
    };
    table.iter().find_map(|reg| {
        let distance = offset.checked_sub(reg.offset)?;
        let n = distance / reg.stride;
        (n < reg.count && distance % reg.stride == 0).then_some((reg, n))
    })
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.region {
            Region::PacketProcessor => write!(f, "t{} ", self.offset >> 16)?,
            Region::Interfaces => f.write_str("if ")?,
            Region::Cm3 => f.write_str("cm3 ")?,
            Region::Syscon => f.write_str("sys ")?,
        }
        match name(self.region, self.offset) {
            Some((reg, n)) if reg.count > 1 => write!(f, "{}[{n}]", reg.name)?,
            Some((reg, _)) => f.write_str(reg.name)?,
            None => write!(f, "{:#06x}", self.offset & 0xffff)?,
        }
        if let Some(select) = self.select {
            write!(f, "@{select}")?;
        }
        let arrow = if self.write { "<-" } else { "->" };
        write!(f, " {arrow} {:#010x}", self.value)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Access(access) => access.fmt(f),
            Event::Line(line, high) => write!(f, "{line} {}", if *high { "high" } else { "low" }),
        }
    }
}
