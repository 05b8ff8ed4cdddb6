// SPDX-License-Identifier: GPL-2.0

//! Entries of the cache: locked while they are worked on, marked when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest, Sha256};

use crate::step;

/// A directory of the cache that this process alone works on.
pub struct Entry {
    /// The directory. It exists, maybe half filled by a run that was interrupted.
    pub dir: PathBuf,
    key: String,
    _lock: Flock<File>,
}

impl Entry {
    /// Whether `dir` was completed for `key`. Takes no lock: a complete entry does not change.
    pub fn is_done(dir: &Path, key: &str) -> bool {
        fs::read_to_string(marker(dir)).is_ok_and(|found| found == key)
    }

    /// Creates `dir` if need be and locks it, waiting for another process that works on it.
    ///
    /// The entry may be complete by then: ask [`Entry::complete`].
    pub fn open(dir: &Path, key: &str) -> Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        Ok(Entry {
            dir: dir.to_path_buf(),
            key: key.to_owned(),
            _lock: lock(dir)?,
        })
    }

    /// Whether the entry is complete for its key.
    pub fn complete(&self) -> bool {
        Entry::is_done(&self.dir, &self.key)
    }

    /// Removes what an earlier run left, for steps that cannot go on from the middle.
    pub fn clear(&self) -> Result<()> {
        // The marker goes first: an interruption must not leave it beside a half empty directory.
        remove_if_exists(&marker(&self.dir))?;
        for item in fs::read_dir(&self.dir)? {
            let path = item?.path();
            if path.is_dir() && !path.is_symlink() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            }
            .with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Marks the entry complete, as the last thing, so that the mark vouches for the rest.
    pub fn mark_done(&self) -> Result<()> {
        write_atomic(&marker(&self.dir), self.key.as_bytes())
    }
}

fn marker(dir: &Path) -> PathBuf {
    dir.join(".xtask-done")
}

fn remove_if_exists(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Locks `dir` against other processes until the result is dropped.
///
/// The lock file stands beside the directory, so that the directory can be removed meanwhile.
pub fn lock(dir: &Path) -> Result<Flock<File>> {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let path = dir.with_file_name(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {}", parent.display()))?;
    }
    let open = || {
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))
    };
    let file = match Flock::lock(open()?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => return Ok(lock),
        Err((file, Errno::EWOULDBLOCK)) => file,
        Err((_, errno)) => bail!("cannot lock {}: {errno}", path.display()),
    };
    step::say(&format!(
        "waiting for another run that works on {}",
        dir.display()
    ));
    let mut file = file;
    loop {
        // Polling rather than blocking lets an interrupt end the wait.
        step::sleep(std::time::Duration::from_millis(300))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((back, Errno::EWOULDBLOCK)) => file = back,
            Err((_, errno)) => bail!("cannot lock {}: {errno}", path.display()),
        }
    }
}

/// Writes a file so that it is either the old one or the new one, whole, at any moment.
pub fn write_atomic(path: &Path, data: &[u8]) -> Result<()> {
    let dir = path.parent().context("a file has a directory")?;
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(data)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        // The rename itself is durable only once the directory is.
        File::open(dir)?.sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// The SHA-256 of `data`, in hexadecimal.
pub fn sha256(data: &[u8]) -> String {
    hex(&Sha256::digest(data))
}

/// The SHA-256 of a file, in hexadecimal.
pub fn sha256_file(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            n => hasher.update(&buffer[..n]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_is_done_only_for_its_key() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("e");
        let entry = Entry::open(&dir, "k1").unwrap();
        assert!(!entry.complete());
        fs::write(dir.join("half"), "x").unwrap();
        entry.mark_done().unwrap();
        assert!(entry.complete());
        assert!(!Entry::is_done(&dir, "k2"));
        entry.clear().unwrap();
        assert!(!entry.complete());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }

    #[test]
    fn what_does_not_exist_yet_can_be_locked() {
        let dir = tempfile::tempdir().unwrap();
        assert!(lock(&dir.path().join("not/there/yet")).is_ok());
    }

    #[test]
    fn lock_excludes() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("e");
        let entry = Entry::open(&dir, "k").unwrap();
        let second = File::open(top.path().join("e.lock")).unwrap();
        assert!(Flock::lock(second, FlockArg::LockExclusiveNonblock).is_err());
        drop(entry);
        let second = File::open(top.path().join("e.lock")).unwrap();
        assert!(Flock::lock(second, FlockArg::LockExclusiveNonblock).is_ok());
    }

    #[test]
    fn sha256_of_known_input() {
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
