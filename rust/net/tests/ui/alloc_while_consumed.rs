// SPDX-License-Identifier: GPL-2.0

//! A pool that is being consumed is not used otherwise.

// error: E0499

#![allow(unused)]

use kernel::prelude::*;
use net::page_pool::{
    FullPage,
    PagePool, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: &mut PagePool<'_, Rx>) -> Result {
    net::bh::disabled(|cx| {
        let mut consumer = pool.consumer(cx)?;
        #[cfg(not(control))]
        drop(pool.alloc());

        drop(consumer.alloc());
        Ok(())
    })
}
