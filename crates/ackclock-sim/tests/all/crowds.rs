//! What a connection costs before it starts: memory per flow, which is the same every time.

use crate::allocator::live_bytes;
use ackclock_sim::{Run, Sim};
use serde_json::json;

/// A dumbbell of so many flows that start within its one second.
fn document(flows: usize) -> String {
    let hops = |link: &str| json!([{"link": link}]);
    let flow = |i: usize| {
        json!({
            "id": i.to_string(), "forward": hops("there"), "reverse": hops("back"),
            "start": {"uniform_ns": [0, 900_000_000]}, "app": {"kind": "bulk"}, "mss": 1448, "profile": "rfc",
            "tcp": {}, "cc": {"name": "newreno", "params": {}},
        })
    };
    let link = |id: &str| json!({"id": id, "rate_bps": 1_000_000_000u64, "delay_ns": 20_000_000, "queue": {"kind": "droptail", "limit_packets": 3303}});
    json!({
        "format": 1, "seed": 1, "duration_ns": 1_000_000_000u64, "links": [link("there"), link("back")],
        "flows": (0..flows).map(flow).collect::<Vec<_>>(),
    })
    .to_string()
}

/// Bytes that a network of so many flows has allocated before it is played.
fn bytes(flows: usize) -> usize {
    let run = Run::from_json(&document(flows)).unwrap();
    let before = live_bytes();
    let sim = Sim::new(&run).unwrap();
    let taken = live_bytes().wrapping_sub(before);
    drop(sim);
    taken
}

#[test]
fn flow_takes_at_most_six_kilobytes_before_it_starts() {
    let per_flow = (bytes(3000) - bytes(1000)) / 2000;
    println!("{per_flow} bytes per flow");
    assert!(per_flow <= 6_000, "{per_flow} bytes per flow");
}
