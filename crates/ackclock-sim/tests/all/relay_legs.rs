//! The two legs of a relay: how each of them starts, what it agrees on and how it is paced is its own.
#![allow(clippy::unwrap_used)]

use crate::common::splits::{Split, file, without_rates};
use crate::common::{play, sim};
use ackclock_core::packet::{Address, Ecn};
use ackclock_core::tcp::segment::{Segment, flags};
use ackclock_sim::engine::Delivery;
use serde_json::{Value, json};

/// 29 full segments: a window of 10 and one of 19.
const FILE: u64 = 29_000;

/// The legs have round trips of 24 and 120 ms, or the other way round.
const DELAYS: [[u64; 2]; 2] = [[12, 60], [60, 12]];

/// A file that the sink asks for, over legs with these options.
fn split(delays: [u64; 2], tcp: [Value; 2]) -> Split {
    let exact = |options: Value| {
        let mut all = json!({"delayed_ack": 1, "iw_bound": "none"});
        all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        all
    };
    Split { delays, tcp: tcp.map(exact), profile: "rfc", app: Some(file(FILE)), ..Split::default() }
}

/// How long the file takes over links without rates, where the legs have these slow starts besides.
fn time(delays: [u64; 2], tcp: [Value; 2], slow_starts: [Value; 2]) -> f64 {
    let mut d = without_rates(split(delays, tcp).split());
    for (leg, kind) in slow_starts.into_iter().enumerate() {
        d["flows"][1 + leg]["slow_start"] = kind;
    }
    let out = play(&d);
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    out.transfers[0].fct_s.unwrap()
}

#[test]
fn a_larger_initial_window_saves_the_round_trips_of_its_own_leg() {
    let none = || [Value::Null, Value::Null];
    for (longer, delays) in [(1, DELAYS[0]), (0, DELAYS[1])] {
        let with = |legs: [bool; 2]| time(delays, legs.map(|large| json!({"iw": if large { 32 } else { 10 }})), none());
        let saved = |legs: [bool; 2]| with([false, false]) - with(legs);
        let (mut only_longer, mut only_shorter) = ([false; 2], [true; 2]);
        (only_longer[longer], only_shorter[longer]) = (true, false);
        // With 10 at first the other 19 take a second round trip on each leg, those of the shorter one within that of the longer.
        for (legs, expected) in [(only_longer, 0.120 - 0.024), (only_shorter, 0.0), ([true, true], 0.120)] {
            assert!((saved(legs) - expected).abs() < 1e-12, "{delays:?}, {legs:?}: {} s", saved(legs));
        }
    }
}

#[test]
fn a_slow_start_that_is_slower_costs_round_trips_of_its_own_leg() {
    let none = || [json!({}), json!({})];
    // Beyond a window of 2 one segment more each round trip: 10, then 10 or 11, then the rest.
    let limited = || json!({"kind": "limited", "params": {"max_ssthresh": 2}});
    let standard = || json!({"kind": "standard"});
    // On the shorter leg before the relay they pass within the round trip of the longer one. Behind the relay they do not: the
    // second window comes late, and all of it at once.
    for (delays, more) in [(DELAYS[0], [0.0, 0.120]), (DELAYS[1], [0.120, 0.024])] {
        let usual = time(delays, none(), [standard(), standard()]);
        for (leg, expected) in more.into_iter().enumerate() {
            let mut kinds = [standard(), standard()];
            kinds[leg] = limited();
            let more = time(delays, none(), kinds) - usual;
            assert!((more - expected).abs() < 1e-12, "{delays:?}, leg {leg}: {more} s");
        }
    }
}

/// What the packets of a connection show of its options.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    /// Of the SYN and its answer: MSS, window scale, whether there are SACK and timestamps, and the flags of ECN.
    offers: Vec<(u16, Option<u8>, bool, bool, u8)>,
    /// Whether all of the others have timestamps, or none.
    timestamps: bool,
    /// The payload of the largest.
    largest: u32,
    /// Whether those with data say that a queue may mark them.
    capable: bool,
}

/// The number of the flow that a packet is of: hosts have addresses in the order of flows.
fn flow_of(p: &Delivery) -> u8 {
    let Address::V4(source) = p.addresses.source else { return u8::MAX };
    (source[3] - 1) / 2
}

/// Of the flows with these numbers in a run.
fn shown<const N: usize>(mut d: Value, flows: [u8; N]) -> [Shown; N] {
    d["engine"] = json!({"log_deliveries": true});
    let mut run = sim(&d);
    run.run(|| false).unwrap();
    let all: Vec<(u8, Segment)> =
        run.take_deliveries().iter().filter_map(|p| Some((flow_of(p), *p.packet.tcp()?))).collect();
    flows.map(|number| {
        let own: Vec<&Segment> = all.iter().filter(|(of, _)| *of == number).map(|(_, t)| t).collect();
        let (syns, others): (Vec<&Segment>, Vec<&Segment>) = own.iter().partition(|t| t.has(flags::SYN));
        let offer = |t: &&Segment| {
            let ecn = t.flags & (flags::ECE | flags::CWR);
            (t.mss, t.window_scale(), t.sack_permitted(), t.has_timestamps(), ecn)
        };
        let with = others.iter().filter(|t| t.has_timestamps()).count();
        let data: Vec<&&Segment> = others.iter().filter(|t| t.len > 1).collect();
        let capable = data.iter().filter(|t| t.ecn != Ecn::NotEct).count();
        assert!(with == 0 || with == others.len(), "{with} of {} have timestamps", others.len());
        assert!(data.len() > 10 && (capable == 0 || capable == data.len()), "{capable} of {}", data.len());
        Shown {
            offers: syns.iter().map(offer).collect(),
            timestamps: with > 0,
            largest: data.iter().map(|t| t.len).max().unwrap_or(0),
            capable: capable > 0,
        }
    })
}

#[test]
fn each_leg_agrees_on_options_of_its_own_as_if_it_were_alone() {
    // What all have otherwise: MSS 1000, SACK, timestamps, no ECN, a window that has to be scaled.
    let others = [
        json!({"timestamps": false}),
        json!({"sack": false}),
        json!({"ecn": "classic"}),
        json!({"ecn": "accurate"}),
        json!({"receive_buffer": 60_000}),
        json!({"mss": 536}),
    ];
    for (opening, other) in
        ["transparent", "accepted", "lazy", "syn_forward"].iter().flat_map(|o| others.iter().map(move |t| (o, t)))
    {
        for legs in [[false, false], [true, false], [false, true], [true, true]] {
            let option = |on: bool| if on && other["mss"].is_null() { other.clone() } else { json!({}) };
            // A buffer that is no smaller than what an end has: the relay offers a window of its buffer.
            let s = Split { buffer: 1 << 30, more: json!({"opening": opening}), ..split(DELAYS[0], legs.map(option)) };
            let with_mss = |mut d: Value, flows: &[(usize, usize)]| {
                for (flow, leg) in flows {
                    if legs[*leg] && !other["mss"].is_null() {
                        d["flows"][*flow]["mss"] = other["mss"].clone();
                    }
                }
                without_rates(d)
            };
            let found = shown(with_mss(s.split(), &[(1, 0), (2, 1)]), [1, 2]);
            for leg in [0, 1] {
                let [alone] = shown(with_mss(s.of_legs(&[leg]), &[(0, leg)]), [0]);
                assert_eq!(found[leg], alone, "{opening}, {other}, {legs:?}, leg {leg}");
                let is = |key: &str, value: Value| legs[leg] && other[key] == value;
                let seen = &found[leg];
                assert_eq!(seen.timestamps, !is("timestamps", json!(false)), "{opening}, {legs:?}, leg {leg}");
                assert_eq!(seen.capable, legs[leg] && !other["ecn"].is_null(), "{opening}, {legs:?}, leg {leg}");
                assert_eq!(seen.largest, if is("mss", json!(536)) { 536 } else { 1000 }, "{opening}, {legs:?}");
                assert_eq!(seen.offers.len(), 2, "a SYN and its answer");
                for (_, scale, sack, timestamps, ecn) in &seen.offers {
                    assert_eq!((*sack, *timestamps), (!is("sack", json!(false)), seen.timestamps));
                    assert_eq!(*ecn > 0, seen.capable);
                    assert_eq!(scale.unwrap_or(0) == 0, is("receive_buffer", json!(60_000)), "{scale:?}");
                }
            }
        }
    }
}

/// When data arrived over each leg, ns, and how much.
fn arrivals(paced: [bool; 2]) -> [Vec<(u64, u32)>; 2] {
    let tcp = paced.map(|on| json!({"pacing": if on { "window" } else { "off" }, "unpaced_segments": 0}));
    let s = Split { app: Some(file(400_000)), ..split([20, 50], tcp) };
    let mut d = without_rates(s.split());
    d["engine"] = json!({"log_deliveries": true});
    let mut run = sim(&d);
    run.run(|| false).unwrap();
    let all = run.take_deliveries();
    [1, 2].map(|leg| {
        let data = all.iter().filter(|p| flow_of(p) == leg).filter_map(|p| Some((p.at.0, p.packet.tcp()?.len)));
        data.filter(|(_, len)| *len > 200).collect()
    })
}

#[test]
fn each_leg_is_paced_or_not_by_its_own_option() {
    let together = |times: &[(u64, u32)]| times.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
    let [none, source, sink, both] = [[false, false], [true, false], [false, true], [true, true]].map(arrivals);
    for (found, paced) in [(&none, [false; 2]), (&source, [true, false]), (&sink, [false, true]), (&both, [true; 2])] {
        for (times, on) in found.iter().zip(paced) {
            assert_eq!(times.iter().map(|(_, len)| len).sum::<u32>(), 400_000);
            // Of the one that is not, a window leaves at once, or what an acknowledgment lets out.
            assert!(if on { together(times) == 0 } else { together(times) > 50 }, "{paced:?}: {}", together(times));
        }
    }
    // What is behind the relay does nothing to the leg before it.
    assert_eq!(none[0], sink[0]);
    assert_eq!(source[0], both[0]);
}
