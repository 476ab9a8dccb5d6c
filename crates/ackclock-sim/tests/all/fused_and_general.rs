//! The fused link and the general one give the same packets at the same nanoseconds, in whole networks.
#![allow(clippy::unwrap_used)]

use crate::common::{Packet, cases, random_document, share, sim, tables};
use ackclock_sim::output::LinkRow;
use serde_json::{Value, json};

/// Tables and deliveries of a document under one of the two forms.
fn played(document: &Value, fused: bool) -> (String, Vec<Packet>, [u64; 4]) {
    let mut document = document.clone();
    document["engine"] = json!({"fused": fused, "log_deliveries": true});
    let mut sim = sim(&document);
    sim.run(|| false).unwrap();
    let deliveries = sim.take_deliveries();
    let out = sim.output();
    let links = |count: fn(&LinkRow) -> u64| out.links.iter().map(count).sum();
    let met = [deliveries.len() as u64, links(|l| l.drops), links(|l| l.lost), links(|l| l.marks)];
    (tables(&out), deliveries.iter().map(Packet::from).collect(), met)
}

/// Networks of the test at most.
const CASES: u64 = 600;

#[test]
fn random_networks_are_the_same_packet_by_packet() {
    let mut met = [0; 4];
    for seed in 0..cases(CASES) {
        let document = random_document(seed);
        let (fused, general) = (played(&document, true), played(&document, false));
        let differing = fused.1.iter().zip(&general.1).position(|(a, b)| a != b);
        if let Some(i) = differing {
            panic!("seed {seed}, delivery {i}: {:?} and {:?}\n{document}", fused.1[i], general.1[i]);
        }
        assert_eq!(fused.1.len(), general.1.len(), "seed {seed}: deliveries\n{document}");
        if fused.0 != general.0 {
            let lines = fused.0.lines().zip(general.0.lines()).find(|(a, b)| a != b);
            panic!("seed {seed}: {lines:?}\n{document}");
        }
        met = [0, 1, 2, 3].map(|i| met[i] + fused.2[i]);
    }
    let least = [100_000, 5000, 1000, 1000].map(|count| share(count, CASES));
    assert!(met.iter().zip(least).all(|(n, least)| *n > least), "deliveries, drops, losses, marks: {met:?}");
}
