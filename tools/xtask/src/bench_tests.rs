// SPDX-License-Identifier: GPL-2.0

use super::*;

/// A console of some rounds, in which Rust costs `rust` times as much as C.
fn console(rounds: u32, rust: f64) -> String {
    let mut text = String::from("[    0.1] boot\n");
    for round in 0..=rounds {
        text += &format!("[    1.0] lab: round {round}\n");
        let mut order = [("c", 1.0), ("rust", rust)];
        if round % 2 == 1 {
            order.reverse();
        }
        for (implementation, factor) in order {
            for (index, case) in CASES.iter().enumerate() {
                let ns = 1000.0 * (10 * index + 10) as f64 * factor + f64::from(round);
                let prefix = if implementation == "rust" {
                    "rust_page_pool_bench: "
                } else {
                    ""
                };
                text += &format!(
                    "[    1.0] {prefix}page_pool_bench: impl={implementation} case={case} loops=1000 ns={}\n",
                    ns as u64
                );
            }
        }
    }
    text
}

#[test]
fn rounds_are_read_and_compared() {
    let rounds = parse(&console(11, 1.5), 11).unwrap();
    assert_eq!(rounds.len(), 12);
    let cases = evaluate(&rounds).unwrap();
    let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, CASES);
    // The warm-up, round 0, would be the minimum.
    assert_eq!(
        cases[0].c,
        Spread {
            min: 10.001,
            median: 10.006,
            max: 10.011
        }
    );
    assert!((cases[2].ratio.median - 1.5).abs() < 0.001);
}

#[test]
fn an_incomplete_console_is_refused() {
    let good = console(11, 1.0);
    let lines: Vec<&str> = good.lines().collect();
    for missing in 1..lines.len() {
        let mut rest = lines.clone();
        rest.remove(missing);
        assert!(
            parse(&rest.join("\n"), 11).is_err(),
            "without {}",
            lines[missing]
        );
        let mut twice = lines.clone();
        twice.insert(missing, lines[missing]);
        assert!(
            parse(&twice.join("\n"), 11).is_err(),
            "twice {}",
            lines[missing]
        );
    }
    assert!(parse(&good, 10).is_err());
    assert!(parse(&good, 12).is_err());
    assert!(parse("", 11).is_err());
}

#[test]
fn a_malformed_measurement_is_refused() {
    let good = "page_pool_bench: impl=c case=fast loops=10 ns=55";
    assert_eq!(
        measurement(good).unwrap(),
        (("c".to_owned(), "fast".to_owned()), 5.5)
    );
    for (from, to) in [
        ("impl=c", "impl=go"),
        ("case=fast", "case=other"),
        ("loops=10", "loops=0"),
        ("loops=10", "loops=x"),
        ("ns=55", "ns=0"),
        ("ns=55", "ns=-5"),
        ("ns=55", "ns=55 more"),
        (" ns=55", ""),
        ("case=fast loops=10", "loops=10 case=fast"),
    ] {
        assert!(measurement(&good.replace(from, to)).is_err(), "{to}");
    }
}

#[test]
fn the_median_is_the_middle() {
    let median = |values: &[f64]| Spread::of(values.iter().copied()).unwrap().median;
    assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    assert_eq!(median(&[7.0]), 7.0);
    assert!(Spread::of([]).is_err());
}

#[test]
fn the_table_has_a_row_for_each_case() {
    let measured = Measured {
        benchmark: "page_pool",
        lab: "um".to_owned(),
        cpu: "a CPU".to_owned(),
        kernel: "7.3".to_owned(),
        clock: "timer".to_owned(),
        rounds: 11,
        dropped_rounds: 1,
        others: Some(0.5),
        cases: evaluate(&parse(&console(11, 1.0), 11).unwrap()).unwrap(),
    };
    let table = measured.table();
    for text in [
        "fast",
        "ptr_ring",
        "slow",
        "a CPU",
        "11 rounds",
        "1.000",
        "50 %",
    ] {
        assert!(table.contains(text), "{table}");
    }
    assert!(serde_json::to_string(&measured)
        .unwrap()
        .contains("\"median\""));
}
