//! Applications that write now and then: what is pushed, what Nagle's algorithm holds, whose fault a small sample is.

use super::recovery::{NONE, after, numbers, sack, sender, text, windows};
use super::*;

fn pushed(segments: &[Segment]) -> Vec<(u32, bool)> {
    segments.iter().map(|s| (s.len, s.has(flags::PSH))).collect()
}

#[test]
fn the_end_of_a_write_is_pushed_and_pushed_again() {
    let options = |block| [("write_bytes", Value::Int(block)), ("min_rto", Value::Duration(Span::from_secs(1)))];
    for (block, end) in [(131_072, true), (0, false)] {
        let mut e = sender(10, 2500, &options(block));
        assert_eq!(pushed(&sent(&mut e, 200)), [(1000, false), (1000, false), (500, end)]);
        // An answer to the next question.
        give(&mut e, 300, &ack(2501));
        e.tx.write(1000);
        assert_eq!(pushed(&sent(&mut e, 400)), [(1000, end)]);
        let due = expire(&mut e);
        assert_eq!(pushed(&sent(&mut e, due)), [(1000, end)], "again, after a timeout");
    }
}

#[test]
fn minshall_holds_a_short_segment_behind_another_short_one_only() {
    let writes = |rule: &str, nagle: bool| {
        let mut e = sender(10, 1300, &[("nagle", Value::Bool(nagle)), ("nagle_rule", text(rule))]);
        let mut left = payload(&mut e, 200);
        for now in [210, 220] {
            e.tx.write(200);
            left.extend(payload(&mut e, now));
        }
        let first = left.iter().take(2).map(|s| s.1).sum::<u32>();
        let held = give(&mut e, 300, &ack(1 + first)).iter().map(|s| s.len).sum::<u32>();
        (left.iter().map(|s| s.1).collect::<Vec<_>>(), held)
    };
    assert_eq!(writes("minshall", false), (vec![1000, 300, 200, 200], 0));
    assert_eq!(writes("minshall", true), (vec![1000, 300], 400));
    assert_eq!(writes("rfc896", true), (vec![1000], 700));
}

/// A sender that measures the delivery rate, with a window of 10 segments and the first of them acknowledged.
fn measuring(rule: &str) -> Endpoint {
    let options =
        [("iw", Value::Int(10)), ("iw_bound", text("none")), ("pacing", text("off")), ("app_limited", text(rule))];
    let mut e = connected(with(Profile::Rfc, &options, "bbr1", &[]));
    assert!(e.tx.tcb.board.app_limited(), "before the first delivery");
    e.tx.write(11_000);
    assert_eq!(numbers(&mut e, 200), (1..=10).collect::<Vec<_>>());
    e.tx.tcb.set_window(at(200), 4000);
    assert_eq!(after(&mut e, 300, &sack(8, &[])), [11]);
    assert!(!e.tx.tcb.board.app_limited() || rule == "exhausted");
    e
}

#[test]
fn samples_are_limited_from_a_write_that_finds_the_sender_with_nothing_to_do() {
    // It has run out of data: what is sent again is not the application's fault until the application writes.
    assert!(measuring("exhausted").tx.tcb.board.app_limited());
    let mut e = measuring("write");
    assert!(!e.tx.tcb.board.app_limited());
    // The window is full of data or data waits: that is not the application's fault either.
    e.tx.tcb.set_window(at(300), 4000);
    e.tx.write(1000);
    assert!(!e.tx.tcb.board.app_limited(), "{} in flight", e.tx.in_flight());
    e.tx.tcb.set_window(at(300), 4500);
    e.tx.write(1000);
    assert!(!e.tx.tcb.board.app_limited(), "a segment waits");
    // Everything has left, and more may.
    e.tx.tcb.set_window(at(300), 20_000);
    numbers(&mut e, 300);
    e.tx.write(1000);
    assert!(e.tx.tcb.board.app_limited());
}

#[test]
fn an_acknowledgment_that_lets_nothing_out_says_nothing_of_the_use_of_the_window() {
    let mut e = sender(10, 11_000, &[]);
    assert_eq!(numbers(&mut e, 200).len(), 10);
    assert_eq!(after(&mut e, 300, &sack(2, &[])), [11]);
    // A window of 11 of which 10 are used, then a single segment: whoever looked now would find it unused.
    assert_eq!(after(&mut e, 310, &sack(11, &[])), NONE);
    let before = windows(&e).0;
    assert_eq!(after(&mut e, 400, &sack(12, &[])), NONE);
    assert_eq!(windows(&e).0, before + 1.0, "the flight before filled the window");
}

#[test]
fn a_window_of_packets_is_full_with_short_ones_and_grows_with_each() {
    // 30 writes of 200 bytes and a window of 10 segments: 10 packets, or 6000 bytes of 10,000.
    for (unit, first, then) in [("packets", 10, 20.0), ("bytes", 30, 12.0)] {
        let mut e = sender(10, 200, &[("window_unit", text(unit))]);
        let mut left = payload(&mut e, 200);
        for _ in 1..30 {
            e.tx.write(200);
            left.extend(payload(&mut e, 200));
        }
        assert_eq!(left, (0..first).map(|n| (1 + 200 * n, 200)).collect::<Vec<_>>());
        let counted = if unit == "packets" { 10_000 } else { 6000 };
        assert_eq!((e.tx.in_flight(), e.tx.delivered(), e.tx.lost()), (counted, 0, 0));
        // Slow start: a packet more for each that is delivered, or 200 bytes; payload is payload.
        for n in 1..=10 {
            e.on_segment(at(300), &ack(1 + 200 * n));
        }
        assert_eq!((windows(&e).0, e.tx.delivered()), (then, 2000));
        e.tx.tcb.board.audit().unwrap();
    }
}

#[test]
fn short_segments_are_lost_and_repaired_by_the_packet() {
    let mut e = sender(20, 200, &[("window_unit", text("packets"))]);
    let mut left = payload(&mut e, 200).len();
    for _ in 1..10 {
        e.tx.write(200);
        left += payload(&mut e, 200).len();
    }
    assert_eq!(left, 10);
    let mut report = ack(1);
    report.push_sack(crate::tcp::segment::SackBlock { start: 401, end: 1001 });
    e.tx.tcb.board.audit().unwrap();
    e.on_segment(at(300), &report);
    assert_eq!((e.tx.tcb.board.sacked(), e.tx.delivered()), (3000, 600));
    e.tx.tcb.board.mark_head();
    assert_eq!((e.tx.tcb.board.lost(), e.tx.lost(), e.tx.in_flight()), (1000, 200, 6000));
    e.tx.tcb.board.audit().unwrap();
}

/// The minimum RTT after writes 302 s after the handshake, whose RTT of 100 ms has left the filter's window, that leave at
/// once and are acknowledged up to these positions 300 ms later.
fn least_rtt(writes: &[u64], acks: &[u32]) -> u64 {
    let mut e = connected(with(Profile::Linux, &[("iw_bound", text("none"))], "reno", &[]));
    assert_eq!(e.tx.rtt().min(), Span::from_millis(100));
    let mut left = 0;
    for bytes in writes {
        e.tx.write(*bytes);
        left += sent(&mut e, 302_000).len();
    }
    assert_eq!(left, writes.len(), "one segment each");
    for n in acks {
        e.on_segment(at(302_300), &ack(*n));
    }
    e.tx.rtt().min().0 / 1_000_000
}

#[test]
fn the_acknowledgment_of_a_lone_short_segment_does_not_renew_the_minimum_rtt() {
    // Linux 6.12, tcp_clean_rtx_queue: one packet, of less than the MSS, and nothing else delivered since it left.
    assert_eq!(least_rtt(&[200], &[201]), 100, "it may have been delayed");
    assert_eq!(least_rtt(&[1000], &[1001]), 300, "not short");
    assert_eq!(least_rtt(&[200, 200], &[401]), 300, "two are acknowledged at once");
    assert_eq!(least_rtt(&[200, 200], &[201]), 100, "that another follows does not matter");
    assert_eq!(least_rtt(&[200, 200], &[201, 401]), 300, "the second one was not alone");
}

#[test]
fn a_fin_alone_waits_for_room_in_a_window_of_packets() {
    // Linux 6.12, tcp_cwnd_test: packets in flight, whatever is in them.
    let mut e = connected(with(Profile::Linux, &[("iw", Value::Int(4)), ("iw_bound", text("none"))], "reno", &[]));
    e.tx.write(4000);
    assert_eq!(sent(&mut e, 200).len(), 4);
    e.close();
    assert!(sent(&mut e, 201).is_empty(), "the window is full");
    let left = give(&mut e, 300, &ack(1001));
    assert_eq!(left.iter().map(|s| (s.seq, s.len, s.has(flags::FIN))).collect::<Vec<_>>(), [(4001, 0, true)]);
    assert_eq!(e.tx.in_flight(), 4000, "it is a packet, too");
}
