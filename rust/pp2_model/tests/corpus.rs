// SPDX-License-Identifier: GPL-2.0

//! Programs that the fuzzer found worth keeping. `PP2_CORPUS` names another folder of them.

mod common;

use common::program;

#[test]
fn corpus() {
    let dir = std::env::var("PP2_CORPUS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus").to_string());
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        println!("{}", file.display());
        program::run(&std::fs::read(file).unwrap());
    }
}

/// A few thousand programs on every run, without a fuzzer.
#[test]
fn random_programs() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let n = if cfg!(miri) { 2 } else { 3000 };
    for _ in 0..n {
        let len = 1 + usize::from(next()) * 2;
        let program: Vec<u8> = (0..len).map(|_| next()).collect();
        program::run(&program);
    }
}
