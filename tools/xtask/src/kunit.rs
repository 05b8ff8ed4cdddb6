// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask test kunit`: every module is loaded and unloaded in a lab, and the tests in it run.
//!
//! A test has passed only if everything around it is in order as well: the guest ended as it should, the kernel had
//! nothing to complain about, all results add up, and each suite and test of the sources has one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::arch::{Arch, Config};
use crate::ctx::Ctx;
use crate::kernel;
use crate::ktap::{self, Status};
use crate::lab::{self, Script};
use crate::machine::End;
use crate::modules::{self, Modules};
use crate::splat;
use crate::step;
use crate::suites::{self, Suite};
use crate::tally::Tally;

/// Modules that measure for minutes when they are loaded; `bench` loads them.
const BENCHMARK: &str = "_bench";
/// `tools/guest/init` writes it to the console before a script starts: what is above is the kernel's own.
const START: &str = "lab: the script starts";
/// Complaints that are shown one by one.
const SHOWN: usize = 8;

/// Runs the suites on one kernel.
pub fn run(
    ctx: &Ctx,
    arch: Arch,
    config: Config,
    source: &kernel::Source,
    timeout: Option<std::time::Duration>,
) -> Result<Tally> {
    let kernel = kernel::ensure(ctx, arch, config, source)?;
    let modules = modules::ensure(ctx, &kernel)?;
    let expected = suites::find(&ctx.paths.repo, &modules.build, &kernel.dir, arch)?;
    if !expected.left_out.is_empty() {
        step::say(&format!(
            "not built for {arch}: {}",
            expected.left_out.join(", ")
        ));
    }
    let load = load_order(&modules, &kernel.release)?;
    let script = script(&load);
    let job = Script {
        text: script.as_bytes(),
        modules: Some(&modules),
        tools: false,
        timeout: timeout.unwrap_or_else(|| lab::default_timeout(arch, config)),
    };
    step::say(&format!(
        "booting {arch}, {config}: {} modules ...",
        load.len()
    ));
    let run = lab::run_script(ctx, &kernel, &job, &mut |_| {})?;
    let tally = judge(
        &run.end,
        &run.console,
        &run.output,
        &expected.compiled,
        &load,
    );
    if !matches!(run.end, End::Exited(_)) {
        lab::show_end(&run);
    }
    if tally.has_failures() {
        step::say(&format!("the kernel's console is {}", run.log.display()));
    }
    step::say(&format!(
        "lab {arch}, {config}: ended after {}",
        step::human(run.time)
    ));
    Ok(tally)
}

/// Decides what a run was worth.
fn judge(end: &End, console: &str, output: &str, expected: &[Suite], loaded: &[String]) -> Tally {
    let mut tally = Tally::default();
    if let End::Died(_) | End::TimedOut(_) = end {
        tally.fail(end.to_string(), "");
    }
    judge_console(console, &mut tally);
    let report = ktap::parse(console);
    for error in &report.errors {
        tally.fail("the results do not add up".to_owned(), error);
    }

    let own = console
        .lines()
        .position(|line| splat::message(line) == START)
        .map_or(usize::MAX, |index| index + 1);
    for suite in &report.suites {
        let ours = suite.line > own;
        suite.each_single(&mut |path, test| match &test.status {
            Status::Failed => tally.fail(path.to_owned(), &test.comments.join("\n")),
            // The kernel's own tests are not what is counted here.
            _ if !ours => {}
            Status::Passed => tally.pass(),
            Status::Skipped(reason) => tally.skip(path.to_owned(), reason),
        });
    }
    for suite in expected {
        let Some(found) = report.suites.iter().find(|found| found.name == suite.name) else {
            tally.fail(
                format!("{}: the suite did not run to its end", suite.name),
                "",
            );
            continue;
        };
        let skipped = matches!(found.status, Status::Skipped(_));
        for test in &suite.tests {
            if !skipped && !found.children.iter().any(|child| child.name == *test) {
                tally.fail(format!("{}.{test}: no result", suite.name), "");
            }
        }
    }
    for module in loaded {
        let result = output
            .lines()
            .find_map(|line| line.strip_prefix(module.as_str())?.strip_prefix(": "));
        match result {
            Some("ok") => tally.pass(),
            Some(other) => tally.fail(format!("module {module}: {other}"), ""),
            None => tally.fail(format!("module {module}: neither loaded nor unloaded"), ""),
        }
    }
    if !end.is_success() && !tally.has_failures() {
        tally.fail(end.to_string(), "");
    }
    tally
}

fn judge_console(console: &str, tally: &mut Tally) {
    let splats = splat::scan(console);
    let Some(first) = splats.first() else { return };
    let mut detail: Vec<_> = splats.iter().take(SHOWN).map(ToString::to_string).collect();
    if splats.len() > SHOWN {
        detail.push(format!("and {} more", splats.len() - SHOWN));
    }
    tally.fail(
        format!("the kernel complained: {}", first.kind),
        &detail.join("\n"),
    );
}

/// Our modules, each after those it needs.
fn load_order(modules: &Modules, release: &str) -> Result<Vec<String>> {
    let path = modules
        .stage
        .join("lib/modules")
        .join(release)
        .join("modules.dep");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(order(&text, &modules.ours))
}

/// A module depends on more modules than any of those it depends on: `modules.dep` has the closure.
fn order(modules_dep: &str, ours: &[PathBuf]) -> Vec<String> {
    let mut counted: Vec<_> = ours
        .iter()
        .map(|module| modules::module_name(module))
        .filter(|name| !name.contains(BENCHMARK))
        .map(|name| {
            let needs = modules_dep.lines().find_map(|line| {
                let (module, needs) = line.split_once(':')?;
                (modules::module_name(Path::new(module)) == name)
                    .then(|| needs.split_whitespace().count())
            });
            (needs.unwrap_or(0), name)
        })
        .collect();
    counted.sort();
    counted.into_iter().map(|(_, name)| name).collect()
}

fn script(load: &[String]) -> String {
    format!(
        r#"#!/bin/sh
status=0
loaded=
for module in {}; do
	echo "lab: load $module" >/dev/kmsg
	if modprobe "$module"; then
		loaded="$module $loaded"
	else
		echo "$module: cannot be loaded"
		status=1
	fi
done
for module in $loaded; do
	echo "lab: unload $module" >/dev/kmsg
	if rmmod "$module"; then
		echo "$module: ok"
	else
		echo "$module: cannot be unloaded"
		status=1
	fi
done
exit $status
"#,
        load.join(" ")
    )
}

#[cfg(test)]
#[path = "kunit_tests.rs"]
mod tests;
