// SPDX-License-Identifier: GPL-2.0

//! A buffer that nobody has written has no data.

// error: E0599

#![allow(unused)]

use net::page_pool::{
    Buffer,
    FullPage,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(buffer: Buffer<Rx, Unmapped>) {
    #[cfg(not(control))]
    let _ = buffer.data();
    drop(buffer);
}
