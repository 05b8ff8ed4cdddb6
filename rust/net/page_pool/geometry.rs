// SPDX-License-Identifier: GPL-2.0

//! How a buffer divides the memory it occupies.

use kernel::{
    bindings,
    page::PAGE_SIZE, //
};

/// Bytes that `build_skb()` takes from the end of a frame for
/// `struct skb_shared_info`.
pub const SHARED_INFO_SIZE: usize = data_align(size_of::<bindings::skb_shared_info>());

/// Rounds a length up as `SKB_DATA_ALIGN()` does.
const fn data_align(len: usize) -> usize {
    len.next_multiple_of(net_bindings::L1_CACHE_BYTES as usize)
}

/// Where a frame begins in the allocation that holds it.
///
/// A frame that is a whole allocation needs no memory to remember that.
pub trait Offset: Copy + Send + Sync {
    /// Makes an offset from the number of bytes that C reports.
    fn from_bytes(bytes: u32) -> Self;

    /// The number of bytes before the frame.
    fn bytes(self) -> usize;
}

impl Offset for () {
    #[inline]
    fn from_bytes(_: u32) -> Self {}

    #[inline]
    fn bytes(self) -> usize {
        0
    }
}

impl Offset for u32 {
    #[inline]
    fn from_bytes(bytes: u32) -> Self {
        bytes
    }

    #[inline]
    fn bytes(self) -> usize {
        self as usize
    }
}

mod private {
    pub trait Sealed {}
}

/// The layout of every buffer of a pool.
///
/// ```text
/// |<------------------------ FRAME_SIZE ------------------------>|
/// |  HEADROOM  |        LEN: the device writes here        | TAILROOM |
/// ```
///
/// The tail room is at least what `struct skb_shared_info` needs, so each
/// buffer can become the head of a socket buffer. That the parts fit is checked
/// when the pool's type is used, at compile time.
///
/// The two layouts there are: [`FullPage`] and [`Fragment`].
pub trait Geometry: private::Sealed {
    /// Pages in one allocation, as a power of two.
    const ORDER: u32;

    /// Bytes that one buffer occupies: what `build_skb()` is told, and the
    /// true size that the stack accounts for.
    const FRAME_SIZE: usize;

    /// Bytes before the first one that the device writes.
    const HEADROOM: usize;

    /// Bytes that the device may write at most.
    const LEN: usize;

    /// Bytes of one allocation.
    const ALLOC_SIZE: usize = PAGE_SIZE << Self::ORDER;

    /// Bytes after the last one that the device may write.
    const TAILROOM: usize = Self::FRAME_SIZE - Self::HEADROOM - Self::LEN;

    /// Whether several buffers share an allocation.
    const FRAGMENTED: bool;

    /// Where a frame begins in its allocation.
    type Offset: Offset;

    /// Fails to evaluate, at compile time, if the parts do not fit.
    #[doc(hidden)]
    const CHECK: () = {
        assert!(Self::LEN > 0, "a buffer must have room for data");
        assert!(
            Self::FRAME_SIZE <= Self::ALLOC_SIZE,
            "the frame is larger than the allocation that holds it"
        );
        assert!(
            Self::FRAME_SIZE % net_bindings::L1_CACHE_BYTES as usize == 0,
            "the frame size is not a multiple of the cache line size"
        );
        assert!(
            data_align(Self::HEADROOM + Self::LEN) + SHARED_INFO_SIZE <= Self::FRAME_SIZE,
            "head room, data and `struct skb_shared_info` do not fit into the frame"
        );
        // The C interface has 32-bit lengths and offsets.
        assert!(Self::ALLOC_SIZE <= u32::MAX as usize);
    };
}

/// One buffer per allocation of `1 << ORDER` pages.
///
/// # Examples
///
/// ```
/// // 224 bytes of head room, then up to 1696 bytes from the device.
/// type Rx = net::page_pool::FullPage<224, 1696>;
/// ```
pub struct FullPage<const HEADROOM: usize, const LEN: usize, const ORDER: u32 = 0>;

impl<const HEADROOM: usize, const LEN: usize, const ORDER: u32> private::Sealed
    for FullPage<HEADROOM, LEN, ORDER>
{
}

impl<const HEADROOM: usize, const LEN: usize, const ORDER: u32> Geometry
    for FullPage<HEADROOM, LEN, ORDER>
{
    const ORDER: u32 = ORDER;
    const FRAME_SIZE: usize = PAGE_SIZE << ORDER;
    const HEADROOM: usize = HEADROOM;
    const LEN: usize = LEN;
    const FRAGMENTED: bool = false;

    type Offset = ();
}

/// Several buffers of `FRAME_SIZE` bytes in each allocation of `1 << ORDER`
/// pages.
///
/// An allocation returns to the pool when the last of its fragments does.
///
/// # Examples
///
/// ```
/// // Two buffers in each page of 4 KiB.
/// type Rx = net::page_pool::Fragment<64, 1600, 2048>;
/// ```
pub struct Fragment<
    const HEADROOM: usize,
    const LEN: usize,
    const FRAME_SIZE: usize,
    const ORDER: u32 = 0,
>;

impl<const HEADROOM: usize, const LEN: usize, const FRAME_SIZE: usize, const ORDER: u32>
    private::Sealed for Fragment<HEADROOM, LEN, FRAME_SIZE, ORDER>
{
}

impl<const HEADROOM: usize, const LEN: usize, const FRAME_SIZE: usize, const ORDER: u32> Geometry
    for Fragment<HEADROOM, LEN, FRAME_SIZE, ORDER>
{
    const ORDER: u32 = ORDER;
    const FRAME_SIZE: usize = FRAME_SIZE;
    const HEADROOM: usize = HEADROOM;
    const LEN: usize = LEN;
    const FRAGMENTED: bool = true;

    type Offset = u32;
}
