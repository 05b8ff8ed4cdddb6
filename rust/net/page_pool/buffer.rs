// SPDX-License-Identifier: GPL-2.0

//! Buffers that the driver owns.

use super::{
    FullPage,
    Geometry,
    Mapped,
    Mapping,
    Offset,
    Unmapped, //
};
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull,
    slice, //
};
use kernel::{
    bindings,
    prelude::*, //
};

// The pool keeps DMA addresses in a field of `struct page`, shifted where they
// do not fit. No architecture with Rust support needs that.
const _: () = assert!(size_of::<bindings::dma_addr_t>() <= size_of::<usize>());

/// Length argument of a return by which the device gets the whole page back. Other
/// lengths count from its start, which says nothing with several frames in it.
const SYNC_ALL: u32 = u32::MAX;

/// A page that the pool gave out.
///
/// # Invariants
///
/// - `page` is a page of a page pool that has not been destroyed for good: a
///   pool outlives its pages.
/// - This value owns one reference of the page's `pp_ref_count`. If `G` is not
///   fragmented it is the only one.
/// - A frame of geometry `G` begins `offset` bytes into the page, and is used
///   by nobody else.
/// - If `M` is [`Mapped`], the page is mapped for DMA until the pool is
///   destroyed.
pub(super) struct RawBuffer<G: Geometry, M: Mapping> {
    page: NonNull<bindings::page>,
    offset: G::Offset,
    _mapping: PhantomData<M>,
}

impl<G: Geometry, M: Mapping> Clone for RawBuffer<G, M> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Geometry, M: Mapping> Copy for RawBuffer<G, M> {}

impl<G: Geometry, M: Mapping> RawBuffer<G, M> {
    /// # Safety
    ///
    /// The arguments must satisfy the type's invariants. What is copied from
    /// the result must be used as if there were one of it.
    #[inline]
    pub(super) unsafe fn new(page: NonNull<bindings::page>, offset: G::Offset) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            page,
            offset,
            _mapping: PhantomData,
        }
    }

    #[inline]
    pub(super) fn into_parts(self) -> (NonNull<bindings::page>, G::Offset) {
        (self.page, self.offset)
    }

    /// The part of `struct page` that belongs to the pool.
    #[inline]
    fn desc(&self) -> NonNull<bindings::netmem_desc> {
        // `struct netmem_desc` overlays `struct page`; the C header asserts it.
        self.page.cast()
    }

    /// The pool that the page is from.
    #[inline]
    pub(super) fn pool(&self) -> *mut net_bindings::page_pool {
        // SAFETY: By the type invariant this is a page of a pool, whose `pp`
        // does not change while the page is out of it.
        unsafe { (*self.desc().as_ptr()).pp.cast() }
    }

    #[inline]
    fn frame_dma_addr(&self) -> bindings::dma_addr_t
    where
        M: Mapped,
    {
        // SAFETY: By the type invariant this is a page of a pool that maps its
        // pages; the address does not change while the page is out of it.
        let base = unsafe { (*self.desc().as_ptr()).dma_addr };

        base as bindings::dma_addr_t + self.offset.bytes() as bindings::dma_addr_t
    }

    #[inline]
    pub(super) fn data(&self) -> NonNull<u8> {
        // SAFETY: By the type invariant the page is valid.
        let base = unsafe { net_bindings::page_address(self.page.as_ptr()) };
        // SAFETY: Pools allocate no high memory, so every page has an address.
        let base = unsafe { NonNull::new_unchecked(base.cast::<u8>()) };

        // SAFETY: By the type invariant the frame, of which the head room is a
        // part, lies within the page.
        unsafe { base.add(self.offset.bytes() + G::HEADROOM) }
    }

    /// Gives the page back to its pool, to wherever it is best kept.
    ///
    /// `touched` is the number of bytes from the start of the data that the CPU
    /// may have written or brought into its caches.
    ///
    /// # Safety
    ///
    /// The value must not be used afterwards.
    #[inline]
    pub(super) unsafe fn put(self, touched: u32) {
        let touched = if G::FRAGMENTED { SYNC_ALL } else { touched };

        // SAFETY: By the type invariant and the safety requirements of this
        // function, the reference that is dropped is ours. The helper checks
        // the context.
        unsafe { net_bindings::page_pool_return(self.page.as_ptr(), touched, G::FRAGMENTED) };
    }

    /// Gives the page back to the cache of its pool.
    ///
    /// # Safety
    ///
    /// - The value must not be used afterwards.
    /// - The caller must have exclusive access to the pool's cache.
    #[inline]
    pub(super) unsafe fn recycle(self, touched: u32) {
        if G::FRAGMENTED {
            // SAFETY: By the type invariant and the safety requirements of this
            // function, the reference that is dropped is ours, and nobody else
            // uses the cache.
            unsafe { net_bindings::page_pool_recycle_direct(self.pool(), self.page.as_ptr()) };
        } else {
            // This is what `page_pool_recycle_direct()` comes to when the
            // reference count is known to be one.
            //
            // SAFETY: By the type invariant ours is the only reference; by the
            // safety requirements it is not used again, and nobody else uses
            // the cache.
            unsafe {
                net_bindings::page_pool_put_unrefed_netmem(
                    self.pool(),
                    self.page.as_ptr() as bindings::netmem_ref,
                    touched,
                    true,
                )
            };
        }
    }
}

/// A free buffer: the driver owns it, and the CPU has no access to what is in it.
///
/// It can be given to the hardware through [`Posted`](super::Posted). Dropping
/// it gives it back to the pool; where the page then goes is described in the
/// [module documentation](super).
///
/// # Context
///
/// Can be dropped in process and softirq context. In a hard interrupt, which
/// may have interrupted the consumer, the page is leaked with a warning.
///
/// # Examples
///
/// ```
/// let buffer = pool.alloc()?;
///
/// // Back to the pool.
/// drop(buffer);
/// ```
#[must_use = "an unused buffer goes straight back to its pool"]
pub struct Buffer<G: Geometry, M: Mapping> {
    raw: RawBuffer<G, M>,
}

// SAFETY: A buffer is an owned page. The pool takes it back on any CPU.
unsafe impl<G: Geometry, M: Mapping> Send for Buffer<G, M> {}

// SAFETY: A shared reference to a buffer only reads what does not change.
unsafe impl<G: Geometry, M: Mapping> Sync for Buffer<G, M> {}

impl<G: Geometry, M: Mapping> Buffer<G, M> {
    /// # Safety
    ///
    /// `raw` must not be used by anybody else afterwards.
    #[inline]
    pub(super) unsafe fn from_raw(raw: RawBuffer<G, M>) -> Self {
        Self { raw }
    }

    /// The pool that the buffer is from.
    #[inline]
    pub(super) fn pool(&self) -> *mut net_bindings::page_pool {
        self.raw.pool()
    }

    #[inline]
    pub(super) fn into_raw(self) -> RawBuffer<G, M> {
        ManuallyDrop::new(self).raw
    }

    /// Lends the buffer's parts to tests.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(super) fn as_raw(&self) -> &RawBuffer<G, M> {
        &self.raw
    }

    /// The bus address at which the device is to write: the first byte after
    /// the head room. It is good for as long as the pool exists.
    ///
    /// C: `page_pool_get_dma_addr()`.
    #[inline]
    pub fn dma_addr(&self) -> bindings::dma_addr_t
    where
        M: Mapped,
    {
        self.raw.frame_dma_addr() + G::HEADROOM as bindings::dma_addr_t
    }

    /// The bus address of the frame: for devices that leave the head room
    /// themselves.
    #[inline]
    pub fn frame_dma_addr(&self) -> bindings::dma_addr_t
    where
        M: Mapped,
    {
        self.raw.frame_dma_addr()
    }

    /// Declares that the device has written `len` bytes, and makes them visible
    /// to the CPU.
    ///
    /// If that is more than the buffer holds, it comes back.
    ///
    /// C: `page_pool_dma_sync_for_cpu()`.
    ///
    /// # Safety
    ///
    /// The buffer's pool must exist: a page that outlives it is not mapped, and
    /// its device may be gone.
    #[inline]
    pub(super) unsafe fn into_received(self, len: usize) -> Result<Received<G, M>, Self>
    where
        M: Mapped,
    {
        if len > G::LEN {
            return Err(self);
        }

        // SAFETY: By the safety requirements of this function the pool exists.
        let dev = unsafe { (*self.raw.pool()).p.dev };

        // SAFETY: The pool mapped the page for its device, in this direction,
        // and has not undone that; `len` bytes after the head room are within.
        unsafe { net_bindings::dma_sync_single_for_cpu(dev, self.dma_addr(), len, M::DIRECTION) };

        // INVARIANT: `len` was checked, and the data synchronised.
        Ok(Received {
            raw: self.into_raw(),
            len: len as u32,
        })
    }
}

impl<G: Geometry> Buffer<G, Unmapped> {
    /// Writes a packet into the buffer: what a device does that is software.
    ///
    /// If it is longer than the buffer holds, the buffer comes back.
    #[inline]
    pub fn write(self, packet: &[u8]) -> Result<Received<G, Unmapped>, Self> {
        if packet.len() > G::LEN {
            return Err(self);
        }

        // SAFETY: The source is a slice; the destination are as many bytes of a
        // frame that this value owns.
        unsafe {
            self.raw
                .data()
                .as_ptr()
                .copy_from_nonoverlapping(packet.as_ptr(), packet.len())
        };

        // INVARIANT: `len` was checked, and there is no device to synchronise
        // with.
        Ok(Received {
            raw: self.into_raw(),
            len: packet.len() as u32,
        })
    }
}

impl<const HEADROOM: usize, const LEN: usize, const ORDER: u32, M: Mapping>
    Buffer<FullPage<HEADROOM, LEN, ORDER>, M>
{
    /// Takes the page out of the pool for good, and frees it: unmaps it and
    /// gives it to the page allocator.
    ///
    /// This is what happens to every received page without recycling. It is
    /// there to measure what recycling gains.
    #[inline]
    pub fn release(self) {
        let raw = self.into_raw();

        // SAFETY: By the type invariant this is a page of this pool with one
        // reference, which is ours and not used again.
        unsafe { net_bindings::page_pool_release_page(raw.pool(), raw.page.as_ptr()) };
    }
}

impl<G: Geometry, M: Mapping> Drop for Buffer<G, M> {
    #[inline]
    fn drop(&mut self) {
        // The CPU had no access to the data, so there is nothing to write back
        // before the device gets the page again.
        //
        // SAFETY: The value is being dropped.
        unsafe { self.raw.put(0) };
    }
}

/// A buffer with a packet: the driver owns it, and can read it.
///
/// Made by [`Posted::complete`](super::Posted::complete), on the word of the
/// device that it has written so many bytes and is done with them, or by
/// [`Buffer::write`]. Dropping it gives the page back to the pool, and as much
/// of it as the CPU had access to back to the device.
///
/// # Context
///
/// As for [`Buffer`].
///
/// # Invariants
///
/// - `len` is at most `G::LEN`.
/// - The first `len` bytes after the head room are the CPU's: the device has
///   reported that it is done, and they have been synchronised.
#[must_use = "a received packet that is not used is lost"]
pub struct Received<G: Geometry, M: Mapping> {
    raw: RawBuffer<G, M>,
    len: u32,
}

// SAFETY: As for `Buffer`.
unsafe impl<G: Geometry, M: Mapping> Send for Received<G, M> {}

// SAFETY: A shared reference gives read access to data that only a unique
// reference can change.
unsafe impl<G: Geometry, M: Mapping> Sync for Received<G, M> {}

impl<G: Geometry, M: Mapping> Received<G, M> {
    /// What the device has written.
    #[inline]
    pub fn data(&self) -> &[u8] {
        // SAFETY: By the type invariants, `len` bytes from here are part of a
        // frame that this value owns, and the device is done with it.
        unsafe { slice::from_raw_parts(self.raw.data().as_ptr(), self.len as usize) }
    }

    /// What the device has written, to be changed.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: As in `data()`, and the reference is unique.
        unsafe { slice::from_raw_parts_mut(self.raw.data().as_ptr(), self.len as usize) }
    }

    /// Bytes that the device has written.
    #[inline]
    #[expect(
        clippy::len_without_is_empty,
        reason = "this is the length of a packet"
    )]
    pub fn len(&self) -> usize {
        self.len as usize
    }
}

impl<G: Geometry, M: Mapping> Drop for Received<G, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: The value is being dropped.
        unsafe { self.raw.put(self.len) };
    }
}

mod private {
    pub trait Sealed {}

    /// Nobody else can name this, so nobody else can call what takes it.
    pub struct Token;
}

pub(super) use private::Token;

/// A buffer that can be given back to its pool: [`Buffer`] or [`Received`].
pub trait Owned<G: Geometry, M: Mapping>: private::Sealed {
    /// Gives up the page, and says how much of it the CPU had access to.
    #[doc(hidden)]
    fn into_page(self, _: Token) -> OwnedPage<G, M>;
}

/// A page on its way back to the pool.
#[doc(hidden)]
pub struct OwnedPage<G: Geometry, M: Mapping> {
    pub(super) raw: RawBuffer<G, M>,
    pub(super) touched: u32,
}

impl<G: Geometry, M: Mapping> private::Sealed for Buffer<G, M> {}

impl<G: Geometry, M: Mapping> Owned<G, M> for Buffer<G, M> {
    #[inline]
    fn into_page(self, _: Token) -> OwnedPage<G, M> {
        OwnedPage {
            raw: self.into_raw(),
            touched: 0,
        }
    }
}

impl<G: Geometry, M: Mapping> private::Sealed for Received<G, M> {}

impl<G: Geometry, M: Mapping> Owned<G, M> for Received<G, M> {
    #[inline]
    fn into_page(self, _: Token) -> OwnedPage<G, M> {
        let this = ManuallyDrop::new(self);

        OwnedPage {
            raw: this.raw,
            touched: this.len,
        }
    }
}
