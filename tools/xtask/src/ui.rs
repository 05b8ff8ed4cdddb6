// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask test ui`: what must not compile, and does not for the stated reason alone.
//!
//! A case is a crate of one file. It starts with the rule that it breaks (`//! A buffer is posted once.`) and the errors
//! that it must get (`// error: E0382` or `// error: "part of the message"`). What breaks the rule stands under
//! `#[cfg(not(control))]`; with `control` set, the case must compile, which shows that nothing else was wrong with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{bail, Context, Result};
use serde::Deserialize;

use crate::arch::{Arch, Config};
use crate::ctx::Ctx;
use crate::kernel;
use crate::modules;
use crate::step::{self, Step};
use crate::tally::Tally;

/// Where the cases are, in the clone.
const CASES: &str = "rust/net/tests/ui";
/// A crate that uses `net`, relative to where the modules were built: cases are compiled as it was.
const MODEL: &str = "samples/rust/.rust_page_pool.o.cmd";

/// Compiles all cases.
pub fn run(ctx: &Ctx, arch: Arch, source: &kernel::Source) -> Result<Tally> {
    let kernel = kernel::ensure(ctx, arch, Config::Normal, source)?;
    let build = modules::build(ctx, &kernel)?;
    let model = build.join(MODEL);
    let model =
        fs::read_to_string(&model).with_context(|| format!("cannot read {}", model.display()))?;
    let compiler = Compiler {
        command: saved_command(&model)?,
        dir: build,
        path: kernel.toolchain.path(),
        scratch: tempfile::tempdir().context("cannot create a temporary directory")?,
    };
    let files = cases(&ctx.paths.repo.join(CASES))?;
    let step = Step::start(
        ctx,
        format!("{} cases that must not compile", files.len()),
        "test-ui",
    )?;
    let results = try_all(&files, &compiler, &step)?;
    step.done();

    let mut tally = Tally::default();
    for (file, result) in files.iter().zip(results) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        match result {
            Ok(case) => {
                let errors: Vec<_> = case.errors.iter().map(ToString::to_string).collect();
                step::say(&format!("  {name}: {} [{}]", case.rule, errors.join(", ")));
                tally.pass();
            }
            Err(error) => tally.fail(format!("ui {name}"), &format!("{error:#}")),
        }
    }
    Ok(tally)
}

fn cases(dir: &Path) -> Result<Vec<PathBuf>> {
    let items = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut files = Vec::new();
    for item in items {
        let path = item?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Tries the cases, as many at a time as there are processors; the results are in the order of the files.
fn try_all(files: &[PathBuf], compiler: &Compiler, step: &Step<'_>) -> Result<Vec<Result<Case>>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, file)) = take(&next, files) {
            if step::interrupted() {
                return;
            }
            let result = try_case(file, compiler);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((index, result));
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        while !handles.iter().all(thread::ScopedJoinHandle::is_finished) {
            step.at(next.load(Ordering::Relaxed) as u64, files.len() as u64);
            thread::sleep(std::time::Duration::from_millis(50));
        }
    });
    step::check_interrupt()?;
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

fn take<'a>(next: &AtomicUsize, files: &'a [PathBuf]) -> Option<(usize, &'a PathBuf)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, files.get(index)?))
}

fn try_case(file: &Path, compiler: &Compiler) -> Result<Case> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let case = Case::parse(&text)?;
    let (compiled, messages) = compiler.compile(file, false)?;
    case.check(compiled, &messages)?;
    let (compiled, messages) = compiler.compile(file, true)?;
    if !compiled || !messages.is_empty() {
        let shown: Vec<_> = messages.iter().map(Message::shown).collect();
        bail!(
            "with `control` set it must compile without a message:\n{}",
            shown.join("\n")
        );
    }
    Ok(case)
}

/// An error that a case must get.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    Code(String),
    /// Part of what the compiler prints.
    Text(String),
}

impl Expected {
    fn matches(&self, message: &Message) -> bool {
        match self {
            Expected::Code(code) => message
                .code
                .as_ref()
                .is_some_and(|found| found.code == *code),
            Expected::Text(text) => message.shown().contains(text.as_str()),
        }
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expected::Code(code) => f.write_str(code),
            Expected::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

/// What the head of a file says.
#[derive(Debug, PartialEq, Eq)]
struct Case {
    rule: String,
    errors: Vec<Expected>,
}

impl Case {
    fn parse(text: &str) -> Result<Self> {
        let rule = text
            .lines()
            .find_map(|line| line.strip_prefix("//! "))
            .context("there is no rule (`//! ...`)")?;
        let errors = text
            .lines()
            .filter_map(|line| line.strip_prefix("// error:"))
            .map(|stated| {
                let stated = stated.trim();
                let quoted = stated
                    .strip_prefix('"')
                    .and_then(|rest| rest.strip_suffix('"'));
                match quoted {
                    Some(text) if !text.is_empty() => Ok(Expected::Text(text.to_owned())),
                    None if is_code(stated) => Ok(Expected::Code(stated.to_owned())),
                    _ => bail!("neither an error code nor a quoted text: {stated}"),
                }
            })
            .collect::<Result<Vec<_>>>()?;
        if errors.is_empty() {
            bail!("no error is stated (`// error: ...`)");
        }
        if !text.contains("cfg(not(control))") {
            bail!("nothing in it is under `cfg(not(control))`");
        }
        Ok(Self {
            rule: rule.trim().to_owned(),
            errors,
        })
    }

    fn check(&self, compiled: bool, messages: &[Message]) -> Result<()> {
        if compiled {
            bail!("it compiles");
        }
        let errors: Vec<_> = messages
            .iter()
            .filter(|message| message.is_error())
            .collect();
        for expected in &self.errors {
            if !errors.iter().any(|message| expected.matches(message)) {
                let shown: Vec<_> = errors.iter().map(|message| message.shown()).collect();
                bail!("it does not get {expected} but\n{}", shown.join("\n"));
            }
        }
        for message in errors {
            if !self.errors.iter().any(|expected| expected.matches(message)) {
                bail!("it gets an error that is not stated:\n{}", message.shown());
            }
        }
        Ok(())
    }
}

fn is_code(text: &str) -> bool {
    text.strip_prefix('E')
        .is_some_and(|digits| digits.len() == 4 && digits.chars().all(|c| c.is_ascii_digit()))
}

/// A message of the compiler.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    message: String,
    #[serde(default)]
    level: String,
    code: Option<Code>,
    rendered: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Code {
    code: String,
}

impl Message {
    /// What a person would see.
    fn shown(&self) -> &str {
        self.rendered.as_deref().unwrap_or(&self.message)
    }

    fn is_error(&self) -> bool {
        self.level.starts_with("error")
    }

    /// The summary at the end is no message of its own.
    fn is_summary(&self) -> bool {
        self.message.starts_with("aborting due to ")
            || self.message.ends_with(" warning emitted")
            || self.message.ends_with(" warnings emitted")
            || self.level == "failure-note"
    }
}

fn parse_messages(stderr: &str) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    for line in stderr.lines().filter(|line| !line.trim().is_empty()) {
        let message: Message = serde_json::from_str(line)
            .with_context(|| format!("the compiler printed something else: {line}"))?;
        // Notes about files that were written have no level.
        if !message.level.is_empty() && !message.is_summary() {
            messages.push(message);
        }
    }
    Ok(messages)
}

/// The compiler, as Kbuild called it.
struct Compiler {
    command: Vec<String>,
    dir: PathBuf,
    path: std::ffi::OsString,
    scratch: tempfile::TempDir,
}

impl Compiler {
    /// Whether it compiles, and what the compiler had to say.
    fn compile(&self, file: &Path, control: bool) -> Result<(bool, Vec<Message>)> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("ui_{name}{}", if control { "_control" } else { "" });
        let words = adapt(&self.command, file, &name, self.scratch.path(), control)?;
        let mut words = words.iter().peekable();
        let mut variables = Vec::new();
        // `NAME=value` in front of a program, as in a shell.
        while let Some((name, value)) = words.peek().and_then(|word| assignment(word)) {
            variables.push((name, value));
            words.next();
        }
        let program = words.next().context("Kbuild's command is empty")?;
        let output = Command::new(program)
            .args(words)
            .envs(variables)
            .env("PATH", &self.path)
            // The kernel uses features that are not stable yet, and exports this in its Makefile.
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {program}"))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        Ok((output.status.success(), parse_messages(&stderr)?))
    }
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some((name, value))
}

/// The command in one of Kbuild's `.cmd` files, without others that follow it.
fn saved_command(cmd: &str) -> Result<Vec<String>> {
    let line = cmd
        .lines()
        .find(|line| line.starts_with("savedcmd_"))
        .context("there is no saved command")?;
    let (_, command) = line
        .split_once(" := ")
        .context("a saved command of another form")?;
    // make writes a dollar sign and a number sign its own way.
    let command = command.replace("$$", "$").replace("\\#", "#");
    let words = shlex::split(&command).context("a saved command with open quotes")?;
    let mut first = Vec::new();
    for word in words {
        match word.strip_suffix(';') {
            Some(last) => {
                first.push(last.to_owned());
                break;
            }
            None if ["&&", "||", "|", ";"].contains(&word.as_str()) => break,
            None => first.push(word),
        }
    }
    first.retain(|word| !word.is_empty());
    Ok(first)
}

/// The command for another source, with its messages as data and its products elsewhere.
///
/// An object is made, since some errors show up only when code is generated.
fn adapt(
    command: &[String],
    file: &Path,
    name: &str,
    scratch: &Path,
    control: bool,
) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = command.iter();
    let mut sources = 0;
    while let Some(word) = rest.next() {
        if word.starts_with("--emit=") {
        } else if word == "--out-dir" || word == "--crate-name" || word == "--emit" {
            rest.next();
        } else if word.ends_with(".rs") && !word.starts_with('-') {
            sources += 1;
        } else {
            words.push(word.clone());
        }
    }
    if sources != 1 {
        bail!("Kbuild's command names {sources} sources, not one");
    }
    let object = scratch.join(format!("{name}.o"));
    words.push(format!("--emit=obj={}", object.display()));
    words.extend(["--crate-name".to_owned(), name.to_owned()]);
    words.push("--error-format=json".to_owned());
    // Documentation is what a case's first lines are.
    words.push("-Amissing_docs".to_owned());
    if control {
        words.extend(["--cfg".to_owned(), "control".to_owned()]);
    }
    words.push(file.to_string_lossy().into_owned());
    Ok(words)
}

#[cfg(test)]
#[path = "ui_tests.rs"]
mod tests;
