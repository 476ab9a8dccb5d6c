use super::super::Kept;
use super::super::registry::build;
use super::*;
use crate::params::Value;

type Given<'a> = &'a [(&'a str, Value)];

const BUSY: Backlog = Backlog { packets: 1, bytes: 1500 };

fn site() -> Site {
    Site {
        limits: Limits { packets: 100_000, bytes: u64::MAX, includes_service: false },
        rate_bps: 100_000_000,
        delay: Span::ZERO,
        packet: 1500,
        weights: Vec::new(),
        rng: Stream::named(1, 0, "dualpi2"),
    }
}

fn dual(given: Given) -> DualPi2 {
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    DualPi2::new(&Params::new(PARAMS, &given).unwrap(), site()).unwrap()
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn packet(at: Time, ecn: Ecn) -> Parcel {
    Parcel { len: 1500, ecn, arrived: at, ..Parcel::default() }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} is not {b}");
}

/// At base probability `p`, `n` packets of each codepoint leave at once: of those, the shares marked and dropped.
fn shares(given: Given, p: f64, ecn: Ecn) -> (f64, f64) {
    let mut q = dual(given);
    q.base.set(p);
    let mut sink = Kept::default();
    let n = 100_000;
    (0..n).for_each(|_| q.enqueue(Time::ZERO, packet(Time::ZERO, ecn), BUSY, &mut sink));
    while q.dequeue(Time::ZERO, &mut sink).is_some() {}
    assert!(sink.marked.iter().all(|(_, _, reason)| *reason == Reason::Early));
    assert!(sink.dropped.iter().all(|(_, _, reason)| *reason == Reason::Early));
    (sink.marked.len() as f64 / f64::from(n), sink.dropped.len() as f64 / f64::from(n))
}

#[test]
fn the_base_probability_moves_by_distance_and_trend() {
    let mut base = dual(&[]).base;
    base.old = 0.020;
    // 25 ms after 20 ms, target 15 ms: 0.16 * 0.010 + 3.2 * 0.005.
    base.update(0.025);
    near(base.p, 0.0176);
    (0..1000).for_each(|_| base.update(1.0));
    near(base.p, 1.0);
    (0..1000).for_each(|_| base.update(0.0));
    near(base.p, 0.0);
}

#[test]
fn classic_is_the_square_and_coupled_is_k_times_the_base() {
    let mut base = dual(&[]).base;
    for (p, classic, coupled) in [(0.1, 0.01, 0.2), (0.5, 0.25, 1.0), (0.3, 0.09, 0.6)] {
        base.set(p);
        near(base.classic, classic);
        near(base.coupled, coupled);
    }
    // So the coupling law holds between what the two queues do.
    for decision in ["recur", "random"] {
        let given = [("decision", text(decision))];
        for p in [0.05, 0.1, 0.3] {
            let (low, low_dropped) = shares(&given, p, Ecn::Ect1);
            let (classic, classic_dropped) = shares(&given, p, Ecn::Ect0);
            let (not_marked, dropped) = shares(&given, p, Ecn::NotEct);
            assert!((low / (2.0 * p) - 1.0).abs() < 0.03, "{decision} {p}: {low}");
            assert!((classic / (p * p) - 1.0).abs() < 0.1, "{decision} {p}: {classic}");
            assert!((dropped / (p * p) - 1.0).abs() < 0.1, "{decision} {p}: {dropped}");
            assert_eq!((low_dropped, classic_dropped, not_marked), (0.0, 0.0, 0.0));
        }
    }
}

#[test]
fn at_overload_marks_turn_into_drops() {
    // p' = 0.6: p_C = 0.36, beyond 1/k^2.
    let (marked, dropped) = shares(&[], 0.6, Ecn::Ect0);
    assert_eq!(marked, 0.0);
    assert!((dropped - 0.36).abs() < 1e-3);
    let (marked, dropped) = shares(&[], 0.6, Ecn::Ect1);
    assert!((dropped - 0.36).abs() < 1e-3);
    assert!((marked - 0.64).abs() < 1e-3);
    let cap = [("overload", text("cap"))];
    assert!((shares(&cap, 0.6, Ecn::NotEct).1 - 0.25).abs() < 1e-3);
    assert!((shares(&cap, 0.6, Ecn::Ect1).1 - 0.25).abs() < 1e-3);
    // Linux's overflow: the base stops at 1/k, and nothing that understands ECN is dropped.
    let mut base = dual(&[("overload", text("overflow"))]).base;
    (0..1000).for_each(|_| base.update(1.0));
    near(base.p, 0.5);
    assert_eq!(shares(&[("overload", text("overflow"))], 0.5, Ecn::Ect1), (1.0, 0.0));
    let (marked, dropped) = shares(&[("overload", text("overflow"))], 0.5, Ecn::Ect0);
    assert!((marked - 0.25).abs() < 1e-3 && dropped == 0.0);
}

#[test]
fn the_low_latency_queue_marks_by_its_own_delay() {
    let us = |us: u64| Span::from_micros(us);
    let ramp = dual(&[]).ramp;
    for (waited, p) in [(0, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (5000, 1.0)] {
        near(ramp.probability(us(waited), 2), p);
    }
    assert_eq!(ramp.probability(us(5000), 1), 0.0, "a single packet is no queue");
    let step = dual(&[("native", text("step"))]).ramp;
    assert_eq!((step.probability(us(1000), 2), step.probability(us(1001), 2)), (0.0, 1.0));
    // The reason names the delay, and only the low-latency queue has this.
    let mut q = dual(&[]);
    let mut sink = Kept::default();
    for ecn in [Ecn::Ect1, Ecn::Ce, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ect1] {
        q.enqueue(Time::ZERO, packet(Time::ZERO, ecn), BUSY, &mut sink);
    }
    while q.dequeue(Time(2_000_000), &mut sink).is_some() {}
    // Three ECT(1): the last is alone then; CE is not reported again.
    assert_eq!(sink.marked.len(), 2);
    assert!(sink.marked.iter().all(|(_, p, reason)| p.ecn == Ecn::Ce && *reason == Reason::Delay));
}

#[test]
fn a_time_shifted_fifo_gives_the_low_latency_queue_a_head_start() {
    let mut q = dual(&[]);
    let mut sink = Kept::default();
    let at = |ms: u64| Time(ms * 1_000_000);
    let mut put = |ms: u64, id: u32, ecn: Ecn| {
        q.enqueue(at(ms), Parcel { id, ..packet(at(ms), ecn) }, BUSY, &mut sink);
    };
    // Head start 30 ms: a classic packet that came 30 ms before is behind, one of 31 ms before goes first.
    put(0, 0, Ecn::NotEct);
    put(1, 1, Ecn::Ect0);
    put(31, 2, Ecn::Ect1);
    put(31, 3, Ecn::Ect1);
    let order: Vec<_> = std::iter::from_fn(|| q.dequeue(at(31), &mut sink)).map(|p| p.id).collect();
    assert_eq!(order, [0, 2, 3, 1]);
}

#[test]
fn weighted_round_robin_serves_the_classic_queue_by_its_weight() {
    let mut q = dual(&[("scheduler", text("wrr"))]);
    let mut sink = Kept::default();
    for _ in 0..3200 {
        q.enqueue(Time::ZERO, packet(Time::ZERO, Ecn::NotEct), BUSY, &mut sink);
        q.enqueue(Time::ZERO, packet(Time::ZERO, Ecn::Ect1), BUSY, &mut sink);
    }
    let classic = (0..3200).filter(|_| q.dequeue(Time::ZERO, &mut sink).unwrap().ecn == Ecn::NotEct).count();
    assert_eq!(classic, 200);
}

#[test]
fn missed_updates_are_caught_up_with_the_delays_of_their_times() {
    let mut q = dual(&[]);
    let mut sink = Kept::default();
    let mut base = q.base.clone();
    q.enqueue(Time::ZERO, packet(Time::ZERO, Ecn::NotEct), BUSY, &mut sink);
    q.enqueue(Time(5_000_000), packet(Time(5_000_000), Ecn::Ect1), BUSY, &mut sink);
    q.dequeue(Time(100_000_000), &mut sink);
    (1..=6).for_each(|k| base.update(Time(k * 16_000_000).as_secs_f64()));
    assert_eq!((q.base.p, q.base.old), (base.p, base.old));
    // Idle: the same whether asked once or often.
    while q.dequeue(Time(100_000_000), &mut sink).is_some() {}
    let mut often = q.clone();
    (100..100_000).for_each(|t| assert!(often.dequeue(Time(t * 1_000_000), &mut sink).is_none()));
    q.dequeue(Time(99_999_000_000), &mut sink);
    assert_eq!((q.base.p, q.base.old, q.next), (often.base.p, often.base.old, often.next));
}

#[test]
fn a_contradiction_is_refused() {
    let given = [("ramp_to".to_owned(), Value::Duration(Span::from_micros(700)))];
    let error = build("dualpi2", &given, site()).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("'ramp_from': must be shorter than 'ramp_to'"), "{error}");
}

/// What a run shows: mean waiting times in ms, of the low-latency and the classic queue, the share of the low-latency
/// packets that were marked, and the share of the classic ones that were dropped.
struct Seen {
    low_ms: f64,
    classic_ms: f64,
    marked: f64,
    dropped: f64,
}

/// Poisson arrivals of 1500 bytes, of each kind so many times the 100 Mbit/s of the link, for 30 s after 10 s.
fn run(given: Given, low_load: f64, classic_load: f64) -> Seen {
    const SERVICE: u64 = 120_000;
    let mut q = dual(given);
    let mut sink = Kept::default();
    let mut draws = Stream::named(2, 0, "arrivals");
    let (mut arrival, mut free, mut serving) = (0.0, 0u64, false);
    // Of each queue: arrivals, departures, waiting time.
    let mut count = [(0.0, 0.0, 0.0); 2];
    let warm = Time(10_000_000_000);
    loop {
        arrival -= crate::math::ln(1.0 - draws.uniform()) * SERVICE as f64 / (low_load + classic_load);
        let at = Time(arrival as u64);
        let mut leave = |q: &mut DualPi2, now: Time, sink: &mut Kept| {
            let Some(parcel) = q.dequeue(now, sink) else { return false };
            if parcel.arrived > warm {
                let kind = &mut count[usize::from(parcel.class)];
                kind.1 += 1.0;
                kind.2 += now.since(parcel.arrived).as_secs_f64() * 1e3;
            }
            true
        };
        while serving && Time(free) <= at {
            serving = leave(&mut q, Time(free), &mut sink);
            free += SERVICE;
        }
        if at > Time(40_000_000_000) {
            break;
        }
        let low = draws.uniform() * (low_load + classic_load) < low_load;
        let service = if serving { BUSY } else { Backlog::default() };
        let ecn = if low { Ecn::Ect1 } else { Ecn::NotEct };
        q.enqueue(at, Parcel { class: u8::from(!low), ..packet(at, ecn) }, service, &mut sink);
        if !serving {
            serving = leave(&mut q, at, &mut sink);
            free = at.0 + SERVICE;
        }
        if at > warm {
            count[usize::from(!low)].0 += 1.0;
        }
    }
    let late = |class: u8, events: &[(Time, Parcel, Reason)]| {
        events.iter().filter(|(_, p, _)| p.arrived > warm && p.class == class).count() as f64
    };
    Seen {
        low_ms: count[0].2 / count[0].1,
        classic_ms: count[1].2 / count[1].1,
        marked: late(0, &sink.marked) / count[0].0,
        dropped: late(1, &sink.dropped) / count[1].0,
    }
}

/// Traffic that does not respond: 0.3 of the link in the low-latency queue, 0.8 in the classic one. The classic queue
/// settles at its target by dropping what is too much, 0.1 of 0.8, so p_C = 1/8, p' = 0.354 and p_CL = 0.707; and the
/// low-latency queue stays short, because it goes first.
#[test]
fn with_both_queues_loaded_the_low_latency_queue_stays_short() {
    for scheduler in ["shifted", "wrr"] {
        let seen = run(&[("scheduler", text(scheduler))], 0.3, 0.8);
        println!(
            "{scheduler}: low {:.3} ms, classic {:.3} ms, marked {:.4}, dropped {:.4}",
            seen.low_ms, seen.classic_ms, seen.marked, seen.dropped
        );
        assert!(seen.low_ms < 0.3, "{scheduler}: {} ms", seen.low_ms);
        assert!((seen.classic_ms / 15.0 - 1.0).abs() < 0.05, "{scheduler}: {} ms", seen.classic_ms);
        assert!((seen.dropped / 0.125 - 1.0).abs() < 0.03, "{scheduler}: {}", seen.dropped);
        assert!((seen.marked / 0.707 - 1.0).abs() < 0.03, "{scheduler}: {}", seen.marked);
    }
}
