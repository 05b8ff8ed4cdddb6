// SPDX-License-Identifier: GPL-2.0

//! Counters of a page pool.

/// Where allocations came from, and where returned pages went.
///
/// All values count since the pool was created. A page that comes back one by
/// one is counted in one of the fields of `recycle` (and in `cache_full` as well,
/// if it was meant for the cache and did not fit). Of those that come back
/// together and do not fit into the ring, only the first is counted. Fragments
/// are counted when the last one of a page comes back; a page that the pool
/// itself goes on to split counts as `cached`, and as `fast` on its way out. What
/// is freed because of another NUMA node, or with the pool, is not counted.
///
/// Wraps `struct page_pool_stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Where allocations came from.
    pub alloc: AllocStats,
    /// Where returned pages went.
    pub recycle: RecycleStats,
}

/// Where allocations came from.
///
/// Wraps `struct page_pool_alloc_stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocStats {
    /// From the cache.
    pub fast: u64,
    /// From the page allocator, order 0. It is asked for many pages at a time;
    /// the others go to the cache and count as `fast` later.
    pub slow: u64,
    /// From the page allocator, of a higher order.
    pub slow_high_order: u64,
    /// Times that cache and ring were both empty, so that the page allocator
    /// had to be asked.
    pub empty: u64,
    /// From the ring, with the cache filled on the way.
    pub refill: u64,
    /// Pages of the ring that were freed, because they are on another NUMA node.
    pub waive: u64,
}

/// Where returned pages went.
///
/// Wraps `struct page_pool_recycle_stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecycleStats {
    /// To the cache.
    pub cached: u64,
    /// Direct returns that found the cache full.
    pub cache_full: u64,
    /// To the ring.
    pub ring: u64,
    /// Times that the ring was full, so that pages went to the page allocator.
    pub ring_full: u64,
    /// To the page allocator, because somebody else held the page, or because it
    /// is one of the emergency reserve.
    pub released_refcnt: u64,
}

impl From<net_bindings::page_pool_stats> for Stats {
    fn from(raw: net_bindings::page_pool_stats) -> Self {
        let alloc = raw.alloc_stats;
        let recycle = raw.recycle_stats;

        Self {
            alloc: AllocStats {
                fast: alloc.fast,
                slow: alloc.slow,
                slow_high_order: alloc.slow_high_order,
                empty: alloc.empty,
                refill: alloc.refill,
                waive: alloc.waive,
            },
            recycle: RecycleStats {
                cached: recycle.cached,
                cache_full: recycle.cache_full,
                ring: recycle.ring,
                ring_full: recycle.ring_full,
                released_refcnt: recycle.released_refcnt,
            },
        }
    }
}
