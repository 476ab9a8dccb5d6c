//! Probe points: what is seen there is what happens, and looking changes nothing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use ackclock_core::tcp::Cause;
use ackclock_sim::tap::{Sight, Tap, points};
use ackclock_sim::{Run, Sim};
use std::sync::{Arc, Mutex};

/// Two flows through a bottleneck with this queue; packets are lost behind it, and some come twice.
fn run(queue: &str, capture: &str) -> Run {
    let flow = |id: &str| {
        format!(
            r#"{{"id": "{id}", "forward": [{{"link": "there"}}], "reverse": [{{"delay_ns": 10000000}}],
            "start": {{"at_ns": 0}}, "app": {{"kind": "bulk"}}, "mss": 1448, "profile": "linux", "cc": {{"name": "cubic"}}}}"#
        )
    };
    let text = format!(
        r#"{{"format": 1, "seed": 3, "duration_ns": 5000000000, {capture}
        "links": [{{"id": "there", "rate_bps": 20000000, "delay_ns": 10000000, "overhead_bytes": 0, "queue": {queue},
        "loss": {{"kind": "bernoulli", "p": 0.001}}, "duplicate": 0.001}}],
        "flows": [{}, {}], "engine": {{"log_deliveries": true}}}}"#,
        flow("a"),
        flow("b")
    );
    Run::from_json(&text).unwrap()
}

struct Kept(Arc<Mutex<Vec<Sight>>>);

impl Tap for Kept {
    fn see(&mut self, sight: &Sight) {
        self.0.lock().unwrap().push(*sight);
    }
}

const QUEUES: [&str; 3] = [
    r#"{"kind": "codel", "limit_packets": 1000}"#,
    r#"{"kind": "fq_codel", "limit_packets": 1000}"#,
    r#"{"kind": "droptail", "limit_packets": 40}"#,
];

#[test]
fn looking_changes_nothing_and_sees_what_happens() {
    for queue in QUEUES {
        let mut plain = Sim::new(&run(queue, "")).unwrap();
        plain.run(|| false).unwrap();
        let spec = run(queue, r#""capture": ["flows.b", "links"],"#);
        let names = ["flows.b.source", "flows.b.sink", "links.there.in", "links.there.out"];
        assert_eq!(points(&spec).unwrap(), names);
        let mut watched = Sim::new(&spec).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        watched.set_tap(Box::new(Kept(seen.clone())));
        watched.run(|| false).unwrap();
        assert!(plain.take_deliveries() == watched.take_deliveries(), "{queue}");

        let seen = seen.lock().unwrap();
        assert!(seen.windows(2).all(|pair| pair[0].at <= pair[1].at), "{queue}: in order");
        let out = watched.output();
        let link = &out.links[0];
        let at = |point| seen.iter().filter(move |sight| sight.point == point);
        let lost = at(2).filter(|sight| sight.dropped == Some("lost")).count() as u64;
        let dropped = at(2).filter(|sight| sight.dropped.is_some()).count() as u64 - lost;
        assert_eq!((lost, dropped), (link.lost, link.drops), "{queue}");
        assert!(dropped > 0 && lost > 0, "{queue}");
        let copies = at(3).filter(|sight| sight.copy).count() as u64;
        assert_eq!(copies, link.duplicated, "{queue}");
        // A copy has the number of what it is a copy of.
        for copy in at(3).filter(|sight| sight.copy) {
            assert!(at(3).any(|sight| !sight.copy && (sight.id, sight.packet) == (copy.id, copy.packet)));
        }
        let again = at(0).filter(|sight| sight.repeated.is_some()).count() as u64;
        let flow = &out.flows[1];
        assert_eq!(again, flow.retransmitted_segments, "{queue}");
        let timeouts = at(0).filter(|sight| sight.repeated == Some(Cause::Timeout)).count() as u64;
        assert!(timeouts <= flow.timeouts, "{queue}");
    }
}

#[test]
fn what_is_not_there_cannot_be_captured() {
    let problem = |capture: &str| Sim::new(&run(QUEUES[0], capture)).map(|_| ()).unwrap_err().to_string();
    assert_eq!(problem(r#""capture": ["links.x"],"#), "capture.0: no link has the id 'x'; there are there");
    assert_eq!(problem(r#""capture": ["flows", "flows.c"],"#), "capture.1: no flow has the id 'c'; there are a, b");
    assert!(problem(r#""capture": ["paths"],"#).contains("'paths' cannot be captured; write flows, links"));
}
