// SPDX-License-Identifier: GPL-2.0

//! What allocating and returning a page costs, by each way that it can return.
//!
//! The loops are those of the kernel's selftest `bench_page_pool`; the module
//! `page_pool_bench_c` has the same ones in C. One line is printed for each:
//!
//! ```text
//! page_pool_bench: impl=rust case=fast loops=10000000 ns=53000000
//! ```

use kernel::{
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    }, //
};
use net::{
    bh,
    page_pool::{
        Buffer,
        Consumer,
        FullPage,
        Params,
        Unmapped, //
    }, //
};

module! {
    type: RustPagePoolBench,
    name: "rust_page_pool_bench",
    authors: ["The mvpp2-rs developers"],
    description: "Benchmark of page pool operations, in Rust",
    license: "GPL",
}

/// A whole page, as the selftest uses.
type Page = FullPage<0, 2048>;

/// The size of the pool's ring, as in the selftest.
const POOL_SIZE: u32 = 1024;

/// Buffers that go through the ring before the measurement, as in the selftest.
const RING_FILL: usize = 64;

/// Loops that run without letting other softirqs in.
const BATCH: u32 = 10_000;

struct RustPagePoolBench;

impl RustPagePoolBench {
    /// Times `batches` of loops that allocate a buffer and let `give_back`
    /// return it.
    #[inline(always)]
    fn measure(
        case: &str,
        batches: u32,
        give_back: impl Fn(&mut Consumer<'_, Page, Unmapped>, Buffer<Page, Unmapped>),
    ) -> Result {
        let mut pool = Params::new(POOL_SIZE).create::<Page>()?;

        bh::disabled(|cx| -> Result {
            let mut consumer = pool.consumer(cx)?;
            let mut buffers = KVec::with_capacity(RING_FILL, GFP_ATOMIC)?;

            for _ in 0..RING_FILL {
                buffers.push(consumer.alloc()?, GFP_ATOMIC)?;
            }

            // Dropping them returns them to the ring.
            Ok(())
        })?;

        let start = Instant::<Monotonic>::now();
        for _ in 0..batches {
            bh::disabled(|cx| -> Result {
                let mut consumer = pool.consumer(cx)?;

                for _ in 0..BATCH {
                    let buffer = consumer.alloc()?;

                    give_back(&mut consumer, buffer);
                }

                Ok(())
            })?;
        }
        let time = start.elapsed();

        pr_info!(
            "page_pool_bench: impl=rust case={} loops={} ns={}\n",
            case,
            batches * BATCH,
            time.as_nanos()
        );

        Ok(())
    }
}

impl kernel::Module for RustPagePoolBench {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Self::measure("fast", 1000, |consumer, buffer| consumer.recycle(buffer))?;
        Self::measure("ptr_ring", 300, |_, buffer| drop(buffer))?;
        Self::measure("slow", 50, |_, buffer| buffer.release())?;

        Ok(Self)
    }
}
