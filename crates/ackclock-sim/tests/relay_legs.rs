//! The two legs of a relay: how each of them starts is its own.
#![allow(clippy::unwrap_used)]

mod common;

use common::play;
use common::splits::{file, without_rates, Split};
use serde_json::{json, Value};

/// 29 full segments: a window of 10 and one of 19.
const FILE: u64 = 29_000;

/// The legs have round trips of 24 and 120 ms, or the other way round.
const DELAYS: [[u64; 2]; 2] = [[12, 60], [60, 12]];

/// A file that the sink asks for, over legs with these options.
fn split(delays: [u64; 2], tcp: [Value; 2]) -> Split {
    let exact = |options: Value| {
        let mut all = json!({"delayed_ack": 1, "iw_bound": "none"});
        all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        all
    };
    Split { delays, tcp: tcp.map(exact), profile: "rfc", app: Some(file(FILE)), ..Split::default() }
}

/// How long the file takes over links without rates, where the legs have these slow starts besides.
fn time(delays: [u64; 2], tcp: [Value; 2], slow_starts: [Value; 2]) -> f64 {
    let mut d = without_rates(split(delays, tcp).split());
    for (leg, kind) in slow_starts.into_iter().enumerate() {
        d["flows"][1 + leg]["slow_start"] = kind;
    }
    let out = play(&d);
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    out.transfers[0].fct_s.unwrap()
}

#[test]
fn a_larger_initial_window_saves_the_round_trips_of_its_own_leg() {
    let none = || [Value::Null, Value::Null];
    for (longer, delays) in [(1, DELAYS[0]), (0, DELAYS[1])] {
        let with = |legs: [bool; 2]| time(delays, legs.map(|large| json!({"iw": if large { 32 } else { 10 }})), none());
        let saved = |legs: [bool; 2]| with([false, false]) - with(legs);
        let (mut only_longer, mut only_shorter) = ([false; 2], [true; 2]);
        (only_longer[longer], only_shorter[longer]) = (true, false);
        // With 10 at first the other 19 take a second round trip on each leg, those of the shorter one within that of the longer.
        for (legs, expected) in [(only_longer, 0.120 - 0.024), (only_shorter, 0.0), ([true, true], 0.120)] {
            assert!((saved(legs) - expected).abs() < 1e-12, "{delays:?}, {legs:?}: {} s", saved(legs));
        }
    }
}

#[test]
fn a_slow_start_that_is_slower_costs_round_trips_of_its_own_leg() {
    let none = || [json!({}), json!({})];
    // Beyond a window of 2 one segment more each round trip: 10, then 10 or 11, then the rest.
    let limited = || json!({"kind": "limited", "params": {"max_ssthresh": 2}});
    let standard = || json!({"kind": "standard"});
    // On the shorter leg before the relay they pass within the round trip of the longer one. Behind the relay they do not: the
    // second window comes late, and all of it at once.
    for (delays, more) in [(DELAYS[0], [0.0, 0.120]), (DELAYS[1], [0.120, 0.024])] {
        let usual = time(delays, none(), [standard(), standard()]);
        for (leg, expected) in more.into_iter().enumerate() {
            let mut kinds = [standard(), standard()];
            kinds[leg] = limited();
            let more = time(delays, none(), kinds) - usual;
            assert!((more - expected).abs() < 1e-12, "{delays:?}, leg {leg}: {more} s");
        }
    }
}
