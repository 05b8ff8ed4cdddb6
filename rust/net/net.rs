// SPDX-License-Identifier: GPL-2.0

//! Safe bindings for the kernel's networking core.

pub mod bh;
