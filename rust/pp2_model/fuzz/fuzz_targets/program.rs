// SPDX-License-Identifier: GPL-2.0

//! Feeds random register programs, frames and descriptors to the model.

#![no_main]

#[path = "../../tests/common/mod.rs"]
mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|program: &[u8]| common::program::run(program));
