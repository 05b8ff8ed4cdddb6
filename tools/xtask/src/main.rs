// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask`: one tool that sets up, builds, boots, tests and measures.

mod apt;
mod aptsources;
mod arch;
mod bench;
mod cache;
mod child;
mod console;
mod cpio;
mod ctx;
mod demo;
mod doctor;
mod guest;
mod host;
mod hostload;
mod kconfig;
mod kernel;
mod ktap;
mod kunit;
mod lab;
mod lint;
mod machine;
mod modules;
mod packages;
mod paths;
mod processes;
mod progress;
mod rustlex;
mod setup;
mod source;
mod splat;
mod step;
mod suites;
mod tally;
mod terminal;
mod test;
mod toolchain;
mod ui;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::ctx::Ctx;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, about)]
struct Cli {
    /// Show each command before it runs.
    #[arg(long, short, global = true)]
    verbose: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List what this machine has, what is missing, and how to install it.
    Doctor(doctor::Args),
    /// Install what `doctor` finds missing.
    Setup(setup::Args),
    /// Fetch, configure and build a kernel; print its build directory.
    Kernel(kernel::Args),
    /// Build our modules against such a kernel; print their build directory.
    Modules(kernel::Args),
    /// Boot a kernel with our modules, for a shell or a script.
    Lab(lab::Args),
    /// Run the tests, all or some.
    Test(test::Args),
    /// Measure Rust against C.
    Bench(bench::Args),
    /// Check style and lints.
    Lint(lint::Args),
    /// Show what the project is about.
    Demo(demo::Args),
}

fn run(cli: Cli) -> Result<ExitCode> {
    let ctx = Ctx::new(cli.verbose)?;
    match cli.command {
        Command::Doctor(args) => doctor::run(&ctx, &args),
        Command::Setup(args) => setup::run(&ctx, &args),
        Command::Kernel(args) => kernel::run(&ctx, &args),
        Command::Modules(args) => modules::run(&ctx, &args),
        Command::Lab(args) => lab::run(&ctx, &args),
        Command::Test(args) => test::run(&ctx, &args),
        Command::Bench(args) => bench::run(&ctx, &args),
        Command::Lint(args) => lint::run(&ctx, &args),
        Command::Demo(args) => demo::run(&ctx, &args),
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(_) if step::interrupted() => {
            step::say("interrupted; the next call goes on from here");
            ExitCode::from(130)
        }
        Err(error) => {
            step::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
