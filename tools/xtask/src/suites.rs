// SPDX-License-Identifier: GPL-2.0

//! Which KUnit suites there must be: read from the sources that were compiled, never from a list kept by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Item, ItemMod, Lit, Meta, Token};

use crate::arch::Arch;

/// A suite in the sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suite {
    pub name: String,
    /// The names of its tests.
    pub tests: Vec<String>,
}

/// What the sources say.
#[derive(Debug, Default)]
pub struct Suites {
    /// Suites that were compiled, so they must run.
    pub compiled: Vec<Suite>,
    /// Suites in files that no object of this build was made from.
    pub left_out: Vec<String>,
}

/// Directories with code that becomes modules.
const CODE: &[&str] = &["rust", "drivers", "samples"];

/// Reads the suites of a build.
pub fn find(repo: &Path, build: &Path, kdir: &Path, arch: Arch) -> Result<Suites> {
    let path = kdir.join("include/generated/rustc_cfg");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let conditions = Conditions::new(&text, arch);
    let mut compiled_files = BTreeSet::new();
    compiled_sources(build, &mut compiled_files)?;

    let mut found = Suites::default();
    for file in CODE.iter().map(|dir| repo.join(dir)) {
        for file in rust_files(&file)? {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            if !text.contains("kunit_tests") {
                continue;
            }
            let suites =
                suites_in(&text, &conditions).with_context(|| format!("in {}", file.display()))?;
            if compiled_files.contains(&file) {
                found.compiled.extend(suites);
            } else {
                found
                    .left_out
                    .extend(suites.into_iter().map(|suite| suite.name));
            }
        }
    }
    found.compiled.sort();
    for pair in found.compiled.windows(2) {
        if pair[0].name == pair[1].name {
            bail!("there are two suites called {}", pair[0].name);
        }
    }
    Ok(found)
}

/// The `.rs` files below a directory, which need not exist; none of the compile-fail cases.
fn rust_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !dir.exists() || dir.ends_with("tests/ui") {
        return Ok(found);
    }
    let items = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    for item in items {
        let path = item?.path();
        if path.is_dir() {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The sources that the compiler read, as Kbuild recorded them beside each object.
fn compiled_sources(build: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    let items = fs::read_dir(build).with_context(|| format!("cannot read {}", build.display()))?;
    for item in items {
        let item = item?;
        let name = item.file_name().to_string_lossy().into_owned();
        if item.file_type()?.is_dir() {
            if !name.starts_with('.') {
                compiled_sources(&item.path(), found)?;
            }
        } else if name.ends_with(".o.cmd") {
            let text = fs::read_to_string(item.path())?;
            found.extend(
                text.split_whitespace()
                    .filter(|word| word.ends_with(".rs"))
                    .map(PathBuf::from),
            );
        }
    }
    Ok(())
}

/// The conditions that hold in a build.
struct Conditions(BTreeSet<String>);

impl Conditions {
    fn new(rustc_cfg: &str, arch: Arch) -> Self {
        let mut set: BTreeSet<String> = rustc_cfg
            .lines()
            .filter_map(|line| line.trim().strip_prefix("--cfg="))
            .map(str::to_owned)
            .collect();
        let target = match arch {
            Arch::Um => std::env::consts::ARCH,
            Arch::Arm64 => "aarch64",
            Arch::X86_64 => "x86_64",
        };
        set.insert(format!("target_arch=\"{target}\""));
        set.insert("target_pointer_width=\"64\"".to_owned());
        set.insert("MODULE".to_owned());
        Self(set)
    }

    /// Whether all `cfg` attributes hold.
    fn hold(&self, attributes: &[Attribute]) -> Result<bool> {
        for attribute in attributes {
            if attribute.path().is_ident("cfg") && !self.holds(&attribute.parse_args()?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn holds(&self, meta: &Meta) -> Result<bool> {
        let name = |path: &syn::Path| path.get_ident().map(ToString::to_string);
        Ok(match meta {
            Meta::Path(path) => name(path).is_some_and(|name| self.0.contains(&name)),
            Meta::NameValue(pair) => {
                let Expr::Lit(ExprLit {
                    lit: Lit::Str(value),
                    ..
                }) = &pair.value
                else {
                    bail!("a condition that is not a string");
                };
                let name = name(&pair.path).context("a condition without a name")?;
                self.0.contains(&format!("{name}=\"{}\"", value.value()))
            }
            Meta::List(list) => {
                let inner = Punctuated::<Meta, Token![,]>::parse_terminated
                    .parse2(list.tokens.clone())?
                    .iter()
                    .map(|meta| self.holds(meta))
                    .collect::<Result<Vec<_>>>()?;
                match name(&list.path).as_deref() {
                    Some("all") => inner.iter().all(|holds| *holds),
                    Some("any") => inner.iter().any(|holds| *holds),
                    Some("not") if inner.len() == 1 => !inner[0],
                    _ => bail!("a condition of an unknown kind"),
                }
            }
        })
    }
}

fn suites_in(text: &str, conditions: &Conditions) -> Result<Vec<Suite>> {
    let file = syn::parse_file(text)?;
    let mut found = Vec::new();
    if conditions.hold(&file.attrs)? {
        walk(&file.items, conditions, &mut found)?;
    }
    Ok(found)
}

fn walk(items: &[Item], conditions: &Conditions, found: &mut Vec<Suite>) -> Result<()> {
    for item in items {
        let Item::Mod(module) = item else { continue };
        let Some((_, inner)) = &module.content else {
            continue;
        };
        if !conditions.hold(&module.attrs)? {
            continue;
        }
        match suite_name(module)? {
            Some(name) => found.push(Suite {
                name,
                tests: tests_in(inner, conditions)?,
            }),
            None => walk(inner, conditions, found)?,
        }
    }
    Ok(())
}

/// The name in `#[kunit_tests(name)]`, by whatever path the macro is called.
fn suite_name(module: &ItemMod) -> Result<Option<String>> {
    for attribute in &module.attrs {
        let last = attribute.path().segments.last();
        if last.is_some_and(|segment| segment.ident == "kunit_tests") {
            let name: syn::Ident = attribute.parse_args()?;
            return Ok(Some(name.to_string()));
        }
    }
    Ok(None)
}

fn tests_in(items: &[Item], conditions: &Conditions) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for item in items {
        let Item::Fn(function) = item else { continue };
        let is_test = function
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("test"));
        if is_test && conditions.hold(&function.attrs)? {
            found.push(function.sig.ident.to_string());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suites(text: &str) -> Vec<(String, Vec<String>)> {
        let cfg = "--cfg=CONFIG_KUNIT\n--cfg=CONFIG_KUNIT=\"y\"\n--cfg=CONFIG_NET=\"y\"\n";
        suites_in(text, &Conditions::new(cfg, Arch::Arm64))
            .unwrap()
            .into_iter()
            .map(|suite| (suite.name, suite.tests))
            .collect()
    }

    #[test]
    fn suites_and_tests_are_found() {
        let text = r##"
            //! kunit_tests(in_a_comment)
            fn f() { let _ = "#[kunit_tests(in_a_string)] mod x {}"; }
            #[kunit_tests(one)]
            mod tests {
                use super::*;
                fn helper() {}
                #[test]
                fn a() {}
                /// Doc.
                #[test]
                fn b() -> Result { Ok(()) }
            }
            mod outer {
                #[::kernel::macros::kunit_tests(two)]
                mod tests { #[test] fn c() {} }
            }
        "##;
        let expected = [("one", vec!["a", "b"]), ("two", vec!["c"])];
        let expected = expected.map(|(name, tests)| {
            (
                name.to_owned(),
                tests.into_iter().map(str::to_owned).collect(),
            )
        });
        assert_eq!(suites(text), expected);
    }

    #[test]
    fn what_is_not_compiled_is_not_expected() {
        for (condition, there) in [
            ("CONFIG_KUNIT", true),
            ("CONFIG_NET = \"y\"", true),
            ("CONFIG_NET = \"m\"", false),
            ("CONFIG_MISSING", false),
            ("not(CONFIG_MISSING)", true),
            ("all(CONFIG_KUNIT, not(CONFIG_MISSING))", true),
            ("all(CONFIG_KUNIT, CONFIG_MISSING)", false),
            ("any(CONFIG_MISSING, target_arch = \"aarch64\")", true),
            ("target_arch = \"x86_64\"", false),
        ] {
            let module =
                format!("#[cfg({condition})] #[kunit_tests(s)] mod t {{ #[test] fn a() {{}} }}");
            assert_eq!(suites(&module).len(), usize::from(there), "{condition}");
            let around = format!("#[cfg({condition})] mod o {{ #[kunit_tests(s)] mod t {{}} }}");
            assert_eq!(suites(&around).len(), usize::from(there), "{condition}");
            let file = format!("#![cfg({condition})] #[kunit_tests(s)] mod t {{}}");
            assert_eq!(suites(&file).len(), usize::from(there), "{condition}");
            let test =
                format!("#[kunit_tests(s)] mod t {{ #[cfg({condition})] #[test] fn a() {{}} }}");
            assert_eq!(suites(&test)[0].1.len(), usize::from(there), "{condition}");
        }
    }

    #[test]
    fn only_compiled_files_count() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        let suite = |name: &str| format!("#[kunit_tests({name})] mod t {{ #[test] fn a() {{}} }}");
        for dir in [
            "rust/net/tests/ui",
            "drivers/x",
            "build/rust/net",
            "k/include/generated",
        ] {
            fs::create_dir_all(path(dir)).unwrap();
        }
        fs::write(path("rust/net/a.rs"), suite("a")).unwrap();
        fs::write(path("drivers/x/b.rs"), suite("b")).unwrap();
        fs::write(path("rust/net/tests/ui/c.rs"), suite("c")).unwrap();
        fs::write(path("k/include/generated/rustc_cfg"), "--cfg=CONFIG_X\n").unwrap();
        let cmd = format!("deps := \\\n  {} \\\n", path("rust/net/a.rs").display());
        fs::write(path("build/rust/net/.net.o.cmd"), cmd).unwrap();
        let found = find(top.path(), &path("build"), &path("k"), Arch::Um).unwrap();
        assert_eq!(found.compiled.len(), 1);
        assert_eq!(found.compiled[0].name, "a");
        assert_eq!(found.left_out, ["b"]);
    }
}
