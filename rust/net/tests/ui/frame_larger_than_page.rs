// SPDX-License-Identifier: GPL-2.0

//! A fragment is not larger than what it is a fragment of.

// error: "the frame is larger than the allocation"

#![allow(unused)]

use kernel::prelude::*;
use net::page_pool::{
    Fragment,
    Params, //
};

#[cfg(not(control))]
type TooLarge = Fragment<64, 1600, { 1 << 20 }>;
#[cfg(control)]
type TooLarge = Fragment<64, 1600, { 1 << 20 }, 8>;

pub fn test() -> Result {
    Params::new(64).create::<TooLarge>()?;
    Ok(())
}
