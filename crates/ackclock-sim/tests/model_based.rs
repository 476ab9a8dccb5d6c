//! Model-based controllers over a link: cadence and depth of ProbeRTT, what the queue holds.

mod common;

use ackclock_sim::Output;
use common::{document, link, play, MS};
use serde_json::{json, Value};

/// Flows of one controller over 10 Mbit/s, 40 ms and room for `queue` packets, in profile `rfc`; windows every 5 ms.
fn flows(cc: &Value, n: u64, rate: u64, queue: u64, seconds: u64) -> Output {
    let flow = |i: u64| {
        let mut f = common::flow(&i.to_string(), None);
        f["cc"] = cc.clone();
        f["start"] = json!({"at_ns": i * 100 * MS});
        f
    };
    let links = vec![link("out", rate, 20, queue), link("back", 1_000_000_000, 20, 10_000)];
    let mut d = document(seconds * 1000, links, (0..n).map(flow).collect());
    d["warmup_ns"] = json!(2000 * MS);
    d["probes"] = json!({"cwnd": {"every_ns": 5 * MS}, "pacing_rate": {"every_ns": 5 * MS}});
    play(&d)
}

/// Begins and lengths, seconds, of the times when the first flow's window is at most `bytes`, after the start.
fn dips(o: &Output, bytes: f64) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = vec![];
    let mut inside = false;
    for s in o.series.iter().filter(|s| s.metric == 0 && s.of == 0 && s.at.0 > 1000 * MS) {
        let at = s.at.as_secs_f64();
        match (s.value <= bytes, inside) {
            (true, false) => found.push((at, 0.0)),
            (true, true) => {
                if let Some((begin, length)) = found.last_mut() {
                    *length = at - *begin;
                }
            }
            _ => {}
        }
        inside = s.value <= bytes;
    }
    found
}

/// BBRv1 visits four segments every ten seconds, for 200 ms and a round trip.
#[test]
fn bbr1_probes_the_rtt_every_ten_seconds() {
    let o = flows(&json!({"name": "bbr1"}), 1, 10_000_000, 60, 35);
    let dips = dips(&o, 4000.0);
    assert_eq!(dips.len(), 3, "{dips:?}");
    for pair in dips.windows(2) {
        assert!((pair[1].0 - pair[0].0 - 10.2).abs() < 0.2, "{dips:?}");
    }
    assert!(dips.iter().all(|d| (0.2..0.35).contains(&d.1)), "{dips:?}");
    assert!(o.links[0].utilisation.unwrap() > 0.95);
}

/// BBRv3 halves its window every five seconds and loses about 2 % of the path by that: (0.1 s + 4.8 s) / 5 s.
#[test]
fn bbr3_probes_the_rtt_every_five_seconds() {
    let o = flows(&json!({"name": "bbr3"}), 1, 10_000_000, 100, 32);
    // The product is 49 segments of 1000 bytes.
    let dips = dips(&o, 26_000.0);
    assert_eq!(dips.len(), 6, "{dips:?}");
    for pair in dips.windows(2) {
        assert!((5.0..5.6).contains(&(pair[1].0 - pair[0].0)), "{dips:?}");
    }
    assert!(dips.iter().all(|d| (0.2..0.4).contains(&d.1)), "{dips:?}");
    let used = o.links[0].utilisation.unwrap();
    assert!((0.93..0.99).contains(&used), "{used}");
}

/// The rate stays at the estimate's 1.25, 0.75 and 1 times; the estimate is the link's.
#[test]
fn bbr1_paces_around_the_bottleneck() {
    let o = flows(&json!({"name": "bbr1"}), 1, 10_000_000, 60, 8);
    let payload = 10e6 * 1000.0 / 1052.0;
    let rates: Vec<f64> =
        o.series.iter().filter(|s| s.metric == 9 && s.at.0 > 2000 * MS).map(|s| s.value / payload).collect();
    for gain in [1.25, 0.75, 1.0] {
        assert!(rates.iter().any(|r| (r / gain - 1.0).abs() < 0.03), "{gain}");
    }
    assert!(rates.iter().all(|r| (0.7..1.35).contains(r)));
}

/// Two BBRv3 flows share.
#[test]
fn bbr3_shares() {
    let o = flows(&json!({"name": "bbr3"}), 2, 10_000_000, 100, 60);
    let share: Vec<f64> = o.flows.iter().map(|f| f.goodput_bps / 1e6).collect();
    assert!(share[0] + share[1] > 8.4 && share.iter().all(|s| *s > 2.5), "{share:?}");
}

/// Copa keeps 1/delta = 2 packets of each flow queued by its estimate, 2.5/2 times that on average as it swings
/// between none and 2.5/delta, and the one in transmission.
#[test]
fn copa_queues_two_packets_per_flow() {
    for n in [1, 2, 4] {
        let o = flows(&json!({"name": "copa"}), n, 20_000_000, 400, 30);
        let per_flow = (o.links[0].mean_queue_packets - 1.0) / n as f64;
        assert!((1.0..4.5).contains(&per_flow), "{n} flows: {per_flow}");
        assert!(o.links[0].utilisation.unwrap() > 0.95, "{n} flows");
        assert!(o.flows.iter().all(|f| f.retransmitted_segments == 0));
        let (least, most) =
            o.flows.iter().fold((f64::MAX, 0f64), |(a, b), f| (a.min(f.goodput_bps), b.max(f.goodput_bps)));
        assert!(most / least < 1.5, "{n} flows: {least} to {most}");
    }
}

/// Beside a Reno flow Copa's competitive mode takes a share that its default mode does not.
#[test]
fn copa_competes() {
    let beside_reno = |competitive: bool| {
        let reno = common::flow("reno", None);
        let mut copa = common::flow("copa", None);
        copa["cc"] = json!({"name": "copa", "params": {"competitive": competitive}});
        let links = vec![link("out", 10_000_000, 20, 60), link("back", 1_000_000_000, 20, 10_000)];
        play(&document(40_000, links, vec![reno, copa])).flows[1].goodput_bps
    };
    let (default, competitive) = (beside_reno(false), beside_reno(true));
    assert!(competitive > 1.5 * default && competitive > 2e6, "{default} {competitive}");
}

/// Whatever a timeout makes a sender forget, no sample of the round-trip time is older than the path can be.
#[test]
fn forgotten_acknowledgments_give_no_samples() {
    for cc in ["bbr1", "bbr3", "copa", "newreno"] {
        let mut f = common::flow("0", None);
        f["cc"] = json!({"name": cc});
        f["tcp"] = json!({"clear_sack_on_rto": true});
        let links = vec![link("out", 10_000_000, 20, 7), link("back", 1_000_000_000, 20, 10_000)];
        let o = play(&document(30_000, links, vec![f]));
        let row = &o.flows[0];
        // 40 ms, 7 + 1 packets of 1.2 ms, and a delayed acknowledgment of the tail.
        assert!(row.max_rtt_s.unwrap() < 0.26, "{cc}: {:?} s", row.max_rtt_s);
        assert!(row.goodput_bps > 4e6, "{cc}: {} bit/s", row.goodput_bps);
    }
}
