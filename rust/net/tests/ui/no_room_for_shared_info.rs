// SPDX-License-Identifier: GPL-2.0

//! Head room, data and the shared info of a socket buffer fit into the frame.

// error: "do not fit into the frame"

#![allow(unused)]

use kernel::prelude::*;
use net::page_pool::{
    FullPage,
    Params, //
};

#[cfg(not(control))]
type TooLong = FullPage<64, { kernel::page::PAGE_SIZE - 64 }>;
#[cfg(control)]
type TooLong = FullPage<64, { kernel::page::PAGE_SIZE / 2 }>;

pub fn test() -> Result {
    Params::new(64).create::<TooLong>()?;
    Ok(())
}
