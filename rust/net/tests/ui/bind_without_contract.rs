// SPDX-License-Identifier: GPL-2.0

//! Binding a pool to a NAPI instance takes a promise about its life time.

// error: E0133

#![allow(unused)]

use net::page_pool::{
    FullPage,
    PagePool, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: &mut PagePool<'_, Rx>, napi: &net::napi::Napi) {
    #[cfg(not(control))]
    pool.enable_direct_recycling(napi);
    #[cfg(control)]
    let _ = (pool, napi);
}
