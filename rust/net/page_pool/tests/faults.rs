// SPDX-License-Identifier: GPL-2.0

//! Allocations that fail.

use super::super::*;

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
            let (pool, failed) = fault::nth(n, || {
                Params::new(64).create_mapped::<Page, FromDevice>(dev.device())
            });

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
    fn the_table_survives_each_failure() {
        for n in 1.. {
            let (ring, failed) = fault::nth(n, || Posted::<Page, Unmapped>::new(64));

            if !failed {
                assert!(ring.is_ok_and(|ring| ring.capacity() == 64));
                break;
            }
            assert!(ring.is_ok() || ring.err() == Some(ENOMEM));
        }
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

    #[test]
    fn a_page_without_a_mapping_is_not_given_out() -> Result {
        let dev = TestDevice::new()?;
        let mut pool = Params::new(64).create_mapped::<Page, FromDevice>(dev.device())?;

        // Each page takes an allocation of its own, and some take another to
        // keep account of the mapping.
        for n in 1..=100 {
            let (buffer, _) = fault::nth(n, || pool.alloc());

            assert!(buffer.is_ok() || buffer.err() == Some(ENOMEM));
        }

        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }
}
