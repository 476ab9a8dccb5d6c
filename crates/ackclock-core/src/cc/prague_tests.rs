use super::super::RateSample;
use super::super::testing;
use super::*;
use crate::params::Value;

const MS: fn(u64) -> Span = Span::from_millis;

fn prague(given: &[(&str, Value)]) -> Prague {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    Prague::new(&Params::new(PARAMS, &given).unwrap())
}

/// One event at `ms` with this smoothed round-trip time; `nxt` is the next position to send.
fn event<R>(ms: u64, srtt: Span, nxt: u64, f: impl FnOnce(&mut Cx<'_>) -> R) -> R {
    testing::with_cx(1000, |cx| {
        (cx.now, cx.rtt.smoothed, cx.nxt) = (Time(ms * 1_000_000), srtt, nxt);
        f(cx)
    })
}

/// Started with a window of ten segments.
fn started(given: &[(&str, Value)], srtt: Span) -> Prague {
    let mut law = prague(given);
    event(0, srtt, 0, |cx| law.start(cx, 10_000));
    law
}

fn mark(law: &mut Prague, ms: u64, srtt: Span) {
    event(ms, srtt, 0, |cx| law.on_congestion(cx, Signal::Ecn { flight: 10_000 }));
}

/// `rounds` windows of ten segments each, of which the last `marked` are marked, from `ms` on, one round trip apart.
fn rounds(law: &mut Prague, (ms, srtt): (u64, Span), marked: &[u64]) -> Vec<f64> {
    let after = marked.iter().zip(1u64..).map(|(m, n)| {
        let una = ms * 1_000_000 + n * 10_000;
        let ack = Ack {
            delivered: 10_000,
            marked: m * 1000,
            ece: *m > 0,
            una,
            window_limited: true,
            grow: true,
            ..Ack::default()
        };
        event(ms + n * srtt.0 / 1_000_000, srtt, una, |cx| law.observe(cx, &ack));
        law.alpha()
    });
    after.collect()
}

fn acked(law: &mut Prague, ms: u64, srtt: Span, (delivered, marked): (u64, u64)) {
    let ack = Ack { delivered, marked, window_limited: true, grow: true, ..Ack::default() };
    event(ms, srtt, 0, |cx| law.on_ack(cx, &ack));
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn alpha_stays_until_the_first_mark_and_is_then_the_average_of_the_shares() {
    let mut law = started(&[], MS(40));
    // M = 0, 0 (nothing is known yet), then 0.5 is what the first mark finds, then 1 and 0: g = 1/16 from alpha 1.
    let alphas = rounds(&mut law, (0, MS(40)), &[0, 0, 5, 10, 0]);
    let last = 15.0 / 16.0;
    for (alpha, expected) in alphas.iter().zip([1.0, 1.0, 1.0, 1.0, last]) {
        assert!(near(*alpha, expected), "{alphas:?}");
    }
}

#[test]
fn a_mark_takes_half_of_alpha_once_per_virtual_round_trip() {
    let mut law = started(&[("alpha_on_init", Value::Float(0.5)), ("transition", Value::Int(0))], MS(5));
    mark(&mut law, 100, MS(5));
    assert!(near(law.window(), 7.5), "{}", law.window());
    mark(&mut law, 124, MS(5));
    assert!(near(law.window(), 7.5), "24 ms are not a virtual round trip");
    mark(&mut law, 125, MS(5));
    assert!(near(law.window(), 5.625));
    // Before the transition the round trip is the real one, which the endpoint sees to.
    let mut law = started(&[("alpha_on_init", Value::Float(0.5))], MS(5));
    mark(&mut law, 100, MS(5));
    mark(&mut law, 105, MS(5));
    assert!(near(law.window(), 5.625));
}

#[test]
fn growth_per_second_is_that_of_the_virtual_round_trip() {
    let quick = [("transition", Value::Int(0))];
    // A window of five after the first mark. RTT 5 ms: (5/25)^2 of a segment per round trip, so 5 windows of 5 ms add
    // 1/5 in 25 ms; in segments per second and round trip that is the rate growth of one segment per 25 ms at 25 ms.
    for (srtt, per_round) in [(MS(5), 0.04), (MS(25), 1.0), (MS(80), 1.0)] {
        let mut law = started(&quick, srtt);
        mark(&mut law, 0, srtt);
        let before = law.window();
        acked(&mut law, 200, srtt, (1000, 0));
        assert!(near(law.window() - before, per_round / before), "{srtt:?}");
    }
}

#[test]
fn what_is_delivered_marked_adds_nothing() {
    let mut law = started(&[], MS(25));
    mark(&mut law, 0, MS(25));
    let before = law.window();
    acked(&mut law, 30, MS(25), (4000, 4000));
    assert!(near(law.window(), before));
    acked(&mut law, 31, MS(25), (4000, 3000));
    assert!(near(law.window(), before + 1.0 / before));
}

#[test]
fn the_pace_is_the_window_per_round_trip_and_twice_that_far_from_the_threshold() {
    let mut law = started(&[], MS(100));
    let pace = |law: &Prague| law.control().pacing;
    assert_eq!(pace(&law), Pacing::Rate(200_000), "10 segments of 1000 bytes in 100 ms, twice");
    mark(&mut law, 0, MS(100));
    assert_eq!(pace(&law), Pacing::Rate(50_000));
    // 4.5 segments: five may be outstanding, the pace is that of 4.5.
    acked(&mut law, 0, MS(100), (0, 0));
    law.w = 4.5;
    acked(&mut law, 0, MS(100), (0, 0));
    assert_eq!((law.control().cwnd, pace(&law)), (5000, Pacing::Rate(45_000)));
    // Below two segments it is the pace that falls, down to 100 kbit/s.
    law.w = 1.5;
    acked(&mut law, 0, MS(100), (0, 0));
    assert_eq!((law.control().cwnd, pace(&law)), (2000, Pacing::Rate(15_000)));
    let mut law = started(&[], MS(1));
    (0..40).for_each(|n| mark(&mut law, 30 * n, MS(1)));
    assert_eq!((law.control().cwnd, pace(&law)), (2000, Pacing::Rate(12_500)));
}

#[test]
fn a_loss_takes_half_and_a_timeout_begins_again() {
    let srtt = MS(50);
    let mut law = started(&[("alpha_on_init", Value::Float(0.0))], srtt);
    event(0, srtt, 0, |cx| law.on_congestion(cx, Signal::Loss { flight: 10_000 }));
    assert_eq!((law.control().cwnd, law.control().ssthresh), (5000, 5000));
    event(0, srtt, 0, |cx| law.on_congestion(cx, Signal::Timeout { flight: 5000, repeated: false }));
    assert_eq!((law.control().cwnd, law.control().ssthresh), (1000, 2500));
    event(0, srtt, 0, |cx| law.on_congestion(cx, Signal::Timeout { flight: 1000, repeated: true }));
    assert_eq!((law.control().cwnd, law.control().ssthresh), (1000, 2500), "held (RFC 5681 §3.1)");
    // Slow start to the threshold, and a window of growth per window behind it: 1 + 1.5, then 0.5 / 2.5.
    acked(&mut law, 100, srtt, (2000, 0));
    assert!(near(law.window(), 2.5 + 0.5 / 2.5), "{}", law.window());
}

#[test]
fn only_what_the_network_limits_grows() {
    let mut law = started(&[], MS(50));
    let limited = |app_limited| Some(RateSample { app_limited, ..RateSample::default() });
    for (rate, window) in [(limited(true), 10.0), (None, 10.0), (limited(false), 12.0)] {
        let ack = Ack { delivered: 2000, rate, grow: true, ..Ack::default() };
        event(10, MS(50), 0, |cx| law.on_ack(cx, &ack));
        assert!(near(law.window(), window), "{rate:?}");
    }
}

/// Mean of `p w` over a round trip of 100 ms where `marked` says whose segment is marked, with probability p on the whole.
fn marks_per_round(p: f64, mut marked: impl FnMut() -> bool) -> f64 {
    let srtt = MS(100);
    let mut law = started(&[("alpha_on_init", Value::Float(p))], srtt);
    law.w = 2.0 / p;
    law.slow_start = false;
    let (mut ns, mut until, mut area) = (0.0, 0, 0.0);
    let (warmup, end) = (100_000, 600_000);
    for n in 0..end {
        ns += 1e8 / law.window();
        let una = (n + 1) * 1000;
        let hit = marked();
        let nxt = una + (law.window() * 1000.0) as u64;
        let ack = Ack {
            delivered: 1000,
            marked: if hit { 1000 } else { 0 },
            ece: hit,
            una,
            window_limited: true,
            grow: true,
            ..Ack::default()
        };
        event((ns / 1e6) as u64, srtt, nxt, |cx| {
            law.observe(cx, &ack);
            // The endpoint's part: one signal for a round trip.
            if hit && una > until {
                law.on_congestion(cx, Signal::Ecn { flight: 10_000 });
                until = nxt;
            }
            law.on_ack(cx, &ack);
        });
        if n >= warmup {
            area += 1.0 / law.window();
        }
    }
    // Over time: a window counts as long as its segment lasts, 1/w of a round trip.
    p * (end - warmup) as f64 / area
}

#[test]
fn the_steady_window_is_that_of_reductions_which_wait_for_their_mark() {
    // RFC 9332 §C.2 (6) has w = 2/p: a reduction by p w / 2 in every round trip, which adds one segment. It comes with
    // the first mark after a round trip: after m marks of x = p w per round trip, m = ceil(x), if they are evenly spaced,
    // so x / 2 = m / x, x = sqrt(6); 1/x of a round trip late if they come at random, so x / 2 = 1 + 1/x.
    let p = 0.01;
    let mut sum = 0.0;
    let even = marks_per_round(p, || {
        sum += p;
        let hit = sum >= 1.0;
        sum -= f64::from(u8::from(hit));
        hit
    });
    assert!((even / 6f64.sqrt() - 1.0).abs() < 0.03, "{even}");
    let mut rng = crate::rng::Stream::named(1, 0, "marks");
    let random = marks_per_round(p, || rng.uniform() < p);
    assert!((random / (1.0 + 3f64.sqrt()) - 1.0).abs() < 0.03, "{random}");
}
