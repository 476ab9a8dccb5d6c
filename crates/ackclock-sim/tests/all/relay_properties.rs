//! Relays between random legs: what they hold, promise and pass on, looked at all the time.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, cases, document, flow, link, pick, sim};
use ackclock_core::rng::Stream;
use ackclock_core::time::Time;
use ackclock_sim::Sim;
use serde_json::{Value, json};

const LINKS: [&str; 2] = ["core", "radio"];

/// A flow of `bytes` over two links, of which either may lose, split between them at random.
fn split(rng: &mut Stream, bytes: u64) -> Value {
    let mut links = Vec::new();
    for id in LINKS {
        let (rate, delay) = (*pick(rng, &[1_000_000, 8_000_000, 50_000_000]), *pick(rng, &[0, 3, 40]));
        for name in [id.to_owned(), format!("{id}-back")] {
            let mut l = link(&name, rate, delay, *pick(rng, &[10, 50, 500]));
            if rng.below(3) == 0 {
                l["loss"] = json!({"kind": "bernoulli", "p": pick(rng, &[0.001, 0.02, 0.05])});
            }
            links.push(l);
        }
    }
    let leg = |rng: &mut Stream, id: &str, names: &[&str]| {
        let mut f = flow(id, Some(bytes));
        f["forward"] = names.iter().map(|n| json!({"link": n})).collect();
        f["reverse"] = names.iter().rev().map(|n| json!({"link": format!("{n}-back")})).collect();
        f["profile"] = json!(pick(rng, &["rfc", "linux", "ns3"]));
        f["cc"] = json!({"name": pick(rng, &["newreno", "cubic", "bbr1"])});
        f["mss"] = json!(pick(rng, &[300, 1000, 1448]));
        f
    };
    let mut flows = vec![leg(rng, "0", &LINKS), leg(rng, "0/source", &LINKS[..1]), leg(rng, "0/sink", &LINKS[1..])];
    flows[0]["relay"] = json!({"legs": ["0/source", "0/sink"],
        "buffer_bytes": pick(rng, &[65_535, 100_000, 4_000_000]),
        "opening": pick(rng, &["transparent", "accepted", "lazy", "syn_forward"]),
        "delay_ns": pick(rng, &[0, 0, 1_000, 7 * MS]),
        "per_segment_ns": pick(rng, &[0, 0, 10_000, 2 * MS])});
    document(3_000_000, links, flows)
}

/// What holds at any time, between the bytes that the relay took over and those that its other leg has.
fn looked_at(run: &Sim, buffer: u64, what: &str) {
    let (before, behind) = (run.flow_state(1), run.flow_state(2));
    let [first, second] = [before, behind].map(|leg| leg.sent - leg.retransmitted);
    let now = run.now();
    // Nothing is made up: the sink has what was sent to it, which the relay has taken over, which was sent.
    assert!(behind.received <= second && second <= before.received && before.received <= first, "{now:?}: {what}");
    // Held are at least those that the sink has not got, and the source was never promised more than there is room for.
    assert!(before.received - behind.received <= buffer, "{now:?}, {before:?}, {behind:?}: {what}");
    assert!(first <= behind.received + buffer, "{now:?}, {before:?}, {behind:?}: {what}");
}

#[test]
fn every_byte_is_delivered_held_or_in_flight() {
    for seed in 1..=cases(300) {
        let mut rng = Stream::named(seed, 0, "relays");
        let bytes = 1 + rng.below(3_000_000);
        let d = split(&mut rng, bytes);
        let buffer = d["flows"][0]["relay"]["buffer_bytes"].as_u64().unwrap();
        let what = format!("seed {seed}: {d}");
        let mut run = sim(&d);
        while !run.flow_state(0).completed && run.next_event().is_some() {
            let next = Time(run.now().0 + 1 + rng.below(100 * MS));
            run.run_until(next);
            looked_at(&run, buffer, &what);
        }
        run.run(|| false).unwrap();
        let out = run.output();
        let failed: Vec<_> = out.flows.iter().filter_map(|f| f.failed.as_deref()).collect();
        assert!(failed.is_empty(), "{failed:?}, {what}");
        let got: Vec<u64> = out.flows.iter().map(|f| f.goodput_bytes).collect();
        assert_eq!(got, [bytes; 3], "{what}");
        assert!(out.flows.iter().all(|f| f.completed && f.end_s.is_some()), "{what}");
        let lost = out.measures.iter().find(|m| m.name == "acked_undelivered_bytes").unwrap().value;
        assert_eq!(lost, 0.0, "{what}");
    }
}

#[test]
fn a_full_buffer_closes_the_window_until_the_leg_behind_has_room() {
    // 400 kbit/s behind, 50 Mbit/s before: the buffer is full after a moment, and then what comes is what leaves.
    let mut d = split(&mut Stream::named(1, 0, "relays"), 2_000_000);
    let slow = [("core", 50_000_000), ("core-back", 50_000_000), ("radio", 400_000), ("radio-back", 400_000)];
    d["links"] = slow.iter().map(|(id, rate)| link(id, *rate, 5, 500)).collect();
    d["flows"][0]["relay"] = json!({"legs": ["0/source", "0/sink"], "buffer_bytes": 200_000});
    for f in d["flows"].as_array_mut().unwrap() {
        (f["profile"], f["cc"], f["mss"]) = (json!("linux"), json!({"name": "cubic"}), json!(1448));
    }
    let mut run = sim(&d);
    run.run_until(Time(5_000 * MS));
    let mut before = (run.flow_state(1), run.flow_state(2));
    for second in 6..30 {
        run.run_until(Time(second * 1_000 * MS));
        let after = (run.flow_state(1), run.flow_state(2));
        let (came, left) = (after.0.received - before.0.received, after.1.received - before.1.received);
        assert!(came.abs_diff(left) <= 2 * 2 * 1448 && left > 40_000, "{second} s: {came} came, {left} left");
        assert!(after.0.received - after.1.received > 200_000 - 4 * 1448, "{second} s: the buffer is full");
        before = after;
    }
}
