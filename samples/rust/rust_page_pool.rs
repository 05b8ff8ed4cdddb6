// SPDX-License-Identifier: GPL-2.0

//! The shortest use of a page pool: create one, cycle buffers, print what the
//! pool counted.
//!
//! A driver would have its pool in the receive queue and its consumer in the
//! NAPI poll. Here a section with bottom halves disabled stands in for that.

use kernel::prelude::*;
use net::{
    bh,
    page_pool::{
        FullPage,
        Params,
        Posted,
        Unmapped, //
    }, //
};

module! {
    type: RustPagePool,
    name: "rust_page_pool",
    authors: ["The mvpp2-rs developers"],
    description: "Rust page pool sample",
    license: "GPL",
}

/// 64 bytes of head room, then up to 1600 bytes from the device.
type Rx = FullPage<64, 1600>;

/// Descriptors of the imagined receive ring, and buffers that it keeps.
const RING_SIZE: usize = 256;

/// Packets that the imagined device receives.
const PACKETS: usize = 100_000;

/// What each of them is.
const PACKET: [u8; 64] = [0; 64];

struct RustPagePool;

impl kernel::Module for RustPagePool {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let mut pool = Params::new(RING_SIZE as u32).create::<Rx>()?;
        let mut ring = Posted::<Rx, Unmapped>::new(RING_SIZE)?;
        let mut cookies = KVec::with_capacity(RING_SIZE, GFP_KERNEL)?;

        // Fill the ring, in process context.
        for _ in 0..RING_SIZE {
            let cookie = ring.post(pool.alloc()?).map_err(|_| ENOSPC)?;

            cookies.push(cookie, GFP_KERNEL)?;
        }

        // For each packet: refill the ring, take the packet out, drop it. The
        // device being software, it is the driver who writes the packet.
        bh::disabled(|cx| -> Result {
            let mut consumer = pool.consumer(cx)?;

            for packet in 0..PACKETS {
                let cookie = &mut cookies[packet % RING_SIZE];
                let fresh = consumer.alloc()?;
                let buffer = ring.take_back(*cookie).ok_or(ENOENT)?;
                let received = buffer.write(&PACKET).map_err(|_| EMSGSIZE)?;

                *cookie = ring.post(fresh).map_err(|_| ENOSPC)?;
                consumer.recycle(received);
            }

            Ok(())
        })?;

        drop(ring);
        pr_info!(
            "{} packets in {} buffers, {} still in flight\n",
            PACKETS,
            RING_SIZE,
            pool.in_flight()
        );

        #[cfg(CONFIG_PAGE_POOL_STATS)]
        {
            let stats = pool.stats();

            pr_info!(
                "pages came from: cache {}, ring {}, page allocator {}\n",
                stats.alloc.fast,
                stats.alloc.refill,
                stats.alloc.slow
            );
            pr_info!(
                "pages went to: cache {}, ring {}, page allocator {}\n",
                stats.recycle.cached,
                stats.recycle.ring,
                stats.recycle.ring_full + stats.recycle.released_refcnt
            );
        }

        Ok(Self)
    }
}
