// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask kernel`: a built kernel of the cache, or one the user has.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{bail, Result};

use crate::arch::{Arch, Config};
use crate::ctx::Ctx;
use crate::step;
use crate::toolchain::Toolchain;

/// Which kernel: for each subcommand that needs one (`#[command(flatten)]`).
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Source {
    /// Use this built kernel tree as it is.
    #[arg(long, value_name = "DIR")]
    pub kdir: Option<PathBuf>,

    /// Build from this kernel source: a tarball or a tree.
    #[arg(long, value_name = "PATH", conflicts_with = "kdir")]
    pub source: Option<PathBuf>,
}

/// Arguments of `kernel`.
#[derive(clap::Args)]
pub struct Args {
    /// The architecture.
    #[arg(long, value_enum, default_value = "um")]
    arch: Arch,

    /// The flavour of configuration.
    #[arg(long, value_enum, default_value = "normal")]
    config: Config,

    #[command(flatten)]
    source: Source,
}

/// A built kernel.
pub struct Kernel {
    /// Its architecture.
    pub arch: Arch,
    /// Its flavour of configuration.
    pub config: Config,
    /// Its build directory, `KDIR`.
    pub dir: PathBuf,
    /// Its source tree.
    pub source: PathBuf,
    /// Its release, as `uname -r` says it.
    pub release: String,
    /// What it was built with.
    pub toolchain: Toolchain,
}

impl Kernel {
    /// The image that boots.
    pub fn image(&self) -> PathBuf {
        self.dir.join(self.arch.image_path())
    }

    /// `make -C KDIR ARCH=… LLVM=… RUSTC=…`, with the right `PATH`, to which targets are added.
    pub fn make(&self) -> Command {
        let mut make = step::command("make");
        make.arg("-C").arg(&self.dir);
        make.args(self.toolchain.make_vars(self.arch));
        make.env("PATH", self.toolchain.path());
        make
    }
}

/// Returns the kernel, which it builds if the cache has none that fits.
pub fn ensure(_ctx: &Ctx, _arch: Arch, _config: Config, _source: &Source) -> Result<Kernel> {
    bail!("not written yet")
}

/// Runs `kernel`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let kernel = ensure(ctx, args.arch, args.config, &args.source)?;
    println!("{}", kernel.dir.display());
    Ok(ExitCode::SUCCESS)
}
