// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask test`: all tests, or a part of them.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::arch::{Arch, Config};
use crate::ctx::Ctx;
use crate::kernel;
use crate::kunit;
use crate::step;
use crate::tally::Tally;

/// Arguments of `test`.
#[derive(clap::Args)]
pub struct Args {
    /// The part to run; without it, all.
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Clone, Subcommand)]
enum Part {
    /// The tests of the modules, in a lab.
    Kunit {
        /// The lab: um or arm64.
        #[arg(long, value_enum, default_value = "um")]
        arch: Arch,

        /// The flavour of the kernel's configuration.
        #[arg(long, value_enum, default_value = "normal")]
        config: Config,

        /// Stop after this many seconds.
        #[arg(long, value_name = "SECONDS")]
        timeout: Option<u64>,

        #[command(flatten)]
        source: kernel::Source,
    },
    /// The tests of what runs on the host.
    Host,
    /// What must not compile.
    Ui {
        /// The architecture to compile for.
        #[arg(long, value_enum, default_value = "um")]
        arch: Arch,

        #[command(flatten)]
        source: kernel::Source,
    },
}

impl Part {
    fn kunit(arch: Arch, config: Config) -> Self {
        Part::Kunit {
            arch,
            config,
            timeout: None,
            source: kernel::Source::default(),
        }
    }

    /// All parts, the quick ones first.
    fn all() -> Vec<Self> {
        vec![
            Part::Host,
            Part::Ui {
                arch: Arch::Um,
                source: kernel::Source::default(),
            },
            Part::kunit(Arch::Um, Config::Normal),
            Part::kunit(Arch::Arm64, Config::Normal),
            Part::kunit(Arch::Arm64, Config::Debug),
        ]
    }

    fn name(&self) -> String {
        match self {
            Part::Kunit { arch, config, .. } => format!("kunit {arch}, {config}"),
            Part::Host => "host".to_owned(),
            Part::Ui { arch, .. } => format!("ui {arch}"),
        }
    }

    fn run(&self, ctx: &Ctx) -> Result<Tally> {
        match self {
            Part::Kunit {
                arch,
                config,
                timeout,
                source,
            } => kunit::run(
                ctx,
                *arch,
                *config,
                source,
                timeout.map(Duration::from_secs),
            ),
            Part::Host => crate::host::run(ctx),
            Part::Ui { arch, source } => crate::ui::run(ctx, *arch, source),
        }
    }
}

/// Runs `test`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let parts = args.part.clone().map_or_else(Part::all, |part| vec![part]);
    let mut total = Tally::default();
    let mut summary = Vec::new();
    for part in parts {
        let name = part.name();
        step::say(&format!("== {name}"));
        let tally = match part.run(ctx) {
            Err(error) if step::interrupted() => return Err(error),
            result => settle(&name, result),
        };
        tally.show();
        summary.push(format!("{name}: {}", tally.line()));
        total.add(tally);
    }
    step::say("");
    for line in summary {
        step::say(&line);
    }
    println!("{}", total.line());
    Ok(if total.has_failures() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A part that could not run, or ran nothing, is one failure: silence must not look like success.
fn settle(name: &str, result: Result<Tally>) -> Tally {
    let failure = match result {
        Ok(tally) if tally.is_empty() => "there was nothing to run".to_owned(),
        Ok(tally) => return tally,
        Err(error) => format!("{error:#}"),
    };
    let mut tally = Tally::default();
    tally.fail(format!("{name}: could not run"), &failure);
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_did_not_run_has_failed() {
        assert!(settle("x", Err(anyhow::anyhow!("no kernel"))).has_failures());
        assert!(settle("x", Ok(Tally::default())).has_failures());
        let mut good = Tally::default();
        good.pass();
        assert!(!settle("x", Ok(good)).has_failures());
    }
}
