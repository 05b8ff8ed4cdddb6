// SPDX-License-Identifier: GPL-2.0

//! The runner must fail where it should: consoles of all sorts, and what they are worth.

use std::time::Duration;

use super::*;

/// The console of a run in which all is well.
const GOOD: &str = "\
Linux version 7.3.4
[    0.000000] kasan: KernelAddressSanitizer initialized (generic)
[    0.100000] KTAP version 1
[    0.100000] 1..1
[    0.100000]     KTAP version 1
[    0.100000]     # Subtest: rust_atomics
[    0.100000]     1..1
[    0.100000]     ok 1 the_kernels_own
[    0.100000] ok 1 rust_atomics
[    0.200000] lab: the script starts
[    0.200000] lab: load rust_net
[    0.210000] rust_net: loading out-of-tree module taints kernel.
[    0.220000] KTAP version 1
[    0.220000] 1..2
[    0.220000]     KTAP version 1
[    0.220000]     # Subtest: pool
[    0.220000]     # module: rust_net
[    0.220000]     1..2
[    0.220000]     ok 1 alloc
[    0.220000]     ok 2 recycle
[    0.220000] # pool: pass:2 fail:0 skip:0 total:2
[    0.220000] # Totals: pass:2 fail:0 skip:0 total:2
[    0.220000] ok 1 pool
[    0.230000]     KTAP version 1
[    0.230000]     # Subtest: faults
[    0.230000]     # module: rust_net
[    0.230000]     1..1
[    0.230000]     ok 1 inject # SKIP no fault injection
[    0.230000] ok 2 faults # SKIP
[    0.240000] lab: unload rust_net
[    0.250000] reboot: Power down
";
const OUTPUT: &str = "rust_net: ok\n";

fn expected() -> Vec<Suite> {
    let suite = |name: &str, tests: &[&str]| Suite {
        name: name.to_owned(),
        tests: tests.iter().map(|test| (*test).to_owned()).collect(),
    };
    vec![
        suite("faults", &["inject"]),
        suite("pool", &["alloc", "recycle"]),
    ]
}

fn judged(end: &End, console: &str, output: &str) -> Tally {
    judge(end, console, output, &expected(), &["rust_net".to_owned()])
}

fn line(console: &str) -> String {
    judged(&End::Exited(0), console, OUTPUT).line()
}

/// The good console with a line in front of the one that contains `before`.
fn with(before: &str, line: &str) -> String {
    let at = GOOD.find(before).unwrap();
    let at = GOOD[..at].rfind('\n').unwrap() + 1;
    format!("{}{line}\n{}", &GOOD[..at], &GOOD[at..])
}

fn cut_before(text: &str) -> &str {
    &GOOD[..GOOD.find(text).unwrap()]
}

#[test]
fn a_good_run_is_counted_without_the_kernels_own_tests() {
    // Two tests and the module.
    assert_eq!(line(GOOD), "3 passed, 0 failed, 1 skipped");
}

#[test]
fn a_failing_test_is_one_failure() {
    let text = GOOD
        .replace("    ok 2 recycle", "    not ok 2 recycle")
        .replace("ok 1 pool", "not ok 1 pool");
    assert_eq!(line(&text), "2 passed, 1 failed, 1 skipped");
}

#[test]
fn a_failure_of_the_kernels_own_tests_counts() {
    let text = GOOD
        .replace("    ok 1 the_kernels_own", "    not ok 1 the_kernels_own")
        .replace("ok 1 rust_atomics", "not ok 1 rust_atomics");
    assert_eq!(line(&text), "3 passed, 1 failed, 1 skipped");
}

#[test]
fn a_complaint_of_the_kernel_fails_a_run_that_says_ok() {
    for complaint in [
        "[    0.220000] BUG: KASAN: slab-use-after-free in f+0x1/0x2",
        "[    0.220000] WARNING: net/core/page_pool.c:1 at f+0x1/0x2",
        "WARNING: possible recursive locking detected",
        "kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
        "** 3 printk messages dropped **",
    ] {
        let text = with("ok 2 recycle", complaint);
        assert_eq!(line(&text), "3 passed, 1 failed, 1 skipped", "{complaint}");
    }
    // Also before and after the tests.
    assert!(judged(&End::Exited(0), &with("KTAP version 1", "BUG: x"), OUTPUT).has_failures());
    assert!(judged(&End::Exited(0), &with("reboot:", "BUG: x"), OUTPUT).has_failures());
}

#[test]
fn a_crash_in_the_middle_is_a_failure() {
    let text = format!(
        "{}[    0.220000] Internal error: Oops: 0000000096000004 [#1]  SMP\n\
         [    0.220000] Kernel panic - not syncing: Oops: Fatal exception\n",
        cut_before("[    0.220000]     ok 2 recycle")
    );
    let tally = judged(&End::Died("exit status: 1".to_owned()), &text, "");
    // The machine, the complaint, the suite without an end, the report cut off, two suites, the module.
    assert_eq!(tally.line(), "0 passed, 7 failed");
}

#[test]
fn every_truncation_is_a_failure() {
    let lines: Vec<&str> = GOOD.lines().collect();
    for end in 0..lines.len() - 2 {
        let tally = judged(&End::Exited(0), &lines[..end].join("\n"), OUTPUT);
        assert!(tally.has_failures(), "cut after {end} lines");
    }
}

#[test]
fn a_hang_is_a_failure_whatever_was_printed() {
    let end = End::TimedOut(Duration::from_secs(60));
    assert_eq!(
        judged(&end, GOOD, OUTPUT).line(),
        "3 passed, 1 failed, 1 skipped"
    );
}

#[test]
fn a_suite_or_a_test_that_is_missing_is_a_failure() {
    let from = GOOD.find("[    0.230000]     KTAP").unwrap();
    let to = GOOD.find("[    0.240000]").unwrap();
    let without = format!("{}{}", &GOOD[..from], &GOOD[to..]).replace(
        "1..2\n[    0.220000]     KTAP",
        "1..1\n[    0.220000]     KTAP",
    );
    assert_eq!(line(&without), "3 passed, 1 failed");

    let renamed = GOOD.replace("ok 2 recycle", "ok 2 something");
    assert_eq!(line(&renamed), "3 passed, 1 failed, 1 skipped");
}

#[test]
fn a_module_that_does_not_load_or_unload_is_a_failure() {
    for output in [
        "",
        "rust_net: cannot be unloaded\n",
        "rust_net: cannot be loaded\n",
        "rust_net_other: ok\n",
    ] {
        let tally = judged(&End::Exited(1), GOOD, output);
        assert_eq!(tally.line(), "2 passed, 1 failed, 1 skipped", "{output}");
    }
}

#[test]
fn an_empty_run_is_a_failure() {
    assert!(judged(&End::Exited(0), "", "").has_failures());
}

#[test]
fn a_script_that_fails_is_a_failure() {
    assert!(judged(&End::Exited(1), GOOD, OUTPUT).has_failures());
}

#[test]
fn modules_are_loaded_after_those_they_need() {
    let dep = "\
kernel/net/core/pktgen.ko:
updates/rust/net/rust_net.ko:
updates/samples/rust/rust_page_pool.ko: updates/rust/net/rust_net.ko
updates/drivers/a-driver.ko: updates/rust/net/rust_net.ko kernel/drivers/net/phy/phylink.ko
updates/samples/rust/rust_page_pool_bench.ko: updates/rust/net/rust_net.ko
";
    let ours = [
        "a-driver",
        "rust_page_pool",
        "rust_net",
        "rust_page_pool_bench",
    ];
    let ours: Vec<_> = ours
        .iter()
        .map(|name| PathBuf::from(format!("{name}.ko")))
        .collect();
    assert_eq!(
        order(dep, &ours),
        ["rust_net", "rust_page_pool", "a_driver"]
    );
}
