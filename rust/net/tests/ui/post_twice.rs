// SPDX-License-Identifier: GPL-2.0

//! A buffer is given to the hardware once.

// error: E0382

#![allow(unused)]

use net::page_pool::{
    Buffer,
    FromDevice,
    FullPage,
    Posted, //
};

type Rx = FullPage<64, 1600>;

pub fn test(ring: &mut Posted<Rx, FromDevice>, buffer: Buffer<Rx, FromDevice>) {
    let _ = ring.post(buffer);
    #[cfg(not(control))]
    let _ = ring.post(buffer);
}
