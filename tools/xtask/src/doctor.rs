// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask doctor`.

use std::process::ExitCode;

use anyhow::{bail, Result};

use crate::ctx::Ctx;

/// Arguments of `doctor`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs `doctor`.
pub fn run(_ctx: &Ctx, _args: &Args) -> Result<ExitCode> {
    bail!("not written yet")
}
