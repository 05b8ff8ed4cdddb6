// SPDX-License-Identifier: GPL-2.0

//! Exact parser of the test results that KUnit writes to the kernel log.
//!
//! One console holds several reports: one of the suites in the kernel image, and one of each module with tests. Every
//! number in them is checked: plans, the numbering of results, names, and whether what contains a failure is called a
//! failure. A report that does not add up is an error, never a guess. Format: `Documentation/dev-tools/ktap.rst`.

use crate::splat::message;

const INDENT: usize = 4;

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Passed,
    Failed,
    /// With the reason.
    Skipped(String),
}

/// A test or a group of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    pub name: String,
    pub status: Status,
    /// Empty for a single test.
    pub children: Vec<Test>,
    /// What KUnit said about a failure.
    pub comments: Vec<String>,
    /// Where in the console the result is.
    pub line: usize,
}

impl Test {
    /// Calls `visit` with the path of each single test.
    pub fn each_single<'a>(&'a self, visit: &mut dyn FnMut(&str, &'a Test)) {
        self.walk("", visit);
    }

    fn walk<'a>(&'a self, above: &str, visit: &mut dyn FnMut(&str, &'a Test)) {
        let path = if above.is_empty() {
            self.name.clone()
        } else {
            format!("{above}.{}", self.name)
        };
        if self.children.is_empty() {
            visit(&path, self);
        }
        for child in &self.children {
            child.walk(&path, visit);
        }
    }

    fn has_failure(&self) -> bool {
        self.status == Status::Failed || self.children.iter().any(Test::has_failure)
    }
}

/// What a console says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Suites with a final result, in the console's order.
    pub suites: Vec<Test>,
    /// What does not add up, each with its line number in the console.
    pub errors: Vec<String>,
}

/// A group whose result has not been seen yet.
struct Open {
    name: Option<String>,
    plan: Option<usize>,
    tests: Vec<Test>,
}

/// The lines that the format is made of.
enum Line<'a> {
    Version,
    Subtest(&'a str),
    Plan(usize),
    Result(usize, &'a str, Status),
}

/// Reads all reports in a console.
pub fn parse(console: &str) -> Report {
    let mut parser = Parser::default();
    for (index, line) in console.lines().enumerate() {
        let text = message(line);
        let body = text.trim_start_matches(' ');
        let spaces = text.len() - body.len();
        match classify(body) {
            Some(line) if spaces % INDENT == 0 => {
                parser.number = index + 1;
                parser.line(spaces / INDENT, line);
            }
            _ if body.starts_with("# ") || spaces > INDENT => {
                parser.comments.push(body.to_owned());
            }
            _ => {}
        }
    }
    parser.number = console.lines().count();
    parser.close_to(0);
    parser.report
}

#[derive(Default)]
struct Parser {
    /// The open groups by their depth: the report itself, a suite, a parameterised test.
    open: Vec<Open>,
    /// Comments since the last result.
    comments: Vec<String>,
    number: usize,
    report: Report,
}

impl Parser {
    fn line(&mut self, depth: usize, line: Line<'_>) {
        match line {
            Line::Version => {
                self.close_to(depth);
                if depth != self.open.len() {
                    return self.error("a report inside of nothing");
                }
                self.open.push(Open {
                    name: None,
                    plan: None,
                    tests: Vec::new(),
                });
            }
            Line::Subtest(name) => match self.at(depth) {
                Some(group) if group.name.is_none() => group.name = Some(name.to_owned()),
                _ => self.error(&format!("{name} starts without a version line")),
            },
            Line::Plan(count) => match self.at(depth) {
                Some(group) if group.plan.is_none() && group.tests.is_empty() => {
                    group.plan = Some(count);
                }
                _ => self.error("a plan in a wrong place"),
            },
            Line::Result(number, name, status) => self.result(depth, number, name, status),
        }
    }

    fn result(&mut self, depth: usize, number: usize, name: &str, status: Status) {
        // A group two levels deeper than this result has lost its own.
        self.close_to(depth + 2);
        if self.open.len() <= depth {
            return self.error(&format!("a result of {name}, which did not start"));
        }
        let mut test = Test {
            name: name.to_owned(),
            status,
            children: Vec::new(),
            comments: std::mem::take(&mut self.comments),
            line: self.number,
        };
        if test.status != Status::Failed {
            test.comments.clear();
        }
        if self.open.len() == depth + 2 {
            let Some(group) = self.open.pop() else { return };
            self.check_group(&group, &test);
            test.children = group.tests;
            if test.status == Status::Passed && test.has_failure() {
                self.error(&format!("{name} is called ok but contains a failure"));
            }
        } else if depth == 0 {
            self.error(&format!("{name} has a result but did not start"));
        }
        let last = self.open.last_mut();
        let expected = last.as_ref().map_or(0, |group| group.tests.len()) + 1;
        if depth == 0 {
            self.report.suites.push(test.clone());
        }
        if let Some(group) = last {
            group.tests.push(test);
        }
        if number != expected {
            self.error(&format!("{name} has number {number}, not {expected}"));
        }
    }

    fn check_group(&mut self, group: &Open, result: &Test) {
        let name = &result.name;
        // A parameterised test need not know beforehand how many values there are.
        let plan_needed = self.open.len() == 1 && !matches!(result.status, Status::Skipped(_));
        match group.plan {
            Some(plan) if plan != group.tests.len() && !skipped_whole(group, result) => {
                self.error(&format!(
                    "{name} has {} results, {plan} were announced",
                    group.tests.len()
                ));
            }
            None if plan_needed => self.error(&format!("{name} has no plan")),
            _ => {}
        }
        if group.name.as_ref() != Some(name) {
            self.error(&format!(
                "a result of {name}, but {} had started",
                group.name.as_deref().unwrap_or("something without a name")
            ));
        }
    }

    /// Closes groups until `depth` are open; each of them misses its result.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(group) = self.open.pop() else { return };
            if !self.open.is_empty() {
                let name = group.name.as_deref().unwrap_or("a suite without a name");
                let seen = group.tests.len();
                self.error(&format!(
                    "{name} has no final result ({seen} of its tests ended): it crashed or the console was cut off"
                ));
            } else if group.plan.is_some_and(|plan| plan != group.tests.len()) {
                let (seen, plan) = (group.tests.len(), group.plan.unwrap_or_default());
                self.error(&format!("{seen} suites ended, {plan} were announced"));
            } else if group.plan.is_none() {
                self.error("a report without a plan");
            }
        }
    }

    fn at(&mut self, depth: usize) -> Option<&mut Open> {
        if self.open.len() != depth + 1 {
            return None;
        }
        self.open.last_mut()
    }

    fn error(&mut self, text: &str) {
        self.report
            .errors
            .push(format!("line {}: {text}", self.number));
    }
}

/// A suite that is skipped as a whole announces its tests and runs none.
fn skipped_whole(group: &Open, result: &Test) -> bool {
    group.tests.is_empty() && matches!(result.status, Status::Skipped(_))
}

fn classify(body: &str) -> Option<Line<'_>> {
    if body == "KTAP version 1" {
        return Some(Line::Version);
    }
    if let Some(name) = body.strip_prefix("# Subtest: ") {
        return Some(Line::Subtest(name));
    }
    if let Some(plan) = body.strip_prefix("1..") {
        let digits = plan.split(' ').next()?;
        return Some(Line::Plan(digits.parse().ok()?));
    }
    let (failed, rest) = match body.strip_prefix("not ok ") {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix("ok ")?),
    };
    let (number, rest) = rest.split_once(' ')?;
    let number = number.parse().ok()?;
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, reason) = match rest.split_once(" # SKIP") {
        Some((name, reason)) => (name, Some(reason)),
        None => (rest.split(" # ").next().unwrap_or(rest), None),
    };
    let status = match reason {
        // "not ok" with a skip is a failure in any reading that is on the safe side.
        _ if failed => Status::Failed,
        Some(reason) => Status::Skipped(reason.trim().to_owned()),
        None => Status::Passed,
    };
    Some(Line::Result(number, name, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
[    0.10] KTAP version 1
[    0.10] 1..2
[    0.10]     KTAP version 1
[    0.10]     # Subtest: first
[    0.10]     # module: rust_net
[    0.10]     1..3
[    0.11]     ok 1 one
[    0.11] some driver says ok
[    0.11]     ok 2 two # SKIP no such hardware
[    0.12]         KTAP version 1
[    0.12]         # Subtest: three
[    0.12]         ok 1 value 1
[    0.12]         ok 2 value 2
[    0.12]     # three: pass:2 fail:0 skip:0 total:2
[    0.12]     ok 3 three
[    0.12] # first: pass:2 fail:0 skip:1 total:3
[    0.12] ok 1 first
[    0.13]     KTAP version 1
[    0.13]     # Subtest: second
[    0.13]     1..1
[    0.13]     # b: ASSERTION FAILED at rust/net/x.rs:10
[    0.13]     not ok 1 b
[    0.13] not ok 2 second
[    0.20] KTAP version 1
[    0.20] 1..1
[    0.20]     KTAP version 1
[    0.20]     # Subtest: third
[    0.20]     1..1
[    0.20]     ok 1 c
[    0.20] ok 1 third
";

    fn singles(report: &Report) -> Vec<(String, Status)> {
        let mut found = Vec::new();
        for suite in &report.suites {
            suite.each_single(&mut |path, test| found.push((path.to_owned(), test.status.clone())));
        }
        found
    }

    #[test]
    fn several_reports_are_read() {
        let report = parse(GOOD);
        assert_eq!(report.errors, [""; 0]);
        let names: Vec<_> = report.suites.iter().map(|suite| &suite.name).collect();
        assert_eq!(names, ["first", "second", "third"]);
        let skipped = Status::Skipped("no such hardware".to_owned());
        let expected = [
            ("first.one", Status::Passed),
            ("first.two", skipped),
            ("first.three.value 1", Status::Passed),
            ("first.three.value 2", Status::Passed),
            ("second.b", Status::Failed),
            ("third.c", Status::Passed),
        ];
        assert_eq!(
            singles(&report),
            expected.map(|(name, status)| (name.to_owned(), status))
        );
        let failed = &report.suites[1].children[0];
        assert_eq!(
            failed.comments,
            ["# b: ASSERTION FAILED at rust/net/x.rs:10"]
        );
    }

    /// Whatever single line is taken away, if it carries meaning, something does not add up any more.
    #[test]
    fn every_line_counts() {
        let lines: Vec<&str> = GOOD.lines().collect();
        for missing in 0..lines.len() {
            let text = message(lines[missing]);
            let noise = text.trim_start().starts_with("# ") && !text.contains("Subtest")
                || text.starts_with("some driver");
            // Without a plan, the last value of a parameterised test is not missed.
            let last_value = text.contains("ok 2 value 2");
            let mut rest = lines.clone();
            rest.remove(missing);
            let report = parse(&rest.join("\n"));
            assert_eq!(
                report.errors.is_empty(),
                noise || last_value,
                "without {text:?}"
            );
        }
    }

    /// A console that ends too early is noticed wherever that is, except between two reports.
    #[test]
    fn every_cut_is_noticed() {
        let lines: Vec<&str> = GOOD.lines().collect();
        for end in 1..lines.len() {
            let whole = end == 23;
            let report = parse(&lines[..end].join("\n"));
            assert_eq!(report.errors.is_empty(), whole, "cut after line {end}");
        }
    }

    #[test]
    fn contradictions_are_errors() {
        let suite = |inner: &str, result: &str| {
            format!("KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: s\n{inner}{result}\n")
        };
        for (inner, result) in [
            ("    1..1\n    not ok 1 a\n", "ok 1 s"),
            ("    1..1\n    ok 1 a\n", "ok 1 other"),
            ("    1..1\n    ok 1 a\n", "ok 2 s"),
            ("    1..2\n    ok 1 a\n", "ok 1 s"),
            ("    1..1\n    ok 1 a\n    ok 2 b\n", "ok 1 s"),
            ("    1..2\n    ok 1 a\n    ok 1 b\n", "ok 1 s"),
            ("    1..1\n    1..1\n    ok 1 a\n", "ok 1 s"),
            ("    ok 1 a\n", "ok 1 s"),
            ("    1..1\n", "ok 1 s"),
        ] {
            let text = suite(inner, result);
            assert_ne!(parse(&text).errors, [""; 0], "{text}");
        }
        assert_eq!(
            parse(&suite("    1..1\n    ok 1 a\n", "ok 1 s")).errors,
            [""; 0]
        );
        assert_eq!(
            parse(&suite("    1..1\n", "ok 1 s # SKIP none")).errors,
            [""; 0]
        );
        assert_eq!(parse(&suite("    1..0\n", "ok 1 s")).errors, [""; 0]);
    }

    #[test]
    fn results_out_of_nowhere_are_errors() {
        assert_ne!(parse("ok 1 s\n").errors, [""; 0]);
        assert_ne!(parse("KTAP version 1\n1..1\nok 1 s\n").errors, [""; 0]);
        assert_eq!(parse("nothing here\n"), Report::default());
        assert_eq!(parse("KTAP version 1\n1..0\n").errors, [""; 0]);
    }
}
