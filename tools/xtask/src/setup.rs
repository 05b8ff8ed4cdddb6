// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask setup`: install what is missing.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use anyhow::{bail, Context, Result};

use crate::cache;
use crate::ctx::Ctx;
use crate::doctor;
use crate::packages::{self, Fix, Plan, BINDGEN_CRATE};
use crate::step::{self, Step};
use crate::toolchain::{self, which};

/// How old apt's lists may be before they are renewed.
const LISTS_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// What is installed first may bring out what else is missing: rustc decides about LLVM.
const ROUNDS: usize = 3;

/// Arguments of `setup`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs `setup`.
pub fn run(ctx: &Ctx, _args: &Args) -> Result<ExitCode> {
    let mut before = usize::MAX;
    let mut lock = None;
    for _ in 0..=ROUNDS {
        let items = doctor::survey(ctx);
        let fixes: Vec<&Fix> = items.iter().filter_map(|item| item.fix.as_ref()).collect();
        if fixes.is_empty() {
            step::say("Everything is there.");
            return Ok(ExitCode::SUCCESS);
        }
        if lock.is_none() {
            // Two of us would take turns at apt's lists; the second finds all done by the first.
            lock = Some(cache::lock(&ctx.paths.cache.join("tools/setup"))?);
            continue;
        }
        if fixes.len() >= before {
            break;
        }
        before = fixes.len();
        renew_lists(ctx)?;
        let plan = packages::plan(ctx, &fixes)?;
        if !plan.apt && !plan.packages.is_empty() {
            step::say("This is not a distribution whose packages I know. Please install:");
            for line in plan.describe() {
                step::say(&format!("  {line}"));
            }
            return Ok(ExitCode::FAILURE);
        }
        apply(ctx, &plan)?;
    }
    print!("{}", doctor::table(&doctor::survey(ctx)));
    bail!("something is still missing")
}

fn apply(ctx: &Ctx, plan: &Plan) -> Result<()> {
    if !plan.packages.is_empty() {
        install_packages(ctx, plan)?;
    }
    if plan.rustup_toolchain || !plan.rustup.is_empty() {
        let rustup = toolchain::find_rustup().context("rustup is gone")?;
        let mut step = Step::start(ctx, "Completing Rust", "setup-rustup")?;
        if plan.rustup_toolchain {
            step.run(step::command(&rustup).args(["toolchain", "install", "stable"]))?;
        }
        if !plan.rustup.is_empty() {
            let mut add = step::command(&rustup);
            add.args(["component", "add"]).args(&plan.rustup);
            step.run(&add)?;
        }
        step.done();
    }
    // bindgen is built with the Rust and the linker that the steps above brought.
    if plan.bindgen && which("cargo").is_some() {
        install_bindgen(ctx)?;
    }
    Ok(())
}

fn install_packages(ctx: &Ctx, plan: &Plan) -> Result<()> {
    let mut step = start_as_root(
        ctx,
        format!("Installing {} packages", plan.packages.len()),
        "setup-apt",
    )?;
    // An installation that was interrupted is finished first; apt would refuse to do anything else.
    let unfinished =
        fs::read_dir("/var/lib/dpkg/updates").is_ok_and(|mut dir| dir.next().is_some());
    if unfinished {
        step.run(as_root("dpkg").args(["--configure", "-a"]))?;
    }
    let mut install = as_root("apt-get");
    install.args(["-q", "-y", "-o", "DPkg::Lock::Timeout=600"]);
    install.args(["install", "--no-install-recommends", "--fix-broken"]);
    install.args(&plan.packages);
    step.run(&install)?;
    step.done();
    Ok(())
}

fn install_bindgen(ctx: &Ctx) -> Result<()> {
    let root = toolchain::private_bindgen_root(ctx);
    let target = ctx.paths.cache.join("tools/bindgen-build");
    let _lock = cache::lock(&root)?;
    let mut step = Step::start(ctx, "Building bindgen", "setup-bindgen")?;
    let mut install = step::command("cargo");
    install.args(["install", "--locked", "--root"]).arg(&root);
    // Kept until the end, so that an interrupted build goes on.
    install.env("CARGO_TARGET_DIR", &target);
    install.arg(BINDGEN_CRATE);
    step.run(&install)?;
    let _ = fs::remove_dir_all(&target);
    step.done();
    Ok(())
}

/// Renews apt's lists where they are missing or old.
fn renew_lists(ctx: &Ctx) -> Result<()> {
    if which("apt-get").is_none() || lists_are_fresh() {
        return Ok(());
    }
    let mut step = start_as_root(
        ctx,
        "Renewing the lists of packages".to_owned(),
        "setup-lists",
    )?;
    step.run(as_root("apt-get").args(["-q", "-o", "DPkg::Lock::Timeout=600", "update"]))?;
    step.done();
    Ok(())
}

/// apt touches the directory of its lists at each update.
fn lists_are_fresh() -> bool {
    let lists = Path::new("/var/lib/apt/lists");
    let any = fs::read_dir(lists).is_ok_and(|items| {
        items
            .flatten()
            .any(|item| item.file_name().to_string_lossy().contains("_Packages"))
    });
    let age = fs::metadata(lists)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|time| SystemTime::now().duration_since(time).ok());
    any && age.is_some_and(|age| age < LISTS_AGE)
}

/// Starts a step whose commands need root, once it is sure that sudo will not ask in the middle.
fn start_as_root<'a>(ctx: &'a Ctx, title: String, log: &str) -> Result<Step<'a>> {
    if !nix::unistd::geteuid().is_root() {
        if which("sudo").is_none() {
            bail!("installing packages needs root, and there is no sudo: run this as root");
        }
        // In the foreground, where it can ask for the password.
        let status = Command::new("sudo")
            .arg("-v")
            .status()
            .context("cannot run sudo")?;
        if !status.success() {
            bail!("sudo did not let us in");
        }
    }
    Step::start(ctx, title, log)
}

fn as_root(program: &str) -> Command {
    let mut command = if nix::unistd::geteuid().is_root() {
        step::command("env")
    } else {
        let mut sudo = step::command("sudo");
        sudo.args(["-n", "env"]);
        sudo
    };
    command.args(["DEBIAN_FRONTEND=noninteractive", program]);
    command
}
