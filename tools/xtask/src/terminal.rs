// SPDX-License-Identifier: GPL-2.0

//! A person's terminal, connected to a machine's console.
//!
//! The machine gets a pseudo-terminal of its own and never touches the person's. So the person's terminal is put back by
//! this program alone, on every way out, and what passes by can be logged.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{open, Mode, OFlags};
use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use rustix::termios::{
    tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize, OptionalActions, Termios, Winsize,
};

use crate::processes;
use crate::step::{self, Group};

/// Ctrl-], as in telnet.
const ESCAPE: u8 = 0x1d;
/// How often the size of the terminal and the machine's state are looked at when nothing passes.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// What a machine that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The machine ended by itself.
    PoweredOff,
    /// The person stopped it.
    Stopped,
}

/// Rows and columns of the person's terminal.
pub fn size() -> Result<(u16, u16)> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        bail!("a shell needs a terminal; to run a script, use --run");
    }
    let size = tcgetwinsize(std::io::stdout()).context("the terminal has no size")?;
    // Some terminals do not know.
    Ok(match (size.ws_row, size.ws_col) {
        (0, _) | (_, 0) => (24, 80),
        known => known,
    })
}

/// Runs a machine with its console on the person's terminal.
pub fn connect(command: &Command, log: &Path) -> Result<End> {
    let mut log = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let (mut near, far) = pseudo_terminal()?;
    processes::adopt_orphans();
    let mut child = spawn(command, &far)?;
    // Reading ends when the last copy of this side is closed: it must not be ours.
    drop(far);
    let group = Group::of(&child);
    let raw = Raw::enter()?;
    let end = pass(&mut near, &mut child, &mut log);
    drop(raw);
    stop(&mut child, &group);
    step::check_interrupt()?;
    end
}

fn pseudo_terminal() -> Result<(File, OwnedFd)> {
    let make = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&near)?;
        unlockpt(&near)?;
        let name = ptsname(&near, Vec::new())?;
        let far = open(
            name.as_c_str(),
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        if let Ok(size) = tcgetwinsize(std::io::stdout()) {
            tcsetwinsize(&near, size)?;
        }
        Ok((near, far))
    };
    let (near, far) = make().context("cannot make a pseudo-terminal")?;
    Ok((File::from(near), far))
}

fn spawn(command: &Command, far: &OwnedFd) -> Result<Child> {
    let copy = || far.try_clone().context("cannot share a pseudo-terminal");
    step::own_group(command)
        .stdin(copy()?)
        .stdout(copy()?)
        .stderr(copy()?)
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))
}

/// Passes bytes both ways until the machine ends or the person has enough.
fn pass(near: &mut File, child: &mut Child, log: &mut File) -> Result<End> {
    let mut size = tcgetwinsize(std::io::stdout()).ok();
    let mut buffer = [0; 4096];
    loop {
        let (from_person, from_machine) = {
            let stdin = std::io::stdin();
            let mut waiting = [
                PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(near.as_fd(), PollFlags::IN),
            ];
            match poll(&mut waiting, Some(&TICK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot wait for the terminal"),
            }
            (waiting[0].revents(), waiting[1].revents())
        };
        if step::interrupted() {
            return Ok(End::Stopped);
        }
        if !from_machine.is_empty() {
            match near.read(&mut buffer) {
                Ok(0) => return Ok(End::PoweredOff),
                Ok(length) => {
                    let mut stdout = std::io::stdout();
                    stdout.write_all(&buffer[..length])?;
                    stdout.flush()?;
                    log.write_all(&buffer[..length])?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A pseudo-terminal that nobody has open any more says so by an error.
                Err(_) => return Ok(End::PoweredOff),
            }
        } else if child.try_wait()?.is_some() {
            // A helper process may still have the terminal open.
            return Ok(End::PoweredOff);
        }
        if !from_person.is_empty() {
            // The descriptor itself, not Rust's buffered reader: bytes in a buffer wake no poll.
            let length = match rustix::io::read(std::io::stdin(), &mut buffer) {
                Ok(length) => length,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error).context("cannot read the terminal"),
            };
            if length == 0 || buffer[..length].contains(&ESCAPE) {
                return Ok(End::Stopped);
            }
            near.write_all(&buffer[..length])?;
        }
        let now = tcgetwinsize(std::io::stdout()).ok();
        if let Some(new) = now.filter(|new| !same_size(Some(new), size.as_ref())) {
            tcsetwinsize(&*near, new)?;
            size = now;
        }
    }
}

fn same_size(a: Option<&Winsize>, b: Option<&Winsize>) -> bool {
    let pair = |size: &Winsize| (size.ws_row, size.ws_col);
    a.map(pair) == b.map(pair)
}

/// Ends a machine if it has not ended, and whatever it started.
fn stop(child: &mut Child, group: &Group) {
    let helpers = processes::descendants(child.id());
    let started = Instant::now();
    group.terminate();
    while !matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
        if started.elapsed() > GRACE {
            group.kill();
            // A process that was killed is there to be waited for.
            let _ = child.wait();
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    processes::kill(&helpers);
    group.kill();
    processes::reap_group(child.id());
}

/// The person's terminal, every key of which is passed on while this value lives.
struct Raw {
    before: Termios,
}

impl Raw {
    fn enter() -> Result<Self> {
        let before = tcgetattr(std::io::stdin()).context("not a terminal")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &raw)
            .context("cannot set the terminal")?;
        Ok(Raw { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // There is nothing to be done about a terminal that is gone.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, &self.before);
        // Attributes and the cursor that a program in the guest left.
        let _ = std::io::stdout().write_all(b"\x1b[0m\x1b[?25h\r");
        let _ = std::io::stdout().flush();
    }
}
