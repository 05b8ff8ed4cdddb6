// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask doctor`: what is there, what is missing, how to install it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use crate::ctx::Ctx;
use crate::packages::{self, Fix};
use crate::toolchain::{self, which, MIN_BINDGEN, MIN_LLVM, MIN_RUSTC};

/// Arguments of `doctor`.
#[derive(clap::Args)]
pub struct Args {}

/// What is known about one thing that is needed.
#[derive(Debug)]
pub struct Item {
    /// What it is.
    pub name: String,
    /// What was found, or what is wrong.
    pub state: Result<String, String>,
    /// How to get it; not worked out for what is there.
    pub fix: Option<Fix>,
}

/// Programs of which any version will do, and the Debian packages that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("make", "make"),
    ("cc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("dtc", "device-tree-compiler"),
    ("cpio", "cpio"),
    ("xz", "xz-utils"),
    ("depmod", "kmod"),
    ("perl", "perl"),
    ("python3", "python3"),
    ("git", "git"),
    ("curl", "curl"),
    ("qemu-system-aarch64", "qemu-system-arm"),
];

/// Headers and data files, and the Debian packages that have them.
const FILES: &[(&str, &[&str], &str)] = &[
    ("C library headers", &["/usr/include/stdio.h"], "libc6-dev"),
    (
        "libelf headers",
        &["/usr/include/libelf.h", "/usr/include/libelf/libelf.h"],
        "libelf-dev",
    ),
    (
        "TLS certificates",
        &["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs"],
        "ca-certificates",
    ),
];

/// Looks at everything that is needed.
pub fn survey(ctx: &Ctx) -> Vec<Item> {
    let rust = toolchain::find_rust(ctx);
    let rust_llvm = rust.as_ref().map_or(0, |rust| rust.llvm);
    let mut items = rust_items(rust.as_ref());

    let llvm = toolchain::find_llvm(ctx, rust_llvm);
    items.push(match &llvm {
        Some(llvm) => found("clang, lld, llvm", &llvm.identity),
        None => missing(
            "clang, lld, llvm",
            &format!("no complete set of version {MIN_LLVM} or newer"),
            Fix::Llvm,
        ),
    });
    items.push(libclang_item(llvm.as_ref().map(|llvm| llvm.major)));
    items.push(match toolchain::find_bindgen(ctx) {
        Some(bindgen) => found(
            "bindgen",
            &format!("{} ({})", bindgen.version, bindgen.path.display()),
        ),
        None => missing(
            "bindgen",
            &format!("none of version {MIN_BINDGEN} or newer"),
            Fix::Bindgen,
        ),
    });

    for (program, package) in PROGRAMS {
        items.push(match which(program) {
            Some(path) => found(program, &path.display().to_string()),
            None => missing(program, "not found", Fix::Package((*package).to_owned())),
        });
    }
    for (name, paths, package) in FILES {
        items.push(match existing(paths) {
            Some(path) => found(name, &path.display().to_string()),
            None => missing(name, "not found", Fix::Package((*package).to_owned())),
        });
    }
    items
}

fn rust_items(rust: Option<&toolchain::Rust>) -> Vec<Item> {
    let mut items = Vec::new();
    let rust = rust.filter(|rust| rust.version >= MIN_RUSTC);
    let Some(rust) = rust else {
        items.push(missing(
            "rustc",
            &format!("none of version {MIN_RUSTC} or newer"),
            Fix::Rust,
        ));
        return items;
    };
    items.push(found(
        "rustc",
        &format!("{} ({})", rust.version, rust.rustc.display()),
    ));
    items.push(if rust.has_source {
        found("rust library source", "there")
    } else {
        missing(
            "rust library source",
            "not beside rustc",
            Fix::RustPart("rust-src"),
        )
    });
    for (program, part) in [("rustfmt", "rustfmt"), ("clippy-driver", "clippy")] {
        let path = rust.rustc.with_file_name(program);
        items.push(if path.exists() {
            found(program, &path.display().to_string())
        } else {
            missing(program, "not beside rustc", Fix::RustPart(part))
        });
    }
    items
}

/// bindgen loads this library when it runs.
fn libclang_item(major: Option<u32>) -> Item {
    let dirs = ["/usr/lib64", "/usr/lib", "/usr/local/lib"];
    let dir = major.and_then(toolchain::libclang_dir).or_else(|| {
        dirs.iter()
            .map(PathBuf::from)
            .find(|dir| dir.join("libclang.so").exists())
    });
    match dir {
        Some(dir) => found("libclang", &dir.display().to_string()),
        None => missing("libclang", "not found", Fix::Libclang),
    }
}

fn existing(paths: &[&str]) -> Option<PathBuf> {
    paths
        .iter()
        .map(Path::new)
        .find(|path| path.exists())
        .map(Path::to_path_buf)
}

fn found(name: &str, what: &str) -> Item {
    Item {
        name: name.to_owned(),
        state: Ok(what.to_owned()),
        fix: None,
    }
}

fn missing(name: &str, why: &str, fix: Fix) -> Item {
    Item {
        name: name.to_owned(),
        state: Err(why.to_owned()),
        fix: Some(fix),
    }
}

/// Lays the items out in lines.
pub fn table(items: &[Item]) -> String {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for item in items {
        let (word, what) = match &item.state {
            Ok(what) => ("ok", what),
            Err(why) => ("MISSING", why),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{word:8} {:width$}  {what}", item.name);
    }
    text
}

/// Runs `doctor`.
pub fn run(ctx: &Ctx, _args: &Args) -> Result<ExitCode> {
    let items = survey(ctx);
    print!("{}", table(&items));
    let fixes: Vec<_> = items.iter().filter_map(|item| item.fix.as_ref()).collect();
    if fixes.is_empty() {
        println!("\nEverything is there.");
        return Ok(ExitCode::SUCCESS);
    }
    println!("\n{} missing. `cargo xtask setup` installs:", fixes.len());
    for command in packages::plan(ctx, &fixes)?.describe() {
        println!("  {command}");
    }
    Ok(ExitCode::FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_aligned_and_names_what_is_missing() {
        let items = [
            found("make", "/usr/bin/make"),
            missing("bc", "not found", Fix::Package("bc".to_owned())),
        ];
        assert_eq!(
            table(&items),
            "ok       make  /usr/bin/make\nMISSING  bc    not found\n"
        );
    }

    #[test]
    fn a_rustc_that_is_too_old_counts_as_none() {
        let rust = toolchain::Rust {
            rustc: "/usr/bin/rustc".into(),
            version: toolchain::Version([1, 63, 0]),
            identity: String::new(),
            llvm: 14,
            has_source: true,
            rustup: false,
        };
        let items = rust_items(Some(&rust));
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].fix, Some(Fix::Rust));
    }
}
