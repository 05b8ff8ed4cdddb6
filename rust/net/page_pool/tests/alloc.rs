// SPDX-License-Identifier: GPL-2.0

//! Creation and allocation.

use super::super::*;
use crate::bh;
use kernel::alloc::AllocError;

#[kunit_tests(rust_net_page_pool_alloc)]
mod tests {
    use super::{
        super::harness::*,
        *, //
    };

    #[test]
    fn a_new_pool_has_counted_nothing() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;

        assert_eq!(pool.stats(), Stats::default());
        assert_eq!(pool.held(), 0);

        Ok(())
    }

    #[test]
    fn wrong_parameters_are_refused() {
        assert_eq!(
            Params::new(64).node(u32::MAX).create::<Page>().err(),
            Some(EINVAL)
        );
        assert_eq!(
            Params::new(64).node(1 << 20).create::<Page>().err(),
            Some(EINVAL)
        );
        // More than the page allocator has, whatever the page size.
        assert_eq!(
            Params::new(64).create::<FullPage<64, 1600, 14>>().err(),
            Some(EINVAL)
        );
        assert!(Params::new(64).node(0).create::<Page>().is_ok());
        // More than the kernel allows, which it takes as what it allows.
        assert!(Params::new(u32::MAX).create::<Page>().is_ok());
    }

    #[test]
    fn geometry_follows_from_the_type() {
        let shared_info = size_of::<bindings::skb_shared_info>();
        let line = net_bindings::L1_CACHE_BYTES as usize;

        assert_eq!(SHARED_INFO_SIZE, shared_info.next_multiple_of(line));

        assert_eq!(Page::FRAME_SIZE, PAGE_SIZE);
        assert_eq!(Page::ALLOC_SIZE, PAGE_SIZE);
        assert_eq!(Page::TAILROOM, PAGE_SIZE - 64 - 1600);
        assert!(!Page::FRAGMENTED);

        assert_eq!(Half::FRAME_SIZE, PAGE_SIZE / 2);
        assert_eq!(Half::ALLOC_SIZE, PAGE_SIZE);
        assert!(Half::FRAGMENTED);

        assert_eq!(FullPage::<64, 1600, 2>::FRAME_SIZE, 4 * PAGE_SIZE);

        // A whole page costs no memory to say where in it the frame is.
        assert_eq!(size_of::<Buffer<Page, Unmapped>>(), size_of::<usize>());
        // Nor does an allocation that may fail.
        assert_eq!(
            size_of::<Result<Buffer<Page, Unmapped>, AllocError>>(),
            size_of::<usize>()
        );
    }

    #[test]
    fn what_the_page_allocator_gives_is_used_up_first() -> Result {
        let mut pool = Params::new(256).create::<Page>()?;
        let first = pool.alloc()?;

        // The page allocator is asked for many at a time, and may give less.
        let cached = u64::from(pool.cached());
        assert!(cached < REFILL);
        assert_eq!(u64::from(pool.held()), cached + 1);

        let buffers = alloc_many(&mut pool, cached as usize + 1)?;
        let stats = pool.stats().alloc;
        assert_eq!(stats.fast, cached);
        assert_eq!(stats.slow, 2);
        assert_eq!(stats.empty, 2);
        assert_eq!(stats.slow_high_order, 0);
        assert_eq!(u64::from(pool.in_flight()), cached + 2);

        drop(first);

        drop(buffers);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn high_orders_are_allocated_one_by_one() -> Result {
        let mut pool = Params::new(64).create::<FullPage<64, 9000, 2>>()?;
        let buffers = alloc_many(&mut pool, 3)?;

        assert_eq!(pool.stats().alloc.slow_high_order, 3);
        assert_eq!(pool.stats().alloc.slow, 0);
        assert_eq!(pool.held(), 3);

        drop(buffers);
        assert_eq!(pool.stats().recycle.ring, 3);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn fragments_share_a_page() -> Result {
        let mut pool = Params::new(64).create::<Half>()?;
        let first = pool.alloc()?;
        let second = pool.alloc()?;
        let third = pool.alloc()?;

        let (page, start) = (page_of(&first), offset_of(&first));
        assert_eq!(page, page_of(&second));
        assert_eq!(offset_of(&second) - start, PAGE_SIZE / 2);
        assert!(page != page_of(&third));

        // Each is a frame of its own, wherever the page is.
        assert_eq!(data_of(&second) - data_of(&first), PAGE_SIZE / 2);
        assert_eq!(data_of(&first) % PAGE_SIZE, 64);

        // A page comes back with the last of its fragments.
        drop(first);
        assert_eq!(pool.stats().recycle.ring, 0);
        drop(second);
        assert_eq!(pool.stats().recycle.ring, 1);

        // The pool itself holds on to a page that it can still give pieces of.
        drop(third);
        assert_eq!(pool.stats().recycle.ring, 1);
        assert_eq!(pool.in_flight(), 1);

        Ok(())
    }

    #[test]
    fn memory_of_any_size_can_be_had() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;

        bh::disabled(|cx| -> Result {
            let mut consumer = pool.consumer(cx)?;

            let mut small = consumer.alloc_va(100)?;
            let mut other = consumer.alloc_va(100)?;
            assert_eq!(small.len() % net_bindings::L1_CACHE_BYTES as usize, 0);
            assert!(small.len() >= 100);
            small[99].write(1);
            other[0].write(2);

            let small_at = small.as_ptr() as usize;
            let other_at = other.as_ptr() as usize;
            assert!(other_at >= small_at + small.len());
            assert_eq!(small_at / PAGE_SIZE, other_at / PAGE_SIZE);

            // More than half a page leaves no room for another piece.
            let large = consumer.alloc_va(PAGE_SIZE / 2 + 1)?;
            assert_eq!(large.len(), PAGE_SIZE);
            assert_eq!(consumer.alloc_va(PAGE_SIZE)?.len(), PAGE_SIZE);

            assert!(consumer.alloc_va(0).is_err());
            assert!(consumer.alloc_va(PAGE_SIZE + 1).is_err());
            assert!(consumer.alloc_va(usize::MAX).is_err());

            Ok(())
        })?;

        // The page of the small pieces is still the pool's current one.
        assert_eq!(pool.in_flight(), 1);
        assert_eq!(pool.stats().recycle.ring, 2);

        Ok(())
    }

    fn page_of(buffer: &Buffer<Half, Unmapped>) -> usize {
        buffer.as_raw().into_parts().0.as_ptr() as usize
    }

    fn offset_of(buffer: &Buffer<Half, Unmapped>) -> usize {
        buffer.as_raw().into_parts().1 as usize
    }

    fn data_of(buffer: &Buffer<Half, Unmapped>) -> usize {
        buffer.as_raw().data().as_ptr() as usize
    }
}
