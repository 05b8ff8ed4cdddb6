// SPDX-License-Identifier: GPL-2.0

//! Frames begin at cache lines.

// error: "not a multiple of the cache line size"

#![allow(unused)]

use kernel::prelude::*;
use net::page_pool::{
    Fragment,
    Params, //
};

#[cfg(not(control))]
type Odd = Fragment<64, 1600, 2047>;
#[cfg(control)]
type Odd = Fragment<64, 1600, 2048>;

pub fn test() -> Result {
    Params::new(64).create::<Odd>()?;
    Ok(())
}
