//! Small networks computed by hand, to the nanosecond.
#![allow(clippy::unwrap_used)]

use crate::common::{MS, Packet, document, flow, link, play, sim};
use serde_json::{Value, json};

/// When segments of the flow reach its server (true) or client: time in ns, sequence number, payload.
fn arrivals(d: &Value, at_server: bool) -> Vec<(u64, u32, u32)> {
    let mut d = d.clone();
    d["engine"] = json!({"log_deliveries": true});
    let mut sim = sim(&d);
    sim.run(|| false).unwrap();
    let all: Vec<Packet> = sim.take_deliveries().iter().map(Packet::from).collect();
    all.iter().filter(|p| p.to_server == at_server).map(|p| (p.at, p.seq, p.len)).collect()
}

/// Two hops with framing of 14 bytes: 8 Mbit/s and 3 ms, then 2 Mbit/s and 5 ms; back over 1 Mbit/s and 8 ms.
fn two_hops(bytes: u64) -> Value {
    let mut links = vec![link("a", 8_000_000, 3, 100), link("b", 2_000_000, 5, 100), link("back", 1_000_000, 8, 100)];
    links[0]["overhead_bytes"] = json!(14);
    links[1]["overhead_bytes"] = json!(14);
    let mut f = flow("0", Some(bytes));
    f["forward"] = json!([{"link": "a"}, {"delay_ns": MS}, {"link": "b"}]);
    f["reverse"] = json!([{"link": "back"}]);
    f["start"] = json!({"at_ns": 7 * MS});
    document(1000, links, vec![f])
}

#[test]
fn one_segment_takes_its_time_over_two_hops() {
    let there = arrivals(&two_hops(1000), true);
    // SYN: 60 bytes and 14 of framing. 8 Mbit/s are 1 us per byte, 2 Mbit/s are 4 us.
    let syn = 7 * MS + 74_000 + 3 * MS + MS + 4 * 74_000 + 5 * MS;
    assert_eq!(there[0], (syn, 0, 0));
    // SYN, ACK: 60 bytes at 8 us each, 8 ms.
    let syn_ack = syn + 8 * 60_000 + 8 * MS;
    assert_eq!(arrivals(&two_hops(1000), false)[0].0, syn_ack);
    // The data rides on the third acknowledgment: 1000 + 40 + 12 + 14 bytes, with the FIN.
    let data = syn_ack + 1_066_000 + 4 * MS + 4 * 1_066_000 + 5 * MS;
    assert_eq!(there[1], (data, 1, 1000));
    assert_eq!(play(&two_hops(1000)).flows[0].end_s, Some(data as f64 * 1e-9));
}

#[test]
fn a_burst_leaves_the_slower_link_at_its_rate() {
    let data: Vec<_> = arrivals(&two_hops(4000), true).into_iter().filter(|a| a.2 > 0).collect();
    let gaps: Vec<u64> = data.windows(2).map(|w| w[1].0 - w[0].0).collect();
    // 1066 bytes at 4 us each, whatever the faster link before does.
    assert_eq!(gaps, [4_264_000; 3]);
    assert_eq!(data.iter().map(|a| a.1).collect::<Vec<_>>(), [1, 1001, 2001, 3001]);
}

#[test]
fn the_shortest_rtt_is_serialisation_and_propagation() {
    let out = play(&two_hops(100_000));
    // Data of 1066 bytes at 5 us each, 9 ms; an acknowledgment of 52 bytes at 8 us, 8 ms.
    let exact = (5 * 1_066_000 + 9 * MS + 8 * 52_000 + 8 * MS) as f64 * 1e-9;
    let handshake = (5 * 74_000 + 9 * MS + 8 * 60_000 + 8 * MS) as f64 * 1e-9;
    assert_eq!(out.flows[0].min_rtt_s, Some(handshake));
    assert!(out.flows[0].max_rtt_s.unwrap() >= exact);
}

/// One flow over 8 Mbit/s with unlimited room, so that nothing but the script is lost.
fn with_loss(loss: Value, segments: u64, tcp: Value) -> Value {
    let mut links = vec![link("out", 8_000_000, 10, 100_000), link("back", 8_000_000, 10, 100_000)];
    links[0]["loss"] = loss;
    let mut f = flow("0", Some(1000 * segments));
    f["tcp"] = tcp;
    let mut d = document(20_000, links, vec![f]);
    d["probes"] = json!({"cwnd": "on_change"});
    d
}

#[test]
fn a_scripted_loss_costs_exactly_that_segment() {
    let d = with_loss(json!({"kind": "scripted", "drops": [{"flow": "0", "nth": 17}]}), 200, json!({}));
    let there = arrivals(&d, true);
    let copies = |n: u32| there.iter().filter(|a| a.1 == 1 + 1000 * (n - 1) && a.2 > 0).count();
    assert!((1..=200).all(|n| copies(n) == 1), "each segment arrives once");
    let lost = there.iter().position(|a| a.1 == 16_001).unwrap();
    let next = there.iter().position(|a| a.1 == 17_001).unwrap();
    assert!(lost > next, "the 17th comes as a retransmission");
    let out = play(&d);
    let f = &out.flows[0];
    assert_eq!((out.links[0].lost, f.retransmitted_segments, f.timeouts, f.recoveries), (1, 1, 0, 1));
    assert!(f.completed && f.goodput_bytes == 200_000);
}

#[test]
fn three_losses_of_one_window_are_one_recovery() {
    let drops: Vec<Value> = [17u64, 18, 25].iter().map(|n| json!({"flow": "0", "nth": n})).collect();
    for recovery in ["newreno", "sack", "prr"] {
        let out = play(&with_loss(json!({"kind": "scripted", "drops": drops}), 200, json!({"recovery": recovery})));
        let f = &out.flows[0];
        let counts = (out.links[0].lost, f.retransmitted_segments, f.timeouts, f.recoveries);
        assert_eq!(counts, (3, 3, 0, 1), "{recovery}");
    }
}

#[test]
fn a_lost_retransmission_waits_for_the_timeout_without_rack() {
    // The 17th segment, and its retransmission: the first segment to leave after three duplicates.
    let first = json!({"kind": "scripted", "drops": [{"flow": "0", "nth": 17}]});
    let there = arrivals(&with_loss(first, 200, json!({})), true);
    let nth = there.iter().filter(|a| a.2 > 0).position(|a| a.1 == 16_001).unwrap() as u64 + 2;
    let both = json!({"kind": "scripted", "drops": [{"flow": "0", "nth": 17}, {"flow": "0", "nth": nth}]});
    for (detection, timeouts) in [("dupack", 1), ("rack", 0)] {
        let d = with_loss(both.clone(), 200, json!({"loss_detection": detection}));
        let out = play(&d);
        assert_eq!((out.links[0].lost, out.flows[0].timeouts), (2, timeouts), "{detection}");
        assert!(out.flows[0].completed);
    }
}

#[test]
fn every_nth_packet_is_lost_whoever_sent_it() {
    let out = play(&with_loss(json!({"kind": "every", "n": 50}), 500, json!({})));
    let sent = out.links[0].sent_packets;
    assert!(sent > 500);
    assert_eq!(out.links[0].lost, sent / 50);
    assert!(out.flows[0].completed);
}

#[test]
fn tahoe_falls_to_one_segment_and_newreno_to_half() {
    for (recovery, least) in [("tahoe", 1000.0), ("newreno", 5000.0)] {
        let drops = json!({"kind": "scripted", "drops": [{"flow": "0", "nth": 40}]});
        let out = play(&with_loss(drops, 100, json!({"recovery": recovery})));
        let after = out.series.windows(2).find(|w| w[1].value < w[0].value).unwrap();
        assert!(after[1].value >= least && (recovery == "newreno" || after[1].value == 1000.0), "{after:?}");
        assert_eq!(out.flows[0].timeouts, 0);
    }
}

#[test]
fn a_queue_of_n_packets_holds_n() {
    for (service, room) in [(true, 5), (false, 6)] {
        let mut links = vec![link("out", 800_000, 1, 5), link("back", 8_000_000, 1, 1000)];
        links[0]["queue"]["limit_includes_service"] = json!(service);
        let mut f = flow("0", Some(10_000));
        f["tcp"] = json!({"handshake": false, "iw": 10, "sack": false});
        let mut d = document(50, links, vec![f]);
        d["probes"] = json!({"queue": "on_change"});
        let out = play(&d);
        // Ten segments at once: with the one in transmission, `room` of them find a place.
        assert_eq!((out.links[0].arrived_packets, out.links[0].drops), (10, 10 - room), "{service}");
        assert_eq!(out.links[0].max_queue_packets, 5);
    }
}

#[test]
fn flows_of_a_chain_share_only_the_links_they_pass() {
    // Two flows cross one hop each, the third both: hops of 8 Mbit/s are full, and the long flow gets less.
    let links = vec![link("one", 8_000_000, 5, 30), link("two", 8_000_000, 5, 30), link("back", 100_000_000, 5, 1000)];
    let route = |hops: &[&str]| json!(hops.iter().map(|h| json!({"link": h})).collect::<Vec<_>>());
    let flows = [("0", vec!["one"]), ("1", vec!["two"]), ("2", vec!["one", "two"])].map(|(id, hops)| {
        let mut f = flow(id, None);
        (f["forward"], f["reverse"]) = (route(&hops), route(&["back"]));
        f
    });
    // Measured from the begin: what waits for a hole at the end of a warm-up would be delivered after it.
    let out = play(&document(30_000, links, flows.to_vec()));
    let rate: Vec<f64> = out.flows.iter().map(|f| f.goodput_bps / 8e6).collect();
    for (hop, alone) in [(0, 0), (1, 1)] {
        let used = out.links[hop].utilisation.unwrap();
        assert!(used > 0.97 && used <= 1.0, "{used}");
        let carried = (rate[alone] + rate[2]) * 1052.0 / 1000.0;
        assert!(carried <= 1.0, "{carried}");
    }
    assert!(rate[2] < rate[0] && rate[2] < rate[1], "{rate:?}");
}

#[test]
fn a_source_stops_when_told_even_before_it_starts() {
    let links = vec![link("out", 8_000_000, 5, 30), link("back", 8_000_000, 5, 30)];
    for (start, stop) in [(0, 500), (100, 100), (300, 100)] {
        let mut f = flow("0", None);
        (f["start"], f["stop_ns"]) = (json!({"at_ns": start * MS}), json!(stop * MS));
        let d = document(2000, links.clone(), vec![f]);
        let times: Vec<u64> = [true, false].iter().flat_map(|to| arrivals(&d, *to)).map(|a| a.0).collect();
        assert!(times.iter().all(|t| *t >= start * MS), "{times:?}");
        let out = play(&d);
        let (row, sent) = (&out.flows[0], stop > start);
        assert!(row.completed && (row.goodput_bytes > 0) == sent, "{row:?}");
        assert!(row.end_s.unwrap() >= start as f64 * 1e-3 && row.end_s.unwrap() < 0.8);
    }
}

#[test]
fn a_drawn_delay_is_one_for_a_flow_and_replication_and_does_not_hang_on_others() {
    let at = |run: u64, flows: usize| -> Vec<u64> {
        let mut flows: Vec<Value> = (0..flows).map(|i| flow(&i.to_string(), Some(1000))).collect();
        for f in &mut flows {
            f["forward"] = json!([{"uniform_ns": [MS, 3 * MS]}, {"link": "a"}]);
            f["reverse"] = json!([{"link": "back"}]);
        }
        let links = vec![link("a", 1_000_000_000, 3, 100), link("back", 1_000_000_000, 3, 100)];
        let mut d = document(1000, links, flows);
        d["run"] = json!(run);
        let there = arrivals(&d, true);
        // SYNs first: 60 bytes at 8 ns each.
        there.iter().filter(|a| a.2 == 0 && a.1 == 0).map(|a| a.0 - 3 * MS - 480).collect()
    };
    let alone: Vec<u64> = (0..200).map(|run| at(run, 1)[0]).collect();
    assert!(alone.iter().all(|d| (MS..=3 * MS).contains(d)));
    let mean = alone.iter().sum::<u64>() as f64 / 200.0 / MS as f64;
    // Standard deviation of a mean of 200: 0.58 / 14 = 0.041.
    assert!((mean - 2.0).abs() < 0.15, "{mean}");
    for run in 0..20 {
        let two = at(run, 2);
        assert!(two.contains(&alone[run as usize]) && two[0] != two[1]);
    }
    let mut d = two_hops(1000);
    d["flows"][0]["forward"] = json!([{"uniform_ns": [2, 1]}, {"link": "a"}]);
    let refused = ackclock_sim::Sim::new(&ackclock_sim::spec::Run::from_json(&d.to_string()).unwrap());
    assert_eq!(refused.err().unwrap().to_string(), "flows.0: the least delay is above the largest");
}
