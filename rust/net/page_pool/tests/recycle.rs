// SPDX-License-Identifier: GPL-2.0

//! Where returned buffers go.

use super::super::*;
use crate::bh;

#[kunit_tests(rust_net_page_pool_recycle)]
mod tests {
    use super::{
        super::harness::*,
        *, //
    };

    #[test]
    fn a_dropped_buffer_goes_to_the_ring() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;

        drop(pool.alloc()?);

        assert_eq!(
            pool.stats().recycle,
            RecycleStats {
                ring: 1,
                ..Default::default()
            }
        );
        assert_eq!(pool.in_ring(), 1);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn a_recycled_buffer_goes_to_the_cache() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;

        bh::disabled(|cx| -> Result {
            let mut consumer = pool.consumer(cx)?;
            let buffer = consumer.alloc()?;

            consumer.recycle(buffer);
            Ok(())
        })?;

        assert_eq!(
            pool.stats().recycle,
            RecycleStats {
                cached: 1,
                ..Default::default()
            }
        );
        assert_eq!(pool.cached(), pool.held());
        assert_eq!(pool.in_ring(), 0);

        Ok(())
    }

    #[test]
    fn a_full_cache_overflows_into_the_ring() -> Result {
        let mut pool = Params::new(512).create::<Page>()?;
        let count = 2 * CACHE_SIZE;
        let buffers = alloc_many(&mut pool, count as usize)?;
        let room = CACHE_SIZE - u64::from(pool.cached());

        bh::disabled(|cx| -> Result {
            let mut consumer = pool.consumer(cx)?;

            buffers
                .into_iter()
                .for_each(|buffer| consumer.recycle(buffer));
            Ok(())
        })?;

        let stats = pool.stats().recycle;
        assert_eq!(stats.cached, room);
        assert_eq!(stats.cache_full, count - room);
        assert_eq!(stats.ring, count - room);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn a_full_ring_overflows_into_the_page_allocator() -> Result {
        let mut pool = Params::new(16).create::<Page>()?;
        let buffers = alloc_many(&mut pool, 16 + REFILL as usize)?;

        drop(buffers);

        let stats = pool.stats().recycle;
        assert_eq!(stats.ring, 16);
        assert_eq!(stats.ring_full, REFILL);
        assert_eq!(pool.held(), 16 + pool.cached());
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn the_ring_refills_the_cache() -> Result {
        let mut pool = Params::new(256).create::<Page>()?;

        drop(alloc_many(&mut pool, REFILL as usize)?);
        let cached = u64::from(pool.cached());
        let before = pool.stats().alloc;

        // When the cache is empty, the next one comes by way of the ring and
        // brings the others.
        let buffers = alloc_many(&mut pool, REFILL as usize + cached as usize)?;
        let stats = pool.stats().alloc;
        assert_eq!(stats.refill, before.refill + 1);
        assert_eq!(stats.fast, before.fast + cached + REFILL - 1);
        assert_eq!(stats.slow, before.slow);
        assert_eq!(stats.waive, 0);
        assert_eq!(pool.in_flight(), pool.held());

        drop(buffers);

        Ok(())
    }

    #[test]
    fn many_are_returned_at_once() -> Result {
        let mut pool = Params::new(256).create::<Page>()?;
        let mut other = Params::new(256).create::<Page>()?;
        let mut bulk = Bulk::new();

        // Not a multiple of what is collected, and of two pools in turn.
        for _ in 0..21 {
            bulk.push(pool.alloc()?);
            bulk.push(other.alloc()?);
        }
        assert!(pool.in_flight() + other.in_flight() > 0);
        drop(bulk);

        assert_eq!(pool.stats().recycle.ring, 21);
        assert_eq!(other.stats().recycle.ring, 21);
        assert_eq!(pool.in_flight(), 0);
        assert_eq!(other.in_flight(), 0);

        // Flushing nothing does nothing, and the collection can be used again.
        let mut bulk = Bulk::<Page, Unmapped>::new();
        bulk.flush();
        bulk.extend(alloc_many(&mut pool, 3)?);
        assert_eq!(pool.in_flight(), 3);
        bulk.flush();
        assert_eq!(pool.in_flight(), 0);
        assert_eq!(pool.stats().recycle.ring, 24);

        Ok(())
    }

    #[test]
    fn many_at_once_overflow_a_full_ring() -> Result {
        let mut pool = Params::new(16).create::<Page>()?;
        let mut bulk = Bulk::new();

        bulk.extend(alloc_many(&mut pool, 40)?);
        drop(bulk);

        assert_eq!(pool.stats().recycle.ring, 16);
        // A full ring is counted once for all that were returned together.
        assert_eq!(pool.stats().recycle.ring_full, 2);
        assert_eq!(pool.in_ring(), 16);
        assert_eq!(pool.held(), 16 + pool.cached());

        Ok(())
    }

    #[test]
    fn fragments_are_returned_at_once_too() -> Result {
        let mut pool = Params::new(64).create::<Half>()?;
        let mut bulk = Bulk::new();

        bulk.extend(alloc_many(&mut pool, 20)?);
        drop(bulk);

        // The pool keeps the tenth page, to give out more of it.
        assert_eq!(pool.stats().recycle.ring, 9);
        assert_eq!(pool.in_flight(), 1);

        Ok(())
    }

    #[test]
    fn a_buffer_of_another_pool_goes_home() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let mut other = Params::new(64).create::<Page>()?;
        let foreign = other.alloc()?;
        let cached = other.cached();

        bh::disabled(|cx| -> Result {
            pool.consumer(cx)?.recycle(foreign);
            Ok(())
        })?;

        assert_eq!(pool.stats().recycle, RecycleStats::default());
        assert_eq!(pool.cached(), 0);
        assert_eq!(other.stats().recycle.ring, 1);
        assert_eq!(other.cached(), cached);
        assert_eq!(other.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn a_released_page_is_freed() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let buffer = pool.alloc()?;
        let held = pool.held();

        buffer.release();

        assert_eq!(
            pool.stats().recycle,
            RecycleStats {
                released_refcnt: 1,
                ..Default::default()
            }
        );
        assert_eq!(pool.held(), held - 1);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[cfg(CONFIG_SMP)]
    #[test]
    fn another_cpu_returns_to_the_ring() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let buffers = alloc_many(&mut pool, 10)?;
        let cached = pool.cached();

        on_other_cpu(move || drop(buffers))?;

        assert_eq!(pool.stats().recycle.ring, 10);
        assert_eq!(pool.cached(), cached);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn a_million_cycles_lose_nothing() -> Result {
        const CYCLES: u64 = 1_000_000;
        const BATCH: u64 = 1_000;

        // The ring clears what was taken out of it many entries at a time, so
        // it must be larger than the number of pages not to overflow.
        let mut pool = Params::new(2 * REFILL as u32).create::<Page>()?;

        // As many pages as are ever needed.
        drop(alloc_many(&mut pool, REFILL as usize)?);
        let warm = pool.stats();

        // One of three is dropped, the others are recycled; the page that is
        // out meanwhile makes them take turns.
        for _ in 0..CYCLES / BATCH {
            bh::disabled(|cx| -> Result {
                let mut consumer = pool.consumer(cx)?;
                let mut before = consumer.alloc()?;

                for i in 1..BATCH {
                    let buffer = core::mem::replace(&mut before, consumer.alloc()?);

                    if i % 3 == 0 {
                        drop(buffer);
                    } else {
                        consumer.recycle(buffer);
                    }
                }

                consumer.recycle(before);
                Ok(())
            })?;
        }

        let stats = pool.stats();
        let dropped = CYCLES / BATCH * ((BATCH - 1) / 3);

        assert_eq!(
            stats.alloc.fast + stats.alloc.refill,
            warm.alloc.fast + warm.alloc.refill + CYCLES
        );
        assert_eq!(stats.recycle.ring, warm.recycle.ring + dropped);
        assert_eq!(stats.recycle.cached, CYCLES - dropped);
        assert_eq!(stats.recycle.cache_full, 0);
        assert_eq!(stats.recycle.ring_full, 0);
        assert_eq!(stats.recycle.released_refcnt, 0);
        assert_eq!(stats.alloc.slow, warm.alloc.slow);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }
}
