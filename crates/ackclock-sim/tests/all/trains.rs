//! Paced segments that leave in one visit are those that leave one by one, in whole networks.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, Packet, cases, document, flow, link, pick, random_document, sim, tables};
use ackclock_core::rng::Stream;
use ackclock_core::time::Span;
use ackclock_sim::Sim;
use serde_json::{Value, json};

/// A random network, most of whose flows are paced, have no end and share few links.
fn paced_document(seed: u64) -> Value {
    let mut d = random_document(seed);
    let mut rng = Stream::named(seed, 0, "trains");
    let alone = rng.below(3) > 0;
    let flows = d["flows"].as_array_mut().unwrap();
    flows.truncate(if alone { 1 } else { 3 });
    for f in flows {
        f["cc"] = json!({"name": pick(&mut rng, &["newreno", "cubic", "bbr1", "bbr3", "prague", "copa", "vegas"])});
        if rng.below(4) > 0 {
            f["tcp"]["pacing"] = json!("window");
        }
        if rng.below(4) > 0 {
            f["app"] = json!({"kind": "bulk"});
        }
        if rng.below(8) == 0 {
            f["app"] = json!({"kind": "bulk", "read_bps": 1 + rng.below(20_000_000)});
        }
    }
    for l in d["links"].as_array_mut().unwrap() {
        if rng.below(4) > 0 {
            l["rate_bps"] = pick(&mut rng, &[20_000_000u64, 100_000_000, 1_000_000_000]).into();
            l["delay_ns"] = pick(&mut rng, &[MS / 10, MS, 7 * MS + 13]).to_owned().into();
            l["queue"] = json!({"kind": pick(&mut rng, &["droptail", "droptail", "codel"]), "limit_packets": 30 + rng.below(400)});
        }
    }
    d["duration_ns"] = json!(100 * MS + d["duration_ns"].as_u64().unwrap() / 6);
    d["warmup_ns"] = json!(rng.below(2) * rng.below(40 * MS));
    let often = json!({"every_ns": 1 + rng.below(5 * MS)});
    let some =
        json!({"queue": "on_change", "cwnd": often, "in_flight": often, "pacing_rate": often, "link_sent": often});
    d["probes"] = pick(&mut rng, &[json!({}), json!({"queue": "on_change"}), some]).clone();
    d
}

/// What a run yields and how many events it had; `pieces` plays it in such.
fn played(document: &Value, trains: bool, pieces: Option<u64>) -> (String, Vec<Packet>, u64) {
    let mut document = document.clone();
    document["engine"] = json!({"log_deliveries": true});
    let mut sim: Sim = sim(&document);
    if !trains {
        sim.split_trains();
    }
    if let Some(seed) = pieces {
        let mut rng = Stream::named(seed, 0, "pieces");
        while sim.now() < sim.end() {
            sim.run_until(sim.now() + Span(rng.below(20 * MS)));
            (0..sim.flow_count()).for_each(|f| assert!(sim.flow_state(f).received <= sim.flow_state(f).sent));
            (0..rng.below(30)).for_each(|_| _ = sim.step());
        }
    }
    sim.run(|| false).unwrap();
    let deliveries = sim.take_deliveries().iter().map(Packet::from).collect();
    (tables(&sim.output()), deliveries, sim.visits())
}

#[test]
fn paced_networks_with_trains_and_without_are_the_same_packet_by_packet() {
    let (mut with_trains, mut events, mut deliveries) = (0, 0, 0);
    for seed in 0..cases(300) {
        let d = paced_document(seed);
        let one_by_one = played(&d, false, None);
        for pieces in [None, Some(seed)] {
            let trains = played(&d, true, pieces);
            let differing = trains.1.iter().zip(&one_by_one.1).position(|(a, b)| a != b);
            if let Some(i) = differing {
                panic!("seed {seed}, delivery {i}: {:?} and {:?}\n{d}", trains.1[i], one_by_one.1[i]);
            }
            assert_eq!(trains.1.len(), one_by_one.1.len(), "seed {seed}: deliveries\n{d}");
            if trains.0 != one_by_one.0 {
                let lines = trains.0.lines().zip(one_by_one.0.lines()).find(|(a, b)| a != b);
                panic!("seed {seed}: {lines:?}\n{d}");
            }
            with_trains += u64::from(trains.2 < one_by_one.2);
            events += one_by_one.2.saturating_sub(trains.2);
        }
        deliveries += one_by_one.1.len() as u64;
    }
    assert!(
        with_trains > 60 && events > deliveries / 50,
        "{with_trains} runs with {events} events fewer, {deliveries} deliveries"
    );
}

/// A paced flow at 100 Mbit/s and 20 ms.
fn alone() -> Value {
    let mut f = flow("0", None);
    f["tcp"] = json!({"pacing": "window"});
    document(2000, vec![link("out", 100_000_000, 10, 200), link("back", 100_000_000, 10, 200)], vec![f])
}

fn events_fewer(d: &Value) -> u64 {
    played(d, false, None).2 - played(d, true, None).2
}

#[test]
fn the_second_of_two_segments_that_an_acknowledgment_lets_out_is_no_event() {
    let d = alone();
    let deliveries = played(&d, true, None).1.len() as u64;
    assert!(events_fewer(&d) > deliveries / 5, "{} of {deliveries}", events_fewer(&d));
}

/// Where somebody could see it, or could come in between, each segment is an event.
#[test]
fn trains_are_split_where_something_may_come_in_between() {
    let mut watched = alone();
    watched["probes"] = json!({"in_flight": "every_event"});
    let mut general = alone();
    general["links"][0]["queue"]["kind"] = json!("codel");
    let mut transfer = alone();
    transfer["flows"][0]["app"]["bytes"] = json!(1_000_000);
    let mut at_once = alone();
    at_once["links"][1]["delay_ns"] = json!(0);
    at_once["links"][1]["rate_bps"] = json!(null);
    at_once["links"][0]["delay_ns"] = json!(0);
    let mut sampled = alone();
    sampled["probes"] = json!({"queue": {"every_ns": 20_000}});
    for (name, d, share) in [
        ("watched", watched, 0),
        ("general", general, 0),
        ("transfer", transfer, 0),
        ("at once", at_once, 0),
        ("sampled", sampled, 2),
    ] {
        let most = if share == 0 { 0 } else { events_fewer(&alone()) / share };
        assert!(events_fewer(&d) <= most, "{name}: {}", events_fewer(&d));
    }
}
