// SPDX-License-Identifier: GPL-2.0

//! Children of this program: a clean environment, a process group of their own, an end when asked.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use nix::sys::signal::{killpg, Signal};
use nix::unistd::Pid;

use crate::ctx::Ctx;
use crate::step::{locked, say};

/// What a child has to stop after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Makes Ctrl-C, SIGTERM and SIGHUP stop the registered children; the steps then fail in order.
pub fn handle_signals() -> Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            signal_groups(Signal::SIGKILL);
            return;
        }
        signal_groups(Signal::SIGTERM);
        thread::spawn(|| {
            thread::sleep(GRACE);
            signal_groups(Signal::SIGKILL);
        });
    })
    .context("cannot handle signals")
}

fn signal_groups(signal: Signal) {
    for group in locked(&GROUPS).iter() {
        // A group that is gone already is what we want.
        let _ = killpg(*group, signal);
    }
}

/// Whether the user asked to stop.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Fails when the user asked to stop: for loops of work done in this process.
pub fn check_interrupt() -> Result<()> {
    if interrupted() {
        bail!("interrupted");
    }
    Ok(())
}

/// Sleeps, but not through an interrupt.
pub fn sleep(time: Duration) -> Result<()> {
    thread::sleep(time);
    check_interrupt()
}

/// A process group that an interrupt kills, and that dies with this value at the latest.
pub struct Group(Pid);

impl Group {
    /// Registers the group of a child that was started with [`own_group`].
    pub fn of(child: &Child) -> Self {
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        locked(&GROUPS).push(pid);
        Group(pid)
    }

    /// Asks the whole group to end.
    pub fn terminate(&self) {
        let _ = killpg(self.0, Signal::SIGTERM);
    }

    /// Ends the whole group.
    pub fn kill(&self) {
        let _ = killpg(self.0, Signal::SIGKILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        locked(&GROUPS).retain(|group| *group != self.0);
    }
}

/// Puts a child into a process group of its own, and makes it end if this process is killed.
///
/// Without the group a terminal's Ctrl-C would reach each grandchild by itself, in any order.
pub fn own_group(command: &Command) -> Command {
    let mut own = if Path::new("/usr/bin/setpriv").exists() {
        let mut own = Command::new("/usr/bin/setpriv");
        own.args(["--pdeathsig", "TERM", "--"]);
        own.arg(command.get_program());
        own
    } else {
        Command::new(command.get_program())
    };
    own.args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => own.env(key, value),
            None => own.env_remove(key),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        own.current_dir(dir);
    }
    own.process_group(0);
    own
}

/// A command free of the settings that `make` and `cargo` leave in the environment of this program.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in LEAKED {
        command.env_remove(name);
    }
    // Messages are compared and logged: one language.
    command.env("LC_ALL", "C.UTF-8");
    command
}

/// Variables that would change what a child `make` or `cargo` does behind our back.
const LEAKED: &[&str] = &[
    "MAKEFLAGS",
    "MFLAGS",
    "MAKEOVERRIDES",
    "MAKELEVEL",
    "GNUMAKEFLAGS",
    "ARCH",
    "SUBARCH",
    "CROSS_COMPILE",
    "LLVM",
    "KDIR",
    "M",
    "O",
    "KBUILD_OUTPUT",
    "KBUILD_EXTMOD",
    "KCFLAGS",
    "KRUSTFLAGS",
    "RUSTFLAGS",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
    "LD_LIBRARY_PATH",
];

/// Shows a command as one would type it.
pub fn display(command: &Command) -> String {
    let quote = |word: &OsStr| {
        let word = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:+,@%~".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let mut words = vec![quote(command.get_program())];
    words.extend(command.get_args().map(quote));
    words.join(" ")
}

/// Runs a short command to its end and returns its standard output.
pub fn output(ctx: &Ctx, command: &mut Command) -> Result<String> {
    if ctx.verbose {
        say(&format!("+ {}", display(command)));
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", display(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({}): {}",
            display(command),
            output.status,
            stderr.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted() {
        let mut command = Command::new("make");
        command.args(["ARCH=um", "a b", "it's"]);
        assert_eq!(display(&command), r"make ARCH=um 'a b' 'it'\''s'");
    }

    #[test]
    fn what_make_leaves_behind_is_removed() {
        let command = command("true");
        let removed = |name: &str| {
            command
                .get_envs()
                .any(|(key, value)| key == name && value.is_none())
        };
        assert!(removed("MAKEFLAGS"));
        assert!(removed("ARCH"));
    }

    #[test]
    fn a_group_ends_with_its_guard() {
        let mut child = own_group(Command::new("sleep").arg("60")).spawn().unwrap();
        let group = Group::of(&child);
        drop(group);
        assert!(!child.wait().unwrap().success());
    }
}
