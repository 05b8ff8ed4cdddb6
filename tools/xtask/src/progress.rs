// SPDX-License-Identifier: GPL-2.0

//! How far a long build is, told from how an earlier one went.
//!
//! A kernel build prints a line for each file, but a Rust crate takes a hundred times as long as a
//! small C file. So what is remembered is not how many lines there were, but when each came.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cache::write_atomic;

/// Marks that are kept of a build.
const MARKS: usize = 100;

/// Parts of the lines and of the time of a kernel build. Modules and the last links are slow.
const KERNEL_SHAPE: &[(f64, f64)] = &[
    (0.003, 0.02),
    (0.20, 0.22),
    (0.31, 0.36),
    (0.45, 0.51),
    (0.66, 0.65),
    (0.87, 0.76),
    (0.92, 0.84),
    (0.95, 0.93),
    (1.0, 1.0),
];

/// How often a running build's measurements are written down.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// How a build went: after how many seconds how many lines were there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    marks: Vec<(u64, f64)>,
}

impl Profile {
    /// A build that prints `lines` lines evenly: a first guess.
    pub fn even(lines: u64, seconds: f64) -> Self {
        Profile {
            marks: vec![(lines, seconds)],
        }
    }

    /// A kernel build of so many lines and seconds: a better guess, from how one went.
    pub fn kernel(lines: u64, seconds: f64) -> Self {
        let mark = |&(part, time): &(f64, f64)| ((lines as f64 * part) as u64, seconds * time);
        Profile {
            marks: KERNEL_SHAPE.iter().map(mark).collect(),
        }
    }

    fn load(path: &Path) -> Option<Self> {
        let profile: Profile = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        profile.marks.last().filter(|(_, time)| *time > 0.0)?;
        Some(profile)
    }

    fn save(&self, path: &Path) {
        // Only an estimate is lost if this fails.
        if let Ok(text) = serde_json::to_vec(self) {
            let _ = write_atomic(path, &text);
        }
    }

    fn seconds(&self) -> f64 {
        self.marks.last().map_or(0.0, |(_, time)| *time)
    }

    /// When, in seconds from its start, this build had printed `lines` lines.
    fn time_at(&self, lines: u64) -> f64 {
        let (mut from_lines, mut from_time) = (0, 0.0);
        for &(to_lines, to_time) in &self.marks {
            if lines < to_lines {
                let part = (lines - from_lines) as f64 / (to_lines - from_lines) as f64;
                return from_time + part * (to_time - from_time);
            }
            (from_lines, from_time) = (to_lines, to_time);
        }
        from_time
    }

    fn thin(&mut self) {
        if self.marks.len() > 2 * MARKS {
            let last = self.marks.len() - 1;
            let mut index = 0;
            self.marks.retain(|_| {
                index += 1;
                index % 2 == 0 || index > last
            });
        }
    }
}

/// Measures a running build against a profile, and records the next one.
pub struct Meter {
    expected: Profile,
    recorded: Profile,
    lines: u64,
    /// Seconds spent and position reached by earlier runs that were interrupted.
    before: f64,
    started_at: f64,
    started: Instant,
    profile_path: PathBuf,
    resume_path: PathBuf,
    counts: fn(&str) -> bool,
    saved: Instant,
}

/// Whether a line names a file that Kbuild makes; compilers' warnings do not.
pub fn is_kbuild_action(line: &str) -> bool {
    line.strip_prefix("  ")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

impl Meter {
    /// The number of steps of a progress bar.
    pub const SCALE: u64 = 1000;

    /// A meter for the build in `dir`; builds that go alike share `name` in `store`.
    ///
    /// It counts the lines that `counts` says yes to.
    pub fn new(
        store: &Path,
        name: &str,
        dir: &Path,
        guess: Profile,
        counts: fn(&str) -> bool,
    ) -> Self {
        let profile_path = store.join(format!("{name}.json"));
        let resume_path = dir.join(".xtask-progress");
        let expected = Profile::load(&profile_path).unwrap_or(guess);
        let recorded = Profile::load(&resume_path).unwrap_or_default();
        let (lines, before) = recorded.marks.last().copied().unwrap_or_default();
        Meter {
            started_at: expected.time_at(lines),
            expected,
            recorded,
            lines,
            before,
            started: Instant::now(),
            profile_path,
            resume_path,
            counts,
            saved: Instant::now(),
        }
    }

    /// Whether a line counts.
    pub fn counts(&self, line: &str) -> bool {
        (self.counts)(line)
    }

    /// Notes that so many more lines were printed.
    pub fn advance(&mut self, lines: u64) {
        if lines == 0 {
            return;
        }
        self.lines += lines;
        let now = self.before + self.started.elapsed().as_secs_f64();
        match self.recorded.marks.last() {
            Some((_, time)) if now - time < 1.0 => {}
            _ => self.recorded.marks.push((self.lines, now)),
        }
        self.recorded.thin();
        // Not only at the end: this program may be killed without notice.
        if self.saved.elapsed() > SAVE_EVERY {
            self.saved = Instant::now();
            self.recorded.save(&self.resume_path);
        }
    }

    /// Between 0 and 1, of the time that the expected build took.
    fn fraction(&self) -> f64 {
        let total = self.expected.seconds();
        if total <= 0.0 {
            return 0.0;
        }
        // Lines beyond the expected end say that the end was guessed wrong, not that it is reached.
        (self.expected.time_at(self.lines) / total).min(0.99)
    }

    /// The position of a bar of length [`Meter::SCALE`].
    pub fn position(&self) -> u64 {
        (self.fraction() * Self::SCALE as f64) as u64
    }

    /// The time left, at this machine's present speed; nothing where the expectation has run out.
    pub fn time_left(&self) -> Option<Duration> {
        let (end, _) = self.expected.marks.last()?;
        if self.lines >= *end {
            return None;
        }
        let elapsed = self.started.elapsed().as_secs_f64();
        let gone = self.expected.time_at(self.lines) - self.started_at;
        let left = (1.0 - self.fraction()) * self.expected.seconds();
        // Too early the speed is noise: take the earlier build's as it was.
        let speed = if elapsed < 15.0 || gone < 5.0 {
            1.0
        } else {
            gone / elapsed
        };
        Duration::try_from_secs_f64(left / speed).ok()
    }

    /// Keeps what was measured for the run that goes on from here.
    pub fn pause(&mut self) {
        self.close();
        self.recorded.save(&self.resume_path);
    }

    /// Keeps what was measured as the expectation for the next build.
    pub fn finish(&mut self) {
        self.close();
        if let Some(dir) = self.profile_path.parent() {
            let _ = fs::create_dir_all(dir);
        }
        // A build that found nearly everything made already tells nothing about a full one.
        if self.lines * 2 > self.expected.marks.last().map_or(0, |(lines, _)| *lines) {
            self.recorded.save(&self.profile_path);
        }
        let _ = fs::remove_file(&self.resume_path);
    }

    fn close(&mut self) {
        let now = self.before + self.started.elapsed().as_secs_f64();
        self.recorded.marks.push((self.lines, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uneven() -> Profile {
        Profile {
            marks: vec![(100, 10.0), (110, 60.0), (1000, 100.0)],
        }
    }

    #[test]
    fn time_follows_the_profile() {
        let profile = uneven();
        assert_eq!(profile.time_at(0), 0.0);
        assert_eq!(profile.time_at(50), 5.0);
        assert_eq!(profile.time_at(105), 35.0);
        assert_eq!(profile.time_at(5000), 100.0);
    }

    #[test]
    fn a_paused_build_goes_on_where_it_was() {
        let top = tempfile::tempdir().unwrap();
        let new = || Meter::new(top.path(), "k", top.path(), uneven(), |_| true);
        let mut meter = new();
        meter.advance(110);
        assert_eq!(meter.position(), 600);
        meter.pause();
        let mut meter = new();
        assert_eq!(meter.position(), 600);
        meter.advance(890);
        assert_eq!(meter.position(), 990);
        meter.finish();
        let meter = new();
        assert_eq!(meter.position(), 0);
        assert_eq!(meter.expected.marks.last().unwrap().0, 1000);
    }

    #[test]
    fn a_short_rebuild_does_not_replace_the_profile() {
        let top = tempfile::tempdir().unwrap();
        let mut meter = Meter::new(top.path(), "k", top.path(), uneven(), |_| true);
        meter.advance(3);
        meter.finish();
        assert!(!top.path().join("k.json").exists());
    }

    #[test]
    fn a_guessed_kernel_ends_when_it_should() {
        let profile = Profile::kernel(1000, 100.0);
        assert_eq!(profile.time_at(1000), 100.0);
        assert!(profile.time_at(870) < 77.0);
    }

    #[test]
    fn warnings_are_no_progress() {
        assert!(is_kbuild_action("  CC      mm/slub.o"));
        assert!(is_kbuild_action("  RUSTC L rust/core.o"));
        assert!(!is_kbuild_action("mm/slub.c:1: warning: x"));
        assert!(!is_kbuild_action("      |        ^"));
        assert!(!is_kbuild_action("  --> a.rs"));
    }

    #[test]
    fn thinning_keeps_the_end() {
        let mut profile = Profile {
            marks: (1..=300).map(|n| (n, n as f64)).collect(),
        };
        profile.thin();
        assert_eq!(profile.marks.len(), 150);
        assert_eq!(profile.marks.last().copied(), Some((300, 300.0)));
    }
}
