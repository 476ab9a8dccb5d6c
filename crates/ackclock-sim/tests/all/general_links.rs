//! Links whose rate changes, traces, token buckets, and media that lose, delay, swap and double packets: exact on paths
//! simple enough to compute by hand, and by closed form where chance decides.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, Packet, document, flow, link, play, sim};
use serde_json::{Value, json};

const SECOND: u64 = 1000 * MS;
/// A full segment of [`flow`] on the wire: 1000 bytes, IP and TCP headers, timestamps.
const WIRE: u64 = 1052;

/// What the server gets: time in ns, sequence number, payload.
fn arrivals(d: &Value) -> Vec<(u64, u32, u32)> {
    let mut d = d.clone();
    d["engine"] = json!({"log_deliveries": true});
    let mut sim = sim(&d);
    sim.run(|| false).unwrap();
    let all: Vec<Packet> = sim.take_deliveries().iter().map(Packet::from).collect();
    all.iter().filter(|p| p.to_server && p.len > 0).map(|p| (p.at, p.seq, p.len)).collect()
}

fn times(d: &Value) -> Vec<u64> {
    arrivals(d).iter().map(|a| a.0).collect()
}

/// `segments` at once at time 0 over a link of 8 Mbit/s (1 us per byte) and 10 ms with the keys `changed`; nothing comes
/// back before 100 ms.
fn burst(segments: u64, changed: Value) -> Value {
    let mut out = link("out", 8_000_000, 10, 10_000);
    for (key, value) in changed.as_object().unwrap() {
        out[key] = value.clone();
    }
    let mut f = flow("0", Some(1000 * segments));
    f["tcp"] = json!({"handshake": false, "iw": segments, "iw_bound": "none"});
    document(100, vec![out, link("back", 8_000_000, 100, 10_000)], vec![f])
}

/// A flow without an end over a link of 8 Mbit/s with the keys `changed`, that never idles once it is full.
fn greedy(seconds: u64, changed: Value) -> Value {
    let mut d = burst(1, changed);
    d["duration_ns"] = json!(seconds * SECOND);
    d["links"][1]["delay_ns"] = json!(10 * MS);
    d["flows"][0]["app"]["bytes"] = json!(null);
    d["flows"][0]["tcp"] = json!({"handshake": false, "receive_buffer": 100_000_000});
    d
}

#[test]
fn a_trace_delivers_at_its_opportunities() {
    // Each carries one segment; the trace begins again after its last.
    let trace = json!({"times_ms": [5, 11, 20, 20], "opportunity_bytes": WIRE});
    let d = burst(10, json!({"rate_bps": null, "trace": trace}));
    assert_eq!(times(&d), [5, 11, 20, 20, 25, 31, 40, 40, 45, 51].map(|ms| (ms + 10) * MS));
    // Twice as large ones carry two, and a segment that does not fit goes on in the next.
    let trace = |bytes: u64| json!({"rate_bps": null, "trace": {"times_ms": [5, 11, 20], "opportunity_bytes": bytes}});
    assert_eq!(times(&burst(5, trace(2 * WIRE))), [5, 5, 11, 11, 20].map(|ms| (ms + 10) * MS));
    assert_eq!(times(&burst(4, trace(2 * WIRE / 3 + 1))), [11, 20, 31, 40].map(|ms| (ms + 10) * MS));
}

#[test]
fn an_opportunity_that_nothing_waits_for_is_lost() {
    let trace = json!({"times_ms": [5, 11, 20], "opportunity_bytes": WIRE});
    let mut d = burst(2, json!({"rate_bps": null, "trace": trace}));
    d["flows"][0]["start"] = json!({"at_ns": 6 * MS});
    assert_eq!(times(&d), [(11 + 10) * MS, (20 + 10) * MS]);
    // Of the six opportunities in 40 ms two were used.
    d["duration_ns"] = json!(40 * MS);
    let row = &play(&d).links[0];
    let mean = 3.0 * WIRE as f64 * 8.0 / 20e-3;
    assert_eq!((row.utilisation, row.rate_bps), (Some(2.0 / 6.0), Some(mean.round() as u64)));
}

#[test]
fn a_rate_that_halves_halves_the_pace() {
    let steps = json!({"steps": [[0, 8_000_000], [5 * SECOND, 4_000_000]]});
    let d = greedy(10, json!({"rate_bps": null, "schedule": steps}));
    let arrived = times(&d);
    let within =
        |from: u64, to: u64| arrived.iter().filter(|t| (from * SECOND..to * SECOND).contains(t)).count() as u64;
    // 8 Mbit/s are 10^6 bytes a second.
    assert!(within(2, 4).abs_diff(2_000_000 / WIRE) <= 1, "{}", within(2, 4));
    assert!(within(6, 9).abs_diff(1_500_000 / WIRE) <= 1, "{}", within(6, 9));
    // The packet that is on its way as the rate changes is sent by both: found by the gap between the two paces.
    let late = arrived.windows(2).filter(|w| w[0] > 2 * SECOND);
    let gaps: Vec<u64> = late.map(|w| w[1] - w[0]).filter(|g| *g > WIRE * 1000).collect();
    assert!(gaps[0] < 2 * WIRE * 1000 && gaps[1..].iter().all(|g| *g == 2 * WIRE * 1000), "{:?}", &gaps[..3]);
    let row = &play(&d).links[0];
    assert_eq!(row.utilisation, Some(row.sent_bytes as f64 * 8.0 / 60e6));
    assert!(row.utilisation.unwrap() > 0.97 && row.utilisation.unwrap() <= 1.0, "{row:?}");
}

#[test]
fn a_link_that_is_off_sends_nothing_and_then_goes_on() {
    let steps = json!({"steps": [[0, 8_000_000], [SECOND, 0]], "period_ns": 3 * SECOND});
    let arrived = times(&greedy(9, json!({"rate_bps": null, "schedule": steps})));
    let phase = |t: &u64| (t - 10 * MS) % (3 * SECOND);
    // A packet cut off by the end of a second comes out first when the link is on again.
    assert!(arrived.iter().all(|t| phase(t) <= SECOND), "nothing while it is off");
    for cycle in 1..3 {
        let sent = arrived.iter().filter(|t| (**t - 10 * MS) / (3 * SECOND) == cycle).count() as u64;
        assert!(sent.abs_diff(1_000_000 / WIRE) <= 1, "{sent} in cycle {cycle}");
    }
}

#[test]
fn a_shaper_sends_its_burst_and_then_its_rate() {
    // 8 Mbit/s after 15000 bytes, before a line of 80 Mbit/s: 0.1 us per byte.
    let bucket = json!({"rate_bps": 8_000_000, "burst_bytes": 15_000});
    let d = burst(30, json!({"rate_bps": 80_000_000, "shaper": bucket}));
    let start = |k: u64| (k * WIRE * 100).max((WIRE * (k + 1)).saturating_sub(15_000) * 1000);
    let expected: Vec<u64> = (0..30).map(|k| start(k) + WIRE * 100 + 10 * MS).collect();
    assert_eq!(times(&d), expected);
}

#[test]
fn a_policer_passes_its_burst_and_drops_the_rest() {
    let bucket = json!({"rate_bps": 8_000_000, "burst_bytes": 5 * WIRE});
    let d = burst(12, json!({"rate_bps": 80_000_000, "policer": bucket}));
    let seen: Vec<u32> = arrivals(&d).iter().map(|a| a.1).collect();
    assert_eq!(seen, [1, 1001, 2001, 3001, 4001]);
    let row = &play(&d).links[0];
    assert_eq!((row.arrived_packets, row.sent_packets, row.drops), (12, 5, 7));
    assert_eq!(row.drops_by_reason[ackclock_core::queue::Reason::Policed as usize], 7);
    assert_eq!(row.max_queue_packets, 5, "what is policed never waits");
}

#[test]
fn events_change_what_comes_after_them() {
    // Segments end their transmission every 1.052 ms: the first four before 5 ms.
    let events = json!([{"at_ns": 5 * MS, "delay_ns": 30 * MS}, {"at_ns": 8 * MS, "delay_ns": 10 * MS}]);
    let end = |k: u64| (k + 1) * WIRE * 1000;
    let kept = times(&burst(10, json!({"events": events})));
    // In order: what the shorter delay would let overtake comes together with the one before.
    let seventh = end(6) + 30 * MS;
    let expected: Vec<u64> = (0..10)
        .map(|k| {
            if k < 4 {
                end(k) + 10 * MS
            } else if k < 7 {
                end(k) + 30 * MS
            } else {
                seventh
            }
        })
        .collect();
    assert_eq!(kept, expected);
    let free = arrivals(&burst(10, json!({"events": events, "preserve_order": false})));
    let order: Vec<u32> = free.iter().map(|a| a.1 / 1000).collect();
    assert_eq!(order, [0, 1, 2, 3, 7, 8, 9, 4, 5, 6]);
    assert_eq!(free[4].0, end(7) + 10 * MS);
    // A loss that begins, and ends.
    let events = json!([{"at_ns": 2 * MS, "loss": {"kind": "every", "n": 2}},
        {"at_ns": 6 * MS, "loss": {"kind": "bernoulli", "p": 0.0}}]);
    let seen: Vec<u32> = arrivals(&burst(10, json!({"events": events}))).iter().map(|a| a.1 / 1000).collect();
    assert_eq!(seen, [0, 1, 3, 5, 6, 7, 8, 9]);
}

#[test]
fn jitter_keeps_or_breaks_the_order() {
    for kept in [true, false] {
        let jitter = json!({"kind": "uniform", "low_ns": 0, "high_ns": 20 * MS});
        let d = burst(60, json!({"jitter": jitter, "preserve_order": kept}));
        let seen = arrivals(&d);
        assert_eq!(seen.len(), 60);
        let sorted = seen.windows(2).all(|w| w[0].1 < w[1].1);
        assert_eq!(sorted, kept);
        for (at, seq, _) in &seen {
            let least = (u64::from(*seq / 1000) + 1) * WIRE * 1000 + 10 * MS;
            assert!(*at >= least && *at <= least + 20 * MS, "{seq} at {at}");
        }
        let distinct: std::collections::BTreeSet<u64> = seen.iter().map(|a| a.0).collect();
        assert_eq!(distinct.len() < 60, kept, "those that catch up come together");
    }
}

#[test]
fn a_packet_held_back_is_overtaken_and_delays_nobody() {
    let d = burst(60, json!({"reorder": {"probability": 0.2, "extra_ns": 5 * MS}}));
    let seen = arrivals(&d);
    let late = |at: u64, seq: u32| at - ((u64::from(seq / 1000) + 1) * WIRE * 1000 + 10 * MS);
    let held = seen.iter().filter(|a| late(a.0, a.1) == 5 * MS).count();
    assert!(seen.iter().all(|a| matches!(late(a.0, a.1), 0 | 5_000_000)), "{seen:?}");
    assert!((4..25).contains(&held), "{held} of 60 held back");
}

#[test]
fn duplicates_are_delivered_and_count_once() {
    for profile in ["rfc", "linux"] {
        let mut d = greedy(20, json!({"duplicate": 0.3}));
        d["flows"][0]["app"]["bytes"] = json!(1_000_000);
        d["flows"][0]["profile"] = json!(profile);
        let seen = arrivals(&d).len() as u64;
        let out = play(&d);
        let (row, l) = (&out.flows[0], &out.links[0]);
        assert!(row.completed && row.goodput_bytes == 1_000_000, "{row:?}");
        // All that leaves the link are its data and the client's last acknowledgment.
        let out_of_it = l.sent_packets - l.lost + l.duplicated;
        assert!(out_of_it >= seen && out_of_it <= seen + 4, "{out_of_it} and {seen}, {l:?}");
        // 0.3 of 1000, give or take four standard deviations of 14.5, and of the few packets that open and close it.
        assert!((242..362).contains(&l.duplicated) && l.lost == 0, "{l:?}");
        assert!(row.dsacks > 100 && row.retransmitted_segments == 0, "{row:?}");
    }
}

#[test]
fn reordering_that_is_no_loss_is_undone() {
    // Held back by 15 ms, more than three duplicates and less than a timeout.
    let mut d = greedy(30, json!({"reorder": {"probability": 0.002, "extra_ns": 15 * MS}}));
    d["flows"][0]["profile"] = json!("linux");
    d["flows"][0]["cc"]["name"] = json!("cubic");
    let row = &play(&d).flows[0];
    assert!(row.dsacks > 0 && row.undos > 0, "{row:?}");
    assert!(row.timeouts == 0 && row.goodput_bps > 0.9 * 8e6 * 1000.0 / 1052.0, "{row:?}");
}

/// Twenty flows over 20 Mbit/s for 100 s with `loss` at the link: packets sent and lost.
fn lossy(loss: Value) -> (f64, f64) {
    let mut out = link("out", 20_000_000, 5, 200);
    out["loss"] = loss;
    let flows = (0..20).map(|i| flow(&i.to_string(), None)).collect();
    let row = &play(&document(100_000, vec![out, link("back", 20_000_000, 5, 1000)], flows)).links[0];
    (row.sent_packets as f64, row.lost as f64)
}

#[test]
fn losses_come_as_often_as_their_law_says() {
    // Gilbert and Elliott: the share of the bad state p/(p+r); states of packets k apart correlate by (1-p-r)^k, which
    // multiplies the variance of the mean by (2-p-r)/(p+r).
    let (p, r) = (0.01, 0.3);
    let (sent, lost) = lossy(json!({"kind": "gilbert_elliott", "p": p, "r": r}));
    let share = p / (p + r);
    let sigma = (share * (1.0 - share) * (2.0 - p - r) / (p + r) / sent).sqrt();
    assert!((lost / sent - share).abs() < 4.0 * sigma, "{lost} of {sent}, not {share} within {sigma}");
    assert!(sent > 50_000.0);
    // Every bit for itself; the packets are full segments and the few of a handshake.
    let (sent, lost) = lossy(json!({"kind": "bit_errors", "ber": 1e-6}));
    let share = 1.0 - (1.0f64 - 1e-6).powi(8 * WIRE as i32);
    let sigma = (share * (1.0 - share) / sent).sqrt();
    assert!((lost / sent - share).abs() < 4.0 * sigma, "{lost} of {sent}, not {share} within {sigma}");
}

#[test]
fn a_link_that_stays_off_keeps_what_it_has() {
    let steps = json!({"steps": [[0, 8_000_000], [5 * MS, 0]]});
    let d = burst(10, json!({"rate_bps": null, "schedule": steps}));
    assert_eq!(times(&d).len(), 4, "the fifth is cut off for good");
    let row = &play(&d).links[0];
    assert_eq!((row.arrived_packets, row.sent_packets, row.drops, row.max_queue_packets), (10, 4, 0, 10));
}

#[test]
fn keys_that_exclude_each_other_are_refused() {
    let bucket = json!({"rate_bps": 1_000_000, "burst_bytes": 15_000});
    let steps = json!({"steps": [[0, 8_000_000], [SECOND, 4_000_000]]});
    let trace = json!({"times_ms": [1]});
    for (changed, key) in [
        (json!({"rate_bps": null, "schedule": steps, "shaper": bucket}), "shaper"),
        (json!({"rate_bps": null, "schedule": steps, "trace": trace}), "trace"),
        (json!({"trace": trace}), "rate_bps"),
        (json!({"rate_bps": null, "shaper": bucket}), "shaper"),
    ] {
        let run = ackclock_sim::Run::from_json(&burst(1, changed).to_string()).unwrap();
        let refused = ackclock_sim::Sim::new(&run).err().unwrap();
        assert_eq!(refused.path, format!("links.0.{key}"), "{refused}");
    }
}
