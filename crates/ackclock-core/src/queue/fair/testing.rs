//! What the tests of the fair schedulers share.

use super::super::registry::{self, Site};
use super::super::{Backlog, Kept, Limits, Queue};
use crate::packet::Parcel;
use crate::params::Value;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// A link of 8 Mbit/s (a byte is a microsecond) with room for so many packets.
pub(super) fn site(packets: u64) -> Site {
    Site {
        limits: Limits { packets, bytes: u64::MAX, includes_service: false },
        rate_bps: 8_000_000,
        delay: Span::ZERO,
        packet: 1500,
        weights: Vec::new(),
        rng: Stream::named(1, 0, "fair"),
    }
}

/// A queue by name.
pub(super) fn build(name: &str, given: &[(&str, Value)], site: Site) -> Box<dyn Queue> {
    let given: Vec<(String, Value)> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    registry::build(name, &given, site).unwrap()
}

pub(super) fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

/// A packet on its way: when it arrives (us), its flow, its bytes.
pub(super) type Sent = (u64, u32, u32);

/// Sends `packets` through `queue` over a link of a byte per microsecond; the class of a packet is its flow. Returns when
/// each began and ended its transmission (us), its flow and its number, and what was dropped.
pub(super) fn play(queue: &mut dyn Queue, packets: &[Sent]) -> (Vec<(u64, u64, u32, u32)>, Kept) {
    let (mut out, mut sink) = (Vec::new(), Kept::default());
    let (mut busy_until, mut service) = (None::<u64>, Backlog::default());
    let mut id = 0;
    loop {
        let arrival = packets.get(id as usize).map(|p| p.0);
        let free = busy_until.filter(|t| arrival.is_none_or(|a| *t <= a));
        let now = match (free, arrival) {
            (Some(t), _) => {
                (busy_until, service) = (None, Backlog::default());
                t
            }
            (None, Some(a)) => {
                // What arrives at once arrives before the link looks.
                while let Some((_, flow, len)) = packets.get(id as usize).filter(|p| p.0 == a) {
                    let (class, arrived) = (*flow as u8, Time(a * 1000));
                    let parcel = Parcel { id, len: *len, flow: *flow, class, arrived, ..Parcel::default() };
                    queue.enqueue(arrived, parcel, service, &mut sink);
                    id += 1;
                }
                a
            }
            (None, None) => return (out, sink),
        };
        if busy_until.is_none() {
            if let Some(p) = queue.dequeue(Time(now * 1000), &mut sink) {
                out.push((now, now + u64::from(p.len), p.flow, p.id));
                busy_until = Some(now + u64::from(p.len));
                service = Backlog { packets: 1, bytes: u64::from(p.len) };
            }
        }
    }
}

/// The flows in the order served.
pub(super) fn order(out: &[(u64, u64, u32, u32)]) -> Vec<u32> {
    out.iter().map(|(_, _, flow, _)| *flow).collect()
}
