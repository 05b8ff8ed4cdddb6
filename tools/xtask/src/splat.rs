// SPDX-License-Identifier: GPL-2.0

//! Complaints of the kernel about itself.
//!
//! A test may end "ok" on a kernel that has just reported a use after free or a lock taken twice. Whatever a row of
//! [`RULES`] finds in a console makes the run a failure.

use std::fmt;

/// Where in a line, without its time stamp, the text of a rule stands.
#[derive(Clone, Copy, Debug)]
enum At {
    /// The line starts with the text.
    Start,
    /// The text is anywhere in the line.
    Anywhere,
}

use At::{Anywhere, Start};

/// What complaint a text is. The first row that matches counts.
const RULES: &[(&str, At, &str)] = &[
    // The end of everything.
    ("panic", Anywhere, "Kernel panic - not syncing"),
    ("Rust panic", Anywhere, "rust_kernel: panicked at"),
    ("Rust panic", Anywhere, "Rust panic"),
    ("oops", Start, "Internal error: "),
    ("oops", Start, "Oops: "),
    ("oops", Start, "Oops - "),
    ("oops", Anywhere, "Unable to handle kernel "),
    ("oops", Anywhere, "Unable to handle paging request"),
    ("oops", Anywhere, "unable to handle page fault"),
    ("oops", Anywhere, "NULL pointer dereference"),
    ("oops", Start, "general protection fault"),
    ("oops", Anywhere, "Kernel mode fault at addr"),
    ("backtrace", Start, "Modules linked in:"),
    ("BUG", Start, "kernel BUG at "),
    ("init died", Anywhere, "Attempted to kill init"),
    // The checkers of a debug kernel.
    ("KASAN", Anywhere, "BUG: KASAN"),
    ("KASAN", Anywhere, "KASAN: "),
    ("KFENCE", Anywhere, "BUG: KFENCE"),
    ("KCSAN", Anywhere, "BUG: KCSAN"),
    ("UBSAN", Start, "UBSAN: "),
    ("kmemleak", Anywhere, "new suspected memory leaks"),
    ("kmemleak", Start, "unreferenced object 0x"),
    ("kmemleak", Anywhere, "Kernel memory leak detector disabled"),
    (
        "kmemleak",
        Anywhere,
        "kmemleak: Automatic memory scanning thread ended",
    ),
    ("lockdep", Anywhere, "possible recursive locking detected"),
    (
        "lockdep",
        Anywhere,
        "possible circular locking dependency detected",
    ),
    (
        "lockdep",
        Anywhere,
        "possible irq lock inversion dependency detected",
    ),
    ("lockdep", Anywhere, "irq lock inversion dependency"),
    ("lockdep", Anywhere, "lock order detected"),
    ("lockdep", Anywhere, "inconsistent lock state"),
    ("lockdep", Anywhere, "bad unlock balance detected"),
    ("lockdep", Anywhere, "bad contention detected"),
    ("lockdep", Anywhere, "held lock freed"),
    (
        "lockdep",
        Anywhere,
        "lock held when returning to user space",
    ),
    ("lockdep", Anywhere, "still has locks held"),
    ("lockdep", Anywhere, "nested lock was not taken"),
    ("lockdep", Anywhere, "Invalid wait context"),
    (
        "lockdep",
        Anywhere,
        "INFO: trying to register non-static key",
    ),
    (
        "lockdep",
        Anywhere,
        "turning off the locking correctness validator",
    ),
    ("lockdep", Anywhere, "DEBUG_LOCKS_WARN_ON"),
    ("RCU", Anywhere, "suspicious RCU usage"),
    ("RCU", Anywhere, "suspicious RCU-"),
    ("RCU stall", Anywhere, "detected stalls on CPUs"),
    ("RCU stall", Anywhere, "detected expedited stalls"),
    ("RCU stall", Anywhere, "self-detected stall on CPU"),
    ("RCU stall", Anywhere, "Stall ended before state dump start"),
    ("atomic sleep", Anywhere, "scheduling while atomic"),
    (
        "atomic sleep",
        Anywhere,
        "sleeping function called from invalid context",
    ),
    ("atomic sleep", Anywhere, "do not call blocking ops when"),
    (
        "atomic sleep",
        Anywhere,
        "using smp_processor_id() in preemptible",
    ),
    ("atomic sleep", Anywhere, "using __this_cpu_"),
    ("softirq", Start, "NOHZ tick-stop error"),
    ("softirq", Anywhere, "huh, entered softirq"),
    ("softirq", Anywhere, "preempt_count leak"),
    ("softirq", Anywhere, "with preempt_count"),
    ("lockup", Anywhere, "soft lockup - CPU#"),
    ("lockup", Anywhere, "Watchdog detected hard LOCKUP"),
    ("lockup", Anywhere, "workqueue lockup"),
    ("hung task", Anywhere, " blocked for more than "),
    ("debug objects", Start, "ODEBUG: "),
    ("page poison", Anywhere, "pagealloc: memory corruption"),
    ("page poison", Anywhere, "pagealloc: single bit error"),
    ("list corruption", Start, "list_add corruption"),
    ("list corruption", Start, "list_del corruption"),
    ("refcount", Start, "refcount_t: "),
    ("slab", Anywhere, "Objects remaining"),
    ("slab", Anywhere, "Slab cache still has objects"),
    ("DMA debug", Start, "DMA-API: "),
    ("stack", Anywhere, "corrupted stack end detected"),
    (
        "stack",
        Anywhere,
        "stack-protector: Kernel stack is corrupted",
    ),
    ("page state", Start, "page dumped because: "),
    ("page state", Anywhere, "BUG: Bad page"),
    ("memory", Anywhere, "Out of memory: Killed process"),
    ("memory", Anywhere, "page allocation failure: order:"),
    ("interrupts", Anywhere, ": nobody cared"),
    // The networking core about its users.
    ("page_pool", Anywhere, "stalled pool shutdown"),
    ("net device", Anywhere, "unregister_netdevice: waiting for"),
    ("net device", Anywhere, "NETDEV WATCHDOG"),
    ("net device", Anywhere, "hw csum failure"),
    ("NAPI", Anywhere, "exceeded its budget"),
    // Test results that never arrived.
    ("lost messages", Anywhere, "printk messages dropped"),
    (
        "lost messages",
        Anywhere,
        "output lines suppressed due to ratelimiting",
    ),
    // Whatever else a checker or a driver calls a bug.
    ("BUG", Start, "BUG: "),
    ("WARNING", Start, "WARNING: "),
    ("INFO", Start, "INFO: task "),
    ("INFO", Start, "INFO: rcu"),
    ("backtrace", Start, "------------[ cut here ]------------"),
    ("backtrace", Start, "Call Trace:"),
    ("backtrace", Start, "Call trace:"),
];

/// Lines that look like a complaint and are none.
const HARMLESS: &[&str] = &[
    "KASAN: initialized",
    "KernelAddressSanitizer initialized",
    "kasan: ",
    "DMA-API: preallocated",
    "DMA-API: debugging enabled",
];

/// A complaint found in a console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splat {
    /// The kind of complaint.
    pub kind: &'static str,
    /// Its line number in the console, from one.
    pub line: usize,
    /// The line, without its time stamp.
    pub text: String,
}

impl fmt::Display for Splat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}): {}", self.kind, self.line, self.text)
    }
}

/// Finds the complaints in a console, in their order.
pub fn scan(console: &str) -> Vec<Splat> {
    console
        .lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let text = message(line);
            Some(Splat {
                kind: kind_of(text)?,
                line: index + 1,
                text: text.to_owned(),
            })
        })
        .collect()
}

/// What complaint a line is, if any.
fn kind_of(text: &str) -> Option<&'static str> {
    if HARMLESS.iter().any(|harmless| text.contains(harmless)) || is_ktap(text) {
        return None;
    }
    RULES
        .iter()
        .find(|(_, at, needle)| match at {
            Start => text.starts_with(needle),
            Anywhere => text.contains(needle),
        })
        .map(|(kind, _, _)| *kind)
}

/// A test's name or the text of a skip may contain any word; a test that fails is counted by the parser of results.
fn is_ktap(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("ok ") || text.starts_with("not ok ") || text.starts_with("# ")
}

/// A line of a console without what the kernel puts before a message: `[   12.345678]`, `[  T42]`, a level.
pub fn message(line: &str) -> &str {
    let mut rest = line.trim_end_matches('\r');
    while let Some(inner) = rest.strip_prefix('[') {
        let Some((stamp, after)) = inner.split_once(']') else {
            break;
        };
        let digits = stamp.trim().trim_start_matches(['T', 'C']);
        if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
            break;
        }
        rest = after;
    }
    // One space belongs to the stamp; more are the message's own.
    if rest.len() < line.len() {
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_found() {
        let samples = [
            ("panic", "[    1.234567] Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b"),
            ("Rust panic", "[    2.000000] rust_kernel: panicked at rust/net/page_pool.rs:10:5:"),
            ("oops", "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010"),
            ("oops", "[    3.1] Internal error: Oops: 0000000096000004 [#1]  SMP"),
            ("BUG", "kernel BUG at net/core/page_pool.c:600!"),
            ("WARNING", "[    0.5] WARNING: net/core/page_pool.c:900 at page_pool_put+0x10/0x20, CPU#1: kunit_try_catch/40"),
            ("WARNING", "WARNING: CPU: 0 PID: 1 at kernel/softirq.c:362 __local_bh_enable_ip"),
            ("backtrace", "[    0.5] ------------[ cut here ]------------"),
            ("lockdep", "WARNING: possible recursive locking detected"),
            ("lockdep", "[    9.9] WARNING: inconsistent lock state"),
            ("lockdep", "WARNING: possible circular locking dependency detected"),
            ("lockdep", "[ BUG: Invalid wait context ]"),
            ("lockdep", "WARNING: bad unlock balance detected!"),
            ("RCU", "WARNING: suspicious RCU usage"),
            ("KASAN", "[   11.0] BUG: KASAN: slab-use-after-free in page_pool_put+0x10/0x20"),
            ("UBSAN", "UBSAN: array-index-out-of-bounds in net/core/dev.c:1:2"),
            ("kmemleak", "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)"),
            ("kmemleak", "unreferenced object 0xffff000004567800 (size 128):"),
            ("atomic sleep", "BUG: scheduling while atomic: swapper/0/0/0x00000100"),
            ("atomic sleep", "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:283"),
            ("page_pool", "[   70.1] page_pool_release_retry() stalled pool shutdown: id 5, 1 inflight 60 sec"),
            ("hung task", "INFO: task modprobe:42 blocked for more than 120 seconds."),
            ("RCU stall", "rcu: INFO: rcu_sched self-detected stall on CPU"),
            ("RCU stall", "[  22.1][    C1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"),
            ("lockup", "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [insmod:50]"),
            ("debug objects", "ODEBUG: free active (active state 0) object: 00000000 object type: timer_list"),
            ("refcount", "refcount_t: underflow; use-after-free."),
            ("page state", "BUG: Bad page state in process insmod  pfn:12345"),
            ("lost messages", "** 12 printk messages dropped **"),
            ("net device", "unregister_netdevice: waiting for eth0 to become free. Usage count = 2"),
            ("memory", "Out of memory: Killed process 12 (sh)"),
        ];
        for (kind, line) in samples {
            let found = scan(line);
            assert_eq!(found.len(), 1, "{line}");
            assert_eq!(found[0].kind, kind, "{line}");
        }
    }

    #[test]
    fn ordinary_lines_are_not() {
        let samples = [
            "[    0.000000] kasan: KernelAddressSanitizer initialized (generic)",
            "[    0.000000] KASAN: initialized",
            "[    0.000000] kmemleak: Kernel memory leak detector initialized (mem pool available: 15600)",
            "[    0.000000] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar",
            "[    0.000000] rcu: \tRCU debug extended QS entry/exit.",
            "[    0.1]     # bug_test: passed: WARNING: as intended",
            "[    0.1]     ok 3 warns_on_BUG: # SKIP needs KASAN: tag mode",
            "[    0.1] not ok 3 possible recursive locking detected",
            "debug_vm_pgtable: [debug_vm_pgtable         ]: Validating architecture page table helpers",
            "Freeing initrd memory: 1000K",
            "workqueue: work func x enqueued on deprecated workqueue. Use system_{percpu|dfl}_wq instead.",
            "lab: looking for leaks",
            "rust_net: loading out-of-tree module taints kernel.",
            "",
        ];
        for line in samples {
            assert_eq!(scan(line), [], "{line}");
        }
    }

    #[test]
    fn stamps_are_taken_off() {
        for (line, text) in [
            ("[    0.123456] hello", "hello"),
            ("[    0.123456][   T12]     ok 1 a\r", "    ok 1 a"),
            (
                "[    0.123456] [ BUG: Invalid wait context ]",
                "[ BUG: Invalid wait context ]",
            ),
            ("plain", "plain"),
            ("    ok 1 indented", "    ok 1 indented"),
            ("[unclosed", "[unclosed"),
            ("[] x", "[] x"),
        ] {
            assert_eq!(message(line), text);
        }
    }

    #[test]
    fn the_line_is_reported() {
        let found = scan("a\nb\n[    1.000000] BUG: Bad page state\n");
        assert_eq!(found[0].line, 3);
        assert_eq!(
            found[0].to_string(),
            "page state (line 3): BUG: Bad page state"
        );
    }
}
