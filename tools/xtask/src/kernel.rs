// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask kernel`: a built kernel of the cache, or one the user has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{bail, Context, Result};

use crate::arch::{Arch, Config};
use crate::cache::{self, Entry};
use crate::ctx::Ctx;
use crate::kconfig;
use crate::progress::{is_kbuild_action, Meter, Profile};
use crate::source::{self, Tree};
use crate::step::{self, Step};
use crate::toolchain::{self, Toolchain};

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

/// Which kernel: the arguments of `kernel`, and of what is done for one.
#[derive(clap::Args)]
pub struct Args {
    /// The architecture.
    #[arg(long, value_enum, default_value = "um")]
    pub arch: Arch,

    /// The flavour of configuration.
    #[arg(long, value_enum, default_value = "normal")]
    pub config: Config,

    #[command(flatten)]
    pub source: Source,
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
        let mut make = self.toolchain.command("make");
        make.arg("-C").arg(&self.dir);
        make.args(self.toolchain.make_vars(self.arch));
        make
    }
}

/// Returns the kernel, which it builds if the cache has none that fits.
pub fn ensure(ctx: &Ctx, arch: Arch, config: Config, source: &Source) -> Result<Kernel> {
    if config == Config::Bench && arch != Arch::Um {
        bail!("the configuration {config} is for um; measure {arch} with the normal one");
    }
    let toolchain = Toolchain::find(ctx)?;
    if let Some(kdir) = &source.kdir {
        return given(kdir, arch, config, toolchain);
    }
    let tree = source::find(ctx, source.source.as_deref())?;
    let fragments = kconfig::fragments(&ctx.paths.configs(), arch, config);
    let key = key(&tree, &fragments, &toolchain)?;
    let dir = ctx
        .paths
        .cache
        .join(format!("kernel/{arch}-{config}-{key}"));
    if tree.live || !Entry::is_done(&dir, &key) {
        let entry = Entry::open(&dir, &key)?;
        // Another run may have built it while this one waited for the lock.
        if tree.live || !entry.complete() {
            build(ctx, arch, config, &tree, &fragments, &toolchain, &dir)?;
            entry.mark_done()?;
        }
    }
    Ok(Kernel {
        arch,
        config,
        release: release_of(&dir)?,
        source: tree.dir,
        dir,
        toolchain,
    })
}

/// Takes a kernel that the user has built.
fn given(kdir: &Path, arch: Arch, config: Config, toolchain: Toolchain) -> Result<Kernel> {
    let dir = kdir
        .canonicalize()
        .with_context(|| format!("cannot resolve {}", kdir.display()))?;
    let source = dir.join("source");
    let kernel = Kernel {
        arch,
        config,
        release: release_of(&dir)?,
        source: source.canonicalize().unwrap_or_else(|_| dir.clone()),
        dir,
        toolchain,
    };
    if !kernel.image().is_file() {
        bail!(
            "{} is not there: is {} a built {arch} kernel?",
            kernel.image().display(),
            kernel.dir.display()
        );
    }
    Ok(kernel)
}

fn release_of(dir: &Path) -> Result<String> {
    let path = dir.join("include/config/kernel.release");
    let text = fs::read_to_string(&path)
        .with_context(|| format!("{} is not a built kernel", dir.display()))?;
    Ok(text.trim().to_owned())
}

/// What a build depends on, in short.
fn key(tree: &Tree, fragments: &[PathBuf], toolchain: &Toolchain) -> Result<String> {
    let mut all = format!("{}\n{}", tree.id, toolchain.fingerprint());
    for path in fragments {
        all +=
            &fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(cache::sha256(all.as_bytes())[..12].to_owned())
}

fn build(
    ctx: &Ctx,
    arch: Arch,
    config: Config,
    tree: &Tree,
    fragments: &[PathBuf],
    toolchain: &Toolchain,
    dir: &Path,
) -> Result<()> {
    step::say(&format!("with {}", toolchain::describe(toolchain)?));
    let make = || {
        let mut make = toolchain.command("make");
        make.arg("-C").arg(&tree.dir);
        let mut output = std::ffi::OsString::from("O=");
        output.push(dir);
        make.arg(output).args(toolchain.make_vars(arch));
        make
    };
    configure(ctx, arch, config, tree, fragments, dir, &make)?;

    let name = format!("{arch}-{config}");
    let mut step = Step::start(
        ctx,
        format!("Building the {config} {arch} kernel"),
        &format!("kernel-{name}"),
    )?;
    step.measure(Meter::new(
        &ctx.paths.cache.join("progress"),
        &format!("kernel-{name}"),
        dir,
        first_guess(arch, config),
        is_kbuild_action,
    ));
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let mut all = make();
    all.arg(format!("-j{jobs}"));
    all.args([arch.image_target(), "modules"]);
    step.run(&all)?;
    step.done_with(&format!("Linux {}", release_of(dir)?));
    Ok(())
}

/// Writes `.config`, unless an interrupted run wrote it, and checks that it is what was asked for.
fn configure(
    ctx: &Ctx,
    arch: Arch,
    config: Config,
    tree: &Tree,
    fragments: &[PathBuf],
    dir: &Path,
    make: &dyn Fn() -> Command,
) -> Result<()> {
    let done = dir.join(".xtask-configured");
    // The directory's name has the fragments' hash in it, so what was configured in it is right.
    if done.exists() && !tree.live {
        return Ok(());
    }
    let mut step = Step::start(
        ctx,
        format!("Configuring the {config} {arch} kernel"),
        &format!("kernel-{arch}-{config}-configure"),
    )?;
    let quiet = |target: &str| {
        let mut command = make();
        command.args(["-s", target]);
        command
    };
    step.run(&quiet("allnoconfig"))?;
    let mut merge = step::command(tree.dir.join("scripts/kconfig/merge_config.sh"));
    merge.args(["-m", "-Q", "-O"]).arg(dir);
    merge.arg(dir.join(".config")).args(fragments);
    // A configuration of the user's environment is not ours.
    merge.env_remove("KCONFIG_CONFIG").current_dir(&tree.dir);
    step.run(&merge)?;
    step.run(&quiet("olddefconfig"))?;

    let text = fs::read_to_string(dir.join(".config")).context("cannot read .config")?;
    let denied = kconfig::denied(&kconfig::read_wishes(fragments)?, &text);
    if !denied.is_empty() {
        bail!(
            "the kernel's configuration did not take over these symbols \
             (do they depend on others that are missing?):\n  {}",
            denied.join("\n  ")
        );
    }
    cache::write_atomic(&done, b"")?;
    step.done();
    Ok(())
}

/// How long a build takes and how many lines it prints on two ordinary cores.
fn first_guess(arch: Arch, config: Config) -> Profile {
    let (lines, seconds) = match (arch, config) {
        (Arch::Um, Config::Normal | Config::Bench) => (1620, 340.0),
        (Arch::Um, Config::Debug) => (1690, 420.0),
        (Arch::Arm64, Config::Debug) => (1950, 950.0),
        (Arch::Arm64, _) => (1870, 620.0),
        (Arch::X86_64, Config::Debug) => (2350, 1000.0),
        (Arch::X86_64, _) => (2300, 700.0),
    };
    Profile::kernel(lines, seconds)
}

/// Runs `kernel`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let kernel = ensure(ctx, args.arch, args.config, &args.source)?;
    println!("{}", kernel.dir.display());
    Ok(ExitCode::SUCCESS)
}
