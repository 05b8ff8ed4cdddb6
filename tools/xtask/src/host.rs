// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask test host`: the tests of what runs on the host.

use std::fs;

use anyhow::{Context, Result};

use crate::ctx::Ctx;
use crate::step::{self, Step};
use crate::tally::Tally;

/// The tests of the build's scripts. They need no kernel.
const SCRIPTS: [&str; 2] = ["check-tree", "rust-project"];

/// What cargo tests: a name, and the directory of its manifest.
const CRATES: [(&str, &str); 2] = [("tools", "tools"), ("hardware model", "rust/pp2_model")];

/// Runs all of them.
pub fn run(ctx: &Ctx) -> Result<Tally> {
    let mut tally = Tally::default();
    for (name, dir) in CRATES {
        tally.add(cargo(ctx, name, dir)?);
    }
    for name in SCRIPTS {
        tally.add(script(ctx, name)?);
    }
    Ok(tally)
}

/// Runs `tests/NAME.sh`, which prints TAP.
fn script(ctx: &Ctx, name: &str) -> Result<Tally> {
    let mut step = Step::start(ctx, format!("tests/{name}.sh"), &format!("test-{name}"))?;
    let path = ctx.paths.repo.join("tests").join(name).with_extension("sh");
    let status = step.status(&step::command(path))?;
    let text = fs::read_to_string(step.log()).context("cannot read the log")?;
    let mut tally = count_tap(&text);
    if status.success() {
        step.done();
    } else {
        step.show_tail();
        if !tally.has_failures() {
            tally.fail(format!("tests/{name}.sh failed"), &status.to_string());
        }
    }
    Ok(tally)
}

/// Counts the lines `ok N - NAME` and `not ok N - NAME`.
fn count_tap(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines() {
        if line.starts_with("ok ") {
            tally.pass();
        } else if let Some(rest) = line.strip_prefix("not ok ") {
            let name = rest.split_once(" - ").map_or(rest, |(_, name)| name);
            tally.fail(name, "");
        }
    }
    tally
}

/// Runs `cargo test` on the workspace in `dir`.
fn cargo(ctx: &Ctx, name: &str, dir: &str) -> Result<Tally> {
    let log = format!("test-{}", name.replace(' ', "-"));
    let mut step = Step::start(ctx, format!("cargo test of the {name}"), &log)?;
    let mut command = step::command("cargo");
    command
        .args([
            "test",
            "--workspace",
            "--no-fail-fast",
            "--color",
            "never",
            "--manifest-path",
        ])
        .arg(ctx.paths.repo.join(dir).join("Cargo.toml"));
    let status = step.status(&command)?;
    let text = fs::read_to_string(step.log()).context("cannot read the log")?;
    let mut tally = count(&text);
    if status.success() {
        step.done();
    } else {
        step.show_tail();
        if !tally.has_failures() {
            tally.fail("cargo test failed", &status.to_string());
        }
    }
    Ok(tally)
}

/// Counts what the test programs printed.
fn count(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines() {
        // A program that was cut off has no "test result", but cargo's exit status tells.
        let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        else {
            continue;
        };
        match result.split_once(", ").map_or(result, |(word, _)| word) {
            "ok" => tally.pass(),
            "ignored" => tally.skip(name, "ignored"),
            _ => tally.fail(name, result),
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let text = "\
running 4 tests
test cpio::tests::a ... ok
test cpio::tests::b ... FAILED
test cpio::tests::c ... ignored, slow
test d - should panic ... ok

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out
";
        assert_eq!(count(text).line(), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn tap_is_counted() {
        let text = "\
ok 1 - a tree that will do
not ok 2 - no such directory
# status 0, expected 1
1 passed, 1 failed
";
        let tally = count_tap(text);
        assert_eq!(tally.line(), "1 passed, 1 failed");
    }
}
