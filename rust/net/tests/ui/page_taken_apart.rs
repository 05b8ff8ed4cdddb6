// SPDX-License-Identifier: GPL-2.0

//! A buffer is not taken apart by others than its pool.

// error: E0603

#![allow(unused)]

use net::page_pool::{
    Buffer,
    FullPage,
    Owned,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(buffer: Buffer<Rx, Unmapped>) {
    #[cfg(not(control))]
    let _ = buffer.into_page(net::page_pool::buffer::Token);
    #[cfg(control)]
    drop(buffer);
}
