//! A medium that both directions share: one packet at a time, first come first served, whichever way it goes.
//!
//! What a radio channel without frequency division does to data and acknowledgments, without the contention of a MAC. Port 0
//! is one direction, port 1 the other.

use super::registry::Kind;
use super::{Element, Out, Port, Store};
use crate::link::Serializer;
use crate::packet::Parcel;
use crate::params::{count, time};
use crate::ring::Ring;
use crate::time::{Span, Time};

/// The entry of the registry.
pub(super) const ENTRY: Kind = Kind {
    name: "half_duplex",
    source: "time-division duplex in general",
    summary: "one transmitter for both directions, first come first served",
    params: &[
        count("rate_bps", 54_000_000, (1.0, 1e15), "bits per second of both directions together"),
        time("guard", 0, (0.0, 1.0), "what the medium is busy for longer after each packet"),
        count("limit", 1000, (1.0, 1e9), "most packets in it; the one in transmission counts"),
    ],
    build: |p| {
        Ok(Box::new(HalfDuplex {
            medium: Serializer::new(p.int("rate_bps")),
            guard: p.duration("guard"),
            limit: p.int("limit") as usize,
            free: Time::ZERO,
            left: (Time::ZERO, 0),
            ring: Ring::default(),
        }))
    },
};

struct HalfDuplex {
    medium: Serializer,
    guard: Span,
    limit: usize,
    /// When the last guard is over.
    free: Time,
    /// When the last one came out, and how many did at that very time.
    left: (Time, usize),
    /// Everything that has not come out: nothing is left to decide once it is in.
    ring: Ring<(Time, Parcel)>,
}

impl Element for HalfDuplex {
    fn ports(&self) -> Port {
        2
    }

    fn push(&mut self, now: Time, port: Port, mut parcel: Parcel, store: &mut dyn Store) {
        // A driver has pulled those that were due before. Who is out just now takes room (see the contract), whether it has
        // been pulled or will be.
        let just_left = if self.left.0 == now { self.left.1 } else { 0 };
        if self.ring.len() + just_left >= self.limit {
            return store.drop(parcel.id);
        }
        let (_, end) = self.medium.transmit(now.max(self.free), parcel.len);
        self.free = end + self.guard;
        (parcel.arrived, parcel.way) = (now, port);
        self.ring.push((end, parcel));
    }

    fn pull(&mut self, now: Time, _store: &mut dyn Store) -> Option<Out> {
        if self.ring.front()?.0 > now {
            return None;
        }
        let (at, parcel) = self.ring.pop()?;
        self.left = (at, if self.left.0 == at { self.left.1 + 1 } else { 1 });
        Some(Out { at, port: parcel.way, parcel })
    }

    fn next_due(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |e| e.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Nobody;
    use super::*;
    use crate::params::Value;
    use crate::path::registry;

    #[test]
    fn both_directions_wait_for_each_other() {
        // 8 Mbit/s: 1 us a byte, and 50 us between two packets.
        let given = [("rate_bps", Value::Int(8_000_000)), ("guard", Value::Duration(Span::from_micros(50)))];
        let given: Vec<_> = given
            .into_iter()
            .map(|(name, v)| (name.to_owned(), v))
            .chain([("limit".to_owned(), Value::Int(3))])
            .collect();
        let mut e = registry::build("half_duplex", &given).unwrap();
        assert_eq!(e.ports(), 2);
        for (id, at, port) in [(0, 0, 0), (1, 10, 1), (2, 20, 0), (3, 30, 1)] {
            e.push(Time(at), port, Parcel { id, len: 100, ..Parcel::default() }, &mut Nobody);
        }
        let out = std::iter::from_fn(|| e.pull(e.next_due(), &mut Nobody)).map(|o| (o.at.0, o.port, o.parcel.id));
        assert_eq!(
            out.collect::<Vec<_>>(),
            [(100_000, 0, 0), (250_000, 1, 1), (400_000, 0, 2)],
            "no room for the fourth"
        );
    }

    #[test]
    fn who_arrives_as_another_leaves_finds_it_there_whoever_is_asked_first() {
        let given = [("rate_bps".to_owned(), Value::Int(8_000_000)), ("limit".to_owned(), Value::Int(1))];
        let parcel = |id| Parcel { id, len: 100, ..Parcel::default() };
        for pulled_first in [true, false] {
            let mut e = registry::build("half_duplex", &given).unwrap();
            let mut store = Dropped::default();
            e.push(Time(0), 0, parcel(0), &mut store);
            if pulled_first {
                assert!(e.pull(Time(100_000), &mut store).is_some());
            }
            e.push(Time(100_000), 1, parcel(1), &mut store);
            if !pulled_first {
                assert!(e.pull(Time(100_000), &mut store).is_some());
            }
            e.push(Time(100_001), 1, parcel(2), &mut store);
            assert_eq!(store.0, [1], "a nanosecond later there is room");
            let last = e.pull(e.next_due(), &mut store).map(|o| (o.at.0, o.parcel.id));
            assert_eq!(last, Some((200_001, 2)), "pulled first: {pulled_first}");
        }
    }

    /// Who was dropped.
    #[derive(Default)]
    struct Dropped(Vec<u32>);

    impl Store for Dropped {
        fn drop(&mut self, id: u32) {
            self.0.push(id);
        }
        fn mark(&mut self, _id: u32) {}
        fn duplicate(&mut self, _id: u32) -> Option<u32> {
            None
        }
    }
}
