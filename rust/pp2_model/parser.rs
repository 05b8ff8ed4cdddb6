// SPDX-License-Identifier: GPL-2.0

//! Header parser: a loop of lookups in a TCAM, each with an action from the SRAM line of the same
//! number.
//!
//! The tables are atomics: frames are parsed on all CPUs at once while a driver may rewrite a
//! line. A frame that races with that sees the old line, the new one or a mix, as on the part.

use core::sync::atomic::{
    AtomicU32,
    AtomicU64,
    Ordering::Relaxed, //
};

use crate::{
    frame::Header,
    host::{
        Host,
        Storage, //
    },
    regs,
    Device, //
};

/// Lines of the TCAM and the SRAM.
pub const LINES: usize = 256;
const TCAM_WORDS: usize = 6;
const SRAM_WORDS: usize = 4;
/// Lookup ids, four bits.
const LOOKUPS: usize = 16;
const INVALID: u32 = 1 << 31;

/// Result-info bits that the rest of the device looks at.
pub mod ri {
    /// The frame is for nobody.
    pub const DROP: u32 = 1 << 31;
    /// An IP fragment.
    pub const FRAGMENT: u32 = 1 << 17;

    /// L3 kind: 1..3 IPv4, 4..5 IPv6, 6 ARP.
    pub fn l3(ri: u32) -> u32 {
        ri >> 12 & 7
    }

    /// L4 kind: 1 TCP, 2 UDP, 3 other.
    pub fn l4(ri: u32) -> u32 {
        ri >> 22 & 7
    }
}

/// What the parser found out about a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Result info.
    pub ri: u32,
    /// Flow (lookup) id for the classifier.
    pub flow: usize,
    /// Offset of the network header; all offsets count from the Marvell header.
    pub l3: Option<usize>,
    /// Offset of the transport header.
    pub l4: Option<usize>,
    /// A lookup found no line, or there were too many of them.
    pub lost: bool,
}

/// The parser's memories.
pub(crate) struct Parser<S: Storage> {
    tcam: S::List<AtomicU32>,
    sram: S::List<AtomicU32>,
    hits: S::List<AtomicU32>,
    /// The TCAM once more, in the form that lookups compare: for each line data and enable bits of
    /// words 0..3, then of words 4 and 5.
    packed: S::List<AtomicU64>,
    /// For each lookup id, the valid lines that can match it, one bit each.
    lines: S::List<AtomicU32>,
}

impl<S: Storage> Parser<S> {
    pub(crate) fn new(storage: &S) -> Result<Self, S::Error> {
        let words = |n| storage.list(n, |_| Ok(AtomicU32::new(0)));
        let this = Self {
            tcam: words(LINES * TCAM_WORDS)?,
            sram: words(LINES * SRAM_WORDS)?,
            hits: words(LINES)?,
            packed: storage.list(LINES * 4, |_| Ok(AtomicU64::new(0)))?,
            lines: words(LOOKUPS * LINES / 32)?,
        };
        this.reset();
        Ok(this)
    }

    pub(crate) fn reset(&self) {
        for table in [&self.tcam, &self.sram, &self.hits, &self.lines] {
            for word in table.iter() {
                word.store(0, Relaxed);
            }
        }
        for word in self.packed.iter() {
            word.store(0, Relaxed);
        }
        for line in 0..LINES {
            self.tcam[line * TCAM_WORDS + 5].store(INVALID, Relaxed);
        }
    }

    pub(crate) fn tcam(&self, line: u32, word: usize) -> &AtomicU32 {
        &self.tcam[(line as usize % LINES) * TCAM_WORDS + word % TCAM_WORDS]
    }

    pub(crate) fn sram(&self, line: u32, word: usize) -> &AtomicU32 {
        &self.sram[(line as usize % LINES) * SRAM_WORDS + word % SRAM_WORDS]
    }

    pub(crate) fn hit_count(&self, line: u32) -> &AtomicU32 {
        &self.hits[line as usize % LINES]
    }

    pub(crate) fn write_tcam(&self, line: u32, word: usize, value: u32) {
        self.tcam(line, word).store(value, Relaxed);
        let line = line as usize % LINES;
        let first = word / 4 * 4;
        let (mut data, mut enable) = (0, 0);
        for n in (first..TCAM_WORDS.min(first + 4)).rev() {
            let word = u64::from(self.tcam[line * TCAM_WORDS + n].load(Relaxed));
            data = data << 16 | word & 0xffff;
            enable = enable << 16 | word >> 16;
        }
        // Bit 31 of word 5 says "invalid"; it is no enable bit.
        enable &= if first == 0 { !0 } else { 0x7fff_ffff };
        self.packed[line * 4 + first / 2].store(data & enable, Relaxed);
        self.packed[line * 4 + first / 2 + 1].store(enable, Relaxed);
        if word != 5 {
            return;
        }
        let (data, enable) = (value & 0xf, value >> 16 & 0xf);
        for lu in 0..LOOKUPS {
            let lines = &self.lines[lu * LINES / 32 + line / 32];
            let bit = 1 << (line % 32);
            if value & INVALID == 0 && (lu as u32 ^ data) & enable == 0 {
                lines.fetch_or(bit, Relaxed);
            } else {
                lines.fetch_and(!bit, Relaxed);
            }
        }
    }

    /// The lowest valid line that matches.
    fn lookup(&self, key: [u64; 2]) -> Option<usize> {
        let lu = (key[1] >> 16) as usize % LOOKUPS;
        for word in 0..LINES / 32 {
            let mut candidates = self.lines[lu * LINES / 32 + word].load(Relaxed);
            while candidates != 0 {
                let line = word * 32 + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let word = |n: usize| self.packed[line * 4 + n].load(Relaxed);
                let matches = key[0] & word(1) == word(0) && key[1] & word(3) == word(2);
                if matches {
                    return Some(line);
                }
            }
        }
        None
    }

    fn action(&self, line: usize) -> Action {
        let mut words = [0; SRAM_WORDS];
        for (n, word) in words.iter_mut().enumerate() {
            *word = self.sram[line * SRAM_WORDS + n].load(Relaxed);
        }
        Action(words)
    }
}

/// An SRAM line.
#[derive(Clone, Copy)]
struct Action([u32; SRAM_WORDS]);

impl Action {
    /// The field of `bits` bits from bit `low` on.
    fn field(self, low: usize, bits: u32) -> u32 {
        let word = |n: usize| u64::from(self.0.get(n).copied().unwrap_or(0));
        let pair = word(low / 32) | (word(low / 32 + 1) << 32);
        (pair >> (low % 32)) as u32 & ((1u64 << bits) - 1) as u32
    }

    /// A magnitude of eight bits with its sign above it.
    fn signed(self, low: usize) -> i32 {
        let magnitude = self.field(low, 8) as i32;
        if self.field(low + 8, 1) != 0 {
            -magnitude
        } else {
            magnitude
        }
    }
}

impl<H: Host> Device<H> {
    /// Parses a frame that came in on `port`, telling `visit` of every line that matched.
    pub fn parse(&self, port: usize, header: &Header<'_>, mut visit: impl FnMut(usize)) -> Parsed {
        let mut parsed = Parsed::default();
        if self.reg(regs::PRS_TCAM_CTRL) & 1 == 0 {
            return parsed;
        }
        let lane = 8 * (port % 4) as u32;
        let mut lookup = self.reg(regs::PRS_INIT_LOOKUP) >> (4 * port as u32 % 32) & 0xf;
        let mut offset = (self.reg(regs::PRS_INIT_OFFS + (port as u32 & 4)) >> lane & 0x3f) as i32;
        let loops = self.reg(regs::PRS_MAX_LOOP + (port as u32 & 4)) >> lane & 0xff;
        let (mut ai, mut from_result, mut done) = (0, false, false);

        for _ in 0..loops {
            // Eight header bytes, or the result so far; then AI, port and lookup id.
            let low = if from_result {
                u64::from(parsed.ri)
            } else {
                header.window(offset)
            };
            let high = ai | 1 << (8 + port % 8) | lookup << 16;
            let Some(line) = self.parser.lookup([low, u64::from(high)]) else {
                break;
            };
            visit(line);
            let hits = self.parser.hit_count(line as u32);
            hits.store(hits.load(Relaxed).wrapping_add(1) & 0xffff, Relaxed);
            let action = self.parser.action(line);

            let mask = action.field(32, 32);
            parsed.ri = parsed.ri & !mask | action.field(0, 32) & mask;
            let mask = action.field(98, 8);
            ai = ai & !mask | action.field(90, 8) & mask;

            // The user offset counts from where the header pointer was before the shift.
            let base = if action.field(89, 1) != 0 { 0 } else { offset };
            let at = usize::try_from(base.wrapping_add(action.signed(73))).ok();
            match action.field(82, 3) {
                1 => parsed.l3 = at,
                4 => parsed.l4 = at,
                _ => (),
            }
            if action.field(85, 2) == 1 {
                offset = offset.wrapping_add(action.signed(64));
            }
            lookup = action.field(106, 4);
            from_result = action.field(111, 1) != 0;
            if action.field(110, 1) != 0 {
                done = true;
                break;
            }
        }
        parsed.flow = (ai & 0x3f) as usize;
        parsed.lost = !done;
        parsed
    }
}
