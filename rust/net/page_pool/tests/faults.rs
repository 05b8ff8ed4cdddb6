// SPDX-License-Identifier: GPL-2.0

//! Allocations that fail.

use super::super::*;
use crate::bh;

#[kunit_tests(rust_net_page_pool_faults)]
mod tests {
    use super::{
        super::harness::*,
        *, //
    };

    #[test]
    fn creation_survives_each_failure() -> Result {
        let dev = TestDevice::new()?;
        let mut failures = 0;

        for n in 1.. {
            let (pool, failed) = fault::nth(n, || dev.create::<Page, FromDevice>(Params::new(64)));

            if !failed {
                assert!(pool.is_ok());
                break;
            }

            // The kernel may have found another way; if not, this is the reason.
            match pool {
                Ok(_) => (),
                Err(err) => {
                    assert_eq!(err, ENOMEM);
                    failures += 1;
                }
            }
        }

        assert!(failures > 0);

        Ok(())
    }

    #[test]
    fn a_table_needs_memory() {
        assert_eq!(
            fault::all(|| Posted::<Page, Unmapped>::new(64)).err(),
            Some(ENOMEM)
        );
        assert!(Posted::<Page, Unmapped>::new(64).is_ok_and(|ring| ring.capacity() == 64));
    }

    #[test]
    fn an_exhausted_pool_recovers() -> Result {
        let mut pool = Params::new(256).create::<Page>()?;
        let mut buffers = KVVec::with_capacity(256, GFP_KERNEL)?;

        // Some in the cache, some in the ring, one out.
        buffers.push(pool.alloc()?, GFP_KERNEL)?;
        drop(alloc_many(&mut pool, 10)?);
        let held = pool.held();

        let err = fault::all(|| loop {
            match pool.alloc() {
                Ok(buffer) => {
                    if let Err(err) = buffers.push_within_capacity(buffer) {
                        break Error::from(err);
                    }
                }
                Err(err) => break err,
            }
        });

        assert_eq!(err, ENOMEM);
        assert_eq!(buffers.len() as u32, held);
        assert_eq!(pool.in_flight(), held);

        // One that comes back can be had again, without any memory.
        drop(buffers.pop());
        let buffer = fault::all(|| pool.alloc())?;
        assert_eq!(pool.stats().alloc.slow, 1);

        drop(buffer);
        drop(buffers);
        assert_eq!(pool.in_flight(), 0);
        assert_eq!(pool.held(), held);
        assert!(pool.alloc().is_ok());

        Ok(())
    }

    #[test]
    fn every_way_to_allocate_can_fail() -> Result {
        let mut pages = Params::new(64).create::<Page>()?;
        let mut halves = Params::new(64).create::<Half>()?;
        let mut jumbos = Params::new(64).create::<FullPage<64, 9000, 2>>()?;

        assert_eq!(fault::all(|| halves.alloc().map(|_| ())), Err(ENOMEM));
        assert_eq!(fault::all(|| jumbos.alloc().map(|_| ())), Err(ENOMEM));
        bh::disabled(|cx| -> Result {
            let mut consumer = pages.consumer(cx)?;

            assert!(fault::all(|| consumer.alloc().is_err()));
            assert!(fault::all(|| consumer.alloc_va(100).is_err()));
            assert!(fault::all(|| consumer.alloc_va(4000).is_err()));
            Ok(())
        })?;

        assert_eq!(pages.held(), 0);
        assert_eq!(halves.held(), 0);
        assert_eq!(jumbos.held(), 0);

        // And succeed after that.
        assert!(halves.alloc().is_ok());
        assert!(jumbos.alloc().is_ok());
        assert!(pages.alloc().is_ok());

        Ok(())
    }
}

// The kernel's DMA debugging does not survive a failed allocation: it turns
// itself off, with a message.
#[cfg(not(CONFIG_DMA_API_DEBUG))]
#[kunit_tests(rust_net_page_pool_mapping_faults)]
mod mapping_tests {
    use super::{
        super::harness::*,
        *, //
    };

    #[test]
    fn a_mapped_page_survives_each_failure() -> Result {
        let dev = TestDevice::new()?;
        let mut failures = 0;

        // A page takes an allocation of its own, and where C keeps account of
        // the mappings others follow.
        for n in 1.. {
            let mut pool = dev.create::<Page, FromDevice>(Params::new(64))?;
            let (buffer, failed) = fault::nth(n, || pool.alloc());

            if !failed {
                assert!(buffer.is_ok());
                break;
            }
            if let Err(err) = &buffer {
                assert_eq!(*err, ENOMEM);
                failures += 1;
            }

            drop(buffer);
            assert_eq!(pool.in_flight(), 0);
        }

        assert!(failures > 0);

        Ok(())
    }
}
