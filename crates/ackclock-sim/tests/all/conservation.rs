//! Nothing is created and nothing vanishes: packets at every link, bytes from end to end.
#![allow(clippy::unwrap_used)]

use crate::common::rich::rich_document;
use crate::common::{cases, document, flow, link, play, random_document, sim};
use ackclock_core::queue::Reason;
use serde_json::{Value, json};

#[test]
fn packets_that_arrive_at_a_link_are_sent_dropped_or_still_there() {
    arrived_is_sent_dropped_or_queued(random_document);
}

#[test]
fn packets_that_arrive_at_any_link_are_sent_dropped_or_still_there() {
    arrived_is_sent_dropped_or_queued(rich_document);
}

fn arrived_is_sent_dropped_or_queued(document: fn(u64) -> Value) {
    let mut met = [0u64; 3];
    for seed in 0..cases(2000) {
        let mut d = document(seed);
        d["warmup_ns"] = json!(0);
        // The end of the run finds packets in the queues; their number is the last value of the series.
        d["probes"] = json!({"queue": "on_change"});
        for fused in [true, false] {
            d["engine"] = json!({"fused": fused});
            for l in d["links"].as_array_mut().unwrap() {
                l["queue"]["limit_includes_service"] = json!(true);
            }
            let out = play(&d);
            for (i, l) in out.links.iter().enumerate() {
                let mut series =
                    out.series.iter().filter(|s| s.of as usize == i && s.at.0 <= d["duration_ns"].as_u64().unwrap());
                let queued = series.next_back().map_or(0.0, |s| s.value) as u64;
                assert_eq!(l.arrived_packets, l.sent_packets + l.drops + queued, "{l:?}, {queued} queued\n{d}");
                assert_eq!(l.drops, l.drops_by_reason.iter().sum::<u64>());
                assert_eq!(l.marks, l.marks_by_reason.iter().sum::<u64>());
                assert!(l.lost + l.duplicated <= l.sent_packets, "{l:?}");
                met = [met[0] + l.drops, met[1] + queued, met[2] + l.lost];
            }
        }
    }
    assert!(met.iter().all(|n| *n > 1000), "drops, queued, lost: {met:?}");
}

/// Everything stops early: at the end nothing is under way.
fn early(mut d: Value, bytes: u64) -> Value {
    for f in d["flows"].as_array_mut().unwrap() {
        (f["stop_ns"], f["app"]["bytes"]) = (json!(null), json!(bytes));
    }
    (d["duration_ns"], d["warmup_ns"], d["probes"]) = (json!(4_000_000_000_000u64), json!(0), json!({}));
    d
}

#[test]
fn what_leaves_the_links_arrives_at_the_next_or_at_an_endpoint() {
    let mut met = [0u64; 4];
    for seed in 0..cases(1500) {
        let mut d = early(rich_document(seed), 200_000);
        d["engine"] = json!({"log_deliveries": true});
        let mut sim = sim(&d);
        sim.run(|| false).unwrap();
        assert_eq!(sim.packets_in_flight(), 0, "{d}");
        let delivered = sim.take_deliveries().len() as u64;
        let out = sim.output();
        let all = |count: fn(&ackclock_sim::output::LinkRow) -> u64| out.links.iter().map(count).sum::<u64>();
        // Every route begins with "a" or "d", the first and the fourth.
        let entered = out.links[0].arrived_packets + out.links[3].arrived_packets;
        let left = all(|l| l.sent_packets - l.lost + l.duplicated);
        assert_eq!(left, all(|l| l.arrived_packets) - entered + delivered, "{d}");
        let policed = all(|l| l.drops_by_reason[Reason::Policed as usize]);
        for (sum, n) in met.iter_mut().zip([all(|l| l.lost), all(|l| l.duplicated), policed, all(|l| l.marks)]) {
            *sum += n;
        }
    }
    assert!(met.iter().all(|n| *n > 300), "lost, duplicated, policed, marked: {met:?}");
}

#[test]
fn every_packet_in_the_slab_is_on_its_way() {
    for seed in 0..cases(500) {
        for fused in [true, false] {
            let mut d = early(random_document(seed), 3000);
            d["engine"] = json!({"fused": fused});
            let mut sim = sim(&d);
            sim.run(|| false).unwrap();
            // One slot is kept for the next packet.
            assert!(sim.packets_in_flight() <= 1, "{} packets\n{d}", sim.packets_in_flight());
            assert!(sim.output().flows.iter().all(|f| f.completed), "{d}");
        }
    }
}

#[test]
fn bytes_are_delivered_once_and_not_more_than_sent() {
    for seed in 0..cases(2000) {
        let mut d = if seed % 2 == 0 { random_document(seed) } else { rich_document(seed) };
        d["warmup_ns"] = json!(0);
        for (f, spec) in play(&d).flows.iter().zip(d["flows"].as_array().unwrap()) {
            let fresh = f.sent_bytes - f.retransmitted_bytes;
            assert!(f.goodput_bytes <= fresh, "{f:?}");
            if let Some(bytes) = spec["app"]["bytes"].as_u64() {
                assert!(fresh <= bytes && f.goodput_bytes <= bytes);
                let stopped = spec["stop_ns"].is_u64();
                assert!(!f.completed || stopped || f.goodput_bytes == bytes, "{f:?}");
            }
        }
    }
}

#[test]
fn the_window_of_measurement_leaves_out_what_came_before() {
    // Without losses everything adds up: two halves are the whole.
    let links = vec![link("out", 10_000_000, 5, 10_000), link("back", 10_000_000, 5, 10_000)];
    let whole = play(&document(4000, links.clone(), vec![flow("0", None)]));
    let first = play(&document(2000, links.clone(), vec![flow("0", None)]));
    let mut late = document(4000, links, vec![flow("0", None)]);
    late["warmup_ns"] = json!(2_000_000_000u64);
    let second = play(&late);
    let bytes = |o: &ackclock_sim::Output| (o.flows[0].goodput_bytes, o.flows[0].sent_bytes, o.flows[0].acks);
    let (w, a, b) = (bytes(&whole), bytes(&first), bytes(&second));
    assert_eq!(w, (a.0 + b.0, a.1 + b.1, a.2 + b.2));
    assert!(b.0 > 2_000_000 && whole.links[0].drops == 0);
}
