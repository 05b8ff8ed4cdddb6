// SPDX-License-Identifier: GPL-2.0

//! Configuration fragments, and whether a kernel's configuration does what they say.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

use crate::arch::{Arch, Config};

/// A wish for one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    symbol: String,
    /// The value as a `.config` has it; none for "is not set".
    value: Option<String>,
    optional: bool,
}

/// The fragments that make up a configuration, in the order in which they are merged.
pub fn fragments(dir: &Path, arch: Arch, config: Config) -> Vec<PathBuf> {
    let mut names = vec!["common".to_owned(), arch.name().to_owned()];
    let own = format!("{config}-{arch}");
    if config != Config::Normal {
        names.push(config.name().to_owned());
        names.push(own.clone());
    }
    names
        .iter()
        .map(|name| dir.join(format!("{name}.config")))
        // Only some architectures have something of their own to add to a flavour.
        .filter(|path| !path.ends_with(format!("{own}.config")) || path.exists())
        .collect()
}

/// Reads the wishes of some fragments; a later wish for a symbol replaces an earlier one.
pub fn read_wishes(paths: &[PathBuf]) -> Result<Vec<Wish>> {
    let mut wishes: Vec<Wish> = Vec::new();
    for path in paths {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        for wish in parse(&text).with_context(|| format!("in {}", path.display()))? {
            wishes.retain(|old| old.symbol != wish.symbol);
            wishes.push(wish);
        }
    }
    Ok(wishes)
}

fn parse(text: &str) -> Result<Vec<Wish>> {
    let mut wishes = Vec::new();
    let mut optional = false;
    for line in text.lines() {
        if line.is_empty() {
            optional = false;
        } else if line.starts_with("# optional:") {
            optional = true;
        } else if let Some((symbol, value)) = setting(line) {
            wishes.push(Wish {
                symbol: symbol.to_owned(),
                value: value.map(str::to_owned),
                optional,
            });
        } else if !line.starts_with('#') {
            bail!("`{line}` is neither a setting nor a comment");
        }
    }
    Ok(wishes)
}

/// Reads a line of a configuration: a symbol and its value, none for "is not set".
fn setting(line: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = line.strip_prefix("# CONFIG_") {
        return Some((rest.strip_suffix(" is not set")?, None));
    }
    let (symbol, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
    Some((symbol, (value != "n").then_some(value)))
}

/// What a kernel's configuration denies: a line for each symbol that had to be there.
pub fn denied(wishes: &[Wish], config: &str) -> Vec<String> {
    let has: std::collections::HashMap<_, _> = config.lines().filter_map(setting).collect();
    let got = |wish: &Wish| has.get(wish.symbol.as_str()).copied().flatten();
    wishes
        .iter()
        .filter(|wish| !wish.optional && got(wish) != wish.value.as_deref())
        .map(|wish| {
            format!(
                "CONFIG_{}: wanted {}, got {}",
                wish.symbol,
                wish.value.as_deref().unwrap_or("n"),
                got(wish).unwrap_or("n")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAGMENT: &str = "\
# CONFIG fragments may have comments
CONFIG_A=y
# CONFIG_B is not set

# optional: only on Sundays
CONFIG_C=m

CONFIG_D=\"-x\"
";

    #[test]
    fn optional_ends_at_the_empty_line() {
        let wishes = parse(FRAGMENT).unwrap();
        let optional: Vec<_> = wishes.iter().map(|wish| wish.optional).collect();
        assert_eq!(optional, [false, false, true, false]);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(parse("CONFIG_A").is_err());
        assert!(parse("A=y").is_err());
    }

    #[test]
    fn what_is_missing_is_named() {
        let wishes = parse(FRAGMENT).unwrap();
        assert_eq!(
            denied(&wishes, "CONFIG_A=y\nCONFIG_D=\"-x\"\n"),
            [""; 0],
            "a symbol that is not there is not set"
        );
        assert_eq!(
            denied(&wishes, "CONFIG_A=m\nCONFIG_B=y\n# CONFIG_D is not set\n"),
            [
                "CONFIG_A: wanted y, got m",
                "CONFIG_B: wanted n, got y",
                "CONFIG_D: wanted \"-x\", got n",
            ]
        );
    }

    #[test]
    fn the_fragments_of_the_repository_are_well_formed() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
        for arch in [Arch::Um, Arch::Arm64, Arch::X86_64] {
            let paths = fragments(&dir, arch, Config::Debug);
            assert!(paths.len() >= 3);
            assert!(!read_wishes(&paths).unwrap().is_empty());
        }
    }
}
