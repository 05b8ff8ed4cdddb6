// SPDX-License-Identifier: GPL-2.0

//! Writer of `newc` cpio archives, the format of an initramfs.
//!
//! Archives are written straight into a file and never pass through a directory tree, so device nodes and files of root
//! need no privilege. The kernel unpacks any number of archives one after another; each starts on a multiple of four
//! bytes, which [`Archive::finish`] sees to.

use std::collections::BTreeSet;
use std::io::{self, Write};

const S_IFDIR: u32 = 0o040000;
const S_IFREG: u32 = 0o100000;
const S_IFLNK: u32 = 0o120000;
const S_IFCHR: u32 = 0o020000;

/// The kernel's limit on the length of a name, its terminating NUL included.
const PATH_MAX: usize = 4096;

/// Archives are padded to whole blocks of this size, so that another one can follow.
const BLOCK: u64 = 512;

/// An archive being written.
pub struct Archive<W: Write> {
    out: W,
    written: u64,
    inode: u32,
    directories: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            written: 0,
            inode: 0,
            directories: BTreeSet::new(),
        }
    }

    /// Adds a directory and those above it; one that is there already is left alone.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        let path = clean(path);
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            let part = &path[..end];
            if self.directories.insert(part.to_owned()) {
                self.entry(part, S_IFDIR | 0o755, (0, 0), b"")?;
            }
        }
        Ok(())
    }

    /// Adds a file with these permissions, and the directories above it.
    pub fn file(&mut self, path: &str, mode: u32, data: &[u8]) -> io::Result<()> {
        self.parent(path)?;
        self.entry(clean(path), S_IFREG | (mode & 0o7777), (0, 0), data)
    }

    /// Adds a symbolic link, and the directories above it.
    pub fn symlink(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.parent(path)?;
        self.entry(clean(path), S_IFLNK | 0o777, (0, 0), target.as_bytes())
    }

    /// Adds a character device, and the directories above it.
    pub fn char_device(&mut self, path: &str, mode: u32, device: (u32, u32)) -> io::Result<()> {
        self.parent(path)?;
        self.entry(clean(path), S_IFCHR | (mode & 0o7777), device, b"")
    }

    /// Writes the trailer and returns what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        // The kernel tells hard links by their inode; the trailer has none.
        self.inode = 0;
        self.header("TRAILER!!!", 0, (0, 0), 0, 0)?;
        self.pad(BLOCK)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn parent(&mut self, path: &str) -> io::Result<()> {
        match clean(path).rsplit_once('/') {
            Some((parent, _)) => self.directory(parent),
            None => Ok(()),
        }
    }

    fn entry(&mut self, path: &str, mode: u32, dev: (u32, u32), data: &[u8]) -> io::Result<()> {
        let size = u32::try_from(data.len())
            .map_err(|_| io::Error::other(format!("{path}: too large for a cpio archive")))?;
        self.inode += 1;
        self.header(path, mode, dev, size, self.inode)?;
        self.put(data)?;
        self.pad(4)
    }

    fn header(
        &mut self,
        path: &str,
        mode: u32,
        (major, minor): (u32, u32),
        size: u32,
        inode: u32,
    ) -> io::Result<()> {
        let length = path.len() + 1;
        if length > PATH_MAX || path.contains('\0') {
            return Err(io::Error::other(format!(
                "{path}: not a name for a cpio archive"
            )));
        }
        // inode, mode, uid, gid, links, mtime, size, device, device of a node, length of the name, checksum
        let fields = [
            inode,
            mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            major,
            minor,
            length as u32,
            0,
        ];
        let mut text = String::from("070701");
        for field in fields {
            text.push_str(&format!("{field:08X}"));
        }
        self.put(text.as_bytes())?;
        self.put(path.as_bytes())?;
        self.put(b"\0")?;
        self.pad(4)
    }

    fn put(&mut self, data: &[u8]) -> io::Result<()> {
        self.written += data.len() as u64;
        self.out.write_all(data)
    }

    fn pad(&mut self, to: u64) -> io::Result<()> {
        let rest = (self.written.next_multiple_of(to) - self.written) as usize;
        self.put(&[0; BLOCK as usize][..rest])
    }
}

/// Names in an initramfs are relative to its root.
fn clean(path: &str) -> &str {
    path.trim_start_matches("./").trim_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sample() -> Vec<u8> {
        let mut archive = Archive::new(Vec::new());
        archive.file("/init", 0o755, b"#!/bin/sh\n").unwrap();
        archive.file("usr/lib/a", 0o644, b"12345").unwrap();
        archive.file("./usr/lib/b", 0o600, b"").unwrap();
        archive.symlink("lib64", "usr/lib64").unwrap();
        archive.char_device("dev/console", 0o600, (5, 1)).unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn starts_with_its_magic_and_fills_whole_blocks() {
        let data = sample();
        assert!(data.starts_with(b"07070100000001000081ED"));
        assert_eq!(data.len() % 512, 0);
        assert!(data.windows(11).any(|w| w == b"TRAILER!!!\0"));
    }

    #[test]
    fn every_header_is_aligned() {
        let data = sample();
        let headers = data.windows(6).enumerate().filter(|(_, w)| *w == b"070701");
        for (at, _) in headers {
            assert_eq!(at % 4, 0);
        }
    }

    #[test]
    fn a_parent_is_written_once_and_before_its_file() {
        let text = String::from_utf8_lossy(&sample()).into_owned();
        assert_eq!(text.matches("usr/lib\0").count(), 1);
        assert!(text.find("usr\0").unwrap() < text.find("usr/lib/a\0").unwrap());
    }

    #[test]
    fn a_name_with_nul_is_refused() {
        assert!(Archive::new(Vec::new()).file("a\0b", 0o644, b"").is_err());
    }

    /// The other reader of the format, where it is installed, must agree.
    #[test]
    fn gnu_cpio_lists_it() {
        let child = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else { return };
        child.stdin.take().unwrap().write_all(&sample()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("lib64 -> usr/lib64"), "{text}");
        assert!(text
            .lines()
            .any(|l| l.starts_with("crw-------") && l.contains("5,   1")));
        assert!(text
            .lines()
            .any(|l| l.starts_with("-rw-r--r--") && l.contains(" 5 ")));
    }
}
