//! ECN segment by segment: negotiation, the receiver's three kinds of feedback, the sender's reactions.

use super::recovery::{NONE, after, numbers, sack, text, windows};
use super::*;
use crate::tcp::sender::Phase;

const ECN_SETUP: u8 = flags::ECE | flags::CWR;

fn ecn(rule: &str) -> (&'static str, Value) {
    ("ecn", text(rule))
}

/// What a client offers and what a server with the option `server` answers, as ACE fields (RFC 9768 table 2).
fn handshake(client: Endpoint, server: &str) -> (u8, u8) {
    let mut client = client;
    client.connect();
    let syn = sent(&mut client, 0)[0];
    let (_, answer) = answering(&[ecn(server)], &syn);
    (syn.ace(), answer.ace())
}

/// Connected at 100 ms to a peer that answers with these flags; the first flight has `iw` segments of plenty.
fn agreed(profile: Profile, cc: &str, rule: &str, iw: u64, answer_flags: u8) -> Endpoint {
    let mut e = ready(profile, cc, rule, iw, answer_flags);
    e.tx.write(1_000_000);
    e
}

/// The same with nothing to send yet.
fn ready(profile: Profile, cc: &str, rule: &str, iw: u64, answer_flags: u8) -> Endpoint {
    let options = [ecn(rule), ("iw", Value::Int(iw)), ("iw_bound", text("none")), ("pacing", text("off"))];
    let variant = [("variant", text("linux")), ("base", text("cwnd"))];
    let has_form = profile == Profile::Linux && cc != "prague";
    let mut e = with(profile, &options, cc, if has_form { &variant } else { &[] });
    e.connect();
    sent(&mut e, 0);
    let mut answer = syn_ack();
    answer.flags |= answer_flags;
    answer.options &= !0x10;
    give(&mut e, 100, &answer);
    give(&mut e, 100, &ack(1));
    e
}

fn classic(iw: u64) -> Endpoint {
    agreed(Profile::Rfc, "reno", "classic", iw, flags::ECE)
}

/// The acknowledgment of everything below segment `n`, with ECN-Echo.
fn echo(n: u32) -> Segment {
    let s = sack(n, &[]);
    Segment { flags: s.flags | flags::ECE, ..s }
}

/// Position and ECN field of a segment with payload, and whether it says CWR.
fn marking(s: &Segment) -> (u32, Ecn, bool) {
    (s.seq, s.ecn, s.has(flags::CWR))
}

#[test]
//= test: RFC 3168 §6.1.1 negotiation
fn what_is_offered_and_agreed() {
    let client = |rule: &str| rfc(&[ecn(rule)]);
    assert_eq!(handshake(client("off"), "classic"), (0, 0));
    assert_eq!(handshake(client("classic"), "off"), (0b011, 0));
    assert_eq!(handshake(client("classic"), "classic"), (0b011, 0b001));
    assert_eq!(handshake(client("classic"), "accurate"), (0b011, 0b001));
    assert_eq!(handshake(client("accurate"), "classic"), (0b111, 0b001));
    assert_eq!(handshake(client("accurate"), "accurate"), (0b111, 0b010));
    // Scalable controllers ask by themselves, and their SYN is ECN-capable (RFC 8257 §3.5).
    let ect1 = ("ect1", Value::Bool(true));
    for (cc, given, offered, ect) in [
        ("dctcp", vec![], 0b011, Ecn::Ect0),
        ("dctcp", vec![ect1], 0b011, Ecn::Ect1),
        ("prague", vec![], 0b111, Ecn::Ect1),
    ] {
        let mut e = with(Profile::Rfc, &[], cc, &given);
        e.connect();
        let syn = sent(&mut e, 0)[0];
        assert_eq!((syn.ace(), syn.ecn), (offered, ect), "{cc}");
    }
}

#[test]
//= test: RFC 9768 §3.1 negotiation
fn the_answer_tells_how_the_syn_came_and_a_mark_on_it_is_the_first_counted() {
    // RFC 9768 table 2, and §3.2.1: counters begin with 5.
    for (came, told, count) in
        [(Ecn::NotEct, 0b010, 5), (Ecn::Ect1, 0b011, 5), (Ecn::Ect0, 0b100, 5), (Ecn::Ce, 0b110, 6)]
    {
        let mut client = rfc(&[ecn("accurate")]);
        client.connect();
        let mut syn = sent(&mut client, 0)[0];
        syn.ecn = came;
        let (mut server, answer) = answering(&[ecn("accurate")], &syn);
        assert_eq!(answer.ace(), told);
        let last = give(&mut client, 10, &answer);
        assert_eq!(last[0].ace(), 5, "no mark on the way to the client");
        client.tx.write(2000);
        let with_data = sent(&mut client, 10);
        let back = [last[0], with_data[0], with_data[1]].map(|s| give(&mut server, 20, &s)).concat();
        assert_eq!(back.iter().map(Segment::ace).collect::<Vec<_>>(), [count], "{came:?}");
        give(&mut client, 30, &back[0]);
        assert_eq!(client.tx.stats().marked_bytes, 0, "the answer has told of it already");
    }
}

/// RFC 9768 §3.1.3: a SYN, and an answer to one that offers counts, whose combination of flags is reserved counts as one that offers
/// or agrees to count.
#[test]
//= test: RFC 9768 §3.1 negotiation
fn reserved_combinations_of_flags_mean_counts_to_who_can_count() {
    let mut syn = sent(&mut connecting("accurate"), 0)[0];
    for flags in [0b001, 0b010, 0b100, 0b101, 0b110] {
        syn.set_ace(flags);
        let answers = ["accurate", "classic"].map(|rule| answering(&[ecn(rule)], &syn).1.ace());
        assert_eq!(answers, [0b010, 0], "{flags:#b}");
    }
    for (rule, ace) in [("accurate", 5), ("classic", 0)] {
        let mut client = connecting(rule);
        sent(&mut client, 0);
        let mut answer = syn_ack();
        answer.set_ace(0b101);
        give(&mut client, 100, &answer);
        client.tx.write(1000);
        let first = sent(&mut client, 100)[0];
        assert_eq!((first.ace(), first.ecn), (ace, Ecn::Ect0), "{rule}");
    }
}

fn connecting(rule: &str) -> Endpoint {
    let mut client = rfc(&[ecn(rule)]);
    client.connect();
    client
}

#[test]
fn one_that_needs_counts_is_not_ecn_capable_without_them() {
    for (answer, data) in [(flags::ECE, Ecn::NotEct), (0, Ecn::NotEct), (flags::CWR, Ecn::Ect1)] {
        let mut e = agreed(Profile::Rfc, "prague", "off", 10, answer);
        e.tx.write(1);
        assert!(sent(&mut e, 200).iter().all(|s| s.ecn == data), "RFC 9331 §4.2: {answer:#b}");
    }
}

#[test]
//= test: RFC 3168 §6.1.1 negotiation
fn without_an_agreement_nothing_is_ecn_capable() {
    let mut e = agreed(Profile::Rfc, "reno", "classic", 10, 0);
    assert!(sent(&mut e, 100).iter().all(|s| s.ecn == Ecn::NotEct));
    assert_eq!(after(&mut e, 200, &echo(3)), [11, 12, 13], "its echo says nothing");
}

#[test]
//= test: RFC 3168 §6.1.2 once-a-window
//= test: RFC 3168 §6.1.2 cwr
fn a_mark_halves_the_window_once_and_the_next_new_data_says_so() {
    let mut e = classic(10);
    let first = sent(&mut e, 100);
    assert!(first.iter().all(|s| s.ecn == Ecn::Ect0 && !s.has(flags::CWR)));
    // Ten outstanding: ssthresh is five segments, nothing is sent again.
    assert_eq!(after(&mut e, 200, &echo(3)), NONE);
    assert_eq!((windows(&e), e.tx.phase()), ((5.0, 5.0), Phase::Reduction));
    assert_eq!(after(&mut e, 201, &echo(5)), NONE);
    assert_eq!(e.tx.stats().ecn_reductions, 1, "once per window");
    // Six outstanding at 7, four at 9: two may leave.
    let mut left = give(&mut e, 202, &echo(7));
    left.extend(give(&mut e, 203, &echo(8)));
    let left: Vec<_> = left.iter().map(marking).collect();
    assert_eq!(left, [(10_001, Ecn::Ect0, true), (11_001, Ecn::Ect0, false)]);
    assert_eq!(windows(&e).0, 5.0, "no growth on an echo (RFC 3168 §6.1.2)");
    // Everything outstanding at the mark is acknowledged: the next echo counts again once more than that is.
    assert_eq!(e.tx.stats().ecn_reductions, 1);
    after(&mut e, 300, &echo(11));
    assert_eq!((e.tx.stats().ecn_reductions, e.tx.phase()), (1, Phase::Reduction));
    after(&mut e, 301, &echo(12));
    assert_eq!((e.tx.stats().ecn_reductions, e.tx.phase()), (2, Phase::Reduction));
}

#[test]
//= test: RFC 3168 §6.1.5 retransmissions
fn retransmissions_are_not_ecn_capable_and_tell_of_the_reduction_later() {
    let mut e = classic(10);
    sent(&mut e, 100);
    let again = [sack(1, &[(2, 2)]), sack(1, &[(2, 3)]), sack(1, &[(2, 4)])].map(|s| give(&mut e, 200, &s));
    let again = again.concat();
    let resent: Vec<_> = again.iter().filter(|s| s.seq == 1).map(marking).collect();
    assert_eq!(resent, [(1, Ecn::NotEct, false)]);
    let told = (0..).map(|n| give(&mut e, 210 + n, &sack(11 + n as u32, &[]))).find(|s| !s.is_empty());
    assert_eq!(told.map(|s| (s[0].ecn, s[0].has(flags::CWR))), Some((Ecn::Ect0, true)));
}

#[test]
//= test: RFC 3168 §6.1.2 one-segment
fn with_a_window_of_one_segment_the_next_waits_for_a_timeout() {
    let mut e = classic(1);
    assert_eq!(numbers(&mut e, 100), [1]);
    let left = after(&mut e, 200, &echo(2));
    assert_eq!((left, windows(&e).0), (vec![], 1.0));
    // RTO is a second (RFC 6298).
    assert_eq!(expire(&mut e), 1200);
    assert_eq!(numbers(&mut e, 1200), [2]);
    assert_eq!(e.tx.stats().timeouts, 0);
}

#[test]
fn linux_reduces_proportionally() {
    let mut e = agreed(Profile::Linux, "reno", "classic", 20, flags::ECE);
    assert_eq!(numbers(&mut e, 100).len(), 20);
    // Of 20 segments 10 are to remain: one leaves for two that are delivered, until 10 are in the network.
    let leaving = (3..=21).step_by(2).map(|n| after(&mut e, 200 + u64::from(n), &echo(n)).len());
    assert_eq!(leaving.collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 1, 1, 0, 2]);
    assert_eq!(e.tx.phase(), Phase::Reduction);
    assert_eq!(windows(&e), (10.0, 10.0));
    after(&mut e, 300, &sack(23, &[]));
    assert_eq!((e.tx.phase(), e.tx.stats().ecn_reductions), (Phase::Open, 1));
}

#[test]
//= test: RFC 3168 §6.1.2 once-a-window
fn a_loss_in_the_window_of_a_mark_does_not_reduce_again() {
    for (profile, cc, kept) in [(Profile::Linux, "reno", 10.0), (Profile::Rfc, "reno", 10.0)] {
        let mut e = agreed(profile, cc, "classic", 20, flags::ECE);
        numbers(&mut e, 100);
        after(&mut e, 200, &echo(3));
        for last in 4..=9 {
            after(&mut e, 201, &sack(3, &[(4, last)]));
        }
        assert_eq!((e.tx.phase(), windows(&e).1), (Phase::Recovery, kept), "{profile:?}");
        assert_eq!((e.tx.stats().recoveries, e.tx.stats().ecn_reductions), (1, 1));
    }
}

/// A server that has agreed, and what it answers to segments with these ECN fields and flags.
fn answers(cc: &str, rule: &str, segments: &[(Ecn, u8)]) -> Vec<Vec<(u32, bool, u8)>> {
    let mut e = with(Profile::Rfc, &[ecn(rule)], cc, &[]);
    e.listen();
    let mut syn = syn_ack();
    syn.flags = flags::SYN | ECN_SETUP;
    syn.set_ace(0b111);
    give(&mut e, 0, &syn);
    give(&mut e, 0, &ack(1));
    let stamp = |s: &mut Segment| s.set_timestamps(900, 0);
    let answer = segments.iter().enumerate().map(|(i, (ecn, more))| {
        let mut s = data(1000 * i as u32 + 1, 1000);
        (s.ecn, s.flags) = (*ecn, s.flags | more);
        stamp(&mut s);
        let acks = give(&mut e, 10, &s);
        acks.iter().map(|a| ((a.ack - THEIRS) / 1000, a.has(flags::ECE), a.ace())).collect()
    });
    answer.collect()
}

#[test]
//= test: RFC 3168 §6.1.3 echo
fn classic_echo_lasts_until_the_sender_has_reduced() {
    let (ect, ce) = ((Ecn::Ect0, 0), (Ecn::Ce, 0));
    let got = answers(
        "reno",
        "classic",
        &[ect, ect, ce, ect, ect, ect, (Ecn::Ect0, flags::CWR), ect, (Ecn::Ce, flags::CWR), ect],
    );
    let told: Vec<_> = got.concat().iter().map(|a| (a.0, a.1)).collect();
    // A mark on the very segment with CWR counts again (RFC 3168 §6.1.3).
    assert_eq!(told, [(2, false), (4, true), (6, true), (8, false), (10, true)]);
}

#[test]
//= test: RFC 8257 §3.2 ce-state
fn dctcp_tells_every_change_at_once_and_exactly() {
    let (ect, ce) = ((Ecn::Ect0, 0), (Ecn::Ce, 0));
    let got = answers("dctcp", "off", &[ect, ce, ce, ce, ect, ect, ect, ce]);
    let told: Vec<Vec<_>> = got.iter().map(|acks| acks.iter().map(|a| (a.0, a.1)).collect()).collect();
    let expected: [&[(u32, bool)]; 8] = [
        &[],
        // What waited is acknowledged apart, unmarked.
        &[(1, false), (2, true)],
        &[],
        &[(4, true)],
        &[(5, false)],
        &[],
        &[(7, false)],
        &[(8, true)],
    ];
    assert_eq!(told, expected);
}

#[test]
//= test: RFC 9768 §3.2.1 first-count
//= test: RFC 9768 §3.2.2.5.1 ack-on-marks
fn accurate_feedback_counts() {
    let (ect, ce) = ((Ecn::Ect0, 0), (Ecn::Ce, 0));
    let got = answers("reno", "accurate", &[ect, ect, ce, ce, ce, ect, ect, ce]).concat();
    let told: Vec<_> = got.iter().map(|a| (a.0, a.2)).collect();
    // The first mark is told at once; the count began with 5 and goes round.
    assert_eq!(told, [(2, 5), (3, 6), (5, 0), (7, 0), (8, 1)]);

    let mut e = agreed(Profile::Rfc, "reno", "accurate", 10, flags::CWR);
    numbers(&mut e, 100);
    for (s, marked, reductions) in [
        (count(3, 0), 0, 0),
        (count(5, 1), 1000, 1),
        // The same count again, one that was overtaken, and two more marks of which one segment was delivered.
        (count(6, 1), 1000, 1),
        (count(5, 0), 1000, 1),
        (count(7, 3), 2000, 1),
        (count(10, 4), 3000, 1),
    ] {
        let left = give(&mut e, 200, &s);
        assert_eq!((e.tx.stats().marked_bytes, e.tx.stats().ecn_reductions), (marked, reductions));
        assert!(left.iter().all(|s| s.ace() == 5), "RFC 9768 has no CWR");
    }
}

#[test]
//= test: RFC 9768 §3.2.2.5.2 wrap
fn a_count_that_may_have_gone_round_is_taken_to_have() {
    // RFC 9768 appendix A.2.1: of 10 packets acknowledged at once 1 may be 9 and 0 may be 8; of 7 there is no doubt.
    for (acked, told, marks) in [(7, 1, 1), (7, 0, 0), (10, 1, 9), (10, 0, 8), (10, 7, 7), (17, 1, 17), (16, 1, 9)] {
        let mut e = agreed(Profile::Rfc, "reno", "accurate", 20, flags::CWR);
        assert_eq!(numbers(&mut e, 100).len(), 20);
        give(&mut e, 200, &count(acked + 1, told));
        assert_eq!(e.tx.stats().marked_bytes, marks * 1000, "{told} of {acked}");
    }
}

#[test]
//= test: RFC 3168 §6.1.4 pure-acks
fn marks_on_bare_acknowledgments_are_counted_and_not_answered() {
    let mut e = agreed(Profile::Rfc, "reno", "accurate", 10, flags::CWR);
    numbers(&mut e, 100);
    let left = give(&mut e, 200, &Segment { ecn: Ecn::Ce, ..count(3, 0) });
    assert!(!left.is_empty() && left.iter().all(|s| s.len > 0 && s.ace() == 6), "{left:?}");
}

/// The acknowledgment of everything below segment `n` from a peer that has counted so many marks.
fn count(n: u32, marks: u8) -> Segment {
    let mut s = sack(n, &[]);
    s.set_ace(5 + marks);
    s
}

#[test]
fn prague_grows_and_falls_while_a_mark_is_answered_in_every_profile() {
    for profile in [Profile::Rfc, Profile::Linux] {
        let mut e = agreed(profile, "prague", "off", 20, flags::CWR);
        let left = numbers(&mut e, 100);
        assert!(left.len() >= 10, "{left:?}");
        // The first mark ends slow start with half the window, in force at once and without CWR's reduction by PRR.
        give(&mut e, 200, &count(3, 1));
        let (w, ssthresh) = windows(&e);
        assert!((10.0..=11.0).contains(&w) && (10.0..=11.0).contains(&ssthresh), "{w} {ssthresh}");
        assert_eq!(e.tx.phase(), Phase::Reduction);
        // Unmarked segments add one per window also in the phase of the reduction.
        let before = e.tx.stats().ecn_reductions;
        for n in 4..=20 {
            give(&mut e, 200 + u64::from(n), &count(n, 1));
        }
        // From 10 one segment more for every ten to eleven of the seventeen.
        assert_eq!((windows(&e).0, e.tx.stats().ecn_reductions), (12.0, before), "{profile:?}");
    }
}

/// The window after one mark, and after so many segments that came from the peer while nothing was outstanding.
fn dctcp_threshold(profile: Profile, received: u32) -> f64 {
    let mut e = ready(profile, "dctcp", "off", 20, flags::ECE);
    e.tx.write(20_000);
    assert_eq!(numbers(&mut e, 100).len(), 20);
    after(&mut e, 200, &sack(21, &[]));
    for n in 0..received {
        give(&mut e, 300, &Segment { ack: 20_001, ..data(1 + 100 * n, 100) });
    }
    e.tx.write(40_000);
    assert_eq!(numbers(&mut e, 400).len(), 21);
    after(&mut e, 500, &Segment { seq: THEIRS + 1 + 100 * received, ..echo(23) });
    windows(&e).1
}

#[test]
fn in_linux_alpha_falls_with_every_acknowledgment_that_comes_while_nothing_is_outstanding() {
    // tcp_dctcp.c: what is acknowledged is not before the end of the window. 1024 less a sixteenth each time: at the
    // end of the first flight, for each segment received, and at the end of the window that begins with the last.
    assert_eq!(dctcp_threshold(Profile::Linux, 0), 21.0 - f64::from((21 * 900) >> 11));
    assert_eq!(dctcp_threshold(Profile::Linux, 3), 21.0 - f64::from((21 * 743) >> 11));
    // RFC 8257 §3.3 ends a window when more than its end is acknowledged: twice, with no mark and with marks alone.
    let alpha = 15.0 / 16.0 * 15.0 / 16.0 + 1.0 / 16.0;
    for received in [0, 3] {
        let threshold = dctcp_threshold(Profile::Rfc, received);
        assert!((threshold - 21.0 * (1.0 - alpha / 2.0)).abs() < 1e-3, "{received}: {threshold}");
    }
}
