//! A run is a value: the same document gives the same results to the last bit, wherever and next to whatever.
#![allow(clippy::unwrap_used)]

use crate::common::rich::rich_document;
use crate::common::{MS, cases, document, flow, hash, link, play, random_document, sim, tables};
use serde_json::{Value, json};

/// Plain links and any links, by turns.
fn any_document(seed: u64) -> Value {
    if seed % 2 == 0 { random_document(seed) } else { rich_document(seed) }
}

#[test]
fn the_same_document_gives_the_same_result_in_any_thread() {
    let documents: Vec<Value> = (0..cases(800)).map(any_document).collect();
    let alone: Vec<u64> = documents.iter().map(|d| hash(&tables(&play(d)))).collect();
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                // The other way round, so that nothing a thread did before can matter.
                for (d, expected) in documents.iter().zip(&alone).rev() {
                    assert_eq!(hash(&tables(&play(d))), *expected, "{d}");
                }
            });
        }
    });
    let mut distinct = alone.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() * 100 >= 95 * alone.len(), "{} of {} results differ", distinct.len(), alone.len());
}

#[test]
fn a_run_can_be_played_in_parts() {
    for seed in 0..cases(500) {
        let d = any_document(seed);
        let mut parts = sim(&d);
        for ms in [1, 50, 51, 300, 10_000] {
            parts.run_until(ackclock_core::time::Time(ms * MS));
        }
        parts.run(|| false).unwrap();
        assert_eq!(tables(&parts.output()), tables(&play(&d)), "{d}");
    }
}

#[test]
fn recording_changes_nothing() {
    for seed in 0..cases(750) {
        let mut d = any_document(seed);
        let recorded = play(&d);
        d["probes"] = json!({});
        let silent = play(&d);
        assert!(silent.series.is_empty());
        let rows = |o: &ackclock_sim::Output| format!("{:?} {:?}", o.flows, o.links);
        assert_eq!(rows(&recorded), rows(&silent), "{d}");
    }
}

/// Three flows with random starts through a link with random loss; the middle one under `cc`.
fn three(cc: &str, seed: u64) -> Value {
    let mut flows = ["0", "1", "2"].map(|id| flow(id, None));
    for f in &mut flows {
        f["start"] = json!({"uniform_ns": [0, 1000 * MS]});
    }
    flows[1]["cc"] = json!({"name": cc});
    let mut out = link("out", 10_000_000, 10, 50);
    out["loss"] = json!({"kind": "bernoulli", "p": 0.01});
    let mut d = document(3000, vec![out, link("back", 10_000_000, 10, 50)], flows.to_vec());
    d["seed"] = json!(seed);
    d
}

#[test]
fn the_controller_changes_nobodys_draws() {
    for seed in 0..20 {
        let starts = |cc: &str| play(&three(cc, seed)).flows.iter().map(|f| f.start_s).collect::<Vec<_>>();
        let with_reno = starts("reno");
        assert_eq!(with_reno, starts("cubic"));
        assert_eq!(with_reno, starts("tahoe"));
        assert_ne!(with_reno, play(&three("reno", seed + 100)).flows.iter().map(|f| f.start_s).collect::<Vec<_>>());
    }
}

#[test]
fn a_flow_keeps_its_draws_when_others_come_and_go() {
    let whole = play(&three("reno", 5));
    let mut fewer = three("reno", 5);
    fewer["flows"].as_array_mut().unwrap().remove(0);
    let fewer = play(&fewer);
    assert_eq!((&fewer.flows[0].id, fewer.flows[0].start_s), (&whole.flows[1].id, whole.flows[1].start_s));
    assert_eq!(fewer.flows[1].start_s, whole.flows[2].start_s);
}

#[test]
fn seed_and_replication_draw_anew() {
    let mut d = three("reno", 5);
    let first = play(&d);
    d["run"] = json!(1);
    let second = play(&d);
    d["run"] = json!(0);
    d["seed"] = json!(6);
    let third = play(&d);
    let starts = [&first, &second, &third].map(|o| o.flows[0].start_s);
    assert!(starts[0] != starts[1] && starts[0] != starts[2] && starts[1] != starts[2], "{starts:?}");
}
