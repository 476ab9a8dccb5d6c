//! Random networks in which flows do all that an application can do.

use super::{MS, random_document};
use ackclock_core::rng::Stream;
use serde_json::{Value, json};

fn random_app(rng: &mut Stream) -> Value {
    let exponential = |mean: u64| json!({"kind": "exponential", "mean": mean});
    let bytes = 50 + rng.below(1400);
    let rate = 50_000 + rng.below(2_000_000);
    let mut packets = json!({"kind": "cbr", "transport": if rng.below(3) == 0 { "tcp" } else { "udp" },
        "rate_bps": rate, "packet_bytes": bytes, "jitter": rng.below(3) == 0, "ect": rng.below(2) == 0});
    if rng.below(2) == 0 {
        packets["kind"] = json!("on_off");
        packets["on"] = exponential(1 + rng.below(300 * MS));
        packets["off"] = json!({"kind": "pareto", "shape": 1.5, "mean": 1 + rng.below(300 * MS)});
    }
    let request = if rng.below(2) == 0 { json!(null) } else { json!(1 + rng.below(3000)) };
    let files = json!({"kind": "files", "arrivals": {"poisson_per_s": 1 + rng.below(30)}, "request_bytes": request,
        "size": {"kind": "pareto", "shape": 1.1, "min": 500, "max": 100_000}});
    let requests = json!({"kind": "request_response", "request": exponential(500), "response": exponential(20_000),
        "think": exponential(rng.below(2) * 100 * MS + 1)});
    let mut web = json!({"kind": "web", "main": exponential(5000), "embedded": exponential(20_000), "objects":
        {"kind": "pareto", "shape": 1.1, "min": 2, "max": 50}, "interval": exponential(500 * MS)});
    match rng.below(5) {
        0 => web["protocol"] = json!("h2"),
        1 => (web["protocol"], web["connections"]) = (json!("http1.0"), json!(3)),
        2 => (web["policy"], web["connections"]) = (json!("adaptive"), json!(6)),
        3 => (web["late"], web["connections"]) = (json!("abort"), json!(4)),
        _ => (web["preopen"], web["connections"]) = (json!(true), json!(2)),
    }
    [packets.clone(), packets, files, requests, web][rng.below(5) as usize].clone()
}

/// A random document in which every other flow does something else than sending in bulk.
pub fn random_run(seed: u64) -> Value {
    let mut d = random_document(seed);
    let mut rng = Stream::named(seed, 0, "random applications");
    let flows = d["flows"].as_array_mut().unwrap();
    let copies: Vec<Value> = flows.to_vec();
    for (n, mut f) in copies.into_iter().enumerate() {
        (f["id"], f["app"]) = (json!(format!("app {n}")), random_app(&mut rng));
        if rng.below(3) == 0 {
            let (a, b) = (rng.below(500) * MS, (500 + rng.below(500)) * MS);
            f["schedule"] = json!([[a, a + 200 * MS], [a + 300 * MS, b + 900 * MS], [b + 1000 * MS, null]]);
        }
        flows.push(f);
    }
    d
}
