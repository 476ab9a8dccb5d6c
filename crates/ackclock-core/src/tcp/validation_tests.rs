//! Congestion window validation (RFC 7661), acknowledgment by acknowledgment.

use super::recovery::{after, numbers, sack, sender, text, windows};
use super::*;
use crate::tcp::sender::Phase;

fn validating(iw: u64, bytes: u64) -> Endpoint {
    sender(iw, bytes, &[("idle", text("rfc7661"))])
}

/// Four segments are sent and acknowledged with a window of 20.
fn using_a_fifth() -> Endpoint {
    let mut e = validating(20, 4_000);
    assert_eq!(numbers(&mut e, 100), [1, 2, 3, 4]);
    for n in 2..=5 {
        after(&mut e, 200, &sack(n, &[]));
    }
    assert_eq!(windows(&e).0, 20.0);
    e
}

#[test]
//= test: RFC 7661 §4.3 frozen
fn the_window_grows_when_half_of_it_is_used() {
    let mut e = using_a_fifth();
    e.tx.write(20_000);
    assert_eq!(numbers(&mut e, 200).len(), 20);
    // Nine segments within a round-trip time do not validate a window of 20, ten do.
    for n in 6..=14 {
        after(&mut e, 300, &sack(n, &[]));
    }
    assert_eq!(windows(&e).0, 20.0);
    after(&mut e, 300, &sack(15, &[]));
    assert_eq!(windows(&e).0, 21.0);
}

#[test]
//= test: RFC 7661 §4.4.1 loss
fn a_loss_reduces_what_is_used_less_what_is_sent_again() {
    let mut e = using_a_fifth();
    e.tx.write(8_000);
    assert_eq!(numbers(&mut e, 200).len(), 8);
    for last in 6..=8 {
        after(&mut e, 300, &sack(5, &[(6, last)]));
    }
    // Half of max(pipeACK = 4, LossFlightSize = 8); the window itself would have given 10.
    assert_eq!((e.tx.phase(), windows(&e).1), (Phase::Recovery, 4.0));
    after(&mut e, 400, &sack(13, &[]));
    // (8 - 1) / 2 segments.
    assert_eq!((e.tx.phase(), windows(&e).0), (Phase::Open, 3.5));
}

#[test]
//= test: RFC 7661 §4.2 pipe-ack
fn what_was_used_counts_when_little_is_outstanding() {
    let mut e = validating(20, 8_000);
    assert_eq!(numbers(&mut e, 100).len(), 8);
    for n in 2..=9 {
        after(&mut e, 200, &sack(n, &[]));
    }
    e.tx.write(4_000);
    assert_eq!(numbers(&mut e, 200), [9, 10, 11, 12]);
    for last in 10..=12 {
        after(&mut e, 300, &sack(9, &[(10, last)]));
    }
    // Half of max(pipeACK = 8, LossFlightSize = 4).
    assert_eq!((e.tx.phase(), windows(&e).1), (Phase::Recovery, 4.0));
}

#[test]
//= test: RFC 7661 §4.4.3 five-minutes
fn an_idle_window_stays_for_five_minutes_and_is_then_halved() {
    let resumed = |seconds: u64, options: &[(&str, Value)]| {
        let mut e = sender(10, 10_000, options);
        numbers(&mut e, 100);
        for n in 2..=11 {
            after(&mut e, 200, &sack(n, &[]));
        }
        assert_eq!(windows(&e).0, 20.0);
        e.tx.write(100_000);
        numbers(&mut e, 200 + 1000 * seconds).len()
    };
    let rule = [("idle", text("rfc7661"))];
    assert_eq!(resumed(60, &rule), 20);
    assert_eq!(resumed(299, &rule), 20);
    assert_eq!(resumed(302, &rule), 10);
    assert_eq!(resumed(3_000, &rule), 10, "not below the initial window");
    assert_eq!(resumed(60, &[]), 10, "RFC 5681 does not wait");
}

#[test]
fn slow_start_is_not_slowed_down() {
    let grown = |options: &[(&str, Value)]| {
        let mut e = sender(2, 1_000_000, options);
        let (mut acked, mut now) = (1, 100);
        let mut left = numbers(&mut e, now);
        for _ in 0..5 {
            now += 100;
            let mut next = vec![];
            for _ in &left {
                acked += 1;
                next.extend(after(&mut e, now, &sack(acked, &[])));
            }
            left = next;
        }
        windows(&e).0
    };
    assert_eq!(grown(&[("idle", text("rfc7661"))]), 64.0);
    assert_eq!(grown(&[]), 64.0);
}
