//! A peer that breaks the rules, or keeps rules that few know: what RFC 9293 §3.10.7.4, RFC 5961, RFC 6675 §2 and RFC 8985 ask for.

use super::recovery::{sack, sender, text};
use super::*;

fn of_data(seq: u32, len: u32, ack: u32) -> Segment {
    Segment { ack, ..data(seq, len) }
}

fn una(e: &Endpoint) -> u64 {
    e.tx.positions().0
}

/// A connected receiver of which nothing is outstanding.
fn receiver(options: &[(&str, Value)]) -> Endpoint {
    connected(rfc(options))
}

#[test]
//= test: RFC 9293 §3.10.7.4 ack-of-unsent
//= test: RFC 5961 §7 throttle
fn what_acknowledges_unsent_data_is_answered_and_not_taken() {
    let mut e = receiver(&[]);
    let answers = give(&mut e, 200, &of_data(1, 500, 7000));
    assert_eq!((answers.len(), answers[0].ack, e.rx.stats.delivered), (1, THEIRS + 1, 0));
    // RFC 5961 §7: not more often than twice a second.
    assert_eq!(give(&mut e, 300, &of_data(1, 500, 7000)).len(), 0);
    assert_eq!(give(&mut e, 700, &of_data(1, 500, 7000)).len(), 1);
    give(&mut e, 800, &of_data(1, 500, 1));
    assert_eq!(e.rx.stats.delivered, 500);
}

#[test]
fn linux_says_nothing_to_an_acknowledgment_of_unsent_data() {
    let mut e = receiver(&[("ack_policy", text("linux"))]);
    assert_eq!(give(&mut e, 200, &of_data(1, 500, 7000)).len(), 0);
    assert_eq!(e.rx.stats.delivered, 0);
}

#[test]
//= test: RFC 9293 §3.10.7.4 acceptable
fn what_lies_beyond_the_window_acknowledges_nothing() {
    for len in [0, 500] {
        let mut e = sender(5, 5000, &[]);
        assert_eq!(sent(&mut e, 200).len(), 5);
        let answers = give(&mut e, 300, &of_data(1_500_000_000, len, 5001));
        assert_eq!((una(&e), answers.len()), (1, 1), "{len}");
        assert_eq!(answers[0].ack, THEIRS + 1);
        give(&mut e, 301, &of_data(1, len, 5001));
        assert_eq!(una(&e), 5001);
    }
}

#[test]
//= test: RFC 5961 §5.2 ack-range
fn what_was_acknowledged_long_ago_acknowledges_nothing() {
    // RFC 5961 §5.2 with the largest window of this peer, 64 KiB unscaled: an injected segment has to guess better.
    let mut e = rfc(&[("iw", Value::Int(20)), ("iw_bound", text("none"))]);
    e.connect();
    sent(&mut e, 0);
    give(&mut e, 100, &Segment { options: 0, ..syn_ack() });
    e.tx.write(200_000);
    for n in 1..=10 {
        sent(&mut e, 200 * n);
        give(&mut e, 200 * n + 100, &ack(20_000 * n as u32 + 1));
    }
    assert_eq!(una(&e), 200_001);
    let answers = give(&mut e, 3000, &of_data(1, 500, 1));
    assert_eq!((answers.len(), e.rx.stats.delivered), (1, 0));
    give(&mut e, 3001, &of_data(1, 500, 200_001));
    assert_eq!(e.rx.stats.delivered, 500);
}

#[test]
//= test: RFC 9293 §3.10.7.4 no-ack-flag
fn a_segment_without_an_acknowledgment_is_not_taken() {
    let mut e = receiver(&[]);
    assert_eq!(give(&mut e, 200, &Segment { flags: 0, ..data(1, 500) }).len(), 0);
    assert_eq!(e.rx.stats.delivered, 0);
}

#[test]
//= test: RFC 9293 §3.10.7.4 fin
fn nothing_is_delivered_behind_a_fin() {
    // The end of the stream is known, and data behind it comes.
    let mut e = receiver(&[]);
    let fin = Segment { flags: flags::ACK | flags::FIN, ..data(1, 1000) };
    give(&mut e, 200, &fin);
    give(&mut e, 201, &data(1002, 500));
    assert_eq!((e.rx.stats.delivered, e.rx.stats.duplicate, e.peer_closed()), (1000, 0, true));
    // Data is there that would lie behind the FIN: it is no end of this stream.
    let mut e = receiver(&[]);
    give(&mut e, 200, &data(1002, 500));
    give(&mut e, 201, &fin);
    assert_eq!((e.rx.stats.delivered, e.rx.stats.duplicate, e.peer_closed()), (0, 0, false));
    give(&mut e, 202, &data(1, 1001));
    assert_eq!(e.rx.stats.delivered, 1501);
    // A second FIN elsewhere, and one beyond the window.
    let mut e = receiver(&[]);
    give(&mut e, 200, &Segment { flags: flags::ACK | flags::FIN, ..data(501, 500) });
    give(&mut e, 201, &Segment { flags: flags::ACK | flags::FIN, ..data(501, 400) });
    give(&mut e, 202, &Segment { flags: flags::ACK | flags::FIN, ..data(1_500_000_000, 400) });
    give(&mut e, 203, &data(1, 500));
    assert_eq!((e.rx.stats.delivered, e.peer_closed()), (1000, true));
}

#[test]
//= test: RFC 6675 §2 duplicate-ack
fn selective_acknowledgments_are_duplicates_whatever_data_they_carry() {
    // RFC 6675 §2.
    for carried in [0, 50] {
        let mut e = sender(6, 6000, &[]);
        assert_eq!(sent(&mut e, 200).len(), 6);
        for n in 2..=4_u32 {
            let told = Segment { seq: THEIRS + 1 + carried * (n - 2), len: carried, ..sack(1, &[(2, n)]) };
            give(&mut e, 300 + u64::from(n), &told);
        }
        assert_eq!((e.tx.stats().dup_acks, e.tx.stats().recoveries), (3, 1), "{carried}");
    }
    // Without SACK data tells nothing of duplicates (RFC 5681 §2 a).
    let mut e = sender(6, 6000, &[("sack", Value::Bool(false))]);
    assert_eq!(sent(&mut e, 200).len(), 6);
    for n in 0..4 {
        give(&mut e, 300 + u64::from(n), &of_data(1 + 50 * n, 50, 1));
    }
    assert_eq!((e.tx.stats().dup_acks, e.tx.stats().recoveries), (0, 0));
}

#[test]
//= test: RFC 8985 §6.2 step-4-window
fn rack_counts_segments_and_not_bytes() {
    // RFC 8985 §6.2 step 4: three SACKed segments, be they short, leave no reordering window.
    let options = [("loss_detection", text("rack")), ("recovery", text("prr")), ("nagle", Value::Bool(false))];
    let mut e = sender(10, 0, &options);
    for _ in 0..5 {
        e.tx.write(100);
        assert_eq!(payload(&mut e, 200).len(), 1);
    }
    let told = |end: u32| {
        let mut s = ack(1);
        s.push_sack(crate::tcp::segment::SackBlock { start: 101, end });
        s
    };
    assert_eq!(give(&mut e, 300, &told(201)).len(), 0);
    assert_eq!(give(&mut e, 301, &told(301)).len(), 0);
    let repaired: Vec<u32> = give(&mut e, 302, &told(401)).iter().map(|s| s.seq).collect();
    assert_eq!(repaired, [1]);
}

#[test]
//= test: RFC 5681 §3.1 loss-window
fn a_timeout_leaves_one_segment_with_rack_too() {
    // RFC 5681 §3.1: at most one segment; and a threshold of half of what is in flight although a recovery is interrupted.
    // Linux has what is in flight and one more, and reduces once.
    for (prr, window, threshold) in [("rfc9937", 1000, 5000), ("linux", 1000, 10_000)] {
        let options = [("loss_detection", text("rack")), ("recovery", text("prr")), ("prr", text(prr))];
        let mut e = sender(20, 20_000, &options);
        assert_eq!(sent(&mut e, 200).len(), 20);
        for n in 2..=10 {
            give(&mut e, 300, &sack(1, &[(2, n)]));
        }
        assert_eq!((e.tx.stats().recoveries, e.tx.ssthresh()), (1, 10_000));
        while e.tx.stats().timeouts == 0 {
            let due = expire(&mut e);
            sent(&mut e, due);
        }
        assert_eq!((e.tx.cwnd(), e.tx.ssthresh()), (window, threshold), "{prr}");
    }
}

#[test]
fn a_peer_has_segments_of_48_bytes_at_least() {
    let mut e = rfc(&[]);
    e.connect();
    sent(&mut e, 0);
    give(&mut e, 100, &Segment { mss: 1, ..syn_ack() });
    e.tx.write(480);
    assert_eq!(payload(&mut e, 100)[0].1, 48);
}
