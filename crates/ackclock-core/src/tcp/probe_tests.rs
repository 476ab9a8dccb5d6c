//! Tail loss probes and the reordering window: vectors worked out by hand from RFC 8985.
//! Segments have 1000 bytes and numbers from 1.

use super::recovery::{NONE, after, numbers, sack, sender, text, windows};
use super::*;
use crate::tcp::segment::SackBlock;
use crate::tcp::sender::Phase;

/// Connected at 100 ms with a round-trip time of 50 ms.
fn prober(iw: u64, bytes: u64, options: &[(&str, Value)]) -> Endpoint {
    let mut all = vec![("iw", Value::Int(iw)), ("iw_bound", text("none")), ("tlp", Value::Bool(true))];
    all.extend(options.iter().cloned());
    let mut e = rfc(&all);
    e.connect();
    assert_eq!(sent(&mut e, 50).len(), 1);
    let mut answer = syn_ack();
    answer.options &= !0x10;
    e.on_segment(at(100), &answer);
    sent(&mut e, 100);
    e.on_segment(at(100), &ack(1));
    e.tx.write(bytes);
    e
}

/// The peer has everything below segment `n` and reports segment `twice` for the second time.
fn dsack(n: u32, twice: u32) -> Segment {
    let mut s = sack(n, &[]);
    s.push_sack(SackBlock { start: 1000 * (twice - 1) + 1, end: 1000 * twice + 1 });
    s
}

#[test]
//= test: RFC 8985 §7.2 pto
//= test: RFC 8985 §7.3 rearm
fn the_probe_leaves_after_two_round_trip_times_or_with_one_segment_after_the_delay_of_its_acknowledgment_too() {
    for (segments, wait) in [(10, 100), (1, 300)] {
        let mut e = prober(10, 1000 * segments, &[]);
        assert_eq!(numbers(&mut e, 200).len() as u64, segments);
        assert_eq!(expire(&mut e), 200 + wait);
        assert_eq!(numbers(&mut e, 200 + wait), [segments as u32], "the last one again");
        assert_eq!((e.tx.stats().tlp_probes, e.tx.stats().timeouts, windows(&e).0), (1, 0, 10.0));
        // One probe; the timeout counts from it.
        assert_eq!(expire(&mut e), 200 + wait + 1000);
        assert_eq!((e.tx.stats().timeouts, e.tx.phase()), (1, Phase::Loss));
    }
}

#[test]
//= test: RFC 8985 §7.2 before-rto
fn linux_probes_with_the_slack_of_its_timers_and_never_after_the_timeout() {
    let linux = [("timer_tick", Value::Duration(Span::from_millis(1))), ("rto", text("linux")), ("min_rto", ms(200))];
    for (segments, wait) in [(10, 104), (1, 256)] {
        // 2 SRTT and two ticks; a single one waits for RTO = SRTT + 200 ms at most. Both end on a tick of eight.
        let mut e = prober(10, 1000 * segments, &linux);
        numbers(&mut e, 200);
        let mut due = 0;
        while e.tx.stats().tlp_probes == 0 {
            due = expire(&mut e);
            numbers(&mut e, due);
        }
        assert_eq!(due, 200 + wait, "{segments} segments");
        assert_eq!(e.tx.stats().timeouts, 0);
    }
}

fn ms(n: u64) -> Value {
    Value::Duration(Span::from_millis(n))
}

#[test]
//= test: RFC 8985 §7.3 content
fn new_data_is_the_better_probe_if_the_peer_has_room() {
    let mut e = prober(10, 12_000, &[]);
    assert_eq!(numbers(&mut e, 200).len(), 10);
    expire(&mut e);
    assert_eq!(numbers(&mut e, 300), [11], "one beyond the window");
    assert_eq!(e.tx.stats().retransmitted_segments, 0);
    // Nothing was lost: the probe is acknowledged with all the others.
    after(&mut e, 400, &sack(12, &[]));
    assert_eq!((e.tx.stats().tlp_recoveries, e.tx.ssthresh()), (0, u64::MAX));
}

#[test]
//= test: RFC 8985 §7.2 conditions
fn an_acknowledgment_moves_the_probe_and_what_needs_repair_ends_it() {
    let mut e = prober(10, 10_000, &[]);
    numbers(&mut e, 200);
    after(&mut e, 250, &sack(3, &[]));
    assert_eq!(e.next_deadline(), at(350));
    // Something is selectively acknowledged: no probe, the timeout stands.
    after(&mut e, 310, &sack(3, &[(4, 4)]));
    after(&mut e, 320, &sack(5, &[(7, 7)]));
    while e.tx.stats().timeouts == 0 {
        expire(&mut e);
        assert_eq!(numbers(&mut e, 320).len() as u64, e.tx.stats().timeouts);
    }
    assert_eq!(e.tx.stats().tlp_probes, 0);
}

/// Ten segments are out; the last one's acknowledgment does not come, and a probe repeats it.
fn repaired() -> Endpoint {
    let mut e = prober(10, 10_000, &[("idle", text("none"))]);
    numbers(&mut e, 200);
    after(&mut e, 250, &sack(10, &[]));
    while e.tx.stats().tlp_probes == 0 {
        let now = expire(&mut e);
        numbers(&mut e, now);
    }
    assert_eq!(e.tx.stats().retransmitted_segments, 1);
    e
}

#[test]
//= test: RFC 8985 §7.4 repaired-loss
fn a_loss_that_the_probe_repaired_reduces_the_window_once_something_later_is_acknowledged() {
    for (duplicate, recoveries) in [(false, 1), (true, 0)] {
        let mut e = repaired();
        let window = windows(&e).0;
        // The probe's acknowledgment alone could be the original's.
        after(&mut e, 600, &sack(11, &[]));
        assert_eq!(e.tx.stats().tlp_recoveries, 0);
        if duplicate {
            after(&mut e, 601, &dsack(11, 10));
        }
        e.tx.write(3000);
        assert_eq!(numbers(&mut e, 610).len(), 3);
        after(&mut e, 660, &sack(13, &[]));
        assert_eq!(e.tx.stats().tlp_recoveries, recoveries);
        // Flight 3: the threshold is two segments, the least.
        assert_eq!(windows(&e).1 == 2.0, recoveries == 1, "{:?}", windows(&e));
        assert_eq!(windows(&e).0 < window, recoveries == 1, "{:?}", windows(&e));
    }
}

#[test]
//= test: RFC 8985 §6.2 step-5-timer
fn the_reordering_timer_waits_for_a_quarter_of_the_smallest_round_trip_time() {
    // §9: smallest RTT 40 ms; A leaves at 0, B 1 ms later; B is reported at 41 ms: A is lost at 50 ms.
    let options = [("loss_detection", text("rack")), ("iw", Value::Int(1)), ("iw_bound", text("none"))];
    let mut e = rfc(&options);
    e.connect();
    sent(&mut e, 60);
    let mut answer = syn_ack();
    answer.options &= !0x10;
    e.on_segment(at(100), &answer);
    sent(&mut e, 100);
    e.tx.write(1000);
    assert_eq!(numbers(&mut e, 200), [1]);
    after(&mut e, 240, &sack(2, &[]));
    e.tx.write(1000);
    assert_eq!(numbers(&mut e, 300), [2]);
    e.tx.write(1000);
    assert_eq!(numbers(&mut e, 301), [3]);
    assert_eq!(after(&mut e, 341, &sack(2, &[(3, 3)])), NONE);
    assert_eq!(e.next_deadline(), at(350), "9 ms");
    assert_eq!(expire(&mut e), 350);
    assert_eq!(numbers(&mut e, 350), [2]);
}

/// §6.3: on a timeout what was sent less than RACK.rtt and the reordering window ago is not lost; Linux leaves that window out. The
/// round trip is known from an acknowledgment that was to be expected.
#[test]
//= test: RFC 8985 §6.3 timeout
fn every_acknowledgment_tells_the_round_trip_time_within_which_a_timeout_loses_nothing() {
    // The reordering window is a quarter of the round trip, 20 ms.
    let cases = [("rfc9937", 70, 5), ("rfc9937", 95, 5), ("rfc9937", 105, 8), ("linux", 70, 5), ("linux", 90, 8)];
    for (predicting, (prr, age, lost)) in [true, false].into_iter().flat_map(|p| cases.map(|case| (p, case))) {
        let mut e = sender(10, 10_000, &[("loss_detection", text("rack")), ("prr", text(prr))]);
        if !predicting {
            e.predict_nothing();
        }
        assert_eq!(numbers(&mut e, 200).len(), 10);
        // A round trip of 80 ms, and the timeout a second later.
        assert_eq!(after(&mut e, 280, &sack(6, &[])), NONE);
        e.tx.write(3000);
        assert_eq!(numbers(&mut e, 1280 - age), [11, 12, 13]);
        assert_eq!(expire(&mut e), 1280);
        assert_eq!(e.tx.tcb.board.lost(), 1000 * lost, "{age} ms old");
    }
}

#[test]
//= test: RFC 8985 §6.2 step-4-dsack
fn reports_of_duplicates_widen_the_reordering_window_for_sixteen_recoveries() {
    let options = [("recovery", text("prr")), ("loss_detection", text("rack"))];
    let mut e = sender(12, 1_000_000, &options);
    numbers(&mut e, 200);
    // Segment 1 is overtaken: sent again after 25 ms, and then both copies arrive.
    after(&mut e, 300, &sack(1, &[(2, 2)]));
    assert_eq!(expire(&mut e), 325);
    assert_eq!(numbers(&mut e, 325)[0], 1);
    after(&mut e, 330, &sack(3, &[]));
    assert_eq!(e.tx.recovery.rack().steps(), 1);
    after(&mut e, 425, &dsack(3, 1));
    assert_eq!(e.tx.recovery.rack().steps(), 1, "reordering has not been seen");
    e.tx.recovery.rack().see_reordering(true);
    e.tx.tcb.stats.retransmitted_segments += 2;
    after(&mut e, 426, &dsack(3, 1));
    after(&mut e, 427, &dsack(3, 1));
    assert_eq!(e.tx.recovery.rack().steps(), 2, "once a round trip");
    for left in (0..16).rev() {
        assert_eq!(e.tx.recovery.rack().steps(), 2, "{left}");
        e.tx.recovery.rack().recovered();
    }
    assert_eq!(e.tx.recovery.rack().steps(), 1);
}
