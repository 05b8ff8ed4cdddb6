// SPDX-License-Identifier: GPL-2.0

//! A pool that maps pages does not outlive the binding of its device.

// error: "lifetime may not live long enough"

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
    PagePool,
    Params, //
};

type Rx = FullPage<64, 1600>;

#[cfg(not(control))]
pub fn test(dev: &Device<Bound>) -> Result<PagePool<'static, Rx, FromDevice>> {
    // SAFETY: Not the matter here.
    unsafe { Params::new(64).create_mapped(dev) }
}

#[cfg(control)]
pub fn test(dev: &Device<Bound>) -> Result<PagePool<'_, Rx, FromDevice>> {
    // SAFETY: Not the matter here.
    unsafe { Params::new(64).create_mapped(dev) }
}
