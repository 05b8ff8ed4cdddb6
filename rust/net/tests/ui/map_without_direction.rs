// SPDX-License-Identifier: GPL-2.0

//! A pool that maps pages has a direction.

// error: E0277

#![allow(unused)]

use kernel::{
    device::{
        Bound,
        Device, //
    },
    prelude::*, //
};
use net::page_pool::{
    FromDevice,
    FullPage,
    Params,
    Unmapped, //
};

type Rx = FullPage<64, 1600>;

pub fn test(dev: &Device<Bound>) -> Result {
    // SAFETY: Not the matter here.
    unsafe { Params::new(64).create_mapped::<Rx, FromDevice>(dev) }?;
    #[cfg(not(control))]
    // SAFETY: Not the matter here.
    unsafe { Params::new(64).create_mapped::<Rx, Unmapped>(dev) }?;

    Ok(())
}
