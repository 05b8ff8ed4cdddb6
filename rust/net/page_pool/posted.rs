// SPDX-License-Identifier: GPL-2.0

//! Buffers that the hardware owns.

use super::{
    buffer::{
        RawBuffer,
        Token, //
    },
    Buffer,
    Geometry,
    Mapped,
    Mapping,
    Pool,
    Received, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    alloc::flags::GFP_KERNEL,
    bindings,
    prelude::*, //
};

/// Bits of a cookie that hold the slot's index; the others hold its generation.
const INDEX_BITS: u32 = 16;

/// Stands in for a buffer while the hardware has it.
///
/// The driver writes it into a descriptor or a buffer manager, and gets it back
/// from the hardware with the packet. [`Posted`] turns it back into the buffer,
/// once.
///
/// A cookie is 32 bits wide. What the hardware returns is not trusted: any
/// value may be made into a cookie, and [`Posted`] refuses those that stand for
/// none of its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie(u32);

impl Cookie {
    /// Makes a cookie from what the hardware returned.
    #[inline]
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the value to give to the hardware.
    #[inline]
    pub fn bits(self) -> u32 {
        self.0
    }

    #[inline]
    fn new(index: usize, generation: u16) -> Self {
        Self(u32::from(generation) << INDEX_BITS | index as u32)
    }

    #[inline]
    fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    #[inline]
    fn generation(self) -> u16 {
        (self.0 >> INDEX_BITS) as u16
    }
}

/// Why a completion was refused.
#[derive(Debug)]
pub enum Refused<B> {
    /// The cookie stands for no buffer here: it was made up, or was turned back
    /// already.
    Cookie,

    /// The device claims to have written more than it was allowed to. This is
    /// the buffer.
    Length(B),

    /// This buffer is of another pool than the one that was named.
    Pool(B),
}

impl<B> From<Refused<B>> for Error {
    fn from(refused: Refused<B>) -> Self {
        match refused {
            Refused::Cookie => ENOENT,
            Refused::Length(_) => EMSGSIZE,
            Refused::Pool(_) => EXDEV,
        }
    }
}

/// What a slot holds.
///
/// # Invariants
///
/// `word` is either the address of a page, which is even, and then `offset`
/// belongs to it and the slot owns the buffer; or it is the index of the next
/// vacant slot times two plus one.
struct Slot<G: Geometry> {
    word: usize,
    generation: u16,
    offset: G::Offset,
}

/// The buffers that one ring or buffer manager has given to the hardware.
///
/// While a buffer is in the hardware only its [`Cookie`] is outside this table,
/// so the driver cannot touch what the device may be writing. Each cookie can
/// be turned back once. A hostile or confused device that returns one twice, or
/// one it was never given, cannot make the driver follow a wild pointer, and is
/// found out unless it hits upon the cookie of another buffer of this table. (A
/// cookie repeats after its slot has been used 65,536 times.)
///
/// Posting and completing take constant time and allocate nothing.
///
/// What a table cannot know is whether the device keeps its word: that it is
/// done with a buffer that it completes, has written as much as it says, and has
/// stopped when the driver has told it to. Dropping the table, or draining it,
/// gives pages back that a device which runs on would write to.
///
/// # Invariants
///
/// - The vacant slots form a list that begins with `vacant`; the last one, or
///   `vacant` if there is none, names a slot that does not exist.
/// - `len` is the number of the other slots.
pub struct Posted<G: Geometry, M: Mapping> {
    slots: KVVec<Slot<G>>,
    vacant: usize,
    len: usize,
    _buffers: PhantomData<Buffer<G, M>>,
}

// SAFETY: The table owns its buffers, which are `Send`.
unsafe impl<G: Geometry, M: Mapping> Send for Posted<G, M> {}

// SAFETY: A shared reference only allows to read the number of buffers.
unsafe impl<G: Geometry, M: Mapping> Sync for Posted<G, M> {}

impl<G: Geometry, M: Mapping> Posted<G, M> {
    /// The most buffers that a table can hold.
    pub const MAX_CAPACITY: usize = 1 << INDEX_BITS;

    /// Creates a table for `capacity` buffers.
    ///
    /// Fails with `EINVAL` if that is 0 or more than [`Self::MAX_CAPACITY`],
    /// with `ENOMEM` if there is no memory. May sleep.
    pub fn new(capacity: usize) -> Result<Self> {
        if capacity == 0 || capacity > Self::MAX_CAPACITY {
            return Err(EINVAL);
        }

        let mut slots = KVVec::with_capacity(capacity, GFP_KERNEL)?;

        for index in 0..capacity {
            // INVARIANT: All slots are vacant, each followed by the next; the
            // last one names a slot that does not exist.
            slots.push(
                Slot {
                    word: vacant(index + 1),
                    generation: 0,
                    offset: super::Offset::from_bytes(0),
                },
                GFP_KERNEL,
            )?;
        }

        Ok(Self {
            slots,
            vacant: 0,
            len: 0,
            _buffers: PhantomData,
        })
    }

    /// Gives a buffer to the hardware.
    ///
    /// The cookie, and the DMA address that the buffer had, are to be written
    /// where the device finds them. If the table is full, the buffer comes back.
    #[inline]
    pub fn post(&mut self, buffer: Buffer<G, M>) -> Result<Cookie, Buffer<G, M>> {
        let index = self.vacant;
        let Some(slot) = self.slots.get_mut(index) else {
            return Err(buffer);
        };

        // INVARIANT: The first vacant slot leaves the list.
        self.vacant = slot.word >> 1;
        self.len += 1;

        let (page, offset) = buffer.into_raw().into_parts();

        slot.generation = slot.generation.wrapping_add(1);
        // INVARIANT: Pages are aligned to more than one byte.
        slot.word = page.as_ptr() as usize;
        slot.offset = offset;

        Ok(Cookie::new(index, slot.generation))
    }

    /// Takes back a buffer to which the device has written `len` bytes.
    ///
    /// The data is synchronised for the CPU. For that the pool of the buffer
    /// must still exist, so it has to be shown: the pool itself, or its
    /// consumer. A cookie that does not belong here, a length that the buffer
    /// does not have, and a buffer of another pool are refused; in the latter
    /// cases the buffer comes back.
    #[inline]
    pub fn complete(
        &mut self,
        pool: &impl Pool<G, M>,
        cookie: Cookie,
        len: usize,
    ) -> Result<Received<G, M>, Refused<Buffer<G, M>>>
    where
        M: Mapped,
    {
        let buffer = self.take_back(cookie).ok_or(Refused::Cookie)?;

        if buffer.pool() != pool.as_raw(Token) {
            return Err(Refused::Pool(buffer));
        }

        // SAFETY: The caller has a reference to the buffer's pool.
        unsafe { buffer.into_received(len) }.map_err(Refused::Length)
    }

    /// Takes back a buffer without its data.
    ///
    /// `None` if the cookie does not belong here.
    #[inline]
    pub fn take_back(&mut self, cookie: Cookie) -> Option<Buffer<G, M>> {
        let index = cookie.index();
        let slot = self.slots.get_mut(index)?;

        if slot.word & 1 != 0 || slot.generation != cookie.generation() {
            return None;
        }

        let page = NonNull::new(slot.word as *mut bindings::page)?;

        // INVARIANT: The slot becomes the first vacant one, and its buffer is
        // moved out.
        slot.word = vacant(self.vacant);
        self.vacant = index;
        self.len -= 1;

        // SAFETY: By the type invariant of `Slot`, which was not vacant, these
        // are the parts of a buffer that it owned.
        let raw = unsafe { RawBuffer::new(page, slot.offset) };

        // SAFETY: The slot has just given up the buffer.
        Some(unsafe { Buffer::from_raw(raw) })
    }

    /// Takes back all buffers, in no particular order.
    ///
    /// To be used when the device has been stopped. Buffers that are left when
    /// the iterator is dropped stay in the table.
    pub fn drain(&mut self) -> impl Iterator<Item = Buffer<G, M>> + '_ {
        (0..self.slots.len()).filter_map(|index| {
            let generation = self.slots.get(index)?.generation;

            self.take_back(Cookie::new(index, generation))
        })
    }

    /// The number of buffers that the hardware has.
    #[inline]
    #[expect(
        clippy::len_without_is_empty,
        reason = "nobody asks whether it is empty"
    )]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of buffers that the hardware can have.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }
}

impl<G: Geometry, M: Mapping> Drop for Posted<G, M> {
    fn drop(&mut self) {
        self.drain().for_each(drop);
    }
}

/// What a vacant slot holds.
#[inline]
fn vacant(next: usize) -> usize {
    next << 1 | 1
}
