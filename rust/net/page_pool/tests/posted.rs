// SPDX-License-Identifier: GPL-2.0

//! Buffers that the hardware owns.

use super::super::*;

#[kunit_tests(rust_net_page_pool_posted)]
mod tests {
    use super::{
        super::harness::*,
        *, //
    };

    #[test]
    fn a_cookie_is_turned_back_once() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let mut ring = Posted::<Page, Unmapped>::new(4)?;
        let buffer = pool.alloc()?;
        let page = buffer.as_raw().into_parts().0;

        let cookie = ring.post(buffer).map_err(|_| ENOSPC)?;
        assert_eq!(ring.len(), 1);

        let back = ring.take_back(cookie).ok_or(ENOENT)?;
        assert_eq!(back.as_raw().into_parts().0, page);
        assert_eq!(ring.len(), 0);

        assert!(ring.take_back(cookie).is_none());
        assert_eq!(ring.len(), 0);

        // Not even when the slot is in use again.
        let next = ring.post(back).map_err(|_| ENOSPC)?;
        assert!(next != cookie);
        assert!(ring.take_back(cookie).is_none());
        assert!(ring.take_back(next).is_some());
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn made_up_cookies_are_refused() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let mut ring = Posted::<Page, Unmapped>::new(4)?;
        let cookie = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;

        for bits in [
            0,
            1,
            3,
            4,
            0xffff,
            u32::MAX,
            cookie.bits() ^ 1 << 16,
            cookie.bits() ^ 1 << 31,
            cookie.bits() + 1,
        ] {
            assert!(ring.take_back(Cookie::from_bits(bits)).is_none());
        }

        assert_eq!(ring.len(), 1);
        assert!(ring.take_back(Cookie::from_bits(cookie.bits())).is_some());

        Ok(())
    }

    #[test]
    fn a_full_table_gives_the_buffer_back() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let mut ring = Posted::<Page, Unmapped>::new(2)?;
        let first = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        let _ = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;

        let refused = ring.post(pool.alloc()?).err().ok_or(EINVAL)?;
        assert_eq!(ring.len(), 2);

        drop(ring.take_back(first));
        assert!(ring.post(refused).is_ok());
        assert_eq!(ring.len(), ring.capacity());

        Ok(())
    }

    #[test]
    fn a_table_has_a_size() {
        assert_eq!(Posted::<Page, Unmapped>::new(0).err(), Some(EINVAL));
        assert_eq!(
            Posted::<Page, Unmapped>::new(Posted::<Page, Unmapped>::MAX_CAPACITY + 1).err(),
            Some(EINVAL)
        );
        assert!(
            Posted::<Page, Unmapped>::new(Posted::<Page, Unmapped>::MAX_CAPACITY)
                .is_ok_and(|ring| ring.capacity() == 1 << 16)
        );
    }

    #[test]
    fn every_slot_can_be_used_in_any_order() -> Result {
        const SIZE: usize = 64;

        let mut pool = Params::new(256).create::<Page>()?;
        let mut ring = Posted::<Page, Unmapped>::new(SIZE)?;
        let mut cookies = KVec::with_capacity(SIZE, GFP_KERNEL)?;

        for _ in 0..SIZE {
            cookies.push(ring.post(pool.alloc()?).map_err(|_| ENOSPC)?, GFP_KERNEL)?;
        }

        // 37 and 64 have no common divisor, so this visits each slot, out of
        // order, several times.
        for i in 0..10 * SIZE {
            let cookie = &mut cookies[i * 37 % SIZE];
            let buffer = ring.take_back(*cookie).ok_or(ENOENT)?;

            *cookie = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
            drop(buffer);
        }

        assert_eq!(ring.len(), SIZE);
        for cookie in cookies {
            assert!(ring.take_back(cookie).is_some());
        }
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn an_impossible_completion_is_refused() -> Result {
        let dev = TestDevice::new()?;
        let mut pool = dev.create::<Page, FromDevice>(Params::new(64))?;
        let other = dev.create::<Page, FromDevice>(Params::new(64))?;
        let mut ring = Posted::new(4)?;

        let cookie = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        let received = ring.complete(&pool, cookie, Page::LEN)?;
        assert_eq!(received.len(), Page::LEN);
        assert_eq!(received.data().len(), Page::LEN);
        drop(received);

        // It was turned back already.
        assert!(matches!(
            ring.complete(&pool, cookie, 64),
            Err(Refused::Cookie)
        ));

        for len in [Page::LEN + 1, 65535, usize::MAX] {
            let cookie = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;

            assert!(matches!(
                ring.complete(&pool, cookie, len),
                Err(Refused::Length(_))
            ));
        }

        // A pool that exists is no proof for the pages of another.
        let cookie = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        assert!(matches!(
            ring.complete(&other, cookie, 64),
            Err(Refused::Pool(_))
        ));

        // Nothing is lost.
        assert_eq!(ring.len(), 0);
        assert_eq!(pool.in_flight(), 0);

        let cookie = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        assert_eq!(ring.complete(&pool, cookie, 0)?.data(), &[]);

        Ok(())
    }

    #[test]
    fn software_writes_into_buffers() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let longest = KVec::from_elem(7, Page::LEN + 1, GFP_KERNEL)?;

        let mut received = pool.alloc()?.write(b"packet").map_err(|_| EMSGSIZE)?;
        assert_eq!(received.data(), b"packet");
        received.data_mut()[0] = b'j';
        assert_eq!(received.data(), b"jacket");

        assert!(pool.alloc()?.write(&longest).is_err());
        let received = pool.alloc()?.write(&longest[1..]).map_err(|_| EMSGSIZE)?;
        assert_eq!(received.data(), &longest[1..]);
        drop(received);
        assert_eq!(pool.in_flight(), 1);

        Ok(())
    }

    #[test]
    fn a_stopped_queue_gives_all_buffers_back() -> Result {
        let mut pool = Params::new(64).create::<Page>()?;
        let mut ring = Posted::<Page, Unmapped>::new(8)?;

        for _ in 0..8 {
            let _ = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        }

        // An iterator that is dropped early leaves the others.
        assert_eq!(ring.drain().take(3).count(), 3);
        assert_eq!(ring.len(), 5);
        assert_eq!(pool.in_flight(), 5);

        assert_eq!(ring.drain().count(), 5);
        assert_eq!(ring.drain().count(), 0);
        assert_eq!(pool.in_flight(), 0);

        // Dropping the table has the same effect.
        let _ = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;
        drop(ring);
        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }
}
