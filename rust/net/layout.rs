// SPDX-License-Identifier: GPL-2.0

//! Checks that Rust and C agree on structures of the `kernel` crate.
//!
//! The kernel generates its bindings without such checks, and they are not
//! always right: `struct task_struct` has been seen at another size than in C.
//! So each structure that this crate looks into is checked here. Structures of
//! `net_bindings` come with checks of their own.

use core::mem::offset_of;
use kernel::bindings::{
    device,
    netmem_desc,
    skb_shared_info, //
};
use net_bindings::*;

const _: () = {
    assert!(size_of::<device>() == SIZE_OF_device);
    assert!(offset_of!(device, coherent_dma_mask) == OFFSET_OF_device_coherent_dma_mask);
    assert!(offset_of!(device, dma_mask) == OFFSET_OF_device_dma_mask);

    assert!(size_of::<netmem_desc>() == SIZE_OF_netmem_desc);
    assert!(offset_of!(netmem_desc, dma_addr) == OFFSET_OF_netmem_desc_dma_addr);
    assert!(offset_of!(netmem_desc, pp) == OFFSET_OF_netmem_desc_pp);

    assert!(size_of::<skb_shared_info>() == SIZE_OF_skb_shared_info);
};
