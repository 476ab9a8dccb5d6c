//! Controllers under random but valid histories of events, without an endpoint: what must hold for every one of them,
//! with any parameters, and Reno against a model of ten lines. (CUBIC, HighSpeed, Vegas and Westwood+ have models in
//! Python, `ackclock.reference`, which such histories are played to as well: `python/tests/test_histories.py`.)
//!
//! A history is what an endpoint could have told: acknowledgments while the window is open, losses with the recovery
//! that follows, marks, timeouts in a row, unfounded reactions taken back, idle times. The draws are the same in every
//! run; `ACKCLOCK_CASES` sets how many histories every form of a controller plays, `ACKCLOCK_SEED` draws others.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod choice;
mod pauses;
mod reno;
mod world;

use crate::random_cases::{cases, seed};
use ackclock_core::cc::registry::{self, Builder};
use ackclock_core::cc::{Control, Pacing, RecoveryBy};
use choice::{Choice, forms};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use world::{End, Step, World, step};

/// Plays `default` or `ACKCLOCK_CASES` cases.
fn property<S: Strategy>(default: u32, draws: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: cases(u64::from(default)) as u32,
        rng_seed: RngSeed::Fixed(seed()),
        failure_persistence: None,
        ..Config::default()
    };
    match TestRunner::new(config).run(draws, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case:?}"),
        Err(e) => panic!("{e}"),
    }
}

/// What the connection is like: bytes of a segment, segments of the initial window, segments at most in flight.
fn connection() -> impl Strategy<Value = (u64, u64, u64)> {
    (
        prop::sample::select(vec![1000, 88, 536, 1448, 8948u64]),
        prop_oneof![9 => 1..40u64, 1 => 40..1_000_000u64],
        prop_oneof![4 => Just(2000u64), 1 => Just(5_000_000u64)],
    )
}

/// What holds for every decision, with segments of `mss` bytes.
fn check(choice: &Choice, mss: u64, controls: &[Control]) -> Result<(), TestCaseError> {
    for c in controls {
        prop_assert!(c.cwnd >= mss, "{choice:?}: a window of {} bytes", c.cwnd);
        prop_assert!(c.cwnd < 1 << 50, "{choice:?}: a window of {} bytes", c.cwnd);
        prop_assert!(c.ssthresh >= 2 * mss, "{choice:?}: ssthresh of {} bytes", c.ssthresh);
        prop_assert!(c.pacing != Pacing::Rate(0), "{choice:?}: a rate of zero");
    }
    Ok(())
}

fn plays(choice: &Choice, (mss, iw, most): (u64, u64, u64), steps: &[Step]) -> Result<(), TestCaseError> {
    let entry = registry::find(choice.name).unwrap();
    let whole = matches!(entry.builder, Builder::Whole(_));
    let mut worlds = [0, 1].map(|_| World::new(choice.build().unwrap(), mss, iw, most));
    let restores = !whole && choice.build().unwrap().needs().recovery == RecoveryBy::Endpoint;
    check(choice, mss, &worlds[0].controls)?;
    for s in steps {
        let before = worlds[0].control();
        let at = worlds[0].controls.len();
        for w in &mut worlds {
            w.play(*s);
        }
        let after = worlds[0].control();
        check(choice, mss, &worlds[0].controls[at..])?;
        prop_assert_eq!(&worlds[0].controls[at..], &worlds[1].controls[at..], "{:?}: no function of history", choice);
        match s {
            Step::Loss { end: End::Unfounded, .. } | Step::Timeout { unfounded: true, .. } if restores => {
                prop_assert!(after.cwnd + 1 >= before.cwnd, "{choice:?}: {before:?} is not restored: {after:?}");
                prop_assert!(after.ssthresh >= before.ssthresh.min(after.cwnd), "{choice:?}: {before:?} {after:?}");
            }
            Step::Timeout { unfounded: false, .. } | Step::Loss { end: End::TimedOut(_), .. } => {
                prop_assert_eq!(after.cwnd / mss, 1, "{:?}: more than a segment after a timeout", choice);
                prop_assert!(whole || after.ssthresh < u64::MAX, "{choice:?}: no threshold after a timeout");
            }
            Step::Ack(a) if !a.limited && entry.family == "loss" && before.cwnd < after.cwnd => {
                let growth = after.cwnd - before.cwnd;
                prop_assert!(choice.name == "hybla", "{choice:?} grows by {growth} unused bytes");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Plays histories to every form, in two halves for two processors.
fn every(half: usize) {
    for form in forms().iter().skip(half).step_by(2) {
        let choices = prop_oneof![1 => Just(form.usual()), 4 => form.any()];
        let draws = (choices, connection(), prop::collection::vec(step(), 1..100));
        property(60, &draws, |(choice, connection, steps)| plays(&choice, connection, &steps));
    }
}

#[test]
fn what_holds_for_every_controller() {
    every(0);
}

#[test]
fn what_holds_for_every_other_controller() {
    every(1);
}

#[test]
fn every_controller_variant_and_slow_start_is_played() {
    let forms = forms();
    let named = |name: &str| forms.iter().filter(|f| f.entry.name == name).count();
    assert_eq!((named("cubic"), named("bbr3")), (5 * 5, 1));
}
