// SPDX-License-Identifier: GPL-2.0

//! Packages of the distribution, fetched without touching how the machine's apt is set up.
//!
//! The machine says which mirror it trusts with which keys; the private apt here asks that mirror
//! for other suites or another architecture, into lists and a cache of its own. It needs no root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{bail, Context, Result};

use crate::aptsources::{self, Archive, Distribution};
use crate::cache::{self, write_atomic};
use crate::ctx::Ctx;
use crate::step::{self, Step};

/// How old lists may be before packages that were not fetched yet are looked up.
const LISTS_AGE: Duration = Duration::from_secs(24 * 3600);

/// A private apt: its own sources, lists and cache; the machine's mirror and keyring.
pub struct Apt<'a> {
    ctx: &'a Ctx,
    name: String,
    dir: PathBuf,
}

/// What apt would fetch.
#[derive(Debug, PartialEq, Eq)]
struct Uri {
    file: String,
    size: u64,
}

impl<'a> Apt<'a> {
    /// Sets up the private apt called `name` for `suites` and the Debian architecture `arch`.
    ///
    /// No suite means the one the machine itself runs.
    pub fn new(ctx: &'a Ctx, name: &str, suites: &[&str], arch: &str) -> Result<Self> {
        let distribution = Distribution::of_this_machine()?;
        let archive = aptsources::archive(&distribution, arch)?;
        let suites = match suites {
            [] => vec![distribution.codename.as_str()],
            _ => suites.to_vec(),
        };
        let sources = archive.stanza(&suites);
        // Other suites or another mirror make another apt, so that no lists are mixed up.
        let key = &cache::sha256(format!("{arch}\n{sources}").as_bytes())[..8];
        let name = format!("{name}-{arch}");
        let dir = ctx.paths.cache.join(format!("apt/{name}-{key}"));
        let apt = Apt { ctx, name, dir };
        apt.write_configuration(arch, &sources, &archive)?;
        Ok(apt)
    }

    fn write_configuration(&self, arch: &str, sources: &str, archive: &Archive) -> Result<()> {
        for sub in [
            "sources.list.d",
            "preferences.d",
            "state/lists/partial",
            "cache/archives/partial",
        ] {
            let dir = self.dir.join(sub);
            fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        }
        let dump = step::output(self.ctx, step::command("apt-config").arg("dump"))?;
        let conf = configuration(&dump, &self.dir, arch, nix::unistd::geteuid().is_root());
        write_if_changed(&self.dir.join("apt.conf"), &conf)?;
        // Nothing is installed as far as this apt knows, so dependencies resolve to all packages.
        write_if_changed(&self.dir.join("status"), "")?;
        archive.check()?;
        write_if_changed(&self.dir.join("sources.list.d/private.sources"), sources)
    }

    fn apt_get(&self) -> Command {
        let mut command = step::command("apt-get");
        command.env("APT_CONFIG", self.dir.join("apt.conf"));
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command.arg("-q");
        command
    }

    /// Fetches packages, with all they depend on if asked; returns the `.deb` files.
    ///
    /// What was fetched once is returned at once: the cache is not a mirror that follows another.
    pub fn download(&self, packages: &[&str], with_dependencies: bool) -> Result<Vec<PathBuf>> {
        let request = format!("{packages:?} {with_dependencies}");
        let receipt = self.dir.join(format!(
            "fetched-{}.json",
            &cache::sha256(request.as_bytes())[..12]
        ));
        if let Some(files) = read_receipt(&receipt) {
            return Ok(files);
        }
        let _lock = cache::lock(&self.dir)?;
        if let Some(files) = read_receipt(&receipt) {
            return Ok(files);
        }
        let mut step = Step::start(
            self.ctx,
            format!("Fetching {}", packages.join(" ")),
            &format!("apt-{}", self.name),
        )?;
        let updated = !self.lists_are_fresh();
        if updated {
            self.update(&mut step)?;
        }
        let fetched = self.fetch(&mut step, packages, with_dependencies);
        let files = match fetched {
            // A mirror forgets packages that have newer versions: with new lists it may work.
            Err(_) if !updated => {
                self.update(&mut step)?;
                self.fetch(&mut step, packages, with_dependencies)?
            }
            other => other?,
        };
        write_atomic(&receipt, &serde_json::to_vec(&files)?)?;
        step.done();
        Ok(files)
    }

    fn lists_are_fresh(&self) -> bool {
        let stamp = self.dir.join("state/updated");
        fs::metadata(stamp)
            .and_then(|meta| meta.modified())
            .is_ok_and(|time| {
                SystemTime::now()
                    .duration_since(time)
                    .is_ok_and(|age| age < LISTS_AGE)
            })
    }

    fn update(&self, step: &mut Step<'_>) -> Result<()> {
        let mut update = self.apt_get();
        // Without this apt takes a failed download for a warning and goes on with old lists.
        update.args(["-o", "APT::Update::Error-Mode=any", "update"]);
        step.run(&update)?;
        write_atomic(&self.dir.join("state/updated"), b"")
    }

    fn fetch(
        &self,
        step: &mut Step<'_>,
        packages: &[&str],
        with_dependencies: bool,
    ) -> Result<Vec<PathBuf>> {
        let archives = self.dir.join("cache/archives");
        let command = |extra: &[&str]| {
            let mut command = self.apt_get();
            if with_dependencies {
                command.args([
                    "install",
                    "-y",
                    "--no-install-recommends",
                    "--download-only",
                ]);
            } else {
                command.arg("download");
            }
            command.args(extra).args(packages).current_dir(&archives);
            command
        };
        let listing = step::output(self.ctx, &mut command(&["--print-uris"]))?;
        let uris = parse_uris(&listing);
        let files: Vec<PathBuf> = uris.iter().map(|uri| archives.join(&uri.file)).collect();
        let total = uris.iter().map(|uri| uri.size).sum();
        let watched = files.clone();
        let partial = archives.join("partial");
        step.watch(total, move || {
            let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
            let both = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default();
                size(path).max(size(&partial.join(name)))
            };
            watched.iter().map(both).sum()
        });
        if !uris.is_empty() {
            step.run(&command(&[]))?;
        }
        // What is in the cache already is not among the URIs, so ask for the names in full.
        let names = if with_dependencies {
            self.closure(packages)?
        } else {
            files
        };
        if let Some(lost) = names.iter().find(|file| !file.is_file()) {
            bail!("apt did not leave {}", lost.display());
        }
        if names.is_empty() {
            bail!("apt has nothing for {}", packages.join(" "));
        }
        Ok(names)
    }

    /// The files of all packages that an installation would take, fetched already or not.
    fn closure(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let mut command = self.apt_get();
        let empty = self.dir.join("empty");
        fs::create_dir_all(empty.join("partial"))?;
        command.arg("-o");
        command.arg(format!("Dir::Cache::archives={}", empty.display()));
        command.args(["install", "-y", "--no-install-recommends", "--print-uris"]);
        command.args(packages);
        let listing = step::output(self.ctx, &mut command)?;
        let archives = self.dir.join("cache/archives");
        Ok(parse_uris(&listing)
            .iter()
            .map(|uri| archives.join(&uri.file))
            .collect())
    }
}

/// Unpacks `.deb` files into `dir`. Needs no root, runs no maintainer script.
pub fn unpack(ctx: &Ctx, debs: &[PathBuf], dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    for deb in debs {
        step::check_interrupt()?;
        let mut command = step::command("dpkg-deb");
        command.arg("-x").arg(deb).arg(dir);
        step::output(ctx, &mut command)?;
    }
    Ok(())
}

fn read_receipt(path: &Path) -> Option<Vec<PathBuf>> {
    let files: Vec<PathBuf> = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    files.iter().all(|file| file.is_file()).then_some(files)
}

fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    write_atomic(path, text.as_bytes())
}

/// The private configuration: how the machine reaches its mirror, and nothing else of the machine's.
fn configuration(dump: &str, dir: &Path, arch: &str, root: bool) -> String {
    let mut conf = String::from("// Written by cargo xtask.\n");
    for line in dump.lines() {
        // Index targets are built in; what the machine added to them is more to fetch, for nobody.
        if line.starts_with("Acquire::")
            && !line.starts_with("Acquire::IndexTargets")
            && !line.starts_with("Acquire::Languages")
        {
            conf += line;
            conf += "\n";
        }
    }
    let dir = dir.display();
    conf += &format!(
        "Acquire::Languages \"none\";\n\
         Dir::Etc::main \"/dev/null\";\n\
         Dir::Etc::parts \"/dev/null\";\n\
         Dir::Etc::sourcelist \"/dev/null\";\n\
         Dir::Etc::sourceparts \"{dir}/sources.list.d\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"{dir}/preferences.d\";\n\
         Dir::State \"{dir}/state\";\n\
         Dir::State::lists \"{dir}/state/lists\";\n\
         Dir::State::status \"{dir}/status\";\n\
         Dir::Cache \"{dir}/cache\";\n\
         Dir::Log \"{dir}/state\";\n\
         APT::Architecture \"{arch}\";\n\
         APT::Architectures {{ \"{arch}\"; }};\n"
    );
    if root {
        // apt drops to a user of its own, which may not write below root's home.
        conf += "APT::Sandbox::User \"root\";\n";
    }
    conf
}

fn parse_uris(listing: &str) -> Vec<Uri> {
    listing
        .lines()
        .filter(|line| line.starts_with('\''))
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            Some(Uri {
                file: words.next()?.to_owned(),
                size: words.next()?.parse().ok()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read_from_among_other_lines() {
        let listing = "Reading package lists...\n\
            'http://m/pool/b_1%3a1.deb' b_1%3a1_arm64.deb 928188 SHA256:00\n";
        assert_eq!(
            parse_uris(listing),
            [Uri {
                file: "b_1%3a1_arm64.deb".to_owned(),
                size: 928_188
            }]
        );
    }

    #[test]
    fn the_proxy_is_kept_and_hooks_are_not() {
        let dump = "Acquire::http::Proxy \"http://p:1\";\n\
            APT::Update::Post-Invoke:: \"rm -f /var/cache/apt/archives/*.deb\";\n\
            Acquire::IndexTargets::deb::DEP-11 \"\";\n";
        let conf = configuration(dump, Path::new("/c"), "arm64", false);
        assert!(conf.contains("Acquire::http::Proxy \"http://p:1\";"));
        assert!(!conf.contains("Post-Invoke"));
        assert!(!conf.contains("DEP-11"));
        assert!(!conf.contains("Sandbox"));
        assert!(conf.contains("APT::Architecture \"arm64\";"));
    }
}
