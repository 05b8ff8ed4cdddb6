// SPDX-License-Identifier: GPL-2.0

//! Received data cannot be read when the buffer was recycled.

// error: E0505

#![allow(unused)]

use net::page_pool::{
    Consumer,
    FullPage,
    Received,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(consumer: &mut Consumer<'_, Rx, Unmapped>, received: Received<Rx, Unmapped>) -> u8 {
    let data = received.data();
    let first = data[0];

    consumer.recycle(received);
    #[cfg(not(control))]
    let first = data[0];

    first
}
