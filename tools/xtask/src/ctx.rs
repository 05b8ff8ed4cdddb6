// SPDX-License-Identifier: GPL-2.0

//! What every subcommand needs to know.

use std::io::IsTerminal;

use anyhow::Result;

use crate::paths::Paths;
use crate::step;

/// What every subcommand needs to know.
pub struct Ctx {
    /// Where things are.
    pub paths: Paths,
    /// Show each command before it runs.
    pub verbose: bool,
    /// Standard error is a terminal, so progress can be drawn.
    pub tty: bool,
}

impl Ctx {
    /// Finds the places, and makes an interrupt stop the running child rather than this program.
    pub fn new(verbose: bool) -> Result<Self> {
        step::handle_signals()?;
        Ok(Ctx {
            paths: Paths::find()?,
            verbose,
            tty: std::io::stderr().is_terminal(),
        })
    }
}
