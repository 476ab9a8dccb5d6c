//! Slow starts through whole networks: where they end, and what the packet pair of `blbe` measures.
#![allow(clippy::unwrap_used)]

use crate::common::{self, MS, Packet, document, flow, link, play};
use ackclock_sim::Output;
use ackclock_sim::probe::metric_name;
use serde_json::{Value, json};

/// The chain of Li et al. 2003: 100, 10, 1.5, 10 and 100 Mbit/s, 70 ms of propagation, `access_us` of it at both ends.
/// Segments of 200 bytes without headers, acknowledgments of 40, one for each segment, a window of one segment.
fn chain(access_us: u64, slow_start: Value) -> Value {
    let hops = [("in", 100_000, 0), ("a", 10_000, 10), ("b", 1_500, 50), ("c", 10_000, 10), ("out", 100_000, 0)];
    let links = ["there", "back"].iter().flat_map(|way| {
        hops.iter().map(move |(id, kbps, ms)| {
            let mut l = link(&format!("{id} {way}"), kbps * 1000, *ms, 1000);
            if *ms == 0 {
                l["delay_ns"] = json!(access_us * 1000);
            }
            l
        })
    });
    let route = |way: &str, rev: bool| {
        let mut ids: Vec<_> = hops.iter().map(|h| json!({"link": format!("{} {way}", h.0)})).collect();
        if rev {
            ids.reverse();
        }
        json!(ids)
    };
    let mut f = flow("0", None);
    (f["forward"], f["reverse"]) = (route("there", false), route("back", true));
    (f["mss"], f["profile"], f["cc"]) = (json!(200), json!("ns2"), json!({"name": "reno"}));
    f["tcp"] = json!({"header_bytes": 0, "ack_bytes": 40, "iw": 1, "sack": false, "recovery": "reno"});
    f["slow_start"] = slow_start;
    let mut d = document(25_000, links.collect(), vec![f]);
    d["probes"] = json!({"ssthresh": "on_change", "cwnd": "on_change"});
    d
}

fn blbe(params: Value) -> Value {
    json!({"kind": "blbe", "params": params})
}

fn estimate(d: &Value) -> (f64, u64) {
    let out = play(d);
    let f = &out.flows[0];
    (f.start_estimate_bps.unwrap(), f.start_ssthresh_bytes.unwrap() / 200)
}

fn series(out: &Output, name: &str) -> Vec<(f64, f64)> {
    let of = |m: u8| metric_name(m).0 == name;
    out.series.iter().filter(|s| of(s.metric)).map(|s| (s.at.as_secs_f64(), s.value)).collect()
}

#[test]
fn the_pair_measures_what_the_links_in_a_row_carry() {
    // 6400 bit in 6.037333 ms, the second packet having waited for the first at every hop that is slower than the one
    // before. With 0.3 ms of access delay the RTT of the second packet is 148.94 ms, and ssthresh 98.68, to the nearest.
    let (rate, ssthresh) = estimate(&chain(300, blbe(json!({}))));
    assert!((rate / 1_060_070.7 - 1.0).abs() < 1e-5, "{rate}");
    assert_eq!(ssthresh, 99);
}

#[test]
fn slow_start_ends_at_the_estimate_without_loss() {
    let out = play(&chain(300, blbe(json!({}))));
    let thresholds: Vec<f64> = series(&out, "ssthresh").into_iter().map(|s| s.1 / 200.0).collect();
    assert!(thresholds.contains(&99.0), "{thresholds:?}");
    let before_loss: Vec<_> = series(&out, "cwnd").into_iter().take_while(|s| s.1 <= 99.0 * 200.0).collect();
    // Seven doublings of 149 ms, after the handshake and the pair.
    let (reached, _) = before_loss[before_loss.len() - 1];
    assert!(reached > 6.0 * 0.149 && reached < 10.0 * 0.149, "{reached}");
    assert_eq!((out.flows[0].retransmitted_segments, out.links.iter().map(|l| l.drops).sum::<u64>()), (0, 0));
}

/// When data segments leave the chain for the receiver: seconds, position, bytes.
fn arrivals(d: &Value) -> Vec<(f64, u32, u32)> {
    let mut d = d.clone();
    d["engine"] = json!({"log_deliveries": true});
    let mut sim = common::sim(&d);
    sim.run(|| false).unwrap();
    let all: Vec<Packet> = sim.take_deliveries().iter().map(Packet::from).collect();
    all.iter().filter(|p| p.to_server && p.len > 0).map(|p| (p.at as f64 * 1e-9, p.seq, p.len)).collect()
}

#[test]
fn a_lost_pair_is_repeated_with_the_next_data() {
    for nth in [1, 2] {
        let mut d = chain(300, blbe(json!({})));
        d["links"][2]["loss"] = json!({"kind": "scripted", "drops": [{"flow": "0", "nth": nth}]});
        // The second packet arrives when the first is lost; a segment is sent again after a timeout; then the next pair.
        let lengths: Vec<u32> = arrivals(&d).iter().map(|a| a.2).take(5).collect();
        let lost = if nth == 1 { [1000, 200] } else { [200, 1000] };
        assert_eq!(lengths, [&lost[..], &[200, 1000, 200]].concat());
        let (rate, ssthresh) = estimate(&d);
        assert!((rate / 1_060_070.7 - 1.0).abs() < 1e-5 && ssthresh == 99, "{rate} {ssthresh}");
    }
}

#[test]
fn acknowledgments_of_a_pair_are_not_delayed() {
    for profile in ["rfc", "ns3", "linux", "ns2"] {
        for delayed_ack in [1, 2, 8] {
            let mut d = chain(300, blbe(json!({})));
            let f = &mut d["flows"][0];
            (f["profile"], f["mss"]) = (json!(profile), json!(1448));
            f["tcp"] = json!({"header_bytes": 0, "count_options": false, "ack_bytes": 40, "delayed_ack": delayed_ack});
            let out = play(&d);
            let rate = out.flows[0].start_estimate_bps.unwrap();
            assert!((rate / 1_060_070.7 - 1.0).abs() < 1e-5, "{profile}, {delayed_ack}: {rate}");
            // The initial window of ten segments follows behind the pair.
            assert_eq!(out.flows[0].start_ssthresh_bytes.unwrap() / 1448, 14, "{profile}, {delayed_ack}");
        }
    }
}

#[test]
fn a_pair_within_the_mss_measures_the_same() {
    // The difference grows with the packets, so that the rate is the same.
    let d = chain(300, blbe(json!({"allow_probe_larger_than_mss": false})));
    let lengths: Vec<u32> = arrivals(&d).iter().map(|a| a.2).take(3).collect();
    assert_eq!(lengths, [40, 200, 200]);
    let (rate, ssthresh) = estimate(&d);
    assert!((rate / 1_060_070.7 - 1.0).abs() < 1e-5, "{rate}");
    // RTT2 is 142.9 ms: a packet of 200 bytes and what it waits for one of 40.
    assert_eq!(ssthresh, 95);
}

#[test]
fn the_transfer_is_as_fast_as_in_ns2_with_this_threshold() {
    // ns-2.35, Agent/TCP/Reno with windowInit_ 1, ssthresh_ 99 and a queue of 50 packets, from 1 s to 25 s: 1332 kbit/s
    // acknowledged, 1337 in order at the receiver; 1323 and 1327 when it starts a round-trip time later.
    let mut d = chain(300, blbe(json!({})));
    d["links"][2]["queue"]["limit_packets"] = json!(50);
    let f = &mut d["flows"][0];
    f["start"] = json!({"at_ns": 1000 * MS});
    for (name, value) in [("handshake", json!(false)), ("limited_transmit", json!(false))] {
        f["tcp"][name] = value;
    }
    // window_ 300
    f["tcp"]["receive_buffer"] = json!(60_000);
    let out = play(&d);
    let kbps = out.flows[0].goodput_bps / 1e3;
    assert!((kbps / 1332.0 - 1.0).abs() < 0.01, "{kbps}");
}

#[test]
fn hystart_pp_ends_slow_start_without_loss() {
    // 20 Mbit/s and 40 ms are 95 segments. At 160 the first of a round find a queue; their acknowledgments come at 320.
    // Five rounds of a quarter more make 320 1.25^5 = 980 at most, which a queue of 1000 holds. The link waits for the handshake,
    // 40 ms, and for what flights of 10, 20, 40 and 80 segments leave of a round trip: 99 ms.
    let played = |slow_start: &str| {
        let links = vec![link("out", 20_000_000, 20, 1000), link("back", 1_000_000_000, 20, 1000)];
        let mut f = flow("0", None);
        f["slow_start"] = json!({"kind": slow_start});
        let out = play(&document(3000, links, vec![f]));
        (out.links[0].drops as f64, 3.0 * (1.0 - out.links[0].utilisation.unwrap()))
    };
    let (drops, idle) = played("hystart++");
    assert!(drops == 0.0 && (idle - 0.139).abs() < 0.005, "{drops} drops, {idle} s idle");
    // Every second segment is acknowledged, so that three leave for two: of the 1095 that are acknowledged from the overflow on until
    // its first loss is seen a half more arrives than leaves.
    let (drops, _) = played("standard");
    assert!((drops / (1095.0 / 2.0) - 1.0).abs() < 0.02, "{drops}");
}
