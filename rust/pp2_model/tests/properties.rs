// SPDX-License-Identifier: GPL-2.0

//! What must hold whatever a driver does: nothing is lost, nothing happens twice, and nothing is
//! written where the driver has taken the memory back.

mod common;

use std::collections::{
    BTreeMap,
    BTreeSet, //
};

use common::{
    frames,
    Lab,
    LONG,
    RING,
    SHORT, //
};
use pp2_model::{
    hostile::Fault,
    mac::Link,
    regs,
    Config,
    Verdict,
    PORTS,
    THREADS,
    TXQS_PER_PORT,
    TXQ_FIRST, //
};
use proptest::prelude::*;

fn cases(n: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 1 } else { n },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// What happens to buffers.
#[derive(Clone, Debug)]
enum BufferOp {
    Receive { port: usize, len: usize },
    Poll { port: usize },
    Push { thread: u32 },
    Pop { pool: usize, thread: u32 },
    Dry,
    Close { port: usize, closed: bool },
}

fn buffer_op() -> impl Strategy<Value = BufferOp> {
    prop_oneof![
        6 => (0..3usize, 0..2500usize).prop_map(|(port, len)| BufferOp::Receive { port, len }),
        3 => (0..3usize).prop_map(|port| BufferOp::Poll { port }),
        2 => (0..9u32).prop_map(|thread| BufferOp::Push { thread }),
        2 => (0..2usize, 0..9u32).prop_map(|(pool, thread)| BufferOp::Pop { pool, thread }),
        1 => Just(BufferOp::Dry),
        1 => (0..3usize, any::<bool>())
            .prop_map(|(port, closed)| BufferOp::Close { port, closed }),
    ]
}

fn in_pools(lab: &Lab) -> Vec<u64> {
    let mut all = Vec::new();
    for pool in [SHORT, LONG] {
        lab.dev.pool_buffers(pool, |buffer| {
            assert_eq!(buffer.cookie, buffer.addr + (1 << 36));
            all.push(buffer.addr);
        });
    }
    all
}

proptest! {
    #![proptest_config(cases(96))]

    /// Each buffer is in exactly one place: a pool, a descriptor the driver has not taken, or the
    /// driver's hands.
    #[test]
    fn buffers_are_conserved(ops in prop::collection::vec(buffer_op(), 1..80)) {
        let mut lab = Lab::open();
        let everything: BTreeSet<u64> = in_pools(&lab).into_iter().collect();
        prop_assert_eq!(everything.len(), 16);
        let mut held: Vec<(usize, u64)> = Vec::new();
        for op in ops {
            match op {
                BufferOp::Receive { port, len } => {
                    lab.dev.receive(port, &frames::tcp4(port, len));
                }
                BufferOp::Poll { port } => {
                    lab.poll(32 * port);
                }
                BufferOp::Push { thread } => {
                    if let Some((pool, addr)) = held.pop() {
                        lab.release(thread, pool, addr, addr + (1 << 36));
                    }
                }
                BufferOp::Pop { pool, thread } => {
                    let before = lab.dev.pool_len(pool);
                    let (addr, cookie) = lab.take(thread, pool);
                    prop_assert_eq!(addr == 0, before == 0);
                    if addr != 0 {
                        prop_assert_eq!(cookie, addr + (1 << 36));
                        held.push((pool, addr));
                    }
                }
                BufferOp::Dry => lab.dev.hostile().inject(Fault::PoolDry, 1, 0),
                BufferOp::Close { port, closed } => {
                    let reg = regs::RXQ_CONFIG + 4 * 32 * port as u32;
                    let config = lab.r(0, reg);
                    lab.w(0, reg, config & !(1 << 31) | u32::from(closed) << 31);
                }
            }
            for pool in [SHORT, LONG] {
                let n = lab.dev.pool_len(pool) as u32;
                prop_assert_eq!(lab.linux_count(pool), if n < 2 { 0 } else { n });
            }
        }
        let mut all = in_pools(&lab);
        all.extend(held.iter().map(|(_, addr)| addr));
        for port in 0..3 {
            let n = lab.occupied(32 * port);
            all.extend(lab.look(32 * port, n).iter().map(|p| p.addr()));
        }
        let set: BTreeSet<u64> = all.iter().copied().collect();
        prop_assert_eq!(set.len(), all.len(), "a buffer in two places");
        prop_assert_eq!(set, everything);
    }

    /// Occupied and free descriptors of a queue add up to its ring, and each good frame is
    /// reported once, in order, with its contents.
    #[test]
    fn frames_arrive_once_and_in_order(
        plan in prop::collection::vec((0..400usize, any::<bool>()), 1..60),
    ) {
        let mut lab = Lab::open();
        let (mut sent, mut got) = (Vec::new(), Vec::new());
        for (len, poll) in plan {
            let frame = frames::tcp4(0, len);
            if let Verdict::Delivered { queue } = lab.dev.receive(0, &frame) {
                prop_assert_eq!(queue, 0);
                sent.push(frame);
            }
            let status = lab.r(0, regs::RXQ_STATUS);
            prop_assert_eq!((status & 0x3fff) + (status >> 16), RING);
            if poll {
                got.extend(lab.poll(0).into_iter().map(|p| p.data));
            }
        }
        got.extend(lab.poll(0).into_iter().map(|p| p.data));
        prop_assert_eq!(got.len(), sent.len());
        for (got, sent) in got.iter().zip(&sent) {
            prop_assert_eq!(&got[..sent.len()], &sent[..]);
        }
    }
}

#[derive(Clone, Debug)]
enum SendOp {
    Send {
        thread: usize,
        queue: usize,
        parts: Vec<usize>,
    },
    Enable {
        queue: usize,
        on: bool,
    },
    Link {
        port: usize,
        up: bool,
    },
    Collect {
        thread: usize,
        queue: usize,
    },
    Time(u64),
}

fn send_op() -> impl Strategy<Value = SendOp> {
    prop_oneof![
        6 => (0..3usize, 0..3usize, prop::collection::vec(0..300usize, 1..5))
            .prop_map(|(thread, port, parts)| SendOp::Send {
                thread,
                queue: port * TXQS_PER_PORT,
                parts,
            }),
        2 => (0..3usize, any::<bool>())
            .prop_map(|(port, on)| SendOp::Enable { queue: port * TXQS_PER_PORT, on }),
        1 => (0..3usize, any::<bool>()).prop_map(|(port, up)| SendOp::Link { port, up }),
        2 => (0..3usize, 0..3usize).prop_map(|(thread, port)| SendOp::Collect {
            thread,
            queue: port * TXQS_PER_PORT,
        }),
        1 => (0..2_000_000u64).prop_map(SendOp::Time),
    ]
}

fn enable(lab: &Lab, queue: usize, on: bool) {
    let (port, bit) = (queue / TXQS_PER_PORT, 1 << (queue % TXQS_PER_PORT));
    lab.w(0, regs::TXP_SCHED_PORT_INDEX, 16 + port as u32);
    lab.w(0, regs::TXP_SCHED_Q_CMD, if on { bit } else { bit << 8 });
}

/// A line is high exactly if registers say so.
fn check_lines(lab: &Lab) -> Result<(), TestCaseError> {
    for port in 0..PORTS {
        let p = 4 * port as u32;
        let enabled = lab.r(0, regs::ISR_ENABLE + p);
        for thread in 0..THREADS {
            let t = thread as u32;
            let cause = lab.r(t, regs::ISR_RX_TX_CAUSE + p) & lab.r(t, regs::ISR_RX_TX_MASK + p);
            let level = enabled >> thread & 1 != 0 && cause != 0;
            prop_assert_eq!(
                lab.line(port, thread),
                level,
                "port {} thread {}",
                port,
                thread
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(96))]

    /// Each descriptor completes exactly once, to the thread that sent it; packets of a queue
    /// leave whole and in order.
    #[test]
    fn descriptors_complete_once(ops in prop::collection::vec(send_op(), 1..60)) {
        let mut lab = Lab::open();
        for port in 0..3 {
            for thread in 0..3 {
                lab.vector(port, thread, thread as u32, 1);
            }
            // Links that follow the cable.
            if port == 0 {
                lab.wi(regs::XLG_CTRL0, 3);
            } else {
                let an = lab.mac(port, regs::GMAC_AUTONEG_CONFIG);
                lab.wi(an, 0);
            }
        }
        let mut expect: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        let mut submitted: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut done: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut serial = 0u8;
        for op in ops {
            match op {
                SendOp::Send { thread, queue, parts } => {
                    let n = parts.len() as u32;
                    // As a driver does: no descriptor without a reservation.
                    let phys = (TXQ_FIRST + queue) as u32;
                    lab.w(thread as u32, regs::TXQ_RSVD_REQ, phys << 16 | n);
                    if lab.r(thread as u32, regs::TXQ_RSVD_RSLT) < n {
                        lab.w(thread as u32, regs::TXQ_RSVD_CLR, phys << 16);
                        continue;
                    }
                    serial = serial.wrapping_add(1);
                    let data: Vec<Vec<u8>> =
                        parts.iter().map(|len| vec![serial; *len + 1]).collect();
                    let refs: Vec<&[u8]> = data.iter().map(|d| &d[..]).collect();
                    lab.send(thread, queue, 3 << 14 | 1 << 23, &refs);
                    expect.entry(queue / TXQS_PER_PORT).or_default().push(data.concat());
                    *submitted.entry((thread, queue)).or_default() += n;
                }
                SendOp::Enable { queue, on } => enable(&lab, queue, on),
                SendOp::Link { port, up } => {
                    lab.dev.set_link(port, Link { up, ..Link::UP });
                }
                SendOp::Collect { thread, queue } => {
                    *done.entry((thread, queue)).or_default() += lab.sent_count(thread, queue);
                }
                SendOp::Time(ns) => lab.advance(ns),
            }
            check_lines(&lab)?;
        }
        for port in 0..3 {
            lab.dev.set_link(port, Link::UP);
            enable(&lab, port * TXQS_PER_PORT, true);
            prop_assert_eq!(lab.pending(port * TXQS_PER_PORT), 0);
        }
        for thread in 0..3 {
            for port in 0..3 {
                let queue = port * TXQS_PER_PORT;
                *done.entry((thread, queue)).or_default() += lab.sent_count(thread, queue);
            }
        }
        done.retain(|_, n| *n != 0);
        prop_assert_eq!(done, submitted);
        let mut sent: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        for (port, frame) in lab.sent_frames() {
            sent.entry(port).or_default().push(frame);
        }
        prop_assert_eq!(sent, expect);
        check_lines(&lab)?;
    }

    /// Once a queue is disabled, or has no address, its ring is the driver's.
    #[test]
    fn nothing_is_written_to_rings_taken_back(
        ops in prop::collection::vec((0..8u8, 0..3usize), 1..80),
    ) {
        let mut lab = Lab::open();
        let rings: Vec<u64> = (0..3).map(|port| lab.rxq_ring(32 * port)).collect();
        let tx: Vec<u64> = (0..3).map(|port| lab.txq(8 * port)).collect();
        let mut closed = [false; 3];
        let mut gone = [false; 3];
        let mut sends = 0;
        for (op, port) in ops {
            lab.clear_writes();
            let config = regs::RXQ_CONFIG + 4 * 32 * port as u32;
            match op {
                0 => {
                    let value = lab.r(0, config);
                    lab.w(0, config, value | 1 << 31);
                    closed[port] = true;
                }
                1 if !gone[port] => {
                    let value = lab.r(0, config);
                    lab.w(0, config, value & !(1 << 31));
                    closed[port] = false;
                }
                2 if closed[port] => {
                    lab.w(0, regs::TXQ_NUM, (TXQ_FIRST + 8 * port) as u32);
                    lab.w(0, regs::TXQ_DESC_ADDR, 0);
                    gone[port] = true;
                }
                3 | 4 if sends < 60 => {
                    sends += 1;
                    lab.send(0, 8 * port, 3 << 14, &[&[1; 60]]);
                }
                5 => drop(lab.poll(32 * port)),
                _ => {
                    lab.dev.receive(port, &frames::arp());
                }
            }
            for (addr, len) in lab.clear_writes() {
                let hits = |ring: u64| addr < ring + u64::from(RING) * 32 && addr + len as u64 > ring;
                for p in 0..3 {
                    prop_assert!(!(closed[p] && hits(rings[p])), "receive ring {}", p);
                    prop_assert!(!(gone[p] && hits(tx[p])), "transmit ring {}", p);
                }
            }
        }
    }

    /// What the device fills in on the way out, it finds right on the way in.
    #[test]
    fn checksums_agree(
        len in 0..1400usize,
        six in any::<bool>(),
        udp in any::<bool>(),
        cut in 1..60usize,
        seed in any::<[u8; 2]>(),
    ) {
        let mut lab = Lab::open();
        let mut frame = match (six, udp) {
            (false, false) => frames::tcp4(1, len),
            (false, true) => frames::udp4(1, len),
            (true, false) => frames::tcp6(1, len),
            (true, true) => frames::udp6(1, len),
        };
        let good = frame.clone();
        let header = if six { 10 } else { 5 };
        let field = 14 + 4 * header + if udp { 6 } else { 16 };
        frame[field..field + 2].copy_from_slice(&seed);
        let command = 14 | (header as u32) << 8 | u32::from(udp) << 24 | u32::from(six) << 26;
        let (a, b) = frame.split_at(cut.min(frame.len() - 1));
        lab.send(0, 0, command | 1 << 23, &[a, b]);
        let sent = lab.sent_frames().remove(0).1;
        prop_assert_eq!(&sent, &good);
        lab.deliver(1, &sent);
        let word = lab.poll(32)[0].desc[0];
        prop_assert_eq!(word & (1 << 22 | 1 << 24), 1 << 22);
    }

    /// A reservation never promises what is not there.
    #[test]
    fn reservations_fit(ops in prop::collection::vec((0..9u32, 0..40u32, any::<bool>()), 1..40)) {
        let lab = Lab::open();
        let mut reserved = [0u32; 9];
        let queue = (TXQ_FIRST as u32) << 16;
        for (thread, n, clear) in ops {
            if clear {
                lab.w(thread, regs::TXQ_RSVD_CLR, queue);
                reserved[thread as usize] = 0;
            } else {
                lab.w(thread, regs::TXQ_RSVD_REQ, queue | n);
                let granted = lab.r(thread, regs::TXQ_RSVD_RSLT);
                let free = RING - reserved.iter().sum::<u32>();
                prop_assert_eq!(granted, n.min(free));
                reserved[thread as usize] += granted;
            }
        }
    }

    /// Coalescing: a packet never waits longer than the time threshold, and a line is never high
    /// for a queue that is below both thresholds.
    #[test]
    fn no_packet_waits_longer_than_the_time(
        steps in prop::collection::vec((0..4u8, 1..30_000u64), 1..60),
        threshold in 0..9u32,
    ) {
        let mut lab = Lab::open_with(Config::default());
        lab.w(1, regs::RXQ_NUM, 0);
        lab.w(1, regs::RXQ_THRESH, threshold);
        let limit = 64_000;
        let mut oldest: Option<u64> = None;
        let mut now = 0u64;
        for (op, ns) in steps {
            match op {
                0 => {
                    if let Verdict::Delivered { .. } = lab.dev.receive(0, &frames::arp()) {
                        oldest.get_or_insert(now);
                    }
                }
                1 if lab.line(0, 0) => {
                    lab.poll(0);
                    oldest = None;
                }
                _ => {
                    now += ns;
                    lab.advance(ns);
                }
            }
            let waiting = oldest.is_some();
            let late = oldest.is_some_and(|at| now >= at + limit);
            let many = lab.occupied(0) >= threshold.max(1);
            prop_assert_eq!(lab.line(0, 0), waiting && (late || many));
        }
    }
}
