// SPDX-License-Identifier: GPL-2.0

//! A pool has one consumer at a time.

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
        let mut first = pool.consumer(cx)?;
        #[cfg(not(control))]
        let mut second = pool.consumer(cx)?;
        #[cfg(not(control))]
        drop(second.alloc());

        drop(first.alloc());
        Ok(())
    })
}
