//! No packet costs an allocation once a run has found its size.
#![allow(clippy::unwrap_used)]

use crate::allocator::allocations;
use crate::common::{MS, document, flow, link, sim};
use ackclock_core::time::Time;
use serde_json::{Value, json};

/// Allocations between `from` and `to` seconds, and packets delivered to endpoints meanwhile, about.
fn steady_state(d: &Value, from: u64, to: u64) -> (u64, u64) {
    let mut sim = sim(d);
    sim.run_until(Time(from * 1000 * MS));
    let (before, visits) = (allocations(), sim.visits());
    sim.run_until(Time(to * 1000 * MS));
    (allocations() - before, sim.visits() - visits)
}

fn flows(n: u64, profile: &str, cc: &str) -> Value {
    let links = vec![link("out", 50_000_000, 10, 80), link("back", 50_000_000, 10, 1000)];
    let flows = (0..n).map(|i| {
        let mut f = flow(&i.to_string(), None);
        (f["profile"], f["cc"]["name"]) = (json!(profile), json!(cc));
        f["start"] = json!({"uniform_ns": [0, 100 * MS]});
        f
    });
    document(900_000, links, flows.collect())
}

#[test]
fn after_the_warm_up_nothing_is_allocated() {
    let before = allocations();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert!(allocations() > before, "the counter counts");
    // Behind RED some window is a record of its own late in the run, the more rarely the later.
    for (kind, order, from) in [("fq_codel", true, 200), ("fq_codel", false, 200), ("red", true, 800)] {
        let mut d = flows(20, "linux", "cubic");
        let out = &mut d["links"][0];
        out["queue"] = json!({"kind": kind, "limit_packets": 80});
        out["jitter"] = json!({"kind": "uniform", "low_ns": 0, "high_ns": MS / 10});
        out["preserve_order"] = json!(order);
        let (allocated, events) = steady_state(&d, from, from + 15);
        assert!(events > 100_000, "{events} events");
        assert_eq!(allocated, 0, "{kind}, order {order}, {events} events");
    }
    for (n, profile, cc) in [
        (1, "rfc", "newreno"),
        (1, "linux", "cubic"),
        (20, "rfc", "newreno"),
        (20, "linux", "cubic"),
        (20, "ns2", "tahoe"),
    ] {
        for fused in [true, false] {
            let mut d = flows(n, profile, cc);
            d["engine"] = json!({"fused": fused});
            // Longest queues and reassembly lists are met after a while, the more flows the later.
            let (from, to) = if n == 1 { (60, 90) } else { (200, 215) };
            let (allocated, events) = steady_state(&d, from, to);
            assert!(events > 100_000, "{events} events");
            assert_eq!(allocated, 0, "{n} flows of {cc} under {profile}, fused {fused}, {events} events");
        }
    }
}
