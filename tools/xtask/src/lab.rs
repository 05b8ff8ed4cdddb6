// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask lab`.

use std::process::ExitCode;

use anyhow::{bail, Result};

use crate::ctx::Ctx;

/// Arguments of `lab`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs `lab`.
pub fn run(_ctx: &Ctx, _args: &Args) -> Result<ExitCode> {
    bail!("not written yet")
}
