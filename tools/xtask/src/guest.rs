// SPDX-License-Identifier: GPL-2.0

//! What a guest boots into: one initramfs made of several archives, written one after another.
//!
//! First the distribution's packages of the guest's architecture, which are fetched once; then the modules; last what
//! belongs to this run: `/init`, the script, and what `/init` is told.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{bail, Context, Result};

use crate::apt::Apt;
use crate::arch::Arch;
use crate::cache::{sha256, Entry};
use crate::cpio::Archive;
use crate::ctx::Ctx;
use crate::step;

/// Raised when an archive made of the same packages gets another content.
const FORMAT: u32 = 1;

/// The base of each guest. It is one static program, so it needs nothing else.
const BASE: Packages = Packages {
    name: "base",
    packages: &["busybox-static"],
    with_dependencies: false,
};

/// For people and for scripts that ask for it.
const TOOLS: Packages = Packages {
    name: "tools",
    // The shells, since busybox's own prefers what is built into it, `ip` among others, to any program.
    packages: &[
        "bash",
        "bpftool",
        "dash",
        "ethtool",
        "iproute2",
        "linux-perf",
    ],
    with_dependencies: true,
};

/// Directories of packages that a guest has no use for.
const LEFT_OUT: &[&str] = &[
    "usr/share/bash-completion/",
    "usr/share/bug/",
    "usr/share/doc/",
    "usr/share/doc-base/",
    "usr/share/gcc/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/share/locale/",
    "usr/share/man/",
    "usr/share/perf-core/tests/",
    "usr/share/zsh/",
];

/// Directories at the top that are links into `usr` on a merged system, which the guest is.
const MERGED: &[&str] = &["bin", "sbin", "lib", "lib64"];

struct Packages {
    name: &'static str,
    packages: &'static [&'static str],
    with_dependencies: bool,
}

/// What one boot is for.
pub struct Task<'a> {
    /// Shell assignments for `/init`; see there.
    pub settings: Vec<(&'static str, String)>,
    /// What to run, if it is not a shell for a person.
    pub script: Option<&'a [u8]>,
    /// An archive of `/usr/lib/modules`.
    pub modules: Option<&'a Path>,
    /// Whether to add ethtool, iproute2, bpftool and perf.
    pub tools: bool,
}

/// Writes the initramfs for one boot.
pub fn write_initramfs(ctx: &Ctx, arch: Arch, task: &Task<'_>, to: &Path) -> Result<()> {
    let mut parts = vec![packages(ctx, arch, &BASE)?];
    if task.tools {
        parts.push(packages(ctx, arch, &TOOLS)?);
    }
    parts.extend(task.modules.map(Path::to_path_buf));

    let init = ctx.paths.repo.join("tools/guest/init");
    let init = fs::read(&init).with_context(|| format!("cannot read {}", init.display()))?;
    let write = || -> io::Result<()> {
        let mut out = File::create(to)?;
        for part in &parts {
            io::copy(&mut File::open(part)?, &mut out)?;
        }
        let archive = write_task(Archive::new(BufWriter::new(out)), &init, task)?;
        archive.finish()?.into_inner()?.flush()
    };
    write().with_context(|| format!("cannot write {}", to.display()))
}

fn write_task<W: Write>(
    mut archive: Archive<W>,
    init: &[u8],
    task: &Task<'_>,
) -> io::Result<Archive<W>> {
    for directory in ["proc", "sys", "tmp", "run", "root", "usr/lib/busybox"] {
        archive.directory(directory)?;
    }
    // The kernel opens it for /init before there is a devtmpfs.
    archive.char_device("dev/console", 0o600, (5, 1))?;
    archive.file("init", 0o755, init)?;
    // Where the kernel looks for it when it loads a module by itself.
    archive.symlink("usr/sbin/modprobe", "../bin/busybox")?;
    archive.file("etc/passwd", 0o644, b"root::0:0:root:/root:/bin/sh\n")?;
    archive.file("etc/group", 0o644, b"root:x:0:\n")?;
    archive.file("etc/profile", 0o644, b"PS1='lab:\\w# '\n")?;
    let settings: String = task
        .settings
        .iter()
        .map(|(name, value)| format!("{name}='{}'\n", value.replace('\'', r"'\''")))
        .collect();
    archive.file("lab/config", 0o600, settings.as_bytes())?;
    if let Some(script) = task.script {
        archive.file("lab/script", 0o755, script)?;
    }
    Ok(archive)
}

/// The archive of some packages, which is made once.
fn packages(ctx: &Ctx, arch: Arch, which: &Packages) -> Result<PathBuf> {
    let deb_arch = arch.deb_arch();
    let key = sha256(format!("{FORMAT} {deb_arch} {:?} {LEFT_OUT:?}", which.packages).as_bytes());
    let dir =
        ctx.paths
            .cache
            .join("guest")
            .join(format!("{}-{deb_arch}-{}", which.name, &key[..12]));
    let result = dir.join("archive.cpio");
    if Entry::is_done(&dir, &key) {
        return Ok(result);
    }
    let entry = Entry::open(&dir, &key)?;
    if entry.complete() {
        return Ok(result);
    }
    let apt = Apt::new(ctx, &format!("guest-{deb_arch}"), &[], deb_arch)?;
    let debs = apt.download(which.packages, which.with_dependencies)?;
    let file =
        File::create(&result).with_context(|| format!("cannot write {}", result.display()))?;
    let mut archive = Archive::new(BufWriter::new(file));
    if which.name == BASE.name {
        // Links first: what is unpacked later goes through them.
        for name in MERGED {
            archive.directory(&format!("usr/{name}"))?;
            archive.symlink(name, &format!("usr/{name}"))?;
        }
        archive.symlink("usr/bin/sh", "busybox")?;
    }
    for deb in &debs {
        add_package(&mut archive, deb)
            .with_context(|| format!("cannot unpack {}", deb.display()))?;
    }
    archive
        .finish()?
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    entry.mark_done()?;
    Ok(result)
}

/// Adds the files of a package, without any of its scripts.
fn add_package<W: Write>(archive: &mut Archive<W>, deb: &Path) -> Result<()> {
    let mut child = step::command("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(deb)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run dpkg-deb")?;
    let tar = child.stdout.take().context("no output to read")?;
    let added = add_tar(archive, tar);
    let status = child.wait().context("cannot wait for dpkg-deb")?;
    added?;
    if !status.success() {
        bail!("dpkg-deb failed ({status})");
    }
    Ok(())
}

fn add_tar<W: Write>(archive: &mut Archive<W>, tar: impl Read) -> Result<()> {
    let mut tar = tar::Archive::new(tar);
    for entry in tar.entries()? {
        step::check_interrupt()?;
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let Some(path) = place(&path) else { continue };
        let mode = entry.header().mode()?;
        match entry.header().entry_type() {
            tar::EntryType::Directory => archive.directory(&path)?,
            tar::EntryType::Symlink => {
                let target = entry.link_name()?.context("a link without a target")?;
                archive.symlink(&path, &target.to_string_lossy())?;
            }
            tar::EntryType::Link => {
                // A second name for a file of the same package: a link does as well.
                let target = entry.link_name()?.context("a link without a target")?;
                let target = place(&target.to_string_lossy()).context("a link to nothing")?;
                archive.symlink(&path, &format!("/{target}"))?;
            }
            tar::EntryType::Regular => {
                let mut data = Vec::new();
                entry.read_to_end(&mut data)?;
                archive.file(&path, mode, &data)?;
            }
            other => bail!("{path}: a file of type {other:?}"),
        }
    }
    Ok(())
}

/// Where a file of a package goes in the guest, if anywhere.
fn place(path: &str) -> Option<String> {
    let path = path.trim_start_matches("./").trim_matches('/');
    let top = path.split('/').next().unwrap_or(path);
    let path = if MERGED.contains(&top) {
        format!("usr/{path}")
    } else {
        path.to_owned()
    };
    let left_out = LEFT_OUT
        .iter()
        .any(|dir| path.starts_with(dir) || path == dir.trim_end_matches('/'));
    (!path.is_empty() && !left_out).then_some(path)
}

/// Writes the archive of a directory that holds `lib/modules`.
pub fn write_modules(stage: &Path, to: &Path) -> Result<()> {
    let file = File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
    let mut archive = Archive::new(BufWriter::new(file));
    add_tree(&mut archive, &stage.join("lib/modules"), "usr/lib/modules")?;
    archive.finish()?.flush()?;
    Ok(())
}

fn add_tree<W: Write>(archive: &mut Archive<W>, dir: &Path, name: &str) -> Result<()> {
    archive.directory(name)?;
    let mut items = fs::read_dir(dir)
        .with_context(|| format!("cannot read {}", dir.display()))?
        .collect::<io::Result<Vec<_>>>()?;
    // The same content makes the same archive.
    items.sort_by_key(fs::DirEntry::file_name);
    for item in items {
        let name = format!("{name}/{}", item.file_name().to_string_lossy());
        let kind = item.file_type()?;
        if kind.is_dir() {
            add_tree(archive, &item.path(), &name)?;
        } else if kind.is_file() {
            archive.file(&name, 0o644, &fs::read(item.path())?)?;
        }
        // A link leads to where the kernel was built: nothing for the guest.
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_go_to_their_merged_places() {
        for (from, to) in [
            ("./bin/busybox", Some("usr/bin/busybox")),
            ("./usr/sbin/ethtool", Some("usr/sbin/ethtool")),
            (
                "./lib64/ld-linux-x86-64.so.2",
                Some("usr/lib64/ld-linux-x86-64.so.2"),
            ),
            ("./lib/", Some("usr/lib")),
            ("./library/x", Some("library/x")),
            ("./usr/share/doc/ethtool/copyright", None),
            ("./usr/share/doc/", None),
            ("./", None),
        ] {
            assert_eq!(place(from).as_deref(), to, "{from}");
        }
    }

    #[test]
    fn tar_becomes_cpio() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        header.set_mode(0o755);
        builder
            .append_data(&mut header, "./bin/tool", &b"abc"[..])
            .unwrap();
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        link.set_mode(0o777);
        builder
            .append_link(&mut link, "./lib/libx.so", "libx.so.1")
            .unwrap();
        let tar = builder.into_inner().unwrap();
        let mut archive = Archive::new(Vec::new());
        add_tar(&mut archive, &tar[..]).unwrap();
        let text = String::from_utf8_lossy(&archive.finish().unwrap()).into_owned();
        assert!(text.contains("usr/bin/tool\0"));
        assert!(text.contains("abc"));
        assert!(text.contains("usr/lib/libx.so\0"));
        assert!(text.contains("libx.so.1"));
    }

    #[test]
    fn settings_are_quoted_for_the_shell() {
        let task = Task {
            settings: vec![("LAB_MODE", "it's".to_owned())],
            script: Some(b"exit 3\n"),
            modules: None,
            tools: false,
        };
        let archive = write_task(Archive::new(Vec::new()), b"#!", &task).unwrap();
        let text = String::from_utf8_lossy(&archive.finish().unwrap()).into_owned();
        assert!(text.contains("LAB_MODE='it'\\''s'\n"));
        assert!(text.contains("lab/script\0"));
    }
}
