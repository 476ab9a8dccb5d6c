//! Web pages from end to end: times computed by hand, and what holds for every protocol and number of connections.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, flow, link, play, sim};
use ackclock_core::app::web::report::Outcome;
use ackclock_core::time::{Span, Time};
use ackclock_sim::{Output, Run, Sim};
use serde_json::{Value, json};

const US: u64 = 1000;

/// 8 Mbit/s, a byte per microsecond, and a way back of unlimited rate, 10 ms each.
fn path(packets: u64) -> Vec<Value> {
    vec![link("out", 8_000_000, 10, packets), json!({"id": "back", "delay_ns": 10 * MS})]
}

fn constant(value: u64) -> Value {
    json!({"kind": "constant", "value": value})
}

/// Pages of 3000 bytes and some objects of 1000, with what else is given.
fn pages(objects: u64, more: &Value) -> Value {
    let mut f = flow("0", None);
    let mut app = json!({"kind": "web", "main": constant(3000), "objects": constant(objects), "embedded": constant(1000),
        "interval": constant(1000 * MS)});
    for (key, value) in more.as_object().unwrap() {
        app[key] = value.clone();
    }
    f["app"] = app;
    f["tcp"] = json!({"count_options": false, "header_bytes": 40, "handshake_ack": true, "handshake": true});
    f
}

fn at(us: u64) -> Time {
    Time(us * US)
}

#[test]
fn times_of_a_page() {
    let out = play(&document(900, path(100), vec![pages(1, &json!({"keep_objects": true}))]));
    let page = out.pages[0].page;
    // SYN 10, SYN-ACK 0.04 + 10: 20.04 ms. Request 10, three segments of 1.04 and 10: first 41.08, last 43.16. The other
    // object: 10 + 1.04 + 10.
    assert_eq!((page.start, page.end, page.outcome), (Time(0), Some(at(64_200)), Outcome::Completed));
    let split = page.split.unwrap();
    let parts = [split.handshake, split.queueing, split.first_byte, split.transfer, split.parse];
    assert_eq!(parts, [20_040, 0, 42_080, 2_080, 0].map(|us| Span(us * US)));
    let of = out.objects[1].object;
    let times = [of.opened, of.connected, of.known, of.requested, of.first_byte, of.done];
    let expected = [0, 20_040, 43_160, 43_160, 64_200, 64_200].map(|us| Some(at(us)));
    assert_eq!((times, of.parent, of.connection, out.objects.len()), (expected, Some(0), Some(0), 2));
    // A page is a transfer.
    let t = &out.transfers[0];
    assert!((t.fct_s.unwrap() - 0.0642).abs() < 1e-12 && t.bytes == 4000, "{t:?}");
    assert_eq!((out.flows[0].goodput_bytes, out.pages.len()), (4000, 1));
}

#[test]
fn a_second_connection_is_opened_when_the_main_object_has_come_or_before_it() {
    let split = |more: Value| {
        let out = play(&document(1000, path(100), vec![pages(2, &more)]));
        let page = out.pages[0].page;
        (
            page.connections,
            page.end.unwrap().0 / US,
            page.split.unwrap().queueing.0 / US,
            page.split.unwrap().handshake.0 / US,
        )
    };
    // Objects one after the other: the second waits 21.04 ms for the first.
    assert_eq!(split(json!({"connections": 1})), (1, 64_200 + 21_040, 21_040, 20_040));
    // The SYN leaves at 43.16, a moment behind the request; its answer waits behind the object and is there at 64.24, when
    // the first connection has been free for 0.04.
    assert_eq!(split(json!({"connections": 2})), (2, 85_240, 21_040, 20_040));
    // Bound to the second connection, the object waits for it: 21.08 of handshake.
    assert_eq!(split(json!({"connections": 2, "fixed_assignment": true})), (2, 85_280, 0, 20_040 + 21_080));
    // Both at once: their data one behind the other.
    assert_eq!(split(json!({"connections": 2, "preopen": true})), (2, 65_240, 0, 20_040));
}

/// Runs of every protocol over a link that loses packets.
fn runs() -> Vec<(&'static str, Output)> {
    let ways = [
        ("one", json!({"connections": 1})),
        ("four", json!({"connections": 4})),
        ("fixed", json!({"connections": 4, "fixed_assignment": true, "preopen": true})),
        ("old", json!({"connections": 4, "protocol": "http1.0"})),
        ("adaptive", json!({"connections": 8, "policy": "adaptive"})),
        ("learning", json!({"connections": 8, "policy": "loss"})),
        ("turns", json!({"protocol": "h2"})),
        ("row", json!({"protocol": "h2", "responses": "sequential"})),
        ("parsed", json!({"connections": 3, "parse_ns": 7 * MS})),
    ];
    let mut out = Vec::new();
    for (name, more) in ways {
        let mut f = pages(1, &more);
        f["app"]["objects"] = json!({"kind": "pareto", "shape": 1.1, "min": 2, "max": 50});
        f["app"]["embedded"] = json!({"kind": "exponential", "mean": 30_000});
        f["app"]["interval"] =
            json!({"kind": "exponential", "mean": 2e9, "min": 1e9, "max": 4e9, "truncation": "after"});
        f["app"]["keep_objects"] = json!(true);
        f["tcp"] = json!({"handshake": true});
        out.push((name, play(&document(60_000, path(20), vec![f]))));
    }
    out
}

#[test]
fn pages_are_the_same_for_all_and_their_times_add_up() {
    let all = runs();
    for (name, out) in &all {
        assert!(out.pages.len() > 20, "{name}: {} pages", out.pages.len());
        assert!(out.links[0].drops > 0, "{name}: nothing was lost");
        let (mut bytes, mut objects) = (0, 0);
        for row in out.pages.iter().map(|row| &row.page) {
            if let Some(first) = all[0].1.pages.get(row.number as usize).map(|row| row.page) {
                assert_eq!((row.bytes, row.objects), (first.bytes, first.objects), "{name}: page {}", row.number);
            }
            if let (Some(split), Some(end)) = (row.split, row.end) {
                assert_eq!(split.total(), end.since(row.start), "{name}: page {}", row.number);
                assert_eq!(row.done, row.objects);
                bytes += row.bytes;
            }
            objects += row.objects as usize;
            let most = match *name {
                "one" | "turns" | "row" => 1,
                "old" => row.objects,
                "adaptive" | "learning" => 8,
                _ => 4,
            };
            assert!(row.connections <= most, "{name}: {row:?}");
            assert!(*name != "old" || row.outcome != Outcome::Completed || row.connections == row.objects);
        }
        assert_eq!(out.objects.len(), objects);
        // What was delivered is pages; the last one may be under way.
        let last = out.pages.last().unwrap().page;
        let most = bytes + if last.outcome == Outcome::Completed { 0 } else { last.bytes };
        assert!((bytes..=most).contains(&out.flows[0].goodput_bytes), "{name}");
        for o in out.objects.iter().map(|row| &row.object).filter(|o| o.done.is_some()) {
            let order = [o.known, o.requested, o.first_byte, o.done];
            assert!(order.windows(2).all(|w| w[0] <= w[1]) && o.connected <= o.requested, "{name}: {o:?}");
        }
    }
    let parsed = &all.iter().find(|run| run.0 == "parsed").unwrap().1;
    assert!(parsed.pages.iter().filter_map(|row| row.page.split).all(|split| split.parse == Span(7 * MS)));
}

#[test]
fn over_one_connection_objects_come_in_turns_or_in_a_row() {
    let done = |responses: &str| {
        let mut f = pages(3, &json!({"protocol": "h2", "responses": responses, "keep_objects": true}));
        f["app"]["embedded"] = constant(200_000);
        let out = play(&document(5000, path(1000), vec![f]));
        let of = |n: usize| out.objects[n].object.done.unwrap().as_secs_f64();
        assert!(out.objects[1..4].iter().all(|row| row.object.requested == out.objects[0].object.done));
        [of(1), of(2), of(3)]
    };
    // 200 kB take 0.208 s of the link.
    let (turns, row) = (done("interleaved"), done("sequential"));
    assert!((row[1] - row[0] - 0.208).abs() < 0.01 && (row[2] - row[1] - 0.208).abs() < 0.01, "{row:?}");
    // Of the first, 64 kB are written before the other requests come. Then each has its turn: 65.5 + 3 * 134.5 = 469 kB
    // until it is done, and 131 kB, 0.136 s, of the others behind it, which end within two frames of each other.
    assert!((turns[2] - turns[0] - 0.136).abs() < 0.03 && turns[2] - turns[1] < 0.035, "{turns:?}");
    assert!(turns[0] < turns[1] && turns[1] < turns[2] && (turns[2] - row[2]).abs() < 0.03, "{turns:?} {row:?}");
}

/// An object that is asked for while others are under way takes its turn: the server is never far ahead of what it sends.
#[test]
fn a_late_request_takes_its_turn() {
    let objects = json!([
        {"name": "main", "bytes": 10_000},
        {"bytes": 2_000_000, "after": [0]},
        {"bytes": 1000, "after": [0]},
        {"bytes": 1000, "after": [2], "parse_ns": 1000 * MS},
    ]);
    let mut f = flow("0", None);
    f["app"] = json!({"kind": "web", "page": objects, "interval": constant(60_000 * MS), "protocol": "h2",
        "keep_objects": true});
    f["tcp"] = json!({"handshake": true});
    let out = play(&document(10_000, path(50), vec![f]));
    let late = out.objects[3].object;
    let waited = late.first_byte.unwrap().since(late.requested.unwrap());
    // A round trip of 20 ms, a queue of 50 packets, 64 kB ahead and a frame: 52 + 66 + 17 ms of the link.
    assert!(waited < Span(160 * MS), "{waited:?}");
    assert!(out.objects[1].object.done.unwrap() > late.done.unwrap() + Span(500 * MS));
}

#[test]
fn a_page_is_given_up_when_the_next_is_due_and_its_connections_with_it() {
    let mut f = pages(3, &json!({"connections": 2, "late": "abort"}));
    f["app"]["embedded"] = constant(2_000_000);
    let mut sim = sim(&document(3500, path(50), vec![f]));
    sim.run_until(Time(900 * MS));
    let (open, _) = sim.connections();
    assert_eq!(open, 2);
    sim.run(|| false).unwrap();
    assert!(sim.connections().1 <= 4, "places are used again: {:?}", sim.connections());
    let out = sim.output();
    let outcomes: Vec<_> = out.pages.iter().map(|row| row.page.outcome).collect();
    use Outcome::{Aborted, Unfinished};
    assert_eq!(outcomes, [Aborted, Aborted, Aborted, Unfinished]);
    let starts: Vec<u64> = out.pages.iter().map(|row| row.page.start.0 / MS).collect();
    assert_eq!(starts, [0, 1000, 2000, 3000]);
    assert!(out.transfers.iter().all(|t| t.end_s.is_none()));
}

/// The link is gone for a while: the server gives up both connections and resets them, the client opens others, and the
/// page is complete when the link is back.
#[test]
fn pages_survive_an_outage() {
    let mut way = path(50);
    way[0]["rate_bps"] = json!(null);
    way[0]["schedule"] = json!({"steps": [[0, 8_000_000], [1300 * MS, 0], [200_000 * MS, 8_000_000]]});
    let mut f = pages(3, &json!({"connections": 2}));
    f["app"]["embedded"] = constant(100_000);
    f["tcp"] = json!({"handshake": true, "data_retries": 3, "syn_retries": 2});
    let out = play(&document(300_000, way, vec![f]));
    let hit = out.pages[1].page;
    let (split, end) = (hit.split.unwrap(), hit.end.unwrap());
    assert!(hit.connections > 2 && end > Time(200_000 * MS) && end < Time(203_000 * MS), "{hit:?}");
    assert_eq!(split.total(), end.since(hit.start));
    // Nobody had it in hand in the meantime.
    assert!(split.queueing > Span(190_000 * MS), "{hit:?}");
    assert!(out.pages[2..].iter().rev().skip(1).all(|row| row.page.outcome == Outcome::Completed));
}

/// A fast link without a limit in front of the slow one: what it could carry in an hour is no measure of what waits there.
#[test]
fn the_memory_for_pages_does_not_grow_with_the_rate_of_a_link() {
    let mut links = path(100);
    links.push(json!({"id": "fast", "rate_bps": 10_000_000_000u64, "delay_ns": 50 * MS}));
    let mut f = pages(3, &json!({"connections": 16}));
    f["forward"] = json!([{"link": "fast"}, {"link": "out"}]);
    let estimate = |f: &Value| {
        let d = document(3_600_000, links.clone(), vec![f.clone(); 1]);
        Sim::estimate_bytes(&Run::from_json(&d.to_string()).unwrap()).unwrap()
    };
    // A page of 6 kB, twice, in segments of 1000, on each of the links and in its queue; some 32 connections.
    assert!(estimate(&f) < 1_000_000, "{}", estimate(&f));
    f["app"] = json!({"kind": "bulk"});
    assert!(estimate(&f) > 10_000_000_000, "a source without an end may fill it");
}
