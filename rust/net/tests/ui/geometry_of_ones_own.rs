// SPDX-License-Identifier: GPL-2.0

//! A geometry is one of the two that the pool knows.

// error: E0277

#![allow(unused)]

use net::page_pool::Geometry;

pub struct Mine;

#[cfg(not(control))]
impl Geometry for Mine {
    const ORDER: u32 = 0;
    const FRAME_SIZE: usize = 1 << 20;
    const HEADROOM: usize = 0;
    const LEN: usize = 1 << 20;
    const FRAGMENTED: bool = false;
    type Offset = ();
}

pub fn test<G: Geometry>() {}
