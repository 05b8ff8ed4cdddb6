// SPDX-License-Identifier: GPL-2.0

//! A consumer stays on its CPU.

// error: E0277

#![allow(unused)]

use net::page_pool::{
    Buffer,
    Consumer,
    FullPage,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

fn send<T: Send>(_: T) {}

pub fn test(consumer: Consumer<'_, Rx, Unmapped>, buffer: Buffer<Rx, Unmapped>) {
    send(buffer);
    #[cfg(not(control))]
    send(consumer);
    #[cfg(control)]
    drop(consumer);
}
