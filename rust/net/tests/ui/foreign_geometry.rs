// SPDX-License-Identifier: GPL-2.0

//! A table only takes buffers of its geometry.

// error: E0308

#![allow(unused)]

use net::page_pool::{
    Buffer,
    FullPage,
    Posted,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(
    ring: &mut Posted<Rx, Unmapped>,
    buffer: Buffer<Rx, Unmapped>,
    other: Buffer<FullPage<128, 1600>, Unmapped>,
) {
    let _ = ring.post(buffer);
    #[cfg(not(control))]
    let _ = ring.post(other);
    #[cfg(control)]
    drop(other);
}
