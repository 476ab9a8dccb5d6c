//! Fair schedulers beside ns-2.35's `Queue/DRR` and `Queue/FQ` on the same arrivals, packet by packet:
//! `conformance/ns2/fair.csv`, recorded by `benches/record_fair.py`. The link sends a byte per microsecond.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use ackclock_core::packet::Parcel;
use ackclock_core::params::Value;
use ackclock_core::queue::registry::{Site, build};
use ackclock_core::queue::{Backlog, Kept, Limits};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};

const RECORDED: &str = include_str!("../../../../conformance/ns2/fair.csv");

const PATTERNS: [&str; 4] = ["heavy and light", "mixed", "on/off", "bursts"];

/// Nanosecond, flow, bytes.
type Arrival = (u64, u32, u32);

/// The arrivals of a pattern, and when ns-2 began to transmit each, in microseconds.
fn recorded(pattern: &str, scheduler: &str) -> (Vec<Arrival>, Vec<Option<u64>>) {
    let mut rows = RECORDED.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let column = rows.next().unwrap().iter().position(|name| *name == scheduler).expect(scheduler);
    rows.filter(|row| row[0] == pattern)
        .map(|row| {
            let arrival = (row[1].parse().unwrap(), row[2].parse().unwrap(), row[3].parse().unwrap());
            (arrival, row[column].parse().ok())
        })
        .unzip()
}

/// When the transmission of each packet begins, in nanoseconds; none for those that are dropped.
fn play(kind: &str, limits: Limits, given: &[(&str, Value)], arrivals: &[Arrival]) -> Vec<Option<u64>> {
    let site = Site {
        limits,
        rate_bps: 8_000_000,
        delay: Span::ZERO,
        packet: 1500,
        weights: vec![],
        rng: Stream::named(1, 0, "queue"),
    };
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let mut queue = build(kind, &given, site).unwrap();
    let (mut sink, mut begun, mut service) = (Kept::default(), vec![None; arrivals.len()], None::<(u64, u32)>);
    for (id, &(at, flow, len)) in arrivals.iter().chain([&(u64::MAX, 0, 0)]).enumerate() {
        while let Some((free, _)) = service.filter(|(free, _)| *free <= at) {
            service = queue.dequeue(Time(free), &mut sink).map(|parcel| {
                begun[parcel.id as usize] = Some(free);
                (free + u64::from(parcel.len) * 1000, parcel.len)
            });
        }
        if at == u64::MAX {
            break;
        }
        let parcel = Parcel { id: id as u32, len, flow, arrived: Time(at), ..Parcel::default() };
        let busy = service.map_or(Backlog::default(), |(_, len)| Backlog { packets: 1, bytes: u64::from(len) });
        queue.enqueue(Time(at), parcel, busy, &mut sink);
        if service.is_none() {
            service = queue.dequeue(Time(at), &mut sink).map(|parcel| {
                begun[parcel.id as usize] = Some(at);
                (at + u64::from(parcel.len) * 1000, parcel.len)
            });
        }
    }
    begun
}

const ANY: Limits = Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: false };

fn agrees(scheduler: &str, kind: &str, limits: Limits, given: &[(&str, Value)]) {
    for pattern in PATTERNS {
        let (arrivals, theirs) = recorded(pattern, scheduler);
        assert_eq!(arrivals.len(), 500);
        let ours = play(kind, limits, given, &arrivals);
        for (id, (ours, theirs)) in ours.into_iter().zip(theirs).enumerate() {
            // ns-2 prints whole microseconds, rounded.
            let same = match (ours, theirs) {
                (Some(ours), Some(theirs)) => ours.abs_diff(theirs * 1000) <= 501,
                (ours, theirs) => ours.is_none() && theirs.is_none(),
            };
            assert!(same, "{scheduler}, {pattern}: packet {id} at {ours:?} ns, in ns-2 at {theirs:?} us");
        }
    }
}

/// Order, times and, with room for 25,000 bytes, drops: ns-2 takes them from the head of the longest queue.
#[test]
fn drr_does_the_same_with_every_packet() {
    let quantum = |bytes| ("quantum", Value::Int(bytes));
    agrees("drr 250", "drr", ANY, &[quantum(250)]);
    agrees("drr 1500", "drr", ANY, &[quantum(1500)]);
    let head = ("drop_end", Value::Text("head".to_owned()));
    agrees("drr 1500 25 kB", "drr", Limits { bytes: 25_000, ..ANY }, &[quantum(1500), head]);
}

/// A `limit_` of 10 is room for ten packets of a flow: nine in its own queue and one at the scheduler.
#[test]
fn fq_does_the_same_with_every_packet() {
    agrees("fq", "fq", ANY, &[("per_flow_limit", Value::Int(0))]);
    agrees("fq 10 packets", "fq", ANY, &[("per_flow_limit", Value::Int(10))]);
}

#[test]
fn the_recording_has_drops_and_queues() {
    for (scheduler, drops) in [("drr 250", false), ("drr 1500 25 kB", true), ("fq", false), ("fq 10 packets", true)] {
        let (mut lost, mut waited) = (0, 0);
        for pattern in PATTERNS {
            let (arrivals, begun) = recorded(pattern, scheduler);
            lost += begun.iter().filter(|t| t.is_none()).count();
            waited +=
                arrivals.iter().zip(&begun).filter(|(a, t)| t.is_some_and(|t| t * 1000 > a.0 + 3_000_000)).count();
        }
        assert_eq!(lost > 100, drops, "{scheduler}: {lost}");
        assert!(waited > 800, "{scheduler}: {waited}");
    }
}
