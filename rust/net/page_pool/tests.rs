// SPDX-License-Identifier: GPL-2.0

//! KUnit tests against real page pools.

mod alloc;
mod dma;
mod faults;
mod harness;
mod lifetime;
mod napi;
mod posted;
mod recycle;
