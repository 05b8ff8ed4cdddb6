// SPDX-License-Identifier: GPL-2.0

//! Where things are: the clone, and the cache outside it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::arch::{Arch, Config};

/// The places the tool reads and writes.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The top of the clone.
    pub repo: PathBuf,
    /// What can be made again: sources, kernels, tools, logs.
    pub cache: PathBuf,
}

impl Paths {
    /// Finds the clone and the cache; creates the cache's top.
    pub fn find() -> Result<Self> {
        let cache = cache_from(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))
            .context("neither XDG_CACHE_HOME nor HOME is set")?;
        fs::create_dir_all(cache.join("logs"))
            .with_context(|| format!("cannot create {}", cache.display()))?;
        Ok(Paths {
            repo: find_repo()?,
            cache,
        })
    }

    /// The directory of log files.
    pub fn logs(&self) -> PathBuf {
        self.cache.join("logs")
    }

    /// The directory of the kernel configuration fragments.
    pub fn configs(&self) -> PathBuf {
        self.repo.join("tools/configs")
    }

    /// Where our own modules are built for one kind of kernel.
    pub fn build_dir(&self, arch: Arch, config: Config) -> PathBuf {
        self.repo.join(format!("build/{arch}-{config}"))
    }
}

fn cache_from(
    xdg: Option<std::ffi::OsString>,
    home: Option<std::ffi::OsString>,
) -> Option<PathBuf> {
    // The XDG specification says to ignore a relative path.
    let xdg = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    let base = xdg.or_else(|| home.map(|home| PathBuf::from(home).join(".cache")))?;
    Some(base.join("mvpp2-rs"))
}

fn is_repo(dir: &Path) -> bool {
    dir.join("tools/xtask/Cargo.toml").is_file()
}

/// The working directory's clone if there is one, else the clone this program was built from.
fn find_repo() -> Result<PathBuf> {
    let start = env::current_dir().context("no working directory")?;
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = start
        .ancestors()
        .find(|dir| is_repo(dir))
        .map(Path::to_path_buf)
        .or_else(|| is_repo(&built_from).then_some(built_from))
        .context("not inside a clone of mvpp2-rs")?;
    found
        .canonicalize()
        .with_context(|| format!("cannot resolve {}", found.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_follows_xdg() {
        let cache = |xdg: Option<&str>, home: Option<&str>| {
            cache_from(xdg.map(Into::into), home.map(Into::into))
        };
        assert_eq!(
            cache(Some("/x"), Some("/h")),
            Some(PathBuf::from("/x/mvpp2-rs"))
        );
        assert_eq!(
            cache(Some("rel"), Some("/h")),
            Some(PathBuf::from("/h/.cache/mvpp2-rs"))
        );
        assert_eq!(
            cache(None, Some("/h")),
            Some(PathBuf::from("/h/.cache/mvpp2-rs"))
        );
        assert_eq!(cache(None, None), None);
    }
}
