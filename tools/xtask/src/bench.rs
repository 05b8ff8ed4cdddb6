// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask bench`.

use std::process::ExitCode;

use anyhow::{bail, Result};

use crate::ctx::Ctx;

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs `bench`.
pub fn run(_ctx: &Ctx, _args: &Args) -> Result<ExitCode> {
    bail!("not written yet")
}
