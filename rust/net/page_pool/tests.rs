// SPDX-License-Identifier: GPL-2.0

//! KUnit tests against real page pools.

mod alloc;
mod dma;
#[cfg(all(CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC))]
mod faults;
mod harness;
mod lifetime;
mod napi;
mod posted;
mod recycle;
