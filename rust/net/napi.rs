// SPDX-License-Identifier: GPL-2.0

//! NAPI instances, and the proof of running inside a poll.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use kernel::types::{
    NotThreadSafe,
    Opaque, //
};

/// A NAPI instance.
///
/// Wraps `struct napi_struct`.
///
/// # Invariants
///
/// A `&Napi` refers to a `struct napi_struct` that was added to a net device.
#[repr(transparent)]
pub struct Napi(Opaque<net_bindings::napi_struct>);

// SAFETY: The fields of `struct napi_struct` that other CPUs use are accessed
// atomically or under the locks of the networking core.
unsafe impl Sync for Napi {}

impl Napi {
    /// Creates a reference from a raw pointer.
    ///
    /// # Safety
    ///
    /// `ptr` must point to a `struct napi_struct` that has been added to a net
    /// device and stays so for the life time `'a`.
    #[inline]
    pub unsafe fn from_raw<'a>(ptr: *mut net_bindings::napi_struct) -> &'a Self {
        // SAFETY: `Napi` is a transparent wrapper of `struct napi_struct`, and
        // the caller promises that the instance outlives `'a`.
        unsafe { &*ptr.cast() }
    }

    /// Returns the raw pointer.
    #[inline]
    pub fn as_raw(&self) -> *mut net_bindings::napi_struct {
        self.0.get()
    }
}

/// Proof of running inside the poll function of one NAPI instance.
///
/// Some operations are only free of races there, since the networking core
/// runs the poll of an instance on one CPU at a time. They take a reference to
/// this token, which a poll function is lent by the code that calls it.
///
/// # Invariants
///
/// While a `Context` exists, its CPU is inside the poll function of `napi`, with
/// a budget greater than 0, and the token stays on that CPU.
pub struct Context<'poll> {
    napi: &'poll Napi,
    _not_send: NotThreadSafe,
}

impl<'poll> Context<'poll> {
    /// Creates the token for a poll.
    ///
    /// # Safety
    ///
    /// - The caller must be inside the poll function of `napi`, called with a
    ///   budget greater than 0. With 0 it is netpoll that calls, on any CPU and
    ///   even in a hard interrupt, and nothing may be received.
    /// - The token must not outlive that call.
    #[inline]
    pub unsafe fn new(napi: &'poll Napi) -> Self {
        // INVARIANT: By the safety requirements of this function.
        Self {
            napi,
            _not_send: NotThreadSafe,
        }
    }

    /// Returns the instance that is being polled.
    #[inline]
    pub fn napi(&self) -> &'poll Napi {
        self.napi
    }
}
