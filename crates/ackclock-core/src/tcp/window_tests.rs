//! Idle times, closed and small windows, short segments (RFC 9293 §3.8.6, RFC 5681 §4.1).

use super::recovery::{NONE, after, numbers, sack, sender, text, windows};
use super::*;
use crate::cc::Signal;
use crate::tcp::peer_window::PeerWindow;

#[test]
//= test: RFC 5681 §4.1 idle-restart
fn an_idle_time_shrinks_the_window_as_the_rule_says() {
    for (rule, window, threshold) in [("rfc5681", 10.0, 4.0), ("linux", 10.0, 30.0), ("none", 40.0, 4.0)] {
        for (idle, shrinks) in [(500, false), (5000, true)] {
            let mut e = sender(10, 1000, &[("idle", text(rule))]);
            numbers(&mut e, 200);
            after(&mut e, 300, &sack(2, &[]));
            // A window of 40 above a threshold of 4.
            e.tx.tcb.decide(at(300), |cc, cx| {
                cc.on_congestion(cx, Signal::Loss { flight: 8000 });
                cc.set_window(cx, 40_000);
            });
            e.tx.write(1000);
            assert_eq!(numbers(&mut e, 200 + idle), [2]);
            let expected = if shrinks { (window, threshold) } else { (40.0, 4.0) };
            assert_eq!(windows(&e), expected, "{rule} after {idle} ms");
        }
    }
}

#[test]
fn linux_halves_the_window_once_per_idle_timeout() {
    for (seconds, window) in [(1.5, 20.0), (2.5, 10.0), (30.0, 10.0)] {
        let mut e = sender(10, 1000, &[("idle", text("linux"))]);
        numbers(&mut e, 200);
        after(&mut e, 300, &sack(2, &[]));
        e.tx.tcb.set_window(at(300), 40_000);
        e.tx.write(1000);
        numbers(&mut e, 200 + (1000.0 * seconds) as u64);
        assert_eq!(windows(&e).0, window, "{seconds} s");
    }
}

#[test]
fn what_is_outstanding_counts_as_the_window_does() {
    for (unit, threshold) in [("bytes", 2.0), ("packets", 10.0)] {
        let mut e = sender(20, 200, &[("window_unit", text(unit)), ("nagle", Value::Bool(false))]);
        let mut left = payload(&mut e, 200).len();
        for _ in 1..20 {
            e.tx.write(200);
            left += payload(&mut e, 200).len();
        }
        assert_eq!(left, 20, "one segment for each write");
        let due = e.next_deadline();
        e.on_timer(due);
        assert_eq!(windows(&e).1, threshold, "half of 4000 bytes, or of 20 packets, and two segments at least");
    }
}

#[test]
fn linux_restarts_by_whole_packets_and_whole_ticks() {
    // 25 packets: halved 12, three quarters 12 + 6. A timeout is 1000 ticks, and one more is longer.
    for (tick, micros, expected) in [
        (1, 999_900, (25.0, 4.0)),
        (1, 1_000_900, (25.0, 4.0)),
        (1, 1_001_000, (12.0, 18.0)),
        (0, 1_000_900, (12.0, 18.0)),
    ] {
        let tick = Value::Duration(Span::from_millis(tick));
        let mut e = sender(10, 1000, &[("idle", text("linux")), ("timer_tick", tick)]);
        numbers(&mut e, 200);
        after(&mut e, 300, &sack(2, &[]));
        e.tx.tcb.decide(at(300), |cc, cx| {
            cc.on_congestion(cx, Signal::Loss { flight: 8000 });
            cc.set_window(cx, 25_000);
        });
        e.tx.write(1000);
        let now = at(200) + Span::from_micros(micros);
        assert!(e.poll_transmit(now).is_some());
        assert_eq!(windows(&e), expected, "{micros} us");
    }
}

#[test]
//= test: RFC 9293 §3.8.6.1 probe
//= test: RFC 9293 §3.8.6.1 probe-interval
fn a_closed_window_is_probed_with_doubling_intervals_and_nothing_else_changes() {
    let mut e = sender(10, 10_000, &[]);
    e.tx.peer = PeerWindow::new(2001, 0);
    assert_eq!(numbers(&mut e, 200), [1, 2]);
    let shut = Segment { window: 0, ..sack(3, &[]) };
    assert_eq!(after(&mut e, 300, &shut), NONE);
    let (window, mut times) = (e.tx.cwnd(), vec![300]);
    for _ in 0..8 {
        times.push(expire(&mut e));
        let probe = sent(&mut e, times[times.len() - 1]);
        // Just below the window, which no receiver takes for new (Linux).
        assert_eq!((probe.len(), probe[0].seq, probe[0].len), (1, 2000, 0));
        assert_eq!(give(&mut e, times[times.len() - 1] + 50, &shut).len(), 0);
    }
    let gaps: Vec<u64> = times.windows(2).map(|t| (t[1] - t[0]) / 1000).collect();
    assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!((e.tx.cwnd(), e.tx.ssthresh(), e.tx.stats().timeouts), (window, u64::MAX, 0), "no congestion");
    let now = times[8] + 100;
    assert_eq!(after(&mut e, now, &Segment { window: 3000, ..sack(3, &[]) }), [3, 4, 5]);
    assert_eq!(e.state(), State::Established);
    // The next time it closes the intervals start anew.
    after(&mut e, now + 50, &Segment { window: 0, ..sack(6, &[]) });
    assert_eq!(expire(&mut e), now + 50 + 1000);
}

#[test]
//= test: RFC 9293 §3.10.7.4 acceptable
fn data_beyond_the_window_is_refused_and_answered() {
    let mut e = connected(rfc(&[("receive_buffer", Value::Int(4000)), ("initial_receive_window", Value::Int(4000))]));
    assert_eq!(give(&mut e, 200, &data(4001, 1000))[0].sack().len(), 0);
    assert_eq!(e.rx.out_of_order_bytes(), 0);
    assert_eq!(give(&mut e, 210, &data(3001, 1000))[0].sack().len(), 1, "the last segment within it");
}

#[test]
//= test: RFC 9293 §3.8.6.2.1 sws-sender
fn a_window_below_one_segment_is_used_when_it_is_half_of_the_largest_or_stays() {
    // The largest window ever was 300 bytes: filled at once.
    let mut e = sender(10, 10_000, &[]);
    e.tx.peer = PeerWindow::new(301, 0).with_largest(300);
    assert_eq!(payload(&mut e, 200), [(1, 300)]);
    // It was 5000 before: only after the persist timer.
    let mut e = sender(10, 10_000, &[]);
    e.tx.peer = PeerWindow::new(301, 0).with_largest(5000);
    assert!(payload(&mut e, 200).is_empty());
    assert_eq!(expire(&mut e), 1200);
    assert_eq!(payload(&mut e, 1200), [(1, 300)]);
}

#[test]
//= test: RFC 9293 §3.7.4 nagle
//= test: RFC 9293 §3.7.4 nagle-off
fn a_short_segment_waits_under_nagle_only() {
    for (nagle, left) in [(false, vec![(1, 1000), (1001, 300)]), (true, vec![(1, 1000)])] {
        let mut e = sender(10, 1300, &[("nagle", Value::Bool(nagle))]);
        assert_eq!(payload(&mut e, 200), left);
    }
}
