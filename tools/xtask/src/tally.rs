// SPDX-License-Identifier: GPL-2.0

//! Counted test results.

use crate::step;

/// How many tests passed, and what happened to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    passed: usize,
    /// What failed, with details of any number of lines.
    failed: Vec<(String, String)>,
    /// What was skipped, with the reason.
    skipped: Vec<(String, String)>,
}

impl Tally {
    pub fn pass(&mut self) {
        self.passed += 1;
    }

    pub fn fail(&mut self, name: impl Into<String>, detail: &str) {
        self.failed.push((name.into(), detail.to_owned()));
    }

    pub fn skip(&mut self, name: impl Into<String>, reason: &str) {
        self.skipped.push((name.into(), reason.to_owned()));
    }

    pub fn has_failures(&self) -> bool {
        !self.failed.is_empty()
    }

    /// A part in which nothing ran proves nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
    }

    /// Shows what did not pass.
    pub fn show(&self) {
        for (name, reason) in &self.skipped {
            step::say(&format!("  skipped: {name} ({reason})"));
        }
        for (name, detail) in &self.failed {
            step::say(&format!("  FAILED: {name}"));
            for line in detail.lines() {
                step::say(&format!("      {line}"));
            }
        }
    }

    /// `N passed, N failed[, N skipped]`
    pub fn line(&self) -> String {
        let mut line = format!("{} passed, {} failed", self.passed, self.failed.len());
        if !self.skipped.is_empty() {
            line += &format!(", {} skipped", self.skipped.len());
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let mut tally = Tally::default();
        assert!(tally.is_empty());
        assert_eq!(tally.line(), "0 passed, 0 failed");
        tally.pass();
        tally.pass();
        assert!(!tally.has_failures());
        let mut other = Tally::default();
        other.fail("x", "why");
        other.skip("y", "no hardware");
        tally.add(other);
        assert!(tally.has_failures());
        assert_eq!(tally.line(), "2 passed, 1 failed, 1 skipped");
    }
}
