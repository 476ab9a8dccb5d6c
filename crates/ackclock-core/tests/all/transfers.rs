//! Whole transfers: every combination of algorithms, the wrap of the sequence numbers, more than 4 GiB.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::net::case::{Action, Algorithm, BEFORE_WRAP, Case, clean_transfer};
use crate::net::path::Order;
use crate::net::{self, Net, Report, last_steps};
use crate::random_cases::share;
use ackclock_core::cc::registry;
use ackclock_core::params::Value;
use ackclock_core::slowstart::SLOW_STARTS;
use ackclock_core::tcp::Profile;

fn play(case: &Case) -> Report {
    Net::new(case).run().unwrap_or_else(|why| panic!("{why}\n{case:?}\n{}", last_steps(case)))
}

fn text(s: &str) -> Value {
    Value::Text(s.to_owned())
}

/// Every controller with its defaults, and every variant of those that have some.
fn controllers() -> Vec<Algorithm> {
    let mut all: Vec<Algorithm> = registry::CONTROLLERS.iter().map(|c| (c.name, vec![])).collect();
    for c in registry::CONTROLLERS {
        for p in c.params.iter().filter(|p| p.name == "variant") {
            if let ackclock_core::params::Kind::Choice(words) = p.kind {
                all.extend(words.iter().map(|w| (c.name, vec![("variant".to_owned(), text(w))])));
            }
        }
    }
    all
}

/// 40 segments over a path that loses, repeats and reorders.
fn rough(profile: Profile, seed: u64) -> Case {
    let mut c = clean_transfer(profile, 1000, 40);
    c.seed = seed;
    for p in &mut c.paths {
        (p.loss, p.duplicate, p.jitter, p.order) = (0.04, 0.02, 4_000_000, Order::Swapped(0.05));
        (p.per_byte, p.room) = (2_000, 12);
    }
    c
}

#[test]
fn every_combination_of_algorithms_delivers() {
    let mut total = Report::default();
    let played_up_to = share(u64::from(u32::MAX), 10_000);
    let (mut cases, mut played) = (0_u64, 0);
    for profile in Profile::ALL {
        for recovery in ["tahoe", "reno", "newreno", "sack", "prr", "auto"] {
            for detection in ["dupack", "rack"] {
                for (sack, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
                    for controller in controllers() {
                        for slow_start in SLOW_STARTS {
                            cases += 1;
                            // Scattered, so that no choice of one algorithm is left out with all of another.
                            if cases.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 > played_up_to {
                                continue;
                            }
                            played += 1;
                            let mut c = rough(profile, cases);
                            c.set("recovery", text(recovery));
                            c.set("loss_detection", text(detection));
                            c.set("sack", Value::Bool(sack));
                            c.set("timestamps", Value::Bool(timestamps));
                            c.ends[0].controller = controller.clone();
                            c.ends[0].slow_start = (slow_start.name, vec![]);
                            total.add(&play(&c));
                        }
                    }
                }
            }
        }
    }
    assert!(cases > 6000 && played > share(6000, 10_000), "{played} of {cases}");
    let enough = total.recoveries > played / 4 && total.timeouts > played / 20 && total.retransmissions > played;
    assert!(enough, "{total:?}");
}

#[test]
//= test: RFC 9293 §3.4 modulo
fn sequence_numbers_wrap_in_the_middle_of_a_transfer() {
    for seed in 0..200 {
        let mut c = rough(Profile::ALL[seed as usize % 4], seed);
        c.set("iss", Value::Int(BEFORE_WRAP));
        let r = play(&c);
        // 40,000 bytes from 1000 below 2^32: the second segment is the first one after the wrap.
        assert!(r.packets > 60, "{r:?}");
    }
    let mut c = clean_transfer(Profile::Rfc, 1000, 40);
    c.set("iss", Value::Int(BEFORE_WRAP + 500));
    assert_eq!(play(&c).wraps, 1, "one segment lies across the wrap");
}

#[test]
fn more_than_4_gib_are_delivered_with_losses_and_reordering() {
    for (profile, sack) in [(Profile::Rfc, true), (Profile::Linux, true), (Profile::Rfc, false)] {
        let mut c = clean_transfer(profile, 65_495, 70_000);
        c.set("iss", Value::Int(BEFORE_WRAP));
        c.set("sack", Value::Bool(sack));
        c.set("receive_buffer", Value::Int(2_000_000));
        c.paths[0].loss = 1e-3;
        c.paths[0].order = Order::Swapped(0.001);
        c.paths = c.paths.map(|p| net::path::PathCase { delay: 1_000_000, ..p });
        assert!(c.ends[0].written() > 1 << 32);
        let r = play(&c);
        assert!(r.retransmissions > 30, "{r:?}");
    }
}

#[test]
//= test: RFC 9293 §3.6.1 half-close
fn both_directions_carry_data_and_close_in_either_order() {
    for (first, second) in [(0, 5_000), (5_000, 0), (0, 0)] {
        for seed in 0..50 {
            let mut c = rough(Profile::ALL[seed as usize % 4], seed);
            let at = |ms: u64| ms * 1_000_000;
            c.ends[0].app = vec![(0, Action::Write(20_000)), (at(first), Action::Close)];
            c.ends[1].app = vec![(at(1), Action::Write(30_000)), (at(second), Action::Close)];
            let r = play(&c);
            assert!(r.end >= at(first.max(second)));
        }
    }
}
