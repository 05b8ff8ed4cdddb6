// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask lint`: style and lints of everything in the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::arch::{Arch, Config};
use crate::cache;
use crate::ctx::Ctx;
use crate::kernel::{self, Kernel};
use crate::rustlex;
use crate::step::{self, Step};
use crate::tally::Tally;

/// Directories in which the compiler alone answers for memory safety.
const SAFE: &[&str] = &["drivers/net/ethernet/", "samples/"];
/// What clippy is to find in the modules beyond what the kernel's own build asks for.
const MODULE_LINTS: &str = "-Dwarnings \
    -Dclippy::undocumented_unsafe_blocks \
    -Dclippy::multiple_unsafe_ops_per_block";
/// Files that cannot carry a licence line, or are one.
const WITHOUT_SPDX: &[&str] = &["LICENSE", "Cargo.lock", ".json", ".stderr", ".svg", ".png"];

/// Arguments of `lint`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: kernel::Source,
}

/// What the checks look at.
struct Lint<'a> {
    ctx: &'a Ctx,
    kernel: Kernel,
    /// The files that git tracks, relative to the top.
    files: Vec<String>,
}

/// Finds nothing wrong, or says what is.
type Findings = Result<Vec<String>>;

/// Something to check.
type Check<'a> = fn(&Lint<'a>) -> Findings;

/// Runs `lint`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let lint = Lint {
        ctx,
        kernel: kernel::ensure(ctx, Arch::Um, Config::Normal, &args.source)?,
        files: tracked(ctx)?,
    };
    let mut tally = Tally::default();
    for (name, check) in checks() {
        step::check_interrupt()?;
        let findings = check(&lint).unwrap_or_else(|error| vec![format!("{error:#}")]);
        step::check_interrupt()?;
        if findings.is_empty() {
            step::say(&format!("{name}: ok"));
            tally.pass();
        } else {
            tally.fail(name, &findings.join("\n"));
        }
    }
    tally.show();
    println!("{}", tally.line());
    Ok(if tally.has_failures() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// In this order: what is quick to say comes first.
fn checks<'a>() -> [(&'static str, Check<'a>); 7] {
    [
        ("licence lines", Lint::spdx),
        ("no unsafe in drivers and samples", Lint::no_unsafe),
        ("format of the modules", Lint::module_format),
        ("format of the tools", Lint::tool_format),
        ("checkpatch", Lint::checkpatch),
        ("clippy on the modules", Lint::module_clippy),
        ("clippy on the tools", Lint::tool_clippy),
    ]
}

fn tracked(ctx: &Ctx) -> Result<Vec<String>> {
    let mut git = step::command("git");
    git.arg("-C").arg(&ctx.paths.repo).args(["ls-files", "-z"]);
    let list = step::output(ctx, &mut git)?;
    Ok(list
        .split('\0')
        .filter(|name| !name.is_empty())
        // What is removed but not yet committed is no business of ours.
        .filter(|name| ctx.paths.repo.join(name).is_file())
        .map(str::to_owned)
        .collect())
}

/// Runs a tool over files; what it says when it fails are the findings.
fn complaints(ctx: &Ctx, command: &mut Command) -> Findings {
    if ctx.verbose {
        step::say(&format!("+ {}", step::display(command)));
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", step::display(command)))?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let text = [output.stdout, output.stderr].concat();
    let lines: Vec<String> = String::from_utf8_lossy(&text)
        .lines()
        .map(str::to_owned)
        .collect();
    if lines.is_empty() {
        return Ok(vec![format!("failed ({})", output.status)]);
    }
    Ok(lines)
}

impl Lint<'_> {
    fn select(&self, wanted: impl Fn(&str) -> bool) -> Vec<&str> {
        self.files
            .iter()
            .map(String::as_str)
            .filter(|name| wanted(name))
            .collect()
    }

    fn read(&self, name: &str) -> Result<String> {
        let text = fs::read(self.ctx.paths.repo.join(name))
            .with_context(|| format!("cannot read {name}"))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn spdx(&self) -> Findings {
        let mut findings = Vec::new();
        let bare = |name: &str| {
            // Inputs that a fuzzer found are what they are.
            name.contains("/tests/corpus/") || WITHOUT_SPDX.iter().any(|end| name.ends_with(end))
        };
        for name in self.select(|name| !bare(name)) {
            if !has_spdx(&self.read(name)?) {
                findings.push(format!("{name}: no SPDX-License-Identifier: GPL-2.0"));
            }
        }
        Ok(findings)
    }

    fn no_unsafe(&self) -> Findings {
        let mut findings = Vec::new();
        let safe = |name: &str| SAFE.iter().any(|dir| name.starts_with(dir));
        for name in self.select(|name| name.ends_with(".rs") && safe(name)) {
            for line in rustlex::lines_with_word(&self.read(name)?, "unsafe") {
                findings.push(format!("{name}:{line}: unsafe"));
            }
        }
        Ok(findings)
    }

    fn module_format(&self) -> Findings {
        let files = self.select(|name| name.ends_with(".rs") && !name.starts_with("tools/"));
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let mut rustfmt = Command::new(self.kernel.toolchain.rust.rustc.with_file_name("rustfmt"));
        rustfmt
            .args(["--check", "--color", "never", "--edition", "2021"])
            .arg("--config-path")
            .arg(self.kernel.source.join(".rustfmt.toml"))
            .args(files)
            .current_dir(&self.ctx.paths.repo);
        complaints(self.ctx, &mut rustfmt)
    }

    fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = self.kernel.toolchain.command("cargo");
        cargo.arg(subcommand).arg("--manifest-path");
        cargo.arg(self.ctx.paths.repo.join("tools/Cargo.toml"));
        cargo
    }

    fn tool_format(&self) -> Findings {
        complaints(
            self.ctx,
            self.cargo("fmt")
                .args(["--all", "--check", "--", "--color", "never"]),
        )
    }

    fn tool_clippy(&self) -> Findings {
        let mut step = Step::start(self.ctx, "clippy on the tools", "lint-tools")?;
        let mut clippy = self.cargo("clippy");
        clippy.args(["--quiet", "--locked", "--workspace", "--all-targets"]);
        clippy.args(["--", "-D", "warnings"]);
        self.logged(&mut step, &clippy).inspect(|_| step.done())
    }

    fn checkpatch(&self) -> Findings {
        let files = self.select(|name| name.ends_with(".c") || name.ends_with(".h"));
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let mut checkpatch = step::command("perl");
        checkpatch
            .arg(self.kernel.source.join("scripts/checkpatch.pl"))
            .args([
                "--no-tree",
                "--strict",
                "--terse",
                "--no-summary",
                "--quiet",
            ])
            .args(["--color=never", "--file"])
            .args(files)
            .current_dir(&self.ctx.paths.repo);
        complaints(self.ctx, &mut checkpatch)
    }

    fn module_clippy(&self) -> Findings {
        // A directory of its own: what clippy compiles would replace what the tests run.
        let build = self.ctx.paths.repo.join("build/um-clippy");
        fs::create_dir_all(&build).with_context(|| format!("cannot create {}", build.display()))?;
        let _lock = cache::lock(&build)?;
        let mut step = Step::start(self.ctx, "clippy on the modules", "lint-modules")?;
        let mut make = self.kernel.make();
        make.arg(variable("M", &self.ctx.paths.repo))
            .arg(variable("MO", &build))
            .args(["CLIPPY=1", "-k", "modules"])
            .arg(format!("KRUSTFLAGS={MODULE_LINTS}"));
        self.logged(&mut step, &make).inspect(|_| step.done())
    }

    /// Runs a build; its log is the findings when it fails.
    fn logged(&self, step: &mut Step<'_>, command: &Command) -> Findings {
        if step.status(command)?.success() {
            return Ok(Vec::new());
        }
        let log = fs::read(step.log()).context("cannot read the log")?;
        Ok(diagnostics(&String::from_utf8_lossy(&log)))
    }
}

fn variable(name: &str, path: &Path) -> std::ffi::OsString {
    let mut word = std::ffi::OsString::from(name);
    word.push("=");
    word.push(PathBuf::from(path));
    word
}

fn has_spdx(text: &str) -> bool {
    text.lines()
        .take(3)
        .any(|line| line.contains("SPDX-License-Identifier: GPL-2.0"))
}

/// What a build's log says about the code, without what it says about the build.
fn diagnostics(log: &str) -> Vec<String> {
    let noise = |line: &str| {
        line.starts_with("+ ")
            || line.starts_with("  ") && line.trim_start().starts_with(|c: char| c.is_uppercase())
            || line.starts_with("make")
    };
    log.lines()
        .filter(|line| !noise(line))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_licence_line_is_near_the_top() {
        assert!(has_spdx("// SPDX-License-Identifier: GPL-2.0\n"));
        assert!(has_spdx("#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\n"));
        assert!(!has_spdx("a\nb\nc\n// SPDX-License-Identifier: GPL-2.0\n"));
        assert!(!has_spdx("// SPDX-License-Identifier: MIT\n"));
    }

    #[test]
    fn only_diagnostics_are_shown() {
        let log = "+ make\nmake[1]: Entering\n  CLIPPY [M] a.o\nerror: bad\n  --> a.rs:1:1\n   |\n";
        assert_eq!(diagnostics(log), ["error: bad", "  --> a.rs:1:1", "   |"]);
    }
}
