//! Elements of the registry in routes of the simulator, and what is said of those that do not fit.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, Packet, document, flow, play, sim};
use ackclock_core::path::registry::ELEMENTS;
use ackclock_sim::{Run, Sim};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A transfer whose data goes through port 0 and whose acknowledgments go through port 1 of one channel.
fn shared_channel(bytes: u64) -> Value {
    let mut f = flow("0", Some(bytes));
    f["forward"] = json!([{"element": {"id": "air"}}, {"delay_ns": MS}]);
    f["reverse"] = json!([{"delay_ns": MS}, {"element": {"id": "air", "port": 1}}]);
    f["tcp"] = json!({"handshake": false, "iw": 3, "delayed_ack": 1, "timestamps": false});
    let mut d = document(10_000, vec![], vec![f]);
    // 8 Mbit/s: 1 us a byte, and 100 us between any two packets.
    d["elements"] = json!([{"id": "air", "kind": "half_duplex", "params": {"rate_bps": 8_000_000, "guard": 100_000}}]);
    d
}

#[test]
fn data_and_acknowledgments_share_a_channel() {
    let mut d = shared_channel(20_000);
    d["engine"] = json!({"log_deliveries": true});
    let mut sim = sim(&d);
    sim.run(|| false).unwrap();
    let all: Vec<Packet> = sim.take_deliveries().iter().map(Packet::from).collect();
    let server: Vec<u64> = all.iter().filter(|p| p.to_server).map(|p| p.at).collect();
    let client: Vec<u64> = all.iter().filter(|p| !p.to_server).map(|p| p.at).collect();
    // Three segments of 1040 bytes, the guard between them, and a millisecond.
    assert_eq!(server[..3], [2_040_000, 3_180_000, 4_320_000]);
    // The first acknowledgment, 40 bytes, reaches the channel a millisecond later and finds it guarded or free; what the sender
    // answers goes behind the acknowledgments that came before.
    let end_of_data = 3 * 1_040_000 + 2 * 100_000;
    assert_eq!(client[0], (2_040_000 + MS).max(end_of_data + 100_000) + 40_000);
    // Never two at once: whatever leaves the channel, the next has had its own time there.
    let on_air = |p: &Packet| (u64::from(p.len) + 40) * 1000;
    let mut leaves: Vec<(u64, u64)> =
        all.iter().map(|p| (p.at - if p.to_server { MS } else { 0 }, on_air(p))).collect();
    leaves.sort_unstable();
    assert!(leaves.windows(2).all(|w| w[1].0 - w[0].0 >= w[1].1 + 100_000), "{leaves:?}");
    assert!(play(&d).flows[0].completed);
}

#[test]
fn aggregation_delivers_in_groups() {
    let mut d = shared_channel(200_000);
    d["elements"] = json!([{"id": "air", "kind": "aggregate", "params": {"packets": 8, "timeout": 2 * MS}}]);
    let hop = json!({"element": {"id": "air"}});
    d["flows"][0]["forward"] = json!([{"delay_ns": MS}, hop]);
    d["flows"][0]["reverse"] = json!([{"delay_ns": MS}]);
    d["engine"] = json!({"log_deliveries": true});
    let mut sim = sim(&d);
    sim.run(|| false).unwrap();
    let all = sim.take_deliveries();
    let times: Vec<u64> = all.iter().filter(|a| a.to == 1).map(|a| a.at.0).collect();
    let distinct: BTreeSet<u64> = times.iter().copied().collect();
    let group = |t: &u64| times.iter().filter(|at| *at == t).count();
    assert_eq!(group(&times[0]), 3, "the initial window, when the first of it has waited long enough");
    assert_eq!(times[0], 3 * MS);
    assert!(distinct.len() * 4 < times.len() && distinct.iter().any(|t| group(t) == 8), "{times:?}");
    // Everything has the addresses of its connection.
    assert!(all.iter().all(|a| a.addresses == if a.to == 1 { all[0].addresses } else { all[0].addresses.reversed() }));
    assert_eq!(all[0].addresses.source.to_string(), "10.0.0.1");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refusal = |change: &dyn Fn(&mut Value)| {
        let mut d = shared_channel(1000);
        change(&mut d);
        let run = Run::from_json(&d.to_string()).unwrap();
        let refused = Sim::new(&run).err().unwrap();
        let checked =
            Sim::check_with(&run, &mut |f, _, profile, path| ackclock_sim::endpoint::controller(f, profile, path));
        assert_eq!(checked.err().map(|e| e.to_string()), Some(refused.to_string()));
        refused.to_string()
    };
    let has = |text: String, words: &[&str]| assert!(words.iter().all(|w| text.contains(w)), "{text}");
    has(
        refusal(&|d| d["elements"][0]["kind"] = json!("halfduplex")),
        &["elements.0.kind", "known are aggregate, half_duplex"],
    );
    has(refusal(&|d| d["elements"][0]["params"]["rate"] = json!(1)), &["elements.0.params.rate", "unknown parameter"]);
    has(refusal(&|d| d["elements"][0]["params"]["limit"] = json!(0)), &["elements.0.params", "limit"]);
    has(refusal(&|d| d["elements"][0]["id"] = json!("radio")), &["flows.0.forward", "no element has the id 'air'"]);
    has(
        refusal(&|d| d["flows"][0]["reverse"][1]["element"]["port"] = json!(2)),
        &["flows.0.reverse", "ports 0 to 1, not 2"],
    );
    let twice = |d: &mut Value| d["elements"] = json!([d["elements"][0], d["elements"][0]]);
    has(refusal(&twice), &["elements.1.id", "two elements have the id 'air'"]);
}

#[test]
fn every_kind_is_documented() {
    let page = include_str!("../../../../docs/path.md");
    for kind in ELEMENTS {
        assert!(page.contains(&format!("| `{}` |", kind.name)), "docs/path.md has no row for {}", kind.name);
        for p in kind.params {
            assert!(page.contains(&format!("`{}`", p.name)), "docs/path.md does not name {} of {}", p.name, kind.name);
        }
    }
}
