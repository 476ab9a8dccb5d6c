//! Controllers that aim at a queue of their own: what waits in the steady state.
#![allow(clippy::unwrap_used)]

mod common;

use ackclock_sim::Output;
use common::{document, flow, link, play, MS};
use serde_json::{json, Value};

/// `flows` of 1000-byte segments over 20 Mbit/s and 40 ms with room for 1000 packets, measured from 30 s to 60 s.
fn steady(flows: &[Value], change: impl Fn(&mut Value)) -> Output {
    let links = vec![link("out", 20_000_000, 20, 1000), link("back", 1_000_000_000, 20, 1000)];
    let flows = flows.iter().enumerate().map(|(i, cc)| {
        let mut f = flow(&i.to_string(), None);
        f["cc"] = cc.clone();
        f["start"] = json!({"at_ns": 200 * i as u64 * MS});
        f["tcp"] = json!({"delayed_ack": 1});
        f
    });
    let mut d = document(60_000, links, flows.collect());
    d["warmup_ns"] = json!(30_000 * MS);
    change(&mut d);
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
        let out = steady(&[fast(variant, alpha)], |_| ());
        let kept = backlog(&out, 0);
        println!("{variant} {alpha}: {kept:.2} {}", out.links[0].mean_queue_packets);
        assert!((kept / alpha as f64 - 1.0).abs() < 0.03, "{variant} {alpha}: {kept}");
        assert!(out.links[0].utilisation.unwrap() > 0.999 && out.links[0].drops == 0);
    }
}
#[test]
fn flows_of_fast_add_their_packets() {
    for variant in ["paper", "ns2"] {
        let out = steady(&[fast(variant, 50), fast(variant, 50), fast(variant, 50)], |_| ());
        println!("{variant} {} {:?}", out.links[0].mean_queue_packets, out.flows.iter().map(|f| f.goodput_bps).collect::<Vec<_>>());
    }
}
#[test]
fn ledbat_holds_its_target() {
    for params in [json!({}), json!({"slow_start": true}), json!({"target": 50 * MS})] {
        let out = steady(&[json!({"name": "ledbat", "params": params})], |_| ());
        println!("{params} {:?} {} {}", out.links[0].queue_delay_s, out.links[0].utilisation.unwrap(), out.links[0].drops);
    }
}
