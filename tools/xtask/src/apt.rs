// SPDX-License-Identifier: GPL-2.0

//! Packages of the distribution, fetched without touching how the machine's apt is set up.

use std::path::{Path, PathBuf};

use anyhow::{bail, Result};

use crate::ctx::Ctx;

/// A private apt: its own sources, lists and cache; the machine's mirror and keyring.
pub struct Apt<'a> {
    _ctx: &'a Ctx,
}

impl<'a> Apt<'a> {
    /// Sets up the private apt called `name` for `suites` and the Debian architecture `arch`.
    ///
    /// No suite means the suites the machine itself uses.
    pub fn new(_ctx: &'a Ctx, _name: &str, _suites: &[&str], _arch: &str) -> Result<Self> {
        bail!("not written yet")
    }

    /// Fetches packages, with all they depend on if asked; returns the `.deb` files.
    pub fn download(&self, _packages: &[&str], _with_dependencies: bool) -> Result<Vec<PathBuf>> {
        bail!("not written yet")
    }
}

/// Unpacks `.deb` files into `dir`. Needs no root, runs no maintainer script.
pub fn unpack(_ctx: &Ctx, _debs: &[PathBuf], _dir: &Path) -> Result<()> {
    bail!("not written yet")
}
