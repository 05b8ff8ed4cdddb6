// SPDX-License-Identifier: GPL-2.0

//! How to install what is missing, on the distributions we know.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;

use crate::aptsources::Distribution;
use crate::ctx::Ctx;
use crate::step;
use crate::toolchain::{self, Version, MIN_BINDGEN, MIN_RUSTC};

/// A bindgen that Linux 7.3 and Rust 1.85 are happy with, for where the distribution's is too old.
pub const BINDGEN_CRATE: &str = "bindgen-cli@0.72.1";

/// What to do about something that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// Install a package, as Debian calls it.
    Package(String),
    /// Install a Rust compiler.
    Rust,
    /// Install a part of the Rust there is, as rustup calls it.
    RustPart(&'static str),
    /// Install LLVM's programs.
    Llvm,
    /// Install the library that bindgen needs.
    Libclang,
    /// Install bindgen.
    Bindgen,
}

/// What is to be installed, and by what.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Packages for apt, or to be named where there is no apt.
    pub packages: BTreeSet<String>,
    /// Components for rustup.
    pub rustup: BTreeSet<String>,
    /// Whether rustup is to install or renew a whole toolchain.
    pub rustup_toolchain: bool,
    /// Whether cargo is to install bindgen.
    pub bindgen: bool,
    /// Whether apt is to do it.
    pub apt: bool,
}

impl Plan {
    /// The plan as commands, or as close to them as it gets without apt.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.packages.is_empty() {
            let names: Vec<_> = self.packages.iter().map(String::as_str).collect();
            let names = names.join(" ");
            lines.push(if self.apt {
                format!("apt-get install {names}")
            } else {
                format!("the packages that your distribution has for Debian's: {names}")
            });
        }
        if self.rustup_toolchain {
            lines.push("rustup toolchain install stable".to_owned());
        }
        if !self.rustup.is_empty() {
            let names: Vec<_> = self.rustup.iter().map(String::as_str).collect();
            lines.push(format!("rustup component add {}", names.join(" ")));
        }
        if self.bindgen {
            lines.push(format!("cargo install --locked {BINDGEN_CRATE}"));
        }
        lines
    }
}

/// The newest version that apt can install of each of some packages.
type Candidates = HashMap<String, Version>;

/// Where Rust is to come from.
struct Rust {
    /// The package of the compiler: `rustc`, `rustc-web`, `rustc-1.89`.
    package: String,
}

impl Rust {
    /// The package of a part of this Rust, which rustup calls `part`.
    fn part(&self, part: &str) -> String {
        let version = self.package.strip_prefix("rustc-");
        match (version, part) {
            (Some("web"), "rust-src") => "rust-web-src".to_owned(),
            (Some("web"), "rustfmt") => "rustfmt-web".to_owned(),
            (Some("web"), "clippy") => "rust-web-clippy".to_owned(),
            (Some("web"), _) => format!("{part}-web"),
            (Some(version), "rust-src") => format!("rust-{version}-src"),
            // Ubuntu ships both in one.
            (Some(version), "clippy") => format!("rust-{version}-clippy"),
            (Some(version), _) => format!("{part}-{version}"),
            (None, "clippy") => "rust-clippy".to_owned(),
            (None, part) => part.to_owned(),
        }
    }
}

/// Works out how to do `fixes` on this machine.
pub fn plan(ctx: &Ctx, fixes: &[&Fix]) -> Result<Plan> {
    let distribution = Distribution::of_this_machine()?;
    let apt = toolchain::which("apt-get").is_some()
        && (distribution.is_debian()
            || distribution.is_ubuntu()
            || distribution
                .like
                .split(' ')
                .any(|id| id == "debian" || id == "ubuntu"));
    let candidates = if apt {
        candidates(ctx, &interesting())?
    } else {
        Candidates::new()
    };
    let rust = toolchain::find_rust(ctx);
    let machine = Machine {
        apt,
        rustup: toolchain::find_rustup().is_some(),
        rust_is_rustups: rust.as_ref().is_some_and(|rust| rust.rustup),
        rust_is_web: rust.as_ref().is_some_and(|_| is_installed("rustc-web")),
        rust_llvm: rust.as_ref().map_or(0, |rust| rust.llvm),
        llvm: toolchain::find_llvm(ctx, rust.map_or(0, |rust| rust.llvm)).map(|llvm| llvm.major),
        candidates,
    };
    Ok(machine.plan(fixes))
}

fn is_installed(package: &str) -> bool {
    std::path::Path::new("/var/lib/dpkg/info")
        .join(format!("{package}.list"))
        .exists()
}

/// What the plan depends on.
struct Machine {
    apt: bool,
    rustup: bool,
    rust_is_rustups: bool,
    rust_is_web: bool,
    rust_llvm: u32,
    llvm: Option<u32>,
    candidates: Candidates,
}

impl Machine {
    fn plan(&self, fixes: &[&Fix]) -> Plan {
        let mut plan = Plan {
            apt: self.apt,
            ..Plan::default()
        };
        for fix in fixes {
            match fix {
                Fix::Package(name) => {
                    plan.packages.insert(name.clone());
                }
                Fix::Rust if self.rustup => plan.rustup_toolchain = true,
                Fix::Rust => {
                    let rust = self.rust_to_install();
                    for part in ["rust-src", "rustfmt", "clippy"] {
                        plan.packages.extend(self.available(rust.part(part)));
                    }
                    plan.packages.insert(rust.package);
                }
                Fix::RustPart(part) if self.rust_is_rustups => {
                    plan.rustup.insert((*part).to_owned());
                }
                Fix::RustPart(part) => {
                    let package = if self.rust_is_web {
                        "rustc-web".to_owned()
                    } else {
                        self.rust_to_install().package
                    };
                    plan.packages
                        .extend(self.available(Rust { package }.part(part)));
                }
                Fix::Llvm => {
                    let major = self.llvm_to_install();
                    for name in ["clang", "lld", "llvm"] {
                        plan.packages.insert(format!("{name}-{major}"));
                    }
                }
                Fix::Libclang => {
                    let major = self.llvm.unwrap_or_else(|| self.llvm_to_install());
                    plan.packages.insert(format!("libclang-{major}-dev"));
                }
                Fix::Bindgen => {
                    if self.version("bindgen") >= Some(MIN_BINDGEN) {
                        plan.packages.insert("bindgen".to_owned());
                    } else {
                        plan.bindgen = true;
                    }
                }
            }
        }
        plan
    }

    fn version(&self, package: &str) -> Option<Version> {
        self.candidates.get(package).copied()
    }

    /// A package, unless apt is there and does not have it.
    fn available(&self, package: String) -> Option<String> {
        (!self.apt || self.candidates.contains_key(&package)).then_some(package)
    }

    /// Plain `rustc` if it is new enough, else what the distribution keeps for web browsers, else
    /// Ubuntu's newest versioned one.
    fn rust_to_install(&self) -> Rust {
        let fits = |package: &String| self.version(package) >= Some(MIN_RUSTC);
        let package = ["rustc".to_owned(), "rustc-web".to_owned()]
            .into_iter()
            .chain(ubuntu_rusts().rev())
            .find(fits)
            .unwrap_or_else(|| "rustc".to_owned());
        Rust { package }
    }

    fn llvm_to_install(&self) -> u32 {
        toolchain::llvm_order(self.rust_llvm)
            .into_iter()
            .find(|major| {
                ["clang", "lld", "llvm"]
                    .iter()
                    .all(|name| self.version(&format!("{name}-{major}")).is_some())
            })
            .unwrap_or(toolchain::FAVOURITE_LLVM)
    }
}

fn ubuntu_rusts() -> impl DoubleEndedIterator<Item = String> {
    (MIN_RUSTC.0[1]..120).map(|minor| format!("rustc-1.{minor}"))
}

/// The packages whose versions a plan depends on.
fn interesting() -> Vec<String> {
    let mut names: Vec<String> = ["rustc", "rustc-web"].map(str::to_owned).to_vec();
    names.extend(ubuntu_rusts());
    let rusts: Vec<_> = names.clone();
    for package in rusts {
        let rust = Rust { package };
        names.extend(["rust-src", "rustfmt", "clippy"].map(|part| rust.part(part)));
    }
    for major in toolchain::llvm_order(0) {
        names.extend(["clang", "lld", "llvm"].map(|name| format!("{name}-{major}")));
    }
    names.push("bindgen".to_owned());
    names
}

fn candidates(ctx: &Ctx, packages: &[String]) -> Result<Candidates> {
    // apt takes a name it does not know for a pattern, and searches everything for it, slowly.
    let known = step::output(ctx, step::command("apt-cache").arg("pkgnames"))?;
    let known: BTreeSet<&str> = known.lines().collect();
    let mut policy = step::command("apt-cache");
    policy.arg("policy");
    policy.args(packages.iter().filter(|name| known.contains(name.as_str())));
    Ok(parse_policy(&step::output(ctx, &mut policy)?))
}

fn parse_policy(text: &str) -> Candidates {
    let mut found = Candidates::new();
    let mut package = "";
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|name| !name.contains(' ')) {
            package = name;
        } else if let Some(version) = line.trim().strip_prefix("Candidate:") {
            let version = version.trim();
            // An epoch says nothing about the program's own version.
            let version = version.split_once(':').map_or(version, |(_, rest)| rest);
            if let Some(version) = Version::find(version) {
                found.insert(package.to_owned(), version);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKWORM: &str = "\
rustc:
  Installed: (none)
  Candidate: 1.63.0+dfsg1-2
rustc-web:
  Candidate: 1.96.0+dfsg1-1~deb12u2
rust-web-src:
  Candidate: 1.96.0+dfsg1-1~deb12u2
rustfmt-web:
  Candidate: 1.96.0+dfsg1-1~deb12u2
clang-19:
  Candidate: 1:19.1.7-3~deb12u1
lld-19:
  Candidate: 1:19.1.7-3~deb12u1
llvm-19:
  Candidate: 1:19.1.7-3~deb12u1
clang-22:
  Candidate: (none)
bindgen:
  Candidate: 0.60.1-2+b2
";

    fn machine(policy: &str) -> Machine {
        Machine {
            apt: true,
            rustup: false,
            rust_is_rustups: false,
            rust_is_web: false,
            rust_llvm: 0,
            llvm: None,
            candidates: parse_policy(policy),
        }
    }

    fn packages(plan: &Plan) -> Vec<&str> {
        plan.packages.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_bare_bookworm_takes_the_rust_of_its_browsers() {
        let plan = machine(BOOKWORM).plan(&[&Fix::Rust, &Fix::Llvm, &Fix::Libclang, &Fix::Bindgen]);
        assert_eq!(
            packages(&plan),
            [
                "clang-19",
                "libclang-19-dev",
                "lld-19",
                "llvm-19",
                "rust-web-src",
                "rustc-web",
                "rustfmt-web"
            ]
        );
        assert!(plan.bindgen);
    }

    #[test]
    fn a_bare_trixie_takes_its_own() {
        let policy =
            "rustc:\n  Candidate: 1.85.0+dfsg3-1\nrust-src:\n  Candidate: 1.85.0+dfsg3-1\n\
            bindgen:\n  Candidate: 0.71.1-4\n";
        let plan = machine(policy).plan(&[&Fix::Rust, &Fix::Bindgen]);
        assert_eq!(packages(&plan), ["bindgen", "rust-src", "rustc"]);
        assert!(!plan.bindgen);
    }

    #[test]
    fn ubuntu_takes_its_newest_versioned_rust() {
        let policy = "rustc:\n  Candidate: 1.75.0\nrustc-1.85:\n  Candidate: 1.85.1\n\
            rustc-1.89:\n  Candidate: 1.89.0\nrust-1.89-src:\n  Candidate: 1.89.0\n";
        let plan = machine(policy).plan(&[&Fix::Rust]);
        assert_eq!(packages(&plan), ["rust-1.89-src", "rustc-1.89"]);
    }

    #[test]
    fn rustup_looks_after_its_own() {
        let mut machine = machine(BOOKWORM);
        machine.rustup = true;
        machine.rust_is_rustups = true;
        let plan = machine.plan(&[&Fix::RustPart("rust-src"), &Fix::RustPart("clippy")]);
        assert!(plan.packages.is_empty());
        assert_eq!(plan.describe(), ["rustup component add clippy rust-src"]);
    }

    #[test]
    fn without_apt_the_names_are_listed() {
        let mut machine = machine("");
        machine.apt = false;
        let plan = machine.plan(&[&Fix::Package("bc".to_owned())]);
        assert!(plan.describe()[0].contains("has for Debian's: bc"));
    }
}
