// SPDX-License-Identifier: GPL-2.0

//! A buffer that the hardware has cannot be used.

// error: E0382

#![allow(unused)]

use net::page_pool::{
    Buffer,
    FromDevice,
    FullPage,
    Posted, //
};

type Rx = FullPage<64, 1600>;

pub fn test(ring: &mut Posted<Rx, FromDevice>, buffer: Buffer<Rx, FromDevice>) -> u64 {
    let addr = buffer.dma_addr();
    let _ = ring.post(buffer);

    #[cfg(not(control))]
    let addr = buffer.dma_addr();

    addr
}
