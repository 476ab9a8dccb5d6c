//! Model-based controllers over a link: cadence and depth of ProbeRTT, what the queue holds.

mod common;

use ackclock_sim::Output;
use common::{document, link, play, MS};
use serde_json::{json, Value};

/// What a link of 10 Mbit/s carries of payload, Mbit/s.
const PAYLOAD: f64 = 10.0 * 1000.0 / 1052.0;
/// 40 ms and a packet each way, and the 5 ms between two samples, s.
const RTT: f64 = 0.0418;
const SAMPLE: f64 = 0.005;

/// Flows of one controller over 10 Mbit/s, 40 ms and room for `queue` packets, in profile `rfc`; windows every 5 ms.
fn flows(cc: &Value, n: u64, rate: u64, queue: u64, seconds: u64) -> Output {
    measured(cc, n, rate, queue, (2, seconds))
}

/// The same, measured between two times, s.
fn measured(cc: &Value, n: u64, rate: u64, queue: u64, (from, to): (u64, u64)) -> Output {
    let flow = |i: u64| {
        let mut f = common::flow(&i.to_string(), None);
        f["cc"] = cc.clone();
        f["start"] = json!({"at_ns": i * 100 * MS});
        f
    };
    let links = vec![link("out", rate, 20, queue), link("back", 1_000_000_000, 20, 10_000)];
    let mut d = document(to * 1000, links, (0..n).map(flow).collect());
    d["warmup_ns"] = json!(from * 1000 * MS);
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

/// BBRv1 visits four segments of 49 every ten seconds, for 200 ms and up to a round trip, after one in which the
/// window empties: of the path it leaves 45/49 of 0.245 s in 10.25 s, 2.1 %.
#[test]
fn bbr1_probes_the_rtt_every_ten_seconds() {
    let o = flows(&json!({"name": "bbr1"}), 1, 10_000_000, 60, 35);
    let dips = dips(&o, 4000.0);
    assert_eq!(dips.len(), 3, "{dips:?}");
    for pair in dips.windows(2) {
        assert!((10.2 - SAMPLE..10.2 + 2.0 * RTT + SAMPLE).contains(&(pair[1].0 - pair[0].0)), "{dips:?}");
    }
    assert!(dips.iter().all(|d| (0.2 - SAMPLE..0.2 + RTT + SAMPLE).contains(&d.1)), "{dips:?}");
    let used = o.links[0].utilisation.unwrap();
    assert!((used - 0.979).abs() < 0.005, "{used}");
}

/// BBRv3 halves its window every five seconds, for 200 ms and up to a round trip: of the path it leaves half of 0.225 s in
/// 5.23 s, 2.2 %, and 1 % of the rest, by which its pace is below its estimate (draft-ietf-ccwg-bbr §2.4).
#[test]
fn bbr3_probes_the_rtt_every_five_seconds() {
    let o = flows(&json!({"name": "bbr3"}), 1, 10_000_000, 100, 32);
    // The product is 49 segments of 1000 bytes.
    let dips = dips(&o, 26_000.0);
    assert_eq!(dips.len(), 6, "{dips:?}");
    for pair in dips.windows(2) {
        assert!((5.2 - SAMPLE..5.2 + 2.0 * RTT + SAMPLE).contains(&(pair[1].0 - pair[0].0)), "{dips:?}");
    }
    assert!(dips.iter().all(|d| (0.2 - SAMPLE..0.2 + RTT + SAMPLE).contains(&d.1)), "{dips:?}");
    let used = o.links[0].utilisation.unwrap();
    assert!((used - 0.978 * 0.99).abs() < 0.005, "{used}");
}

/// The rate stays at the estimate's 1.25, 0.75 and 1 times; the estimate is the link's.
#[test]
fn bbr1_paces_around_the_bottleneck() {
    let o = flows(&json!({"name": "bbr1"}), 1, 10_000_000, 60, 8);
    let rates: Vec<f64> =
        o.series.iter().filter(|s| s.metric == 9 && s.at.0 > 2000 * MS).map(|s| s.value / PAYLOAD / 1e6).collect();
    for gain in [1.25, 0.75, 1.0] {
        assert!(rates.iter().any(|r| (r / gain - 1.0).abs() < 0.03), "{gain}");
    }
    // No estimate is off by more than 1 %.
    assert!(rates.iter().all(|r| (0.75 * 0.99..1.25 * 1.01).contains(r)));
}

/// Two BBRv3 flows share. A flow with half of the link that probes at 1.25 gets 1.25 / 2.25 of it for as long as its
/// estimate remembers, and the other 1 / 2.25: in the mean over many probes neither is further off than one probe makes
/// it. What ProbeRTT leaves (2.2 %) one flow cannot take while the other probes too, and the pace is 1 % below.
#[test]
fn bbr3_shares() {
    for queue in [60, 100] {
        let o = flows(&json!({"name": "bbr3"}), 2, 10_000_000, queue, 60);
        let share: Vec<f64> = o.flows.iter().map(|f| f.goodput_bps / 1e6).collect();
        let total = share[0] + share[1];
        assert!(total > 0.978 * 0.99 * PAYLOAD, "{share:?}");
        assert!(share.iter().all(|s| *s > total / 2.25), "{share:?}");
    }
}

/// Copa keeps 1/delta = 2 packets of each flow queued by its estimate, 2.5/2 times that on average as it swings
/// between none and 2.5/delta, and the one in transmission. Segments leave by twos, so half a packet more or less. Rates
/// are 2 / queueing delay, which flows that take the least round trip of one another's packets for the path's see by
/// a packet differently, of 2.5 for each flow.
#[test]
fn copa_queues_two_packets_per_flow() {
    for n in [1, 2, 4] {
        let o = measured(&json!({"name": "copa"}), n, 20_000_000, 400, (10, 30));
        let per_flow = (o.links[0].mean_queue_packets - 1.0) / n as f64;
        assert!((per_flow - 2.5).abs() < 0.5, "{n} flows: {per_flow}");
        assert!(o.links[0].utilisation.unwrap() > 0.99, "{n} flows");
        assert!(o.flows.iter().all(|f| f.retransmitted_segments == 0));
        let (least, most) =
            o.flows.iter().fold((f64::MAX, 0f64), |(a, b), f| (a.min(f.goodput_bps), b.max(f.goodput_bps)));
        assert!(most / least < 1.0 + 1.0 / (2.5 * n as f64), "{n} flows: {least} to {most}");
    }
}

/// Beside a Reno flow Copa's competitive mode takes a share that its default mode does not. By default its rate is
/// 2 / queueing delay: over a sawtooth of Reno between 5 and 60 packets of 0.84 ms the mean of that is
/// 2 ln(60 / 5) / 55 / 0.84 ms = 107 packets/s, 0.86 Mbit/s. In competitive mode it grows and halves as Reno does, so each
/// should have half: both within a factor of two.
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
    let near = |rate: f64, expected: f64| rate > expected / 2.0 && rate < expected * 2.0;
    assert!(near(default, 0.86e6), "{default}");
    // Half of the link each, up to twice as much for one.
    assert!(near(competitive / (PAYLOAD * 1e6 - competitive), 1.0), "{competitive}");
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
