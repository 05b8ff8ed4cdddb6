// SPDX-License-Identifier: GPL-2.0

//! The kernels the tool knows how to build: an architecture and a flavour of configuration.

use std::fmt;

use clap::ValueEnum;

/// A kernel architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Arch {
    /// User Mode Linux, on the host's processor.
    Um,
    /// arm64, the board's.
    Arm64,
    /// x86-64.
    #[value(name = "x86_64")]
    X86_64,
}

impl Arch {
    /// The name used on command lines and in paths; also `make`'s `ARCH=`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Um => "um",
            Arch::Arm64 => "arm64",
            Arch::X86_64 => "x86_64",
        }
    }

    /// The `make` target of the image that boots.
    pub fn image_target(self) -> &'static str {
        match self {
            Arch::Um => "linux",
            Arch::Arm64 => "Image",
            Arch::X86_64 => "bzImage",
        }
    }

    /// Where that image is, relative to the kernel's build directory.
    pub fn image_path(self) -> &'static str {
        match self {
            Arch::Um => "linux",
            Arch::Arm64 => "arch/arm64/boot/Image",
            Arch::X86_64 => "arch/x86/boot/bzImage",
        }
    }

    /// The Debian name of the architecture a guest's programs are for.
    pub fn deb_arch(self) -> &'static str {
        match self {
            Arch::Um => host_deb_arch(),
            Arch::Arm64 => "arm64",
            Arch::X86_64 => "amd64",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The Debian name of the host's architecture.
pub fn host_deb_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A flavour of kernel configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ValueEnum)]
pub enum Config {
    /// For work.
    #[default]
    Normal,
    /// With the kernel's checkers: KASAN, lockdep, kmemleak and so on.
    Debug,
    /// For measurements: User Mode Linux without what slows it down.
    Bench,
}

impl Config {
    /// The name used on command lines and in paths.
    pub fn name(self) -> &'static str {
        match self {
            Config::Normal => "normal",
            Config::Debug => "debug",
            Config::Bench => "bench",
        }
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
