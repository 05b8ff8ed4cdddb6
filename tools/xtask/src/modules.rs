// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask modules`: our modules, built out of tree and laid out as a guest needs them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{bail, Context, Result};

use crate::cache::{self, sha256, Entry};
use crate::ctx::Ctx;
use crate::guest;
use crate::kernel::{self, Kernel};
use crate::step::Step;

/// Our modules for one kernel.
pub struct Modules {
    /// Where they were built: objects, metadata, command files.
    pub build: PathBuf,
    /// Holds `lib/modules/RELEASE` with the kernel's modules and ours.
    pub stage: PathBuf,
    /// The same as an archive for a guest.
    pub archive: PathBuf,
    /// Ours, as they are in the stage.
    pub ours: Vec<PathBuf>,
}

/// Runs `modules`.
pub fn run(ctx: &Ctx, args: &kernel::Args) -> Result<ExitCode> {
    let kernel = kernel::ensure(ctx, args.arch, args.config, &args.source)?;
    println!("{}", ensure(ctx, &kernel)?.build.display());
    Ok(ExitCode::SUCCESS)
}

/// Builds what has changed; returns the directory that holds the `.ko` files and `modules.order`.
pub fn build(ctx: &Ctx, kernel: &Kernel) -> Result<PathBuf> {
    let build = ctx.paths.build_dir(kernel.arch, kernel.config);
    fs::create_dir_all(&build).with_context(|| format!("cannot create {}", build.display()))?;
    // Two runs of make in one directory would spoil each other's work.
    let _lock = cache::lock(&build)?;
    start_over_for_another(kernel, &build)?;
    let mut step = start(ctx, kernel, "modules")?;
    step.run(make(ctx, kernel, &build).arg("modules"))?;
    step.done();
    Ok(build)
}

/// Removes what was built against another kernel: make compares dates, and those of a kernel tell nothing.
fn start_over_for_another(kernel: &Kernel, build: &Path) -> Result<()> {
    let mark = build.join(".kernel");
    let dir = kernel.dir.to_string_lossy();
    if fs::read_to_string(&mark).is_ok_and(|marked| marked == dir) {
        return Ok(());
    }
    fs::remove_dir_all(build)
        .and_then(|()| fs::create_dir(build))
        .with_context(|| format!("cannot empty {}", build.display()))?;
    cache::write_atomic(&mark, dir.as_bytes())
}

/// Builds what has changed, and lays it out anew for a guest if anything has.
pub fn ensure(ctx: &Ctx, kernel: &Kernel) -> Result<Modules> {
    let build = build(ctx, kernel)?;
    let key = stage_key(kernel, &build)?;
    let dir = build.join(".stage");
    let archive = dir.join("modules.cpio");
    let entry = Entry::open(&dir, &key)?;
    if !entry.complete() {
        entry.clear()?;
        let mut step = start(ctx, kernel, "installing modules")?;
        // The kernel's own modules first, then ours: each time depmod sees what is there.
        let mut path = std::ffi::OsString::from("INSTALL_MOD_PATH=");
        path.push(&dir);
        let install = |mut make: Command| {
            make.arg("modules_install")
                .arg("INSTALL_MOD_STRIP=1")
                .arg(&path);
            make
        };
        step.run(&install(kernel.make()))?;
        step.run(&install(make(ctx, kernel, &build)))?;
        guest::write_modules(&dir, &archive)?;
        entry.mark_done()?;
        step.done();
    }

    let updates = dir
        .join("lib/modules")
        .join(&kernel.release)
        .join("updates");
    let mut ours = Vec::new();
    find_modules(&updates, &mut ours)?;
    if ours.is_empty() {
        bail!("no module was built in {}", build.display());
    }
    ours.sort();
    Ok(Modules {
        build,
        stage: dir,
        archive,
        ours,
    })
}

fn start<'a>(ctx: &'a Ctx, kernel: &Kernel, what: &str) -> Result<Step<'a>> {
    let (arch, config) = (kernel.arch, kernel.config);
    let log = format!("{}-{arch}-{config}", what.replace(' ', "-"));
    Step::start(ctx, format!("{what} for {arch}, {config}"), &log)
}

fn make(ctx: &Ctx, kernel: &Kernel, build: &Path) -> Command {
    let variable = |name: &str, path: &Path| {
        let mut word = std::ffi::OsString::from(name);
        word.push("=");
        word.push(path);
        word
    };
    let mut make = kernel.make();
    make.arg(variable("M", &ctx.paths.repo))
        .arg(variable("MO", build))
        .arg(format!("-j{}", jobs()));
    make
}

fn jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Changes whenever a module of ours or the kernel does.
fn stage_key(kernel: &Kernel, build: &Path) -> Result<String> {
    let mut built = Vec::new();
    find_modules(build, &mut built)?;
    built.push(kernel.dir.join("modules.order"));
    built.push(kernel.dir.join("Module.symvers"));
    built.sort();
    let mut text = format!("{}\n", kernel.release);
    for path in built {
        let meta = fs::metadata(&path).with_context(|| format!("{} is missing", path.display()))?;
        text += &format!(
            "{} {} {}.{}\n",
            path.display(),
            meta.len(),
            meta.mtime(),
            meta.mtime_nsec()
        );
    }
    Ok(sha256(text.as_bytes()))
}

/// The `.ko` files under a directory, which need not exist.
fn find_modules(dir: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let items = match fs::read_dir(dir) {
        Ok(items) => items,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", dir.display())),
    };
    for item in items {
        let item = item?;
        let path = item.path();
        let hidden = item.file_name().to_string_lossy().starts_with('.');
        if item.file_type()?.is_dir() && !hidden {
            find_modules(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "ko") {
            found.push(path);
        }
    }
    Ok(())
}

/// The name that `modprobe` knows a module file by.
pub fn module_name(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_and_named() {
        let top = tempfile::tempdir().unwrap();
        let deep = top.path().join("rust/net");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(top.path().join(".stage")).unwrap();
        fs::write(deep.join("rust_net.ko"), b"ELF").unwrap();
        fs::write(deep.join("rust_net.mod.o"), b"").unwrap();
        fs::write(top.path().join("page-pool-c.ko"), b"ELF").unwrap();
        fs::write(top.path().join(".stage/other.ko"), b"ELF").unwrap();
        let mut found = Vec::new();
        find_modules(top.path(), &mut found).unwrap();
        found.sort();
        let names: Vec<_> = found.iter().map(|path| module_name(path)).collect();
        assert_eq!(names, ["page_pool_c", "rust_net"]);
        assert!(find_modules(&top.path().join("none"), &mut found).is_ok());
    }
}
