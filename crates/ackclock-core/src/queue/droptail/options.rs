//! A FIFO that may sacrifice another packet than the arrival, and that throws away what has become too old.
//!
//! Dropping from the front: T. V. Lakshman, A. Neidhardt and T. J. Ott, The drop from front strategy in TCP and in TCP
//! over ATM, INFOCOM 1996; at random: RFC 2309 §2. Age: the discard timer of 3GPP TS 36.323 §5.4.

use super::super::{Backlog, Limits, Queue, Reason, Sink, mark};
use super::Step;
use crate::packet::Parcel;
use crate::ring::Ring;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// Who is dropped when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    /// The arrival.
    Tail,
    /// Who has waited longest.
    Head,
    /// Any of those that wait or the arrival, with equal chances.
    Random,
}

/// The FIFO. Who leaves from the middle leaves a hole; the first entry is never one.
#[derive(Clone, Debug)]
pub(super) struct Sacrificing {
    limits: Limits,
    step: Step,
    victim: Victim,
    /// Longer than this nobody waits.
    max_age: Span,
    rng: Stream,
    fifo: Ring<Option<Parcel>>,
    waiting: Backlog,
}

impl Sacrificing {
    pub fn new(limits: Limits, step: Step, victim: Victim, max_age: Span, rng: Stream) -> Sacrificing {
        Sacrificing { limits, step, victim, max_age, rng, fifo: Ring::default(), waiting: Backlog::default() }
    }

    fn left(&mut self, parcel: &Parcel) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(parcel.len);
    }

    fn take_head(&mut self) -> Option<Parcel> {
        let parcel = self.fifo.pop()??;
        self.left(&parcel);
        while let Some(None) = self.fifo.front() {
            self.fifo.pop();
        }
        Some(parcel)
    }

    /// Takes one of the parcels out, each with equal chances.
    fn take_any(&mut self) -> Option<Parcel> {
        if self.waiting.packets == 0 {
            return None;
        }
        // Holes that prevail are closed up: a few trials find a parcel.
        let n = loop {
            let n = self.fifo.head() + self.rng.below(self.fifo.len() as u64);
            if self.fifo.get(n).is_some() {
                break n;
            }
        };
        if n == self.fifo.head() {
            return self.take_head();
        }
        let parcel = self.fifo.get_mut(n).take()?;
        self.left(&parcel);
        if self.fifo.len() as u64 > 2 * self.waiting.packets {
            self.close_up();
        }
        Some(parcel)
    }

    /// Removes the holes: at most one move of an entry per drop on average.
    fn close_up(&mut self) {
        for _ in 0..self.fifo.len() {
            if let Some(Some(parcel)) = self.fifo.pop() {
                self.fifo.push(Some(parcel));
            }
        }
    }

    /// Drops what was too old before `now`, at the first instant of its being so.
    fn expire(&mut self, now: Time, sink: &mut dyn Sink) {
        while let Some(Some(first)) = self.fifo.front() {
            if now.since(first.arrived) <= self.max_age {
                return;
            }
            let at = first.arrived + self.max_age + Span(1);
            if let Some(parcel) = self.take_head() {
                sink.dropped(at, parcel, Reason::Age);
            }
        }
    }

    /// Makes room for an arrival of `len` bytes at the expense of others; false when the arrival is the victim.
    fn make_room(&mut self, now: Time, len: u32, in_service: Backlog, sink: &mut dyn Sink) -> bool {
        if self.limits.admit(self.waiting, in_service, len) {
            return true;
        }
        // Nobody is sacrificed for what would not fit even alone.
        if self.victim == Victim::Tail || !self.limits.admit(Backlog::default(), in_service, len) {
            return false;
        }
        while !self.limits.admit(self.waiting, in_service, len) {
            let lost = match self.victim {
                Victim::Random if self.rng.below(self.waiting.packets + 1) == 0 => None,
                Victim::Random => self.take_any(),
                _ => self.take_head(),
            };
            let Some(parcel) = lost else { return false };
            sink.dropped(now, parcel, Reason::Full);
        }
        true
    }
}

impl Queue for Sacrificing {
    fn enqueue(&mut self, now: Time, mut parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        self.expire(now, sink);
        if !self.make_room(now, parcel.len, in_service, sink) {
            return sink.dropped(now, parcel, Reason::Full);
        }
        if self.step.marks(self.limits.counted(self.waiting, in_service), parcel.ecn) {
            mark(now, &mut parcel, Reason::Threshold, sink);
        }
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(parcel.len);
        self.fifo.push(Some(parcel));
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn Sink) -> Option<Parcel> {
        self.expire(now, sink);
        self.take_head()
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::Kept;

    const BUSY: Backlog = Backlog { packets: 1, bytes: 1000 };
    const TEN: Limits = Limits { packets: 10, bytes: u64::MAX, includes_service: false };

    fn queue(limits: Limits, victim: Victim, max_age: Span, seed: u64) -> Sacrificing {
        Sacrificing::new(limits, Step::NEVER, victim, max_age, Stream::named(seed, 0, "queue"))
    }

    fn parcel(id: u32, ms: u64) -> Parcel {
        Parcel { id, len: 1000, arrived: Time(ms * 1_000_000), ..Parcel::default() }
    }

    fn ids(sink: &Kept) -> Vec<u32> {
        sink.dropped.iter().map(|d| d.1.id).collect()
    }

    fn drain(q: &mut Sacrificing, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| q.dequeue(now, &mut Kept::default())).map(|p| p.id).collect()
    }

    #[test]
    fn what_is_older_than_the_limit_is_dropped() {
        // Arrivals at 0, 10 and 20 ms, at most 300 ms; an age equal to the limit stays.
        for (ms, dropped, served) in [(300, 0, 0), (305, 1, 1), (310, 1, 1), (311, 2, 2)] {
            let mut q = queue(TEN, Victim::Tail, Span::from_millis(300), 1);
            let mut sink = Kept::default();
            for id in 0..3 {
                let p = parcel(id, u64::from(id) * 10);
                q.enqueue(p.arrived, p, BUSY, &mut sink);
            }
            let got = q.dequeue(Time(ms * 1_000_000), &mut sink).map(|p| p.id);
            assert_eq!((got, sink.dropped.len()), (Some(served), dropped), "{ms} ms");
            for (at, p, why) in &sink.dropped {
                assert_eq!((*at, *why), (Time(p.arrived.0 + 300_000_001), Reason::Age));
            }
        }
    }

    #[test]
    fn what_grew_too_old_makes_room_for_an_arrival() {
        let mut q = queue(Limits { packets: 2, ..TEN }, Victim::Tail, Span::from_millis(300), 1);
        let mut sink = Kept::default();
        for (id, ms) in [(0, 0), (1, 100), (2, 300), (3, 301)] {
            let p = parcel(id, ms);
            q.enqueue(p.arrived, p, BUSY, &mut sink);
        }
        // At 300 ms the first still stands in the way of the third; a millisecond later it is gone.
        assert_eq!(
            sink.dropped.iter().map(|d| (d.1.id, d.2)).collect::<Vec<_>>(),
            [(2, Reason::Full), (0, Reason::Age)]
        );
        assert_eq!(drain(&mut q, Time(301_000_000)), [1, 3]);
    }

    #[test]
    fn the_head_goes_for_an_arrival() {
        let mut q = queue(TEN, Victim::Head, Span::MAX, 1);
        let mut sink = Kept::default();
        (0..15).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0), BUSY, &mut sink));
        assert_eq!(ids(&sink), [0, 1, 2, 3, 4]);
        assert!(sink.dropped.iter().all(|d| d.2 == Reason::Full));
        assert_eq!(drain(&mut q, Time::ZERO), (5..15).collect::<Vec<_>>());
    }

    #[test]
    fn a_large_arrival_takes_the_room_of_several_but_none_in_vain() {
        let bytes = Limits { packets: u64::MAX, bytes: 5000, includes_service: true };
        let mut q = queue(bytes, Victim::Head, Span::MAX, 1);
        let mut sink = Kept::default();
        (0..4).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0), BUSY, &mut sink));
        q.enqueue(Time::ZERO, Parcel { len: 2500, ..parcel(4, 0) }, BUSY, &mut sink);
        assert_eq!(ids(&sink), [0, 1, 2]);
        // With 1000 bytes in service 4001 never fit.
        q.enqueue(Time::ZERO, Parcel { len: 4001, ..parcel(5, 0) }, BUSY, &mut sink);
        assert_eq!(ids(&sink), [0, 1, 2, 5]);
        assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 3500 });
    }

    #[test]
    fn every_packet_has_the_same_chance_to_be_dropped_at_random() {
        // Ten wait, one arrives: each of the eleven in 1/11 of the cases, 1000 of 11000, deviation 30.
        let mut hits = [0u32; 11];
        for seed in 0..11_000 {
            let mut q = queue(TEN, Victim::Random, Span::MAX, seed);
            let mut sink = Kept::default();
            (0..11).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0), BUSY, &mut sink));
            assert_eq!(sink.dropped.len(), 1);
            hits[ids(&sink)[0] as usize] += 1;
        }
        assert!(hits.iter().all(|h| (870..1130).contains(h)), "{hits:?}");
    }

    #[test]
    fn holes_neither_break_the_order_nor_pile_up() {
        let mut q = queue(TEN, Victim::Random, Span::MAX, 1);
        let mut sink = Kept::default();
        (0..100_000).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0), BUSY, &mut sink));
        assert!(q.fifo.len() <= 21, "{}", q.fifo.len());
        let left = drain(&mut q, Time::ZERO);
        assert!(left.windows(2).all(|w| w[0] < w[1]) && left.len() == 10);
        let mut all: Vec<u32> = ids(&sink).into_iter().chain(left).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..100_000));
        assert_eq!(q.backlog(), Backlog::default());
    }

    #[test]
    fn marks_by_the_step_as_droptail_does() {
        let step = Step { packets: 5, bytes: u64::MAX };
        let mut q = Sacrificing::new(TEN, step, Victim::Head, Span::MAX, Stream::named(1, 0, "queue"));
        let mut sink = Kept::default();
        (0..8).for_each(|id| q.enqueue(Time::ZERO, Parcel { ecn: Ecn::Ect0, ..parcel(id, 0) }, BUSY, &mut sink));
        assert_eq!(sink.marked.iter().map(|m| m.1.id).collect::<Vec<_>>(), [6, 7]);
    }
}
