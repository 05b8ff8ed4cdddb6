// SPDX-License-Identifier: GPL-2.0

//! Allocation, and direct recycling.

use super::{
    buffer::{
        RawBuffer,
        Token, //
    },
    Buffer,
    Geometry,
    Mapping,
    Offset,
    Owned,
    PagePool,
    VaBuffer, //
};
use crate::{
    bh,
    napi, //
};
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    alloc::AllocError,
    bindings,
    prelude::*,
    types::NotThreadSafe, //
};

mod private {
    pub trait Sealed {}
}

/// A pool that exists, as it must for data to be received: [`PagePool`], or its
/// [`Consumer`].
pub trait Pool<G: Geometry, M: Mapping>: private::Sealed {
    /// Which one it is.
    #[doc(hidden)]
    fn as_raw(&self, _: Token) -> *mut net_bindings::page_pool;
}

impl<G: Geometry, M: Mapping> private::Sealed for PagePool<'_, G, M> {}

impl<G: Geometry, M: Mapping> Pool<G, M> for PagePool<'_, G, M> {
    #[inline]
    fn as_raw(&self, _: Token) -> *mut net_bindings::page_pool {
        self.pool.as_ptr()
    }
}

impl<G: Geometry, M: Mapping> private::Sealed for Consumer<'_, G, M> {}

impl<G: Geometry, M: Mapping> Pool<G, M> for Consumer<'_, G, M> {
    #[inline]
    fn as_raw(&self, _: Token) -> *mut net_bindings::page_pool {
        self.pool.as_ptr()
    }
}

/// A context in which a pool can be consumed: [`napi::Context`] or
/// [`bh::Context`].
pub trait Context: private::Sealed {
    /// The NAPI instance that is being polled, if one is.
    #[doc(hidden)]
    fn napi(&self) -> *mut net_bindings::napi_struct;
}

impl private::Sealed for napi::Context<'_> {}

impl Context for napi::Context<'_> {
    #[inline]
    fn napi(&self) -> *mut net_bindings::napi_struct {
        napi::Context::napi(self).as_raw()
    }
}

impl private::Sealed for bh::Context {}

impl Context for bh::Context {
    #[inline]
    fn napi(&self) -> *mut net_bindings::napi_struct {
        ptr::null_mut()
    }
}

/// The one who allocates from a pool, for as long as it is in a context where
/// it may: see [`PagePool::consumer`].
///
/// # Examples
///
/// ```
/// fn receive(mut consumer: Consumer<'_, Rx, Unmapped>) -> Result {
///     let buffer = consumer.alloc()?;
///
///     // Straight back to the cache.
///     consumer.recycle(buffer);
///
///     Ok(())
/// }
/// ```
///
/// # Invariants
///
/// `pool` is a valid pool of geometry `G` and mapping `M`, and nobody else
/// touches its cache while this value exists.
pub struct Consumer<'a, G: Geometry, M: Mapping> {
    pool: NonNull<net_bindings::page_pool>,
    _types: PhantomData<(&'a mut (), G, M)>,
    _not_send: NotThreadSafe,
}

impl<G: Geometry, M: Mapping> Consumer<'_, G, M> {
    /// # Safety
    ///
    /// The argument must satisfy the type's invariants, for as long as the
    /// result exists.
    #[inline]
    pub(super) unsafe fn new(pool: NonNull<net_bindings::page_pool>) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            pool,
            _types: PhantomData,
            _not_send: NotThreadSafe,
        }
    }

    /// Allocates a buffer. Does not sleep.
    ///
    /// C: `page_pool_dev_alloc_pages()`, or `page_pool_dev_alloc_frag()` if the
    /// pool's geometry is a [`Fragment`].
    #[inline]
    pub fn alloc(&mut self) -> Result<Buffer<G, M>, AllocError> {
        // SAFETY: By the type invariant the cache is ours.
        unsafe { alloc(self.pool, bindings::GFP_ATOMIC) }
    }

    /// Allocates at least `size` bytes: a multiple of the cache line size, and up
    /// to a whole page's worth if that leaves no room for another piece. Does not
    /// sleep.
    ///
    /// Fails if there is no memory, or if `size` is 0 or more than
    /// `G::ALLOC_SIZE`.
    ///
    /// C: `page_pool_dev_alloc_va()`.
    pub fn alloc_va(&mut self, size: usize) -> Result<VaBuffer, AllocError> {
        if size == 0 || size > G::ALLOC_SIZE {
            return Err(AllocError);
        }

        // What follows in the page must begin at a cache line as well.
        let mut size = (size as u32).next_multiple_of(net_bindings::L1_CACHE_BYTES);

        // SAFETY: By the type invariant the cache is ours.
        let va = unsafe {
            net_bindings::page_pool_alloc_va(
                self.pool.as_ptr(),
                &mut size,
                bindings::GFP_ATOMIC | bindings::__GFP_NOWARN,
            )
        };
        let va = NonNull::new(va.cast()).ok_or(AllocError)?;

        // SAFETY: C has just given us these bytes and a reference.
        Ok(unsafe { VaBuffer::new(va, size, self.pool) })
    }

    /// Gives a buffer back, directly to the cache if it is of this pool.
    ///
    /// C: `page_pool_recycle_direct()`.
    #[inline]
    pub fn recycle(&mut self, buffer: impl Owned<G, M>) {
        let page = buffer.into_page(Token);

        if page.raw.pool() == self.pool.as_ptr() {
            // SAFETY: The value is not used again. By the type invariant the
            // cache is ours.
            unsafe { page.raw.recycle(page.touched) };
        } else {
            // SAFETY: The value is not used again.
            unsafe { page.raw.put(page.touched) };
        }
    }
}

/// Allocates a buffer of a pool.
///
/// # Safety
///
/// `pool` must be a valid pool of geometry `G` and mapping `M`, and nobody else
/// may touch its cache meanwhile.
#[inline]
pub(super) unsafe fn alloc<G: Geometry, M: Mapping>(
    pool: NonNull<net_bindings::page_pool>,
    gfp: bindings::gfp_t,
) -> Result<Buffer<G, M>, AllocError> {
    let gfp = gfp | bindings::__GFP_NOWARN;
    let mut offset = 0;

    let netmem = if G::FRAGMENTED {
        // SAFETY: By the safety requirements of this function.
        unsafe {
            net_bindings::page_pool_alloc_frag_netmem(
                pool.as_ptr(),
                &mut offset,
                G::FRAME_SIZE as u32,
                gfp,
            )
        }
    } else {
        // SAFETY: By the safety requirements of this function.
        unsafe { net_bindings::page_pool_alloc_netmems(pool.as_ptr(), gfp) }
    };

    // Our pools have no memory provider, so this is a page.
    let page = NonNull::new(netmem as *mut bindings::page).ok_or(AllocError)?;

    // SAFETY: C has just given us a reference of this page. A page that was not
    // asked for as a fragment has no other.
    let raw = unsafe { RawBuffer::new(page, G::Offset::from_bytes(offset)) };

    // SAFETY: There is no copy of `raw`.
    Ok(unsafe { Buffer::from_raw(raw) })
}
