//! What holds for every run holds for runs with all kinds of applications.
#![allow(clippy::unwrap_used)]

use crate::common::applications::random_run;
use crate::common::{MS, cases, document, flow, link, play, share, sim, tables};
use ackclock_core::app::web::report::Outcome;
use ackclock_core::time::Time;
use ackclock_sim::{Output, Sim};
use serde_json::json;

/// Everything but the number of events.
fn all(o: &Output) -> String {
    format!("{}\n{:?}\n{:?}", tables(o), o.transfers, o.pages)
}

/// Without saying which datagrams still in a queue the medium is going to lose: only a link that is solved on arrival
/// knows.
fn undecided(mut o: Output) -> Output {
    for p in o.flows.iter_mut().filter_map(|f| f.datagrams.as_mut()) {
        (p.lost, p.in_flight) = (0, p.lost + p.in_flight);
    }
    o
}

#[test]
fn a_run_is_a_value() {
    for seed in 0..cases(120) {
        let mut d = random_run(seed);
        let whole = play(&d);
        assert_eq!(all(&play(&d)), all(&whole));
        let mut parts = sim(&d);
        for ms in [1, 50, 51, 300, 10_000] {
            parts.run_until(Time(ms * MS));
        }
        parts.run(|| false).unwrap();
        assert_eq!(all(&parts.output()), all(&whole), "{d}");
        d["engine"] = json!({"fused": false});
        let whole = undecided(whole);
        assert_eq!(all(&undecided(play(&d))), all(&whole), "{d}");
        d["probes"] = json!({});
        let silent = undecided(play(&d));
        let rows = |o: &Output| format!("{:?} {:?} {:?}", o.flows, o.links, o.transfers);
        assert_eq!(rows(&silent), rows(&whole), "{d}");
    }
}

#[test]
fn nothing_is_created_and_nothing_vanishes() {
    let mut met = [0; 4];
    for seed in 0..cases(200) {
        let mut d = random_run(seed);
        d["warmup_ns"] = json!(0);
        let out = play(&d);
        for (i, f) in out.flows.iter().enumerate() {
            let fresh = f.sent_bytes - f.retransmitted_bytes;
            assert!(f.goodput_bytes <= fresh, "{f:?}");
            if let Some(p) = f.datagrams {
                assert_eq!(f.received_packets.unwrap() + p.lost + p.in_flight, f.sent_segments, "{f:?}");
                met[0] += p.lost;
                met[1] += p.in_flight;
            }
            let own = || out.transfers.iter().filter(|t| t.flow as usize == i);
            if let Some(t) = f.transfers {
                assert_eq!(
                    (t.begun, t.completed),
                    (own().count() as u64, own().filter_map(|t| t.end_s).count() as u64)
                );
                let done: u64 = own().filter(|t| t.end_s.is_some()).map(|t| t.bytes).sum();
                assert!(done <= f.goodput_bytes && f.goodput_bytes <= own().map(|t| t.bytes).sum(), "{f:?}");
                met[2] += t.completed;
                met[3] += t.begun - t.completed;
            }
            assert!(own().all(|t| t.fct_s.is_none_or(|fct| fct > 0.0)));
        }
    }
    assert!(met.iter().all(|n| *n > share(100, 200)), "lost, in flight, completed, not completed: {met:?}");
}

#[test]
fn when_all_sources_have_stopped_nothing_is_left() {
    for seed in 0..cases(100) {
        let mut d = random_run(seed);
        for f in d["flows"].as_array_mut().unwrap() {
            f["stop_ns"] = json!(1000 * MS);
        }
        (d["duration_ns"], d["probes"]) = (json!(1_000_000_000_000u64), json!({}));
        let mut s: Sim = sim(&d);
        s.run(|| false).unwrap();
        assert!(s.packets_in_flight() <= 1, "{} packets\n{d}", s.packets_in_flight());
        let out = s.output();
        // A page can be given up, for the next one or because its connections fail.
        let given_up = |flow: usize| {
            let outcomes = out.pages.iter().filter(|row| row.flow as usize == flow).map(|row| row.page.outcome);
            outcomes.into_iter().any(|of| matches!(of, Outcome::Aborted | Outcome::Failed))
        };
        assert!(out.pages.iter().all(|row| row.page.end.is_some()));
        for (i, f) in out.flows.iter().enumerate().filter(|(i, _)| !given_up(*i)) {
            let none = f.transfers.is_some_and(|t| t.begun == 0);
            assert!(f.completed || f.datagrams.is_some() || none, "{i}: {f:?}\n{d}");
        }
        let ends = |flow: usize| out.flows[flow].transfers.is_some() && !given_up(flow);
        assert!(out.transfers.iter().all(|t| t.end_s.is_some() || !ends(t.flow as usize)));
    }
}

#[test]
fn packets_of_transfers_have_the_class_of_their_flow() {
    // Strict priority: the files do not feel the datagrams that fill the link.
    let mut links = vec![link("out", 8_000_000, 10, 50), link("back", 8_000_000, 10, 50)];
    (links[0]["queue"]["kind"], links[0]["queue"]["params"]) = (json!("priority"), json!({"full": "lowest"}));
    let mut files = flow("files", None);
    files["app"] =
        json!({"kind": "files", "arrivals": {"every_ns": 300 * MS}, "size": {"kind": "constant", "value": 20_000}});
    let mut flood = flow("flood", None);
    flood["app"] = json!({"kind": "cbr", "transport": "udp", "rate_bps": 9_000_000, "packet_bytes": 1000});
    flood["class"] = json!(1);
    let slowest = |files_class: u64| {
        let mut f = files.clone();
        f["class"] = json!(files_class);
        let out = play(&document(5000, links.clone(), vec![flood.clone(), f]));
        let t = out.flows[1].transfers.unwrap();
        (t.completed, t.fct_s.unwrap()[3])
    };
    let (first, second) = (slowest(0), slowest(1));
    assert!(first.0 == 17 && first.1 < 0.07 && second.0 < 17, "{first:?} {second:?}");
}
