// SPDX-License-Identifier: GPL-2.0

//! Pools that are dropped before their buffers.

use super::super::*;
use crate::bh;

#[kunit_tests(rust_net_page_pool_lifetime)]
mod tests {
    use super::{
        super::harness::*,
        *, //
    };
    use kernel::time::{
        delay::fsleep,
        Delta, //
    };

    #[test]
    fn a_pool_is_listed_while_it_exists() -> Result {
        let netdev = TestNetdev::new()?;
        assert!(!netdev.has_page_pools());

        // SAFETY: The device waits for the pool to go.
        let pool = unsafe { Params::new(64).queue(netdev.as_raw(), 3) }.create::<Page>()?;
        assert!(netdev.has_page_pools());

        // SAFETY: The pool is valid.
        let slow = unsafe { &(*pool.pool.as_ptr()).slow };
        assert_eq!(slow.netdev, netdev.as_raw().as_ptr());
        assert_eq!(slow.queue_idx, 3);

        drop(pool);
        assert!(!netdev.has_page_pools());

        Ok(())
    }

    #[test]
    fn a_pool_goes_when_its_last_buffer_is_back() -> Result {
        let netdev = TestNetdev::new()?;
        // SAFETY: The device waits for the pool to go.
        let mut pool = unsafe { Params::new(64).queue(netdev.as_raw(), 0) }.create::<Page>()?;
        let first = pool.alloc()?;
        let last = pool.alloc()?;

        drop(pool);
        assert!(netdev.has_page_pools());

        // Wherever they return, and after the kernel has looked at least once.
        drop(first);
        fsleep(Delta::from_millis(1_500));
        assert!(netdev.has_page_pools());

        drop(last);
        assert!(netdev.wait_for_page_pools());

        Ok(())
    }

    #[test]
    fn every_kind_of_buffer_outlives_its_pool() -> Result {
        let netdev = TestNetdev::new()?;
        let dev = TestDevice::new()?;

        // SAFETY: The device waits for the pool to go.
        let params = unsafe { Params::new(64).queue(netdev.as_raw(), 0) };
        let mut pool = dev.create::<Page, FromDevice>(params)?;
        let mut ring = Posted::new(4)?;
        let received = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        let received = ring.complete(&pool, received, 64)?;
        let _ = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        let released = pool.alloc()?;
        let mut bulk = Bulk::new();
        bulk.push(pool.alloc()?);
        let piece = bh::disabled(|cx| pool.consumer(cx)?.alloc_va(100).map_err(Error::from))?;

        drop(pool);
        // Not even the device is needed any more.
        drop(dev);

        drop(received);
        drop(ring);
        released.release();
        drop(bulk);
        assert!(netdev.has_page_pools());
        drop(piece);

        assert!(netdev.wait_for_page_pools());

        Ok(())
    }

    #[cfg(CONFIG_SMP)]
    #[test]
    fn a_pool_moves_between_cpus() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let mut ret = Err(ENODEV);

        drop(alloc_many(&mut pool, 10)?);
        on_other_cpu(|| ret = alloc_many(&mut pool, 10).map(drop))?;
        assert_eq!(ret, Ok(()));
        assert_eq!(pool.in_flight(), 0);
        on_other_cpu(move || drop(pool))?;

        Ok(())
    }
}
