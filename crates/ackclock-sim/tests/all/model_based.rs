//! Model-based controllers over a link: cadence and depth of ProbeRTT, what the queue holds.

use crate::common::{self, MS, document, link, play};
use ackclock_sim::Output;
use serde_json::{Value, json};

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

/// Copa keeps 1/delta = 2 packets of each flow queued by its estimate, and the one in transmission. A flow alone swings between
/// none and 2.5/delta, 1.25/delta on average; flows out of step swing less, and together have 1/delta each if the queue stands
/// still. Segments leave by twos, of which the second waits for the first: up to half a packet for all of them. Rates are 2 / queueing
/// delay, which flows that take the least round trip of one another's packets for the path's see by a packet differently, of
/// 2.5 for each flow.
#[test]
fn copa_queues_two_packets_per_flow() {
    for n in [1, 2, 4] {
        let o = measured(&json!({"name": "copa"}), n, 20_000_000, 400, (10, 30));
        let per_flow = (o.links[0].mean_queue_packets - 1.0) / n as f64;
        assert!(per_flow > 2.0 && per_flow < 2.5 + 0.5 / n as f64, "{n} flows: {per_flow}");
        assert!(o.links[0].utilisation.unwrap() > 0.99, "{n} flows");
        assert!(o.flows.iter().all(|f| f.retransmitted_segments == 0));
        let (least, most) =
            o.flows.iter().fold((f64::MAX, 0f64), |(a, b), f| (a.min(f.goodput_bps), b.max(f.goodput_bps)));
        assert!(most / least < 1.0 + 1.0 / (2.5 * n as f64), "{n} flows: {least} to {most}");
    }
}

/// A packet of 1052 bytes at 10 Mbit/s, and the round trip of an empty path, s.
const PACKET: f64 = 1052.0 * 8.0 / 10e6;
const EMPTY: f64 = 0.04 + PACKET;

/// Copa's rate, bit/s, and share beside a Reno flow with room for `queue` packets, started `after` ms later; and how many packets
/// waited, every 5 ms.
fn beside_reno(competitive: bool, queue: u64, after: u64) -> (f64, f64, Vec<f64>) {
    let reno = common::flow("reno", None);
    let mut copa = common::flow("copa", None);
    copa["cc"] = json!({"name": "copa", "params": {"competitive": competitive}});
    copa["start"] = json!({"at_ns": after * MS});
    let links = vec![link("out", 10_000_000, 20, queue), link("back", 1_000_000_000, 20, 10_000)];
    let mut d = document(90_000, links, vec![reno, copa]);
    d["warmup_ns"] = json!(10_000 * MS);
    d["probes"] = json!({"queue": {"every_ns": 5 * MS}});
    let out = play(&d);
    let series = out.series.iter().filter(|s| s.of == 0 && s.at.0 >= 10_000 * MS);
    let (reno, copa) = (out.flows[0].goodput_bps, out.flows[1].goodput_bps);
    (copa, copa / (reno + copa), series.map(|s| s.value).collect())
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// By default Copa's rate is 2 / queueing delay, whoever fills the queue: here that of Reno's sawtooth. It takes the delay over half
/// a round trip for the one that stands, in which the queue moves by some percent.
#[test]
fn copa_has_what_its_law_says_beside_reno() {
    let (rate, _, queue) = beside_reno(false, 60, 0);
    let law = mean(queue.iter().map(|q| 2.0 / ((q - 1.0).max(1.0) * PACKET))) * 8000.0;
    assert!((rate / law - 1.0).abs() < 0.05, "{rate} bit/s, by the law {law}");
}

/// In competitive mode 1/delta grows by one in a round trip and halves with a loss, as Reno's window does, and Copa's window follows
/// it times m = RTT / queueing delay. Flows that halve and lose in proportion to what they send have rates like the roots of what
/// they grow by, so Copa gets √m / (1 + √m), a little more than half. Where the queue never runs empty, that is: elsewhere it
/// falls back to its default. One start is another by 0.02, so the mean of eight is known to 0.02.
#[test]
fn copa_competes() {
    for queue in [90, 120] {
        let runs = [0, 37, 111, 500, 1013, 2000, 3001, 4507].map(|after| beside_reno(true, queue, after));
        let share = mean(runs.iter().map(|run| run.1));
        let m = |run: &(f64, f64, Vec<f64>)| {
            mean(run.2.iter().map(|q| (EMPTY + q * PACKET) / ((q - 0.5).max(0.5) * PACKET)))
        };
        let expected = mean(runs.iter().map(|run| m(run).sqrt() / (1.0 + m(run).sqrt())));
        assert!((share - expected).abs() < 0.02, "{queue} packets: {share}, not {expected}");
    }
}

/// Whatever a timeout makes a sender forget, no sample of the round-trip time is older than the path can be: 40 ms, 7 + 1 packets, and
/// of the last of a flight, whose acknowledgment waits for the next segment, another round trip without a queue.
#[test]
fn forgotten_acknowledgments_give_no_samples() {
    let mut timeouts = 0;
    for cc in ["bbr1", "bbr3", "copa", "newreno"] {
        let mut goodput = |clear: bool| {
            let mut f = common::flow("0", None);
            f["cc"] = json!({"name": cc});
            f["tcp"] = json!({"clear_sack_on_rto": clear});
            let links = vec![link("out", 10_000_000, 20, 7), link("back", 1_000_000_000, 20, 10_000)];
            let o = play(&document(30_000, links, vec![f]));
            let oldest = o.flows[0].max_rtt_s.unwrap_or_default();
            assert!(oldest < 0.04 + 8.0 * PACKET + 0.0005 + EMPTY, "{cc}: {oldest} s");
            timeouts += o.flows[0].timeouts;
            (o.flows[0].timeouts, o.flows[0].goodput_bps)
        };
        let (forgets, remembers) = (goodput(true), goodput(false));
        assert!(forgets.0 > 0 || forgets == remembers, "{cc}: without a timeout there is nothing to forget");
    }
    assert!(timeouts > 10, "{timeouts}");
}
