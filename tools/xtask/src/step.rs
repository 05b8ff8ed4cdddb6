// SPDX-License-Identifier: GPL-2.0

//! Steps: children that run with their output in a log, under a progress bar, and can be interrupted.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use nix::fcntl::{Flock, FlockArg};

pub use crate::child::{
    check_interrupt, command, display, handle_signals, interrupted, output, own_group, sleep, Group,
};
use crate::ctx::Ctx;
use crate::progress::Meter;

/// Lines of the log that a failing step shows.
const TAIL: usize = 30;
/// How often a step that runs without a terminal says how far it is.
const REMINDER: Duration = Duration::from_secs(60);
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Locks a mutex of this program.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these mutexes guard is valid after each single operation, so a panic spoils nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line for the user, above the progress bar if there is one.
pub fn say(line: &str) {
    let print = || {
        // Nobody is left to tell when standard error is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    };
    match locked(&BAR).as_ref() {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// A step the user sees: a title, a bar or a line, a log, a time.
pub struct Step<'a> {
    ctx: &'a Ctx,
    title: String,
    log: PathBuf,
    file: Flock<File>,
    started: Instant,
    reminded: Instant,
    bar: Option<ProgressBar>,
    meter: Option<Meter>,
    watch: Option<Watch>,
    finished: bool,
}

/// A quantity that grows while a child runs, like the size of a download.
struct Watch {
    total: u64,
    now: Box<dyn Fn() -> u64>,
    since: Instant,
}

impl Watch {
    fn time_left(&self, now: u64) -> Option<Duration> {
        let elapsed = self.since.elapsed();
        if now == 0 || elapsed < Duration::from_secs(2) {
            return None;
        }
        let left = self.total.saturating_sub(now) as f64 / now as f64;
        Some(elapsed.mul_f64(left))
    }
}

impl<'a> Step<'a> {
    /// Starts a step whose children write to the log called `log`.
    pub fn start(ctx: &'a Ctx, title: impl Into<String>, log: &str) -> Result<Self> {
        check_interrupt()?;
        let title = title.into();
        let (log, file) = open_log(&ctx.paths.logs(), log)?;
        let bar = ctx.tty.then(|| spinner(&title));
        if bar.is_none() {
            say(&format!("{title} ..."));
        }
        locked(&BAR).clone_from(&bar);
        let now = Instant::now();
        Ok(Step {
            ctx,
            title,
            log,
            file,
            started: now,
            reminded: now,
            bar,
            meter: None,
            watch: None,
            finished: false,
        })
    }

    /// Measures the step by the lines its children print.
    pub fn measure(&mut self, meter: Meter) {
        if let Some(bar) = &self.bar {
            set_bar_style(bar, Meter::SCALE);
        }
        self.meter = Some(meter);
    }

    /// Measures the step by a quantity that grows to `total`, such as the size of a file.
    pub fn watch(&mut self, total: u64, now: impl Fn() -> u64 + 'static) {
        if let Some(bar) = &self.bar {
            set_bar_style(bar, total);
        }
        self.watch = Some(Watch {
            total,
            now: Box::new(now),
            since: Instant::now(),
        });
    }

    /// Sets how far work done in this process is: `done` of `total`.
    pub fn at(&self, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            if bar.length() != Some(total) {
                set_bar_style(bar, total);
            }
            bar.set_position(done);
        }
    }

    /// Where the children's output is.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Runs a child to its end. Fails, and shows the end of the log, when the child does.
    pub fn run(&mut self, command: &Command) -> Result<()> {
        let status = self.status(command)?;
        if status.success() {
            return Ok(());
        }
        check_interrupt()?;
        self.show_tail();
        bail!(
            "{}: `{}` failed ({status}); the log is {}",
            self.title,
            command.get_program().to_string_lossy(),
            self.log.display()
        )
    }

    /// Runs a child to its end and returns its exit status.
    pub fn status(&mut self, command: &Command) -> Result<ExitStatus> {
        check_interrupt()?;
        let shown = display(command);
        if self.ctx.verbose {
            say(&format!("+ {shown}"));
        }
        writeln!(&*self.file, "+ {shown}").context("cannot write to the log")?;
        let mut child = own_group(command)
            .stdin(Stdio::null())
            .stdout(self.file.try_clone().context("cannot share the log")?)
            .stderr(self.file.try_clone().context("cannot share the log")?)
            .spawn()
            .with_context(|| format!("cannot run `{shown}`"))?;
        let _group = Group::of(&child);
        let mut reader = LogReader::open(&self.log)?;
        let mut pause = Duration::from_millis(2);
        loop {
            let status = child.try_wait().context("cannot wait for a child")?;
            let meter = self.meter.as_ref();
            let lines = reader.advance(|line| meter.is_none_or(|meter| meter.counts(line)))?;
            self.tick(lines, &reader.last_line);
            if let Some(status) = status {
                check_interrupt()?;
                return Ok(status);
            }
            thread::sleep(pause);
            // Short commands return at once, long ones are not polled to death.
            pause = (pause * 2).min(Duration::from_millis(150));
        }
    }

    fn tick(&mut self, lines: u64, last_line: &str) {
        let mut position = None;
        let mut left = None;
        if let Some(meter) = &mut self.meter {
            meter.advance(lines);
            position = Some(meter.position());
            left = meter.time_left();
        } else if let Some(watch) = &self.watch {
            let now = (watch.now)();
            position = Some(now.min(watch.total));
            left = watch.time_left(now);
        }
        if let Some(bar) = &self.bar {
            if let Some(position) = position {
                bar.set_position(position);
                let left = left.map(|left| format!("{} left", human(left)));
                bar.set_prefix(left.unwrap_or_default());
            }
            bar.set_message(last_line.trim().chars().take(40).collect::<String>());
        } else if self.reminded.elapsed() >= REMINDER {
            self.reminded = Instant::now();
            let mut line = format!("{} ... {}", self.title, human(self.started.elapsed()));
            if let Some(left) = left {
                line += &format!(", about {} left", human(left));
            }
            say(&line);
        }
    }

    /// Shows the end of the log.
    pub fn show_tail(&self) {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        let tail = &lines[lines.len().saturating_sub(TAIL)..];
        say(&format!("--- last {} lines:", tail.len()));
        for line in tail {
            say(line);
        }
        say("---");
    }

    /// Ends the step well.
    pub fn done(self) {
        self.done_with("done");
    }

    /// Ends the step well, with a word about the result.
    pub fn done_with(mut self, result: &str) {
        self.finished = true;
        if let Some(meter) = &mut self.meter {
            meter.finish();
        }
        self.clear_bar();
        let time = human(self.started.elapsed());
        say(&format!("{}: {result} ({time})", self.title));
    }

    fn clear_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            *locked(&BAR) = None;
        }
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        if let Some(meter) = &mut self.meter {
            meter.pause();
        }
        self.clear_bar();
        let how = if interrupted() {
            "interrupted"
        } else {
            "failed"
        };
        let time = human(self.started.elapsed());
        say(&format!("{}: {how} ({time})", self.title));
    }
}

fn spinner(title: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} [{elapsed}] {title} {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner();
    bar.set_style(with_title(style, title));
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn with_title(style: ProgressStyle, title: &str) -> ProgressStyle {
    let title = title.to_owned();
    style.with_key(
        "title",
        move |_: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = out.write_str(&title);
        },
    )
}

fn set_bar_style(bar: &ProgressBar, total: u64) {
    let style = bar.style();
    bar.set_length(total);
    if let Ok(style) =
        style.template("{spinner} [{elapsed}] {title} [{bar:24}] {percent}% {prefix} {wide_msg}")
    {
        bar.set_style(style.progress_chars("=> "));
    }
}

/// Opens a log; another run that writes the same log at this moment keeps it, and we take a new one.
fn open_log(dir: &Path, name: &str) -> Result<(PathBuf, Flock<File>)> {
    let pid = std::process::id();
    for path in [
        dir.join(format!("{name}.log")),
        dir.join(format!("{name}.{pid}.log")),
    ] {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        if let Ok(file) = Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            file.set_len(0).context("cannot empty the log")?;
            return Ok((path, file));
        }
    }
    bail!("the log {name} is in use")
}

/// Follows a growing log: counts lines and remembers the last.
struct LogReader {
    file: File,
    partial: Vec<u8>,
    last_line: String,
}

impl LogReader {
    fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).context("cannot read the log")?;
        file.seek(SeekFrom::End(0)).context("cannot read the log")?;
        Ok(LogReader {
            file,
            partial: Vec::new(),
            last_line: String::new(),
        })
    }

    /// Reads what is new; returns how many of the complete lines in it count.
    fn advance(&mut self, counts: impl Fn(&str) -> bool) -> Result<u64> {
        let mut new = Vec::new();
        self.file
            .read_to_end(&mut new)
            .context("cannot read the log")?;
        let mut lines = 0;
        for chunk in new.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(chunk);
            if chunk.ends_with(b"\n") {
                self.last_line = String::from_utf8_lossy(&self.partial).trim_end().to_owned();
                lines += u64::from(counts(&self.last_line));
                self.partial.clear();
            }
        }
        Ok(lines)
    }
}

/// A time as people say it.
pub fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=9 => format!("{:.1} s", time.as_secs_f64()),
        10..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!(human(Duration::from_millis(340)), "0.3 s");
        assert_eq!(human(Duration::from_secs(61)), "1 min 01 s");
        assert_eq!(human(Duration::from_secs(7260)), "2 h 01 min");
    }

    #[test]
    fn log_reader_counts_lines_across_reads() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut reader = LogReader::open(file.path()).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(reader.advance(|_| true).unwrap(), 1);
        file.write_all(b"o\nthree\n").unwrap();
        assert_eq!(reader.advance(|line| line == "two").unwrap(), 1);
        assert_eq!(reader.last_line, "three");
    }

    fn context(top: &Path) -> Ctx {
        std::fs::create_dir_all(top.join("logs")).unwrap();
        Ctx {
            paths: crate::paths::Paths {
                repo: top.to_path_buf(),
                cache: top.to_path_buf(),
            },
            verbose: false,
            tty: false,
        }
    }

    #[test]
    fn a_step_keeps_what_its_children_say() {
        let top = tempfile::tempdir().unwrap();
        let ctx = context(top.path());
        let mut step = Step::start(&ctx, "A step", "a").unwrap();
        let sh = |script: &str| {
            let mut sh = command("sh");
            sh.args(["-c", script]);
            sh
        };
        step.run(&sh("echo out; echo err >&2")).unwrap();
        let error = step.run(&sh("echo bad; exit 3")).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.contains("a.log"), "{error}");
        let log = std::fs::read_to_string(step.log()).unwrap();
        for line in ["out", "err", "bad"] {
            assert!(log.lines().any(|found| found == line), "{log}");
        }
    }

    #[test]
    fn two_runs_do_not_share_a_log() {
        let top = tempfile::tempdir().unwrap();
        let ctx = context(top.path());
        let first = Step::start(&ctx, "One", "same").unwrap();
        let second = Step::start(&ctx, "Two", "same").unwrap();
        assert_ne!(first.log(), second.log());
    }
}
