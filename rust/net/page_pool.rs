// SPDX-License-Identifier: GPL-2.0

//! Pools of receive pages that are recycled instead of freed.
//!
//! A page that a pool has allocated, and mapped for DMA, serves packet after
//! packet. A driver gets it from the pool, gives it to the hardware, receives a
//! packet in it and passes it to the stack or drops it; sooner or later it is
//! returned to the pool, and its next packet costs neither an allocation nor a
//! mapping.
//!
//! # Ownership
//!
//! The state of a buffer is its type, and each step consumes the old value:
//!
//! ```text
//! PagePool --alloc--> Buffer --post--> (in Posted, only its Cookie is outside)
//!    ^                 ^  |                  |
//!    |                 |  |                  | complete
//!    |<----- drop -----+--+                  v
//!    |                 +---- take_back --+
//!    |<----- drop / recycle ------------ Received
//! ```
//!
//! # Where pages come from and where they go
//!
//! A pool has three sources. They are tried in this order:
//!
//! 1. The *cache*, an array without any lock. It belongs to the one who
//!    allocates, the *consumer*.
//! 2. The *ring*, into which any CPU can return pages. The consumer moves them
//!    to the cache, many at a time.
//! 3. The page allocator. This is slow, and in steady state does not happen.
//!
//! Returned pages go:
//!
//! - to the cache, if the consumer itself returns them by
//!   [`Consumer::recycle`], which needs the proof of being in the consumer's
//!   context;
//! - to the cache as well, if they are simply dropped in softirq context on the
//!   CPU on which the NAPI instance that the pool is bound to is scheduled
//!   ([`PagePool::enable_direct_recycling`]). The kernel checks this at run
//!   time. It is what makes the pages of dropped socket buffers cheap. It does
//!   not happen with threaded NAPI, in busy polling, or on `PREEMPT_RT`;
//! - else to the ring, or to the page allocator if the ring is full.
//!
//! Pages of another NUMA node, pages from emergency reserves and pages that
//! somebody else still holds are freed instead.
//!
//! # Life time
//!
//! Buffers do not borrow the pool. A pool may be dropped while its buffers are
//! with the hardware or in the stack: their mappings are undone at once (on
//! architectures that leave no room in `struct page` to keep account of them,
//! page by page as they come back), and the kernel frees the pool when the last
//! page has come back. Data of a buffer cannot be received any more once its
//! pool is gone.
//!
//! C headers: [`include/net/page_pool/types.h`](srctree/include/net/page_pool/types.h),
//! [`include/net/page_pool/helpers.h`](srctree/include/net/page_pool/helpers.h)

mod buffer;
mod bulk;
mod consumer;
mod geometry;
mod mapping;
mod posted;
#[cfg(CONFIG_PAGE_POOL_STATS)]
mod stats;
mod va;

#[cfg(all(CONFIG_KUNIT = "y", CONFIG_PAGE_POOL_STATS))]
mod tests;

pub use self::{
    buffer::{
        Buffer,
        Owned,
        Received, //
    },
    bulk::Bulk,
    consumer::{
        Consumer,
        Context,
        Pool, //
    },
    geometry::{
        Fragment,
        FullPage,
        Geometry,
        Offset,
        SHARED_INFO_SIZE, //
    },
    mapping::{
        Bidirectional,
        FromDevice,
        Mapped,
        Mapping,
        Unmapped, //
    },
    posted::{
        Cookie,
        Posted,
        Refused, //
    },
    va::VaBuffer,
};

#[cfg(CONFIG_PAGE_POOL_STATS)]
pub use self::stats::{
    AllocStats,
    RecycleStats,
    Stats, //
};

use crate::napi::Napi;
use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    bindings,
    device::{
        Bound,
        Device, //
    },
    error::from_err_ptr,
    prelude::*,
    sync::aref::ARef, //
};

/// What the kernel must be told to create a pool.
///
/// # Examples
///
/// ```
/// type Rx = FullPage<64, 1600>;
///
/// let mut pool = Params::new(1024).create::<Rx>()?;
/// ```
#[must_use]
pub struct Params {
    pool_size: u32,
    nid: Option<u32>,
    netdev: *mut bindings::net_device,
    queue: u32,
    napi: *mut net_bindings::napi_struct,
}

impl Params {
    /// Starts with the size of the pool's ring: as many pages as the receive
    /// queue has descriptors.
    ///
    /// 0 stands for 1024. The kernel allows at most 16384, and takes that if it
    /// is asked for more.
    pub const fn new(pool_size: u32) -> Self {
        Self {
            pool_size,
            nid: None,
            netdev: ptr::null_mut(),
            queue: 0,
            napi: ptr::null_mut(),
        }
    }

    /// Allocates pages on a NUMA node, instead of the one that the consumer
    /// runs on.
    ///
    /// Creation fails with `EINVAL` if there is no such node.
    pub const fn node(mut self, nid: u32) -> Self {
        self.nid = Some(nid);
        self
    }

    /// Shows the pool as one of a net device's receive queue, in the netlink
    /// family `netdev` (`page-pool-get`, `page-pool-stats-get`).
    ///
    /// # Safety
    ///
    /// `netdev` must be valid. It must stay so until the kernel has freed the
    /// pool, which it does some time after the last page has been returned, or
    /// until the device has been unregistered after the pool was created.
    pub const unsafe fn queue(mut self, netdev: NonNull<bindings::net_device>, queue: u32) -> Self {
        self.netdev = netdev.as_ptr();
        self.queue = queue;
        self
    }

    /// Binds the pool to the NAPI instance that consumes it, from the start.
    /// See [`PagePool::enable_direct_recycling`].
    ///
    /// # Safety
    ///
    /// Those of [`PagePool::enable_direct_recycling`].
    pub unsafe fn napi(mut self, napi: &Napi) -> Self {
        self.napi = napi.as_raw();
        self
    }

    /// Creates a pool whose buffers are not mapped for DMA.
    ///
    /// May sleep. Fails with `ENOMEM` if there is no memory, with `EINVAL` if a
    /// parameter is out of range.
    pub fn create<G: Geometry>(self) -> Result<PagePool<'static, G, Unmapped>> {
        self.create_raw(None)
    }

    /// Creates a pool that maps its pages for `dev`.
    ///
    /// May sleep. Fails with `ENOMEM` if there is no memory, with `EINVAL` if a
    /// parameter is out of range.
    ///
    /// # Safety
    ///
    /// The pool must be dropped before `dev` is unbound from its driver. That
    /// is a matter of not leaking it: the life time forbids the rest.
    pub unsafe fn create_mapped<'dev, G: Geometry, M: Mapped>(
        self,
        dev: &'dev Device<Bound>,
    ) -> Result<PagePool<'dev, G, M>> {
        self.create_raw(Some(dev))
    }

    fn create_raw<'dev, G: Geometry, M: Mapping>(
        self,
        dev: Option<&'dev Device<Bound>>,
    ) -> Result<PagePool<'dev, G, M>> {
        const { G::CHECK };

        let nid = match self.nid {
            Some(nid) => online_node(nid).ok_or(EINVAL)?,
            None => bindings::NUMA_NO_NODE,
        };

        let mut params = net_bindings::page_pool_params::default();

        // SAFETY: Both variants of this union have the same layout.
        let fast = unsafe { &mut params.__bindgen_anon_1.fast };
        fast.order = G::ORDER;
        fast.pool_size = self.pool_size;
        fast.nid = nid;
        fast.dev = dev.map_or(ptr::null_mut(), |dev| ptr::from_ref(dev).cast_mut().cast());
        fast.napi = self.napi;
        fast.dma_dir = M::DIRECTION;
        if G::FRAGMENTED {
            // Offset and length count from the start of the page, for all its
            // frames alike.
            fast.offset = 0;
            fast.max_len = G::ALLOC_SIZE as u32;
        } else {
            fast.offset = G::HEADROOM as u32;
            fast.max_len = G::LEN as u32;
        }

        // SAFETY: Both variants of this union have the same layout.
        let slow = unsafe { &mut params.__bindgen_anon_2.slow };
        slow.netdev = self.netdev;
        slow.queue_idx = self.queue;
        slow.flags = M::FLAGS;

        // SAFETY: The parameters are valid: the device is bound, and the caller
        // of `queue()` and `napi()` vouched for what was given there.
        let ptr = from_err_ptr(unsafe { net_bindings::page_pool_create(&params) })?;

        // INVARIANT: The pool is new, so nobody else consumes it.
        Ok(PagePool {
            // SAFETY: C returns a pool or an error, not null.
            pool: unsafe { NonNull::new_unchecked(ptr) },
            dev: ManuallyDrop::new(dev.map(|dev| {
                let dev: &Device = dev;

                dev.into()
            })),
            _types: PhantomData,
        })
    }
}

/// A page pool, and the right to allocate from it.
///
/// Wraps `struct page_pool`.
///
/// Allocations and direct returns need a [`Consumer`], of which there is one at
/// a time. A pool belongs to one receive queue; it can be moved, but not
/// shared.
///
/// Dropping it may sleep.
///
/// # Invariants
///
/// - `pool` is a valid pool of geometry `G` and mapping `M` that this value has
///   not destroyed.
/// - Its cache is used only through this value, except that the kernel uses it
///   in softirq context on the CPU that the NAPI instance which the pool is bound
///   to is scheduled on.
pub struct PagePool<'dev, G: Geometry, M: Mapping = Unmapped> {
    pool: NonNull<net_bindings::page_pool>,
    /// The device that pages are mapped for.
    dev: ManuallyDrop<Option<ARef<Device>>>,
    _types: PhantomData<(&'dev Device<Bound>, G, M)>,
}

// SAFETY: The pool does not care on which CPU it is used, as long as it is used
// on one at a time.
unsafe impl<G: Geometry, M: Mapping> Send for PagePool<'_, G, M> {}

// SAFETY: A shared reference only allows to read statistics, which C reads
// without any lock.
unsafe impl<G: Geometry, M: Mapping> Sync for PagePool<'_, G, M> {}

impl<G: Geometry, M: Mapping> PagePool<'_, G, M> {
    /// The NAPI instance that the pool is bound to.
    #[inline]
    fn napi(&self) -> *mut net_bindings::napi_struct {
        // SAFETY: By the type invariant the pool is valid, and nobody else
        // writes this field.
        unsafe { (*self.pool.as_ptr()).p.napi }
    }

    /// Starts to consume the pool: to allocate, and to recycle directly.
    ///
    /// `cx` is the proof of being where that is free of races: inside the poll
    /// of the NAPI instance that the pool is bound to ([`napi::Context`](crate::napi::Context)). A
    /// pool that is bound to none can be consumed in any poll, and with bottom
    /// halves disabled ([`bh::Context`](crate::bh::Context)).
    ///
    /// Fails with `EBUSY` if the pool is bound to another instance.
    #[inline]
    pub fn consumer<'a, C: Context>(&'a mut self, cx: &'a C) -> Result<Consumer<'a, G, M>> {
        let napi = self.napi();

        if !napi.is_null() && napi != cx.napi() {
            return Err(EBUSY);
        }

        // SAFETY: Nobody else has the pool. If it is bound, we are in the poll
        // of its instance, and so on the CPU and in the context in which alone
        // the kernel uses the cache.
        Ok(unsafe { Consumer::new(self.pool) })
    }

    /// Allocates a buffer in process context, such as to fill a ring before the
    /// queue is started.
    ///
    /// May sleep. Fails with `ENOMEM` if there is no memory, with `EBUSY` if the
    /// pool is bound to a NAPI instance, which may be consuming it.
    pub fn alloc(&mut self) -> Result<Buffer<G, M>> {
        if !self.napi().is_null() {
            return Err(EBUSY);
        }

        // SAFETY: By the type invariant, and since the pool is not bound, the
        // cache is ours.
        Ok(unsafe { consumer::alloc(self.pool, bindings::GFP_KERNEL) }?)
    }

    /// Binds the pool to the NAPI instance that consumes it.
    ///
    /// From then on buffers that are dropped on the CPU that polls the instance
    /// go to the cache instead of the ring, wherever they are dropped, such as
    /// with a socket buffer. And [`Self::consumer`] accepts no other context.
    ///
    /// May sleep.
    ///
    /// C: `page_pool_enable_direct_recycling()`.
    ///
    /// # Safety
    ///
    /// - The pool must not be bound to another instance.
    /// - The instance must stay valid until the pool has been dropped, or
    ///   [`Self::disable_direct_recycling`] has returned. One of these must
    ///   happen: the pool must not be leaked.
    /// - When the pool is dropped the instance must be disabled. So a unique
    ///   reference to a bound pool must not be lent to code that could replace
    ///   the pool; what a poll function needs is a [`Consumer`].
    pub unsafe fn enable_direct_recycling(&mut self, napi: &Napi) {
        // SAFETY: By the type invariant the pool is valid, and by the safety
        // requirements of this function the instance is.
        unsafe {
            net_bindings::page_pool_enable_direct_recycling(self.pool.as_ptr(), napi.as_raw())
        };
    }

    /// Unbinds the pool from its NAPI instance.
    ///
    /// May sleep.
    ///
    /// C: `page_pool_disable_direct_recycling()`.
    ///
    /// # Safety
    ///
    /// The instance must be disabled.
    pub unsafe fn disable_direct_recycling(&mut self) {
        // SAFETY: By the type invariant the pool is valid.
        unsafe { net_bindings::page_pool_disable_direct_recycling(self.pool.as_ptr()) };
    }

    /// The number of pages that are out of the pool.
    ///
    /// Exact if none is being returned meanwhile. Takes time in proportion to
    /// the size of the ring.
    ///
    /// C: `page_pool_inflight()`, which counts the pages in cache and ring too.
    pub fn in_flight(&mut self) -> u32 {
        let pool = self.pool.as_ptr();

        // SAFETY: By the type invariant the pool is valid, and nobody else
        // allocates.
        let hold = unsafe { (*pool).pages_state_hold_cnt };
        // SAFETY: By the type invariant the pool is valid.
        let released = unsafe { &raw const (*pool).pages_state_release_cnt.counter };
        // SAFETY: As above. Others change this number meanwhile.
        let released = unsafe { released.read_volatile() };

        hold.wrapping_sub(released as u32)
            .saturating_sub(self.cached() + self.in_ring())
    }

    /// Pages in the cache.
    fn cached(&mut self) -> u32 {
        // SAFETY: By the type invariant the pool is valid.
        let count = unsafe { &raw const (*self.pool.as_ptr()).alloc.count };

        // SAFETY: As above. A softirq may change this number meanwhile.
        unsafe { count.read_volatile() }
    }

    /// Pages in the ring.
    fn in_ring(&mut self) -> u32 {
        // SAFETY: By the type invariant the pool is valid.
        let ring = unsafe { &raw const (*self.pool.as_ptr()).ring };
        // SAFETY: As above. This never changes.
        let size = unsafe { (*ring).size };
        // SAFETY: As above. This never changes.
        let queue = unsafe { (*ring).queue };
        // SAFETY: As above. Only the consumer changes this.
        let tail = unsafe { (*ring).consumer_tail };
        // SAFETY: As above. Only the consumer changes this.
        let head = unsafe { (*ring).consumer_head };

        // What has been taken out is cleared later, many entries at a time.
        let stale = tail..head;

        (0..size)
            .filter(|i| !stale.contains(i))
            .map(|i| queue.wrapping_add(i as usize))
            // SAFETY: The ring has this many entries. Others fill them meanwhile.
            .filter(|&entry| unsafe { !entry.read_volatile().is_null() })
            .count() as u32
    }

    /// Returns the counters of the pool.
    ///
    /// They are exact when the pool is not in use. Needs
    /// `CONFIG_PAGE_POOL_STATS`.
    ///
    /// C: `page_pool_get_stats()`.
    #[cfg(CONFIG_PAGE_POOL_STATS)]
    pub fn stats(&self) -> Stats {
        let mut raw = net_bindings::page_pool_stats::default();

        // SAFETY: By the type invariant the pool is valid.
        unsafe { net_bindings::page_pool_get_stats(self.pool.as_ptr(), &mut raw) };

        raw.into()
    }
}

impl<G: Geometry, M: Mapping> Drop for PagePool<'_, G, M> {
    fn drop(&mut self) {
        // Where C cannot keep account of the mappings it undoes each when its
        // page comes back, and then needs the device.
        // SAFETY: This function has no precondition.
        let tracked = unsafe { net_bindings::page_pool_tracks_mappings() };
        let device_needed = !tracked && self.in_flight() != 0;

        // SAFETY: By the type invariant this destroys the pool for the first
        // time. Pages that are still out keep it alive.
        unsafe { net_bindings::page_pool_destroy(self.pool.as_ptr()) };

        if !device_needed {
            // SAFETY: This value is being dropped, and C is done with the
            // device.
            unsafe { ManuallyDrop::drop(&mut self.dev) };
        }
    }
}

/// Returns a node as C counts them, if memory can be allocated there.
fn online_node(nid: u32) -> Option<c_int> {
    let nid = c_int::try_from(nid).ok()?;

    // SAFETY: This function takes any number.
    unsafe { net_bindings::node_online(nid) }.then_some(nid)
}
