//! Clauses of RFCs that have no other place: simultaneous open, missing timestamps, the timer, SYNs on open connections.

use super::*;

#[test]
//= test: RFC 9293 §3.5 simultaneous-open
fn both_sides_may_open_at_the_same_time() {
    let mut e = rfc(&[]);
    e.connect();
    assert_eq!(sent(&mut e, 0)[0].flags, flags::SYN);
    let mut crossing = syn();
    let told = give(&mut e, 10, &crossing);
    assert_eq!((told[0].flags, told[0].ack), (flags::SYN | flags::ACK, crossing.seq.wrapping_add(1)));
    assert_eq!(e.state(), State::SynReceived);
    // The peer answers in the same way, and says no more until it has data.
    (crossing.flags, crossing.ack) = (flags::SYN | flags::ACK, 1);
    let told = give(&mut e, 20, &crossing);
    assert_eq!((e.state(), told.len(), told[0].flags), (State::Established, 1, flags::ACK));
    assert_eq!(e.tx.rtt().totals().1, 0, "which SYN was answered is not known");
}

#[test]
//= test: RFC 7323 §3.2 missing
fn a_segment_without_the_timestamps_agreed_on_is_dropped_but_by_linux() {
    for (profile, taken) in [(Profile::Rfc, 0), (Profile::Linux, 1000)] {
        let mut e = with(profile, &[], "reno", &[]);
        e.connect();
        sent(&mut e, 0);
        give(&mut e, 100, &syn_ack());
        give(&mut e, 200, &data(1, 1000));
        assert_eq!(e.rx.stats.delivered, taken, "{profile:?}");
        give(&mut e, 300, &timestamped(data(1, 1000), 950, 0));
        assert_eq!(e.rx.stats.delivered, 1000);
        // A reset counts without them (RFC 7323 §3.2).
        let reset = Segment { flags: flags::RST, ..data(1001, 0) };
        give(&mut e, 400, &reset);
        assert_eq!(e.failure(), Some(Failure::Reset));
    }
}

#[test]
//= test: RFC 6298 §5 5.1-start
//= test: RFC 6298 §5 5.2-stop
//= test: RFC 6298 §5 5.3-restart
fn the_retransmission_timer_starts_with_data_restarts_with_an_acknowledgment_and_stops_with_the_last() {
    let mut e = connected(rfc(&[]));
    assert_eq!(e.next_deadline(), Time::NEVER);
    e.tx.write(2000);
    sent(&mut e, 200);
    assert_eq!(e.next_deadline(), at(1200));
    e.on_segment(at(300), &ack(1001));
    assert_eq!(e.timers.at(Timer::Rto), at(1300));
    e.on_segment(at(310), &ack(2001));
    assert_eq!(e.next_deadline(), Time::NEVER);
}

#[test]
//= test: RFC 5961 §4.2 syn
//= test: RFC 5961 §7 throttle
fn a_syn_on_an_open_connection_is_answered_and_not_taken() {
    let mut e = connected(rfc(&[]));
    for (now, answers) in [(200, 1), (210, 0), (800, 1)] {
        // RFC 5961 §4.2 and §7, wherever it lies.
        let told = give(&mut e, now, &Segment { seq: THEIRS + 1, ..syn() });
        assert_eq!((e.state(), told.len()), (State::Established, answers));
    }
}

#[test]
//= test: RFC 9293 §3.10.7.1 no-reset-for-reset
fn a_reset_is_not_answered_by_a_reset() {
    let mut e = rfc(&[]);
    e.refuse();
    assert_eq!(give(&mut e, 1, &syn()).len(), 1);
    for flags in [flags::RST, flags::RST | flags::ACK] {
        assert_eq!(give(&mut e, 2, &Segment { flags, ..syn() }).len(), 0);
    }
}

#[test]
//= test: RFC 9293 §3.8.6.1 probe-for-ever
fn a_closed_window_is_probed_as_long_as_the_probes_are_acknowledged() {
    let mut e = rfc(&[]);
    e.connect();
    sent(&mut e, 0);
    give(&mut e, 100, &Segment { options: 0, ..syn_ack() });
    e.tx.write(65_535 + 1000);
    let mut now = 200;
    while e.tx.positions().1 < 65_536 {
        sent(&mut e, now);
        now += 100;
        e.on_segment(at(now), &Segment { window: 0, ..ack(e.tx.positions().1 as u32) });
    }
    sent(&mut e, now);
    for _ in 0..100 {
        let due = expire(&mut e);
        assert_eq!(sent(&mut e, due).len(), 1);
        e.on_segment(at(due + 10), &Segment { window: 0, ..ack(65_536) });
        assert_eq!(e.state(), State::Established);
    }
    let due = expire(&mut e);
    sent(&mut e, due);
    assert_eq!(give(&mut e, due + 10, &Segment { window: 1000, ..ack(65_536) })[0].len, 1000);
}

#[test]
//= test: RFC 3168 §6.1.1 syn-not-ect
fn a_syn_that_asks_for_classic_ecn_is_not_ecn_capable() {
    let mut e = rfc(&[("ecn", Value::Text("classic".to_owned()))]);
    e.connect();
    let asked = sent(&mut e, 0)[0];
    assert_eq!((asked.ace(), asked.ecn), (0b011, Ecn::NotEct));
}
