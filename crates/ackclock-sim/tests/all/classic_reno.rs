//! Two losses in one window, which tell the classic recoveries apart.
#![allow(clippy::unwrap_used)]

use ackclock_sim::{Output, Run, Sim};
use serde_json::json;

/// Segments 100 and 105 of a flow of 300 segments are lost.
fn two_losses(recovery: &str, careful: bool) -> Output {
    let doc = json!({"format": 1, "seed": 1, "duration_ns": 20_000_000_000u64,
        "links": [{"id": "bottleneck", "rate_bps": 10_000_000, "delay_ns": 20_000_000, "overhead_bytes": 14,
            "queue": {"kind": "droptail", "limit_packets": 1000},
            "loss": {"kind": "scripted", "drops": [{"flow": "0", "nth": 100}, {"flow": "0", "nth": 105}]}}],
        "flows": [{"id": "0", "forward": [{"link": "bottleneck"}], "reverse": [{"delay_ns": 20_000_000}],
            "start": {"at_ns": 0}, "app": {"kind": "bulk", "bytes": 434_400}, "mss": 1448,
            "tcp": {"recovery": recovery, "careful": careful}, "cc": {"name": "reno"}}]});
    let mut sim = Sim::new(&Run::from_json(&doc.to_string()).unwrap()).unwrap();
    sim.run(|| false).unwrap();
    sim.output()
}

#[test]
fn reno_to_the_letter_recovers_twice_and_careful_reno_waits_for_the_timer() {
    let row = |recovery, careful| {
        let f = two_losses(recovery, careful).flows[0].clone();
        assert!(f.completed);
        (f.recoveries, f.timeouts)
    };
    assert_eq!(row("reno", false), (2, 0));
    assert_eq!(row("reno", true), (1, 1));
    assert_eq!(row("newreno", false), (1, 0));
}
