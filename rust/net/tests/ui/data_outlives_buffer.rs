// SPDX-License-Identifier: GPL-2.0

//! Received data does not outlive its buffer.

// error: E0515

#![allow(unused)]

use net::page_pool::{
    FullPage,
    Received,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(received: Received<Rx, Unmapped>) -> &'static [u8] {
    #[cfg(not(control))]
    return received.data();

    #[cfg(control)]
    {
        drop(received);
        &[]
    }
}
