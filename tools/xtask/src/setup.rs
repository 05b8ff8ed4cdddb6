// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask setup`.

use std::process::ExitCode;

use anyhow::{bail, Result};

use crate::ctx::Ctx;

/// Arguments of `setup`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs `setup`.
pub fn run(_ctx: &Ctx, _args: &Args) -> Result<ExitCode> {
    bail!("not written yet")
}
