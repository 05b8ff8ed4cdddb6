// SPDX-License-Identifier: GPL-2.0

//! The proof of being in a poll stays on its CPU.

// error: E0277

#![allow(unused)]

fn send<T: Send>(_: T) {}

pub fn test(cx: net::napi::Context<'_>) {
    #[cfg(not(control))]
    send(cx);
    #[cfg(control)]
    send(cx.napi());
}
