//! Spurious timeouts and recoveries, acknowledgment by acknowledgment: F-RTO (RFC 5682), undo by duplicates (RFC 2883) and
//! by timestamps (RFC 3522). Segments have 1000 bytes and numbers from 1; windows are in segments.

use super::recovery::{after, numbers, sack, sender, text, windows};
use super::*;
use crate::tcp::segment::SackBlock;
use crate::tcp::sender::Phase;

const ON: Value = Value::Bool(true);

/// The peer has everything below segment `n` and reports segments `twice` for the second time, and `blocks`.
fn dsack(n: u32, twice: (u32, u32), blocks: &[(u32, u32)]) -> Segment {
    let mut s = sack(n, &[]);
    s.push_sack(SackBlock { start: 1000 * (twice.0 - 1) + 1, end: 1000 * twice.1 + 1 });
    for b in sack(n, blocks).sack() {
        s.push_sack(*b);
    }
    s
}

/// Ten segments are out, of a window of ten, and time out.
fn timed_out(options: &[(&str, Value)]) -> Endpoint {
    let mut e = sender(10, 100_000, options);
    assert_eq!(numbers(&mut e, 200).len(), 10);
    assert_eq!(expire(&mut e), 1200);
    assert_eq!((numbers(&mut e, 1200), windows(&e), e.tx.phase()), (vec![1], (1.0, 5.0), Phase::Loss));
    e
}

fn undone(e: &Endpoint) -> (u64, u64) {
    (e.tx.stats().undos, e.tx.stats().spurious_timeouts)
}

#[test]
//= test: RFC 5682 §3.1 step-2
//= test: RFC 5682 §3.1 step-3
//= test: RFC 4015 §3.2 restore
fn f_rto_takes_a_spurious_timeout_back() {
    let mut e = timed_out(&[("frto", ON)]);
    // The originals were late. The first acknowledgment lets two new segments out instead of what is held for lost.
    assert_eq!(after(&mut e, 1210, &sack(2, &[])), [11, 12]);
    assert_eq!((windows(&e), e.tx.phase(), undone(&e)), ((2.0, 5.0), Phase::Loss, (0, 0)));
    // The second acknowledges what was sent once: the window is as before, and the other originals are in flight.
    let left = after(&mut e, 1220, &sack(3, &[]));
    assert_eq!((e.tx.phase(), undone(&e), e.tx.ssthresh()), (Phase::Open, (1, 1), u64::MAX));
    assert!(windows(&e).0 >= 10.0 && left.iter().all(|n| *n > 12), "{:?} {left:?}", windows(&e));
    assert_eq!(e.tx.stats().retransmitted_segments, 1);
}

#[test]
fn a_duplicate_of_a_retransmission_counts_as_delivered_as_linux_has_it() {
    for (prr, more) in [("linux", 2000), ("rfc9937", 1000)] {
        let mut e = timed_out(&[("frto", ON), ("prr", text(prr))]);
        after(&mut e, 1210, &sack(2, &[]));
        after(&mut e, 1220, &sack(3, &[]));
        assert_eq!(e.tx.phase(), Phase::Open);
        let before = e.tx.tcb.congestion.delivered();
        // What was sent again has come too: the acknowledgment that says so is of one segment more.
        after(&mut e, 1230, &dsack(4, (1, 1), &[]));
        assert_eq!(e.tx.tcb.congestion.delivered() - before, more, "{prr}");
    }
}

#[test]
//= test: RFC 5682 §3.1 step-3
fn f_rto_with_selective_acknowledgments_of_originals_is_spurious_too() {
    let mut e = timed_out(&[("frto", ON)]);
    assert_eq!(after(&mut e, 1210, &sack(2, &[])), [11, 12]);
    after(&mut e, 1220, &sack(2, &[(3, 3)]));
    assert_eq!((e.tx.phase(), undone(&e)), (Phase::Open, (1, 1)));
}

#[test]
//= test: RFC 5682 §3.1 step-3
fn f_rto_goes_on_repairing_a_genuine_timeout() {
    let mut e = timed_out(&[("frto", ON)]);
    // The retransmission arrived and new data leaves; what it brings is that only the new data came.
    assert_eq!(after(&mut e, 1300, &sack(2, &[])), [11, 12]);
    assert_eq!(after(&mut e, 1400, &sack(2, &[(11, 11)])), [2]);
    assert_eq!((e.tx.phase(), undone(&e)), (Phase::Loss, (0, 0)));
    after(&mut e, 1401, &sack(2, &[(11, 12)]));
    after(&mut e, 1500, &sack(3, &[(11, 12)]));
    assert_eq!((undone(&e), windows(&e).1), ((0, 0), 5.0));
}

#[test]
//= test: RFC 5682 §3.1 step-2
fn f_rto_needs_new_data() {
    let mut e = sender(10, 10_000, &[("frto", ON)]);
    numbers(&mut e, 200);
    expire(&mut e);
    numbers(&mut e, 1200);
    assert_eq!(after(&mut e, 1300, &sack(2, &[])), [2, 3], "the conventional repair");
    after(&mut e, 1400, &sack(4, &[]));
    assert_eq!(undone(&e), (0, 0));
}

#[test]
//= test: RFC 5682 §3.1 step-1
fn f_rto_does_not_judge_a_timeout_that_interrupts_a_recovery() {
    let mut e = sender(10, 100_000, &[("frto", ON)]);
    numbers(&mut e, 200);
    after(&mut e, 300, &sack(1, &[(2, 4)]));
    assert_eq!(e.tx.phase(), Phase::Recovery);
    let due = expire(&mut e);
    assert_eq!((numbers(&mut e, due), e.tx.phase()), (vec![1], Phase::Loss));
    assert_eq!(after(&mut e, due + 100, &sack(5, &[])), [5, 6], "no new data first");
    assert_eq!(undone(&e), (0, 0));
}

/// Ten segments are out, the first is overtaken by so much that it is sent again: window 5, recovery.
fn recovering(options: &[(&str, Value)]) -> Endpoint {
    let mut all = vec![("recovery", text("sack"))];
    all.extend(options.iter().cloned());
    let mut e = sender(10, 100_000, &all);
    assert_eq!(numbers(&mut e, 200).len(), 10);
    after(&mut e, 300, &sack(1, &[(2, 2)]));
    after(&mut e, 301, &sack(1, &[(2, 3)]));
    assert_eq!(after(&mut e, 302, &sack(1, &[(2, 4)])), [1]);
    assert_eq!((windows(&e).1, e.tx.phase()), (5.0, Phase::Recovery));
    e
}

#[test]
fn a_recovery_is_taken_back_when_the_receiver_has_everything_twice() {
    for (on, ssthresh) in [(true, u64::MAX), (false, 5000)] {
        let mut e = recovering(&[("dsack_undo", Value::Bool(on))]);
        // The original, then the rest of the window.
        after(&mut e, 310, &sack(5, &[]));
        after(&mut e, 320, &sack(13, &[]));
        assert_eq!((e.tx.phase(), undone(&e), windows(&e).1), (Phase::Open, (0, 0), 5.0));
        // The retransmission, after the recovery has ended.
        after(&mut e, 400, &dsack(13, (1, 1), &[]));
        assert_eq!((undone(&e).0, e.tx.ssthresh(), e.tx.stats().dsacks), (u64::from(on), ssthresh, 1));
        assert_eq!(windows(&e).0 >= 10.0, on);
    }
}

#[test]
fn a_recovery_is_taken_back_while_it_lasts_too() {
    let mut e = recovering(&[("dsack_undo", ON)]);
    after(&mut e, 310, &dsack(5, (1, 1), &[(6, 7)]));
    assert_eq!((undone(&e), e.tx.phase(), e.tx.ssthresh()), ((1, 0), Phase::Open, u64::MAX));
}

#[test]
fn all_retransmissions_must_be_duplicates() {
    let mut e = recovering(&[("dsack_undo", ON)]);
    // 5 is lost as well and sent again.
    let left = after(&mut e, 303, &sack(1, &[(6, 10), (2, 4)]));
    assert!(left.contains(&5), "{left:?}");
    after(&mut e, 310, &dsack(5, (1, 1), &[(6, 10)]));
    assert_eq!((undone(&e), e.tx.phase()), ((0, 0), Phase::Recovery));
    after(&mut e, 400, &sack(13, &[]));
    assert_eq!((undone(&e), windows(&e).1), ((0, 0), 5.0));
}

#[test]
//= test: RFC 2883 §5 read
fn a_duplicate_inside_the_second_block_counts_and_copies_of_the_network_do_not() {
    let mut e = recovering(&[]);
    after(&mut e, 310, &dsack(1, (3, 3), &[(2, 4)]));
    assert_eq!((e.tx.stats().dsacks, e.tx.stats().dup_acks), (1, 3), "nothing new");
    let mut quiet = sender(10, 10_000, &[("dsack_undo", ON)]);
    numbers(&mut quiet, 200);
    after(&mut quiet, 300, &dsack(5, (1, 1), &[]));
    assert_eq!((quiet.tx.stats().dsacks, undone(&quiet)), (1, (0, 0)), "nothing was sent again");
}

#[test]
fn a_duplicate_may_be_reported_when_nothing_is_outstanding_any_more() {
    let mut e = recovering(&[("dsack_undo", ON)]);
    e.tx.stop();
    let nxt = e.tx.positions().1 as u32;
    after(&mut e, 400, &ack(nxt));
    assert_eq!((e.tx.in_flight(), windows(&e).1), (0, 5.0));
    after(&mut e, 410, &dsack((nxt - 1) / 1000 + 1, (1, 1), &[]));
    assert_eq!((undone(&e), e.tx.ssthresh()), ((1, 0), u64::MAX));
}

fn stamped(s: Segment, echo: u32) -> Segment {
    timestamped(s, 1000, echo)
}

/// As `recovering`, with timestamps: the first flight is stamped 200 and the retransmission 302.
fn recovering_with_timestamps(eifel: bool) -> Endpoint {
    let options =
        [("iw", Value::Int(10)), ("iw_bound", text("none")), ("recovery", text("sack")), ("eifel", Value::Bool(eifel))];
    let mut e = rfc(&options);
    e.connect();
    sent(&mut e, 0);
    e.on_segment(at(100), &syn_ack());
    sent(&mut e, 100);
    e.tx.write(100_000);
    assert_eq!(numbers(&mut e, 200).len(), 10);
    for n in 2..=4 {
        after(&mut e, 298 + u64::from(n), &stamped(sack(1, &[(2, n)]), 0));
    }
    assert_eq!((e.tx.phase(), e.tx.stats().retransmitted_segments, windows(&e).1), (Phase::Recovery, 1, 5.0));
    e
}

#[test]
//= test: RFC 3522 §3.2 detection
fn an_echo_older_than_the_retransmission_takes_the_recovery_back() {
    for (eifel, echo, undo) in [(true, 200, true), (true, 302, false), (false, 200, false)] {
        let mut e = recovering_with_timestamps(eifel);
        // A partial acknowledgment while the retransmission is under way decides nothing yet.
        after(&mut e, 310, &stamped(sack(5, &[]), echo));
        after(&mut e, 320, &stamped(sack(13, &[]), if undo { 201 } else { 310 }));
        assert_eq!(undone(&e).0, u64::from(undo), "eifel {eifel}, echo {echo}");
        assert_eq!(e.tx.ssthresh() == u64::MAX, undo);
    }
}

#[test]
//= test: RFC 3522 §3.2 detection
fn an_echo_older_than_the_retransmission_takes_a_timeout_back() {
    for (echo, undo) in [(200, true), (1100, false)] {
        let mut e = rfc(&[("iw", Value::Int(10)), ("iw_bound", text("none")), ("eifel", ON)]);
        e.connect();
        sent(&mut e, 0);
        e.on_segment(at(100), &syn_ack());
        sent(&mut e, 100);
        e.tx.write(100_000);
        numbers(&mut e, 100);
        assert_eq!(expire(&mut e), 1100);
        assert_eq!(numbers(&mut e, 1100), [1]);
        let left = after(&mut e, 1110, &stamped(sack(2, &[]), echo));
        assert_eq!((e.tx.phase() == Phase::Open, undone(&e).1), (undo, u64::from(undo)));
        // Nine are still in flight of a window of ten or eleven; or two leave again in slow start.
        assert_eq!(left.iter().all(|n| *n > 10), undo, "{left:?}");
    }
}

#[test]
fn without_the_options_nothing_is_taken_back() {
    let mut e = timed_out(&[]);
    assert_eq!(after(&mut e, 1210, &sack(2, &[])), [2, 3]);
    after(&mut e, 1220, &sack(11, &[]));
    after(&mut e, 1230, &dsack(11, (1, 3), &[]));
    assert_eq!((undone(&e), windows(&e).1, e.tx.stats().dsacks), ((0, 0), 5.0, 1));
}
