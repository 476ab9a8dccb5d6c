//! One-way delays of the segments of a flow, against what the link says of the same packets.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, document, flow, link, play};
use serde_json::{Value, json};

fn path(packets: u64) -> Vec<Value> {
    vec![link("out", 8_000_000, 10, packets), json!({"id": "back", "delay_ns": 10 * MS})]
}

/// A bulk flow whose segments of 1000 bytes take 1.04 ms on the link.
fn bulk(bytes: Option<u64>) -> Value {
    let mut f = flow("0", bytes);
    f["tcp"] = json!({"count_options": false, "header_bytes": 40});
    f
}

#[test]
fn a_lone_segment_takes_transmission_and_propagation() {
    let row = &play(&document(1000, path(20), vec![bulk(Some(1000))])).flows[0];
    assert_eq!((row.received_packets, row.sent_segments), (Some(1), 1));
    assert!((row.delay_s.unwrap()[0] - 0.01104).abs() < 1e-12, "{row:?}");
}

#[test]
fn a_flow_alone_waits_as_long_as_the_packets_of_its_link() {
    for (warmup, fused) in [(0, true), (0, false), (5000, true), (5000, false)] {
        let mut d = document(20_000, path(20), vec![bulk(None)]);
        d["engine"] = json!({"fused": fused});
        d["warmup_ns"] = json!(warmup * MS);
        let out = play(&d);
        let (delay, wait) = (out.flows[0].delay_s.unwrap(), out.links[0].queue_delay_s.unwrap());
        for (flow, link) in delay.iter().zip(wait) {
            // The handshake does not wait, and what is under way at either end counts for one of the two only.
            assert!((flow - (link + 0.01104)).abs() < 2e-3 * flow, "{delay:?} {wait:?}");
        }
        assert!(delay[0] < delay[2] && delay[3] < 0.01104 + 21.0 * 0.00104, "{delay:?}");
    }
}

#[test]
fn retransmissions_count_and_copies_do_not() {
    let mut links = path(100);
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.01});
    let out = play(&document(20_000, links.clone(), vec![bulk(Some(2_000_000))]));
    let (row, lost) = (&out.flows[0], out.links[0].lost + out.links[0].drops);
    assert!(row.completed && row.retransmitted_segments > 10 && lost > 10);
    // A FIN may be lost as well.
    assert!((0..=1).contains(&(row.received_packets.unwrap() + lost - row.sent_segments)), "{row:?} {lost}");
    links[0].as_object_mut().unwrap().remove("loss");
    let plain = play(&document(20_000, links.clone(), vec![bulk(Some(2_000_000))]));
    links[0]["duplicate"] = json!(0.2);
    let doubled = play(&document(20_000, links, vec![bulk(Some(2_000_000))]));
    assert!(doubled.links[0].duplicated > 100);
    for out in [&plain, &doubled] {
        assert!(out.flows[0].completed, "{:?}", out.flows[0]);
    }
    assert_eq!(plain.flows[0].received_packets, Some(plain.flows[0].sent_segments - plain.links[0].drops));
    let doubled_row = &doubled.flows[0];
    assert_eq!(doubled_row.received_packets, Some(doubled_row.sent_segments - doubled.links[0].drops));
}

#[test]
fn a_flow_that_got_nothing_has_no_delays() {
    let mut links = path(20);
    links[0]["loss"] = json!({"kind": "bernoulli", "p": 0.999});
    let row = &play(&document(1000, links, vec![bulk(None)])).flows[0];
    assert_eq!((row.received_packets, row.delay_s), (Some(0), None));
}

#[test]
fn delays_are_taken_unless_they_are_not_wanted() {
    let mut d = document(1000, path(20), vec![bulk(Some(100_000))]);
    let with = play(&d);
    d["packet_delays"] = json!(false);
    let without = play(&d);
    assert_eq!((without.flows[0].received_packets, without.flows[0].delay_s), (None, None));
    assert!(with.flows[0].delay_s.is_some() && with.flows[0].fct_s == without.flows[0].fct_s);
}
