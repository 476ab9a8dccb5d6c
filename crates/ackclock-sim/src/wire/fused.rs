//! A DropTail link solved on arrival: queue, transmission and propagation in one ring.

use super::{InFlight, Outcome};
use crate::slab::{NONE, Slab};
use ackclock_core::impair::Loss;
use ackclock_core::link::Serializer;
use ackclock_core::packet::Parcel;
use ackclock_core::path::{Common, just_before};
use ackclock_core::queue::{Backlog, Limits, Reason, Step};
use ackclock_core::ring::Ring;
use ackclock_core::time::Time;

/// A FIFO at a constant rate. Without a serialiser it only delays.
#[derive(Debug)]
pub struct FusedLink {
    pub(super) common: Common,
    loss: Loss,
    serializer: Option<Serializer>,
    limits: Limits,
    step: Step,
    /// Up to these lengths, the packet in transmission included, nothing is dropped or marked.
    calm: Backlog,
    /// Up to these lengths, which are no longer, the queue does not grow beyond where it has been either: an arrival need
    /// not know how much of it has left. Nothing, if all lengths are recorded.
    known: Backlog,
    /// Everything that has not come out: on the wire, then in transmission, then waiting.
    ring: Ring<InFlight>,
    /// First entry whose transmission had not ended when the link was last settled.
    queued_from: u64,
    queued_bytes: u64,
    /// A packet finds those gone that leave at its own instant.
    departures_first: bool,
}

impl FusedLink {
    /// An idle link; `rate` in bit/s, none is unlimited.
    pub fn new(common: Common, loss: Loss, rate: Option<u64>, limits: Limits, step: Step) -> FusedLink {
        let calm = Backlog { packets: limits.packets.min(step.packets), bytes: limits.bytes.min(step.bytes) };
        FusedLink {
            common,
            loss,
            serializer: rate.map(Serializer::new),
            limits,
            step,
            calm,
            known: Backlog::default(),
            ring: Ring::default(),
            queued_from: 0,
            queued_bytes: 0,
            departures_first: false,
        }
    }

    /// Whether a packet finds those gone that leave at its own instant, to the nanosecond that both are rounded to. By default
    /// they are still there.
    pub fn with_departures_first(self, departures_first: bool) -> FusedLink {
        FusedLink { departures_first, ..self }
    }

    /// Transmissions that end by then have left the queue when a packet arrives at `now`.
    #[inline]
    fn gone(&self, now: Time) -> Time {
        if self.departures_first { Time(now.0.saturating_add(1)) } else { just_before(now) }
    }

    /// Packets whose transmission has ended by `now` leave the queue.
    #[inline]
    pub fn settle(&mut self, now: Time) {
        if self.common.stats.log.is_some() {
            return self.settle_and_log(now, now);
        }
        let (mut from, mut bytes) = (self.queued_from, 0);
        while from < self.ring.tail() {
            let e = self.ring.get(from);
            if e.exit.0 - self.common.delay > now.0 {
                break;
            }
            from += 1;
            bytes += u64::from(e.len + self.common.overhead);
        }
        self.leave(from, bytes);
    }

    /// What stands before `from`, `bytes` on the wire, has left the queue.
    #[inline]
    fn leave(&mut self, from: u64, bytes: u64) {
        self.queued_from = from;
        self.queued_bytes -= bytes;
        self.common.stats.total_bytes += bytes;
    }

    /// Settles up to `until`, which may lie a nanosecond behind `now`.
    #[cold]
    #[inline(never)]
    fn settle_and_log(&mut self, now: Time, until: Time) {
        while self.queued_from < self.ring.tail() {
            let e = *self.ring.get(self.queued_from);
            let end = Time(e.exit.0 - self.common.delay);
            if end > until {
                break;
            }
            self.leave(self.queued_from + 1, u64::from(e.len + self.common.overhead));
            let packets = self.backlog().0;
            self.common.stats.log_level(end.min(now), packets);
        }
    }

    /// What waits, and what is in transmission.
    #[inline]
    fn queue(&self) -> (Backlog, Backlog) {
        let packets = self.ring.tail() - self.queued_from;
        if packets == 0 {
            return (Backlog::default(), Backlog::default());
        }
        // First in, first out and never idle while something waits: the first entry is the one in transmission.
        let first = u64::from(self.ring.get(self.queued_from).len + self.common.overhead);
        (Backlog { packets: packets - 1, bytes: self.queued_bytes - first }, Backlog { packets: 1, bytes: first })
    }

    /// Packets and bytes in the queue as the limit counts them.
    #[inline]
    pub fn backlog(&self) -> (u64, u64) {
        if self.limits.includes_service {
            (self.ring.tail() - self.queued_from, self.queued_bytes)
        } else {
            let (waiting, _) = self.queue();
            (waiting.packets, waiting.bytes)
        }
    }

    /// A packet of `len` bytes arrives.
    #[inline(always)]
    pub fn push(&mut self, now: Time, id: u32, len: u32, slab: &Slab) -> Outcome {
        let wire = len + self.common.overhead;
        let Some(free) = self.serializer.as_ref().map(Serializer::free_at) else {
            return self.pass(now, id, len, slab);
        };
        if free < now {
            self.empty(now);
        }
        // What has left since the queue was settled still counts here: these are upper bounds.
        let (packets, bytes) = (self.ring.tail() - self.queued_from + 1, self.queued_bytes + u64::from(wire));
        if packets > self.known.packets || bytes > self.known.bytes {
            return self.push_settled(now, id, len, slab);
        }
        self.enqueue(now, id, len, slab)
    }

    /// Everything has left: [`FusedLink::settle`] without a look at each packet.
    #[inline]
    fn empty(&mut self, now: Time) {
        if self.common.stats.log.is_some() {
            return self.settle_and_log(now, just_before(now));
        }
        self.leave(self.ring.tail(), self.queued_bytes);
    }

    /// A packet arrives for which the length of the queue matters.
    #[inline(never)]
    fn push_settled(&mut self, now: Time, id: u32, len: u32, slab: &Slab) -> Outcome {
        let gone = self.gone(now);
        if self.common.stats.log.is_some() {
            self.settle_and_log(now, gone);
        } else {
            self.settle(gone);
        }
        let wire = len + self.common.overhead;
        let (packets, bytes) = (self.ring.tail() - self.queued_from + 1, self.queued_bytes + u64::from(wire));
        if packets > self.calm.packets || bytes > self.calm.bytes {
            return self.near_a_limit(now, id, len, slab);
        }
        self.enqueue_settled(now, id, len, slab)
    }

    /// Into the settled queue, which has room.
    #[inline]
    fn enqueue_settled(&mut self, now: Time, id: u32, len: u32, slab: &Slab) -> Outcome {
        let outcome = self.enqueue(now, id, len, slab);
        let (packets, bytes) = self.backlog();
        let stats = &mut self.common.stats;
        stats.peak(now, packets, bytes);
        stats.log_level(now, packets);
        if stats.log.is_none() {
            let service = u64::from(!self.limits.includes_service);
            let packets = self.calm.packets.min(stats.max_packets + service);
            self.known = Backlog { packets, bytes: self.calm.bytes.min(stats.max_bytes) };
        }
        outcome
    }

    #[inline(never)]
    fn near_a_limit(&mut self, now: Time, id: u32, len: u32, slab: &Slab) -> Outcome {
        let wire = len + self.common.overhead;
        let (waiting, in_service) = self.queue();
        if !self.limits.admit(waiting, in_service, wire) {
            self.common.stats.arrive(now);
            self.common.stats.drop_at(now, Reason::Full);
            return Outcome::Dropped;
        }
        let marked = self.step.marks(self.limits.counted(waiting, in_service), slab.get(id).packet.ecn());
        let outcome = self.enqueue_settled(now, id, len, slab);
        if marked {
            self.common.stats.mark_at(now, Reason::Threshold);
        }
        match outcome {
            Outcome::Taken if marked => Outcome::Marked,
            _ => outcome,
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, id: u32, len: u32, slab: &Slab) -> Outcome {
        let wire = len + self.common.overhead;
        let (start, end) = self.serializer.as_mut().map_or((now, now), |s| s.transmit(now, wire));
        let lost = self.loses((id, slab), wire, end);
        let id = if lost { NONE } else { id };
        self.ring.push(InFlight { exit: Time(end.0.saturating_add(self.common.delay)), id, len });
        self.queued_bytes += u64::from(wire);
        self.common.stats.carries(now, (start, end), wire);
        if lost { Outcome::Lost } else { Outcome::Taken }
    }

    /// Whether the medium loses the packet in slot `id`, whose `len` bytes on the wire end at `end`.
    #[inline]
    fn loses(&mut self, (id, slab): (u32, &Slab), len: u32, end: Time) -> bool {
        !matches!(self.loss, Loss::None) && self.may_lose(id, slab, len, end)
    }

    #[inline(never)]
    fn may_lose(&mut self, id: u32, slab: &Slab, len: u32, end: Time) -> bool {
        let parcel = Parcel { len, ..slab.get(id).parcel() };
        let lost = self.loss.strikes(&parcel);
        self.common.stats.lost += u64::from(lost && self.common.stats.covers(end));
        lost
    }

    /// An unlimited link only delays.
    fn pass(&mut self, now: Time, id: u32, len: u32, slab: &Slab) -> Outcome {
        let wire = len + self.common.overhead;
        self.common.stats.service(now, now, now, wire);
        self.common.stats.total_bytes += u64::from(wire);
        self.common.stats.level(now, 0, 0);
        if self.loses((id, slab), wire, now) {
            return Outcome::Lost;
        }
        self.ring.push(InFlight { exit: Time(now.0.saturating_add(self.common.delay)), id, len });
        self.queued_from = self.ring.tail();
        Outcome::Taken
    }

    /// Packets that have not come out.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.ring.len()
    }

    /// When the next packet is out.
    #[inline]
    pub fn next_due(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |e| e.exit)
    }

    /// The next packet that is out at `now`, and when the one behind it will be, if there is one.
    #[inline]
    pub fn pull(&mut self, now: Time, slab: &Slab) -> Option<(InFlight, Time)> {
        let first = *self.ring.front()?;
        if first.exit > now {
            return None;
        }
        if self.queued_from == self.ring.head() {
            // An arrival at this very nanosecond finds what leaves the queue in it, unless that is out already.
            self.settle(if self.common.delay > 0 { just_before(now) } else { now });
        }
        self.ring.skip();
        let Some(next) = self.ring.front() else { return Some((first, Time::NEVER)) };
        let due = next.exit;
        slab.fetch(next.id);
        Some((first, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::path::LinkStats;

    /// A link of a nanosecond per byte and 1000 ns of propagation.
    fn link(packets: u64) -> FusedLink {
        let stats = LinkStats::new(Time::ZERO, Time(1_000_000), true);
        let limits = Limits { packets, bytes: u64::MAX, includes_service: true };
        let common = Common { delay: 1000, overhead: 0, stats };
        FusedLink::new(common, Loss::None, Some(8_000_000_000), limits, Step::NEVER)
    }

    /// Two packets at once: the first is out when the transmission of the second ends.
    #[test]
    fn an_arrival_finds_what_leaves_at_that_instant_whatever_has_come_out_before() {
        for out_first in [false, true] {
            let (mut link, mut slab) = (link(2), Slab::default());
            let mut push = |link: &mut FusedLink, at| {
                let id = slab.reserve();
                link.push(Time(at), id, 1000, &slab)
            };
            assert_eq!([push(&mut link, 0), push(&mut link, 0)], [Outcome::Taken; 2]);
            if out_first {
                let (first, next) = link.pull(Time(2000), &Slab::default()).unwrap();
                assert_eq!((first.exit, next), (Time(2000), Time(3000)));
            }
            assert_eq!([push(&mut link, 2000), push(&mut link, 2000)], [Outcome::Taken, Outcome::Dropped]);
        }
    }

    /// Two packets of 999.6 ns: the first ends within the nanosecond of 1000, the second within that of 2000.
    #[test]
    fn an_arrival_finds_gone_what_leaves_at_that_instant_where_departures_are_first() {
        for (first, found) in [(false, [Outcome::Taken, Outcome::Dropped]), (true, [Outcome::Taken, Outcome::Taken])] {
            for at in [999, 1000] {
                let stats = LinkStats::new(Time::ZERO, Time(1_000_000), true);
                let limits = Limits { packets: 2, bytes: u64::MAX, includes_service: true };
                let common = Common { delay: 1000, overhead: 0, stats };
                let rate = Some(8_003_201_281);
                let link = FusedLink::new(common, Loss::None, rate, limits, Step::NEVER);
                let (mut link, mut slab) = (link.with_departures_first(first), Slab::default());
                let mut push = |link: &mut FusedLink, at| {
                    let id = slab.reserve();
                    link.push(Time(at), id, 1000, &slab)
                };
                assert_eq!([push(&mut link, 0), push(&mut link, 0)], [Outcome::Taken; 2]);
                assert_eq!([Outcome::Taken, push(&mut link, at)], found, "{at}");
                assert_eq!(push(&mut link, 1998), if first { Outcome::Dropped } else { Outcome::Taken });
            }
        }
    }

    /// Lengths that nobody asks for are not worked out at every arrival: those that are reported are right all the same.
    #[test]
    fn the_longest_queue_is_that_of_a_link_that_is_looked_at_all_the_time() {
        let (mut lazy, mut watched, mut slab) = (link(8), link(8), Slab::default());
        let (mut at, mut rng) = (0, ackclock_core::rng::Stream::named(1, 0, "queue"));
        for _ in 0..5000 {
            at += rng.below(1600);
            let (id, len) = (slab.reserve(), 100 + rng.below(1400) as u32);
            for link in [&mut lazy, &mut watched] {
                while link.next_due() <= Time(at) {
                    link.pull(link.next_due(), &slab);
                }
            }
            watched.settle(just_before(Time(at)));
            assert_eq!(lazy.push(Time(at), id, len, &slab), watched.push(Time(at), id, len, &slab));
            let (a, b) = (&lazy.common.stats, &watched.common.stats);
            assert_eq!((a.max_packets, a.max_bytes, a.drops), (b.max_packets, b.max_bytes, b.drops));
        }
        assert_eq!(lazy.common.stats.max_packets, 8);
        lazy.settle(Time(at));
        watched.settle(Time(at));
        assert_eq!(
            (lazy.backlog(), lazy.common.stats.total_bytes),
            (watched.backlog(), watched.common.stats.total_bytes)
        );
    }
}
