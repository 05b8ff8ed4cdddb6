// SPDX-License-Identifier: GPL-2.0

//! Several CPUs in the device at once.

mod common;

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    thread,
};

use common::{
    frames,
    Lab,
    LONG,
    SHORT, //
};
use pp2_model::{
    regs,
    Verdict, //
};

const ROUNDS: u32 = if cfg!(miri) { 6 } else { 400 };

/// Frames from three wires meet in one queue and one pool, while the driver polls.
#[test]
fn receive_from_all_sides() {
    let lab = Lab::open();
    // All ports' broadcasts go to queue 0.
    lab.w(0, regs::CLS_LKP_INDEX, 28);
    lab.w(0, regs::CLS_LKP_TBL, 0);
    let delivered = AtomicU32::new(0);
    let stop = AtomicBool::new(false);
    let mut seen = 0;
    let dev = &lab.dev;
    let host = lab.host.clone();
    let ring = lab.rxq_ring(0);
    thread::scope(|s| {
        let wires: Vec<_> = (0..3)
            .map(|port| {
                let (delivered, frame) = (&delivered, frames::arp());
                s.spawn(move || {
                    for _ in 0..ROUNDS {
                        if let Verdict::Delivered { .. } = dev.receive(port, &frame) {
                            delivered.fetch_add(1, SeqCst);
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();
        let (stop, seen) = (&stop, &mut seen);
        s.spawn(move || {
            let read = |offset| dev.read(pp2_model::Region::PacketProcessor, offset);
            let write = |offset, v| dev.write(pp2_model::Region::PacketProcessor, offset, v);
            let mut index = 0;
            loop {
                let last = stop.load(SeqCst);
                let n = read(regs::RXQ_STATUS) & 0x3fff;
                for _ in 0..n {
                    let at = (ring + 32 * index) as usize;
                    index = (index + 1) % 16;
                    let word = |i: usize| {
                        let memory = host.0.memory.lock().unwrap();
                        let bytes = &memory[at + 4 * i..][..4];
                        u32::from_le_bytes(bytes.try_into().unwrap())
                    };
                    assert_eq!(
                        word(1) >> 16,
                        62,
                        "the descriptor is there before the count"
                    );
                    write(0x2_0000 | regs::BM_ADDR_HIGH_RLS, (word(7) & 0xff) << 8);
                    write(0x2_0000 | regs::BM_VIRT_RLS, word(6));
                    write(0x2_0000 | regs::BM_PHY_RLS, word(4));
                    *seen += 1;
                }
                write(regs::RXQ_STATUS_UPDATE, n | n << 16);
                if last && n == 0 {
                    break;
                }
                thread::yield_now();
            }
        });
        for wire in wires {
            wire.join().unwrap();
        }
        stop.store(true, SeqCst);
    });
    assert_eq!(seen, delivered.load(SeqCst));
    assert!(seen > 0);
    let mut buffers = BTreeSet::new();
    lab.dev.pool_buffers(SHORT, |b| {
        buffers.insert(b.addr);
        assert_eq!(b.cookie, b.addr + (1 << 36));
    });
    assert_eq!(buffers.len(), 8);
    assert_eq!(lab.dev.pool_len(LONG), 8);
    assert!(!lab.line(0, 0));
}

/// Three threads send through one queue and one of their own each; nothing mixes.
#[test]
fn send_from_all_threads() {
    let mut lab = Lab::open();
    for q in 1..4 {
        lab.txq(q);
    }
    // Descriptors that never change: two parts for the shared queue, one for the own.
    let mut rings = Vec::new();
    for t in 0..3u32 {
        let ring = u64::from(lab.r(0, regs::AGGR_TXQ_DESC_ADDR + 4 * t)) << 8;
        let data = lab.alloc(128);
        lab.poke(data, &[t as u8; 128]);
        for slot in (0..15).step_by(3) {
            let desc = |flags: u32, queue: u32| {
                let word1 = 40 << 16 | (128 + queue) << 8;
                [flags | 3 << 14 | 1 << 23, word1, 0, 0, data as u32, 0, 0, 0]
            };
            lab.poke_words(ring + 32 * slot, &desc(1 << 29, 0));
            lab.poke_words(ring + 32 * (slot + 1), &desc(1 << 28, 0));
            lab.poke_words(ring + 32 * (slot + 2), &desc(3 << 28, t + 1));
        }
        // The sixteenth slot is a packet for no queue.
        lab.poke_words(ring + 32 * 15, &[3 << 28, 0, 0, 0, 0, 0, 0, 0]);
        rings.push(ring);
    }
    let dev = &lab.dev;
    thread::scope(|s| {
        for t in 0..3u32 {
            s.spawn(move || {
                for round in 0..ROUNDS {
                    let n = if round % 5 == 4 { 4 } else { 3 };
                    let region = pp2_model::Region::PacketProcessor;
                    let window = t << 16;
                    // The shared queue has room for all only if all ask first.
                    loop {
                        dev.write(region, window | regs::TXQ_RSVD_REQ, 128 << 16 | 2);
                        if dev.read(region, window | regs::TXQ_RSVD_RSLT) == 2 {
                            break;
                        }
                        dev.write(region, window | regs::TXQ_RSVD_CLR, 128 << 16);
                        thread::yield_now();
                    }
                    dev.write(region, window | regs::AGGR_TXQ_UPDATE, n);
                }
            });
        }
    });
    assert_eq!(rings.len(), 3);
    let frames = lab.sent_frames();
    let of = |t: u8, len: usize| {
        let same = |f: &Vec<u8>| f.len() == len && f.iter().all(|b| *b == t);
        frames.iter().filter(|(_, f)| same(f)).count() as u32
    };
    for t in 0..3u32 {
        assert_eq!(of(t as u8, 80), ROUNDS, "whole packets of thread {t}");
        assert_eq!(of(t as u8, 40), ROUNDS);
        assert_eq!(lab.sent_count(t as usize, 0), 2 * ROUNDS);
        assert_eq!(lab.sent_count(t as usize, 1 + t as usize), ROUNDS);
        assert_eq!(lab.pending(t as usize), 0);
    }
    assert_eq!(frames.len() as u32, 6 * ROUNDS);
}

/// Pushes and pops of one pool through windows of several threads.
#[test]
fn push_and_pop_from_all_threads() {
    let mut lab = Lab::cold();
    lab.pool(0, 32, 2048);
    let lab = &lab;
    thread::scope(|s| {
        for t in 0..3 {
            s.spawn(move || {
                for _ in 0..ROUNDS {
                    let (addr, cookie) = lab.take(t, 0);
                    assert_eq!(cookie, addr + (1 << 36));
                    lab.release(t, 0, addr, cookie);
                }
            });
        }
    });
    let mut buffers = BTreeSet::new();
    lab.dev.pool_buffers(0, |b| {
        buffers.insert(b.addr);
    });
    assert_eq!(buffers.len(), 32);
    assert_eq!(lab.linux_count(0), 32);
}

/// Interrupts follow the last change, whoever makes it.
#[test]
fn lines_settle() {
    let lab = Lab::open();
    let lab = &lab;
    let frame = &frames::arp();
    for _ in 0..ROUNDS / 4 + 1 {
        thread::scope(|s| {
            s.spawn(move || {
                for _ in 0..4 {
                    lab.dev.receive(0, frame);
                }
            });
            s.spawn(move || {
                lab.w(0, regs::ISR_ENABLE, 1 << 16);
                lab.w(0, regs::ISR_ENABLE, 1);
            });
            s.spawn(move || {
                let n = lab.occupied(0);
                lab.w(0, regs::RXQ_STATUS_UPDATE, n | n << 16);
            });
        });
        assert_eq!(lab.line(0, 0), lab.r(0, regs::ISR_RX_TX_CAUSE) != 0);
    }
}
