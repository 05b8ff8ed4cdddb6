// SPDX-License-Identifier: GPL-2.0

//! `cargo xtask demo`: what the project is about, in numbers.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::arch::Arch;
use crate::bench::{self, Case, Measured};
use crate::ctx::Ctx;
use crate::kernel;

/// Arguments of `demo`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: kernel::Source,
}

/// Runs `demo`.
pub fn run(ctx: &Ctx, args: &Args) -> Result<ExitCode> {
    let measured = bench::page_pool(ctx, Arch::Um, bench::DEFAULT_ROUNDS, &args.source)?;
    print!("{}{}", measured.table(), comment(&measured)?);
    Ok(ExitCode::SUCCESS)
}

fn comment(measured: &Measured) -> Result<String> {
    let case = |name: &str| -> Result<&Case> {
        let found = measured.cases.iter().find(|case| case.name == name);
        found.with_context(|| format!("{name} was not measured"))
    };
    let (fast, ring, slow) = (case("fast")?, case("ptr_ring")?, case("slow")?);
    let times = |case: &Case| slow.rust.median / case.rust.median;
    Ok(format!(
        "\n\
         slow      each page goes back to the page allocator, as without recycling\n\
         ptr_ring  each page is recycled through the pool's ring: {:.1} times as fast\n\
         fast      each page is recycled in the poll that received it: {:.1} times as fast\n\
         \n\
         The driver's own demonstration, the rate at which it receives and drops packets, is not there yet:\n\
         it comes with the driver.\n",
        times(ring),
        times(fast)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Spread;

    #[test]
    fn recycling_is_compared_with_the_page_allocator() {
        let same = |value| Spread {
            min: value,
            median: value,
            max: value,
        };
        let case = |name: &str, cost| Case {
            name: name.to_owned(),
            c: same(cost),
            rust: same(cost),
            ratio: same(1.0),
        };
        let mut measured = Measured {
            benchmark: "page_pool",
            lab: "um".to_owned(),
            cpu: String::new(),
            kernel: String::new(),
            clock: String::new(),
            rounds: 11,
            dropped_rounds: 1,
            others: None,
            cases: vec![
                case("fast", 5.0),
                case("ptr_ring", 20.0),
                case("slow", 100.0),
            ],
        };
        let text = comment(&measured).unwrap();
        assert!(text.contains("ring: 5.0 times"));
        assert!(text.contains("received it: 20.0 times"));
        measured.cases.pop();
        assert!(comment(&measured).is_err());
    }
}
