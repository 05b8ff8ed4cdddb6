// SPDX-License-Identifier: GPL-2.0

//! The traps: where a model that is nearly right hangs, starves or corrupts a driver. One test
//! each, or two.

mod common;

use common::{
    frames::{self, tcp4, tcp6, udp4, udp6},
    Lab, LONG, LONG_SIZE, RING, SHORT, SHORT_SIZE,
};
use pp2_model::{
    config::{Oversize, StampPop, StatClear},
    mac::Link,
    regs, Config, Drop, Region, Verdict, WireError, TXQ_FIRST,
};

/// Transmit command bits: TCP and UDP checksums for headers at the usual place.
const CSUM_NONE: u32 = 1 << 14 | 1 << 15;
const CSUM_TCP4: u32 = 14 | 5 << 8;
const CSUM_UDP4: u32 = CSUM_TCP4 | 1 << 24;
const CSUM_TCP6: u32 = 14 | 10 << 8 | 1 << 26;
const CSUM_UDP6: u32 = CSUM_TCP6 | 1 << 24;
const NO_PAD: u32 = 1 << 23;

#[test]
fn t01_reset_bits_store() {
    let lab = Lab::cold();
    for port in 0..3 {
        let ctrl2 = lab.mac(port, regs::GMAC_CTRL_2);
        lab.wi(ctrl2, 1 << 6);
        assert_eq!(lab.ri(ctrl2) & 1 << 6, 1 << 6);
        lab.wi(ctrl2, 0);
        assert_eq!(lab.ri(ctrl2) & 1 << 6, 0);
    }
    lab.wi(regs::XLG_CTRL0, 1 << 1);
    assert_eq!(lab.ri(regs::XLG_CTRL0) & 1 << 1, 1 << 1);
}

#[test]
fn t02_polled_registers_become_zero() {
    let mut lab = Lab::open();
    lab.w(0, regs::TXP_SCHED_PORT_INDEX, 16);
    assert_eq!(lab.r(0, regs::TXP_SCHED_Q_CMD), 1);
    lab.w(0, regs::TXP_SCHED_Q_CMD, 0xff << 8);
    assert_eq!(lab.r(0, regs::TXP_SCHED_Q_CMD), 0);
    // Disabled, descriptors pend; drained, they do not.
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    assert_eq!(lab.pending(0), 1);
    lab.w(0, regs::TXQ_NUM, TXQ_FIRST as u32);
    lab.w(0, regs::TXQ_PREF_BUF, 1 << 31);
    assert_eq!(lab.r(0, regs::TXQ_PENDING), 0);
    assert_eq!(lab.r(0, regs::TXQ_PREF_BUF) >> 31, 1);
    lab.w(0, regs::TXQ_PREF_BUF, 0);
    // The port's flush bit does the same.
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    assert_eq!(lab.pending(0), 1);
    lab.w(0, regs::TX_PORT_FLUSH, 1);
    assert_eq!(lab.pending(0), 0);
    lab.w(0, regs::TX_PORT_FLUSH, 0);
    // Nothing of what was thrown away comes out later.
    lab.w(0, regs::TXP_SCHED_Q_CMD, 1);
    assert!(lab.sent_frames().is_empty());
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    assert_eq!(lab.sent_frames().len(), 1);
}

#[test]
fn t03_pool_counts_are_exact() {
    let mut lab = Lab::cold();
    lab.pool_start(0, 2048);
    for n in 0..40u32 {
        // One buffer alone is invisible.
        assert_eq!(lab.linux_count(0), if n < 2 { 0 } else { n });
        assert_eq!(lab.dev.pool_len(0), n as usize);
        lab.release(0, 0, 0x10_0000 + u64::from(n) * 0x1000, u64::from(n));
    }
    // As Linux empties a pool: as many pops as it has counted.
    for n in 0..lab.linux_count(0) {
        assert_eq!(lab.take(1, 0).1, u64::from(n));
    }
    assert_eq!(lab.linux_count(0), 0);
    assert_eq!(lab.take(1, 0), (0, 0));
}

#[test]
fn t04_stop_does_not_stick() {
    let mut lab = Lab::cold();
    let ctrl = regs::BM_POOL_CTRL;
    lab.w(0, ctrl, 1 << 1);
    assert_eq!(lab.r(0, ctrl) & 3, 0);
    lab.pool_start(0, 2048);
    assert_eq!(lab.r(0, ctrl) & 0x13, 0x10);
    // Thresholds are kept.
    assert_eq!(lab.r(0, ctrl) >> 8, 0x1e1c);
    let value = lab.r(0, ctrl);
    lab.w(0, ctrl, value | 1 << 1);
    assert_eq!(lab.r(0, ctrl) & 0x13, 0);
    // A stopped pool takes nothing. Both bits at once start it.
    lab.release(0, 0, 0x1000, 1);
    assert_eq!(lab.dev.pool_len(0), 0);
    lab.w(0, ctrl, 3);
    lab.release(0, 0, 0x1000, 1);
    assert_eq!(lab.dev.pool_len(0), 1);
}

#[test]
fn t05_reservation_is_granted() {
    let mut lab = Lab::open();
    let ask = |thread, n: u32| {
        lab.w(thread, regs::TXQ_RSVD_REQ, (TXQ_FIRST as u32) << 16 | n);
        lab.r(thread, regs::TXQ_RSVD_RSLT)
    };
    assert_eq!(ask(0, 8), 8);
    // The result is the window's own.
    assert_eq!(ask(1, 4), 4);
    assert_eq!(lab.r(0, regs::TXQ_RSVD_RSLT), 8);
    // No more than there is.
    assert_eq!(ask(1, 8), RING - 12);
    lab.w(1, regs::TXQ_RSVD_CLR, (TXQ_FIRST as u32) << 16);
    assert_eq!(ask(1, 100), RING - 8);
    // Using a reservation consumes it.
    lab.w(1, regs::TXQ_RSVD_CLR, (TXQ_FIRST as u32) << 16);
    let frame = frames::arp();
    for _ in 0..8 {
        lab.send(0, 0, CSUM_NONE, &[&frame]);
    }
    lab.w(1, regs::TXQ_RSVD_REQ, (TXQ_FIRST as u32) << 16 | 100);
    assert_eq!(lab.r(1, regs::TXQ_RSVD_RSLT), RING);
}

#[test]
fn t06_aggregated_index_survives() {
    let mut lab = Lab::open();
    for _ in 0..5 {
        lab.send(1, 0, CSUM_NONE, &[&frames::arp()]);
    }
    assert_eq!(lab.r(0, regs::AGGR_TXQ_INDEX + 4), 5);
    lab.w(0, regs::AGGR_TXQ_DESC_ADDR + 4, 0);
    lab.aggregated(1);
    assert_eq!(lab.r(0, regs::AGGR_TXQ_INDEX + 4), 5);
    lab.sent_frames();
    lab.send(1, 0, CSUM_NONE, &[&frames::arp()]);
    assert_eq!(lab.sent_frames().len(), 1);
}

#[test]
fn t07_ring_addresses_and_their_shifts() {
    let mut lab = Lab::open();
    let rx = lab.rxq_ring(0);
    let tx = lab.txq(1);
    lab.clear_writes();
    lab.deliver(0, &frames::arp());
    assert!(lab.clear_writes().contains(&(rx, 32)));
    lab.send(0, 1, CSUM_NONE, &[&frames::arp()]);
    // The device copies descriptors to the queue's own ring, with the thread in word 3.
    assert!(lab.clear_writes().contains(&(tx, 32)));
    lab.send(2, 1, CSUM_NONE, &[&frames::arp()]);
    assert_eq!(lab.peek_words(tx + 32)[3] >> 28, 2);
    assert_eq!(lab.sent_frames().len(), 2);
    // Address bits 39:32 of a transmit ring have a register of their own.
    lab.w(0, regs::TXQ_NUM, TXQ_FIRST as u32 + 2);
    lab.w(0, regs::TXQ_DESC_ADDR_HIGH, 0x1ff);
    assert_eq!(lab.r(0, regs::TXQ_DESC_ADDR_HIGH), 0xff);
}

#[test]
fn t08_byte_count_and_place_of_the_frame() {
    let mut lab = Lab::open();
    let frame = tcp4(0, 100);
    lab.deliver(0, &frame);
    let packet = lab.poll(0).remove(0);
    assert_eq!((packet.desc[1] >> 16) as usize, frame.len() + 2);
    assert_eq!(packet.data, frame);
    assert_eq!(packet.cookie(), packet.addr() + (1 << 36));
    assert_eq!(packet.pool(), SHORT);
    assert_eq!(packet.desc[0] & 0x7f, 16, "L3 offset");
    assert_eq!(packet.desc[0] >> 8 & 0x1f, 5, "IP header");
    assert_eq!(packet.desc[0] >> 25 & 7, 1, "TCP");
    assert_eq!(packet.desc[0] >> 28 & 7, 1, "IPv4");
    assert_eq!(packet.desc[1] & 0x3f, 8, "flow");
    // Exactly what a short buffer holds, and one byte more.
    let fits = SHORT_SIZE as usize - 226;
    lab.deliver(0, &tcp4(0, fits - 54));
    lab.deliver(0, &tcp4(0, fits - 53));
    let pools: Vec<_> = lab.poll(0).iter().map(|p| p.pool()).collect();
    assert_eq!(pools, [SHORT, LONG]);
}

#[test]
fn t09_a_timer_reports_what_no_threshold_does() {
    let mut lab = Lab::open();
    // The threshold is 4 packets.
    for _ in 0..3 {
        lab.deliver(0, &frames::arp());
    }
    assert!(!lab.line(0, 0));
    lab.advance(60_000);
    assert!(!lab.line(0, 0));
    lab.advance(4_001);
    assert!(lab.line(0, 0));
    assert_eq!(lab.r(0, regs::ISR_RX_TX_CAUSE), 1);
    // The threshold does not wait for the timer.
    lab.poll(0);
    assert!(!lab.line(0, 0));
    for n in 0..4 {
        assert!(!lab.line(0, 0), "{n}");
        lab.deliver(0, &frames::arp());
    }
    assert!(lab.line(0, 0));
    lab.poll(0);
    // A late timer of packets that are gone says nothing.
    lab.advance(1_000_000);
    assert!(!lab.line(0, 0));
    // The same for sent descriptors: 4, or a millisecond.
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    assert!(!lab.line(0, 0));
    lab.advance(1_000_001);
    assert_eq!(lab.r(0, regs::ISR_RX_TX_CAUSE), 1 << 16);
    assert!(lab.line(0, 0));
    assert_eq!(lab.sent_count(0, 0), 1);
    assert!(!lab.line(0, 0));
    for _ in 0..4 {
        lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    }
    assert!(lab.line(0, 0));
}

#[test]
fn t09_remaining_packets_restart_the_timer() {
    let mut lab = Lab::open();
    for _ in 0..5 {
        lab.deliver(0, &frames::arp());
    }
    assert!(lab.line(0, 0));
    // Three taken, two are left: below the threshold again.
    lab.look(0, 3);
    lab.w(0, regs::RXQ_STATUS_UPDATE, 3 | 3 << 16);
    assert!(!lab.line(0, 0));
    lab.advance(64_001);
    assert!(lab.line(0, 0));
}

#[test]
fn t09_a_new_time_holds_at_once() {
    let mut lab = Lab::open();
    lab.w(0, regs::ISR_RX_THRESHOLD, 0xff_fff0);
    lab.w(0, regs::ISR_TX_THRESHOLD, 0xff_fff0);
    lab.deliver(0, &frames::arp());
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    lab.advance(10_000_000);
    assert!(!lab.line(0, 0));
    lab.w(0, regs::ISR_RX_THRESHOLD, 21_333);
    lab.advance(1);
    assert_eq!(lab.r(0, regs::ISR_RX_TX_CAUSE), 1);
    lab.w(0, regs::ISR_TX_THRESHOLD, 333_333);
    lab.advance(1_000_001);
    assert_eq!(lab.r(0, regs::ISR_RX_TX_CAUSE), 1 | 1 << 16);
}

#[test]
fn t10_cause_is_a_level() {
    let mut lab = Lab::open();
    for _ in 0..4 {
        lab.deliver(0, &frames::arp());
    }
    // Reading does not clear; masking and disabling lower the line and lose nothing.
    for _ in 0..2 {
        assert_eq!(lab.r(0, regs::ISR_RX_TX_CAUSE), 1);
    }
    lab.w(0, regs::ISR_ENABLE, 1 << 16);
    assert!(!lab.line(0, 0));
    assert_eq!(lab.r(0, regs::ISR_RX_TX_CAUSE), 1);
    lab.w(0, regs::ISR_ENABLE, 1);
    assert!(lab.line(0, 0));
    lab.w(0, regs::ISR_RX_TX_MASK, 0);
    assert!(!lab.line(0, 0));
    lab.w(0, regs::ISR_RX_TX_MASK, 0xff);
    assert!(lab.line(0, 0));
    lab.poll(0);
    assert!(!lab.line(0, 0));
    assert_eq!(lab.r(0, regs::ISR_RX_TX_CAUSE), 0);
    // The cause register is the window's: thread 1 sees no queue of this port.
    assert_eq!(lab.r(1, regs::ISR_RX_TX_CAUSE), 0);
}

#[test]
fn t11_sent_is_credited_to_the_doorbells_thread() {
    let mut lab = Lab::open();
    lab.vector(0, 1, 1, 1);
    for _ in 0..4 {
        lab.send(1, 0, CSUM_NONE, &[&frames::arp()]);
    }
    assert!(!lab.line(0, 0));
    assert!(lab.line(0, 1));
    assert_eq!(lab.r(1, regs::ISR_RX_TX_CAUSE), 1 << 16);
    assert_eq!(lab.sent_count(0, 0), 0);
    assert!(lab.line(0, 1));
    assert_eq!(lab.sent_count(1, 0), 4);
    assert!(!lab.line(0, 1));
    assert_eq!(lab.sent_count(1, 0), 0);
}

#[test]
fn t12_each_thread_has_its_own_line() {
    let mut lab = Lab::open();
    // Thread 2 polls queue 3 of port 1.
    lab.rxq(35, SHORT, LONG);
    lab.vector(1, 2, 3, 1);
    // Send everything there, by the default queue of a disabled lookup.
    lab.w(0, regs::CLS_LKP_INDEX, 28);
    lab.w(0, regs::CLS_LKP_TBL, 35);
    for _ in 0..4 {
        lab.deliver(1, &frames::arp());
    }
    assert!(lab.line(1, 2));
    assert!(!lab.line(1, 0));
    // Bits are relative to the thread's first queue.
    assert_eq!(lab.r(2, regs::ISR_RX_TX_CAUSE + 4), 1);
    lab.poll(35);
    assert!(!lab.line(1, 2));
}

#[test]
fn t13_counters_clear_when_read() {
    let mut lab = Lab::open();
    let frame = tcp4(0, 1000);
    lab.deliver(0, &frame);
    lab.dev.receive(0, &tcp4(1, 10));
    let octets = frame.len() as u32 + 4 + 68;
    assert_eq!(lab.ri(regs::MIB_GOOD_OCTETS_RCVD), octets);
    assert_eq!(lab.ri(regs::MIB_GOOD_OCTETS_RCVD), 0);
    assert_eq!(lab.ri(regs::MIB_UNICAST_FRAMES_RCVD), 2);
    assert_eq!(lab.ri(regs::MIB_UNICAST_FRAMES_RCVD), 0);
    assert_eq!(lab.ri(regs::MIB_FRAMES_1024_TO_MAX_OCTETS), 1);
    assert_eq!(lab.ri(regs::MIB_FRAMES_65_TO_127_OCTETS), 1);
    assert_eq!(lab.r(0, regs::CLS_ETH_DROP), 1);
    assert_eq!(lab.r(0, regs::CLS_ETH_DROP), 0);
    lab.w(0, regs::CTRS_IDX, 0);
    assert_eq!(lab.r(0, regs::RX_DESC_ENQ), 1);
    assert_eq!(lab.r(0, regs::RX_DESC_ENQ), 0);
    lab.send(0, 8, CSUM_NONE, &[&frames::arp()]);
    // MAC 2 belongs to port 1.
    assert_eq!(lab.ri(regs::MIB_GOOD_OCTETS_SENT + 0x200), 64);
    assert_eq!(lab.ri(regs::MIB_BROADCAST_FRAMES_SENT + 0x200), 1);
    assert_eq!(lab.ri(regs::MIB_FRAMES_64_OCTETS + 0x200), 1);
    lab.w(0, regs::CTRS_IDX, 0x80 | 1 << 3);
    assert_eq!(lab.r(0, regs::TX_DESC_ENQ), 1);
    assert_eq!(lab.r(0, regs::TX_PKTS_DEQ), 1);
    // Parser lines count, too.
    lab.w(0, regs::PRS_TCAM_HIT_IDX, 243);
    assert_eq!(lab.r(0, regs::PRS_TCAM_HIT_CNT), 2);
    assert_eq!(lab.r(0, regs::PRS_TCAM_HIT_CNT), 0);
}

#[test]
fn t14_link_status_clears_when_read() {
    let lab = Lab::open();
    // Port 0: XLG. The link is up by what the cable says.
    lab.wi(regs::XLG_CTRL0, 3);
    lab.wi(regs::XLG_INT_MASK, 1 << 1);
    lab.wi(regs::XLG_EXT_INT_MASK, 1 << 1 | 1 << 2);
    lab.ri(regs::XLG_INT_STAT);
    assert!(!lab.link_line(0));
    lab.dev.set_link(0, Link::DOWN);
    assert!(lab.link_line(0));
    assert_eq!(lab.ri(regs::XLG_EXT_INT_STAT), 1 << 1);
    assert_eq!(lab.ri(regs::XLG_INT_STAT), 1 << 1);
    assert!(!lab.link_line(0));
    assert_eq!(lab.ri(regs::XLG_INT_STAT), 0);
    assert_eq!(lab.ri(regs::XLG_STATUS), 0);
    // A link that flaps unseen is only heard.
    lab.dev.set_link(0, Link::UP);
    lab.ri(regs::XLG_INT_STAT);
    lab.dev.flap_link(0);
    assert!(lab.link_line(0));
    assert_eq!(lab.ri(regs::XLG_STATUS), 1);

    // Port 1: GMAC with in-band negotiation.
    let m = |reg| lab.mac(1, reg);
    let inband = 1 << 2 | 1 << 7 | 1 << 11 | 1 << 13;
    lab.wi(m(regs::GMAC_AUTONEG_CONFIG), inband);
    lab.wi(m(regs::GMAC_INT_MASK), 1 << 1);
    lab.wi(m(regs::GMAC_INT_SUM_MASK), 1 << 1);
    lab.ri(m(regs::GMAC_INT_STAT));
    let link = Link {
        speed: 100,
        rx_pause: true,
        ..Link::UP
    };
    lab.dev.set_link(1, Link::DOWN);
    assert_eq!(lab.ri(m(regs::GMAC_STATUS0)), 0);
    lab.dev.set_link(1, link);
    assert!(lab.link_line(1));
    assert_eq!(
        lab.ri(m(regs::GMAC_STATUS0)),
        1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 11
    );
    assert_eq!(lab.ri(m(regs::GMAC_INT_SUM_STAT)), 1 << 1);
    lab.ri(m(regs::GMAC_INT_STAT));
    assert!(!lab.link_line(1));

    // The other reading of the unknown.
    let lab = Lab::open_with(Config {
        link_stat: StatClear::WriteOne,
        ..Config::default()
    });
    lab.wi(regs::XLG_CTRL0, 3);
    lab.wi(regs::XLG_INT_STAT, !0);
    lab.dev.set_link(0, Link::DOWN);
    assert_eq!(lab.ri(regs::XLG_INT_STAT), 2);
    assert_eq!(lab.ri(regs::XLG_INT_STAT), 2);
    lab.wi(regs::XLG_INT_STAT, 2);
    assert_eq!(lab.ri(regs::XLG_INT_STAT), 0);
}

#[test]
fn t15_a_disabled_queue_is_not_written() {
    let mut lab = Lab::open();
    lab.deliver(0, &frames::arp());
    let config = lab.r(0, regs::RXQ_CONFIG);
    lab.w(0, regs::RXQ_CONFIG, config | 1 << 31);
    lab.clear_writes();
    let level = lab.dev.pool_len(SHORT);
    let drop = Verdict::Dropped(Drop::QueueDisabled);
    assert_eq!(lab.dev.receive(0, &frames::arp()), drop);
    assert!(lab.clear_writes().is_empty());
    assert_eq!(lab.dev.pool_len(SHORT), level);
    // As Linux tears down: the ring is freed, then the address cleared.
    lab.poll(0);
    lab.w(0, regs::RXQ_STATUS, 0);
    lab.w(1, regs::RXQ_NUM, 0);
    lab.w(1, regs::RXQ_DESC_ADDR, 0);
    lab.w(1, regs::RXQ_DESC_SIZE, 0);
    lab.w(0, regs::RXQ_CONFIG, config);
    assert_eq!(lab.dev.receive(0, &frames::arp()), drop);
    // A transmit queue without an address swallows descriptors and writes none.
    lab.w(0, regs::TXQ_NUM, TXQ_FIRST as u32);
    lab.w(0, regs::TXQ_DESC_ADDR, 0);
    lab.clear_writes();
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    assert!(lab.clear_writes().is_empty());
    assert_eq!(lab.r(0, regs::AGGR_TXQ_STATUS), 0);
    assert!(lab.sent_frames().is_empty());
}

#[test]
fn t16_firmware_answers_its_mailbox() {
    for firmware in [true, false] {
        let lab = Lab::with(Config {
            firmware,
            ..Config::default()
        });
        let com = regs::MSS_FC_COM;
        lab.dev.write(Region::Cm3, com, 1);
        lab.dev.write(Region::Cm3, com, 1 | 1 << 31);
        let value = lab.dev.read(Region::Cm3, com);
        assert_eq!(value >> 31 == 0, firmware);
        assert_eq!(value & 1, 1);
        assert_eq!(lab.dev.flow_control_on(), firmware);
        lab.dev
            .write(Region::Cm3, regs::MSS_RXQ_TRESH + 4 * 127, 1024);
        assert_eq!(lab.dev.peek_cm3(0x200 + 4 * 127), 1024);
    }
}

#[test]
fn t17_nine_lines_for_each_port() {
    let lab = Lab::cold();
    for port in 0..3 {
        for thread in 0..9 {
            lab.vector(port, thread, 0, 1);
            lab.dev.spurious_interrupt(port, thread);
            assert!(lab.line(port, thread));
            let p = 4 * port as u32;
            let cause = lab.r(thread as u32, regs::ISR_RX_TX_CAUSE + p);
            assert_eq!(cause, 1 << 31);
            // Clearing as Linux does.
            lab.w(0, regs::ISR_MISC_CAUSE, 0);
            assert!(!lab.line(port, thread));
            lab.dev.spurious_interrupt(port, thread);
            lab.w(thread as u32, regs::ISR_RX_TX_CAUSE + p, cause & !(1 << 31));
            assert!(!lab.line(port, thread));
        }
    }
}

#[test]
fn t18_no_comphy_is_needed() {
    // A SerDes is not part of this device; the system controller's registers are storage.
    let lab = Lab::cold();
    lab.dev.write(Region::Syscon, regs::GENCONF_CTRL0, 5);
    assert_eq!(lab.dev.read(Region::Syscon, regs::GENCONF_CTRL0), 5);
    lab.wi(regs::MPCS_CLK_RESET, 0x817);
    assert_eq!(lab.ri(regs::MPCS_CLK_RESET), 0x817);
    lab.wi(regs::XPCS_CFG0, 0x41);
    assert_eq!(lab.ri(regs::XPCS_CFG0), 0x41);
    lab.mac_up(0);
}

#[test]
fn t19_threshold_zero_does_not_assert_on_nothing() {
    let mut lab = Lab::open();
    lab.w(1, regs::RXQ_NUM, 0);
    lab.w(1, regs::RXQ_THRESH, 0);
    lab.w(0, regs::ISR_RX_THRESHOLD, 0);
    lab.w(0, regs::TXQ_NUM, TXQ_FIRST as u32);
    lab.w(0, regs::TXQ_THRESH, 0);
    lab.w(0, regs::ISR_TX_THRESHOLD, 0);
    assert!(!lab.line(0, 0));
    lab.deliver(0, &frames::arp());
    assert!(lab.line(0, 0));
    lab.poll(0);
    assert!(!lab.line(0, 0));
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    assert!(lab.line(0, 0));
    lab.sent_count(0, 0);
    assert!(!lab.line(0, 0));
    lab.advance(10_000_000);
    assert!(!lab.line(0, 0));
}

#[test]
fn t20_a_queue_without_a_vector_keeps_its_packets() {
    let mut lab = Lab::open();
    lab.rxq(3, SHORT, LONG);
    lab.w(0, regs::CLS_LKP_INDEX, 28);
    lab.w(0, regs::CLS_LKP_TBL, 3);
    for _ in 0..6 {
        lab.deliver(0, &frames::arp());
    }
    lab.advance(1_000_000);
    assert!(!lab.line(0, 0));
    assert_eq!(lab.occupied(3), 6);
    // A thread that comes to look for it later is told at once.
    lab.vector(0, 4, 2, 2);
    assert!(lab.line(0, 4));
    assert_eq!(lab.r(4, regs::ISR_RX_TX_CAUSE), 2);
}

#[test]
fn t21_completions_count_descriptors() {
    let mut lab = Lab::open();
    let frame = tcp4(1, 200);
    let (a, rest) = frame.split_at(54);
    let (b, c) = rest.split_at(99);
    lab.send(0, 0, CSUM_NONE | NO_PAD, &[a, b, c]);
    assert_eq!(lab.sent_frames(), [(0, frame.clone())]);
    assert!(!lab.line(0, 0));
    lab.send(0, 0, CSUM_NONE | NO_PAD, &[a, rest]);
    assert_eq!(lab.sent_frames(), [(0, frame.clone())]);
    assert!(lab.line(0, 0));
    assert_eq!(lab.sent_count(0, 0), 5);
    // A packet waits for its last descriptor.
    lab.queue(0, 0, CSUM_NONE | NO_PAD, &[a, b, c]);
    lab.doorbell(0, 2);
    assert_eq!(lab.r(0, regs::AGGR_TXQ_STATUS), 2);
    assert!(lab.sent_frames().is_empty());
    lab.doorbell(0, 1);
    assert_eq!(lab.r(0, regs::AGGR_TXQ_STATUS), 0);
    assert_eq!(lab.sent_frames(), [(0, frame)]);
    assert_eq!(lab.sent_count(0, 0), 3);
}

#[test]
fn t22_a_disabled_queue_keeps_its_descriptors() {
    let mut lab = Lab::open();
    let disable = |lab: &Lab, on: bool| {
        lab.w(0, regs::TXP_SCHED_PORT_INDEX, 16);
        lab.w(0, regs::TXP_SCHED_Q_CMD, if on { 1 << 8 } else { 1 });
    };
    disable(&lab, true);
    for n in 0..3u8 {
        lab.send(0, 0, CSUM_NONE, &[&[n; 60]]);
    }
    assert_eq!(lab.pending(0), 3);
    assert_eq!(lab.sent_count(0, 0), 0);
    disable(&lab, false);
    assert_eq!(lab.pending(0), 0);
    assert_eq!(lab.sent_count(0, 0), 3);
    let order: Vec<_> = lab.sent_frames().iter().map(|(_, f)| f[0]).collect();
    assert_eq!(order, [0, 1, 2]);
    // The same for a MAC that is off, or has no link.
    lab.wi(regs::XLG_CTRL0, 3);
    lab.unplug(0);
    lab.send(0, 0, CSUM_NONE, &[&frames::arp()]);
    assert_eq!(lab.pending(0), 1);
    lab.dev.set_link(0, Link::UP);
    assert_eq!(lab.sent_frames().len(), 1);
    // A full ring refuses, and counts.
    disable(&lab, true);
    for _ in 0..RING + 1 {
        lab.send(0, 0, CSUM_NONE, &[&[1; 60]]);
    }
    assert_eq!(lab.pending(0), RING);
    lab.w(0, regs::CTRS_IDX, 0x80);
    assert_eq!(lab.r(0, regs::TX_PKTS_FULL_QUEUE_DROP), 1);
    disable(&lab, false);
    assert_eq!(lab.sent_frames().len(), RING as usize);
}

#[test]
fn t23_pool_ids_and_high_address_bits() {
    let mut lab = Lab::open();
    lab.pool(7, 2, LONG_SIZE);
    lab.rxq(0, 7, 7);
    lab.deliver(0, &frames::arp());
    assert_eq!(lab.poll(0)[0].pool(), 7);
    // Addresses and cookies above 4 GiB, each window with latches of its own.
    lab.pool_start(2, 2048);
    lab.w(1, regs::BM_ADDR_HIGH_RLS, 0xa5);
    lab.release(0, 2, 0x12_3456_7880, 0xfe_dcba_9876);
    lab.release(1, 2, 0x1000, 0x2000);
    assert_eq!(lab.take(3, 2), (0x12_3456_7880, 0xfe_dcba_9876));
    assert_eq!(lab.take(4, 2), (0x1000, 0x2000));
    assert_eq!(lab.r(3, regs::BM_VIRT_ALLOC), 0xdcba_9876);
    // A queue that names a pool that does not exist finds it empty.
    lab.rxq(0, 15, 8);
    let drop = Verdict::Dropped(Drop::TooBig);
    assert_eq!(lab.dev.receive(0, &frames::arp()), drop);
    lab.w(0, regs::POOL_BUF_SIZE + 4 * 15, 2048);
    let drop = Verdict::Dropped(Drop::PoolEmpty);
    assert_eq!(lab.dev.receive(0, &frames::arp()), drop);
}

#[test]
fn t24_draining_empty_pools_is_quick() {
    let lab = Lab::cold();
    let n = if cfg!(miri) { 1000 } else { 8 * 16352 };
    let start = std::time::Instant::now();
    for i in 0..n {
        assert_eq!(lab.r(1, regs::BM_PHY_ALLOC + 4 * (i % 8)), 0);
    }
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn transmit_checksums() {
    let mut lab = Lab::open();
    let cases = [
        (tcp4(1, 33), CSUM_TCP4, 50),
        (tcp4(1, 0), CSUM_TCP4, 50),
        (udp4(1, 120), CSUM_UDP4, 40),
        (tcp6(1, 77), CSUM_TCP6, 70),
        (udp6(1, 11), CSUM_UDP6, 60),
    ];
    for (good, command, field) in cases {
        let mut frame = good.clone();
        // What Linux leaves in the field, and no IP checksum.
        frame[field..field + 2].copy_from_slice(&[0x13, 0x57]);
        if command >> 26 & 3 == 0 {
            frame[24..26].fill(0);
        }
        let (a, b) = frame.split_at(41);
        lab.send(0, 0, command | NO_PAD, &[a, b]);
        assert_eq!(lab.sent_frames(), [(0, good)]);
        lab.sent_count(0, 0);
    }
    // Not IP: the command is half empty and must do nothing.
    let frame = frames::ethernet([2; 6], &[], 0x88b5, &[0x45; 50]);
    lab.send(0, 0, 1 << 14, &[&frame]);
    assert_eq!(lab.sent_frames(), [(0, frame)]);
    // A header that lies about its length leaves the frame alone.
    let mut frame = tcp4(1, 30);
    frame[16] = 0xff;
    lab.send(0, 0, CSUM_TCP4 | 1 << 15, &[&frame]);
    let sent = lab.sent_frames().remove(0).1;
    assert_eq!(sent[..50], frame[..50]);
}

#[test]
fn transmit_pads() {
    let mut lab = Lab::open();
    lab.send(0, 0, CSUM_NONE, &[&[7; 20]]);
    let mut padded = vec![7; 20];
    padded.resize(60, 0);
    assert_eq!(lab.sent_frames(), [(0, padded)]);
    lab.send(0, 0, CSUM_NONE | NO_PAD, &[&[7; 20]]);
    assert_eq!(lab.sent_frames(), [(0, vec![7; 20])]);
}

#[test]
fn transmit_releases_buffers() {
    let mut lab = Lab::open();
    // On the loopback port, as the vendor's software frees buffers in bulk.
    lab.txq(24);
    let level = lab.dev.pool_len(SHORT);
    let release = [
        3 << 28 | 1 << 7 | (SHORT as u32) << 16,
        (TXQ_FIRST as u32 + 24) << 8,
        0,
        0,
        0x4_0000,
        0x12,
        0xabcd,
        0x34,
    ];
    lab.queue_desc(0, &release);
    lab.doorbell(0, 1);
    assert_eq!(lab.dev.pool_len(SHORT), level + 1);
    assert!(lab.sent_frames().is_empty());
    let mut last = None;
    lab.dev.pool_buffers(SHORT, |buffer| last = Some(buffer));
    let last = last.unwrap();
    assert_eq!((last.addr, last.cookie), (0x12_0004_0000, 0x34_0000_abcd));
}

#[test]
fn receive_checksum_verdicts() {
    let mut lab = Lab::open();
    const OK: u32 = 1 << 22;
    for frame in [tcp4(0, 31), udp4(0, 32), tcp6(0, 33), udp6(0, 34)] {
        lab.deliver(0, &frame);
        let word = lab.poll(0)[0].desc[0];
        assert_eq!(word & (OK | 1 << 24), OK);
        let mut bad = frame.clone();
        *bad.last_mut().unwrap() ^= 1;
        lab.deliver(0, &bad);
        let word = lab.poll(0)[0].desc[0];
        assert_eq!(word & (OK | 1 << 24), 0);
    }
    // Bad IP header.
    let mut frame = tcp4(0, 20);
    frame[24] ^= 1;
    lab.deliver(0, &frame);
    assert_eq!(lab.poll(0)[0].desc[0] & (OK | 1 << 24), 1 << 24);
    // UDP over IPv4 without a checksum.
    let mut frame = udp4(0, 20);
    frame[40..42].fill(0);
    lab.deliver(0, &frame);
    assert_eq!(lab.poll(0)[0].desc[0] & OK, OK);
    // Trailing padding is not part of a short datagram.
    lab.deliver(0, &udp4(0, 3));
    let packet = lab.poll(0).remove(0);
    assert_eq!(packet.desc[0] & OK, OK);
    assert_eq!(packet.data.len(), 60);
    assert_eq!(packet.data[45..], [0; 15]);
}

#[test]
fn receive_overflow_and_errors() {
    let big = tcp4(0, 3000);
    let mut lab = Lab::open();
    lab.deliver(0, &big);
    let packet = lab.poll(0).remove(0);
    assert_eq!(packet.desc[0] >> 31, 1);
    assert_eq!((packet.desc[1] >> 16) as usize, big.len() + 2);
    let room = LONG_SIZE as usize - 226;
    assert_eq!(lab.peek(packet.addr() + 226, room), big[..room]);

    let mut lab = Lab::open_with(Config {
        oversize: Oversize::Drop,
        ..Config::default()
    });
    assert_eq!(lab.dev.receive(0, &big), Verdict::Dropped(Drop::TooBig));
    assert_eq!(
        lab.dev.receive(0, &vec![0; 9930]),
        Verdict::Dropped(Drop::Oversize)
    );
    assert_eq!(lab.ri(regs::MIB_OVERSIZE_RCVD), 1);

    lab.dev.receive_frame(0, &tcp4(0, 50), Some(WireError::Crc));
    assert_eq!(lab.poll(0)[0].desc[0] & 0xe000, 0x8000);
    assert_eq!(lab.ri(regs::MIB_BAD_CRC_EVENT), 1);
    lab.dev
        .receive_frame(0, &tcp4(0, 50), Some(WireError::Overrun));
    assert_eq!(lab.poll(0)[0].desc[0] & 0xe000, 0xa000);
}

#[test]
fn receive_drops_are_counted() {
    let mut lab = Lab::open();
    lab.w(0, regs::CTRS_IDX, 0);
    for _ in 0..8 {
        lab.deliver(0, &frames::arp());
    }
    let empty = Verdict::Dropped(Drop::PoolEmpty);
    assert_eq!(lab.dev.receive(0, &frames::arp()), empty);
    assert_eq!(lab.r(0, regs::RX_PKTS_BM_DROP), 1);
    lab.pool(1, 20, LONG_SIZE);
    lab.w(0, regs::RXQ_CONFIG, 7 << 28 | 1 << 24 | 1 << 20);
    for _ in 8..RING {
        lab.deliver(0, &frames::arp());
    }
    let full = Verdict::Dropped(Drop::QueueFull);
    assert_eq!(lab.dev.receive(0, &frames::arp()), full);
    assert_eq!(lab.r(0, regs::RX_PKTS_FULL_QUEUE_DROP), 1);
    assert_eq!(lab.r(0, regs::RX_DESC_ENQ), RING);
    // A parser that knows no line for a frame is an overrun.
    lab.w(0, regs::PRS_TCAM_IDX, 243);
    lab.w(0, regs::PRS_TCAM_DATA + 20, 1 << 31);
    let filtered = Verdict::Dropped(Drop::Filtered);
    assert_eq!(lab.dev.receive(0, &frames::arp()), filtered);
    assert_eq!(lab.r(0, regs::OVERRUN_ETH_DROP), 1);
    // A closed port hears nothing.
    lab.wi(regs::XLG_CTRL0, 2);
    let down = Verdict::Dropped(Drop::PortDown);
    assert_eq!(lab.dev.receive(0, &frames::arp()), down);
    assert_eq!(lab.dev.receive(3, &[]), Verdict::Dropped(Drop::NoPort));
    assert_eq!(lab.dev.receive(99, &[]), Verdict::Dropped(Drop::NoPort));
}

fn time(lab: &Lab) -> (u64, u32) {
    lab.dev.time_of_day()
}

fn set_time(lab: &Lab, function: u32, seconds: u64, nanos: u32) {
    let halves = [
        (seconds >> 32) as u32,
        (seconds >> 16) as u32,
        seconds as u32,
        nanos >> 16,
        nanos,
    ];
    for (n, half) in halves.into_iter().enumerate() {
        lab.wi(regs::TAI_TLV_SEC_HIGH + 4 * n as u32, half & 0xffff);
    }
    lab.wi(regs::TAI_TCFCR0, function << 2 | 1);
}

#[test]
fn time_of_day() {
    let lab = Lab::cold();
    lab.wi(regs::TAI_TOD_STEP_NANO_CR, 3);
    lab.advance(500);
    assert_eq!(time(&lab), (0, 0), "held in reset");
    lab.wi(regs::TAI_CR0, 1);
    lab.advance(1500);
    assert_eq!(time(&lab), (0, 1500));
    set_time(&lab, 0, 0x1234_5678_9abc, 999_999_000);
    lab.advance(1500);
    assert_eq!(time(&lab), (0x1234_5678_9abd, 500));
    set_time(&lab, 3, 1, 600);
    assert_eq!(time(&lab), (0x1234_5678_9abb, 999_999_900));
    set_time(&lab, 2, 0, 200);
    assert_eq!(time(&lab), (0x1234_5678_9abc, 100));
    // Capture, as Linux reads the time.
    assert_eq!(lab.ri(regs::TAI_TCSR), 0);
    set_time(&lab, 4, 0, 0);
    assert_eq!(lab.ri(regs::TAI_TCSR), 1);
    let tcv: Vec<_> = (0..5)
        .map(|n| lab.ri(regs::TAI_TCV0_SEC_HIGH + 4 * n))
        .collect();
    assert_eq!(tcv, [0x1234, 0x5678, 0x9abc, 0, 100]);
    assert_eq!(lab.ri(regs::TAI_TCFCR0) & 1, 0);
    // 100 ppm faster: 3e-4 ns more on every cycle of 3 ns.
    set_time(&lab, 0, 0, 0);
    let frac = (3.0e-4 * 4294967296.0) as u32;
    lab.wi(regs::TAI_TLV_FRAC_HIGH, frac >> 16);
    lab.wi(regs::TAI_TLV_FRAC_LOW, frac & 0xffff);
    lab.wi(regs::TAI_TCFCR0, 1 << 2 | 1);
    lab.advance(1_000_000_000);
    let (s, ns) = time(&lab);
    assert_eq!(s, 1);
    assert!((99_990..=100_001).contains(&ns), "{ns}");
    // And slower.
    set_time(&lab, 0, 0, 0);
    let frac = frac.wrapping_neg();
    lab.wi(regs::TAI_TLV_FRAC_HIGH, frac >> 16);
    lab.wi(regs::TAI_TLV_FRAC_LOW, frac & 0xffff);
    lab.wi(regs::TAI_TCFCR0, 1 << 2 | 1);
    lab.advance(1_000_000_000);
    let (s, ns) = time(&lab);
    assert_eq!(s, 0);
    assert!((999_899_999..=999_900_010).contains(&ns), "{ns}");
}

/// A transmit command to capture a time stamp: words 2 and 5.
fn capture(desc: &mut [u32; 8], queue: u32, id: u32) {
    desc[2] |= 3 | 1 << 11;
    desc[5] |= (id | queue << 6) << 8;
}

#[test]
fn time_stamps() {
    for pop in [StampPop::AfterR2, StampPop::AtR0] {
        let mut lab = Lab::open_with(Config {
            stamp_pop: pop,
            ..Config::default()
        });
        lab.wi(regs::TAI_TOD_STEP_NANO_CR, 3);
        lab.wi(regs::TAI_CR0, 1);
        set_time(&lab, 0, 6, 0x1234_5678);
        for port in 0..2 {
            lab.wi(lab.mac(port, regs::PTP_GCR), 1 | 1 << 1 | 1 << 13);
            lab.wi(lab.mac(port, regs::PTP_INT_MASK), 1 << 5 | 1 << 6);
        }
        lab.wi(regs::XLG_EXT_INT_MASK, 1 << 7);
        lab.wi(lab.mac(1, regs::GMAC_INT_SUM_MASK), 1 << 2);

        lab.deliver(0, &frames::arp());
        let stamp = 2 << 30 | 0x1234_5678;
        assert_eq!(lab.poll(0)[0].desc[3], stamp);

        for (port, queue, id) in [(0usize, 1u32, 17u32), (1, 0, 30)] {
            assert!(!lab.link_line(port));
            let at = lab.alloc(64);
            let mut desc = [
                3 << 28 | CSUM_NONE,
                60 << 16 | (TXQ_FIRST as u32 + 8 * port as u32) << 8,
                0,
                0,
                at as u32,
                0,
                0,
                0,
            ];
            capture(&mut desc, queue, id);
            lab.queue_desc(0, &desc);
            lab.doorbell(0, 1);
            assert!(lab.link_line(port), "time stamps use the link interrupt");
            let cause = lab.ri(lab.mac(port, regs::PTP_INT_CAUSE));
            assert_eq!(cause, 1 << (5 + queue));
            let r = |n: u32| lab.ri(lab.mac(port, regs::PTP_TX_Q0_R0 + 12 * queue + 4 * n));
            let (r0, r1, r2) = (r(0), r(1), r(2));
            assert_eq!(r0 & 1, 1);
            assert_eq!(r0 >> 1 & 31, id);
            assert_eq!(r2 << 19 | r1 << 3 | r0 >> 13, stamp);
            assert_eq!(r(0), 0);
            assert!(!lab.link_line(port));
        }
    }
}

#[test]
fn the_trace_reads_like_a_data_sheet() {
    let mut lab = Lab::cold();
    lab.pool_start(3, 2048);
    lab.trace();
    lab.release(1, 3, 0xbadc000, 0x55_0000_0001);
    lab.w(0, regs::PRS_TCAM_IDX, 243);
    lab.r(0, regs::PRS_TCAM_DATA + 20);
    lab.w(2, regs::RXQ_NUM, 33);
    lab.w(2, regs::RXQ_DESC_ADDR, 0x1234);
    lab.ri(regs::GMAC_CTRL_2 + 0x2000);
    lab.dev.write(Region::Cm3, regs::MSS_RXQ_TRESH + 8, 1);
    lab.w(0, 0x7ff0, 1);
    lab.vector(1, 4, 0, 1);
    lab.dev.spurious_interrupt(1, 4);
    assert_eq!(
        lab.trace(),
        [
            "t1 BM_ADDR_HIGH_RLS <- 0x00005500",
            "t1 BM_VIRT_RLS <- 0x00000001",
            "t1 BM_PHY_RLS[3] <- 0x0badc000",
            "t0 PRS_TCAM_IDX <- 0x000000f3",
            "t0 PRS_TCAM_DATA[5]@243 -> 0x80000000",
            "t2 RXQ_NUM <- 0x00000021",
            "t2 RXQ_DESC_ADDR@33 <- 0x00001234",
            "if GMAC_CTRL_2[2] -> 0x00000000",
            "cm3 MSS_RXQ_TRESH[2] <- 0x00000001",
            "t0 0x7ff0 <- 0x00000001",
            "t0 ISR_RXQ_GROUP_INDEX <- 0x00000084",
            "t0 ISR_RXQ_SUB_GROUP_CONFIG@132 <- 0x00000100",
            "t4 ISR_RX_TX_MASK[1] <- 0x80ff00ff",
            "t0 ISR_ENABLE[1] <- 0x00000010",
            "port1.hif4 high",
        ]
    );
}

#[test]
fn reset_is_power_on() {
    let lab = Lab::open();
    for _ in 0..4 {
        lab.deliver(0, &frames::arp());
    }
    assert!(lab.line(0, 0));
    lab.dev.reset();
    assert!(!lab.line(0, 0));
    assert_eq!(lab.dev.pool_len(SHORT), 0);
    assert_eq!(lab.occupied(0), 0);
    assert!(!lab.dev.port_up(0));
    let cold = Lab::cold();
    for region in [Region::PacketProcessor, Region::Interfaces, Region::Cm3] {
        for offset in (0..region.size()).step_by(4) {
            let (a, b) = (lab.dev.read(region, offset), cold.dev.read(region, offset));
            assert_eq!(a, b, "{region:?} {offset:#x}");
        }
    }
}
