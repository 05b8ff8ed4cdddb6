// SPDX-License-Identifier: GPL-2.0

//! A buffer that was recycled cannot be dropped as well.

// error: E0382

#![allow(unused)]

use net::page_pool::{
    Buffer,
    Consumer,
    FullPage,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(consumer: &mut Consumer<'_, Rx, Unmapped>, buffer: Buffer<Rx, Unmapped>) {
    consumer.recycle(buffer);
    #[cfg(not(control))]
    drop(buffer);
}
