// SPDX-License-Identifier: GPL-2.0

//! The transmit path: from the ring of a queue to the wire.
//!
//! A packet is claimed under its queue's lock, gathered and checksummed without any lock in a
//! buffer that the host provides, and completed under the lock again. Whoever finds a queue
//! claimed leaves: the one at it goes on until the queue is empty.

use crate::{
    bm::Buffer,
    frame::{
        sum,
        Ip, //
    },
    host::{
        DmaError,
        Host, //
    },
    mac::Gate,
    ptp::PtpCommand,
    rx::MIN_FRAME,
    txq::{
        Job,
        Words,
        DESC_LAST, //
    },
    Device,
    MAX_FRAME,
    TXQS_PER_PORT, //
};

use core::sync::atomic::Ordering::Relaxed;

const DESC_RELEASE: u32 = 1 << 7;
const DESC_NO_IP_CSUM: u32 = 1 << 15;
const DESC_NO_PAD: u32 = 1 << 23;

/// Bytes at the head of a frame that the counters look at.
const HEAD: usize = 14;

/// Where a descriptor's data is.
fn data(desc: &Words) -> (u64, usize) {
    let addr = u64::from(desc[4]) | u64::from(desc[5] & 0xff) << 32;
    (
        addr.wrapping_add(u64::from(desc[1] & 0xff)),
        (desc[1] >> 16) as usize,
    )
}

/// Fills in the checksums that the first descriptor of a packet asks for.
fn checksum(frame: &mut [u8], desc: &Words, with_seed: bool) {
    let command = desc[0];
    let l3 = (command & 0x7f) as usize;
    let header = (command >> 8 & 0x1f) as usize * 4;
    // For packets that are not IP the command is left half empty and asks for nothing sensible.
    if header < 20 {
        return;
    }
    let ip4 = match command >> 26 & 3 {
        0 => true,
        1 => false,
        _ => return,
    };
    if ip4 && command & DESC_NO_IP_CSUM == 0 {
        if let Some(ip) = frame.get_mut(l3..l3 + header) {
            ip[10..12].fill(0);
            let value = !sum(&[ip]);
            ip[10..12].copy_from_slice(&value.to_be_bytes());
        }
    }
    if command >> 13 & 3 != 0 {
        return;
    }
    let (protocol, at) = match command >> 24 & 3 {
        0 => (6, 16),
        1 => (17, 6),
        _ => return,
    };
    let l4 = l3 + header;
    let Some(field) = frame.get_mut(l4 + at..l4 + at + 2) else {
        return;
    };
    field.fill(0);
    let Some(datagram) = frame.get(l3..) else {
        return;
    };
    let ip = if ip4 {
        Ip::v4(datagram, header)
    } else {
        Ip::v6(datagram, header)
    };
    let Some(ip) = ip.filter(|ip| ip.payload.len() >= at + 2) else {
        return;
    };
    let mut total = u32::from(ip.l4_sum(protocol));
    if with_seed {
        total += desc[2] >> 16;
        total = (total & 0xffff) + (total >> 16);
    }
    let value = match !(total as u16) {
        0 if protocol == 17 => 0xffff,
        value => value,
    };
    if let Some(field) = frame.get_mut(l4 + at..l4 + at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

impl<H: Host> Device<H> {
    /// Whether the scheduler and the MAC let a queue send. The loopback port has no MAC.
    pub(crate) fn tx_allowed(&self, queue: usize) -> bool {
        let port = queue / TXQS_PER_PORT;
        self.sched_enabled(port) >> (queue % TXQS_PER_PORT) & 1 != 0
            && self.mac_gate(port) != Gate::Closed
    }

    /// Sends one packet of a queue. Returns whether there was one.
    pub(crate) fn tx_serve(&self, queue: usize) -> bool {
        let Some(job) = self.tx_claim(queue) else {
            return false;
        };
        let (count, thread) = self.tx_send(queue, &job);
        self.tx_complete(queue, &job, count, thread);
        true
    }

    /// Something that held a port's packets back has changed: sends what is pending, one packet of
    /// each queue in turn.
    pub(crate) fn tx_kick(&self, port: usize) {
        let first = port * TXQS_PER_PORT;
        loop {
            let mut progress = false;
            for queue in first..first + TXQS_PER_PORT {
                progress |= self.tx_serve(queue);
            }
            if !progress {
                break;
            }
        }
    }

    /// Sends a claimed packet. Returns how many descriptors it had and whose they are.
    fn tx_send(&self, queue: usize, job: &Job) -> (u32, usize) {
        let Some(first) = self.read_desc(job.slot(0)) else {
            return (1, 0);
        };
        let thread = (first[3] >> 28) as usize;
        let (mut count, mut bytes, mut last) = (1, data(&first).1, first[0] & DESC_LAST != 0);
        while !last && count < job.pending {
            let Some(desc) = self.read_desc(job.slot(count)) else {
                break;
            };
            bytes = bytes.saturating_add(data(&desc).1);
            last = desc[0] & DESC_LAST != 0;
            count += 1;
        }
        if last && bytes > 0 && bytes <= MAX_FRAME {
            self.tx_frame(queue, job, &first, count, bytes);
        }
        if self.config.tx_releases_buffers {
            self.tx_release(job, &first, count);
        }
        (count, thread)
    }

    fn tx_frame(&self, queue: usize, job: &Job, first: &Words, count: u32, bytes: usize) {
        let port = queue / TXQS_PER_PORT;
        let pad = first[0] & DESC_NO_PAD == 0;
        let len = if pad { bytes.max(MIN_FRAME) } else { bytes };
        if self.mac_gate(port) != Gate::Open {
            return;
        }
        let mut head = [0; HEAD];
        let sent = self.host.transmit(port, len, |frame| {
            let mut room = &mut frame[..];
            for n in 0..count {
                let desc = match n {
                    0 => *first,
                    _ => self.read_desc(job.slot(n)).ok_or(DmaError)?,
                };
                let (addr, size) = data(&desc);
                // The driver may have changed the descriptor since its size was added up.
                let (part, rest) = room.split_at_mut_checked(size).ok_or(DmaError)?;
                self.host.dma_read(addr, part)?;
                room = rest;
            }
            room.fill(0);
            let end = frame.len().min(bytes);
            checksum(&mut frame[..end], first, self.config.tx_csum_seed);
            let n = frame.len().min(HEAD);
            head[..n].copy_from_slice(&frame[..n]);
            Ok(())
        });
        if !sent {
            return;
        }
        self.mib_sent(port, &head, len);
        self.counters.tx(queue).dequeued.fetch_add(1, Relaxed);
        self.ptp_sent(port, PtpCommand::new(first));
    }

    /// Gives the buffers of a packet to pools, where descriptors ask for that.
    fn tx_release(&self, job: &Job, first: &Words, count: u32) {
        for n in 0..count {
            let desc = match n {
                0 => Some(*first),
                _ => self.read_desc(job.slot(n)),
            };
            let Some(desc) = desc.filter(|desc| desc[0] & DESC_RELEASE != 0) else {
                continue;
            };
            let buffer = Buffer {
                addr: u64::from(desc[4] & !0x1f) | u64::from(desc[5] & 0xff) << 32,
                cookie: u64::from(desc[6]) | u64::from(desc[7] & 0xff) << 32,
            };
            self.pool_push((desc[0] >> 16 & 0xf) as usize, buffer);
        }
    }
}
