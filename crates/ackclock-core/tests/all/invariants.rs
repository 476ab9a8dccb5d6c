//! The twelve invariants of the endpoint on random connections over adversarial networks.
//!
//! Every transfer is checked against all of them; each test draws the transfers that try one hardest and makes sure
//! that they did. The draws are the same in every run. `ACKCLOCK_CASES` sets how many transfers a test plays,
//! `ACKCLOCK_SEED` draws others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::net::case::{Action, BEFORE_WRAP, Case, EndCase, any_case};
use crate::net::path::Order;
use crate::net::{Net, Report, last_steps};
use crate::random_cases::{self, seed};
use ackclock_core::params::Value;
use ackclock_core::tcp::config::UNLIMITED_WINDOW;
use ackclock_core::time::Span;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use std::cell::{Cell, RefCell};

/// How many transfers the properties play at most, each.
const CASES: u64 = 2500;

/// What the transfers that are played have to meet of something, if all of them have to meet `count`.
fn share(count: u64) -> u64 {
    random_cases::share(count, CASES)
}

/// Plays transfers drawn from `cases`, each checked by `and` as well, and returns what they went through in all.
fn property(cases: impl Strategy<Value = Case>, and: impl Fn(&Case, &Report) -> Result<(), String>) -> Report {
    let config = Config {
        cases: random_cases::cases(CASES) as u32,
        rng_seed: RngSeed::Fixed(seed()),
        failure_persistence: None,
        max_shrink_iters: 600,
        ..Config::default()
    };
    let total = RefCell::new(Report::default());
    let outcome = TestRunner::new(config).run(&cases, |case| {
        let report = Net::new(&case).run().map_err(TestCaseError::fail)?;
        and(&case, &report).map_err(TestCaseError::fail)?;
        total.borrow_mut().add(&report);
        Ok(())
    });
    match outcome {
        Ok(()) => total.into_inner(),
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case:?}\n{}", last_steps(&case)),
        Err(e) => panic!("{e}"),
    }
}

/// Any case, changed.
fn cases(change: impl Fn(&mut Case)) -> impl Strategy<Value = Case> {
    any_case().prop_map(move |mut case| {
        change(&mut case);
        case.shortened()
    })
}

/// Nothing beyond what every transfer is checked for.
fn as_always(_: &Case, _: &Report) -> Result<(), String> {
    Ok(())
}

fn text(s: &str) -> Value {
    Value::Text(s.to_owned())
}

fn ms(n: u64) -> Value {
    Value::Duration(Span::from_millis(n))
}

#[test]
fn invariant_01_what_is_sent_fits_both_windows() {
    let small = cases(|c| {
        let room = [256, 700, 3000, 20_000][(c.seed % 4) as usize];
        c.set("receive_buffer", Value::Int(room));
        c.set("app_read_rate", Value::Int([2_000, 50_000][(c.seed >> 8 & 1) as usize]));
    });
    let met = property(small, as_always);
    assert!(met.window_probes > share(1000) && met.retransmissions > share(1000), "{met:?}");
}

#[test]
fn invariant_02_the_stream_arrives_once_whole_and_in_order() {
    let wrapping = cases(|c| {
        c.set("iss", Value::Int(BEFORE_WRAP + c.seed % 1000));
        c.paths.iter_mut().for_each(|p| p.loss = p.loss.max(0.05));
    });
    let met = property(wrapping, as_always);
    assert!(met.wraps > share(1000) && met.retransmissions > share(10_000) && met.reordered > share(1000), "{met:?}");
}

#[test]
fn invariant_03_positions_and_edges_never_move_back() {
    let reordering = cases(|c| {
        c.paths.iter_mut().for_each(|p| (p.order, p.jitter) = (Order::Free, p.jitter.max(30_000_000)));
        c.set("window_counts_ooo", Value::Bool(true));
    });
    let met = property(reordering, as_always);
    assert!(met.reordered > share(20_000), "{met:?}");
}

#[test]
fn invariant_04_every_byte_and_packet_is_accounted_for() {
    let repeating = cases(|c| c.paths.iter_mut().for_each(|p| p.duplicate = p.duplicate.max(0.1)));
    let met = property(repeating, as_always);
    assert!(met.packets > share(50_000), "{met:?}");
}

#[test]
fn invariant_05_one_reduction_per_episode_and_never_below_the_least_windows() {
    let lossy = cases(|c| c.paths[0].loss = c.paths[0].loss.max(0.1));
    let met = property(lossy, as_always);
    assert!(met.recoveries > share(1000) && met.timeouts > share(1000), "{met:?}");
}

#[test]
//= test: RFC 3168 §6.1.2 once-a-window
fn invariant_05_marks_reduce_once_per_window_too() {
    let marking = cases(|c| {
        c.set("ecn", text(["classic", "accurate"][(c.seed % 2) as usize]));
        c.paths[0].marks = c.paths[0].marks.max(0.05);
        if c.seed & 12 == 0 {
            c.ends[0].controller = (["dctcp", "prague"][(c.seed >> 4 & 1) as usize], vec![]);
        }
    });
    let met = property(marking, as_always);
    assert!(met.marks > share(5000) && met.ecn_reductions > share(1000) && met.recoveries > share(1000), "{met:?}");
}

#[test]
//= test: RFC 6298 §5 5.1-start
fn invariant_06_a_timer_runs_while_data_is_outstanding() {
    let interrupted = cases(|c| {
        let from = c.seed % 2_000_000_000;
        c.paths[0].outage = (from, from + c.seed % 7 * 500_000_000);
    });
    let met = property(interrupted, as_always);
    assert!(met.timeouts > share(1000), "{met:?}");
}

#[test]
fn invariant_07_nothing_is_sent_again_without_a_reason() {
    let met = property(cases(|_| ()), as_always);
    assert!(met.retransmissions > share(10_000) && met.speculative > share(50), "{met:?}");
    assert!(met.probes > share(300) && met.undos > share(100) && met.spurious > share(50), "{met:?}");
}

#[test]
fn invariant_07_what_was_late_and_not_lost_is_taken_back() {
    let late = cases(|c| {
        for name in ["sack", "tlp", "frto", "dsack_undo", "eifel"] {
            c.set(name, Value::Bool(true));
        }
        c.set("recovery", text("auto"));
        c.set("min_rto", ms(50));
        c.paths.iter_mut().for_each(|p| (p.jitter, p.loss) = (p.jitter.max(40_000_000), p.loss.min(0.02)));
    });
    let met = property(late, as_always);
    assert!(met.probes > share(1000) && met.undos > share(500) && met.spurious > share(100), "{met:?}");
}

#[test]
//= test: RFC 6675 §4 set-pipe
fn invariant_08_the_scoreboard_equals_what_is_recomputed_from_scratch() {
    let selective = cases(|c| {
        c.set("sack", Value::Bool(true));
        c.set("recovery", text(["sack", "prr", "auto"][(c.seed % 3) as usize]));
        c.paths[0].loss = c.paths[0].loss.max(0.05);
    });
    let met = property(selective, as_always);
    assert!(met.retransmissions > share(10_000) && met.duplicate_acks > share(10_000), "{met:?}");
}

/// No losses, no limits, and timeouts above every delay.
fn calm(c: &mut Case) {
    *c = c.clone().clean();
    for name in ["receive_buffer", "initial_receive_window"] {
        c.set(name, Value::Int(UNLIMITED_WINDOW));
    }
    c.set("app_read_rate", Value::Int(0));
    c.set("delayed_ack_timeout", ms(200));
    c.set("min_rto", ms(1000));
    c.set("initial_rto", ms(3000));
    c.set("dupthresh", Value::Int(3));
    // A probe asks for an acknowledgment that the receiver only delays.
    c.set("tlp", Value::Bool(false));
}

#[test]
fn invariant_09_a_perfect_network_sees_neither_retransmissions_nor_duplicate_acks() {
    let met = property(cases(calm), |_, r| match (r.retransmissions, r.duplicate_acks) {
        (0, 0) => Ok(()),
        (again, dups) => Err(format!("invariant 9: {again} retransmissions, {dups} duplicate acknowledgments")),
    });
    assert!(met.packets > share(50_000) && met.reordered == 0, "{met:?}");
}

#[test]
fn invariant_09_reordering_by_two_packets_is_not_a_loss() {
    let swapped = cases(|c| {
        calm(c);
        c.set("loss_detection", text("dupack"));
        c.paths[0].order = Order::Swapped(0.3);
        // Only data may be overtaken: an acknowledgment that is, is answered like a probe.
        c.handshake = false;
        // The second packet of a pair may be larger than the MSS, which RFC 6675's count of bytes does not allow for.
        if c.ends[0].slow_start.0 == "blbe" {
            c.ends[0].slow_start.1 = vec![("allow_probe_larger_than_mss".to_owned(), Value::Bool(false))];
        }
        c.ends[1] = EndCase { app: vec![(20_000_000_000, Action::Close)], ..c.ends[0].clone() };
        // A FIN on a full segment makes it one position longer than RFC 6675's count of segments allows for.
        c.ends[0].app.iter_mut().filter(|a| a.1 == Action::Close).for_each(|a| a.0 += 10_000_000_000);
    });
    let met = property(swapped, |_, r| match r.retransmissions {
        0 => Ok(()),
        again => Err(format!("invariant 9: {again} retransmissions after reordering by two")),
    });
    assert!(met.reordered > share(5000) && met.duplicate_acks > share(1000), "{met:?}");
}

#[test]
fn invariant_10_the_same_seed_gives_the_same_trace_in_any_thread() {
    let differing = Cell::new(0);
    let met = property(cases(|_| ()), |case, first| {
        let again = Net::new(case).run()?;
        let elsewhere = std::thread::scope(|s| s.spawn(|| Net::new(case).run()).join().expect("no panic"))?;
        let mut other = case.clone();
        other.seed ^= 1;
        differing.set(differing.get() + u64::from(Net::new(&other).run()?.trace != first.trace));
        match *first == again && *first == elsewhere {
            true => Ok(()),
            false => Err(format!("invariant 10: {first:?} {again:?} {elsewhere:?}")),
        }
    });
    assert!(met.packets > share(50_000) && differing.get() > share(500), "{met:?}, {differing:?} with another seed");
}

#[test]
//= test: RFC 9937 §6 proportional
fn invariant_11_proportional_rate_reduction_keeps_its_proportion() {
    let reducing = cases(|c| {
        c.set("recovery", text("prr"));
        c.set("sack", Value::Bool(true));
        c.set("iw", Value::Int(50));
        c.set("iw_bound", text("none"));
        (c.ends[0].controller, c.ends[1].controller) = (("cubic", vec![]), ("reno", vec![]));
        c.paths[0].loss = c.paths[0].loss.clamp(0.01, 0.05);
    });
    let met = property(reducing, as_always);
    assert!(met.reductions > share(2000), "{met:?}");
}

#[test]
fn invariant_12_echoes_come_from_the_past_and_samples_hold_the_path() {
    let stamped = cases(|c| {
        c.set("timestamps", Value::Bool(true));
        c.paths.iter_mut().for_each(|p| p.delay = p.delay.max(1_000_000));
    });
    let met = property(stamped, as_always);
    assert!(met.packets > share(50_000) && met.retransmissions > share(5000), "{met:?}");
}

#[test]
fn header_prediction_changes_nothing_but_time() {
    let same = |case: &Case, predicted: &Report| {
        let general = Net::new(case).without_prediction().run()?;
        match *predicted == general {
            true => Ok(()),
            false => Err(format!("predicted {predicted:?}, general {general:?}")),
        }
    };
    let mut met = property(cases(|_| ()), same);
    let doubtful = cases(|c| {
        calm(c);
        c.set("sack", Value::Bool(true));
        c.set("loss_detection", text("rack"));
        c.paths[0].order = Order::Swapped(0.02);
        c.paths[0].loss = 0.02;
    });
    met.add(&property(doubtful, same));
    let narrow = cases(|c| {
        c.set("receive_buffer", Value::Int([3000, 20_000][(c.seed & 1) as usize]));
        c.set("app_read_rate", Value::Int(0));
    });
    met.add(&property(narrow, same));
    assert!(met.packets > share(150_000) && met.retransmissions > share(5000) && met.probes > share(100), "{met:?}");
}
