// SPDX-License-Identifier: GPL-2.0

//! The register writes of the Linux driver, as recorded while it probed with three ports and
//! opened them, and what the device must be like afterwards.

mod common;

use common::{
    frames,
    Lab, //
};
use pp2_model::{
    regs,
    Region, //
};

fn replay(lab: &Lab) {
    let hex = |s: &str| u32::from_str_radix(s, 16).unwrap();
    lab.load_tables("open");
    for line in include_str!("data/mvpp2-open.txt").lines() {
        let fields: Vec<_> = line.split(' ').collect();
        let region = match fields[0] {
            "p" => Region::PacketProcessor,
            "i" => Region::Interfaces,
            _ => continue,
        };
        lab.dev.write(region, hex(fields[1]), hex(fields[2]));
    }
}

#[test]
fn linux_opens_three_ports() {
    let lab = Lab::cold();
    replay(&lab);
    for port in 0..3 {
        assert!(lab.dev.port_up(port), "port {port}");
        // Eight transmit queues enabled, four receive queues open.
        lab.w(0, regs::TXP_SCHED_PORT_INDEX, 16 + port as u32);
        assert_eq!(lab.r(0, regs::TXP_SCHED_Q_CMD), 0xff);
        for q in 0..4 {
            let queue = 32 * port as u32 + q;
            let config = lab.r(0, regs::RXQ_CONFIG + 4 * queue);
            assert_eq!(config >> 31, 0);
            assert_eq!(config >> 28, 7);
            // Per-CPU pools: short q, long 4 + q.
            assert_eq!(config >> 20 & 0xff, q | (4 + q) << 4);
            // 1024 descriptors, none occupied.
            assert_eq!(lab.r(0, regs::RXQ_STATUS + 4 * queue), 1024 << 16);
            lab.w(1, regs::RXQ_NUM, queue);
            assert_eq!(lab.r(1, regs::RXQ_DESC_SIZE), 1024);
            assert_ne!(lab.r(1, regs::RXQ_DESC_ADDR), 0);
            // The recorder did not answer reads of indirect registers; what Linux read before it
            // wrote is lost.
            assert_eq!(lab.r(1, regs::RXQ_THRESH) >> 16, 768);
        }
        for q in 0..8 {
            lab.w(1, regs::TXQ_NUM, 128 + 8 * port as u32 + q);
            assert_eq!(lab.r(1, regs::TXQ_DESC_SIZE), 1024);
            assert_eq!(lab.r(1, regs::TXQ_PENDING), 0);
            for t in 0..9 {
                lab.w(t, regs::TXQ_NUM, 128 + 8 * port as u32 + q);
                assert_eq!(lab.r(t, regs::TXQ_THRESH), 64 << 16);
            }
        }
        // Two CPUs were there, so two vectors, each with a receive queue.
        assert_eq!(lab.r(0, regs::ISR_ENABLE + 4 * port as u32), 3);
        for t in 0..2 {
            lab.w(0, regs::ISR_RXQ_GROUP_INDEX, t | (port as u32) << 7);
            assert_eq!(lab.r(0, regs::ISR_RXQ_SUB_GROUP_CONFIG), t | 1 << 8);
            let mask = lab.r(t, regs::ISR_RX_TX_MASK + 4 * port as u32);
            assert_eq!(mask, 0x80ff_00ff);
        }
    }
    for k in 0..8 {
        assert_eq!(lab.r(0, regs::BM_POOL_CTRL + 4 * k) & 0x13, 0x10);
        let size = if k < 4 { 416 } else { 1920 };
        assert_eq!(lab.r(0, regs::POOL_BUF_SIZE + 4 * k), size);
    }
}

/// The rings lie where the driver had them, which is not memory here: the device must not mind.
#[test]
fn rings_outside_of_memory() {
    let lab = Lab::cold();
    replay(&lab);
    lab.release(0, 0, 0x2000, 1);
    for _ in 0..40 {
        lab.dev.receive(0, &frames::arp());
    }
    for t in 0..4 {
        lab.w(t, regs::AGGR_TXQ_UPDATE, 200);
        assert_eq!(lab.r(0, regs::AGGR_TXQ_STATUS + 4 * t), 0);
    }
    lab.advance(10_000_000);
}
