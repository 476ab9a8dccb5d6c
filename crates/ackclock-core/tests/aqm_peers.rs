//! Queues beside the queue discs of ns-3 3.37 on the same arrivals: `benches/peers/ns3/queues.cc` computes them in the
//! same way, `conformance/ns3/queues.csv` has what came out, `queue-events.csv` the first drops and marks of those that
//! draw nothing.
//!
//! The link serves a byte per tick of 1024 ns, in which CoDel's clock counts in Linux and ns-3.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::params::{Kind, Value};
use ackclock_core::queue::registry::{build, find, Site};
use ackclock_core::queue::{Backlog, Kept, Limits, Reason};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const FIGURES: &str = include_str!("../../../conformance/ns3/queues.csv");
const EVENTS: &str = include_str!("../../../conformance/ns3/queue-events.csv");

const TICK: u64 = 1024;
/// About a second, in ticks.
const SECOND: u64 = 976_562;
const END: u64 = 40 * SECOND;
const RUNS: u64 = 8;

const PATTERNS: [&str; 6] =
    ["constant 110 %", "Poisson 95 %", "Poisson 120 %", "bursts 92 %", "on/off 150 %", "mixed 115 %"];

/// Knuth's MMIX generator, upper half of its state.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// Exponential with the given mean, in whole numbers (von Neumann 1951): a uniform number is accepted if the
    /// descending run that it begins has odd length.
    fn exponential(&mut self, mean: u64) -> u64 {
        for whole in 0.. {
            let first = self.next();
            let (mut last, mut odd) = (first, true);
            loop {
                let u = self.next();
                if u >= last {
                    break;
                }
                (last, odd) = (u, !odd);
            }
            if odd {
                return (mean * ((whole << 32) + u64::from(first))) >> 32;
            }
        }
        unreachable!("a run is odd sooner or later")
    }
}

/// Tick, bytes, flow.
type Arrival = (u64, u32, u32);

fn poisson(mean: impl Fn(u64) -> u64, packet: impl Fn(&mut Lcg) -> (u32, u32)) -> Vec<Arrival> {
    let (mut lcg, mut at, mut all) = (Lcg(1), 0, vec![]);
    loop {
        at += lcg.exponential(mean(at));
        if at >= END {
            return all;
        }
        let (len, flow) = packet(&mut lcg);
        all.push((at, len, flow));
    }
}

fn arrivals(pattern: &str) -> Vec<Arrival> {
    let equal = |lcg: &mut Lcg| (1500, lcg.next() >> 30);
    match pattern {
        "constant 110 %" => (0..END).step_by(1364).map(|at| (at, 1500, 0)).collect(),
        "Poisson 95 %" => poisson(|_| 1579, equal),
        "Poisson 120 %" => poisson(|_| 1250, equal),
        "on/off 150 %" => poisson(|at| if at / SECOND % 2 == 0 { 1000 } else { 7500 }, equal),
        "bursts 92 %" => {
            let burst = |at| (0..60).map(move |i| (at, 1500, i % 4));
            (0..END).step_by(SECOND as usize / 10).flat_map(burst).collect()
        }
        _ => poisson(
            |_| 791,
            |lcg| {
                let len = [64, 576, 1500, 1500][lcg.next() as usize >> 30];
                (len, (lcg.next() >> 28).saturating_sub(7))
            },
        ),
    }
}

/// A queue as ns-3 has it: the name in the recording, and what it is here.
struct Ours {
    name: &'static str,
    kind: &'static str,
    limits: Limits,
    given: &'static [(&'static str, &'static str)],
}

const fn packets(packets: u64) -> Limits {
    Limits { packets, bytes: u64::MAX, includes_service: false }
}

/// ns-3's CoDel has Linux's arithmetic, and drops with `MinBytes` = 1500 or more left where Linux needs more than `mtu`.
const CODEL: (&str, &str) = ("variant", "ns3");

const fn ours(
    name: &'static str,
    kind: &'static str,
    limit: u64,
    given: &'static [(&'static str, &'static str)],
) -> Ours {
    Ours { name, kind, limits: packets(limit), given }
}

const EXACT: &[Ours] = &[
    ours("fifo", "droptail", 100, &[]),
    ours("codel", "codel", 1000, &[CODEL]),
    ours("codel 100 packets", "codel", 100, &[CODEL]),
    ours("codel ecn", "codel", 1000, &[CODEL, ("ecn", "true")]),
    ours("fq_codel", "fq_codel", 10_240, &[CODEL, ("quantum", "1500"), ("ecn", "false")]),
    ours("fq_codel 100 packets", "fq_codel", 100, &[CODEL, ("quantum", "1500"), ("ecn", "false")]),
    ours("fq_codel ecn", "fq_codel", 10_240, &[CODEL, ("quantum", "1500")]),
];

const RED: (&str, &str) = ("preset", "ns3");
const PIE: [(&str, &str); 3] = [("variant", "ns3"), ("delay", "sojourn"), ("high_step", "0")];
const PLAIN: (&str, &str) = ("derandomize", "false");

const DRAWN: &[Ours] = &[
    ours("red", "red", 100, &[RED]),
    ours("red not gentle", "red", 100, &[RED, ("gentle", "off")]),
    ours("red no wait", "red", 100, &[RED, ("wait", "off")]),
    ours("red ecn", "red", 100, &[RED, ("ecn", "true")]),
    ours("red adaptive", "red", 100, &[RED, ("adaptive", "on"), ("gentle", "off")]),
    ours(
        "red ared",
        "red",
        100,
        &[("preset", "ared"), ("gentle", "off"), ("mean_packet", "500"), ("max_p", "0.02")],
    ),
    Ours {
        name: "red bytes",
        kind: "red",
        limits: Limits { packets: u64::MAX, bytes: 100_000, includes_service: false },
        given: &[RED, ("mode", "bytes"), ("min", "7500"), ("max", "22500"), ("mean_packet", "1000")],
    },
    ours("pie", "pie", 1000, &[PIE[0], PIE[1], PIE[2], PLAIN]),
    ours("pie spread", "pie", 1000, &PIE),
    ours(
        "pie rate",
        "pie",
        1000,
        &[PIE[0], ("delay", "rate"), PIE[2], PLAIN, ("rate_threshold", "16384"), ("rate_weight", "0.5")],
    ),
    ours("pie ecn", "pie", 1000, &[PIE[0], PIE[1], PIE[2], PLAIN, ("ecn", "true")]),
];

/// What a run did: figures by the names of the recording, and every drop and mark: tick, packet, what.
struct Played {
    figures: BTreeMap<&'static str, f64>,
    events: Vec<(u64, u32, &'static str)>,
}

fn play(ours: &Ours, arrivals: &[Arrival], seed: u64) -> Played {
    let site = Site {
        limits: ours.limits,
        rate_bps: 7_812_500,
        delay: Span::from_millis(20),
        packet: 1500,
        weights: vec![],
        rng: Stream::named(seed, 0, "queue"),
    };
    let specs = find(ours.kind).unwrap().params;
    let value = |name: &str, word: &str| match specs.iter().find(|s| s.name == name).unwrap().kind {
        Kind::Bool => Value::Bool(word == "true"),
        Kind::Float => Value::Float(word.parse().unwrap()),
        Kind::Count | Kind::Bytes => Value::Int(word.parse().unwrap()),
        _ => Value::Text(word.to_owned()),
    };
    let given: Vec<_> = ours.given.iter().map(|(k, v)| ((*k).to_owned(), value(k, v))).collect();
    let mut queue = build(ours.kind, &given, site).unwrap();
    let (mut sink, mut waited, mut events) = (Kept::default(), vec![], vec![]);
    let mut service: Option<(u64, u32)> = None;
    let mut serve = |queue: &mut dyn ackclock_core::queue::Queue, tick: u64, sink: &mut Kept| {
        let parcel = queue.dequeue(Time(tick * TICK), sink)?;
        waited.push(tick - parcel.arrived.0 / TICK);
        Some((tick + u64::from(parcel.len), parcel.len))
    };
    let mut note = |sink: &mut Kept, figures: &mut BTreeMap<&'static str, f64>| {
        for (at, parcel, reason) in sink.dropped.drain(..) {
            events.push((at.0 / TICK, parcel.id, reason.name()));
            *figures.entry(reason.name()).or_default() += 1.0;
        }
        for (at, parcel, _) in sink.marked.drain(..) {
            events.push((at.0 / TICK, parcel.id, "mark"));
            *figures.entry("marks").or_default() += 1.0;
        }
    };
    let mut figures = BTreeMap::new();
    for (id, &(tick, len, flow)) in arrivals.iter().chain([&(END, 0, 0)]).enumerate() {
        while let Some((free, _)) = service.filter(|(free, _)| *free <= tick.min(END - 1)) {
            service = serve(queue.as_mut(), free, &mut sink);
            note(&mut sink, &mut figures);
        }
        if tick == END {
            break;
        }
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0][(flow as usize + 1) % 3];
        let parcel = Parcel { id: id as u32, len, flow, ecn, arrived: Time(tick * TICK), ..Parcel::default() };
        let busy = service.map_or(Backlog::default(), |(_, len)| Backlog { packets: 1, bytes: u64::from(len) });
        queue.enqueue(Time(tick * TICK), parcel, busy, &mut sink);
        if service.is_none() {
            service = serve(queue.as_mut(), tick, &mut sink);
        }
        note(&mut sink, &mut figures);
    }
    waited.sort_unstable();
    let milliseconds = |ticks: f64| ticks * TICK as f64 * 1e-6;
    figures.insert("served", waited.len() as f64);
    figures.insert("mean_ms", milliseconds(waited.iter().sum::<u64>() as f64 / waited.len() as f64));
    figures.insert("p95_ms", milliseconds(waited[(95 * waited.len()).div_ceil(100) - 1] as f64));
    Played { figures, events }
}

#[test]
fn explore() {
    let rows: Vec<Vec<&str>> = FIGURES.lines().map(|l| l.split(',').collect()).collect();
    for pattern in PATTERNS {
        let arrivals = arrivals(pattern);
        for (ours, runs) in EXACT.iter().map(|o| (o, 1)).chain(DRAWN.iter().map(|o| (o, RUNS))) {
            let row = rows.iter().find(|r| r[0] == pattern && r[1] == ours.name).unwrap();
            assert_eq!((row[2], row[3]), (&*arrivals.len().to_string(), &*arrivals.last().unwrap().0.to_string()));
            let mut sum: BTreeMap<&str, f64> = BTreeMap::new();
            let mut ev = vec![];
            for seed in 1..=runs {
                let p = play(ours, &arrivals, seed);
                for (k, v) in p.figures { *sum.entry(k).or_default() += v / runs as f64; }
                ev = p.events;
            }
            let mut text = format!("{pattern} {}:", ours.name);
            for (i, name) in rows[0].iter().enumerate().skip(5) {
                let (a, b) = (sum.get(name).copied().unwrap_or(0.0), row[i].parse::<f64>().unwrap());
                text += &format!(" {name} {a:.2}/{b:.2}({:+.1}%)", 100.0 * (a / b - 1.0));
            }
            println!("{text}");
            if runs == 1 {
                let theirs: Vec<_> = EVENTS.lines().map(|l| l.split(',').collect::<Vec<_>>()).filter(|r| r[0] == pattern && r[1] == ours.name).map(|r| (r[2].parse::<u64>().unwrap(), r[3].parse::<u32>().unwrap(), r[4])).collect();
                let same = theirs.iter().zip(&ev).take_while(|(a, b)| **a == **b).count();
                println!("   same {same} of {}, then {:?} / {:?}", theirs.len(), ev.get(same), theirs.get(same));
            }
        }
    }
}

