// SPDX-License-Identifier: GPL-2.0

//! A buffer has room for data.

// error: "must have room for data"

#![allow(unused)]

use kernel::prelude::*;
use net::page_pool::{
    FullPage,
    Params, //
};

#[cfg(not(control))]
type Empty = FullPage<64, 0>;
#[cfg(control)]
type Empty = FullPage<64, 1>;

pub fn test() -> Result {
    Params::new(64).create::<Empty>()?;
    Ok(())
}
