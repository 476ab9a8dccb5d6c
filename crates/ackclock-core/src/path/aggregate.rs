//! Frame aggregation: packets wait until so many are there or the first has waited long enough, and come out together.
//!
//! Source: the A-MPDU of IEEE Std 802.11-2020 §10.12, whose effect on acknowledgments BBR allows for
//! (draft-ietf-ccwg-bbr, "extra_acked"). What is modelled is the waiting; the time on air is a link's.

use super::registry::Kind;
use super::{Element, Out, Port, Store};
use crate::packet::Parcel;
use crate::params::{count, time};
use crate::ring::Ring;
use crate::time::{Span, Time};

/// The entry of the registry.
pub(super) const ENTRY: Kind = Kind {
    name: "aggregate",
    source: "IEEE Std 802.11-2020 §10.12",
    summary: "packets come out together, when enough are there or the first has waited long enough",
    params: &[
        count("packets", 32, (1.0, 65_536.0), "so many go at once"),
        time("timeout", 4, (0.0, 60.0), "longer than this nobody waits for others"),
    ],
    build: |p| {
        let (packets, timeout) = (p.int("packets") as usize, p.duration("timeout"));
        Ok(Box::new(Aggregate { packets, timeout, waiting: Vec::new(), until: Time::NEVER, ready: Ring::default() }))
    },
};

/// Those that wait and those that have been let go.
struct Aggregate {
    packets: usize,
    timeout: Span,
    waiting: Vec<Parcel>,
    /// When they go at the latest; never while nobody waits.
    until: Time,
    ready: Ring<(Time, Parcel)>,
}

impl Aggregate {
    fn release(&mut self, at: Time) {
        for parcel in self.waiting.drain(..) {
            self.ready.push((at, parcel));
        }
        self.until = Time::NEVER;
    }
}

impl Element for Aggregate {
    fn push(&mut self, now: Time, _port: Port, mut parcel: Parcel, _store: &mut dyn Store) {
        // Who comes at the very end of the wait is the first of the next.
        if self.until <= now {
            self.release(self.until);
        }
        parcel.arrived = now;
        if self.waiting.is_empty() {
            self.until = now + self.timeout;
        }
        self.waiting.push(parcel);
        if self.waiting.len() >= self.packets {
            self.release(now);
        }
    }

    fn pull(&mut self, now: Time, _store: &mut dyn Store) -> Option<Out> {
        if self.until <= now {
            self.release(self.until);
        }
        if self.ready.front()?.0 > now {
            return None;
        }
        self.ready.pop().map(|(at, parcel)| Out { at, port: 0, parcel })
    }

    fn next_due(&self) -> Time {
        self.ready.front().map_or(self.until, |e| e.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Nobody, pushed};
    use super::*;
    use crate::params::Value;
    use crate::path::registry;

    #[test]
    fn the_last_or_the_clock_lets_them_go() {
        let given = [("packets".into(), Value::Int(3)), ("timeout".into(), Value::Duration(Span(100)))];
        let mut e = registry::build("aggregate", &given).unwrap();
        // The third comes in time; the fifth at the very end of the fourth's wait.
        let out = pushed(e.as_mut(), &[10, 20, 30, 200, 300]);
        assert_eq!(out, [(30, 0), (30, 1), (30, 2), (300, 3), (400, 4)]);
        assert!(e.keeps_order() && !e.next_due().is_set() && e.pull(Time(9999), &mut Nobody).is_none());
    }
}
