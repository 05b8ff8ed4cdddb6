// SPDX-License-Identifier: GPL-2.0

//! The proof of disabled bottom halves cannot be made up.

// error: E0603

#![allow(unused)]

use net::page_pool::{
    FullPage,
    PagePool, //
};

type Rx = FullPage<64, 1600>;

pub fn test(pool: &mut PagePool<'_, Rx>) {
    #[cfg(not(control))]
    let _ = pool
        .consumer(&net::bh::Context(core::marker::PhantomData))
        .is_ok();
    #[cfg(control)]
    let _ = net::bh::disabled(|cx| pool.consumer(cx).is_ok());
}
