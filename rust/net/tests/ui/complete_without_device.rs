// SPDX-License-Identifier: GPL-2.0

//! Only a device completes: without one a packet is written.

// error: E0277

#![allow(unused)]

use net::page_pool::{
    Cookie,
    FullPage,
    PagePool,
    Posted,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: &PagePool<'_, Rx>, ring: &mut Posted<Rx, Unmapped>, cookie: Cookie) {
    #[cfg(not(control))]
    drop(ring.complete(pool, cookie, 64));
    #[cfg(control)]
    drop(ring.take_back(cookie).map(|buffer| buffer.write(&[0; 64])));
}
