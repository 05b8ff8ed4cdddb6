// SPDX-License-Identifier: GPL-2.0

//! The kernel's source: the user's, the distribution's, or kernel.org's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};

use crate::apt::{self, Apt};
use crate::aptsources::Distribution;
use crate::arch::host_deb_arch;
use crate::cache::{self, write_atomic, Entry};
use crate::ctx::Ctx;
use crate::step::{self, Step};
use crate::toolchain::which;

/// The series of kernels that the modules are written for.
pub const SERIES: &str = "7.3";
/// Where kernel.org keeps it.
const KERNEL_ORG: &str = "https://cdn.kernel.org/pub/linux/kernel/v7.x";

/// A kernel's source tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// What tells this source from others.
    pub id: String,
    /// Its top.
    pub dir: PathBuf,
    /// Whether it is the user's, who may change it at any time.
    pub live: bool,
}

/// Returns the source to build from: the one the user names, else the cache's, else a fetched one.
pub fn find(ctx: &Ctx, named: Option<&Path>) -> Result<Tree> {
    match named {
        Some(path) if path.is_dir() => live_tree(path),
        Some(path) => from_tarball(ctx, path),
        None => default_tree(ctx),
    }
}

fn live_tree(path: &Path) -> Result<Tree> {
    let dir = path
        .canonicalize()
        .with_context(|| format!("cannot resolve {}", path.display()))?;
    let version = version_of(&dir)?;
    if dir.join(".config").exists() || dir.join("include/config").exists() {
        bail!(
            "{} was built in: a build elsewhere needs a clean source, as `make mrproper` leaves it; \
             to use the tree as it is built, name it with --kdir",
            dir.display()
        );
    }
    let path_hash = cache::sha256(dir.as_os_str().as_encoded_bytes());
    Ok(Tree {
        id: format!("{version}-{}", &path_hash[..12]),
        dir,
        live: true,
    })
}

/// Reads a tree's version from its top Makefile.
pub fn version_of(dir: &Path) -> Result<String> {
    let text = fs::read_to_string(dir.join("Makefile"))
        .with_context(|| format!("{} is no kernel source", dir.display()))?;
    parse_version(&text).with_context(|| format!("{} is no kernel source", dir.display()))
}

fn parse_version(makefile: &str) -> Option<String> {
    let field = |name: &str| {
        makefile.lines().take(20).find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim())
        })
    };
    Some(format!(
        "{}.{}.{}{}",
        field("VERSION")?,
        field("PATCHLEVEL")?,
        field("SUBLEVEL")?,
        field("EXTRAVERSION").unwrap_or_default()
    ))
}

fn default_tree(ctx: &Ctx) -> Result<Tree> {
    let record = ctx.paths.cache.join("source/default.json");
    if let Some(tree) = fs::read(&record)
        .ok()
        .and_then(|text| serde_json::from_slice::<Tree>(&text).ok())
        .filter(|tree| Entry::is_done(&tree.dir, &tree.id))
    {
        return Ok(tree);
    }
    let tree = match from_distribution(ctx) {
        Ok(tree) => tree,
        Err(error) => {
            step::check_interrupt()?;
            step::say(&format!(
                "the distribution has no source of Linux {SERIES} ({error:#}); trying kernel.org"
            ));
            from_kernel_org(ctx).context(
                "no kernel source could be fetched; name a tarball or a tree with --source",
            )?
        }
    };
    write_atomic(&record, &serde_json::to_vec(&tree)?)?;
    Ok(tree)
}

/// Debian's newest kernels are in its backports; what its present suite has is newest in sid.
fn from_distribution(ctx: &Ctx) -> Result<Tree> {
    let suites: &[&[&str]] = if Distribution::of_this_machine()?.is_debian() {
        &[&["trixie-backports"], &["sid"]]
    } else {
        &[&[]]
    };
    let package = format!("linux-source-{SERIES}");
    let mut last = None;
    for suites in suites {
        let fetched = Apt::new(ctx, "kernel-source", suites, host_deb_arch())
            .and_then(|apt| apt.download(&[&package], false));
        match fetched {
            Ok(debs) => return from_deb(ctx, &debs),
            Err(error) => last = Some(error),
        }
        step::check_interrupt()?;
    }
    Err(last.context("no suite to look in")?)
}

fn from_deb(ctx: &Ctx, debs: &[PathBuf]) -> Result<Tree> {
    let top = ctx.paths.cache.join("source");
    fs::create_dir_all(&top).with_context(|| format!("cannot create {}", top.display()))?;
    let temporary = tempfile::tempdir_in(&top).context("cannot create a directory")?;
    apt::unpack(ctx, debs, temporary.path())?;
    let tarball = temporary
        .path()
        .join(format!("usr/src/linux-source-{SERIES}.tar.xz"));
    from_tarball(ctx, &tarball)
}

/// Unpacks a tarball into the cache, once for each content.
fn from_tarball(ctx: &Ctx, tarball: &Path) -> Result<Tree> {
    let hash = cache::sha256_file(tarball)?;
    let id = hash[..12].to_owned();
    let tree = Tree {
        dir: ctx.paths.cache.join(format!("source/linux-{id}")),
        id,
        live: false,
    };
    if Entry::is_done(&tree.dir, &tree.id) {
        return Ok(tree);
    }
    let entry = Entry::open(&tree.dir, &tree.id)?;
    if entry.complete() {
        return Ok(tree);
    }
    entry.clear()?;
    let mut step = Step::start(ctx, "Unpacking the kernel source", "kernel-unpack")?;
    let mut tar = step::command("tar");
    tar.arg("-xf").arg(tarball).arg("-C").arg(&tree.dir);
    tar.args(["--strip-components=1", "--no-same-owner"]);
    // A line for each thousand files, to tell how far it is; a kernel has about 95 000.
    tar.args(["--checkpoint=1000", "--checkpoint-action=echo"]);
    step.measure(crate::progress::Meter::new(
        &ctx.paths.cache.join("progress"),
        "unpack",
        &tree.dir,
        crate::progress::Profile::even(170, 30.0),
        |line| line.starts_with("tar: "),
    ));
    step.run(&tar)?;
    let version = version_of(&tree.dir)?;
    entry.mark_done()?;
    step.done_with(&format!("Linux {version}"));
    Ok(tree)
}

fn from_kernel_org(ctx: &Ctx) -> Result<Tree> {
    let dir = ctx.paths.cache.join("source/kernel.org");
    let _lock = cache::lock(&dir)?;
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let mut step = Step::start(ctx, "Fetching Linux from kernel.org", "kernel-org")?;
    let sums_path = dir.join("sha256sums.asc");
    download(
        &mut step,
        &format!("{KERNEL_ORG}/sha256sums.asc"),
        &sums_path,
    )?;
    let sums = fs::read_to_string(&sums_path).context("cannot read the checksums")?;
    let (name, sum) =
        newest(&sums).with_context(|| format!("kernel.org lists no Linux {SERIES}"))?;
    check_signature(&sums_path)?;
    let tarball = dir.join(&name);
    if !tarball.is_file() || cache::sha256_file(&tarball)? != sum {
        let partial = dir.join(format!("{name}.part"));
        let watched = partial.clone();
        step.watch(160 << 20, move || {
            fs::metadata(&watched).map_or(0, |meta| meta.len())
        });
        download(&mut step, &format!("{KERNEL_ORG}/{name}"), &partial)?;
        let found = cache::sha256_file(&partial)?;
        if found != sum {
            // It must not be continued by the next try.
            let _ = fs::remove_file(&partial);
            bail!("{name} has the SHA-256 {found}, and kernel.org's list says {sum}");
        }
        fs::rename(&partial, &tarball).context("cannot keep the tarball")?;
    }
    step.done_with(&name);
    from_tarball(ctx, &tarball)
}

fn download(step: &mut Step<'_>, url: &str, to: &Path) -> Result<()> {
    let mut command = if which("curl").is_some() {
        let mut curl = step::command("curl");
        curl.args([
            "--proto",
            "=https",
            "--fail",
            "--location",
            "--no-progress-meter",
        ]);
        curl.args(["--continue-at", "-", "--retry", "3", "--output"]);
        curl
    } else {
        let mut wget = step::command("wget");
        wget.args([
            "--https-only",
            "--no-verbose",
            "--continue",
            "--output-document",
        ]);
        wget
    };
    // The list of checksums changes; only the tarball is worth continuing.
    if to.extension().is_some_and(|extension| extension == "asc") {
        let _ = fs::remove_file(to);
    }
    command.arg(to).arg(url);
    step.run(&command)
        .with_context(|| format!("cannot fetch {url}"))
}

/// The newest release of the series in kernel.org's list of checksums, and its checksum.
fn newest(sums: &str) -> Option<(String, String)> {
    sums.lines()
        .filter_map(|line| line.split_once("  "))
        .filter_map(|(sum, name)| {
            let version = name.strip_prefix("linux-")?.strip_suffix(".tar.xz")?;
            let patch = match version.strip_prefix(SERIES)? {
                "" => 0,
                rest => rest.strip_prefix('.')?.parse::<u32>().ok()?,
            };
            Some((patch, name.to_owned(), sum.to_owned()))
        })
        .max()
        .map(|(_, name, sum)| (name, sum))
}

/// Checks the signature of the list where the user's keyring has kernel.org's key.
///
/// Without that key the list is worth what HTTPS is worth; a bad signature is refused always.
fn check_signature(sums: &Path) -> Result<()> {
    if which("gpg").is_none() {
        return Ok(());
    }
    let verified = step::command("gpg")
        .args(["--batch", "--status-fd", "1", "--verify"])
        .arg(sums)
        .output()
        .context("cannot run gpg")?;
    let status = String::from_utf8_lossy(&verified.stdout);
    if status.contains("[GNUPG:] BADSIG") {
        bail!("the signature of kernel.org's list of checksums is wrong");
    }
    if !status.contains("[GNUPG:] GOODSIG") {
        step::say("kernel.org's key is not in your keyring: trusting its list by HTTPS alone");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_the_series_is_chosen() {
        let sums = "aa  linux-7.3.tar.xz\nbb  linux-7.3.10.tar.xz\ncc  linux-7.3.9.tar.xz\n\
            dd  linux-7.31.tar.xz\nee  patch-7.3.11.xz\nff  linux-7.4.tar.xz\n";
        let (name, sum) = newest(sums).unwrap();
        assert_eq!(name, "linux-7.3.10.tar.xz");
        assert_eq!(sum, "bb");
        assert!(newest("aa  linux-7.2.1.tar.xz\n").is_none());
    }

    #[test]
    fn a_version_is_read_from_a_makefile() {
        let makefile =
            "# SPDX\nVERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION = -rc1\nNAME = x\n";
        assert_eq!(parse_version(makefile).as_deref(), Some("7.3.4-rc1"));
        assert!(parse_version("all:\n").is_none());
    }

    #[test]
    fn a_tree_that_was_built_in_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let makefile = "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n";
        fs::write(top.path().join("Makefile"), makefile).unwrap();
        assert!(live_tree(top.path()).unwrap().live);
        fs::write(top.path().join(".config"), "").unwrap();
        let error = live_tree(top.path()).unwrap_err().to_string();
        assert!(error.contains("mrproper"), "{error}");
    }
}
