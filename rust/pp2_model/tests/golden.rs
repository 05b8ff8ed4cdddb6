// SPDX-License-Identifier: GPL-2.0

//! Frames through the tables that the Linux driver writes: result info, flow, offsets, queue and
//! the TCAM lines on the way.
//!
//! The tables were recorded from the unmodified driver (Linux 7.3.4) as it probed, opened three
//! ports and changed filters. The expected results were found without this model.

mod common;

use common::{
    frames::{self, ethernet, ip6, mac, tcp, tcp4, tcp6, udp4, Ip4},
    Lab,
};
use pp2_model::{
    frame::Header,
    parser::Parsed,
    regs,
    Config, //
};

struct Expect<'a> {
    ri: u32,
    flow: usize,
    l3: Option<usize>,
    l4: Option<usize>,
    queue: Option<usize>,
    path: &'a [usize],
}

fn check(lab: &Lab, port: usize, frame: &[u8], expect: Expect<'_>) {
    let header = Header::new(frame);
    let mut path = Vec::new();
    let parsed = lab.dev.parse(port, &header, |line| path.push(line));
    let class = lab.dev.classify(port, &header, &parsed);
    let Parsed {
        ri,
        flow,
        l3,
        l4,
        lost,
    } = parsed;
    assert_eq!(path, expect.path, "path");
    assert_eq!(ri, expect.ri, "{ri:08x} != {:08x}", expect.ri);
    assert_eq!(flow, expect.flow, "flow");
    // A frame to be dropped has no offsets worth looking at.
    if expect.queue.is_some() {
        assert_eq!((l3, l4), (expect.l3, expect.l4), "offsets");
    }
    assert_eq!(class.queue, expect.queue, "queue");
    assert!(!lost);
}

fn lab(stage: &str) -> Lab {
    let lab = Lab::with(Config::default());
    lab.load_tables(stage);
    lab
}

#[test]
fn arp_broadcast() {
    let lab = lab("open");
    // The lines of port 1 come after those of port 0, three multicast addresses of the IP stack
    // among them.
    for (port, line) in [(0, 112), (1, 117)] {
        check(
            &lab,
            port,
            &frames::arp(),
            Expect {
                ri: 0x6400,
                flow: 28,
                l3: Some(16),
                l4: None,
                queue: Some(32 * port),
                path: &[243, line, 244, 251, 2, 97],
            },
        );
    }
}

#[test]
fn ip4_tcp() {
    check(
        &lab("open"),
        0,
        &tcp4(0, 10),
        Expect {
            ri: 0x0040_1001,
            flow: 8,
            l3: Some(16),
            l4: Some(36),
            queue: Some(0),
            path: &[243, 113, 244, 251, 4, 228, 39, 47],
        },
    );
}

#[test]
fn ip4_tcp_to_another_port() {
    check(
        &lab("open"),
        0,
        &tcp4(1, 10),
        Expect {
            ri: 0x8000_0000,
            flow: 28,
            l3: None,
            l4: None,
            queue: None,
            path: &[243, 255, 97],
        },
    );
}

#[test]
fn ip4_udp() {
    check(
        &lab("open"),
        0,
        &udp4(0, 10),
        Expect {
            ri: 0x0080_1001,
            flow: 9,
            l3: Some(16),
            l4: Some(36),
            queue: Some(0),
            path: &[243, 113, 244, 251, 4, 228, 41, 59],
        },
    );
}

#[test]
fn ip4_icmp() {
    let ip = Ip4 {
        protocol: 1,
        ..Ip4::default()
    };
    check(
        &lab("open"),
        0,
        &ethernet(mac(0), &[], 0x0800, &ip.build(&[8, 0, 0, 0, 0, 0, 0, 0])),
        Expect {
            ri: 0x00c0_1001,
            flow: 24,
            l3: Some(16),
            l4: Some(36),
            queue: Some(0),
            path: &[243, 113, 244, 251, 4, 228, 246, 87],
        },
    );
}

#[test]
fn ip4_fragment() {
    let ip = Ip4 {
        fragment: 0x2000,
        ..Ip4::default()
    };
    check(
        &lab("open"),
        0,
        &ethernet(mac(0), &[], 0x0800, &ip.build(&tcp(10))),
        Expect {
            ri: 0x0042_1001,
            flow: 16,
            l3: Some(16),
            l4: Some(36),
            queue: Some(0),
            path: &[243, 113, 244, 251, 4, 228, 40, 53],
        },
    );
}

#[test]
fn ip4_options() {
    let ip = Ip4 {
        options: 1,
        ..Ip4::default()
    };
    check(
        &lab("open"),
        0,
        &ethernet(mac(0), &[], 0x0800, &ip.build(&tcp(10))),
        Expect {
            ri: 0x0040_1001,
            flow: 8,
            l3: Some(16),
            l4: Some(40),
            queue: Some(0),
            path: &[243, 113, 244, 251, 5, 228, 39, 47],
        },
    );
}

#[test]
fn igmp() {
    let ip = Ip4 {
        to: [224, 0, 0, 1],
        protocol: 2,
        ..Ip4::default()
    };
    check(
        &lab("open"),
        0,
        &ethernet(mac(0), &[], 0x0800, &ip.build(&[0x11; 8])),
        Expect {
            ri: 0x0020_9011,
            flow: 24,
            l3: Some(16),
            l4: Some(36),
            queue: Some(0),
            path: &[243, 113, 244, 251, 4, 46, 43, 87],
        },
    );
}

#[test]
fn vlan() {
    check(
        &lab("open"),
        0,
        &ethernet(
            mac(0),
            &[0x8100, 5],
            0x0800,
            &Ip4::default().build(&tcp(10)),
        ),
        Expect {
            ri: 0x0040_1005,
            flow: 10,
            l3: Some(20),
            l4: Some(40),
            queue: Some(0),
            path: &[243, 113, 244, 19, 248, 4, 228, 39, 50],
        },
    );
}

#[test]
fn double_vlan() {
    check(
        &lab("open"),
        0,
        &ethernet(
            mac(0),
            &[0x88a8, 6, 0x8100, 5],
            0x0800,
            &Ip4::default().build(&tcp(10)),
        ),
        Expect {
            ri: 0x0040_1009,
            flow: 10,
            l3: Some(24),
            l4: Some(44),
            queue: Some(0),
            path: &[243, 113, 244, 16, 250, 248, 4, 228, 39, 50],
        },
    );
}

#[test]
fn ip6_tcp() {
    check(
        &lab("open"),
        0,
        &tcp6(0, 10),
        Expect {
            ri: 0x0040_4001,
            flow: 12,
            l3: Some(16),
            l4: Some(56),
            queue: Some(0),
            path: &[243, 113, 244, 251, 15, 227, 33, 71],
        },
    );
}

#[test]
fn ip6_multicast_promiscuous() {
    let mut to = [0; 16];
    (to[0], to[1], to[15]) = (0xff, 2, 1);
    let icmp = [133, 0, 0, 0, 0, 0, 0, 0];
    check(
        &lab("promisc"),
        0,
        &ethernet([0x33, 0x33, 0, 0, 0, 1], &[], 0x86dd, &ip6(to, 58, &icmp)),
        Expect {
            ri: 0x0020_c210,
            flow: 26,
            l3: Some(16),
            l4: Some(56),
            queue: Some(0),
            path: &[243, 253, 244, 251, 15, 37, 35, 93],
        },
    );
}

#[test]
fn pause_even_promiscuous() {
    for stage in ["open", "promisc"] {
        check(
            &lab(stage),
            0,
            &frames::pause(),
            Expect {
                ri: 0x8000_0000,
                flow: 28,
                l3: None,
                l4: None,
                queue: None,
                path: &[243, 252, 97],
            },
        );
    }
}

#[test]
fn unknown_ethertype() {
    check(
        &lab("open"),
        0,
        &ethernet(mac(0), &[], 0x88b5, &[0; 46]),
        Expect {
            ri: 0x0000_0001,
            flow: 28,
            l3: Some(16),
            l4: None,
            queue: Some(0),
            path: &[243, 113, 244, 251, 247, 97],
        },
    );
}

#[test]
fn vlan_filter() {
    let frame = ethernet(
        mac(0),
        &[0x8100, 5],
        0x0800,
        &Ip4::default().build(&tcp(10)),
    );
    check(
        &lab("vlan_filter"),
        0,
        &frame,
        Expect {
            ri: 0x8040_1005,
            flow: 10,
            l3: None,
            l4: None,
            queue: None,
            path: &[243, 113, 244, 19, 202, 4, 228, 39, 50],
        },
    );
    check(
        &lab("vid5"),
        0,
        &frame,
        Expect {
            ri: 0x0040_1005,
            flow: 10,
            l3: Some(20),
            l4: Some(40),
            queue: Some(0),
            path: &[243, 113, 244, 19, 192, 4, 228, 39, 50],
        },
    );
}

#[test]
fn lines_valid_after_open() {
    let lab = lab("open");
    let valid = (0..256)
        .filter(|line| {
            lab.w(0, regs::PRS_TCAM_IDX, *line);
            lab.r(0, regs::PRS_TCAM_DATA + 20) >> 31 == 0
        })
        .count();
    // The driver's own, and three multicast addresses of the IP stack for each port.
    assert_eq!(valid, 134 + 9);
}

#[test]
fn rss_spreads_by_hash() {
    let lab = lab("rxhash");
    let mut queues = std::collections::BTreeSet::new();
    for n in 0..64u8 {
        let ip = Ip4 {
            to: [10, 0, 0, n],
            ..Ip4::default()
        };
        let frame = ethernet(mac(0), &[], 0x0800, &ip.build(&tcp(10)));
        let header = Header::new(&frame);
        let parsed = lab.dev.parse(0, &header, |_| ());
        let class = lab.dev.classify(0, &header, &parsed);
        assert!(class.hashed);
        queues.insert(class.queue.unwrap());
        // The same flow, the same queue.
        assert_eq!(class, lab.dev.classify(0, &header, &parsed));
    }
    // Four possible CPUs, so four queues.
    assert_eq!(queues.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    // Frames without fields to hash: line 0 of the table.
    let frame = frames::arp();
    let header = Header::new(&frame);
    let parsed = lab.dev.parse(0, &header, |_| ());
    assert_eq!(lab.dev.classify(0, &header, &parsed).queue, Some(0));
}

/// A steering rule as Linux would write one: TCP destination port 80 to queue 2.
#[test]
fn c2_steers_by_port() {
    let lab = lab("open");
    // Flow 8's first rule line of port 0: engine C2, destination port, lookup type 4.
    lab.w(0, regs::CLS_FLOW_INDEX, 0);
    let tbl0 = lab.r(0, regs::CLS_FLOW_TBL);
    lab.w(0, regs::CLS_FLOW_TBL, tbl0 & !0xffe | 1 << 1 | 1 << 4);
    let tbl1 = lab.r(0, regs::CLS_FLOW_TBL + 4);
    lab.w(0, regs::CLS_FLOW_TBL + 4, tbl1 & !0x1ff | 1 | 4 << 3);
    lab.w(0, regs::CLS_FLOW_TBL + 8, 0x1e);
    lab.w(0, regs::C2_TCAM_IDX, 0);
    lab.w(0, regs::C2_TCAM_INV, 0);
    lab.w(0, regs::C2_ACT, 3 << 9 | 3 << 11 | 3 << 13 | 3 << 19);
    lab.w(0, regs::C2_ATTR, 2 << 21);
    lab.w(0, regs::C2_TCAM_DATA + 12, 0xffff_0000 | 80);
    lab.w(0, regs::C2_TCAM_DATA + 16, (0x3f | 0xfe00) << 16 | 4);
    let frame = tcp4(0, 10);
    let header = Header::new(&frame);
    let parsed = lab.dev.parse(0, &header, |_| ());
    assert_eq!(lab.dev.classify(0, &header, &parsed).queue, Some(2));
    assert_eq!(lab.r(0, regs::C2_HIT_CTR), 1);
    assert_eq!(lab.r(0, regs::C2_HIT_CTR), 0);
    // Other ports are not steered: the rule's lock does not hold.
    let frame = udp4(0, 10);
    let header = Header::new(&frame);
    let parsed = lab.dev.parse(0, &header, |_| ());
    assert_eq!(lab.dev.classify(0, &header, &parsed).queue, Some(0));
    // Colour red drops.
    lab.w(0, regs::C2_ACT, 7);
    let frame = tcp4(0, 10);
    let header = Header::new(&frame);
    let parsed = lab.dev.parse(0, &header, |_| ());
    assert_eq!(lab.dev.classify(0, &header, &parsed).queue, None);
}
