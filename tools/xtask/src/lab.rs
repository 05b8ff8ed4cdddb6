// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask lab`: a booted kernel with our modules, for a person or for a script.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, Context, Result};

use crate::arch::{Arch, Config};
use crate::console::last_lines;
use crate::ctx::Ctx;
use crate::guest::{self, Task};
use crate::kernel::{self, Kernel};
use crate::machine::{self, End, Machine, Run};
use crate::modules::{self, Modules};
use crate::splat;
use crate::step;
use crate::terminal;

/// Lines of the console that a failing run shows.
const TAIL: usize = 30;

/// Arguments of `lab`.
#[derive(clap::Args)]
pub struct Args {
    /// The lab: um or arm64.
    #[arg(value_enum)]
    arch: Arch,

    /// The flavour of the kernel's configuration.
    #[arg(long, value_enum, default_value = "normal")]
    config: Config,

    /// Run this script in the lab instead of a shell, and exit with its status.
    #[arg(long, value_name = "SCRIPT")]
    run: Option<PathBuf>,

    /// Stop a script after this many seconds.
    #[arg(long, value_name = "SECONDS", requires = "run")]
    timeout: Option<u64>,

    /// Add ethtool, iproute2, bpftool and perf for a script, too.
    #[arg(long)]
    tools: bool,

    /// Boot without our modules.
    #[arg(long)]
    no_modules: bool,

    #[command(flatten)]
    source: kernel::Source,
}

/// Runs `lab`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let kernel = kernel::ensure(ctx, args.arch, args.config, &args.source)?;
    let modules = (!args.no_modules)
        .then(|| modules::ensure(ctx, &kernel))
        .transpose()?;
    let Some(script) = &args.run else {
        return shell(ctx, &kernel, modules.as_ref());
    };
    let text = fs::read(script).with_context(|| format!("cannot read {}", script.display()))?;
    let job = Script {
        text: &text,
        modules: modules.as_ref(),
        tools: args.tools,
        timeout: args.timeout.map_or_else(
            || default_timeout(args.arch, args.config),
            Duration::from_secs,
        ),
    };
    let mut stdout = std::io::stdout();
    let run = run_script(ctx, &kernel, &job, &mut |data| {
        // Nobody is left to read when standard output is closed; the status still counts.
        let _ = stdout.write_all(data).and_then(|()| stdout.flush());
    })?;
    let splats = splat::scan(&run.console);
    for splat in &splats {
        step::say(&format!("kernel: {splat}"));
    }
    match run.end {
        End::Exited(status) if splats.is_empty() => Ok(ExitCode::from(status)),
        // The script is content, the kernel is not.
        End::Exited(_) => bail!(
            "the kernel complained; its console is {}",
            run.log.display()
        ),
        _ => {
            show_end(&run);
            bail!("{}; the kernel's console is {}", run.end, run.log.display())
        }
    }
}

/// A script to run in a lab.
pub struct Script<'a> {
    pub text: &'a [u8],
    pub modules: Option<&'a Modules>,
    pub tools: bool,
    pub timeout: Duration,
}

/// Boots the lab for a script.
pub fn run_script(
    ctx: &Ctx,
    kernel: &Kernel,
    script: &Script<'_>,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<Run> {
    let machine = Machine::new(ctx, kernel)?;
    let token = machine::random_token()?;
    let task = Task {
        settings: vec![
            ("LAB_MODE", "script".to_owned()),
            ("LAB_TOKEN", token.clone()),
            ("LAB_OUT", machine.script_terminal().to_owned()),
        ],
        script: Some(script.text),
        modules: script.modules.map(|modules| modules.archive.as_path()),
        tools: script.tools,
    };
    guest::write_initramfs(ctx, kernel.arch, &task, &machine.initramfs())?;
    machine.run_script(&token, script.timeout, sink)
}

/// What a script gets if nobody says otherwise. An emulated processor is slow, a checking kernel slower.
pub fn default_timeout(arch: Arch, config: Config) -> Duration {
    let seconds = match (arch, config) {
        (Arch::Um, Config::Normal | Config::Bench) => 120,
        (Arch::Um, Config::Debug) => 600,
        (_, Config::Normal | Config::Bench) => 600,
        (_, Config::Debug) => 1800,
    };
    Duration::from_secs(seconds)
}

/// Shows how a run that went wrong ended.
pub fn show_end(run: &Run) {
    for (what, text) in [("console", &run.console), ("script's output", &run.output)] {
        let tail = last_lines(text, TAIL);
        step::say(&format!("--- the end of the {what}:"));
        step::say(&tail);
    }
    step::say("---");
}

fn shell(ctx: &Ctx, kernel: &Kernel, modules: Option<&Modules>) -> Result<ExitCode> {
    let machine = Machine::new(ctx, kernel)?;
    let (rows, columns) = terminal::size()?;
    let task = Task {
        settings: vec![
            ("LAB_MODE", "shell".to_owned()),
            ("LAB_TOKEN", machine::random_token()?),
            ("LAB_CONSOLE", machine.shell_terminal().to_owned()),
            (
                "LAB_TERM",
                std::env::var("TERM").unwrap_or_else(|_| "vt100".to_owned()),
            ),
            ("LAB_ROWS", rows.to_string()),
            ("LAB_COLS", columns.to_string()),
        ],
        script: None,
        modules: modules.map(|modules| modules.archive.as_path()),
        tools: true,
    };
    guest::write_initramfs(ctx, kernel.arch, &task, &machine.initramfs())?;
    step::say("`exit` powers the lab off; Ctrl-] stops it at once");
    let log = ctx
        .paths
        .logs()
        .join(format!("lab-{}-{}.console.log", kernel.arch, kernel.config));
    let end = terminal::connect(&machine.interactive(), &log)?;
    report(&end, &log);
    Ok(ExitCode::SUCCESS)
}

fn report(end: &terminal::End, log: &Path) {
    let how = match end {
        terminal::End::PoweredOff => "powered off",
        terminal::End::Stopped => "stopped",
    };
    step::say(&format!("\nlab {how}; its console is {}", log.display()));
}
