// SPDX-License-Identifier: GPL-2.0

//! Random programs: bytes become register accesses, frames, descriptors, faults and time. The
//! fuzzer makes them up; those it found something with are kept as a corpus of tests.

use pp2_model::{
    host::Timer,
    hostile::Fault,
    mac::Link,
    regs,
    regs::Reg,
    Config,
    Region,
    WireError, //
};

use super::{
    frames,
    Lab,
    MEMORY,
    PAGE,
    RING, //
};

/// Takes numbers off a byte string; zeros at the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn u8(&mut self) -> u8 {
        match self.0 {
            [first, rest @ ..] => {
                self.0 = rest;
                *first
            }
            [] => 0,
        }
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }

    /// Values that registers and descriptors care for.
    fn value(&mut self) -> u32 {
        match self.u8() % 8 {
            0 => self.u32(),
            1 => u32::from(self.u8()),
            2 => u32::from(self.u16()) << 16 | 1,
            3 => 1 << (self.u8() % 32),
            4 => !0,
            5 => u32::from(self.u16()) << 4,
            6 => u32::from(self.u8()) << 16 | u32::from(self.u8()),
            _ => 128 + u32::from(self.u8()) % 32,
        }
    }

    fn register(&mut self, table: &[Reg]) -> u32 {
        let n = self.u16();
        if n >= 0xf000 {
            return self.u32();
        }
        let reg = &table[usize::from(n) % table.len()];
        reg.offset + u32::from(self.u8()) % reg.count * reg.stride
    }

    fn frame(&mut self) -> Vec<u8> {
        let port = usize::from(self.u8() % 4);
        let len = usize::from(self.u16()) % 12_000;
        let mut frame = match self.u8() % 6 {
            0 => frames::tcp4(port, len),
            1 => frames::udp4(port, len),
            2 => frames::tcp6(port, len),
            3 => frames::udp6(port, len),
            4 => frames::arp(),
            _ => vec![self.u8(); len],
        };
        for _ in 0..self.u8() % 4 {
            let at = usize::from(self.u8());
            let value = self.u8();
            if let Some(byte) = frame.get_mut(at) {
                *byte = value;
            }
        }
        frame
    }
}

const FAULTS: [Fault; Fault::COUNT] = [
    Fault::PoolId,
    Fault::Cookie,
    Fault::Address,
    Fault::Length,
    Fault::ErrorBits,
    Fault::BufferHeader,
    Fault::DuplicateRx,
    Fault::OccupiedCount,
    Fault::PoolCount,
    Fault::PoolDry,
    Fault::DuplicateTx,
    Fault::LostTx,
    Fault::ShortReservation,
    Fault::LostInterrupt,
    Fault::StuckDrain,
    Fault::BadCrc,
];

/// Runs a program. Nothing that it does may panic, hang or reach outside of memory.
pub fn run(program: &[u8]) {
    let mut bytes = Bytes(program);
    let flags = bytes.u8();
    let config = Config {
        oversize: if flags & 2 != 0 {
            pp2_model::config::Oversize::Drop
        } else {
            pp2_model::config::Oversize::BufferHeader
        },
        pool_order: if flags & 4 != 0 {
            pp2_model::config::PoolOrder::Lifo
        } else {
            pp2_model::config::PoolOrder::Fifo
        },
        threshold_inclusive: flags & 8 == 0,
        time_zero_is_now: flags & 16 == 0,
        tx_csum_seed: flags & 32 != 0,
        start_empties_pool: flags & 64 == 0,
        parser_miss_drops: flags & 128 == 0,
        ..Config::default()
    };
    let mut lab = if flags & 1 != 0 {
        Lab::cold()
    } else {
        Lab::open_with(config)
    };
    let aggr: Vec<u64> = (0..3)
        .map(|t| u64::from(lab.r(0, regs::AGGR_TXQ_DESC_ADDR + 4 * t)) << 8)
        .collect();
    let opened = flags & 1 == 0;
    let traced = program.len() % 8 == 0;

    // A program's length bounds its time.
    while !bytes.0.is_empty() {
        match bytes.u8() % 14 {
            0 | 1 => {
                let thread = u32::from(bytes.u8()) % 10;
                let offset = bytes.register(regs::PP);
                let value = bytes.value();
                lab.w(thread, offset & 0xffff, value);
            }
            2 => {
                let thread = u32::from(bytes.u8()) % 10;
                let offset = bytes.register(regs::PP);
                lab.r(thread, offset & 0xffff);
            }
            3 => {
                let offset = bytes.register(regs::IFACE);
                let value = bytes.value();
                lab.wi(offset, value);
            }
            4 => {
                let offset = bytes.register(regs::IFACE);
                lab.ri(offset);
            }
            5 => {
                let region = if bytes.u8() & 1 == 0 {
                    Region::Cm3
                } else {
                    Region::Syscon
                };
                let offset = bytes.u32();
                let value = bytes.value();
                lab.dev.write(region, offset, value);
                lab.dev.read(region, offset);
            }
            6 | 7 => {
                let port = usize::from(bytes.u8() % 5);
                let frame = bytes.frame();
                let error = match bytes.u8() % 8 {
                    0 => Some(WireError::Crc),
                    1 => Some(WireError::Overrun),
                    _ => None,
                };
                lab.dev.receive_frame(port, &frame, error);
            }
            8 => {
                let at = PAGE + u64::from(bytes.u32()) % (MEMORY - PAGE - 256);
                let data: Vec<u8> = (0..bytes.u8()).map(|_| bytes.u8()).collect();
                lab.poke(at, &data);
            }
            9 if opened => {
                let thread = usize::from(bytes.u8() % 3);
                let n = bytes.u8() % 6;
                for i in 0..u32::from(n) {
                    let index = lab.r(0, regs::AGGR_TXQ_INDEX + 4 * thread as u32) + i;
                    let mut desc: [u32; 8] = std::array::from_fn(|_| bytes.value());
                    desc[0] ^= bytes.u32() & 0x3000_ff80;
                    desc[1] = desc[1] & 0x0fff_00ff | (128 + u32::from(bytes.u8()) % 34) << 8;
                    desc[4] %= MEMORY as u32;
                    desc[5] &= 0xffff_ff00;
                    let slot = aggr[thread] + u64::from(index % RING) * 32;
                    lab.poke_words(slot, &desc);
                }
                lab.doorbell(thread, u32::from(n));
            }
            10 => {
                let ns = u64::from(bytes.u32());
                lab.advance(ns);
                if let Some(timer) = Timer::from_index(usize::from(bytes.u8())) {
                    lab.dev.timer(timer);
                }
            }
            11 => {
                let port = usize::from(bytes.u8() % 4);
                let link = Link {
                    up: bytes.u8() & 1 != 0,
                    speed: u32::from(bytes.u16()),
                    ..Link::UP
                };
                lab.dev.set_link(port, link);
                lab.dev.flap_link(port);
            }
            12 => {
                let fault = FAULTS[usize::from(bytes.u8()) % Fault::COUNT];
                let times = u32::from(bytes.u8() % 4);
                let value = bytes.value();
                lab.dev.hostile().inject(fault, times, value);
                let thread = usize::from(bytes.u8() % 10);
                lab.dev.spurious_interrupt(thread % 4, thread);
            }
            13 if opened => {
                let queue = usize::from(bytes.u8() % 3) * 32;
                let n = lab.occupied(queue).min(64);
                let packets = lab.look(queue, n);
                for packet in packets {
                    lab.release(0, packet.pool(), packet.addr(), packet.cookie());
                }
                lab.w(0, regs::RXQ_STATUS_UPDATE + 4 * queue as u32, n | n << 16);
            }
            _ => {
                // Now and then; it takes long.
                if bytes.u8() == 0 {
                    lab.dev.reset();
                }
            }
        }
        if traced {
            lab.trace();
        }
        lab.host.0.writes.lock().unwrap().clear();
        lab.host.0.sent.lock().unwrap().clear();
    }
}
