// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask modules`: our modules, built against a kernel.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{bail, Result};

use crate::arch::{Arch, Config};
use crate::ctx::Ctx;
use crate::kernel::{self, Kernel};

/// Arguments of `modules`.
#[derive(clap::Args)]
pub struct Args {
    /// The architecture.
    #[arg(long, value_enum, default_value = "um")]
    arch: Arch,

    /// The flavour of kernel configuration.
    #[arg(long, value_enum, default_value = "normal")]
    config: Config,

    #[command(flatten)]
    source: kernel::Source,
}

/// Builds the modules; returns the directory that holds the `.ko` files and `modules.order`.
pub fn build(_ctx: &Ctx, _kernel: &Kernel) -> Result<PathBuf> {
    bail!("not written yet")
}

/// Runs `modules`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let kernel = kernel::ensure(ctx, args.arch, args.config, &args.source)?;
    println!("{}", build(ctx, &kernel)?.display());
    Ok(ExitCode::SUCCESS)
}
