// SPDX-License-Identifier: GPL-2.0

//! A fragment cannot take its page out of the pool.

// error: E0599

#![allow(unused)]

use net::page_pool::{
    Buffer,
    Fragment,
    FullPage,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(page: Buffer<Rx, Unmapped>, fragment: Buffer<Fragment<64, 1600, 2048>, Unmapped>) {
    page.release();
    #[cfg(not(control))]
    fragment.release();
    #[cfg(control)]
    drop(fragment);
}
