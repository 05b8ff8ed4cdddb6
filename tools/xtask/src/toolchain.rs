// SPDX-License-Identifier: GPL-2.0

//! The compilers and tools that build a kernel.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, Context, Result};

use crate::arch::Arch;
use crate::ctx::Ctx;
use crate::step;

/// The oldest tools that Linux 7.3 accepts (`scripts/min-tool-version.sh`).
pub const MIN_RUSTC: Version = Version([1, 85, 0]);
/// See [`MIN_RUSTC`].
pub const MIN_BINDGEN: Version = Version([0, 71, 1]);
/// See [`MIN_RUSTC`].
pub const MIN_LLVM: u32 = 17;
/// The LLVM that is tried first, because the project is tested with it most.
pub const FAVOURITE_LLVM: u32 = 19;
/// The newest LLVM that is looked for under a suffixed name.
pub const MAX_LLVM: u32 = 30;

/// The programs of LLVM that a kernel build calls.
const LLVM_TOOLS: &[&str] = &[
    "clang",
    "ld.lld",
    "llvm-ar",
    "llvm-nm",
    "llvm-objcopy",
    "llvm-objdump",
    "llvm-readelf",
    "llvm-strip",
];

/// A version of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl Version {
    /// The first version number in `text`; numbers that are left out count as 0.
    pub fn find(text: &str) -> Option<Self> {
        let word = text.split([' ', '\n', '(']).find(|word| {
            word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.')
                || word.starts_with('v') && word[1..].starts_with(|c: char| c.is_ascii_digit())
        })?;
        let mut numbers = word
            .trim_start_matches('v')
            .split(|c: char| !c.is_ascii_digit())
            .map_while(|part| part.parse().ok());
        Some(Version([
            numbers.next()?,
            numbers.next().unwrap_or(0),
            numbers.next().unwrap_or(0),
        ]))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// A Rust compiler.
#[derive(Clone, Debug)]
pub struct Rust {
    /// The compiler's real path; `rustdoc`, `rustfmt` and `clippy-driver` are its neighbours.
    pub rustc: PathBuf,
    /// Its version.
    pub version: Version,
    /// All it says about itself.
    pub identity: String,
    /// The major version of its LLVM.
    pub llvm: u32,
    /// Whether it comes with the source of its library, which the kernel builds `core` from.
    pub has_source: bool,
    /// Whether rustup manages it.
    pub rustup: bool,
}

/// An LLVM with all its programs that matter.
#[derive(Clone, Debug)]
pub struct Llvm {
    /// What follows each program's name: `-19`, or nothing.
    pub suffix: String,
    /// Its major version.
    pub major: u32,
    /// All it says about itself.
    pub identity: String,
}

/// A bindgen.
#[derive(Clone, Debug)]
pub struct Bindgen {
    /// Its path.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

/// The compilers and tools that build a kernel.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The Rust compiler.
    pub rust: Rust,
    /// The C compiler and its companions.
    pub llvm: Llvm,
    /// The generator of bindings.
    pub bindgen: Bindgen,
    /// The version of pahole, if there is one: it becomes part of a kernel's configuration.
    pub pahole: String,
}

impl Toolchain {
    /// Finds the tools.
    pub fn find(ctx: &Ctx) -> Result<Self> {
        let missing = |what: &str| anyhow!("{what}; `cargo xtask setup` installs it");
        let rust = find_rust(ctx)
            .filter(|rust| rust.version >= MIN_RUSTC)
            .ok_or_else(|| missing(&format!("there is no rustc {MIN_RUSTC} or newer")))?;
        if !rust.has_source {
            return Err(missing(&format!(
                "{} has no library source",
                rust.rustc.display()
            )));
        }
        let llvm = find_llvm(ctx, rust.llvm).ok_or_else(|| {
            missing(&format!(
                "there is no clang with lld {MIN_LLVM} or newer, complete"
            ))
        })?;
        let bindgen = find_bindgen(ctx)
            .ok_or_else(|| missing(&format!("there is no bindgen {MIN_BINDGEN} or newer")))?;
        Ok(Toolchain {
            rust,
            llvm,
            bindgen,
            pahole: version_of(ctx, Path::new("pahole")).unwrap_or_default(),
        })
    }

    /// What a kernel's build depends on.
    pub fn fingerprint(&self) -> String {
        format!(
            "{}\n{}\nbindgen {}\npahole {}\n",
            self.rust.identity.trim(),
            self.llvm.identity.trim(),
            self.bindgen.version,
            self.pahole
        )
    }

    /// The variables for `make`'s command line.
    pub fn make_vars(&self, arch: Arch) -> Vec<OsString> {
        let rust = |variable: &str, program: &str| {
            let mut word = OsString::from(format!("{variable}="));
            word.push(self.rust.rustc.with_file_name(program));
            word
        };
        let llvm = match self.llvm.suffix.as_str() {
            "" => "1",
            suffix => suffix,
        };
        let mut bindgen = OsString::from("BINDGEN=");
        bindgen.push(&self.bindgen.path);
        vec![
            format!("ARCH={arch}").into(),
            format!("LLVM={llvm}").into(),
            // One compiler for all, whatever comes first in PATH.
            rust("RUSTC", "rustc"),
            rust("HOSTRUSTC", "rustc"),
            rust("RUSTDOC", "rustdoc"),
            rust("RUSTFMT", "rustfmt"),
            rust("CLIPPY_DRIVER", "clippy-driver"),
            bindgen,
        ]
    }

    /// `PATH` for children: scripts of the kernel call `rustc` and `bindgen` by name.
    pub fn path(&self) -> OsString {
        let rest = search_path();
        let mut dirs: Vec<PathBuf> = Vec::new();
        // `setup`'s bindgen is alone in its directory, so that nothing else is hidden by it.
        dirs.extend(
            self.bindgen
                .path
                .parent()
                .filter(|dir| !rest.iter().any(|other| other == dir))
                .map(Path::to_path_buf),
        );
        dirs.extend(self.rust.rustc.parent().map(Path::to_path_buf));
        dirs.extend(rest);
        // The parts come from a PATH, so they can be joined to one.
        env::join_paths(dirs).unwrap_or_default()
    }

    /// A command with the environment in which kernels and modules are built.
    pub fn command(&self, program: &str) -> std::process::Command {
        let mut command = step::command(program);
        command.env("PATH", self.path());
        if let Some(dir) = libclang_dir(self.llvm.major) {
            // With several LLVMs about, bindgen would take any.
            command.env("LIBCLANG_PATH", dir);
        }
        command
    }
}

/// The directories of `PATH`, and those that only root's has.
fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = env::split_paths(&path).collect();
    for extra in ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
        if !dirs.iter().any(|dir| dir == Path::new(extra)) {
            dirs.push(extra.into());
        }
    }
    dirs
}

/// Finds a program.
pub fn which(program: &str) -> Option<PathBuf> {
    search_path()
        .into_iter()
        .map(|dir| dir.join(program))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn version_of(ctx: &Ctx, program: &Path) -> Option<String> {
    let text = step::output(ctx, step::command(program).arg("--version")).ok()?;
    Version::find(&text).map(|version| version.to_string())
}

/// Finds the Rust compiler: one that will do if there is one, else one that nearly does.
pub fn find_rust(ctx: &Ctx) -> Option<Rust> {
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Some(rustc) = env::var_os("RUSTC").filter(|rustc| !rustc.is_empty()) {
        paths.push(rustc.into());
    }
    paths.extend(which("rustc"));
    paths.extend(home_cargo_bin().map(|dir| dir.join("rustc")));
    paths.push("/usr/bin/rustc".into());
    // Ubuntu's versioned packages, the newest first.
    paths.extend(
        (85..120)
            .rev()
            .map(|minor| format!("/usr/lib/rust-1.{minor}/bin/rustc").into()),
    );
    let mut second_best = None;
    for path in paths {
        match inspect_rust(ctx, &path) {
            Some(rust) if rust.version >= MIN_RUSTC && rust.has_source => return Some(rust),
            Some(rust) => second_best = second_best.or(Some(rust)),
            None => {}
        }
    }
    second_best
}

fn home_cargo_bin() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")))?;
    Some(home.join("bin"))
}

/// Finds rustup, on PATH or where its installer puts it.
pub fn find_rustup() -> Option<PathBuf> {
    which("rustup").or_else(|| {
        home_cargo_bin()
            .map(|dir| dir.join("rustup"))
            .filter(|path| is_program(path))
    })
}

fn inspect_rust(ctx: &Ctx, path: &Path) -> Option<Rust> {
    if path.is_absolute() && !is_program(path) {
        return None;
    }
    let sysroot = step::output(ctx, step::command(path).args(["--print", "sysroot"])).ok()?;
    let sysroot = PathBuf::from(sysroot.trim());
    // rustup's `rustc` is a proxy that decides anew at each call; the real one does not change.
    let inner = sysroot.join("bin/rustc");
    let rustc = if is_program(&inner) {
        inner
    } else {
        path.to_path_buf()
    };
    let identity = step::output(ctx, step::command(&rustc).arg("-vV")).ok()?;
    let field = |name: &str| {
        identity
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(Version::find)
    };
    Some(Rust {
        version: field("release:")?,
        llvm: field("LLVM version:").map_or(0, |version| version.0[0]),
        has_source: sysroot
            .join("lib/rustlib/src/rust/library/core/src/lib.rs")
            .is_file(),
        rustup: sysroot
            .components()
            .any(|part| part.as_os_str() == ".rustup")
            || sysroot
                .parent()
                .is_some_and(|dir| dir.ends_with("toolchains")),
        rustc,
        identity,
    })
}

/// The majors to try, best first: the one rustc is built on allows helpers to be inlined.
pub fn llvm_order(rust_llvm: u32) -> Vec<u32> {
    let mut order = Vec::new();
    if rust_llvm >= MIN_LLVM {
        order.push(rust_llvm);
    }
    order.push(FAVOURITE_LLVM);
    order.extend(FAVOURITE_LLVM + 1..=MAX_LLVM);
    order.extend((MIN_LLVM..FAVOURITE_LLVM).rev());
    let mut seen = Vec::new();
    order.retain(|major| {
        let new = !seen.contains(major);
        seen.push(*major);
        new
    });
    order
}

/// Finds the LLVM to use with a Rust compiler that has the LLVM major `rust_llvm`.
pub fn find_llvm(ctx: &Ctx, rust_llvm: u32) -> Option<Llvm> {
    llvm_order(rust_llvm)
        .into_iter()
        .map(|major| format!("-{major}"))
        .chain([String::new()])
        .find_map(|suffix| inspect_llvm(ctx, &suffix))
}

fn inspect_llvm(ctx: &Ctx, suffix: &str) -> Option<Llvm> {
    if !LLVM_TOOLS
        .iter()
        .all(|tool| which(&format!("{tool}{suffix}")).is_some())
    {
        return None;
    }
    let clang = format!("clang{suffix}");
    let identity = step::output(ctx, step::command(clang).arg("--version")).ok()?;
    let identity = identity.lines().next()?.to_owned();
    let major = Version::find(&identity)?.0[0];
    (major >= MIN_LLVM).then(|| Llvm {
        suffix: suffix.to_owned(),
        major,
        identity,
    })
}

/// The directory of an LLVM's `libclang.so`, where distributions put each LLVM in its own.
pub fn libclang_dir(major: u32) -> Option<PathBuf> {
    let dir = PathBuf::from(format!("/usr/lib/llvm-{major}/lib"));
    let has = std::fs::read_dir(&dir).ok()?.flatten().any(|item| {
        let name = item.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libclang.so") || name.starts_with("libclang-") && name.contains(".so")
    });
    has.then_some(dir)
}

/// Where `setup` puts a bindgen when the distribution has none that is new enough.
pub fn private_bindgen_root(ctx: &Ctx) -> PathBuf {
    ctx.paths.cache.join("tools/bindgen")
}

/// Finds bindgen.
pub fn find_bindgen(ctx: &Ctx) -> Option<Bindgen> {
    let private = private_bindgen_root(ctx).join("bin/bindgen");
    [which("bindgen"), Some(private)]
        .into_iter()
        .flatten()
        .filter(|path| is_program(path))
        .find_map(|path| {
            let text = step::output(ctx, step::command(&path).arg("--version")).ok()?;
            let version = Version::find(&text)?;
            (version >= MIN_BINDGEN).then_some(Bindgen { path, version })
        })
}

/// Describes which tools were taken, in one line.
pub fn describe(tools: &Toolchain) -> Result<String> {
    let first = tools.rust.identity.lines().next();
    Ok(format!(
        "{}, {}, bindgen {}",
        first.context("rustc says nothing about itself")?,
        tools.llvm.identity,
        tools.bindgen.version
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_say() {
        let found = |text| Version::find(text).map(|version| version.0);
        assert_eq!(
            found("rustc 1.95.0 (59807616e 2026-04-14)"),
            Some([1, 95, 0])
        );
        assert_eq!(found("bindgen 0.72.1"), Some([0, 72, 1]));
        assert_eq!(
            found("Debian clang version 19.1.7 (3~deb12u1)"),
            Some([19, 1, 7])
        );
        assert_eq!(found("v1.24"), Some([1, 24, 0]));
        assert_eq!(found("LLVM version: 22.1.2"), Some([22, 1, 2]));
        assert_eq!(found("1.85.0+dfsg3-1~deb12u3"), Some([1, 85, 0]));
        assert_eq!(found("no number"), None);
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(Version([1, 100, 0]) > Version([1, 95, 0]));
        assert!(Version([0, 71, 1]) >= MIN_BINDGEN);
        assert!(Version([0, 71, 0]) < MIN_BINDGEN);
    }

    #[test]
    fn the_llvm_of_rustc_comes_first() {
        assert_eq!(llvm_order(22)[..3], [22, 19, 20]);
        assert_eq!(llvm_order(19)[..2], [19, 20]);
        assert_eq!(llvm_order(14)[0], 19);
        assert_eq!(llvm_order(19).last(), Some(&17));
        assert_eq!(llvm_order(22).iter().filter(|n| **n == 22).count(), 1);
    }
}
