// SPDX-License-Identifier: GPL-2.0

//! Nothing is received when the pool is gone: pages are not mapped any more.

// error: E0382

#![allow(unused)]

use net::page_pool::{
    Cookie,
    FromDevice,
    FullPage,
    PagePool,
    Posted, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: PagePool<'_, Rx, FromDevice>, ring: &mut Posted<Rx, FromDevice>, cookie: Cookie) {
    drop(ring.complete(&pool, cookie, 64));
    drop(pool);
    #[cfg(not(control))]
    drop(ring.complete(&pool, cookie, 64));
}
