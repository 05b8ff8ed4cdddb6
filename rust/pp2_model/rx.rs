// SPDX-License-Identifier: GPL-2.0

//! The receive path: a frame from the wire becomes a buffer and a descriptor.
//!
//! Nothing is locked while the frame is copied. The order is: look whether the queue takes a
//! packet, pop a buffer, copy, then write the descriptor under the queue's lock, which checks the
//! queue again. If it has closed in between, the buffer goes back to its pool.

use core::sync::atomic::Ordering::Relaxed;

use crate::{
    bm::Buffer,
    classifier::Class,
    config::Oversize,
    frame::{
        self,
        Header,
        Ip,
        MH_SIZE, //
    },
    host::{
        DmaError,
        Host, //
    },
    hostile::Fault,
    mac::Gate,
    mib,
    parser::{
        ri,
        Parsed, //
    },
    regs,
    rxq::{
        Refusal,
        RxTarget,
        DESC_SIZE, //
    },
    Device,
    MAX_FRAME,
    RXQS, //
};

const DESC_ERROR: u32 = 1 << 15;
const DESC_CSUM_OK: u32 = 1 << 22;
const DESC_FRAGMENT: u32 = 1 << 23;
const DESC_IP4_ERROR: u32 = 1 << 24;
const DESC_BUFFER_HEADER: u32 = 1 << 31;

/// Smallest frame, without check sequence.
pub(crate) const MIN_FRAME: usize = 60;

/// Something wrong with a frame on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// Bad frame check sequence.
    Crc = 0,
    /// The receive FIFO ran over in the middle of it.
    Overrun = 1,
}

/// What became of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A descriptor in this physical queue reports it.
    Delivered {
        /// Physical receive queue.
        queue: usize,
    },
    /// It was dropped.
    Dropped(Drop),
}

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// There is no such port.
    NoPort,
    /// The MAC is disabled or in reset, or its link is down.
    PortDown,
    /// Longer than the MAC takes.
    Oversize,
    /// Bad check sequence, and the device does not deliver such frames.
    BadCrc,
    /// The parser or the classifier says so.
    Filtered,
    /// The classifier chose a queue that is disabled or has no ring.
    QueueDisabled,
    /// The queue has no free descriptor.
    QueueFull,
    /// The queue's pool is empty.
    PoolEmpty,
    /// No buffer is large enough.
    TooBig,
    /// The buffer is not memory.
    Dma,
}

impl<H: Host> Device<H> {
    /// Takes a frame, without check sequence, from the wire of `port`.
    pub fn receive(&self, port: usize, data: &[u8]) -> Verdict {
        let error = self.hostile.take(Fault::BadCrc).then_some(WireError::Crc);
        self.receive_frame(port, data, error)
    }

    /// Takes a frame that may have been damaged.
    pub fn receive_frame(&self, port: usize, data: &[u8], error: Option<WireError>) -> Verdict {
        match self.try_receive(port, data, error) {
            Ok(queue) => Verdict::Delivered { queue },
            Err(drop) => Verdict::Dropped(drop),
        }
    }

    fn try_receive(
        &self,
        port: usize,
        data: &[u8],
        error: Option<WireError>,
    ) -> Result<usize, Drop> {
        match self.mac_gate(port) {
            Gate::NoPort => return Err(Drop::NoPort),
            Gate::Closed => return Err(Drop::PortDown),
            Gate::Open => (),
        }
        let len = if self.config.pad_received {
            data.len().max(MIN_FRAME)
        } else {
            data.len()
        };
        if !self.mac_fits(port, len) {
            self.mib_count(port, mib::OVERSIZE_RCVD);
            return Err(Drop::Oversize);
        }
        match error {
            None => self.mib_received(port, data, len),
            Some(WireError::Crc) => self.mib_bad_crc(port, len),
            Some(WireError::Overrun) => self.mib_count(port, mib::RX_FIFO_OVERRUN),
        }
        if error == Some(WireError::Crc) && !self.config.deliver_bad_crc {
            return Err(Drop::BadCrc);
        }

        let header = Header::new(data);
        let parsed = self.parse(port, &header, |_| ());
        if parsed.lost && self.config.parser_miss_drops {
            self.counters.overrun_drop[port].fetch_add(1, Relaxed);
            return Err(Drop::Filtered);
        }
        let class = self.classify(port, &header, &parsed);
        let Some(queue) = class.queue else {
            let counter = if self.config.parser_drop_is_cls {
                &self.counters.cls_drop[port]
            } else {
                &self.counters.overrun_drop[port]
            };
            counter.fetch_add(1, Relaxed);
            return Err(Drop::Filtered);
        };
        self.deliver(port, queue, data, len, &header, &parsed, &class, error)
            .map(|()| queue)
    }

    fn refuse(&self, queue: usize, refusal: Refusal) -> Drop {
        match refusal {
            Refusal::Disabled => Drop::QueueDisabled,
            Refusal::Full => {
                self.counters.rx(queue).full_drop.fetch_add(1, Relaxed);
                Drop::QueueFull
            }
        }
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "all of it goes into one descriptor"
    )]
    fn deliver(
        &self,
        port: usize,
        queue: usize,
        data: &[u8],
        len: usize,
        header: &Header<'_>,
        parsed: &Parsed,
        class: &Class,
        error: Option<WireError>,
    ) -> Result<(), Drop> {
        let target = self.rxq_target(queue).map_err(|e| self.refuse(queue, e))?;
        let (pool, space) = self.choose_pool(queue, &target, MH_SIZE + len)?;
        let buffer = match self.hostile.take(Fault::PoolDry) {
            true => None,
            false => self.pool_pop(pool),
        };
        let Some(buffer) = buffer else {
            self.counters.rx(queue).bm_drop.fetch_add(1, Relaxed);
            return Err(Drop::PoolEmpty);
        };

        let stored = len.min(space);
        if self.store(&buffer, &target, data, stored).is_err() {
            self.pool_push(pool, buffer);
            self.counters.rx(queue).bm_drop.fetch_add(1, Relaxed);
            return Err(Drop::Dma);
        }

        let mut words = self.describe(port, header, parsed, class, &buffer, len);
        words[0] |= (pool as u32 & 0xf) << 16;
        if stored < len {
            words[0] |= DESC_BUFFER_HEADER;
        }
        if let Some(error) = error {
            words[0] |= DESC_ERROR | (error as u32) << 13;
        }
        let times = self.corrupt(&mut words);

        let mut desc = [0; DESC_SIZE];
        for (bytes, word) in desc.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        if let Err(refusal) = self.rxq_deliver(queue, &desc, times) {
            self.pool_push(pool, buffer);
            return Err(self.refuse(queue, refusal));
        }
        self.counters.rx(queue).enqueued.fetch_add(1, Relaxed);
        Ok(())
    }

    /// The pool for `bytes` of Marvell header and frame, and how much frame a buffer of it holds.
    fn choose_pool(
        &self,
        queue: usize,
        target: &RxTarget,
        bytes: usize,
    ) -> Result<(usize, usize), Drop> {
        let room = |pool: usize| {
            let size = self.reg(regs::POOL_BUF_SIZE + 4 * pool as u32 % 64) & 0xffff & !0x1f;
            (size as usize).saturating_sub(target.offset)
        };
        if bytes <= room(target.short) {
            return Ok((target.short, room(target.short) - MH_SIZE));
        }
        let long = room(target.long);
        if bytes > long && (self.config.oversize == Oversize::Drop || long <= MH_SIZE) {
            self.counters.rx(queue).bm_drop.fetch_add(1, Relaxed);
            return Err(Drop::TooBig);
        }
        Ok((target.long, long - MH_SIZE))
    }

    /// Copies Marvell header, frame and padding into a buffer.
    fn store(
        &self,
        buffer: &Buffer,
        target: &RxTarget,
        data: &[u8],
        stored: usize,
    ) -> Result<(), DmaError> {
        let addr = buffer.addr.wrapping_add(target.offset as u64);
        self.host.dma_write(addr, &[0; MH_SIZE])?;
        let addr = addr.wrapping_add(MH_SIZE as u64);
        let frame = &data[..data.len().min(stored)];
        self.host.dma_write(addr, frame)?;
        if let Some(pad @ 1..=MIN_FRAME) = stored.checked_sub(frame.len()) {
            self.host.dma_write(
                addr.wrapping_add(frame.len() as u64),
                &[0; MIN_FRAME][..pad],
            )?;
        }
        Ok(())
    }

    /// Builds the eight words of a descriptor for a good frame.
    fn describe(
        &self,
        port: usize,
        header: &Header<'_>,
        parsed: &Parsed,
        class: &Class,
        buffer: &Buffer,
        len: usize,
    ) -> [u32; 8] {
        let mut words = [0; 8];
        let l3 = parsed.l3.unwrap_or(0);
        let l3_field = if self.config.l3_offset_with_mh {
            l3
        } else {
            l3.saturating_sub(MH_SIZE)
        };
        words[0] = l3_field as u32 & 0x7f
            | ri::l4(parsed.ri) << 25
            | ri::l3(parsed.ri) << 28
            | self.check(header, parsed, &mut words[2]);
        words[1] = parsed.flow as u32 & 0x3f | ((MH_SIZE + len) as u32 & 0xffff) << 16;
        if class.hashed {
            words[2] |= 1 << 15;
        }
        words[3] = self.ptp_receive_stamp(port);
        words[4] = buffer.addr as u32;
        words[5] = (buffer.addr >> 32) as u32 & 0xff | class.hash << 8;
        words[6] = buffer.cookie as u32;
        words[7] = (buffer.cookie >> 32) as u32 & 0xff | (port as u32 & 7) << 29;
        words
    }

    /// Verifies IP header and transport checksum, and returns the bits of descriptor word 0 that
    /// say so.
    fn check(&self, header: &Header<'_>, parsed: &Parsed, csum: &mut u32) -> u32 {
        let mut bits = 0;
        let (Some(l3), kind) = (parsed.l3, ri::l3(parsed.ri)) else {
            return 0;
        };
        let (ip4, ip6) = (matches!(kind, 1..=3), matches!(kind, 4 | 5));
        let data = header.from(l3);
        let l4 = parsed.l4.and_then(|l4| l4.checked_sub(l3));
        if parsed.ri & ri::FRAGMENT != 0 {
            bits |= DESC_FRAGMENT;
        }
        if ip4 {
            let ihl = usize::from(data.first().copied().unwrap_or(0) & 0xf) * 4;
            bits |= (ihl as u32 / 4) << 8;
            let good = ihl >= 20
                && data.get(..ihl).is_some_and(|h| frame::sum(&[h]) == 0xffff)
                && data.len() >= usize::from(frame::be16(data, 2));
            if !good {
                return bits | DESC_IP4_ERROR;
            }
        } else if let (true, Some(l4)) = (ip6, l4) {
            bits |= ((l4 as u32 / 4) & 0x1f) << 8;
        }
        let protocol = match ri::l4(parsed.ri) {
            1 => 6,
            2 => 17,
            _ => return bits,
        };
        let ip = match l4 {
            Some(l4) if ip4 => Ip::v4(data, l4),
            Some(l4) if ip6 => Ip::v6(data, l4),
            _ => None,
        };
        let Some(ip) = ip else {
            return bits;
        };
        if bits & DESC_FRAGMENT != 0 {
            return bits;
        }
        let sum = ip.l4_sum(protocol);
        *csum |= u32::from(!sum) << 16;
        // UDP over IPv4 may do without a checksum.
        let absent = protocol == 17 && ip4 && frame::be16(ip.payload, 6) == 0;
        if sum == 0xffff || absent {
            bits |= DESC_CSUM_OK;
        }
        bits
    }

    /// Applies the faults that change descriptors. Returns how often to report the packet.
    fn corrupt(&self, words: &mut [u32; 8]) -> u32 {
        let hostile = &self.hostile;
        if hostile.take(Fault::PoolId) {
            words[0] = words[0] & !(0xf << 16) | (hostile.value(Fault::PoolId) & 0xf) << 16;
        }
        if hostile.take(Fault::Cookie) {
            words[6] = hostile.value(Fault::Cookie);
            words[7] |= 0xff;
        }
        if hostile.take(Fault::Address) {
            words[4] = hostile.value(Fault::Address);
        }
        if hostile.take(Fault::Length) {
            words[1] = words[1] & 0xffff | hostile.value(Fault::Length) << 16;
        }
        if hostile.take(Fault::ErrorBits) {
            words[0] |= DESC_ERROR | (hostile.value(Fault::ErrorBits) & 3) << 13;
        }
        if hostile.take(Fault::BufferHeader) {
            words[0] |= DESC_BUFFER_HEADER;
        }
        1 + u32::from(hostile.take(Fault::DuplicateRx))
    }
}

const _: () = assert!(MAX_FRAME + MH_SIZE < 0x10000 && RXQS == 128);
