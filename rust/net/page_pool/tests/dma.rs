// SPDX-License-Identifier: GPL-2.0

//! Buffers that are mapped for a device.
//!
//! The device is played by writes to the bus address. Where the kernel bounces
//! DMA (`swiotlb=force`) that is not the memory of the page, and the tests see
//! whether the right bytes are synchronised.

use super::super::*;
use crate::bh;

#[kunit_tests(rust_net_page_pool_dma)]
mod tests {
    use super::{
        super::harness::*,
        *, //
    };

    /// What the device writes, different at each position.
    fn pattern(i: usize) -> u8 {
        (i * 7 + 1) as u8
    }

    /// Whether this is what the device wrote.
    fn is_pattern(data: &[u8]) -> bool {
        data.iter().enumerate().all(|(i, b)| *b == pattern(i))
    }

    /// Writes `len` bytes to a bus address, as a device would.
    fn device_writes(dev: &TestDevice, addr: bindings::dma_addr_t, len: usize) {
        let dev = ptr::from_ref(dev.device()).cast_mut().cast();
        // SAFETY: This only computes an address.
        let to: *mut u8 = unsafe { net_bindings::bus_to_virt(dev, addr) }.cast();

        for i in 0..len {
            let to = to.wrapping_add(i);

            // SAFETY: The buffer at this bus address is mapped for a device,
            // which we play.
            unsafe { to.write_volatile(pattern(i)) };
        }
    }

    /// Reads a byte behind a bus address, as a device would.
    fn device_reads(dev: &TestDevice, addr: bindings::dma_addr_t, i: usize) -> u8 {
        let dev = ptr::from_ref(dev.device()).cast_mut().cast();
        // SAFETY: This only computes an address.
        let from = unsafe { net_bindings::bus_to_virt(dev, addr) }.cast::<u8>();
        let from = from.wrapping_add(i);

        // SAFETY: The buffer at this bus address is mapped for a device, which
        // we play.
        unsafe { from.read_volatile() }
    }

    #[test]
    fn received_data_is_what_the_device_wrote() -> Result {
        let dev = TestDevice::new()?;
        let mut pool = dev.create::<Page, FromDevice>(Params::new(64))?;
        let mut ring = Posted::new(4)?;

        // Again and again, to see recycled pages too.
        for len in [64, 1, 1600, 65, 0, 1599] {
            let buffer = pool.alloc()?;
            assert_eq!(buffer.dma_addr(), buffer.frame_dma_addr() + 64);

            let addr = buffer.dma_addr();
            let cookie = ring.post(buffer).map_err(|_| ENOSPC)?;
            device_writes(&dev, addr, len);

            let mut received = ring.complete(&pool, cookie, len)?;
            assert_eq!(received.len(), len);
            assert!(is_pattern(received.data()));

            received.data_mut().fill(0);
        }

        assert_eq!(pool.in_flight(), 0);

        Ok(())
    }

    #[test]
    fn each_fragment_has_its_own_address() -> Result {
        let dev = TestDevice::new()?;
        let mut pool = dev.create::<Half, Bidirectional>(Params::new(64))?;
        let mut ring = Posted::new(4)?;

        for _ in 0..4 {
            let first = pool.alloc()?;
            let second = pool.alloc()?;
            assert_eq!(
                second.dma_addr() - first.dma_addr(),
                PAGE_SIZE as bindings::dma_addr_t / 2
            );

            let (first_addr, second_addr) = (first.dma_addr(), second.dma_addr());
            let first = ring.post(first).map_err(|_| ENOSPC)?;
            let second = ring.post(second).map_err(|_| ENOSPC)?;
            device_writes(&dev, first_addr, 100);
            device_writes(&dev, second_addr, 200);

            let second = ring.complete(&pool, second, 200)?;
            let first = ring.complete(&pool, first, 100)?;
            assert!(is_pattern(first.data()));
            assert!(is_pattern(second.data()));
        }

        Ok(())
    }

    #[test]
    fn high_orders_are_mapped_whole() -> Result {
        type Jumbo = FullPage<64, 9000, 2>;

        let dev = TestDevice::new()?;
        let mut pool = dev.create::<Jumbo, FromDevice>(Params::new(16))?;
        let mut ring = Posted::new(1)?;
        let buffer = pool.alloc()?;
        let addr = buffer.dma_addr();
        let cookie = ring.post(buffer).map_err(|_| ENOSPC)?;

        device_writes(&dev, addr, 9000);
        let received = ring.complete(&pool, cookie, 9000)?;
        assert!(is_pattern(received.data()));

        Ok(())
    }

    #[test]
    fn what_the_cpu_wrote_is_given_back_to_the_device() -> Result {
        const LEN: usize = 1000;

        let dev = TestDevice::new()?;
        let mut pool = dev.create::<Page, Bidirectional>(Params::new(64))?;
        let mut ring = Posted::new(1)?;
        let buffer = pool.alloc()?;
        let addr = buffer.dma_addr();
        let cookie = ring.post(buffer).map_err(|_| ENOSPC)?;

        device_writes(&dev, addr, LEN);
        let mut received = ring.complete(&pool, cookie, LEN)?;
        received.data_mut().fill(0xaa);

        // The cache gives out first what came last.
        let again = bh::disabled(|cx| -> Result<_> {
            let mut consumer = pool.consumer(cx)?;

            consumer.recycle(received);
            Ok(consumer.alloc()?)
        })?;
        assert_eq!(again.dma_addr(), addr);
        assert!((0..LEN).all(|i| device_reads(&dev, addr, i) == 0xaa));

        Ok(())
    }
}
