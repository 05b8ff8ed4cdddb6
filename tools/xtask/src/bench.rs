// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask bench`: what an operation costs in Rust and in C.
//!
//! Both are measured in turns in one boot, so that whatever disturbs the machine disturbs both, and each round has a
//! ratio of its own. The order changes from round to round. The first round warms up and is dropped.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use clap::Subcommand;
use serde::Serialize;

use crate::arch::{Arch, Config};
use crate::ctx::Ctx;
use crate::hostload::Watch;
use crate::kernel;
use crate::lab::{self, Script};
use crate::modules;
use crate::splat;
use crate::step::Step;

/// The cases of a module, in the order in which it measures them.
const CASES: [&str; 3] = ["fast", "ptr_ring", "slow"];
const IMPLEMENTATIONS: [&str; 2] = ["c", "rust"];
/// Fewer do not make a median worth having.
pub const MIN_ROUNDS: u32 = 11;
pub const DEFAULT_ROUNDS: u32 = 15;
/// Of the host's processors, what other work may take before it spoils a measurement.
const QUIET: f64 = 0.1;

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Allocating a page and returning it to its page pool, by each way it can return.
    PagePool(PagePool),
}

#[derive(clap::Args)]
struct PagePool {
    /// The lab: um or arm64.
    #[arg(long, value_enum, default_value = "um")]
    arch: Arch,

    /// Rounds that are measured, after one that is not.
    #[arg(long, default_value_t = DEFAULT_ROUNDS, value_parser = clap::value_parser!(u32).range(i64::from(MIN_ROUNDS)..))]
    rounds: u32,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,

    /// Fail if a median ratio is above this.
    #[arg(long, value_name = "RATIO")]
    max_ratio: Option<f64>,

    #[command(flatten)]
    source: kernel::Source,
}

/// Runs `bench`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let What::PagePool(args) = &args.what;
    let result = page_pool(ctx, args.arch, args.rounds, &args.source)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&result)?);
    } else {
        print!("{}", result.table());
    }
    let worst = result.cases.iter().map(|case| case.ratio.median);
    let worst = worst.fold(0.0, f64::max);
    if args.max_ratio.is_some_and(|limit| worst > limit) {
        bail!("a median ratio of {worst:.3} is above the limit");
    }
    Ok(ExitCode::SUCCESS)
}

/// The smallest, the middle and the largest of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl Spread {
    fn of(values: impl IntoIterator<Item = f64>) -> Result<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (values.first(), values.last()) else {
            bail!("nothing was measured");
        };
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            (values[middle - 1] + values[middle]) / 2.0
        };
        Ok(Self {
            min: *min,
            median,
            max: *max,
        })
    }
}

/// One case: nanoseconds per operation, and how the languages compare.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    pub name: String,
    pub c: Spread,
    pub rust: Spread,
    /// Rust to C, round by round.
    pub ratio: Spread,
}

/// A whole measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub benchmark: &'static str,
    pub lab: String,
    pub cpu: String,
    pub kernel: String,
    pub clock: String,
    pub rounds: u32,
    pub dropped_rounds: u32,
    /// The share of the host's processors that other work took meanwhile.
    pub others: Option<f64>,
    pub cases: Vec<Case>,
}

/// Measures page pools.
pub fn page_pool(ctx: &Ctx, arch: Arch, rounds: u32, source: &kernel::Source) -> Result<Measured> {
    let config = match arch {
        Arch::Um => Config::Bench,
        _ => Config::Normal,
    };
    let kernel = kernel::ensure(ctx, arch, config, source)?;
    let modules = modules::ensure(ctx, &kernel)?;
    let script = script(rounds);
    let job = Script {
        text: script.as_bytes(),
        modules: Some(&modules),
        tools: false,
        // A round takes about two seconds at full speed; an emulated processor is fifty times slower.
        timeout: Duration::from_secs(60) * (rounds + 1) * if arch == Arch::Um { 1 } else { 5 },
    };
    let step = Step::start(
        ctx,
        format!("page pools on {arch}: {rounds} rounds"),
        "bench-page-pool",
    )?;
    let watch = Watch::start();
    let mut done = 0;
    let run = lab::run_script(ctx, &kernel, &job, &mut |data| {
        done += data.iter().filter(|byte| **byte == b'\n').count() as u64;
        step.at(done.min(u64::from(rounds)), u64::from(rounds) + 1);
    })?;
    let others = watch.others();
    if !run.end.is_success() {
        lab::show_end(&run);
        bail!("{}; the kernel's console is {}", run.end, run.log.display());
    }
    if let Some(splat) = splat::scan(&run.console).first() {
        bail!(
            "the kernel complained: {splat}; its console is {}",
            run.log.display()
        );
    }
    step.done();
    let clock = run
        .output
        .lines()
        .find_map(|line| line.strip_prefix("clock: "))
        .unwrap_or("unknown");
    Ok(Measured {
        benchmark: "page_pool",
        lab: arch.to_string(),
        cpu: cpu(arch),
        kernel: kernel.release.clone(),
        clock: clock.to_owned(),
        rounds,
        dropped_rounds: 1,
        others,
        cases: evaluate(&parse(&run.console, rounds)?)?,
    })
}

/// Round 0 warms up. The crate that the Rust module needs is loaded once, before.
fn script(rounds: u32) -> String {
    format!(
        r#"#!/bin/sh
set -e
echo "clock: $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
modprobe rust_net
round=0
while [ $round -le {rounds} ]; do
	order="page_pool_bench_c rust_page_pool_bench"
	[ $((round % 2)) -eq 0 ] || order="rust_page_pool_bench page_pool_bench_c"
	echo "lab: round $round" >/dev/kmsg
	for module in $order; do
		taskset 1 modprobe $module
		rmmod $module
	done
	echo "round $round"
	round=$((round + 1))
done
"#
    )
}

/// Nanoseconds per operation by implementation and case.
type Round = BTreeMap<(String, String), f64>;

/// Reads all rounds, the warm-up included. Each must be complete, and nothing may be there twice.
fn parse(console: &str, rounds: u32) -> Result<Vec<Round>> {
    let mut found: Vec<Round> = Vec::new();
    for line in console.lines() {
        let text = splat::message(line);
        if let Some(number) = text.strip_prefix("lab: round ") {
            ensure!(
                number.parse() == Ok(found.len()),
                "after round {} came: {text}",
                found.len()
            );
            found.push(Round::new());
        } else if let Some(at) = text.rfind("page_pool_bench: impl=") {
            let (key, cost) = measurement(&text[at..]).with_context(|| format!("in {text:?}"))?;
            let round = found
                .last_mut()
                .context("a measurement before the first round")?;
            ensure!(
                round.insert(key, cost).is_none(),
                "measured twice in one round: {text}"
            );
        }
    }
    ensure!(
        found.len() == rounds as usize + 1,
        "{} rounds were measured, not {}",
        found.len(),
        rounds + 1
    );
    for (number, round) in found.iter().enumerate() {
        for implementation in IMPLEMENTATIONS {
            for case in CASES {
                ensure!(
                    round.contains_key(&(implementation.to_owned(), case.to_owned())),
                    "round {number} has no {case} in {implementation}"
                );
            }
        }
    }
    Ok(found)
}

/// `page_pool_bench: impl=<c|rust> case=<fast|ptr_ring|slow> loops=<n> ns=<total>`
fn measurement(text: &str) -> Result<((String, String), f64)> {
    let mut words = text.split(' ').skip(1);
    let mut value = |name: &str| {
        words
            .next()
            .and_then(|word| word.strip_prefix(name)?.strip_prefix('='))
            .with_context(|| format!("{name} is missing"))
    };
    let implementation = value("impl")?;
    let case = value("case")?;
    let loops: u32 = value("loops")?.parse().context("loops is no number")?;
    let ns: u64 = value("ns")?.parse().context("ns is no number")?;
    ensure!(words.next().is_none(), "more than expected");
    ensure!(
        IMPLEMENTATIONS.contains(&implementation),
        "unknown implementation"
    );
    ensure!(CASES.contains(&case), "unknown case");
    ensure!(loops > 0 && ns > 0, "nothing was measured");
    let key = (implementation.to_owned(), case.to_owned());
    Ok((key, ns as f64 / f64::from(loops)))
}

fn evaluate(rounds: &[Round]) -> Result<Vec<Case>> {
    // Without the warm-up.
    let rounds = rounds.get(1..).unwrap_or_default();
    CASES
        .iter()
        .map(|case| {
            let costs = |implementation: &str| {
                let key = (implementation.to_owned(), (*case).to_owned());
                let cost = |round: &Round| round.get(&key).copied().context("an incomplete round");
                rounds.iter().map(cost).collect::<Result<Vec<f64>>>()
            };
            let (c, rust) = (costs("c")?, costs("rust")?);
            let ratios = c.iter().zip(&rust).map(|(c, rust)| rust / c);
            Ok(Case {
                name: (*case).to_owned(),
                ratio: Spread::of(ratios)?,
                c: Spread::of(c)?,
                rust: Spread::of(rust)?,
            })
        })
        .collect()
}

impl Measured {
    /// A table for people.
    pub fn table(&self) -> String {
        let mut text = format!(
            "page_pool: nanoseconds to allocate a page and return it\n\
             {}; Linux {} ({}), clock {}; {} rounds, after one to warm up that is dropped\n\n",
            self.cpu, self.kernel, self.lab, self.clock, self.rounds
        );
        text += "             C                         Rust                      Rust/C\n";
        text += "             min     median  max       min     median  max       median (min ... max)\n";
        for case in &self.cases {
            let spread = |s: &Spread| format!("{:<8.2}{:<8.2}{:<10.2}", s.min, s.median, s.max);
            text += &format!(
                "  {:<11}{}{}{:.3}  ({:.3} ... {:.3})\n",
                case.name,
                spread(&case.c),
                spread(&case.rust),
                case.ratio.median,
                case.ratio.min,
                case.ratio.max
            );
        }
        if let Some(others) = self.others.filter(|others| *others > QUIET) {
            text += &format!(
                "\nOther work took {:.0} % of the host's processors meanwhile: measure again on a quiet machine.\n",
                others * 100.0
            );
        }
        text
    }
}

/// The processor that runs it all.
fn cpu(arch: Arch) -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| ["model name", "CPU part"].contains(&name.trim()))
        .map_or(std::env::consts::ARCH, |(_, model)| model.trim());
    if arch == Arch::Um {
        model.to_owned()
    } else {
        format!("{arch} emulated on {model}: not a measure of any real processor")
    }
}

#[cfg(test)]
#[path = "bench_tests.rs"]
mod tests;
