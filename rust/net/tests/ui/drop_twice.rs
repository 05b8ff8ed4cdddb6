// SPDX-License-Identifier: GPL-2.0

//! A buffer is returned once.

// error: E0382

#![allow(unused)]

use net::page_pool::{
    Buffer,
    FullPage,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(buffer: Buffer<Rx, Unmapped>) {
    drop(buffer);
    #[cfg(not(control))]
    drop(buffer);
}
