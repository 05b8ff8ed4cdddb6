// SPDX-License-Identifier: GPL-2.0

//! Returns of many buffers at once.

use super::{
    buffer::Token,
    Geometry,
    Mapping,
    Owned, //
};
use core::{
    marker::PhantomData,
    mem::MaybeUninit, //
};
use kernel::bindings;

/// Buffers that C takes at a time. It has an array of this size on its stack.
const BULK_SIZE: usize = net_bindings::XDP_BULK_QUEUE_SIZE as usize;

/// Collects buffers and gives them back together, which takes the lock of the
/// pool's ring once for all of them.
///
/// For code that does not consume the pool, such as the completion of
/// transmissions. The buffers may be of different pools. Those collected are
/// given back when there are enough, and when this value is dropped.
///
/// # Context
///
/// As for [`Buffer`](super::Buffer).
///
/// C: `page_pool_put_netmem_bulk()`.
///
/// # Invariants
///
/// - `len` is less than `BULK_SIZE`, except inside [`Self::push`].
/// - The first `len` elements of `refs` are pages, each with one reference that
///   belongs to this value.
pub struct Bulk<G: Geometry, M: Mapping> {
    refs: [MaybeUninit<bindings::netmem_ref>; BULK_SIZE],
    len: usize,
    _buffers: PhantomData<(G, M)>,
}

impl<G: Geometry, M: Mapping> Bulk<G, M> {
    /// Creates an empty collection.
    #[inline]
    pub fn new() -> Self {
        // INVARIANT: There are no elements.
        Self {
            refs: [const { MaybeUninit::uninit() }; BULK_SIZE],
            len: 0,
            _buffers: PhantomData,
        }
    }

    /// Adds a buffer.
    #[inline]
    pub fn push(&mut self, buffer: impl Owned<G, M>) {
        let (page, _) = buffer.into_page(Token).raw.into_parts();

        self.refs[self.len].write(page.as_ptr() as bindings::netmem_ref);
        // INVARIANT: The element was written, and owns the buffer's page. If
        // there are enough now, they are given back at once.
        self.len += 1;

        if self.len == BULK_SIZE {
            self.flush();
        }
    }

    /// Gives back what has been collected.
    pub fn flush(&mut self) {
        // INVARIANT: The pages are given away below.
        let len = core::mem::take(&mut self.len);

        if len != 0 {
            // SAFETY: By the type invariants these are at most as many as C
            // takes, they are pages of pools, and each reference is ours. C may
            // use the array as scratch space. The helper checks the context.
            unsafe {
                net_bindings::page_pool_return_bulk(self.refs.as_mut_ptr().cast(), len as u32)
            };
        }
    }
}

impl<G: Geometry, M: Mapping> Default for Bulk<G, M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<G: Geometry, M: Mapping> Drop for Bulk<G, M> {
    fn drop(&mut self) {
        self.flush();
    }
}

impl<G: Geometry, M: Mapping, B: Owned<G, M>> Extend<B> for Bulk<G, M> {
    fn extend<I: IntoIterator<Item = B>>(&mut self, iter: I) {
        for buffer in iter {
            self.push(buffer);
        }
    }
}
