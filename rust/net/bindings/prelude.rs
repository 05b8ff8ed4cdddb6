// SPDX-License-Identifier: GPL-2.0

//! Bindings that `kernel::bindings` lacks, generated from `bindings_helper.h`.
//!
//! Everything is `unsafe` and raw; the crate `net` is what other crates use.

#![allow(
    clippy::all,
    clippy::as_underscore,
    clippy::cast_lossless,
    clippy::multiple_unsafe_ops_per_block,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    improper_ctypes,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unknown_lints,
    unnecessary_transmutes,
    unused_imports
)]

use kernel::bindings::*;
