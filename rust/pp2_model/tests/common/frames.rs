// SPDX-License-Identifier: GPL-2.0

//! Frames to receive and send, with correct checksums.

/// The address of a port, as in the recorded tables.
pub fn mac(port: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, port as u8 + 1]
}

pub const BROADCAST: [u8; 6] = [0xff; 6];

/// A plain ones' complement sum, independent of the model's.
pub fn sum(data: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in data.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

pub fn ethernet(to: [u8; 6], tags: &[u16], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = to.to_vec();
    frame.extend([2, 0, 0, 0, 1, 0]);
    frame.extend(tags.iter().flat_map(|t| t.to_be_bytes()));
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}

pub fn tcp(len: usize) -> Vec<u8> {
    let mut l4 = vec![
        0x12, 0x34, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0,
    ];
    l4.extend((0..len).map(|i| i as u8));
    l4
}

pub fn udp(len: usize) -> Vec<u8> {
    let mut l4 = vec![0x12, 0x34, 0, 53, 0, 0, 0, 0];
    l4.extend((0..len).map(|i| i as u8));
    let total = l4.len() as u16;
    l4[4..6].copy_from_slice(&total.to_be_bytes());
    l4
}

/// The checksum of a transport header and data behind a pseudo header, its field being zero.
pub fn l4_csum(addresses: &[u8], protocol: u8, l4: &[u8]) -> u16 {
    let mut all = addresses.to_vec();
    all.extend((l4.len() as u32).to_be_bytes());
    all.extend([0, 0, 0, protocol]);
    all.extend(l4);
    !sum(&all)
}

pub struct Ip4 {
    pub to: [u8; 4],
    pub protocol: u8,
    pub fragment: u16,
    pub options: usize,
}

impl Default for Ip4 {
    fn default() -> Self {
        Self {
            to: [10, 0, 0, 2],
            protocol: 6,
            fragment: 0,
            options: 0,
        }
    }
}

impl Ip4 {
    pub fn build(&self, l4: &[u8]) -> Vec<u8> {
        let header = 20 + 4 * self.options;
        let mut ip = vec![0x40 | (header / 4) as u8, 0];
        ip.extend(((header + l4.len()) as u16).to_be_bytes());
        ip.extend([0, 1]);
        ip.extend(self.fragment.to_be_bytes());
        ip.extend([64, self.protocol, 0, 0, 10, 0, 0, 1]);
        ip.extend(self.to);
        ip.resize(header, 1);
        let csum = !sum(&ip);
        ip[10..12].copy_from_slice(&csum.to_be_bytes());
        let at = match self.protocol {
            6 => Some(16),
            17 => Some(6),
            _ => None,
        };
        let mut l4 = l4.to_vec();
        if let Some(at) = at.filter(|at| l4.len() > at + 1) {
            let csum = l4_csum(&ip[12..20], self.protocol, &l4);
            l4[at..at + 2].copy_from_slice(&csum.to_be_bytes());
        }
        ip.extend(l4);
        ip
    }
}

pub fn ip6(to: [u8; 16], protocol: u8, l4: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x60, 0, 0, 0];
    ip.extend((l4.len() as u16).to_be_bytes());
    ip.extend([protocol, 64]);
    ip.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    ip.extend(to);
    let at = match protocol {
        6 => 16,
        17 => 6,
        58 => 2,
        _ => return ip.into_iter().chain(l4.iter().copied()).collect(),
    };
    let mut l4 = l4.to_vec();
    let csum = l4_csum(&ip[8..40], protocol, &l4);
    l4[at..at + 2].copy_from_slice(&csum.to_be_bytes());
    ip.extend(l4);
    ip
}

pub const IP6_TO: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// A TCP segment to a port's own address.
pub fn tcp4(port: usize, len: usize) -> Vec<u8> {
    ethernet(mac(port), &[], 0x0800, &Ip4::default().build(&tcp(len)))
}

pub fn udp4(port: usize, len: usize) -> Vec<u8> {
    let ip = Ip4 {
        protocol: 17,
        ..Ip4::default()
    };
    ethernet(mac(port), &[], 0x0800, &ip.build(&udp(len)))
}

pub fn tcp6(port: usize, len: usize) -> Vec<u8> {
    ethernet(mac(port), &[], 0x86dd, &ip6(IP6_TO, 6, &tcp(len)))
}

pub fn udp6(port: usize, len: usize) -> Vec<u8> {
    ethernet(mac(port), &[], 0x86dd, &ip6(IP6_TO, 17, &udp(len)))
}

pub fn arp() -> Vec<u8> {
    ethernet(BROADCAST, &[], 0x0806, &[0; 28])
}

pub fn pause() -> Vec<u8> {
    ethernet([1, 0x80, 0xc2, 0, 0, 1], &[], 0x8808, &[0, 1, 0, 0])
}
