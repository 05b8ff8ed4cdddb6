// SPDX-License-Identifier: GPL-2.0

//! MIB counters of the MACs. They clear when read; the high half of a 64-bit counter is latched
//! when its low half is read.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::Relaxed, //
};

use crate::{
    frame::Destination,
    host::{
        Host,
        Storage, //
    },
    Device, //
};

/// Offsets in a block.
const GOOD_OCTETS_RCVD: u32 = 0x00;
const BAD_OCTETS_RCVD: u32 = 0x08;
const UNICAST_RCVD: u32 = 0x10;
const BROADCAST_RCVD: u32 = 0x18;
const MULTICAST_RCVD: u32 = 0x1c;
const FRAMES_64: u32 = 0x20;
const GOOD_OCTETS_SENT: u32 = 0x38;
const UNICAST_SENT: u32 = 0x40;
const MULTICAST_SENT: u32 = 0x48;
const BROADCAST_SENT: u32 = 0x4c;
const FC_SENT: u32 = 0x54;
const FC_RCVD: u32 = 0x58;
pub(crate) const RX_FIFO_OVERRUN: u32 = 0x5c;
pub(crate) const UNDERSIZE_RCVD: u32 = 0x60;
pub(crate) const OVERSIZE_RCVD: u32 = 0x68;
const BAD_CRC: u32 = 0x74;

/// Bytes of a block; the rest of its 256 is empty.
const BLOCK: usize = 0x80;
const WORDS: usize = BLOCK / 4;
/// Check sequence, which counts as octets.
const FCS: u64 = 4;

/// The counters of all MACs.
pub(crate) struct Mib<S: Storage> {
    words: S::List<AtomicU32>,
    /// Good octets received and sent, for each MAC.
    octets: [[AtomicU64; 2]; 4],
    high: [[AtomicU32; 2]; 4],
}

impl<S: Storage> Mib<S> {
    pub(crate) fn new(storage: &S) -> Result<Self, S::Error> {
        Ok(Self {
            words: storage.list(4 * WORDS, |_| Ok(AtomicU32::new(0)))?,
            octets: Default::default(),
            high: Default::default(),
        })
    }

    pub(crate) fn reset(&self) {
        for word in self.words.iter() {
            word.store(0, Relaxed);
        }
        for mac in 0..4 {
            for n in 0..2 {
                self.octets[mac][n].store(0, Relaxed);
                self.high[mac][n].store(0, Relaxed);
            }
        }
    }

    fn add(&self, mac: usize, offset: u32, n: u32) {
        self.words[mac % 4 * WORDS + offset as usize / 4 % WORDS].fetch_add(n, Relaxed);
    }

    fn size(&self, mac: usize, octets: u64) {
        let bucket = match octets {
            0..=64 => 0,
            65..=127 => 1,
            128..=255 => 2,
            256..=511 => 3,
            512..=1023 => 4,
            _ => 5,
        };
        self.add(mac, FRAMES_64 + 4 * bucket, 1);
    }

    /// Reads a register, given its offset from the first block.
    pub(crate) fn read(&self, offset: u32) -> u32 {
        let (mac, offset) = ((offset >> 8 & 3) as usize, offset & 0xff);
        let half = |n: usize, high: bool| {
            if high {
                return self.high[mac][n].swap(0, Relaxed);
            }
            let octets = self.octets[mac][n].swap(0, Relaxed);
            self.high[mac][n].store((octets >> 32) as u32, Relaxed);
            octets as u32
        };
        match offset {
            GOOD_OCTETS_RCVD | 0x04 => half(0, offset & 4 != 0),
            GOOD_OCTETS_SENT | 0x3c => half(1, offset & 4 != 0),
            _ if (offset as usize) < BLOCK => {
                self.words[mac * WORDS + offset as usize / 4].swap(0, Relaxed)
            }
            _ => 0,
        }
    }
}

impl<H: Host> Device<H> {
    /// Counts a good frame of `len` bytes from the wire.
    pub(crate) fn mib_received(&self, port: usize, data: &[u8], len: usize) {
        let Some(mac) = self.mib_of(port) else {
            return;
        };
        let octets = len as u64 + FCS;
        self.mib.octets[mac][0].fetch_add(octets, Relaxed);
        self.mib.size(mac, octets);
        let counter = match Destination::of(data) {
            Destination::Unicast => UNICAST_RCVD,
            Destination::Multicast => MULTICAST_RCVD,
            Destination::Broadcast => BROADCAST_RCVD,
            Destination::Pause => FC_RCVD,
        };
        self.mib.add(mac, counter, 1);
        if len < crate::rx::MIN_FRAME {
            self.mib.add(mac, UNDERSIZE_RCVD, 1);
        }
    }

    /// Counts a frame with a bad check sequence.
    pub(crate) fn mib_bad_crc(&self, port: usize, len: usize) {
        if let Some(mac) = self.mib_of(port) {
            self.mib.add(mac, BAD_CRC, 1);
            self.mib
                .add(mac, BAD_OCTETS_RCVD, (len as u64 + FCS) as u32);
        }
    }

    /// Counts one event.
    pub(crate) fn mib_count(&self, port: usize, counter: u32) {
        if let Some(mac) = self.mib_of(port) {
            self.mib.add(mac, counter, 1);
        }
    }

    /// Counts a frame that went out; `head` holds its addresses and type at least.
    pub(crate) fn mib_sent(&self, port: usize, head: &[u8], len: usize) {
        let Some(mac) = self.mib_of(port) else {
            return;
        };
        let octets = len as u64 + FCS;
        self.mib.octets[mac][1].fetch_add(octets, Relaxed);
        self.mib.size(mac, octets);
        let counter = match Destination::of(head) {
            Destination::Unicast => UNICAST_SENT,
            Destination::Multicast => MULTICAST_SENT,
            Destination::Broadcast => BROADCAST_SENT,
            Destination::Pause => FC_SENT,
        };
        self.mib.add(mac, counter, 1);
    }
}
