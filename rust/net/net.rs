// SPDX-License-Identifier: GPL-2.0

//! Safe bindings for the kernel's networking core.
//!
//! This crate is the library module `rust_net.ko`. It is where the `unsafe` of
//! a network driver lives: no safe function here may lead to undefined
//! behaviour, whatever its caller does. A function that takes a promise, most
//! often not to leak something that the kernel keeps a pointer to, is `unsafe`.
//!
//! The device is trusted as far as any driver must trust it: that it writes only
//! where and when it was told to. What it *says*, in descriptors, is not.
//!
//! | Module | Kernel concept |
//! |---|---|
//! | [`bh`] | sections with bottom halves disabled |
//! | [`napi`] | NAPI instances, and the proof of running inside a poll |
//! | [`page_pool`] | pools of receive pages that are recycled instead of freed |

mod layout;

pub mod bh;
pub mod napi;
pub mod page_pool;
