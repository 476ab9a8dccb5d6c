//! Vectors: the laws by hand from their formulas, the averages from (1 - w)^n, the gaps from their distribution.

use super::law::{Curve, spread};
use super::settings::{PARAMS, Settings};
use super::*;
use crate::packet::Ecn;
use crate::params::Value;
use crate::queue::Kept;
use crate::time::Span;

fn text(name: &str, word: &str) -> (String, Value) {
    (name.to_owned(), Value::Text(word.to_owned()))
}

fn num(name: &str, x: f64) -> (String, Value) {
    (name.to_owned(), Value::Float(x))
}

/// 1 Mbit/s and packets of 500 bytes: 4 ms each, 250 a second.
fn site(rate_bps: u64) -> Site {
    let limits = Limits { packets: 1000, bytes: u64::MAX, includes_service: false };
    let rng = Stream::named(1, 0, "red");
    Site { limits, rate_bps, delay: Span::from_millis(10), packet: 500, weights: vec![], rng }
}

fn settings(given: &[(String, Value)], rate_bps: u64) -> Result<Settings, ParamError> {
    Settings::new(&Params::new(PARAMS, given).unwrap(), &site(rate_bps))
}

fn red(given: &[(String, Value)]) -> Red {
    Red::new(&Params::new(PARAMS, given).unwrap(), site(1_000_000)).unwrap()
}

fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 5e-7 * want.abs().max(1e-6), "{got} is not {want}");
}

const BUSY: Backlog = Backlog { packets: 1, bytes: 500 };

fn parcel(id: u32, ecn: Ecn) -> Parcel {
    Parcel { id, len: 500, ecn, ..Parcel::default() }
}

/// `n` arrivals that find `waiting` packets and an average of `avg`, on a weight so small that it stays.
fn steady(given: &[(String, Value)], avg: f64, waiting: u32, n: u32, ecn: Ecn) -> (Red, Kept) {
    let mut all = vec![num("weight", 1e-15)];
    all.extend_from_slice(given);
    let mut q = red(&all);
    q.limits.packets = u64::MAX;
    let mut sink = Kept::default();
    (0..waiting).for_each(|id| q.enqueue(Time::ZERO, parcel(id, ecn), BUSY, &mut sink));
    q.avg = avg;
    for id in 0..n {
        q.enqueue(Time(1), parcel(id, ecn), BUSY, &mut sink);
        if q.backlog().packets > u64::from(waiting) {
            q.dequeue(Time(1), &mut sink);
        }
    }
    (q, sink)
}

#[test]
fn the_probability_follows_the_average() {
    let gentle = Curve::new(&settings(&[], 1_000_000).unwrap());
    for (avg, pb) in
        [(4.0, 0.0), (5.0, 0.0), (10.0, 0.05), (14.9, 0.099), (15.0, 0.1), (20.0, 0.4), (29.0, 0.94), (30.0, 1.0)]
    {
        close(gentle.probability(avg, 0.1), pb);
    }
    let classic = Curve::new(&settings(&[text("gentle", "off")], 1_000_000).unwrap());
    assert_eq!((classic.probability(15.0, 0.1), classic.beyond(14.9)), (1.0, false));
}

#[test]
fn the_probability_is_spread() {
    for (count, pa) in [(0.0, 0.05), (5.0, 0.066_666_67), (10.0, 0.1), (19.0, 1.0), (20.0, 1.0), (30.0, 1.0)] {
        close(spread(0.05, count, false), pa);
    }
    for (count, pa) in [(10.0, 0.0), (20.0, 0.05), (25.0, 0.066_666_67), (30.0, 0.1), (40.0, 1.0)] {
        close(spread(0.05, count, true), pa);
    }
}

#[test]
fn idle_time_wears_the_average_down() {
    // 100 packet times of 4 ms: 10 * 0.998^100, and one update more in ns-2.
    for (variant, want) in [("floyd", 8.185_668), ("ns2", 8.169_297)] {
        let mut q = red(&[text("variant", variant)]);
        let mut sink = Kept::default();
        q.enqueue(Time::ZERO, parcel(0, Ecn::NotEct), Backlog::default(), &mut sink);
        q.dequeue(Time::ZERO, &mut sink);
        assert_eq!(q.dequeue(Time::ZERO + Span::from_millis(4), &mut sink), None);
        q.avg = 10.0;
        q.enqueue(Time::ZERO + Span::from_millis(404), parcel(1, Ecn::NotEct), Backlog::default(), &mut sink);
        assert!((q.avg - want).abs() < 1e-6, "{variant} {}", q.avg);
        // While something is sent a packet that finds nothing is an update with zero.
        let before = q.avg;
        q.dequeue(Time::ZERO + Span::from_millis(404), &mut sink);
        q.enqueue(Time::ZERO + Span::from_millis(405), parcel(2, Ecn::NotEct), BUSY, &mut sink);
        close(q.avg, before * 0.998);
    }
}

#[test]
fn the_average_is_exponential() {
    let mut q = red(&[]);
    let mut sink = Kept::default();
    for id in 0..3 {
        q.enqueue(Time::ZERO, parcel(id, Ecn::NotEct), BUSY, &mut sink);
    }
    // 0, then 0.002 * 1, then 0.998 * that + 0.002 * 2.
    close(q.avg, 0.998 * 0.002 + 0.004);
}

/// The gaps between drops at p_b = 0.05 (average 10 of 5..15, max_p 0.1).
fn gaps(given: &[(String, Value)], lens: f64) -> Vec<u64> {
    let mut q = red(given);
    q.avg = 10.0;
    q.exposed = true;
    let mut gaps = vec![];
    let mut gap = 0;
    while gaps.len() < 4000 {
        gap += 1;
        if q.decide((500.0 * lens) as u32, 20.0) != Verdict::Pass {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps
}

#[test]
fn gaps_between_drops_are_uniform() {
    // 1993, §4: uniform on 1..=1/p, here with the mean 10.5; with wait on 1/p..2/p. ns-2 and the paper count from one.
    let mean = |g: &[u64]| g.iter().sum::<u64>() as f64 / g.len() as f64;
    let plain = gaps(&[text("wait", "off")], 1.0);
    let wait = gaps(&[], 1.0);
    // p_a = p / (1 - count p) from count = 1 on: uniform over the 19 values 1..=19 with p / (1 - p) each, mean 10.
    assert!((mean(&plain) - 10.0).abs() < 0.3, "{}", mean(&plain));
    assert_eq!((plain.iter().min(), plain.iter().max()), (Some(&1), Some(&19)));
    // From count = 20 on 0.05 each: uniform over 20..=39, mean 29.5.
    assert!((mean(&wait) - 29.5).abs() < 0.3, "{}", mean(&wait));
    assert_eq!((wait.iter().min(), wait.iter().max()), (Some(&20), Some(&39)));
}

#[test]
fn in_byte_mode_large_packets_are_dropped_more_often() {
    let bytes = |extra: &str, lens: f64| {
        let given =
            [text("mode", "bytes"), text("wait", "off"), text("variant", extra), num("min", 5.0), num("max", 15.0)];
        let g = gaps(&given, lens);
        g.iter().sum::<u64>() as f64 / g.len() as f64
    };
    // The paper: p_b = 0.05 * 2 = 0.1, then uniform over 1..=9, mean 5.
    assert!((bytes("floyd", 2.0) - 5.0).abs() < 0.15);
    assert!((bytes("floyd", 1.0) - 10.0).abs() < 0.3);
    // ns-2: two mean packets are counted, 0.05 / (1 - 2k 0.05) * 2 = 1 / (10 - k): uniform over 1..=9 as well.
    assert!((bytes("ns2", 2.0) - 5.0).abs() < 0.15);
}

#[test]
fn what_is_given_and_what_follows_from_the_link() {
    let at = |given: &[(String, Value)], rate| settings(given, rate).unwrap();
    let ns2 = at(&[], 1_000_000);
    assert_eq!((ns2.min, ns2.max, ns2.weight, ns2.max_p, ns2.wait, ns2.gentle), (5.0, 15.0, 0.002, 0.1, true, true));
    let ns3 = at(&[text("preset", "ns3")], 1_000_000);
    assert_eq!(ns3, Settings { max_p: 0.02, ..ns2.clone() });
    // C = 31250 packets/s: the weight for one second; a target of 5 ms is 156.25 packets, half of it the minimum.
    let fast = at(&[text("weight_from", "second"), text("thresholds_from", "link")], 125_000_000);
    assert!((fast.weight - 3.199_95e-5).abs() < 1e-10, "{}", fast.weight);
    assert_eq!((fast.min, fast.max), (78.125, 234.375));
    // ns-2 now: RTT = 0.1 s as 3 (10 ms + 32 us) is less; in bytes.
    let auto = at(&[text("preset", "ns2-auto")], 125_000_000);
    assert!((auto.weight - 3.199_95e-5).abs() < 1e-10, "{}", auto.weight);
    assert_eq!((auto.bytes, auto.min, auto.max), (true, 39_062.5, 117_187.5));
    // A slow link: 250 packets/s aim at 1.25, so 5 packets of 500 bytes and three times that.
    let slow = at(&[text("preset", "ns2-auto")], 1_000_000);
    assert_eq!((slow.min, slow.max), (2500.0, 7500.0));
    assert_eq!(at(&[num("min", 40.0), text("thresholds_from", "link")], 1_000_000).max, 120.0);
}

#[test]
fn contradictions_are_refused_with_a_remedy() {
    let err = |given: &[(String, Value)]| settings(given, 1_000_000).unwrap_err().to_string();
    assert_eq!(
        err(&[num("min", 30.0), num("max", 20.0)]),
        "'min': min = 30 is not below max = 20: set min below max; max = 90 is the usual 3 min"
    );
    assert_eq!(
        err(&[num("min", 15.0)]),
        "'min': min = 15 is not below max = 15 (not given, so of the preset): \
         set min below max; max = 45 is the usual 3 min"
    );
    assert!(err(&[num("max", 5.0)]).starts_with("'max': min = 5 (not given, so of the preset) is not below max = 5:"));
    assert!(err(&[num("weight", 0.1), text("weight_from", "rtt")]).contains("leave one of them out"));
    assert!(err(&[text("adaptive", "on"), num("bottom", 0.6)]).contains("set bottom below top"));
}

#[test]
fn marks_below_the_edge_and_drops_above_it() {
    let ecn = ("ecn".to_owned(), Value::Bool(true));
    let outcome = |given: &[(String, Value)], avg, codepoint| {
        let (_, sink) = steady(given, avg, 20, 400, codepoint);
        assert!(sink.dropped.iter().all(|d| d.2 == if avg >= 30.0 { Reason::Threshold } else { Reason::Early }));
        assert!(sink.marked.iter().all(|m| m.1.ecn == Ecn::Ce && m.2 == Reason::Early));
        (sink.marked.is_empty(), sink.dropped.is_empty())
    };
    assert_eq!(outcome(std::slice::from_ref(&ecn), 10.0, Ecn::Ect0), (false, true));
    assert_eq!(outcome(std::slice::from_ref(&ecn), 10.0, Ecn::NotEct), (true, false));
    assert_eq!(outcome(std::slice::from_ref(&ecn), 20.0, Ecn::Ect0), (false, true));
    assert_eq!(outcome(std::slice::from_ref(&ecn), 31.0, Ecn::Ect0), (true, false));
    assert_eq!(outcome(&[], 10.0, Ecn::Ect0), (true, false));
    // ns-2 since 2004: above the probability mark_p it drops.
    assert_eq!(outcome(&[ecn, num("mark_p", 0.1)], 20.0, Ecn::Ect0), (true, false));
}

#[test]
fn the_limit_holds_and_short_queues_are_spared() {
    let mut q = red(&[]);
    q.limits.packets = 10;
    let mut sink = Kept::default();
    (0..15).for_each(|id| q.enqueue(Time::ZERO, parcel(id, Ecn::NotEct), BUSY, &mut sink));
    assert_eq!((q.backlog().packets, sink.dropped.len(), q.count), (10, 5, 0));
    assert!(sink.dropped.iter().all(|d| d.2 == Reason::Full));
    for (variant, dropped) in [("ns2", true), ("floyd", false)] {
        let (_, sink) = steady(&[text("variant", variant)], 40.0, 0, 5, Ecn::NotEct);
        assert_eq!(sink.dropped.is_empty(), dropped, "{variant}");
    }
}

#[test]
fn max_p_follows_the_average_twice_a_second() {
    let start = |avg: f64, max_p: f64| {
        let mut q = red(&[text("adaptive", "on"), num("max_p", max_p)]);
        q.catch_up(Time::ZERO);
        q.avg = avg;
        q
    };
    let at = |q: &mut Red, ms: u64| {
        q.catch_up(Time::ZERO + Span::from_millis(ms));
        q.max_p
    };
    // Above 5 + 0.6 * 10: by 0.01, or by a quarter of a small one.
    let mut q = start(11.1, 0.02);
    close(at(&mut q, 499), 0.02);
    close(at(&mut q, 500), 0.025);
    close(at(&mut q, 1600), 0.025 * 1.25 * 1.25);
    assert_eq!(at(&mut q, 3_600_000), q.max_p);
    assert!(q.max_p > 0.5 && q.max_p <= 0.51, "{}", q.max_p);
    assert_eq!(q.next_step, Time::ZERO + Span::from_millis(3_600_500));
    // Between 9 and 11: as it is. Below 9: by the factor 0.9, to 0.1 * 0.9^22 < 0.01.
    assert_eq!(at(&mut start(10.0, 0.1), 60_000), 0.1);
    let mut q = start(8.9, 0.1);
    close(at(&mut q, 1000), 0.081);
    close(at(&mut q, 60_000), 0.1 * 0.9f64.powi(22));
}
