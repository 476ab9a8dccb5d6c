//! The twelve invariants of the endpoint (`tcp-endpoint.md` §17) on random connections over adversarial networks.
//!
//! Every transfer is checked against all of them; each test draws the transfers that try one hardest and makes sure
//! that they did. The draws are the same in every run. `ACKCLOCK_CASES` sets how many transfers a test plays,
//! `ACKCLOCK_SEED` draws others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod net;

use ackclock_core::params::Value;
use ackclock_core::tcp::config::UNLIMITED_WINDOW;
use ackclock_core::time::Span;
use net::case::{any_case, Action, Case, BEFORE_WRAP};
use net::path::Order;
use net::{Net, Report};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use std::cell::RefCell;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |v| v.parse().expect(variable))
}

/// Plays transfers drawn from `cases`, each checked by `and`, and returns what they went through in all.
fn property(cases: impl Strategy<Value = Case>, and: impl Fn(&Case, &Report) -> Result<(), String>) -> Report {
    let config = Config {
        cases: number("ACKCLOCK_CASES", 600) as u32,
        rng_seed: RngSeed::Fixed(number("ACKCLOCK_SEED", 1)),
        failure_persistence: None,
        max_shrink_iters: 600,
        ..Config::default()
    };
    let total = RefCell::new(Report::default());
    let outcome = TestRunner::new(config).run(&cases, |case| {
        if std::env::var("DBG").is_ok() { eprintln!("{case:?}"); }
        let report = Net::new(&case).run().map_err(TestCaseError::fail)?;
        and(&case, &report).map_err(TestCaseError::fail)?;
        total.borrow_mut().add(&report);
        Ok(())
    });
    match outcome {
        Ok(()) => total.into_inner(),
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case:?}"),
        Err(e) => panic!("{e}"),
    }
}

fn holds(_: &Case, _: &Report) -> Result<(), String> {
    Ok(())
}

fn text(s: &str) -> Value {
    Value::Text(s.to_owned())
}

#[test]
fn invariant_01_windows_are_kept() {
    let r = property(any_case(), holds);
    assert!(r.packets > 10_000, "{r:?}");
}
