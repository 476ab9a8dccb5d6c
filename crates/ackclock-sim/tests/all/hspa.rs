//! A transfer over HSPA: its rate, and what is refused.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, flow, play};
use ackclock_sim::{Run, Sim};
use serde_json::{Value, json};

/// One user of 3 Mbit/s, whose bulk flow comes over a wire of 15 ms each way.
fn over_hspa() -> Value {
    let queue = json!({"kind": "droptail", "limit_bytes": 256_000});
    let mut f = flow("0", None);
    f["forward"] = json!([{"delay_ns": 15 * MS}, {"element": {"id": "cell", "port": 0}}]);
    f["reverse"] = json!([{"element": {"id": "cell", "port": 1}}, {"delay_ns": 15 * MS}]);
    let mut run = document(30_000, Vec::new(), vec![f]);
    run["warmup_ns"] = json!(10_000 * MS);
    run["hspa"] = json!([{"id": "cell", "users": 1, "down_bps": 3_000_000, "up_bps": 1_000_000, "delay_ns": 35 * MS,
        "jitter_ns": 10 * MS, "down_queue": queue, "up_queue": queue}]);
    run
}

#[test]
fn a_bulk_flow_has_the_rate_less_its_headers() {
    let out = play(&over_hspa());
    // A segment of 1000 bytes has 12 of timestamps and 40 of headers.
    let expected = 3e6 / 8.0 * 20.0 * 1000.0 / 1052.0;
    let got = out.flows[0].goodput_bytes as f64;
    assert!((got / expected - 1.0).abs() < 0.005, "{got}, not {expected}");
}

#[test]
fn what_is_refused() {
    let refused = |change: fn(&mut Value)| {
        let mut run = over_hspa();
        change(&mut run["hspa"]);
        Sim::new(&Run::from_json(&run.to_string()).unwrap()).err().unwrap().to_string()
    };
    assert_eq!(refused(|h| h[0]["down_bps"] = json!(5)), "hspa.0.down_bps: 5 bit/s is outside 1000..1000000000");
    assert_eq!(refused(|h| h[0]["users"] = json!(0)), "hspa.0.users: a cell has 1 to 10000 users, not 0");
    let twice = refused(|h| *h = json!([h[0], h[0]]));
    assert_eq!(twice, "hspa.1.id: two elements have the id 'cell'");
    assert!(refused(|h| h[0]["up_queue"]["kind"] = json!("x")).starts_with("hspa.0.up_queue"));
}
