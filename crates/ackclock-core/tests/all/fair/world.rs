//! Packets, a link that sends a byte per microsecond, and what came out.

use ackclock_core::packet::Parcel;
use ackclock_core::params::Value;
use ackclock_core::queue::registry::{Site, build};
use ackclock_core::queue::{Backlog, Kept, Limits};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};

/// How many cases a test plays.
pub fn cases() -> u64 {
    crate::random_cases::cases(5000)
}

/// A stream for each case.
pub fn streams(name: &str) -> impl Iterator<Item = (u64, Stream)> + '_ {
    let seed = crate::random_cases::seed();
    (0..cases()).map(move |case| (case, Stream::named(seed, case, name)))
}

/// A packet on its way: when it arrives, in microseconds, its flow, its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: u64,
    pub flow: usize,
    pub len: u64,
}

/// A packet on the link: when its transmission begins, and its number.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    pub begin: u64,
    pub id: usize,
}

/// Flows with weights, and their packets in the order of arrival.
#[derive(Clone, Debug)]
pub struct Case {
    /// In units of `unit`.
    pub weights: Vec<u32>,
    pub unit: f64,
    pub packets: Vec<Sent>,
}

impl Case {
    /// The largest packet of each flow.
    pub fn largest(&self) -> Vec<u64> {
        let mut most = vec![0; self.weights.len()];
        for p in &self.packets {
            most[p.flow] = p.len.max(most[p.flow]);
        }
        most
    }

    /// What leaves the queue `kind`, which has room for everything. The class of a packet is its flow. What arrives when a
    /// packet has just left comes too late for the choice of the next one; what arrives at once at an idle link is all there.
    pub fn play(&self, kind: &str, given: &[(&str, Value)]) -> Vec<Served> {
        let site = Site {
            limits: Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: false },
            rate_bps: 8_000_000,
            delay: Span::ZERO,
            packet: 1500,
            weights: self.weights.iter().map(|w| f64::from(*w) * self.unit).collect(),
            rng: Stream::named(1, 0, "queue"),
        };
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let mut queue = build(kind, &given, site).unwrap();
        let (mut sink, mut out, mut next) = (Kept::default(), Vec::new(), 0);
        let mut free: Option<u64> = None;
        loop {
            let arrival = self.packets.get(next).map(|p| p.at);
            let now = match (free, arrival) {
                (Some(free), arrival) if arrival.is_none_or(|at| free <= at) => free,
                (busy, Some(at)) => {
                    while let Some(p) = self.packets.get(next).filter(|p| p.at == at) {
                        let (len, flow, class) = (p.len as u32, p.flow as u32, p.flow as u8);
                        let arrived = Time(at * 1000);
                        let parcel = Parcel { id: next as u32, len, flow, class, arrived, ..Parcel::default() };
                        let service = Backlog { packets: u64::from(busy.is_some()), bytes: 1 };
                        queue.enqueue(arrived, parcel, service, &mut sink);
                        next += 1;
                    }
                    if busy.is_some() {
                        continue;
                    }
                    at
                }
                (_, None) => break,
            };
            free = queue.dequeue(Time(now * 1000), &mut sink).map(|parcel| {
                out.push(Served { begin: now, id: parcel.id as usize });
                now + u64::from(parcel.len)
            });
        }
        assert!(sink.dropped.is_empty() && out.len() == self.packets.len());
        out
    }
}

/// Flows that come and go: spells in which they send more than the link takes, and pauses.
pub fn come_and_go(rng: &mut Stream, flows: usize, weights: &[u32], packets: usize) -> Case {
    let weights: Vec<u32> = (0..flows).map(|_| weights[rng.below(weights.len() as u64) as usize]).collect();
    // Each flow has a largest packet of its own.
    let most: Vec<u64> = (0..flows).map(|_| 40 + rng.below(1461)).collect();
    let load = [300, 600, 1500][rng.below(3) as usize];
    let (mut at, mut sent) = (0, Vec::new());
    while sent.len() < packets {
        at += if rng.below(30) == 0 { rng.below(20_000) } else { rng.below(2) * rng.below(load * 2) };
        let flow = rng.below(flows as u64) as usize;
        for _ in 0..=rng.below(4) * rng.below(4) {
            sent.push(Sent { at, flow, len: 40 + rng.below(most[flow] - 39) });
        }
    }
    Case { weights, unit: 1.0, packets: sent }
}

/// Flows that all wait from the beginning, and as long as there are many packets; `others` come and go.
pub fn backlogged(rng: &mut Stream, flows: usize, others: usize) -> Case {
    let weights: Vec<u32> = (0..flows + others).map(|_| [1, 2, 3, 6][rng.below(4) as usize]).collect();
    let (mut packets, mut at) = (Vec::new(), 0);
    for flow in 0..flows {
        let most = 40 + rng.below(1461);
        packets.extend((0..40).map(|_| Sent { at, flow, len: 40 + rng.below(most - 39) }));
    }
    for _ in 0..others * 3 {
        at += rng.below(20_000);
        let (flow, len) = (flows + rng.below(others as u64) as usize, 40 + rng.below(1461));
        (0..=rng.below(10)).for_each(|_| packets.push(Sent { at, flow, len }));
    }
    Case { weights, unit: 1.0, packets }
}
