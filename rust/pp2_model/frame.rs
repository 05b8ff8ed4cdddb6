// SPDX-License-Identifier: GPL-2.0

//! Bytes of frames: bounded access, checksums, addresses.

/// Bytes of the Marvell header that the device puts in front of a received frame.
pub const MH_SIZE: usize = 2;

/// A frame as the parser sees it, behind an all-zero Marvell header.
#[derive(Clone, Copy)]
pub struct Header<'a> {
    data: &'a [u8],
}

impl<'a> Header<'a> {
    /// Wraps an Ethernet frame.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    /// The byte at `offset` from the Marvell header; zero outside of the frame.
    pub fn byte(&self, offset: i32) -> u8 {
        usize::try_from(offset)
            .ok()
            .and_then(|at| at.checked_sub(MH_SIZE))
            .and_then(|at| self.data.get(at))
            .copied()
            .unwrap_or(0)
    }

    /// The eight bytes from `offset` on, the first in the low bits.
    pub(crate) fn window(&self, offset: i32) -> u64 {
        let start = usize::try_from(offset)
            .ok()
            .and_then(|at| at.checked_sub(MH_SIZE));
        if let Some(bytes) = start.and_then(|at| self.data.get(at..)?.first_chunk()) {
            return u64::from_le_bytes(*bytes);
        }
        (0..8).fold(0, |word, n| {
            word | u64::from(self.byte(offset.wrapping_add(n))) << (8 * n)
        })
    }

    /// The frame from `offset` on, counted from the Marvell header.
    pub(crate) fn from(&self, offset: usize) -> &'a [u8] {
        offset
            .checked_sub(MH_SIZE)
            .and_then(|at| self.data.get(at..))
            .unwrap_or(&[])
    }
}

/// The big-endian 16-bit word at `at`; zero outside of the slice.
pub(crate) fn be16(data: &[u8], at: usize) -> u16 {
    match data.get(at..at.saturating_add(2)) {
        Some([high, low]) => u16::from_be_bytes([*high, *low]),
        _ => 0,
    }
}

/// Adds `data` to a sum of native-endian 16-bit words. An odd last byte is padded with zero.
fn add_words(mut sum: u64, data: &[u8]) -> u64 {
    let mut chunks = data.chunks_exact(4);
    for c in &mut chunks {
        sum = sum.wrapping_add(u64::from(u32::from_ne_bytes([c[0], c[1], c[2], c[3]])));
    }
    let mut rest = chunks.remainder().chunks_exact(2);
    for c in &mut rest {
        sum = sum.wrapping_add(u64::from(u16::from_ne_bytes([c[0], c[1]])));
    }
    if let [last] = rest.remainder() {
        sum = sum.wrapping_add(u64::from(u16::from_ne_bytes([*last, 0])));
    }
    sum
}

/// The ones' complement sum of `parts`, each of even length but the last.
pub(crate) fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = parts.iter().fold(0, |sum, part| add_words(sum, part));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::from_be(sum as u16)
}

/// An IP datagram found in a frame.
pub(crate) struct Ip<'a> {
    /// Source and destination addresses, adjacent in both versions.
    pub(crate) addresses: &'a [u8],
    /// Transport header and data, as long as the IP header says.
    pub(crate) payload: &'a [u8],
}

impl<'a> Ip<'a> {
    /// Looks at an IPv4 header at the start of `data`, with its transport header at `l4`.
    pub(crate) fn v4(data: &'a [u8], l4: usize) -> Option<Self> {
        if l4 < 20 {
            return None;
        }
        let total = usize::from(be16(data, 2));
        Some(Self {
            addresses: data.get(12..20)?,
            payload: data.get(l4..total)?,
        })
    }

    /// The same for IPv6; extension headers lie between.
    pub(crate) fn v6(data: &'a [u8], l4: usize) -> Option<Self> {
        if l4 < 40 {
            return None;
        }
        let total = usize::from(be16(data, 4)).checked_add(40)?;
        Some(Self {
            addresses: data.get(8..40)?,
            payload: data.get(l4..total)?,
        })
    }

    /// The sum of pseudo header, transport header and data.
    pub(crate) fn l4_sum(&self, protocol: u8) -> u16 {
        let len = self.payload.len() as u32;
        let [l0, l1, l2, l3] = len.to_be_bytes();
        sum(&[self.addresses, &[l0, l1, l2, l3, 0, protocol], self.payload])
    }
}

/// Kinds of destination address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Unicast,
    Multicast,
    Broadcast,
    /// The address of IEEE 802.3x flow control.
    Pause,
}

impl Destination {
    /// Classifies a frame.
    pub(crate) fn of(data: &[u8]) -> Self {
        match data.get(..6) {
            Some([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]) => Self::Broadcast,
            Some([0x01, 0x80, 0xc2, 0, 0, 1]) if be16(data, 12) == 0x8808 => Self::Pause,
            Some([first, ..]) if first & 1 != 0 => Self::Multicast,
            _ => Self::Unicast,
        }
    }
}
