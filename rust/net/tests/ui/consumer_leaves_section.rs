// SPDX-License-Identifier: GPL-2.0

//! A consumer does not outlive the section that it is safe in.

// error: "lifetime may not live long enough"

#![allow(unused)]

use net::page_pool::{
    FullPage,
    PagePool, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: &mut PagePool<'_, Rx>) {
    #[cfg(not(control))]
    let _ = net::bh::disabled(|cx| pool.consumer(cx));
    #[cfg(control)]
    let _ = net::bh::disabled(|cx| pool.consumer(cx).is_ok());
}
