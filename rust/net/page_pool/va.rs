// SPDX-License-Identifier: GPL-2.0

//! Memory of any size from a pool.

use core::{
    mem::MaybeUninit,
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull,
    slice, //
};

/// A piece of memory from a pool, of a size chosen when it was allocated.
///
/// For what is small, or only known at run time, such as the copied header of a
/// packet. It has no geometry, so it cannot be given to the hardware. Dropping
/// it gives it back.
///
/// Made by [`Consumer::alloc_va`](super::Consumer::alloc_va).
///
/// # Context
///
/// As for [`Buffer`](super::Buffer).
///
/// C: `page_pool_alloc_va()`, `page_pool_free_va()`.
///
/// # Invariants
///
/// `va` is the address of `len` bytes that belong to this value, in a page of
/// `pool`, together with one reference of the page's `pp_ref_count`.
#[must_use = "unused memory goes straight back to its pool"]
pub struct VaBuffer {
    va: NonNull<u8>,
    len: u32,
    pool: NonNull<net_bindings::page_pool>,
}

// SAFETY: This is owned memory, which the pool takes back on any CPU.
unsafe impl Send for VaBuffer {}

// SAFETY: A shared reference only allows to read.
unsafe impl Sync for VaBuffer {}

impl VaBuffer {
    /// # Safety
    ///
    /// The arguments must satisfy the type's invariant.
    #[inline]
    pub(super) unsafe fn new(
        va: NonNull<u8>,
        len: u32,
        pool: NonNull<net_bindings::page_pool>,
    ) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self { va, len, pool }
    }
}

impl Deref for VaBuffer {
    type Target = [MaybeUninit<u8>];

    #[inline]
    fn deref(&self) -> &Self::Target {
        // SAFETY: By the type invariant these bytes are ours.
        unsafe { slice::from_raw_parts(self.va.as_ptr().cast(), self.len as usize) }
    }
}

impl DerefMut for VaBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: By the type invariant these bytes are ours, and the reference
        // to them is unique.
        unsafe { slice::from_raw_parts_mut(self.va.as_ptr().cast(), self.len as usize) }
    }
}

impl Drop for VaBuffer {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the memory is ours and from this pool,
        // which outlives it. The helper checks the context.
        unsafe { net_bindings::page_pool_return_va(self.pool.as_ptr(), self.va.as_ptr().cast()) };
    }
}
