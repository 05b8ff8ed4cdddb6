// SPDX-License-Identifier: GPL-2.0

//! The compilers and tools that build a kernel.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{bail, Result};

use crate::arch::Arch;
use crate::ctx::Ctx;

/// The compilers and tools that build a kernel.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// `rustc`, by its real path.
    pub rustc: PathBuf,
}

impl Toolchain {
    /// Finds the tools.
    pub fn find(_ctx: &Ctx) -> Result<Self> {
        bail!("not written yet")
    }

    /// The variables for `make`'s command line.
    pub fn make_vars(&self, _arch: Arch) -> Vec<OsString> {
        Vec::new()
    }

    /// `PATH` for children: the kernel's build takes `bindgen` from there.
    pub fn path(&self) -> OsString {
        OsString::new()
    }
}
