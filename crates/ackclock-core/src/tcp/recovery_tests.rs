//! Losses and timeouts, acknowledgment by acknowledgment: vectors worked out by hand from RFC 5681, RFC 6582, RFC 6675
//! and RFC 9937.
//!
//! Segments have 1000 bytes and numbers from 1; segment n starts at 1000 (n - 1) + 1. Windows are in segments.

use super::*;
use crate::tcp::segment::SackBlock;
use crate::tcp::sender::Phase;

/// First position of segment `n`.
fn first(n: u32) -> u32 {
    1000 * (n - 1) + 1
}

pub(super) fn text(s: &str) -> Value {
    Value::Text(s.to_owned())
}

/// A connected sender whose first flight has `iw` segments, with so much to send.
pub(super) fn sender(iw: u64, bytes: u64, options: &[(&str, Value)]) -> Endpoint {
    sender_with(iw, bytes, options, "reno", &[])
}

fn sender_with(iw: u64, bytes: u64, options: &[(&str, Value)], cc: &str, params: &[(&str, Value)]) -> Endpoint {
    let mut all = vec![("iw", Value::Int(iw)), ("iw_bound", text("none"))];
    all.extend(options.iter().cloned());
    let mut e = connected(with(Profile::Rfc, &all, cc, params));
    e.tx.write(bytes);
    e
}

/// The peer has everything below segment `n`, and of the rest segments `blocks`, the newest first.
pub(super) fn sack(n: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut s = ack(first(n));
    for (a, b) in blocks {
        s.push_sack(SackBlock { start: first(*a), end: first(*b + 1) });
    }
    s
}

/// Numbers of the segments that leave after `s` arrives.
pub(super) fn after(e: &mut Endpoint, now: u64, s: &Segment) -> Vec<u32> {
    e.on_segment(at(now), s);
    numbers(e, now)
}

pub(super) fn numbers(e: &mut Endpoint, now: u64) -> Vec<u32> {
    let left = payload(e, now);
    left.iter().map(|(seq, _)| (seq - 1) / 1000 + 1).collect()
}

/// Window, and threshold, in segments.
pub(super) fn windows(e: &Endpoint) -> (f64, f64) {
    (e.tx.cwnd() as f64 / 1000.0, e.tx.ssthresh() as f64 / 1000.0)
}

pub(super) const NONE: [u32; 0] = [];

#[test]
//= test: RFC 5681 §3.2 fast-retransmit
//= test: RFC 5681 §3.2 inflation
fn reno_vector() {
    // §2.2: flight 20, ssthresh 10 and window 13; five more duplicates 18; an acknowledgment of new data 10; then 10.1.
    let mut e = sender(20, 20_000, &[("recovery", text("reno"))]);
    assert_eq!(numbers(&mut e, 200).len(), 20);
    assert_eq!(after(&mut e, 300, &ack(1)), NONE);
    assert_eq!(after(&mut e, 301, &ack(1)), NONE);
    assert_eq!(after(&mut e, 302, &ack(1)), [1]);
    assert_eq!((windows(&e), e.tx.phase()), ((13.0, 10.0), Phase::Recovery));
    for n in 0..5 {
        assert_eq!(after(&mut e, 303 + n, &ack(1)), NONE);
    }
    assert_eq!(windows(&e).0, 18.0);
    after(&mut e, 400, &sack(11, &[]));
    assert_eq!((windows(&e), e.tx.phase()), ((10.0, 10.0), Phase::Open), "Reno leaves at the first new acknowledgment");
    e.tx.write(100_000);
    numbers(&mut e, 400);
    after(&mut e, 450, &sack(12, &[]));
    assert_eq!(windows(&e).0, 10.1);
}

#[test]
//= test: RFC 5681 §3.1 ssthresh
fn the_threshold_is_at_least_two_segments() {
    let mut e = sender(3, 3000, &[("recovery", text("reno")), ("dupthresh", Value::Int(2))]);
    numbers(&mut e, 200);
    after(&mut e, 300, &ack(1));
    after(&mut e, 301, &ack(1));
    assert_eq!(windows(&e).1, 2.0);
}

#[test]
//= test: RFC 5681 §3.2 fast-retransmit
fn tahoe_vector() {
    // §2.1: window and flight 20: threshold 10, window 1, slow start from the lost segment.
    let mut e = sender(20, 100_000, &[("recovery", text("tahoe")), ("limited_transmit", Value::Bool(false))]);
    numbers(&mut e, 200);
    after(&mut e, 300, &ack(1));
    after(&mut e, 301, &ack(1));
    assert_eq!(after(&mut e, 302, &ack(1)), [1]);
    assert_eq!((windows(&e), e.tx.phase()), ((1.0, 10.0), Phase::Loss));
    assert_eq!(after(&mut e, 303, &ack(1)), NONE, "duplicates add nothing");
    assert_eq!(after(&mut e, 400, &sack(5, &[])), [5, 6], "everything above is sent again");
    assert_eq!(windows(&e).0, 2.0);
}

#[test]
//= test: RFC 6582 §3.2 step-3-partial
//= test: RFC 6582 §3.2 step-3-full
fn newreno_vector() {
    // §2.3: 20 in flight, 1 and 5 lost: 13 after three duplicates, 28 after 18; partial acknowledgment 25; full.
    let options = [("recovery", text("newreno")), ("limited_transmit", Value::Bool(false))];
    let mut e = sender(20, 100_000, &options);
    assert_eq!(numbers(&mut e, 200).len(), 20);
    let mut left = vec![];
    for n in 0..18 {
        left.push(after(&mut e, 300 + n, &ack(1)));
        if n == 2 {
            assert_eq!(windows(&e), (13.0, 10.0));
        }
    }
    assert_eq!(windows(&e).0, 28.0);
    assert_eq!(left.concat(), [1, 21, 22, 23, 24, 25, 26, 27, 28]);
    assert_eq!(after(&mut e, 400, &sack(5, &[])), [5, 29], "the hole, and what the window of 25 has room for");
    assert_eq!((windows(&e).0, e.tx.phase()), (25.0, Phase::Recovery));
    // Eight duplicates from 21 to 28, then all 20 are acknowledged: min(10, flight + 1).
    for n in 0..8 {
        after(&mut e, 410 + n, &sack(5, &[]));
    }
    let before = e.tx.in_flight() / 1000;
    after(&mut e, 500, &sack(29, &[]));
    let flight = before - 24;
    assert_eq!((windows(&e).0, e.tx.phase()), ((flight + 1).min(10) as f64, Phase::Open));
    assert_eq!(e.tx.stats().recoveries, 1);
}

#[test]
//= test: RFC 6582 §4 timer
fn impatient_newreno_restarts_the_timer_on_the_first_partial_acknowledgment_only() {
    for (impatient, deadlines) in [(true, [1302, 1400, 1400]), (false, [1302, 1400, 1450])] {
        let options = [("recovery", text("newreno")), ("newreno_impatient", Value::Bool(impatient))];
        let mut e = sender(20, 20_000, &options);
        numbers(&mut e, 200);
        let told = [(300, 1), (301, 1), (302, 1), (400, 5), (450, 9)];
        let after_each = told.map(|(now, n)| {
            after(&mut e, now, &sack(n, &[]));
            e.next_deadline().0 / 1_000_000
        });
        assert_eq!(after_each[2..], deadlines, "impatient {impatient}");
    }
}

#[test]
fn the_timer_starts_anew_with_a_retransmission_if_asked() {
    for (rule, waits) in [("never", [1200, 1200, 2100]), ("first", [1350, 1350, 2320]), ("every", [1350, 1400, 2320])] {
        let mut e = sender(20, 60_000, &[("rearm_rto", text(rule))]);
        numbers(&mut e, 200);
        for now in [330, 340, 350] {
            let left = after(&mut e, now, &sack(1, &[(2, 2 + (now - 330) as u32 / 10)]));
            assert_eq!(left.contains(&1), now == 350);
        }
        assert_eq!((e.tx.phase(), e.next_deadline()), (Phase::Recovery, at(waits[0])), "{rule}");
        // Segment 5 is lost as well and leaves later in the same recovery.
        let left = after(&mut e, 400, &sack(1, &[(2, 4), (6, 18)]));
        assert!(left.contains(&5), "{left:?}");
        assert_eq!((e.tx.phase(), e.next_deadline()), (Phase::Recovery, at(waits[1])), "{rule}");
        // A second recovery has a first retransmission of its own.
        numbers(&mut e, 1000);
        let end = (e.tx.tcb.board.nxt() / 1000) as u32 + 1;
        let left = after(&mut e, 1100, &sack(end, &[]));
        assert!(e.tx.phase() == Phase::Open && left.len() > 4, "{rule} {left:?}");
        for now in [1300, 1310, 1320] {
            after(&mut e, now, &sack(end, &[(end + 1, end + 1 + (now - 1300) as u32 / 10)]));
        }
        assert_eq!((e.tx.phase(), e.tx.stats().recoveries), (Phase::Recovery, 2), "{rule}");
        assert_eq!(e.next_deadline(), at(waits[2]), "{rule}");
    }
}

#[test]
//= test: RFC 6582 §3.2 step-3-full
fn newreno_leaves_at_the_threshold_if_asked() {
    let options = |full| [("recovery", text("newreno")), ("newreno_full_window", Value::Bool(full))];
    for (full, window) in [(false, 2.0), (true, 10.0)] {
        let mut e = sender(20, 20_000, &options(full));
        numbers(&mut e, 200);
        for n in 0..3 {
            after(&mut e, 300 + n, &ack(1));
        }
        after(&mut e, 400, &sack(21, &[]));
        assert_eq!(windows(&e).0, window);
    }
}

#[test]
//= test: RFC 6582 §3.2 step-2-recover
fn duplicates_below_the_recovery_point_start_no_second_recovery() {
    let mut e = sender(20, 100_000, &[("recovery", text("newreno"))]);
    numbers(&mut e, 200);
    expire(&mut e);
    numbers(&mut e, 1200);
    after(&mut e, 1300, &sack(2, &[]));
    let (timeouts, window) = (e.tx.stats().timeouts, e.tx.ssthresh());
    for n in 0..6 {
        after(&mut e, 1310 + n, &sack(2, &[]));
    }
    assert_eq!((e.tx.stats().recoveries, e.tx.stats().timeouts, e.tx.ssthresh()), (0, timeouts, window));
}

#[test]
//= test: RFC 5681 §2 duplicate-ack
fn an_overtaken_acknowledgment_is_no_duplicate() {
    let mut e = sender(20, 100_000, &[("recovery", text("newreno"))]);
    numbers(&mut e, 200);
    after(&mut e, 300, &sack(5, &[]));
    for n in 2..5 {
        after(&mut e, 300 + u64::from(n), &sack(n, &[]));
    }
    assert_eq!((e.tx.stats().dup_acks, e.tx.phase()), (0, Phase::Open));
}

#[test]
//= test: RFC 5681 §3.2 limited-flight
//= test: RFC 3042 §2 two-segments
fn limited_transmit_sends_one_segment_on_each_of_two_duplicates() {
    for recovery in ["newreno", "prr"] {
        let told = |n: u32| if recovery == "prr" { sack(1, &[(2, 1 + n)]) } else { ack(1) };
        for (on, left) in [(true, vec![21, 22, 1]), (false, vec![1])] {
            let options = [("recovery", text(recovery)), ("limited_transmit", Value::Bool(on))];
            let mut e = sender(20, 100_000, &options);
            numbers(&mut e, 200);
            let first_two = [after(&mut e, 300, &told(1)), after(&mut e, 301, &told(2))].concat();
            assert_eq!(windows(&e).0, 20.0, "the window stays");
            let third = after(&mut e, 302, &told(3));
            assert_eq!([first_two, third].concat(), left, "{recovery}");
            assert_eq!(windows(&e).1, 10.0, "what limited transmit sent is not part of the flight");
        }
    }
}

#[test]
//= test: RFC 6675 §4 set-pipe
//= test: RFC 6675 §4 next-seg-1
//= test: RFC 6675 §5 enter
//= test: RFC 6675 §5 leave
fn rfc_6675_vector() {
    // §7: 20 out, 1 and 2 lost. The third duplicate: both lost, pipe 16, window 10; then one out below a pipe of 10.
    let mut e = sender(20, 20_000, &[("recovery", text("sack"))]);
    numbers(&mut e, 200);
    assert_eq!(after(&mut e, 300, &sack(1, &[(3, 3)])), NONE);
    assert_eq!(after(&mut e, 301, &sack(1, &[(3, 4)])), NONE);
    assert_eq!(after(&mut e, 302, &sack(1, &[(3, 5)])), [1]);
    assert_eq!((e.tx.in_flight(), windows(&e), e.tx.phase()), (16_000, (10.0, 10.0), Phase::Recovery));
    for n in 6..=11 {
        assert_eq!(after(&mut e, 303, &sack(1, &[(3, n)])), NONE);
    }
    assert_eq!(e.tx.in_flight(), 10_000);
    assert_eq!(after(&mut e, 304, &sack(1, &[(3, 12)])), [2]);
    assert_eq!(after(&mut e, 305, &sack(1, &[(3, 13)])), [20], "nothing lost or new is left: the tail, once");
    for n in 14..=19 {
        assert_eq!(after(&mut e, 305, &sack(1, &[(3, n)])), NONE);
    }
    after(&mut e, 400, &sack(21, &[]));
    assert_eq!((e.tx.phase(), windows(&e).0.floor(), e.tx.in_flight()), (Phase::Open, 10.0, 0));
}

#[test]
//= test: RFC 6675 §4 next-seg-3
//= test: RFC 6675 §4 next-seg-4
fn rfc_6675_fills_holes_and_rescues_the_tail_when_nothing_else_is_left() {
    let mut e = sender(20, 20_000, &[("recovery", text("sack"))]);
    numbers(&mut e, 200);
    // 1 is lost for sure; 17 lies below one range only, 20 above all.
    let blocks = [(18, 19), (12, 16), (2, 11)];
    assert_eq!(after(&mut e, 300, &sack(1, &blocks)), [1, 17, 20], "lost, hole, rescue");
    assert_eq!(after(&mut e, 310, &sack(1, &blocks)), NONE, "one rescue per recovery");
}

#[test]
//= test: RFC 9937 §6 recover-fs
//= test: RFC 9937 §6 first-retransmission
//= test: RFC 9937 §6 end
fn proportional_rate_reduction_vector() {
    // §8: RecoverFS 20, threshold 14. 22 out, two known to be delivered before the third duplicate. 700 bytes per
    // segment delivered, and a segment leaves when 1000 have come together; the first one at once. In ns-3 the two count
    // as outstanding, which makes 636; the last one finds the pipe at the threshold.
    for (rule, expected) in [("rfc9937", [1, 1, 2, 2, 3, 4, 4, 5, 6, 7]), ("ns3", [1, 1, 1, 2, 3, 3, 4, 5, 5, 5])] {
        let options = [("recovery", text("prr")), ("limited_transmit", Value::Bool(false)), ("prr", text(rule))];
        let beta = [("beta", Value::Float(14.0 / 22.0))];
        let mut e = sender_with(22, 100_000, &options, "cubic", &beta);
        numbers(&mut e, 200);
        after(&mut e, 300, &sack(1, &[(2, 2)]));
        after(&mut e, 301, &sack(1, &[(2, 3)]));
        let mut total = 0;
        let cumulative: Vec<usize> = (4..14)
            .map(|n| {
                total += after(&mut e, 302, &sack(1, &[(2, n)])).len();
                total
            })
            .collect();
        assert_eq!(windows(&e).1, 14.0);
        assert_eq!(cumulative, expected, "{rule}");
        after(&mut e, 400, &sack(23, &[]));
        assert_eq!((e.tx.phase(), windows(&e).0.floor()), (Phase::Open, 14.0));
    }
}

#[test]
fn below_the_threshold_ns3_adds_only_to_what_ends_with_a_retransmission() {
    // 20 out, threshold 10, 1 to 14 lost but for 3: pipe 3. As much leaves as arrives. Then 1 is acknowledged, which
    // lets out one more; then 2, and with it 3, which in ns-3 does not.
    for (rule, last) in [("rfc9937", vec![7, 8]), ("ns3", vec![7])] {
        let options = [("recovery", text("prr")), ("limited_transmit", Value::Bool(false)), ("prr", text(rule))];
        let mut e = sender(20, 100_000, &options);
        numbers(&mut e, 200);
        after(&mut e, 300, &sack(1, &[(3, 3)]));
        after(&mut e, 301, &sack(1, &[(15, 15), (3, 3)]));
        assert_eq!(after(&mut e, 302, &sack(1, &[(15, 17), (3, 3)])), [1, 2], "{rule}");
        assert_eq!(after(&mut e, 303, &sack(1, &[(15, 18), (3, 3)])), [4], "{rule}");
        assert_eq!(after(&mut e, 400, &sack(2, &[(15, 18), (3, 3)])), [5, 6], "{rule}");
        assert_eq!(after(&mut e, 401, &sack(4, &[(15, 18)])), last, "{rule}");
    }
}

#[test]
//= test: RFC 8985 §6.2 step-4-window
fn rack_waits_for_a_quarter_of_the_round_trip_time_before_it_calls_a_hole_a_loss() {
    let options = [("recovery", text("prr")), ("loss_detection", text("rack"))];
    let mut e = sender(3, 3000, &options);
    numbers(&mut e, 200);
    // RTT 100 ms; one segment beyond a hole: 25 ms of patience.
    assert_eq!(after(&mut e, 300, &sack(1, &[(2, 2)])), NONE);
    assert_eq!(expire(&mut e), 325);
    assert_eq!((numbers(&mut e, 325), e.tx.phase()), (vec![1], Phase::Recovery));
    // Three beyond it and no reordering seen so far: at once.
    let mut e = sender(4, 4000, &options);
    numbers(&mut e, 200);
    assert_eq!(after(&mut e, 300, &sack(1, &[(2, 4)])), [1]);
}

#[test]
//= test: RFC 8985 §6.2 step-2-newest
fn rack_in_linux_measures_by_what_lies_below_the_hole() {
    // 1 and 2 leave at 200 ms, 3 at 250 ms, 2 is lost. One acknowledgment at 350 ms brings 1, 150 ms old, and 3, 100 ms old.
    // 25 ms of patience: by the newest delivery 2 is overdue (RFC 8985 §6.2 step 2), in Linux it may be as old as 1 was.
    for (rule, at_once, later) in [("rfc9937", vec![2], None), ("linux", vec![], Some(375))] {
        let options = [("recovery", text("prr")), ("loss_detection", text("rack")), ("prr", text(rule))];
        let mut e = sender(4, 2000, &options);
        assert_eq!(numbers(&mut e, 200), [1, 2]);
        e.tx.write(1000);
        assert_eq!(numbers(&mut e, 250), [3]);
        assert_eq!(after(&mut e, 350, &sack(2, &[(3, 3)])), at_once, "{rule}");
        if let Some(due) = later {
            assert_eq!(expire(&mut e), due);
            assert_eq!((numbers(&mut e, due), e.tx.phase()), (vec![2], Phase::Recovery));
        }
    }
}

#[test]
//= test: RFC 8985 §6.2 step-1-ambiguous
fn a_short_answer_to_a_retransmission_tells_rack_nothing_without_a_sample() {
    let options = [("recovery", text("prr")), ("loss_detection", text("rack"))];
    let mut e = rfc(&options);
    e.connect();
    sent(&mut e, 0);
    expire(&mut e);
    sent(&mut e, 1000);
    let mut answer = syn_ack();
    answer.options &= !0x10;
    e.on_segment(at(1100), &answer);
    e.tx.write(100_000);
    assert_eq!(numbers(&mut e, 1100), [1], "one segment after a lost SYN");
    let due = expire(&mut e);
    assert_eq!(numbers(&mut e, due), [1]);
    // The first transmission arrives after all, 1 ms after the second.
    assert_eq!(after(&mut e, due + 1, &sack(2, &[])).len(), 2);
    assert_eq!(e.tx.rtt().totals().1, 0, "Karn");
    assert_eq!(after(&mut e, due + 2, &sack(2, &[(3, 3)])), [4], "segment 2 is not overdue");
}

#[test]
//= test: RFC 9293 §3.8.3 r2-data
//= test: RFC 6298 §5 5.4-resend
//= test: RFC 6298 §5 5.5-back-off
fn timeouts_double_until_an_acknowledgment_and_the_connection_gives_up_at_last() {
    let mut e = sender(1, 5000, &[("data_retries", Value::Int(8))]);
    assert_eq!(numbers(&mut e, 1000), [1]);
    let mut times = vec![1000];
    while e.state() == State::Established {
        times.push(expire(&mut e));
        let again = numbers(&mut e, times[times.len() - 1]);
        assert_eq!(again.len(), usize::from(e.state() == State::Established), "{again:?}");
    }
    let gaps: Vec<u64> = times.windows(2).map(|t| (t[1] - t[0]) / 1000).collect();
    assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!((e.failure(), e.tx.stats().timeouts, e.next_deadline()), (Some(Failure::Timeout), 8, Time::NEVER));
}

#[test]
//= test: RFC 5681 §3.1 ssthresh-held
fn a_timeout_halves_the_threshold_once_however_often_it_repeats() {
    let mut e = sender(20, 100_000, &[]);
    numbers(&mut e, 200);
    for _ in 0..3 {
        expire(&mut e);
        assert_eq!((windows(&e), e.tx.phase()), ((1.0, 10.0), Phase::Loss));
    }
}

#[test]
//= test: RFC 6298 §3 karn
fn an_acknowledgment_of_a_retransmission_is_no_sample_without_timestamps() {
    let mut e = sender(2, 5000, &[]);
    numbers(&mut e, 200);
    let samples = e.tx.rtt().totals().1;
    let due = expire(&mut e);
    assert_eq!(numbers(&mut e, due), [1]);
    after(&mut e, due + 30, &sack(3, &[]));
    assert_eq!((e.tx.rtt().totals().1, e.rto()), (samples, Span::from_secs(2)), "no sample: the back-off stays");
    // Segment 3 was sent once.
    after(&mut e, due + 130, &sack(4, &[]));
    assert_eq!((e.tx.rtt().totals().1, e.rto()), (samples + 1, Span::from_secs(1)));
}

#[test]
//= test: RFC 6298 §3 karn
//= test: RFC 7323 §4.1 echo-sample
fn with_timestamps_a_retransmission_gives_a_sample_of_the_copy_that_arrived() {
    for (rule, rounded) in [("rfc6298", Span(0)), ("linux", Span(700_000))] {
        sample_of_the_copy_that_arrived(rule, rounded);
    }
}

/// It arrives 0.7 ms after a tick, of which the sample lacks `rounded`.
fn sample_of_the_copy_that_arrived(rule: &str, rounded: Span) {
    let mut e = rfc(&[("rto", text(rule))]);
    e.connect();
    sent(&mut e, 0);
    e.on_segment(at(100), &syn_ack());
    sent(&mut e, 100);
    e.tx.write(1000);
    assert_eq!(sent(&mut e, 200)[0].tsval(), 200);
    let due = expire(&mut e);
    assert_eq!(sent(&mut e, due)[0].tsval(), due as u32);
    // The echo names the first copy.
    e.on_segment(at(due + 30) + Span(700_000), &timestamped(sack(2, &[]), 950, 200));
    assert_eq!(e.tx.rtt().max() + rounded, Span::from_millis(due + 30 - 200) + Span(700_000));
}
