// SPDX-License-Identifier: GPL-2.0

//! Processes that a machine started: User Mode Linux runs each guest process in one, and some leave its process group.

use std::collections::HashMap;
use std::fs;

use nix::sys::prctl;
use nix::sys::signal::{kill as send, Signal};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

/// A process, told from another that gets its number later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    started: u64,
}

/// Makes orphans among our descendants ours to wait for, so that none is left behind as a zombie.
pub fn adopt_orphans() {
    // Where this is not possible, the system's init has the work.
    let _ = prctl::set_child_subreaper(true);
}

/// Waits for the members of a process group that has been killed, as far as they are ours.
pub fn reap_group(group: u32) {
    let Ok(group) = i32::try_from(group) else {
        return;
    };
    while waitpid(Pid::from_raw(-group), None).is_ok() {}
}

/// All descendants of a process that there are now.
pub fn descendants(of: u32) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    for entry in entries.flatten() {
        let pid = entry.file_name().to_string_lossy().parse();
        if let Some((parent, process)) = pid.ok().and_then(look_up) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found: Vec<Process> = Vec::new();
    let mut next = vec![of];
    while let Some(pid) = next.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        next.extend(below.iter().map(|process| process.pid));
        found.extend(below);
    }
    found
}

/// Ends those that are still there.
pub fn kill(processes: &[Process]) {
    for process in processes {
        let still = look_up(process.pid).is_some_and(|(_, now)| now == *process);
        if let (true, Ok(pid)) = (still, i32::try_from(process.pid)) {
            // It may end by itself at this very moment.
            let _ = send(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

/// The parent of a process, and the process.
fn look_up(pid: u32) -> Option<(u32, Process)> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(pid: u32, stat: &str) -> Option<(u32, Process)> {
    // The name, in parentheses, may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((parent, Process { pid, started }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn stat_is_read_whatever_the_name() {
        let stat = "12 (a) b) S 7 12 12 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 2";
        let process = Process {
            pid: 12,
            started: 4711,
        };
        assert_eq!(parse(12, stat), Some((7, process)));
        assert_eq!(parse(12, "12 (x"), None);
    }

    #[test]
    fn a_descendant_is_found_and_ended() {
        let mut child = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mine: Vec<_> = descendants(std::process::id())
            .into_iter()
            .filter(|process| process.pid == child.id())
            .collect();
        assert_eq!(mine.len(), 1);
        kill(&mine);
        assert!(!child.wait().unwrap().success());
        kill(&mine);
    }
}
