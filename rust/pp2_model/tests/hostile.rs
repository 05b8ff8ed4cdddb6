// SPDX-License-Identifier: GPL-2.0

//! The device misbehaves when it is asked to, as often as it is asked to, and not else.

mod common;

use common::{
    frames,
    Lab,
    SHORT, //
};
use pp2_model::{
    hostile::Fault,
    regs,
    Drop,
    Verdict,
    TXQ_FIRST, //
};

/// The next packet under a fault, and the one after it.
fn two(fault: Fault, value: u32) -> [[u32; 8]; 2] {
    let mut lab = Lab::open();
    lab.dev.hostile().inject(fault, 1, value);
    let frame = frames::tcp4(0, 50);
    lab.deliver(0, &frame);
    lab.deliver(0, &frame);
    assert_eq!(lab.dev.hostile().left(fault), 0);
    let packets = lab.look(0, 2);
    [packets[0].desc, packets[1].desc]
}

#[test]
fn descriptors() {
    let [bad, good] = two(Fault::PoolId, 13);
    assert_eq!((bad[0] >> 16 & 0xf, good[0] >> 16 & 0xf), (13, 0));
    let [bad, good] = two(Fault::Cookie, 0xdead_beef);
    assert_eq!((bad[6], bad[7] & 0xff), (0xdead_beef, 0xff));
    assert_eq!(good[7] & 0xff, 0x10);
    let [bad, good] = two(Fault::Address, 0x10);
    assert_eq!(bad[4], 0x10);
    assert_ne!(good[4], 0x10);
    for length in [0, 1, 65535] {
        let [bad, good] = two(Fault::Length, length);
        assert_eq!(bad[1] >> 16, length);
        assert_eq!(good[1] >> 16, 104 + 2);
    }
    let [bad, good] = two(Fault::ErrorBits, 3);
    assert_eq!((bad[0] >> 13 & 7, good[0] >> 13 & 7), (7, 0));
    let [bad, good] = two(Fault::BufferHeader, 0);
    assert_eq!((bad[0] >> 31, good[0] >> 31), (1, 0));
    let [bad, good] = two(Fault::BadCrc, 0);
    assert_eq!((bad[0] >> 13 & 7, good[0] >> 13 & 7), (4, 0));
}

#[test]
fn counts() {
    let mut lab = Lab::open();
    let hostile = |fault, times, value| lab.dev.hostile().inject(fault, times, value);
    hostile(Fault::DuplicateRx, 1, 0);
    lab.deliver(0, &frames::arp());
    assert_eq!(lab.occupied(0), 2);
    hostile(Fault::OccupiedCount, 1, 0x3fff);
    assert_eq!(lab.occupied(0), 1);
    assert_eq!(lab.occupied(0), 2);
    hostile(Fault::PoolCount, 2, 100);
    assert_ne!(lab.linux_count(SHORT), 7);
    assert_eq!(lab.linux_count(SHORT), 7);
    hostile(Fault::PoolDry, 1, 0);
    let empty = Verdict::Dropped(Drop::PoolEmpty);
    assert_eq!(lab.dev.receive(0, &frames::arp()), empty);
    let packets = lab.look(0, 2);
    assert_eq!(packets[0], packets[1]);
    lab.dev.hostile().inject(Fault::DuplicateTx, 1, 0);
    lab.send(0, 0, 3 << 14, &[&frames::arp()]);
    assert_eq!(lab.sent_count(0, 0), 2);
    lab.dev.hostile().inject(Fault::LostTx, 1, 0);
    lab.send(0, 0, 3 << 14, &[&frames::arp()]);
    assert_eq!(lab.sent_count(0, 0), 0);
    assert_eq!(lab.pending(0), 0);
    lab.dev.hostile().inject(Fault::StuckDrain, 2, 9);
    assert_eq!(lab.pending(0), 9);
    assert_eq!(lab.pending(0), 9);
    assert_eq!(lab.pending(0), 0);
    lab.dev.hostile().inject(Fault::ShortReservation, 1, 3);
    for expect in [3, 8] {
        lab.w(0, regs::TXQ_RSVD_REQ, (TXQ_FIRST as u32) << 16 | 8);
        assert_eq!(lab.r(0, regs::TXQ_RSVD_RSLT), expect);
    }
}

#[test]
fn interrupts() {
    let mut lab = Lab::open();
    lab.dev.hostile().inject(Fault::LostInterrupt, 1, 0);
    for _ in 0..6 {
        lab.deliver(0, &frames::arp());
    }
    assert!(!lab.line(0, 0), "swallowed");
    // Masking and unmasking, as a driver's timeout may do, finds it.
    lab.w(0, regs::ISR_ENABLE, 1 << 16);
    lab.w(0, regs::ISR_ENABLE, 1);
    assert!(lab.line(0, 0));
    lab.poll(0);
    lab.dev.spurious_interrupt(0, 0);
    assert!(lab.line(0, 0));
    lab.w(0, regs::ISR_RX_TX_CAUSE, 0);
    assert!(!lab.line(0, 0));
}

#[test]
fn clear_is_good_behaviour() {
    let mut lab = Lab::open();
    lab.dev.hostile().inject(Fault::Length, 1000, 0);
    lab.dev.hostile().inject(Fault::PoolDry, 1000, 0);
    lab.dev.hostile().clear();
    lab.deliver(0, &frames::arp());
    assert_eq!(lab.poll(0)[0].data.len(), 60);
    lab.dev.spurious_interrupt(99, 99);
    lab.dev.flap_link(99);
}
