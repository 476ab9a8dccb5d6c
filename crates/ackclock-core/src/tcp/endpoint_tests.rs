//! The endpoint's handshake, options, resets, closing and acknowledgments, segment by segment.
//!
//! The peer is the test: it writes the segments that arrive and reads the ones that leave. Times are milliseconds,
//! our ISS is 0 and the peer's 5000, so that our stream positions are wire numbers. Loss recovery is in `recovery`, windows in
//! `window`.

use super::*;
use crate::cc::registry;
use crate::params::Value;
use crate::slowstart;
use crate::tcp::config::Profile;

#[path = "clause_tests.rs"]
mod clause;
#[path = "decision_tests.rs"]
mod decision;
#[path = "ecn_tests.rs"]
mod ecn;
#[path = "odd_peer_tests.rs"]
mod odd_peer;
#[path = "option_tests.rs"]
mod option;
#[path = "probe_tests.rs"]
mod probe;
#[path = "recovery_tests.rs"]
mod recovery;
#[path = "undo_tests.rs"]
mod undo;
#[path = "validation_tests.rs"]
mod validation;
#[path = "wake_tests.rs"]
mod wake;
#[path = "window_tests.rs"]
mod window;
#[path = "writing_tests.rs"]
mod writing;

const MSS: u32 = 1000;
/// The peer's initial sequence number.
const THEIRS: u32 = 5000;

fn at(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

fn with(profile: Profile, options: &[(&str, Value)], controller: &str, params: &[(&str, Value)]) -> Endpoint {
    let mut c = Config::profile(profile);
    for (name, value) in options {
        c.set(name, value).unwrap();
    }
    let params: Vec<_> = params.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
    let cc = registry::build(controller, &params, slowstart::build("standard", &[]).unwrap()).unwrap();
    Endpoint::new(&c, MSS, cc, Stream::named(1, 0, "test"))
}

fn rfc(options: &[(&str, Value)]) -> Endpoint {
    with(Profile::Rfc, options, "reno", &[])
}

fn ack(n: u32) -> Segment {
    Segment { seq: THEIRS + 1, ack: n, window: 65_535, flags: flags::ACK, ..Segment::default() }
}

fn data(seq: u32, len: u32) -> Segment {
    Segment { seq: THEIRS + seq, len, ..ack(1) }
}

/// The peer's SYN, ACK with every option.
fn syn_ack() -> Segment {
    let mut s = Segment { seq: THEIRS, mss: MSS as u16, flags: flags::SYN | flags::ACK, ..ack(1) };
    s.set_sack_permitted();
    s.set_window_scale(7);
    s.set_timestamps(900, 0);
    s
}

fn sent(e: &mut Endpoint, now: u64) -> Vec<Segment> {
    std::iter::from_fn(|| e.poll_transmit(at(now))).collect()
}

/// Positions and lengths of what leaves with payload.
fn payload(e: &mut Endpoint, now: u64) -> Vec<(u32, u32)> {
    sent(e, now).iter().filter(|s| s.len > 0).map(|s| (s.seq, s.len)).collect()
}

fn give(e: &mut Endpoint, now: u64, s: &Segment) -> Vec<Segment> {
    e.on_segment(at(now), s);
    sent(e, now)
}

fn expire(e: &mut Endpoint) -> u64 {
    let due = e.next_deadline();
    e.on_timer(due);
    due.0 / 1_000_000
}

/// Connected at 100 ms, with a round-trip time of 100 ms, to a peer without timestamps.
fn connected(mut e: Endpoint) -> Endpoint {
    e.connect();
    assert_eq!(sent(&mut e, 0).len(), 1);
    let mut answer = syn_ack();
    answer.options &= !0x10;
    e.on_segment(at(100), &answer);
    assert_eq!(e.state(), State::Established);
    sent(&mut e, 100);
    e.on_segment(at(100), &ack(1));
    e
}

/// A server in SYN-RECEIVED and its SYN, ACK.
fn answering(options: &[(&str, Value)], syn: &Segment) -> (Endpoint, Segment) {
    let mut e = rfc(options);
    e.listen();
    let answer = give(&mut e, 0, syn);
    assert_eq!((answer.len(), e.state()), (1, State::SynReceived));
    (e, answer[0])
}

fn syn() -> Segment {
    Segment { flags: flags::SYN, ack: 0, ..syn_ack() }
}

#[test]
//= test: RFC 9293 §3.7.1 send-mss
fn a_syn_offers_everything() {
    let mut e = rfc(&[("receive_buffer", Value::Int(6_291_456))]);
    e.connect();
    let s = sent(&mut e, 3)[0];
    assert_eq!((s.seq, s.flags, s.mss, s.window, s.len), (0, flags::SYN, 1000, 65_535, 0));
    assert_eq!(
        (s.window_scale(), s.sack_permitted(), s.has_timestamps(), s.tsval(), s.tsecr()),
        (Some(7), true, true, 3, 0)
    );
    assert_eq!(e.wire_bytes(&s), 60);
    assert!(sent(&mut e, 3).is_empty());
}

#[test]
//= test: RFC 7323 §3.2 negotiation
//= test: RFC 2018 §2 permitted
fn options_need_both_sides() {
    let full = syn_ack();
    let none = Segment { seq: THEIRS, flags: flags::SYN | flags::ACK, ..ack(1) };
    for (ours, theirs) in [(true, true), (true, false), (false, true)] {
        let mut e = rfc(&[("sack", Value::Bool(ours)), ("timestamps", Value::Bool(ours))]);
        e.connect();
        sent(&mut e, 0);
        e.tx.write(MSS.into());
        let first = give(&mut e, 10, if theirs { &full } else { &none })[0];
        assert_eq!(first.has_timestamps(), ours && theirs);
        // A hole shows whether SACK was agreed.
        let beyond = data(2001, 1000);
        let told = give(&mut e, 20, &if ours && theirs { timestamped(beyond, 901, 10) } else { beyond });
        assert_eq!(told[0].sack().len(), usize::from(ours && theirs));
    }
    for (s, answers) in [(syn(), true), (Segment { flags: flags::SYN, ack: 0, ..none }, false)] {
        let (_, answer) = answering(&[], &s);
        let offered = (answer.sack_permitted(), answer.has_timestamps(), answer.window_scale().is_some());
        assert_eq!(offered, (answers, answers, answers));
    }
}

#[test]
//= test: RFC 9293 §3.7.1 default-mss
//= test: RFC 9293 §3.7.1 smaller-mss
fn the_smaller_mss_counts_and_536_without_one() {
    for (theirs, agreed) in [(1000, 1000), (1460, 1000), (400, 400), (0, 536)] {
        let mut e = rfc(&[]);
        e.connect();
        sent(&mut e, 0);
        e.tx.write(100_000);
        e.on_segment(at(10), &Segment { mss: theirs, ..syn_ack() });
        assert_eq!(payload(&mut e, 10)[0].1, agreed);
        // Two segments of the agreed size are acknowledged at once, one is not.
        let mut seen = vec![];
        for n in 0..2 {
            e.on_segment(at(20), &timestamped(data(1 + n * agreed, agreed), 901, 10));
            seen.push(e.rx.wants_ack_now());
        }
        assert_eq!(seen, [false, true], "MSS {theirs}");
    }
}

fn timestamped(mut s: Segment, tsval: u32, tsecr: u32) -> Segment {
    s.set_timestamps(tsval, tsecr);
    s
}

#[test]
//= test: RFC 7323 §2.2 both-sides
//= test: RFC 7323 §2.2 syn-unscaled
fn windows_are_scaled_only_if_both_sides_offered_it_and_never_in_a_syn() {
    for (scale, right_edge) in [(Some(3u8), 1 + 8 * 1000), (None, 1 + 1000)] {
        let mut s = syn();
        s.options &= !0x4f;
        if let Some(shift) = scale {
            s.set_window_scale(shift);
        }
        let (mut e, answer) = answering(&[("timestamps", Value::Bool(false))], &s);
        assert_eq!(answer.window, 65_535);
        assert_eq!(e.tx.positions().2, 65_536, "the window of the SYN is taken as it is");
        e.tx.peer = crate::tcp::peer_window::PeerWindow::new(0, scale.unwrap_or(0));
        let told = give(&mut e, 10, &Segment { window: 1000, ..data(1, 2000) });
        assert_eq!(e.tx.positions().2, right_edge);
        // Ours: 2^30 - 1 bytes with a shift of 14, or as much as the field holds.
        assert_eq!(told[0].window, 65_535);
        assert_eq!(e.rx.edge(), 2001 + (65_535 << if scale.is_some() { 14 } else { 0 }));
    }
}

#[test]
fn the_window_of_the_third_acknowledgment_is_the_largest_so_far() {
    let (mut server, _) = answering(&[], &syn());
    assert_eq!(server.tx.peer.largest(), 0, "that of a SYN is not scaled, and is none of ours");
    server.on_segment(at(50), &timestamped(Segment { window: 1000, ..ack(1) }, 950, 0));
    assert_eq!((server.state(), server.tx.peer.largest()), (State::Established, 1000 << 7));
}

#[test]
//= test: RFC 9293 §3.5 three-way
fn data_rides_on_the_third_acknowledgment() {
    let mut e = rfc(&[]);
    e.tx.write(2500);
    e.connect();
    sent(&mut e, 0);
    let third = give(&mut e, 50, &syn_ack());
    let got: Vec<_> = third.iter().map(|s| (s.seq, s.len, s.ack, s.flags)).collect();
    assert_eq!(got, [(1, 1000, 5001, flags::ACK), (1001, 1000, 5001, flags::ACK), (2001, 500, 5001, flags::ACK)]);
    let (mut server, _) = answering(&[], &syn());
    server.on_segment(at(50), &timestamped(data(1, 1000), 950, 0));
    assert_eq!((server.state(), server.rx.stats.delivered), (State::Established, 1000));
}

#[test]
fn a_window_offered_in_a_syn_holds_before_the_first_acknowledgment() {
    let (mut e, _) = answering(&[], &syn());
    // The first segment is lost: the second is within the window that the SYN, ACK offered.
    let told = give(&mut e, 50, &timestamped(data(1001, 1000), 950, 0));
    assert_eq!(told[0].sack(), [crate::tcp::segment::SackBlock { start: 6001, end: 7001 }]);
}

#[test]
//= test: RFC 9293 §3.8.3 r2-syn
//= test: RFC 6298 §2.1 initial
fn a_lost_syn_is_sent_again_with_doubling_timeouts_until_it_is_given_up() {
    let mut e = rfc(&[]);
    e.connect();
    sent(&mut e, 0);
    let mut times = vec![];
    while e.state() == State::SynSent {
        times.push(expire(&mut e) / 1000);
        if e.state() == State::SynSent {
            assert_eq!(sent(&mut e, times[times.len() - 1] * 1000)[0].flags, flags::SYN);
        }
    }
    assert_eq!(times, [1, 3, 7, 15, 31, 63, 123, 183], "R2 of a SYN is three minutes at least");
    assert_eq!((e.failure(), e.next_deadline()), (Some(Failure::Connect), Time::NEVER));
}

#[test]
fn linux_repeats_a_syn_four_times_before_its_timeout_doubles() {
    let mut e = with(Profile::Linux, &[("timer_tick", Value::Duration(Span::ZERO))], "reno", &[]);
    e.connect();
    sent(&mut e, 0);
    let mut times = vec![];
    while e.state() == State::SynSent {
        times.push(expire(&mut e) / 1000);
        sent(&mut e, times[times.len() - 1] * 1000);
    }
    assert_eq!(times, [1, 2, 3, 4, 5, 7, 11, 19, 35, 67, 131]);
}

#[test]
//= test: RFC 5681 §3.1 lost-syn
//= test: RFC 6298 §5 5.7-lost-syn
fn after_a_lost_syn_the_window_is_one_segment_and_the_timeout_three_seconds() {
    let mut e = rfc(&[]);
    e.tx.write(100_000);
    e.connect();
    sent(&mut e, 0);
    expire(&mut e);
    sent(&mut e, 1000);
    e.on_segment(at(1100), &syn_ack());
    assert_eq!(payload(&mut e, 1100), [(1, 1000)]);
    assert_eq!((e.tx.cwnd(), e.rto(), e.tx.rtt().totals().1), (1000, Span::from_secs(3), 0));
}

#[test]
fn linux_begins_with_one_segment_after_two_lost_syns_unless_an_echo_says_they_were_not() {
    // SYNs sent, which of them the answer echoes, and segments at the start.
    for (syns, echoed, window) in [(1, 0, 10), (2, 0, 10), (2, 1, 10), (3, 0, 10), (3, 1, 1), (3, 2, 1)] {
        let mut e = with(Profile::Linux, &[], "reno", &[]);
        e.tx.write(100_000);
        e.connect();
        let mut stamps = vec![sent(&mut e, 0)[0].tsval()];
        for _ in 1..syns {
            // The timer is a little late, as Linux's is.
            let again = std::iter::repeat_with(|| {
                let due = expire(&mut e);
                e.poll_transmit(at(due))
            });
            stamps.push(again.flatten().next().unwrap().tsval());
        }
        let now = at(u64::from(stamps[echoed]) + 5000);
        let mut answer = syn_ack();
        answer.set_timestamps(900, stamps[echoed]);
        e.on_segment(now, &answer);
        assert_eq!(e.tx.cwnd(), window * 1000, "{syns} SYNs, {echoed}");
        assert_eq!(e.tx.rtt().smoothed(), Span::from_secs(5), "a sample by its timestamp");
    }
}

#[test]
fn a_repeated_syn_makes_the_round_trip_time_of_the_handshake_ambiguous() {
    let (mut e, first) = answering(&[], &syn());
    assert_eq!(give(&mut e, 300, &syn())[0].ack, first.ack);
    // This answers the first SYN, ACK: 20 ms after the second is no sample.
    e.on_segment(at(320), &timestamped(ack(1), 950, 0));
    assert_eq!((e.state(), e.tx.rtt().totals().1), (State::Established, 0));
    assert_eq!(e.tx.cwnd(), 10_000, "nothing was lost");
}

#[test]
fn a_lost_syn_ack_is_sent_again_and_a_repeated_one_acknowledged_again() {
    let (mut e, first) = answering(&[], &syn());
    assert_eq!(expire(&mut e), 1000);
    let again = sent(&mut e, 1000)[0];
    assert_eq!((again.seq, again.ack, again.flags, again.mss), (first.seq, first.ack, first.flags, first.mss));
    let mut client = connected(rfc(&[]));
    let answers = give(&mut client, 200, &syn_ack());
    assert_eq!((answers.len(), answers[0].ack, answers[0].flags), (1, 5001, flags::ACK));
}

#[test]
//= test: RFC 9293 §3.5.3 reset-is-checked
//= test: RFC 5961 §3.2 rst
fn resets_count_only_where_they_are_expected() {
    let rst = |seq: u32, acknowledges: Option<u32>| Segment {
        seq,
        ack: acknowledges.unwrap_or(0),
        flags: flags::RST | if acknowledges.is_some() { flags::ACK } else { 0 },
        ..Segment::default()
    };
    let mut listening = rfc(&[]);
    listening.listen();
    listening.on_segment(at(1), &rst(0, None));
    assert_eq!(listening.state(), State::Listen);

    for (reset, fails) in [(rst(0, None), false), (rst(0, Some(7)), false), (rst(0, Some(1)), true)] {
        let mut e = rfc(&[]);
        e.connect();
        sent(&mut e, 0);
        e.on_segment(at(1), &reset);
        assert_eq!(e.failure() == Some(Failure::Reset), fails, "SYN sent, {reset:?}");
    }
    for (seq, fails) in [(THEIRS + 1, true), (THEIRS + 2, false), (THEIRS, false)] {
        let (mut e, _) = answering(&[], &syn());
        e.on_segment(at(1), &rst(seq, None));
        assert_eq!(e.failure().is_some(), fails, "SYN received, {seq}");
        let mut e = connected(rfc(&[]));
        // RFC 5961: elsewhere in the window it is answered, below it ignored.
        let answers = give(&mut e, 200, &rst(seq, None));
        assert_eq!((e.failure().is_some(), answers.len()), (fails, usize::from(seq == THEIRS + 2)));
    }
}

#[test]
//= test: RFC 7323 §5.3 paws
//= test: RFC 7323 §5.5 outdated
fn old_timestamps_are_refused_for_24_days() {
    let mut e = rfc(&[]);
    e.connect();
    sent(&mut e, 0);
    e.on_segment(at(10), &syn_ack());
    sent(&mut e, 10);
    e.on_segment(at(20), &timestamped(data(1, 1000), 1000, 0));
    let refused = give(&mut e, 30, &timestamped(data(1001, 1000), 999, 0));
    assert_eq!((refused.len(), refused[0].ack, e.rx.stats.delivered), (1, 6001, 1000));
    const DAY: u64 = 86_400_000;
    let later = 20 + 25 * DAY;
    e.on_segment(at(later), &timestamped(data(1001, 1000), 999, 0));
    assert_eq!(e.rx.stats.delivered, 2000, "after so long an idle time the clock may have wrapped");
}

#[test]
//= test: RFC 7323 §4.3 ts-recent
fn the_echo_is_that_of_the_first_segment_not_acknowledged() {
    let mut e = rfc(&[]);
    e.connect();
    sent(&mut e, 0);
    e.on_segment(at(10), &syn_ack());
    sent(&mut e, 10);
    e.on_segment(at(20), &timestamped(data(1, 1000), 1000, 0));
    let told = give(&mut e, 30, &timestamped(data(1001, 1000), 1010, 0));
    assert_eq!((told[0].ack, told[0].tsecr(), told[0].tsval()), (7001, 1000, 30));
    // Out of order: the clock of what arrived is not echoed.
    let told = give(&mut e, 40, &timestamped(data(4001, 1000), 1020, 0));
    assert_eq!((told[0].ack, told[0].tsecr()), (7001, 1000));
}

#[test]
//= test: RFC 9293 §3.6.1 half-close
fn fin_is_acknowledged_each_time_and_half_closed_connections_go_on() {
    let mut e = connected(rfc(&[]));
    let fin = Segment { flags: flags::FIN | flags::ACK, ..data(1, 500) };
    let told = give(&mut e, 200, &fin);
    assert_eq!((told.len(), told[0].ack, e.peer_closed(), e.rx.stats.delivered), (1, 5502, true, 500));
    assert_eq!(give(&mut e, 210, &fin)[0].ack, 5502, "a repeated FIN");
    // The other direction is open.
    e.tx.write(1500);
    assert_eq!(payload(&mut e, 300), [(1, 1000), (1001, 500)]);
    e.on_segment(at(400), &Segment { seq: 5502, ..ack(1501) });
    e.close();
    let ours = sent(&mut e, 400);
    assert_eq!((ours[0].seq, ours[0].len, ours[0].has(flags::FIN)), (1501, 0, true));
    assert!(!e.finished());
    e.on_segment(at(500), &Segment { seq: 5502, ..ack(1502) });
    assert!(e.finished());
    assert_eq!(give(&mut e, 600, &fin)[0].ack, 5502, "even after both are closed");
    assert_eq!(e.next_deadline(), Time::NEVER);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut e = connected(rfc(&[]));
    e.tx.write(500);
    e.close();
    let last = sent(&mut e, 100);
    assert_eq!((last.len(), last[0].len, last[0].has(flags::FIN)), (1, 500, true), "it rides on the last segment");
    let due = expire(&mut e);
    let again = sent(&mut e, due);
    assert_eq!((again[0].seq, again[0].len, again[0].has(flags::FIN)), (1, 500, true));
    // Everything but the FIN arrived: only it is repeated.
    e.on_segment(at(due + 10), &ack(501));
    let due = expire(&mut e);
    let again = sent(&mut e, due);
    assert_eq!((again[0].seq, again[0].len, again[0].has(flags::FIN)), (501, 0, true));
}

#[test]
//= test: RFC 9293 §3.8.6.3 ack-delay
fn one_segment_waits_for_the_delayed_acknowledgment_and_two_do_not() {
    let mut e = connected(rfc(&[]));
    assert!(give(&mut e, 200, &data(1, 1000)).is_empty());
    assert_eq!(expire(&mut e), 400);
    assert_eq!(sent(&mut e, 400)[0].ack, 6001);
    assert!(give(&mut e, 500, &data(1001, 1000)).is_empty());
    assert_eq!(give(&mut e, 510, &data(2001, 1000))[0].ack, 8001);
    assert_eq!(e.next_deadline(), Time::NEVER);
    // Out of order, a gap filled, a duplicate: at once.
    assert_eq!(give(&mut e, 520, &data(4001, 1000))[0].ack, 8001);
    assert_eq!(give(&mut e, 530, &data(3001, 1000))[0].ack, 10_001);
    assert_eq!(give(&mut e, 540, &data(3001, 1000))[0].ack, 10_001);
    let mut every = connected(rfc(&[("delayed_ack", Value::Int(1))]));
    assert_eq!(give(&mut every, 200, &data(1, 1000)).len(), 1);
}

#[test]
fn two_sides_that_both_miss_data_do_not_answer_each_other_for_ever() {
    let mut e = connected(rfc(&[]));
    e.tx.write(3000);
    sent(&mut e, 200);
    // The peer has sent up to 9001 and we have none of it; its pure acknowledgment says so.
    let answers = give(&mut e, 210, &Segment { seq: THEIRS + 4001, ..ack(1) });
    assert!(answers.is_empty(), "{answers:?}");
    // A probe below the window is answered.
    assert_eq!(give(&mut e, 220, &Segment { seq: THEIRS, ..ack(1) }).len(), 1);
}

#[test]
//= test: RFC 9293 §3.10.5 abort
fn an_abort_resets_the_peer_and_nothing_else_leaves() {
    // RFC 9293 §3.10.5: a reset with the next sequence number.
    let mut e = connected(rfc(&[]));
    e.tx.write(5000);
    assert_eq!(payload(&mut e, 200).len(), 5);
    e.abort();
    let reset = sent(&mut e, 201);
    assert_eq!((reset.len(), reset[0].flags, reset[0].seq, reset[0].len), (1, flags::RST, 5001, 0));
    assert_eq!((e.state(), e.failure(), e.next_deadline()), (State::Failed, None, Time::NEVER));
    // What comes afterwards is answered by a reset where it stands, a reset by nothing (§3.10.7.1).
    let again = give(&mut e, 300, &ack(1001));
    assert_eq!((again.len(), again[0].flags, again[0].seq), (1, flags::RST, 1001));
    assert!(give(&mut e, 301, &Segment { flags: flags::RST, ..ack(1) }).is_empty());
}

#[test]
fn before_the_handshake_there_is_nobody_to_reset() {
    let mut e = rfc(&[]);
    e.connect();
    assert_eq!(sent(&mut e, 0).len(), 1);
    e.abort();
    assert!(sent(&mut e, 1).is_empty());
    assert_eq!(give(&mut e, 100, &syn_ack())[0].flags, flags::RST, "the peer that answers is told");
}

#[test]
//= test: RFC 9293 §3.5.2 reset-for-closed
fn where_nobody_listens_a_request_is_reset_as_often_as_it_comes() {
    // RFC 9293 §3.10.7.1: without ACK the sequence number is 0, and the reset acknowledges what it is for.
    let mut e = rfc(&[]);
    e.refuse();
    for at in [10, 1010] {
        let resets = give(&mut e, at, &syn());
        assert_eq!((resets.len(), resets[0].flags), (1, flags::RST | flags::ACK));
        assert_eq!((resets[0].seq, resets[0].ack, resets[0].len), (0, THEIRS + 1, 0));
    }
    assert!(give(&mut e, 2000, &Segment { flags: flags::RST, ..ack(1) }).is_empty());
    assert_eq!((e.failure(), e.next_deadline()), (None, Time::NEVER));
}
