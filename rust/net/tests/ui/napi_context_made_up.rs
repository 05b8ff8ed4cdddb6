// SPDX-License-Identifier: GPL-2.0

//! The proof of being in a poll cannot be made by safe code.

// error: E0133

#![allow(unused)]

use net::page_pool::{
    FullPage,
    PagePool, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: &mut PagePool<'_, Rx>, napi: &net::napi::Napi) {
    #[cfg(not(control))]
    let _ = pool.consumer(&net::napi::Context::new(napi)).is_ok();
    #[cfg(control)]
    let _ = (pool, napi);
}
