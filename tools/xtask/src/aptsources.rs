// SPDX-License-Identifier: GPL-2.0

//! Which archive the machine gets its packages from, in both forms that apt's sources have.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

use crate::arch::host_deb_arch;

/// The distribution, as `/etc/os-release` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// `debian`, `ubuntu`, or what it is.
    pub id: String,
    /// What it is derived from.
    pub like: String,
    /// The suite it runs.
    pub codename: String,
    /// How it calls itself.
    pub pretty_name: String,
}

impl Distribution {
    /// Reads `/etc/os-release`.
    pub fn of_this_machine() -> Result<Self> {
        let text = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let fields: HashMap<_, _> = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key, value.trim_matches('"').to_owned()))
            .collect();
        let get = |key: &str| fields.get(key).cloned().unwrap_or_default();
        let id = get("ID");
        let mut codename = get("VERSION_CODENAME");
        // Debian's testing and unstable have had no code name of their own there at times.
        if id == "debian" && codename.is_empty() {
            codename = "sid".to_owned();
        }
        Distribution {
            like: get("ID_LIKE"),
            pretty_name: get("PRETTY_NAME"),
            id,
            codename,
        }
    }

    /// Whether this is Debian.
    pub fn is_debian(&self) -> bool {
        self.id == "debian"
    }

    /// Whether this is Ubuntu.
    pub fn is_ubuntu(&self) -> bool {
        self.id == "ubuntu"
    }
}

/// An archive of packages, and the keys that sign it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    uris: Vec<String>,
    components: &'static str,
    /// A keyring's path, or keys in full; none means all keys the machine trusts.
    signed_by: Option<String>,
}

/// One source of the machine's apt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Source {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: Option<String>,
}

impl Archive {
    /// The archive's description for apt, with some of its suites.
    ///
    /// An option of the machine's that turned the check of signatures off is not carried over.
    pub fn stanza(&self, suites: &[&str]) -> String {
        let mut stanza = format!(
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: {}\n",
            self.uris.join(" "),
            suites.join(" "),
            self.components
        );
        if let Some(keys) = &self.signed_by {
            stanza += &format!("Signed-By: {keys}\n");
        }
        stanza
    }

    /// Fails when the keyring is not there, which apt would not say clearly.
    pub fn check(&self) -> Result<()> {
        match &self.signed_by {
            Some(keys) if keys.starts_with('/') => {
                for path in keys.split([',', ' ']).filter(|path| !path.is_empty()) {
                    if !Path::new(path).exists() {
                        bail!("the keyring {path} is missing");
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The archive that has packages of this distribution for the Debian architecture `arch`.
pub fn archive(distribution: &Distribution, arch: &str) -> Result<Archive> {
    if !distribution.is_debian() && !distribution.is_ubuntu() {
        bail!(
            "packages are taken from Debian's or Ubuntu's archive, and this is {}",
            distribution.pretty_name
        );
    }
    let sources = read_sources(Path::new("/etc/apt"));
    choose(distribution, arch, &sources)
}

fn choose(distribution: &Distribution, arch: &str, sources: &[Source]) -> Result<Archive> {
    let names: &[&str] = match distribution.codename.as_str() {
        "sid" => &["sid", "unstable"],
        _ => &[&distribution.codename, "stable", "oldstable", "testing"],
    };
    let Some(own) = names.iter().find_map(|name| {
        sources.iter().find(|source| {
            source.suites.iter().any(|suite| suite == name)
                && source.components.iter().any(|part| part == "main")
        })
    }) else {
        bail!(
            "apt has no source of {}'s packages; add one and try again",
            distribution.codename
        );
    };
    // Ubuntu keeps amd64 and the other architectures in two archives, and nothing here tells where the other is.
    if distribution.is_ubuntu() && (arch == "amd64") != (host_deb_arch() == "amd64") {
        bail!("Ubuntu's archive for this machine has no packages for {arch}");
    }
    Ok(Archive {
        uris: own.uris.clone(),
        components: if distribution.is_ubuntu() {
            "main universe"
        } else {
            "main"
        },
        signed_by: own.signed_by.clone(),
    })
}

fn read_sources(etc: &Path) -> Vec<Source> {
    let mut files: Vec<PathBuf> = vec![etc.join("sources.list")];
    if let Ok(items) = fs::read_dir(etc.join("sources.list.d")) {
        files.extend(items.flatten().map(|item| item.path()));
    }
    files.sort();
    let mut sources = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(text.lines().filter_map(parse_line)),
            Some("sources") => sources.extend(parse_deb822(&text)),
            _ => {}
        }
    }
    sources
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Reads `deb [option=value …] URI suite component…`.
fn parse_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim();
    let mut rest = line.strip_prefix("deb")?;
    if !rest.starts_with([' ', '\t', '[']) {
        return None;
    }
    rest = rest.trim_start();
    let mut signed_by = None;
    if let Some(options) = rest.strip_prefix('[') {
        let (options, after) = options.split_once(']')?;
        signed_by = options
            .split_whitespace()
            .find_map(|option| option.strip_prefix("signed-by="))
            .map(str::to_owned);
        rest = after;
    }
    let mut parts = rest.split_whitespace().map(str::to_owned);
    Some(Source {
        uris: vec![parts.next()?],
        suites: vec![parts.next()?],
        components: parts.collect(),
        signed_by,
    })
}

/// Reads stanzas of `Field: value` lines, where a value may go on in indented lines.
fn parse_deb822(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut stanza: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            sources.extend(source_of(&std::mem::take(&mut stanza)));
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((field, value)) = line.split_once(':') {
            stanza.push((field.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    sources
}

fn source_of(stanza: &[(String, String)]) -> Option<Source> {
    let get = |name: &str| {
        stanza
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    };
    if get("enabled").is_some_and(|value| value == "no")
        || !words(get("types")?).iter().any(|kind| kind == "deb")
    {
        return None;
    }
    Some(Source {
        uris: words(get("uris")?),
        suites: words(get("suites")?),
        components: words(get("components").unwrap_or_default()),
        signed_by: get("signed-by").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn debian() -> Distribution {
        Distribution::parse("ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME=\"Debian 12\"\n")
    }

    #[test]
    fn the_mirror_and_keyring_of_the_machine_are_used() {
        let sources = parse_deb822(
            "Types: deb\n# comment\nURIs: http://sec/debian-security\nSuites: bookworm-security\n\
             Components: main\n\nTypes: deb deb-src\nURIs: http://m/debian\n\
             Suites: bookworm bookworm-updates\nComponents: main contrib\nSigned-By: /k.gpg\n",
        );
        let archive = choose(&debian(), "arm64", &sources).unwrap();
        assert_eq!(
            archive.stanza(&["trixie-backports"]),
            "Types: deb\nURIs: http://m/debian\nSuites: trixie-backports\nComponents: main\n\
             Signed-By: /k.gpg\n"
        );
    }

    #[test]
    fn one_line_sources_are_read_and_trusted_is_dropped() {
        let source =
            parse_line("deb [arch=amd64 signed-by=/k.asc trusted=yes] http://m bookworm main # x");
        let source = source.unwrap();
        assert_eq!(source.signed_by.as_deref(), Some("/k.asc"));
        assert_eq!(source.uris, ["http://m"]);
        assert!(parse_line("deb-src http://m bookworm main").is_none());
        assert!(parse_line("# deb http://m bookworm main").is_none());
        let archive = choose(&debian(), "amd64", &[source]).unwrap();
        assert!(!archive.stanza(&["sid"]).contains("rusted"));
    }

    #[test]
    fn keys_in_full_are_carried_over() {
        let sources = parse_deb822(
            "Types: deb\nURIs: http://m\nSuites: bookworm\nComponents: main\n\
             Signed-By:\n -----BEGIN PGP\n .\n abc\n",
        );
        let stanza = choose(&debian(), "amd64", &sources)
            .unwrap()
            .stanza(&["sid"]);
        assert!(stanza.contains("Signed-By: \n -----BEGIN PGP\n .\n abc\n"));
    }

    #[test]
    fn disabled_sources_are_not_used() {
        let text = "Types: deb\nEnabled: no\nURIs: http://m\nSuites: bookworm\nComponents: main\n";
        assert!(parse_deb822(text).is_empty());
        assert!(choose(&debian(), "amd64", &[]).is_err());
    }

    #[test]
    fn ubuntu_keeps_arm64_elsewhere() {
        let ubuntu = Distribution::parse("ID=ubuntu\nVERSION_CODENAME=noble\n");
        let other = match host_deb_arch() {
            "amd64" => "arm64",
            _ => "amd64",
        };
        let sources = [Source {
            uris: vec!["http://mine".into()],
            suites: vec!["noble".into()],
            components: vec!["main".into()],
            signed_by: None,
        }];
        assert!(choose(&ubuntu, host_deb_arch(), &sources)
            .unwrap()
            .stanza(&["noble"])
            .contains("http://mine"));
        assert!(choose(&ubuntu, other, &sources).is_err());
    }
}
