// SPDX-License-Identifier: GPL-2.0

//! Mapping pages for a device takes the promise not to leak the pool.

// error: E0133

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

pub fn test(dev: &Device<Bound>) -> Result<PagePool<'_, Rx, FromDevice>> {
    #[cfg(not(control))]
    return Params::new(64).create_mapped(dev);
    #[cfg(control)]
    // SAFETY: Not the matter here.
    unsafe {
        Params::new(64).create_mapped(dev)
    }
}
