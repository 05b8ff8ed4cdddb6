// SPDX-License-Identifier: GPL-2.0

//! What a board decides, and what no source says about the silicon.

/// What happens to a frame that fits no buffer of the chosen queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// One descriptor with the buffer-header bit; the buffer holds what fits. The real part chains
    /// several buffers, which Linux does not follow: it recycles the first.
    BufferHeader,
    /// Dropped and counted as a buffer-manager drop.
    Drop,
}

/// The order in which a pool returns its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolOrder {
    /// Oldest first.
    Fifo,
    /// Newest first.
    Lifo,
}

/// How the MACs' `INT_STAT` registers are cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatClear {
    /// By reading them, as the Linux interrupt handler needs.
    Read,
    /// By writing ones.
    WriteOne,
}

/// When the head of a transmit time-stamp queue goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampPop {
    /// After its last register, R2, was read.
    AfterR2,
    /// After its first register, R0, was read; R1 and R2 are latched then.
    AtR0,
}

/// Settings of a [`Device`](crate::Device).
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Value of `VER_ID`; 0x10 is PPv2.2. 0x11 makes Linux drive the part as a PPv2.3, which this
    /// model is not.
    pub version: u32,
    /// Rate of `pp_clk`, in which the coalescing times are counted.
    pub clock_hz: u32,
    /// Index of each port's MAC ("gop id"); the loopback port 3 has none.
    pub gop: [usize; 3],
    /// Buffers a pool can hold, whatever `BM_POOL_SIZE` says. Linux programs 16352.
    pub pool_capacity: usize,
    /// Whether the flow-control firmware of the Cortex-M3 answers its mailbox.
    pub firmware: bool,

    // What the sources leave open.
    /// Unknown: `>=` or `>` when occupied or sent descriptors are compared with a threshold.
    /// `true` is `>=`.
    pub threshold_inclusive: bool,
    /// Unknown: a time threshold of 0 raises the interrupt at once (`true`) or never.
    pub time_zero_is_now: bool,
    /// Unknown: the RSS hash of the extracted fields. Linux reports it as CRC32.
    pub hash: fn(&[u8]) -> u32,
    /// Unknown: whether `PRS_TCAM_HIT_CNT`, `C2_HIT_CTR` and the classifier's hit counters clear
    /// when read.
    pub hit_counters_clear: bool,
    /// Unknown: clearing of the MACs' link interrupt status.
    pub link_stat: StatClear,
    /// Unknown: a frame the parser drops counts in `CLS_ETH_DROP` (`true`) or `OVERRUN_ETH_DROP`.
    pub parser_drop_is_cls: bool,
    /// Unknown: a frame for which a lookup matches no line is dropped (`true`) or goes on with the
    /// result so far.
    pub parser_miss_drops: bool,
    /// Unknown: order of buffers in a pool.
    pub pool_order: PoolOrder,
    /// Unknown: starting a pool forgets what it held, as its memory has moved.
    pub start_empties_pool: bool,
    /// Unknown: whether the L3 offset in a receive descriptor counts the Marvell header.
    pub l3_offset_with_mh: bool,
    /// Unknown: whether the L4 checksum seed of a transmit descriptor is added in.
    pub tx_csum_seed: bool,
    /// Unknown: when a transmit time stamp leaves its queue.
    pub stamp_pop: StampPop,
    /// Treatment of frames larger than the long buffer.
    pub oversize: Oversize,
    /// Whether frames with a bad check sequence reach a queue, marked as errors, or end in the MAC.
    pub deliver_bad_crc: bool,
    /// Whether short frames from the wire are padded to 60 bytes, as the far MAC would have done.
    pub pad_received: bool,
    /// Whether a transmit descriptor may hand its buffer to a pool (word 0, bit 7).
    pub tx_releases_buffers: bool,
}

impl Config {
    /// The defaults: a Macchiatobin's half, with unknowns set to what Linux needs.
    pub const DEFAULT: Config = Config {
        version: 0x10,
        clock_hz: 333_333_333,
        gop: [0, 2, 3],
        pool_capacity: 16384,
        firmware: true,
        threshold_inclusive: true,
        time_zero_is_now: true,
        hash: crate::classifier::crc32,
        hit_counters_clear: true,
        link_stat: StatClear::Read,
        parser_drop_is_cls: true,
        parser_miss_drops: true,
        pool_order: PoolOrder::Fifo,
        start_empties_pool: true,
        l3_offset_with_mh: true,
        tx_csum_seed: false,
        stamp_pop: StampPop::AfterR2,
        oversize: Oversize::BufferHeader,
        deliver_bad_crc: true,
        pad_received: true,
        tx_releases_buffers: true,
    };

    /// Nanoseconds in `cycles` of `pp_clk`.
    pub(crate) fn cycles_to_ns(&self, cycles: u32) -> u64 {
        u64::from(cycles) * 1_000_000_000 / u64::from(self.clock_hz.max(1))
    }

    /// Whether `count` waiting items reach `threshold`. No threshold asserts on nothing.
    pub(crate) fn reaches(&self, count: u32, threshold: u32) -> bool {
        let threshold = threshold.max(1);
        if self.threshold_inclusive {
            count >= threshold
        } else {
            count > threshold
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}
