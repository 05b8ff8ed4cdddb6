// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask lint`.

use std::process::ExitCode;

use anyhow::{bail, Result};

use crate::ctx::Ctx;

/// Arguments of `lint`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs `lint`.
pub fn run(_ctx: &Ctx, _args: &Args) -> Result<ExitCode> {
    bail!("not written yet")
}
