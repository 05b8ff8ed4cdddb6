// SPDX-License-Identifier: GPL-2.0

//! Pools that are bound to a NAPI instance.

use super::super::*;
use crate::bh;

#[kunit_tests(rust_net_page_pool_napi)]
mod tests {
    use super::{
        super::harness::*,
        *, //
    };

    #[test]
    fn only_its_own_poll_consumes_a_bound_pool() -> Result {
        let netdev = TestNetdev::new()?;
        let other = TestNetdev::new()?;
        let mut pool = Params::new(64).create::<Page>()?;

        // Unbound, it does not matter where.
        assert!(bh::disabled(|cx| pool.consumer(cx).is_ok()));
        assert!(netdev.poll(|cx| pool.consumer(cx).is_ok())?);

        // SAFETY: The pool is not bound, and is dropped while the instance is disabled.
        unsafe { pool.enable_direct_recycling(netdev.napi()) };

        assert!(netdev.poll(|cx| pool.consumer(cx).is_ok())?);
        assert_eq!(other.poll(|cx| pool.consumer(cx).map(|_| ()))?, Err(EBUSY));
        assert_eq!(bh::disabled(|cx| pool.consumer(cx).map(|_| ())), Err(EBUSY));
        assert_eq!(pool.alloc().map(|_| ()), Err(EBUSY));

        netdev.while_disabled(|| drop(pool));

        Ok(())
    }

    #[cfg(CONFIG_SMP)]
    #[test]
    fn a_buffer_dropped_in_the_poll_goes_to_the_cache() -> Result {
        let netdev = TestNetdev::new()?;
        let mut pool = Params::new(64).create::<Page>()?;
        let in_poll = pool.alloc()?;
        let outside = pool.alloc()?;
        let elsewhere = pool.alloc()?;

        // SAFETY: The pool is not bound, and is dropped while the instance is disabled.
        unsafe { pool.enable_direct_recycling(netdev.napi()) };

        netdev.poll(|_| drop(in_poll))?;
        assert_eq!(pool.stats().recycle.cached, 1);
        assert_eq!(pool.stats().recycle.ring, 0);

        drop(outside);
        assert_eq!(pool.stats().recycle.cached, 1);
        assert_eq!(pool.stats().recycle.ring, 1);

        // Nor does it matter that bottom halves are disabled, or where.
        on_other_cpu(|| bh::disabled(|_| drop(elsewhere)))?;
        assert_eq!(pool.stats().recycle.cached, 1);
        assert_eq!(pool.stats().recycle.ring, 2);

        assert_eq!(pool.in_flight(), 0);
        netdev.while_disabled(|| drop(pool));

        Ok(())
    }

    #[test]
    fn many_dropped_in_the_poll_go_to_the_cache() -> Result {
        let netdev = TestNetdev::new()?;
        let mut pool = Params::new(64).create::<Page>()?;
        let buffers = alloc_many(&mut pool, REFILL as usize)?;

        // SAFETY: The pool is not bound, and is dropped while the instance is disabled.
        unsafe { pool.enable_direct_recycling(netdev.napi()) };

        netdev.poll(|_| Bulk::new().extend(buffers))?;
        assert_eq!(pool.stats().recycle.cached, REFILL);
        assert_eq!(pool.stats().recycle.ring, 0);
        assert_eq!(pool.in_flight(), 0);
        netdev.while_disabled(|| drop(pool));

        Ok(())
    }

    #[test]
    fn an_unbound_pool_is_not_recycled_to_directly() -> Result {
        let netdev = TestNetdev::new()?;
        let mut pool = Params::new(64).create::<Page>()?;
        let before = pool.alloc()?;
        let after = pool.alloc()?;

        netdev.poll(|_| drop(before))?;
        assert_eq!(pool.stats().recycle.ring, 1);

        // SAFETY: The pool is not bound, and is unbound while the instance is disabled.
        unsafe { pool.enable_direct_recycling(netdev.napi()) };
        netdev.while_disabled(|| {
            // SAFETY: The instance is disabled.
            unsafe { pool.disable_direct_recycling() }
        });

        netdev.poll(|_| drop(after))?;
        assert_eq!(pool.stats().recycle.ring, 2);
        assert_eq!(pool.stats().recycle.cached, 0);

        // It can be consumed anywhere again.
        assert!(pool.alloc().is_ok());

        Ok(())
    }

    #[test]
    fn a_pool_can_be_bound_from_the_start() -> Result {
        let netdev = TestNetdev::new()?;
        // SAFETY: The pool is dropped while the instance is disabled.
        let mut pool = unsafe { Params::new(64).napi(netdev.napi()) }.create::<Page>()?;

        let stats = netdev.poll(|cx| -> Result<Stats> {
            let mut consumer = pool.consumer(cx)?;
            let buffer = consumer.alloc()?;

            drop(buffer);
            Ok(pool.stats())
        })??;

        assert_eq!(stats.recycle.cached, 1);
        assert_eq!(stats.recycle.ring, 0);
        netdev.while_disabled(|| drop(pool));

        Ok(())
    }

    #[test]
    fn a_poll_runs_a_ring_without_the_page_allocator() -> Result {
        const RING_SIZE: usize = 32;
        const POLLS: u64 = 1_000;
        const BUDGET: u64 = 64;

        let netdev = TestNetdev::new()?;
        let dev = TestDevice::new()?;
        let mut pool = dev.create::<Page, FromDevice>(Params::new(RING_SIZE as u32))?;
        let mut ring = Posted::new(RING_SIZE)?;
        let mut cookies = KVec::with_capacity(RING_SIZE, GFP_KERNEL)?;

        for _ in 0..RING_SIZE {
            cookies.push(ring.post(pool.alloc()?).map_err(|_| ENOSPC)?, GFP_KERNEL)?;
        }
        drop(alloc_many(&mut pool, RING_SIZE)?);
        let before = pool.stats();

        // SAFETY: The pool is not bound, and is dropped while the instance is disabled.
        unsafe { pool.enable_direct_recycling(netdev.napi()) };

        for _ in 0..POLLS {
            netdev.poll(|cx| -> Result {
                let mut consumer = pool.consumer(cx)?;

                for packet in 0..BUDGET as usize {
                    let fresh = consumer.alloc()?;
                    let received = ring.complete(&consumer, cookies[packet % RING_SIZE], 64)?;

                    cookies[packet % RING_SIZE] = ring.post(fresh).map_err(|_| ENOSPC)?;
                    drop(received);
                }

                Ok(())
            })??;
        }

        let stats = pool.stats();
        assert_eq!(stats.alloc.slow, before.alloc.slow);
        assert_eq!(
            stats.alloc.fast + stats.alloc.refill,
            before.alloc.fast + before.alloc.refill + POLLS * BUDGET
        );
        assert_eq!(stats.recycle.cached, POLLS * BUDGET);
        assert_eq!(stats.recycle.ring, before.recycle.ring);
        assert_eq!(pool.in_flight() as usize, RING_SIZE);

        drop(ring);
        assert_eq!(pool.in_flight(), 0);
        netdev.while_disabled(|| drop(pool));

        Ok(())
    }
}
