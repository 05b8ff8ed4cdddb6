// SPDX-License-Identifier: GPL-2.0

//! Direct recycling takes the proof of being in a poll, or of bottom halves being disabled.

// error: E0277

#![allow(unused)]

use kernel::prelude::*;
use net::page_pool::{
    Buffer,
    FullPage,
    PagePool,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: &mut PagePool<'_, Rx>, buffer: Buffer<Rx, Unmapped>) -> Result {
    #[cfg(not(control))]
    pool.consumer(&())?.recycle(buffer);
    #[cfg(control)]
    net::bh::disabled(|cx| {
        pool.consumer(cx)
            .map(|mut consumer| consumer.recycle(buffer))
    })?;

    Ok(())
}
