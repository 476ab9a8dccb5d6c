//! Random networks of everything a link can be: every queue with ECN or without, rates that change, traces, token buckets,
//! jitter, reordering, duplicates, bursts of losses and events.

use super::{MS, pick, random_document};
use ackclock_core::queue::registry::DISCIPLINES;
use ackclock_core::rng::Stream;
use serde_json::{Value, json};

/// No packet of these networks is longer.
const PACKET: u64 = 1600;

fn queue(rng: &mut Stream) -> Value {
    let kind = pick(rng, DISCIPLINES);
    let mut q = json!({"kind": kind.name, "packet_bytes": PACKET});
    let limits = [json!({"limit_packets": 2 + rng.below(60)}), json!({"limit_bytes": 2 * PACKET + rng.below(60_000)})];
    for (key, limit) in pick(rng, &limits).as_object().into_iter().flatten() {
        q[key] = limit.clone();
    }
    let mut params = serde_json::Map::new();
    if kind.params.iter().any(|p| p.name == "ecn") {
        params.insert("ecn".to_owned(), json!(rng.below(3) > 0));
    }
    if kind.name == "droptail" {
        params.insert("drop".to_owned(), json!(pick(rng, &["tail", "head", "random"])));
        params.insert("max_age".to_owned(), json!(rng.below(2) * rng.below(200 * MS)));
    }
    q["params"] = json!(params);
    if rng.below(3) == 0 {
        q["weights"] = json!([1.0, 3.0, 0.5]);
    }
    q
}

fn pace(rng: &mut Stream, l: &mut Value) {
    let rate = *pick(rng, &[400_000, 7_777_777, 20_000_000, 100_000_000]);
    let burst = PACKET + rng.below(20_000);
    l["rate_bps"] = json!(null);
    match rng.below(6) {
        0 => {
            let at = 1 + rng.below(300 * MS);
            let middle = *pick(rng, &[0, 1_000_000, 50_000_000]);
            let steps = json!([[0, rate], [at, middle], [at + 1 + rng.below(200 * MS), rate / 2]]);
            let periods = [json!(null), json!(at + 1000 * MS)];
            l["schedule"] = json!({"steps": steps, "period_ns": pick(rng, &periods)});
        }
        1 => {
            let mut ms = 0;
            let mut times: Vec<u64> = (0..1 + rng.below(80))
                .map(|_| {
                    ms += rng.below(3) * rng.below(4);
                    ms
                })
                .collect();
            times.push(ms + 1);
            l["trace"] = json!({"times_ms": times, "opportunity_bytes": pick(rng, &[1500, 1504, 700])});
        }
        2 => {
            l["rate_bps"] = json!(100_000_000);
            l["shaper"] = json!({"rate_bps": rate, "burst_bytes": burst});
        }
        3 => {
            l["rate_bps"] = json!(rate);
            l["policer"] = json!({"rate_bps": 400_000 + rng.below(rate), "burst_bytes": burst});
        }
        _ => l["rate_bps"] = json!(rate),
    }
}

fn jitter(rng: &mut Stream) -> Value {
    let laws = [
        json!({"kind": "uniform", "low_ns": 0, "high_ns": 5 * MS}),
        json!({"kind": "normal", "mean_ns": MS, "sd_ns": 2 * MS}),
        json!({"kind": "pareto", "scale_ns": MS / 10, "shape": 1.5}),
        json!({"kind": "exponential", "mean_ns": MS}),
        json!({"kind": "empirical", "values_ns": [0, 1, MS, 7 * MS]}),
    ];
    pick(rng, &laws).clone()
}

fn loss(rng: &mut Stream) -> Value {
    let losses = [
        json!({"kind": "bernoulli", "p": 0.01}),
        json!({"kind": "gilbert_elliott", "p": 0.01, "r": 0.4}),
        json!({"kind": "gilbert_elliott", "p": 0.02, "r": 0.5, "h": 0.5, "k": 0.999}),
        json!({"kind": "bit_errors", "ber": 1e-6}),
    ];
    pick(rng, &losses).clone()
}

fn medium(rng: &mut Stream, l: &mut Value) {
    if rng.below(3) == 0 {
        l["loss"] = loss(rng);
    }
    if rng.below(3) == 0 {
        l["jitter"] = jitter(rng);
    }
    l["preserve_order"] = json!(rng.below(2) == 0);
    if rng.below(4) == 0 {
        l["reorder"] = json!({"probability": 0.05, "extra_ns": rng.below(30 * MS)});
    }
    if rng.below(4) == 0 {
        l["duplicate"] = json!(0.03);
    }
    if rng.below(3) == 0 {
        let delay = l["delay_ns"].as_u64().unwrap() + rng.below(20 * MS);
        let later = delay - rng.below(delay - l["delay_ns"].as_u64().unwrap() + 1);
        let at = rng.below(400 * MS);
        l["events"] = json!([
            {"at_ns": at, "delay_ns": delay, "loss": loss(rng)},
            {"at_ns": at + rng.below(300 * MS), "delay_ns": later, "jitter": jitter(rng), "duplicate": 0.01},
            {"at_ns": at + 300 * MS, "reorder": {"probability": 0.02, "extra_ns": MS}, "loss": loss(rng)},
        ]);
    }
}

/// As [`random_document`], and each of its links is anything.
pub fn rich_document(seed: u64) -> Value {
    let mut d = random_document(seed);
    let rng = &mut Stream::named(seed, 0, "rich document");
    for l in d["links"].as_array_mut().unwrap() {
        let service = l["queue"]["limit_includes_service"].clone();
        l["queue"] = queue(rng);
        l["queue"]["limit_includes_service"] = service;
        pace(rng, l);
        medium(rng, l);
    }
    for f in d["flows"].as_array_mut().unwrap() {
        f["class"] = json!(rng.below(4));
    }
    d
}
