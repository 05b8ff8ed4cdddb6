// SPDX-License-Identifier: GPL-2.0

//! Mailbox of the flow-control firmware that runs on a Cortex-M3.
//!
//! Drivers set thresholds in its memory and ask for them to be read; the firmware says that it has
//! by clearing the request. Without firmware the request stays, and drivers time out.

use core::sync::atomic::Ordering::Relaxed;

use crate::{
    host::Host,
    regs,
    Device, //
};

const FC_ENABLE: u32 = 1 << 0;
const FC_UPDATE: u32 = 1 << 31;

impl<H: Host> Device<H> {
    pub(crate) fn cm3_read(&self, offset: u32) -> u32 {
        self.cm3
            .get(offset as usize / 4)
            .map_or(0, |word| word.load(Relaxed))
    }

    pub(crate) fn cm3_write(&self, offset: u32, mut value: u32) {
        if offset == regs::MSS_FC_COM && self.config.firmware {
            value &= !FC_UPDATE;
        }
        if let Some(word) = self.cm3.get(offset as usize / 4) {
            word.store(value, Relaxed);
        }
    }

    /// Whether the firmware answers and flow control is on. The thresholds are for the host to
    /// read, with [`Device::peek_cm3`]; the model sends no pause frames of its own.
    pub fn flow_control_on(&self) -> bool {
        self.config.firmware && self.cm3_read(regs::MSS_FC_COM) & FC_ENABLE != 0
    }

    /// A word of the firmware's memory.
    pub fn peek_cm3(&self, offset: u32) -> u32 {
        self.cm3_read(offset)
    }
}
