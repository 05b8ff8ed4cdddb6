// SPDX-License-Identifier: GPL-2.0

//! A buffer that is not mapped has no DMA address.

// error: E0277

#![allow(unused)]

use net::page_pool::{
    Buffer,
    FromDevice,
    FullPage,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(mapped: &Buffer<Rx, FromDevice>, buffer: &Buffer<Rx, Unmapped>) -> u64 {
    let _ = buffer;

    #[cfg(not(control))]
    return buffer.dma_addr();
    #[cfg(control)]
    mapped.dma_addr()
}
