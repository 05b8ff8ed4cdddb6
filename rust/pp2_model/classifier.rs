// SPDX-License-Identifier: GPL-2.0

//! Classifier: from the parser's flow to a receive queue.
//!
//! A flow names a run of flow-table lines. Each sends extracted header fields to an engine: C2, a
//! TCAM whose lines have actions, or C3Hx, which hashes them. RSS then picks a queue by hash.
//!
//! Like the parser's, the tables are atomics and frames read them without a lock.

use core::sync::atomic::{
    AtomicU32,
    Ordering::Relaxed, //
};

use crate::{
    frame::{
        be16,
        Header,
        MH_SIZE, //
    },
    host::{
        Host,
        Storage, //
    },
    parser::{
        ri,
        Parsed, //
    },
    regs,
    Device, //
};

/// Lookup ids times ways.
const LOOKUPS: usize = 128;
/// Lines of the flow table.
const FLOWS: usize = 512;
/// Lines of the C2 TCAM.
const C2_LINES: usize = 256;
/// Words of a C2 line: five of TCAM data, invalid, actions, four of attributes.
const C2_WORDS: usize = 11;
/// RSS tables and their lines.
const RSS_TABLES: usize = 8;
const RSS_LINES: usize = 32;

const LOOKUP_ENABLE: u32 = 1 << 25;
const C2_INVALID: u32 = 1 << 31;
const ATTR2_RSS: u32 = 1 << 30;

/// IEEE 802.3 CRC32: the default RSS hash.
pub fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// Field ids of the flow table.
mod field {
    pub(super) const MAC_DA: u32 = 0x03;
    pub(super) const VLAN_PRI: u32 = 0x05;
    pub(super) const VLAN: u32 = 0x06;
    pub(super) const L3_PROTO: u32 = 0x0f;
    pub(super) const IP4_SA: u32 = 0x10;
    pub(super) const IP4_DA: u32 = 0x11;
    pub(super) const IP6_SA: u32 = 0x17;
    pub(super) const IP6_DA: u32 = 0x1a;
    pub(super) const L4_SPORT: u32 = 0x1d;
    pub(super) const L4_DPORT: u32 = 0x1e;
}

/// Fields extracted from a frame, in the order the flow-table line lists them.
struct Key {
    /// For the hash: the bytes as they are in the frame.
    bytes: [u8; 64],
    len: usize,
    /// For C2: numbers side by side from bit 0, 64 bits at most.
    bits: u64,
    used: u32,
    /// Where the VLAN fields share a slot of 16 bits.
    vlan_slot: Option<u32>,
}

impl Key {
    fn new() -> Self {
        Self {
            bytes: [0; 64],
            len: 0,
            bits: 0,
            used: 0,
            vlan_slot: None,
        }
    }

    fn push_bytes(&mut self, data: &[u8], at: usize, len: usize) {
        for i in at..at.saturating_add(len) {
            if let Some(byte) = self.bytes.get_mut(self.len) {
                *byte = data.get(i).copied().unwrap_or(0);
                self.len += 1;
            }
        }
    }

    fn push_bits(&mut self, value: u64, bits: u32) {
        self.bits |= value.checked_shl(self.used).unwrap_or(0);
        self.used = self.used.saturating_add(bits);
    }

    fn push_number(&mut self, data: &[u8], at: usize) {
        self.push_bytes(data, at, 2);
        self.push_bits(u64::from(be16(data, at)), 16);
    }

    fn push_vlan(&mut self, tci: u16, mask: u16) {
        let slot = *self.vlan_slot.get_or_insert(self.used);
        self.used = self.used.max(slot.saturating_add(16));
        self.bits |= u64::from(tci & mask).checked_shl(slot).unwrap_or(0);
        self.push_bytes(&(tci & mask).to_be_bytes(), 0, 2);
    }

    fn extract(header: &Header<'_>, parsed: &Parsed, tbl1: u32, tbl2: u32) -> Self {
        let mut key = Self::new();
        let frame = header.from(MH_SIZE);
        let l3 = parsed.l3.map_or(&[][..], |at| header.from(at));
        let l4 = parsed.l4.map_or(&[][..], |at| header.from(at));
        let tci = match be16(frame, 12) {
            0x8100 | 0x88a8 => be16(frame, 14),
            _ => 0,
        };
        for n in 0..(tbl1 & 7).min(4) {
            match tbl2 >> (6 * n) & 0x3f {
                field::MAC_DA => {
                    key.push_bytes(frame, 0, 6);
                    key.push_bits(0, 48);
                }
                field::VLAN_PRI => key.push_vlan(tci, 0xe000),
                field::VLAN => key.push_vlan(tci, 0x0fff),
                field::L3_PROTO => {
                    let at = if matches!(ri::l3(parsed.ri), 4 | 5) {
                        6
                    } else {
                        9
                    };
                    key.push_bytes(l3, at, 1);
                    key.push_bits(u64::from(l3.get(at).copied().unwrap_or(0)), 8);
                }
                field::IP4_SA => {
                    key.push_bytes(l3, 12, 4);
                    key.push_bits(u64::from(be16(l3, 12)) << 16 | u64::from(be16(l3, 14)), 32);
                }
                field::IP4_DA => {
                    key.push_bytes(l3, 16, 4);
                    key.push_bits(u64::from(be16(l3, 16)) << 16 | u64::from(be16(l3, 18)), 32);
                }
                field::IP6_SA => {
                    key.push_bytes(l3, 8, 16);
                    key.push_bits(0, 128);
                }
                field::IP6_DA => {
                    key.push_bytes(l3, 24, 16);
                    key.push_bits(0, 128);
                }
                field::L4_SPORT => key.push_number(l4, 0),
                field::L4_DPORT => key.push_number(l4, 2),
                _ => (),
            }
        }
        key
    }
}

/// What the classifier decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Physical receive queue, or the frame is dropped.
    pub queue: Option<usize>,
    /// Hash of the fields that the last hash engine extracted.
    pub hash: u32,
    /// Whether a hash engine ran.
    pub hashed: bool,
}

/// Values that C2 lines update, each until a line locks it.
struct Attributes {
    low: u32,
    high: u32,
    rss: bool,
    colour: u32,
    locked: u32,
}

impl Attributes {
    const LOW: u32 = 1;
    const HIGH: u32 = 2;
    const RSS: u32 = 4;
    const COLOUR: u32 = 8;

    /// Applies a two-bit action to an attribute: bit 1 is "update", bit 0 "lock". Returns whether
    /// to update.
    fn act(&mut self, attribute: u32, action: u32) -> bool {
        let free = self.locked & attribute == 0;
        if action & 1 != 0 {
            self.locked |= attribute;
        }
        free && action & 2 != 0
    }
}

/// The classifier's memories.
pub(crate) struct Classifier<S: Storage> {
    lookup: S::List<AtomicU32>,
    flow: S::List<AtomicU32>,
    c2: S::List<AtomicU32>,
    /// The valid lines of C2, one bit each.
    c2_valid: S::List<AtomicU32>,
    rxq2rss: S::List<AtomicU32>,
    rss: S::List<AtomicU32>,
    rss_width: S::List<AtomicU32>,
    lookup_hits: S::List<AtomicU32>,
    flow_hits: S::List<AtomicU32>,
    c2_hits: S::List<AtomicU32>,
}

impl<S: Storage> Classifier<S> {
    pub(crate) fn new(storage: &S) -> Result<Self, S::Error> {
        let words = |n| storage.list(n, |_| Ok(AtomicU32::new(0)));
        let this = Self {
            lookup: words(LOOKUPS)?,
            flow: words(FLOWS * 3)?,
            c2: words(C2_LINES * C2_WORDS)?,
            c2_valid: words(C2_LINES / 32)?,
            rxq2rss: words(256)?,
            rss: words(RSS_TABLES * RSS_LINES)?,
            rss_width: words(RSS_TABLES)?,
            lookup_hits: words(LOOKUPS)?,
            flow_hits: words(FLOWS)?,
            c2_hits: words(C2_LINES)?,
        };
        this.reset();
        Ok(this)
    }

    pub(crate) fn reset(&self) {
        for table in [
            &self.lookup,
            &self.flow,
            &self.c2,
            &self.c2_valid,
            &self.rxq2rss,
            &self.rss,
            &self.rss_width,
            &self.lookup_hits,
            &self.flow_hits,
            &self.c2_hits,
        ] {
            for word in table.iter() {
                word.store(0, Relaxed);
            }
        }
        for line in 0..C2_LINES {
            self.c2[line * C2_WORDS + 5].store(C2_INVALID, Relaxed);
        }
    }

    fn c2_word(&self, line: usize, word: usize) -> u32 {
        self.c2[line * C2_WORDS + word].load(Relaxed)
    }

    /// The lowest C2 line that matches the extracted key, lookup type and port.
    fn c2_lookup(&self, key: u64, lookup_type: u32, port: usize) -> Option<usize> {
        // Word 3 of the line holds the low bits of the key.
        let words = [
            (key >> 48) as u16,
            (key >> 32) as u16,
            (key >> 16) as u16,
            key as u16,
            lookup_type as u16 & 0x3f | 1 << (8 + port % 8),
        ];
        for (n, valid) in self.c2_valid.iter().enumerate() {
            let mut candidates = valid.load(Relaxed);
            while candidates != 0 {
                let line = 32 * n + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let matches = words.iter().enumerate().all(|(w, key)| {
                    let word = self.c2_word(line, w);
                    (word ^ u32::from(*key)) & word >> 16 & 0xffff == 0
                });
                if matches {
                    return Some(line);
                }
            }
        }
        None
    }

    /// Notes that the selected line has become valid or invalid.
    pub(crate) fn c2_invalid(&self, line: u32, value: u32) {
        let line = line as usize % C2_LINES;
        let (valid, bit) = (&self.c2_valid[line / 32], 1 << (line % 32));
        if value & C2_INVALID == 0 {
            valid.fetch_or(bit, Relaxed);
        } else {
            valid.fetch_and(!bit, Relaxed);
        }
    }

    fn c2_apply(&self, line: usize, to: &mut Attributes) {
        let (act, attr0) = (self.c2_word(line, 6), self.c2_word(line, 7));
        if to.act(Attributes::LOW, act >> 9 & 3) {
            to.low = attr0 >> 21 & 7;
        }
        if to.act(Attributes::HIGH, act >> 11 & 3) {
            to.high = attr0 >> 24 & 0x1f;
        }
        if to.act(Attributes::RSS, act >> 19 & 3) {
            to.rss = self.c2_word(line, 9) & ATTR2_RSS != 0;
        }
        // Colours: 0 none, then pairs of (change, change and lock): green, yellow, red.
        let colour = act & 7;
        if to.act(Attributes::COLOUR, colour & 1 | u32::from(colour > 1) << 1) {
            to.colour = colour >> 1;
        }
    }

    fn spread(&self, queue: u32, hash: u32) -> u32 {
        let table = (self.rxq2rss[queue as usize & 0xff].load(Relaxed) as usize) % RSS_TABLES;
        let line = hash as usize % RSS_LINES;
        let entry = self.rss[table * RSS_LINES + line].load(Relaxed) & 0xff;
        let width = self.rss_width[table].load(Relaxed).min(8);
        let mask = (1 << width) - 1;
        queue & !mask | entry & mask
    }
}

/// The colour of frames to be dropped.
const RED: u32 = 3;

impl<H: Host> Device<H> {
    /// Chooses the receive queue of a parsed frame.
    pub fn classify(&self, port: usize, header: &Header<'_>, parsed: &Parsed) -> Class {
        let cls = &self.classifier;
        let way = self.reg(regs::CLS_PORT_WAY) >> (port % 8) & 1;
        let id = ((way as usize) << 6) | (parsed.flow % 64);
        let entry = cls.lookup[id].load(Relaxed);
        cls.lookup_hits[id].fetch_add(1, Relaxed);
        let dropped = parsed.ri & ri::DROP != 0;

        let mut class = Class {
            queue: Some((entry & 0xff) as usize),
            hash: 0,
            hashed: false,
        };
        if entry & LOOKUP_ENABLE == 0 || self.reg(regs::CLS_MODE) & 1 == 0 {
            if dropped {
                class.queue = None;
            }
            return class;
        }

        let mut to = Attributes {
            low: entry & 7,
            high: entry >> 3 & 0x1f,
            rss: false,
            colour: if dropped { RED } else { 0 },
            locked: 0,
        };
        for line in (entry >> 16 & 0x1ff) as usize..FLOWS {
            let word = |w: usize| cls.flow[line * 3 + w].load(Relaxed);
            let tbl0 = word(0);
            let engine = tbl0 >> 1 & 7;
            if engine != 0 && tbl0 >> 4 & 1 << (port % 8) != 0 {
                cls.flow_hits[line].fetch_add(1, Relaxed);
                let tbl1 = word(1);
                let key = Key::extract(header, parsed, tbl1, word(2));
                match engine {
                    1 => {
                        if let Some(line) = cls.c2_lookup(key.bits, tbl1 >> 3 & 0x3f, port) {
                            cls.c2_hits[line].fetch_add(1, Relaxed);
                            cls.c2_apply(line, &mut to);
                        }
                    }
                    6 | 7 => {
                        class.hash = (self.config.hash)(&key.bytes[..key.len]);
                        class.hashed = true;
                    }
                    _ => (),
                }
            }
            if tbl0 & 1 != 0 {
                break;
            }
        }

        let mut queue = to.high << 3 | to.low;
        if to.rss {
            queue = cls.spread(queue, class.hash);
        }
        class.queue = (to.colour != RED).then_some(queue as usize);
        class
    }

    /// The word behind an indirect classifier register, if `offset` is one.
    pub(crate) fn classifier_word(&self, offset: u32) -> Option<&AtomicU32> {
        let cls = &self.classifier;
        let word = match offset {
            regs::RXQ2RSS_TABLE => &cls.rxq2rss[(self.reg(regs::RSS_INDEX) >> 16 & 0xff) as usize],
            regs::RSS_TABLE_ENTRY => {
                let index = self.reg(regs::RSS_INDEX) as usize;
                &cls.rss[(index >> 8 & 7) * RSS_LINES + (index & 0x1f)]
            }
            regs::RSS_WIDTH => &cls.rss_width[(self.reg(regs::RSS_INDEX) >> 8 & 7) as usize],
            regs::CLS_LKP_TBL => &cls.lookup[self.reg(regs::CLS_LKP_INDEX) as usize % LOOKUPS],
            _ => {
                if let Some(word) = regs::nth(offset, regs::CLS_FLOW_TBL, 3) {
                    let line = self.reg(regs::CLS_FLOW_INDEX) as usize % FLOWS;
                    return Some(&cls.flow[line * 3 + word]);
                }
                let word = match offset {
                    0x1b10..=0x1b24 => (offset - regs::C2_TCAM_DATA) / 4,
                    0x1b60..=0x1b70 => 6 + (offset - regs::C2_ACT) / 4,
                    _ => return None,
                };
                let line = self.reg(regs::C2_TCAM_IDX) as usize % C2_LINES;
                &cls.c2[line * C2_WORDS + word as usize]
            }
        };
        Some(word)
    }

    /// The hit counter behind an indirect register, if `offset` is one.
    pub(crate) fn hit_counter(&self, offset: u32) -> Option<&AtomicU32> {
        let cls = &self.classifier;
        let index = self.reg(regs::CTRS_IDX) as usize;
        Some(match offset {
            regs::PRS_TCAM_HIT_CNT => self.parser.hit_count(self.reg(regs::PRS_TCAM_HIT_IDX)),
            regs::C2_HIT_CTR => &cls.c2_hits[self.reg(regs::C2_TCAM_IDX) as usize % C2_LINES],
            regs::CLS_DEC_TBL_HIT => &cls.lookup_hits[index % LOOKUPS],
            regs::CLS_FLOW_TBL_HIT => &cls.flow_hits[index % FLOWS],
            _ => return None,
        })
    }
}
