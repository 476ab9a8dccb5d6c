//! Controllers that aim at a queue of their own: what waits in the steady state.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, flow, link, play};
use ackclock_sim::Output;
use serde_json::{Value, json};

/// Flows of 1000-byte segments over `mbps` Mbit/s and 40 ms with room for 1000 packets, one every `apart_ms`, measured
/// from 60 s to 120 s.
fn steady(mbps: u64, apart_ms: u64, ccs: &[Value]) -> Output {
    let links = vec![link("out", mbps * 1_000_000, 20, 1000), link("back", 1_000_000_000, 20, 1000)];
    let flows = ccs.iter().enumerate().map(|(i, cc)| {
        let mut f = flow(&i.to_string(), None);
        f["cc"] = cc.clone();
        f["start"] = json!({"at_ns": apart_ms * i as u64 * MS});
        f
    });
    let mut d = document(120_000, links, flows.collect());
    d["warmup_ns"] = json!(60_000 * MS);
    play(&d)
}

fn fast(variant: &str, alpha: u64) -> Value {
    json!({"name": "fast", "params": {"variant": variant, "alpha": alpha}})
}

/// Packets of 1000 bytes that a flow has in queues: w (1 - baseRTT/RTT).
fn backlog(out: &Output, flow: usize) -> f64 {
    let f = &out.flows[flow];
    f.mean_cwnd_bytes / 1000.0 * (1.0 - f.min_rtt_s.unwrap() / f.mean_rtt_s.unwrap())
}

#[test]
fn fast_keeps_alpha_packets_in_the_queue() {
    for (variant, alpha) in [("paper", 50), ("paper", 200), ("ns2", 50), ("ns2", 200)] {
        let out = steady(20, 0, &[fast(variant, alpha)]);
        let (kept, queue) = (backlog(&out, 0), out.links[0].mean_queue_packets);
        // The queue and the window both end at a whole packet.
        assert!((kept - alpha as f64).abs() < 1.5, "{variant} {alpha}: {kept}");
        assert!((queue - alpha as f64).abs() < 2.0, "{variant} {alpha}: {queue}");
        assert!(out.links[0].utilisation.unwrap() > 0.999 && out.links[0].drops == 0);
    }
}

#[test]
fn flows_of_fast_that_know_the_empty_path_keep_alpha_packets_each() {
    for variant in ["paper", "ns2"] {
        let out = steady(20, 0, &[fast(variant, 50), fast(variant, 50), fast(variant, 50)]);
        let queue = out.links[0].mean_queue_packets;
        // Their first bursts queue behind one another: some base RTTs are a few packets too long.
        assert!((queue / 150.0 - 1.0).abs() < 0.06, "{variant}: {queue}");
        let total: f64 = out.flows.iter().map(|f| f.goodput_bps).sum();
        for f in &out.flows {
            assert!((f.goodput_bps * 3.0 / total - 1.0).abs() < 0.06, "{variant}: {f:?}");
        }
    }
}

#[test]
fn a_late_flow_of_fast_takes_the_queue_it_finds_for_the_path() {
    // x q = α for the first and x (q - α/C) = α for the second flow, x1 + x2 = C: with u = q C/α,
    // 1/u + 1/(u - 1) = 1, so u = (3 + √5)/2 = 2.618, and the first flow gets 1/u of the link.
    for variant in ["paper", "ns2"] {
        let out = steady(20, 20_000, &[fast(variant, 50), fast(variant, 50)]);
        let share = out.flows[0].goodput_bps / (out.flows[0].goodput_bps + out.flows[1].goodput_bps);
        let queue = out.links[0].mean_queue_packets;
        assert!((share * 2.618 - 1.0).abs() < 0.03, "{variant}: {share}");
        assert!((queue / 50.0 / 2.618 - 1.0).abs() < 0.04, "{variant}: {queue}");
    }
}

#[test]
fn vegas_keeps_its_backlog_between_alpha_and_beta() {
    for (alpha, beta) in [(1, 3), (2, 4), (10, 14)] {
        let out = steady(20, 0, &[json!({"name": "vegas", "params": {"alpha": alpha, "beta": beta}})]);
        // The packet in transmission counts as queued but not as backlog; segments come by twos, of which the second waits for
        // the first, half a packet on average. The window is whole packets, and so is what is left.
        let backlog = out.links[0].mean_queue_packets - 1.5;
        let whole = backlog.round();
        assert!((backlog - whole).abs() < 0.1, "{alpha} {beta}: {backlog}");
        assert!(whole >= alpha as f64 && whole <= beta as f64, "{alpha} {beta}: {backlog}");
        assert!(out.links[0].utilisation.unwrap() > 0.999 && out.links[0].drops == 0);
    }
}

#[test]
fn ledbat_holds_its_target() {
    for (target, slow_start) in [(100, false), (100, true), (60, false)] {
        let params = json!({"target": target * MS, "slow_start": slow_start});
        let out = steady(4, 0, &[json!({"name": "ledbat", "params": params})]);
        let delay = out.links[0].queue_delay_s.unwrap()[0] * 1e3;
        // Its clock ticks once in a millisecond, a packet takes two.
        assert!((delay - target as f64).abs() < 2.0, "{target} ms: {delay}");
        assert!(out.links[0].utilisation.unwrap() > 0.999 && out.links[0].drops == 0);
    }
}

#[test]
fn ledbat_yields_to_reno() {
    let out = steady(4, 20_000, &[json!({"name": "ledbat"}), json!({"name": "newreno"})]);
    assert!(out.flows[0].goodput_bps < 0.02 * out.flows[1].goodput_bps, "{:?}", out.flows);
}
