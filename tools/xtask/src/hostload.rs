// SPDX-License-Identifier: GPL-2.0

//! How busy the host was with other work while something was measured.

use std::fs;

use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::{TimeVal, TimeValLike};

/// The kernel counts a processor's time in hundredths of a second, for user space.
const TICK_MS: u64 = 10;

/// A moment from which on the host is watched.
pub struct Watch {
    before: Option<Times>,
}

/// Processor time in milliseconds, of all processors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    all: u64,
    busy: u64,
    ours: u64,
}

impl Watch {
    pub fn start() -> Self {
        Self { before: now() }
    }

    /// The share of the processors that others had since then; our children count once they have ended.
    pub fn others(&self) -> Option<f64> {
        share(self.before?, now()?)
    }
}

fn now() -> Option<Times> {
    let (all, busy) = parse(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(Times {
        all,
        busy,
        ours: usage(UsageWho::RUSAGE_SELF)? + usage(UsageWho::RUSAGE_CHILDREN)?,
    })
}

fn usage(who: UsageWho) -> Option<u64> {
    let usage = getrusage(who).ok()?;
    let ms = |time: TimeVal| u64::try_from(time.num_milliseconds()).ok();
    Some(ms(usage.user_time())? + ms(usage.system_time())?)
}

fn parse(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<Vec<u64>, _>>()
        .ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user time.
    let all: u64 = ticks.get(..8)?.iter().sum();
    let idle = ticks[3] + ticks[4];
    Some((all * TICK_MS, (all - idle) * TICK_MS))
}

fn share(before: Times, after: Times) -> Option<f64> {
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    let busy = after.busy.checked_sub(before.busy)?;
    let ours = after.ours.checked_sub(before.ours)?;
    Some(busy.saturating_sub(ours) as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read() {
        let stat = "cpu  10 1 20 300 5 2 3 4 6 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(parse(stat), Some((3450, 400)));
        assert_eq!(parse("cpu  1 2\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn our_own_time_is_taken_off() {
        let times = |all, busy, ours| Times { all, busy, ours };
        assert_eq!(share(times(0, 0, 0), times(1000, 700, 200)), Some(0.5));
        assert_eq!(share(times(0, 0, 0), times(1000, 100, 200)), Some(0.0));
        assert_eq!(share(times(5, 0, 0), times(5, 0, 0)), None);
    }

    #[test]
    fn this_host_can_be_watched() {
        let watch = Watch::start();
        assert!(watch
            .others()
            .is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
