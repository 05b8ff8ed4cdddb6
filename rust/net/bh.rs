// SPDX-License-Identifier: GPL-2.0

//! Sections with bottom halves disabled.
//!
//! C header: [`include/linux/bottom_half.h`](srctree/include/linux/bottom_half.h)

use kernel::types::NotThreadSafe;

/// Proof that bottom halves are disabled on this CPU.
///
/// Only [`disabled`] makes one, and lends it for as long as the section lasts.
///
/// # Invariants
///
/// While a `Context` exists, the task that holds it stays on its CPU, and no
/// softirq interrupts it there. (On `PREEMPT_RT` other tasks' softirqs may.)
pub struct Context(NotThreadSafe);

/// Runs `f` with bottom halves disabled on this CPU.
///
/// Sections nest. This is how code in process context meets the locking rules
/// of code that otherwise runs in softirq context.
///
/// # Context
///
/// Process or softirq context, not hard interrupt context. `f` must not sleep.
///
/// C: `local_bh_disable()`, `local_bh_enable()`.
#[inline]
pub fn disabled<R>(f: impl FnOnce(&Context) -> R) -> R {
    // SAFETY: `local_bh_disable()` has no precondition.
    unsafe { net_bindings::local_bh_disable() };

    // INVARIANT: Bottom halves are disabled until after `f` has returned, and
    // `f` cannot keep the reference.
    let ret = f(&Context(NotThreadSafe));

    // SAFETY: This pairs with the call above.
    unsafe { net_bindings::local_bh_enable() };

    ret
}
