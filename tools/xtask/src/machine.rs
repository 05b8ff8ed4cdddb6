// SPDX-License-Identifier: GPL-2.0

//! A machine that boots a kernel and an initramfs: User Mode Linux, or QEMU for another processor.
//!
//! A machine that runs a script writes two files: the kernel's console and the script's output. Files, since a machine
//! drops console output that a slow reader of a pipe does not take.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use nix::sys::statvfs::statvfs;
use tempfile::TempDir;

use crate::arch::{Arch, Config};
use crate::console::{Output, Tail};
use crate::ctx::Ctx;
use crate::kernel::Kernel;
use crate::processes;
use crate::step::{self, Group};

/// How often what a machine wrote is looked at.
const POLL: Duration = Duration::from_millis(15);
/// More than any run should write; what exceeds it goes round in circles.
const MAX_WRITTEN: u64 = 256 << 20;
const CPUS: u32 = 2;
/// What the names of machines' directories begin with; the number of the process that made it follows.
const DIR_PREFIX: &str = "mvpp2-lab-";

/// A machine that has not been started.
pub struct Machine<'a> {
    ctx: &'a Ctx,
    kernel: &'a Kernel,
    memory_mib: u64,
    /// The initramfs, the files it writes, and what it needs besides.
    dir: TempDir,
}

/// How a script's run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The script ended with this status and the machine powered off.
    Exited(u8),
    /// The machine stopped without a word of the script's status.
    Died(String),
    /// The machine was stopped.
    TimedOut(Duration),
}

/// What a script's run left.
pub struct Run {
    pub end: End,
    /// The kernel's console.
    pub console: String,
    /// The script's output.
    pub output: String,
    /// Where the console and, beside it, the output are kept.
    pub log: PathBuf,
    pub time: Duration,
}

impl<'a> Machine<'a> {
    pub fn new(ctx: &'a Ctx, kernel: &'a Kernel) -> Result<Self> {
        if kernel.arch == Arch::X86_64 {
            bail!(
                "there is no lab for {}; there are um and arm64",
                kernel.arch
            );
        }
        remove_leftovers();
        let dir = tempfile::Builder::new()
            .prefix(&format!("{DIR_PREFIX}{}-", std::process::id()))
            .tempdir()
            .context("cannot create a temporary directory")?;
        // The checkers of a debug kernel keep a shadow of everything.
        let memory_mib = match kernel.config {
            Config::Normal | Config::Bench => 1024,
            Config::Debug => 2048,
        };
        Ok(Self {
            ctx,
            kernel,
            memory_mib,
            dir,
        })
    }

    /// Where the initramfs is to be written.
    pub fn initramfs(&self) -> PathBuf {
        self.dir.path().join("initramfs.cpio")
    }

    /// The guest's terminal that a person's terminal is connected to.
    pub fn shell_terminal(&self) -> &'static str {
        match self.kernel.arch {
            Arch::Um => "tty0",
            _ => "ttyAMA0",
        }
    }

    /// The guest's terminal that a script's output goes to.
    pub fn script_terminal(&self) -> &'static str {
        match self.kernel.arch {
            Arch::Um => "tty1",
            _ => "hvc0",
        }
    }

    /// The command whose standard input and output are the guest's console.
    pub fn interactive(&self) -> Command {
        match self.kernel.arch {
            Arch::Um => self.um(&["con0=fd:0,fd:1"]),
            _ => self.qemu(&[
                "-chardev",
                "stdio,id=console,signal=off",
                "-serial",
                "chardev:console",
            ]),
        }
    }

    /// Boots, runs the script in the initramfs and waits until the machine is off.
    ///
    /// `sink` gets the script's output as it comes.
    pub fn run_script(
        &self,
        token: &str,
        timeout: Duration,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<Run> {
        let console = self.dir.path().join("console");
        let output = self.dir.path().join("output");
        let errors = self.dir.path().join("errors");
        let mut tails = [create(&console)?, create(&output)?];
        let mut command = self.command_with_files(&console, &output)?;
        processes::adopt_orphans();
        let started = Instant::now();
        let mut child = self.spawn(&mut command, &errors)?;
        let group = Group::of(&child);

        let mut console_text = Vec::new();
        let mut script_text = Vec::new();
        let mut status_in = Output::new(token);
        let mut stopped = None;
        let exit = loop {
            // The order matters: what was written before the exit is read after it was seen.
            let exit = child.try_wait().context("cannot wait for the machine")?;
            console_text.extend(tails[0].read()?);
            let script = status_in.feed(&tails[1].read()?);
            sink(&script);
            script_text.extend(script);
            if let Some(exit) = exit {
                break exit;
            }
            let written: u64 = tails.iter().map(Tail::total).sum();
            if step::interrupted() {
                // The interrupt may have come before there was a group to signal.
                group.kill();
            } else if stopped.is_none() && written > MAX_WRITTEN {
                stopped = Some(End::Died(format!("wrote more than {MAX_WRITTEN} bytes")));
                group.kill();
            } else if stopped.is_none() && started.elapsed() > timeout {
                stopped = Some(End::TimedOut(timeout));
                group.kill();
            }
            thread::sleep(POLL);
        };
        drop(group);
        processes::reap_group(child.id());
        step::check_interrupt()?;

        let (status, rest) = status_in.finish();
        sink(&rest);
        script_text.extend(rest);
        let end = match (stopped, status) {
            (Some(end), _) => end,
            (None, Some(status)) => End::Exited(status),
            (None, None) => End::Died(died(exit, &errors)),
        };
        let log = self.keep(&console_text, &script_text)?;
        Ok(Run {
            end,
            console: String::from_utf8_lossy(&console_text).into_owned(),
            output: String::from_utf8_lossy(&script_text).into_owned(),
            log,
            time: started.elapsed(),
        })
    }

    fn spawn(&self, command: &mut Command, errors: &Path) -> Result<Child> {
        if self.ctx.verbose {
            step::say(&format!("+ {}", step::display(command)));
        }
        let errors = File::create(errors).context("cannot create a file")?;
        command
            .stderr(errors)
            .spawn()
            .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))
    }

    fn command_with_files(&self, console: &Path, output: &Path) -> Result<Command> {
        if self.kernel.arch == Arch::Um {
            let mut command = step::own_group(&self.um(&["con0=null,fd:1", "con1=null,fd:0"]));
            // Standard input is the one more descriptor that a child gets without ado; nothing forbids to write to it.
            command.stdin(append(output)?).stdout(append(console)?);
            return Ok(command);
        }
        let mut serial = OsString::from("file:");
        serial.push(console);
        let mut file = OsString::from("file,id=output,path=");
        file.push(output);
        let mut command = self.qemu(&["-device", "virtio-serial-pci"]);
        command.arg("-serial").arg(serial);
        command.arg("-chardev").arg(file);
        command.args(["-device", "virtconsole,chardev=output"]);
        let mut command = step::own_group(&command);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }

    fn um(&self, consoles: &[&str]) -> Command {
        let mut command = step::command(self.kernel.image());
        let assign = |name: &str, path: &Path| {
            let mut word = OsString::from(name);
            word.push(path);
            word
        };
        // It is the faster way to run guest processes, and the only one with several processors.
        command.arg("seccomp=on");
        if self.kernel.config != Config::Bench {
            command.arg(format!("ncpus={CPUS}"));
        }
        command
            .arg(format!("mem={}M", self.memory_mib))
            .arg(assign("initrd=", &self.initramfs()))
            .arg(assign("uml_dir=", self.dir.path()))
            .args(["umid=um", "con=null", "ssl=null"])
            .args(consoles)
            .arg("panic=-1");
        // The guest's memory is a file that grows as the guest uses it.
        command.env("TMPDIR", memory_dir(self.memory_mib, self.dir.path()));
        command
    }

    fn qemu(&self, consoles: &[&str]) -> Command {
        let mut command = step::command("qemu-system-aarch64");
        let kvm = std::env::consts::ARCH == "aarch64"
            && OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/kvm")
                .is_ok();
        // The architecture's own algorithm for pointer authentication is most of the time of an emulated call.
        let (accelerator, cpu) = if kvm {
            ("kvm", "host")
        } else {
            ("tcg", "max,pauth-impdef=on")
        };
        command
            .args([
                "-M",
                "virt,gic-version=3",
                "-accel",
                accelerator,
                "-cpu",
                cpu,
            ])
            .args(["-smp", &CPUS.to_string()])
            .args(["-m", &format!("{}M", self.memory_mib)])
            .args([
                "-nodefaults",
                "-display",
                "none",
                "-monitor",
                "none",
                "-no-reboot",
            ])
            .args(consoles)
            .arg("-kernel")
            .arg(self.kernel.image())
            .arg("-initrd")
            .arg(self.initramfs())
            .arg("-append")
            .arg(match self.kernel.config {
                // All DMA bounces, so that a buffer which is not synchronised, or too little of it, shows.
                Config::Debug => "console=ttyAMA0 panic=-1 swiotlb=force",
                _ => "console=ttyAMA0 panic=-1",
            });
        command
    }

    /// Keeps what was written where the next run of the same lab finds and replaces it.
    fn keep(&self, console: &[u8], output: &[u8]) -> Result<PathBuf> {
        let name = format!("lab-{}-{}", self.kernel.arch, self.kernel.config);
        let log = self.ctx.paths.logs().join(format!("{name}.console.log"));
        let beside = self.ctx.paths.logs().join(format!("{name}.output.log"));
        fs::write(&log, console).with_context(|| format!("cannot write {}", log.display()))?;
        fs::write(&beside, output).with_context(|| format!("cannot write {}", beside.display()))?;
        Ok(log)
    }
}

impl End {
    /// Whether the script said that all went well.
    pub fn is_success(&self) -> bool {
        *self == End::Exited(0)
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exited(status) => write!(f, "the script ended with status {status}"),
            End::Died(how) => write!(f, "the machine stopped before the script ended: {how}"),
            End::TimedOut(limit) => write!(f, "no end within {}", step::human(*limit)),
        }
    }
}

/// Removes the directories of runs that were killed and so could not do it.
fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| {
            name.strip_prefix(DIR_PREFIX)?
                .split('-')
                .next()?
                .parse()
                .ok()
        });
        if pid.is_some_and(|pid: u32| !Path::new(&format!("/proc/{pid}")).exists()) {
            // Another user's is theirs to remove.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A random word.
pub fn random_token() -> Result<String> {
    use std::io::Read;
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("no random numbers")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn create(path: &Path) -> Result<Tail> {
    File::create(path)
        .and_then(|_| Tail::open(path))
        .with_context(|| format!("cannot create {}", path.display()))
}

fn append(path: &Path) -> Result<File> {
    OpenOptions::new()
        .append(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))
}

/// Memory in a file system of memory is faster, if there is enough: a container often has too little.
fn memory_dir(needed_mib: u64, otherwise: &Path) -> PathBuf {
    let shm = Path::new("/dev/shm");
    match statvfs(shm) {
        Ok(stat) if stat.blocks_available() * stat.fragment_size() > needed_mib << 20 => shm.into(),
        _ => otherwise.into(),
    }
}

fn died(exit: ExitStatus, errors: &Path) -> String {
    let errors = fs::read_to_string(errors).unwrap_or_default();
    match errors.trim().lines().last() {
        Some(line) if !exit.success() => format!("{exit}: {line}"),
        _ => exit.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        let token = random_token().unwrap();
        assert_eq!(token.len(), 32);
        assert_ne!(token, random_token().unwrap());
    }

    #[test]
    fn what_a_killed_run_left_is_removed() {
        let name = |pid: u32| std::env::temp_dir().join(format!("{DIR_PREFIX}{pid}-test"));
        // Above any kernel's limit.
        let (dead, alive) = (name(u32::MAX), name(std::process::id()));
        fs::create_dir_all(&dead).unwrap();
        fs::create_dir_all(&alive).unwrap();
        remove_leftovers();
        assert!(!dead.exists());
        assert!(alive.exists());
        fs::remove_dir(&alive).unwrap();
    }

    #[test]
    fn memory_goes_elsewhere_when_it_does_not_fit() {
        assert_eq!(memory_dir(1 << 40, Path::new("/x")), Path::new("/x"));
    }

    #[test]
    fn only_status_zero_is_success() {
        assert!(End::Exited(0).is_success());
        assert!(!End::Exited(1).is_success());
        assert!(!End::Died(String::new()).is_success());
        assert!(!End::TimedOut(Duration::from_secs(1)).is_success());
    }
}
