//! A link with any queue.
//!
//! What a queue decides at the begin of a transmission it must be asked at that time of the virtual clock, but nobody can
//! tell the difference before the packet is out, propagation included. So transmissions begin late, in one go, whenever a
//! packet arrives or comes out, each with the time that was its own: they cost no events.

use super::{Element, Flight, LinkStats, Out, Port, Store, just_before};
use crate::impair::Medium;
use crate::link::{Policer, Server};
use crate::packet::Parcel;
use crate::queue::{Backlog, Queue, Reason, Sink};
use crate::time::Time;

/// What every link has besides its queue.
#[derive(Clone, Debug)]
pub struct Common {
    /// Propagation delay, nanoseconds.
    pub delay: u64,
    /// Bytes added to every packet.
    pub overhead: u32,
    /// Measurements.
    pub stats: LinkStats,
}

/// Queue, serialiser and propagation as separate steps.
pub struct Link {
    /// What every link has.
    pub common: Common,
    server: Server,
    policer: Option<Policer>,
    queue: Box<dyn Queue>,
    includes_service: bool,
    /// The packet in transmission.
    service: Backlog,
    /// When its transmission ends; without one, when the server opens for what waits for that. Never on an idle link, nor
    /// on one that stays off.
    turn: Time,
    /// On the wire, the packet in transmission included.
    wire: Flight,
    medium: Medium,
    /// Whether the medium delivers everything as it came.
    ideal: bool,
}

/// What a link is made of.
pub struct Parts {
    /// What every link has.
    pub common: Common,
    /// What sets the pace.
    pub server: Server,
    /// What drops before the queue.
    pub policer: Option<Policer>,
    /// What waits.
    pub queue: Box<dyn Queue>,
    /// Whether the queue length counts the packet in transmission.
    pub includes_service: bool,
    /// What happens at the output.
    pub medium: Medium,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("service", &self.service).field("wire", &self.wire).finish()
    }
}

/// Counts what the queue decides and tells the owner of the packets.
struct Consequences<'a, S: Store + ?Sized> {
    stats: &'a mut LinkStats,
    store: &'a mut S,
    /// The last one dropped.
    dropped: Option<u32>,
}

impl<S: Store + ?Sized> Sink for Consequences<'_, S> {
    fn dropped(&mut self, at: Time, parcel: Parcel, reason: Reason) {
        self.stats.drop_at(at, reason);
        self.stats.stayed(parcel.arrived, at, parcel.len);
        self.store.dropped(parcel.id, reason);
        self.dropped = Some(parcel.id);
    }

    fn marked(&mut self, at: Time, parcel: &Parcel, reason: Reason) {
        self.stats.mark_at(at, reason);
        self.store.mark(parcel.id);
    }
}

impl Link {
    /// An idle link.
    pub fn new(parts: Parts) -> Link {
        let Parts { mut common, server, policer, queue, includes_service, medium } = parts;
        common.stats.low = queue.low_latency().map(|_| Box::default());
        let wire = Flight::new(medium.keeps_order());
        let ideal = medium.is_ideal();
        let (service, turn) = (Backlog::default(), Time::NEVER);
        Link { common, server, policer, queue, includes_service, service, turn, wire, medium, ideal }
    }

    /// Packets and bytes in the queue as its limit counts them.
    #[inline]
    pub fn backlog(&self) -> (u64, u64) {
        let waiting = self.queue.backlog();
        let service = if self.includes_service { self.service } else { Backlog::default() };
        (waiting.packets + service.packets, waiting.bytes + service.bytes)
    }

    /// Ends and begins the transmissions due up to `now`.
    #[inline]
    pub fn settle<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) {
        if self.turn <= now {
            self.catch_up(now, store);
        }
    }

    #[inline(never)]
    fn catch_up<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) {
        while self.turn <= now {
            let at = self.turn;
            self.common.stats.total_bytes += self.service.bytes;
            self.begin(at, store);
            self.log_level(at);
        }
    }

    #[inline]
    fn log_level(&mut self, now: Time) {
        if self.common.stats.log.is_some() {
            let packets = self.backlog().0;
            self.common.stats.log_level(now, packets);
        }
    }

    /// A link that was idle takes up work at `now`.
    #[inline(never)]
    fn take_up<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) {
        self.begin(now, store);
    }

    /// The link is free at `now`: the next transmission begins, or waits until the server opens.
    #[inline(always)]
    fn begin<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) {
        if let Some(opens) = self.server.shut_until(now) {
            return self.rest(if self.queue.backlog().packets > 0 { opens } else { Time::NEVER });
        }
        let mut sink = Consequences { stats: &mut self.common.stats, store, dropped: None };
        let Some(parcel) = self.queue.dequeue(now, &mut sink) else { return self.rest(Time::NEVER) };
        let (start, end) = self.server.transmit(now, parcel.len);
        self.common.stats.service(parcel.arrived, start, end, parcel.len);
        if self.common.stats.low.is_some() && self.queue.low_latency() == Some(true) {
            self.common.stats.serve_low(parcel.arrived, start);
        }
        self.leave(parcel, end, store);
        self.service = Backlog { packets: 1, bytes: u64::from(parcel.len) };
        self.turn = end;
    }

    /// Nothing is transmitted; something will be from `turn` on.
    #[inline]
    fn rest(&mut self, turn: Time) {
        (self.service, self.turn) = (Backlog::default(), turn);
    }

    /// The medium decides what becomes of `parcel`, whose transmission ends at `end`.
    #[inline(always)]
    fn leave<S: Store + ?Sized>(&mut self, mut parcel: Parcel, end: Time, store: &mut S) {
        let exit = Time(end.0.saturating_add(self.common.delay));
        if self.ideal {
            parcel.len -= self.common.overhead;
            self.wire.push(exit, parcel);
        } else {
            self.pass(parcel, exit, end, store);
        }
    }

    /// `parcel` passes a medium that is not ideal. Kept out of line: most links are ideal.
    #[inline(never)]
    fn pass<S: Store + ?Sized>(&mut self, mut parcel: Parcel, exit: Time, end: Time, store: &mut S) {
        let fate = self.medium.fate(&parcel, end);
        let exit = Time(exit.0.saturating_add(fate.extra.0));
        parcel.len -= self.common.overhead;
        if fate.lost {
            self.common.stats.lost += u64::from(self.common.stats.covers(end));
            return store.drop(parcel.id);
        }
        self.wire.push(exit, parcel);
        if !fate.duplicate {
            return;
        }
        if let Some(id) = store.duplicate(parcel.id) {
            self.common.stats.duplicated += u64::from(self.common.stats.covers(end));
            self.wire.push(exit, Parcel { id, ..parcel });
        }
    }

    /// Something is on the way that comes out next and at its time, whatever arrives: [`Link::next_due`] is known.
    #[inline]
    pub fn is_sure(&self) -> bool {
        self.ideal && !self.wire.is_empty()
    }

    /// [`Link::next_due`] if it [is known](Link::is_sure), otherwise never.
    #[inline]
    pub fn sure_due(&self) -> Time {
        if self.ideal { self.wire.next_due() } else { Time::NEVER }
    }

    /// A parcel arrives; its length has no framing.
    #[inline]
    pub fn push<S: Store + ?Sized>(&mut self, now: Time, mut parcel: Parcel, store: &mut S) {
        self.settle(just_before(now), store);
        parcel.len += self.common.overhead;
        parcel.arrived = now;
        let mut sink = Consequences { stats: &mut self.common.stats, store, dropped: None };
        if !self.server.fits(parcel.len) || self.policer.as_mut().is_some_and(|p| !p.conforms(now, parcel.len)) {
            sink.stats.arrive(now);
            return sink.dropped(now, parcel, Reason::Policed);
        }
        self.queue.enqueue(now, parcel, self.service, &mut sink);
        if sink.dropped == Some(parcel.id) {
            return self.common.stats.arrive(now);
        }
        if self.service.packets == 0 && !self.turn.is_set() {
            self.take_up(now, store);
        }
        let (packets, bytes) = self.backlog();
        self.common.stats.level(now, packets, bytes);
        self.common.stats.log_level(now, packets);
    }

    /// When the next packet is out. While it is not known who that will be, because the next transmission has not begun,
    /// this is when it begins, and the propagation delay, before which nobody can tell. Without a delay the end of every
    /// transmission shows at once, also of a packet that the medium loses: who arrives later at that instant finds it gone.
    #[inline]
    pub fn next_due(&self) -> Time {
        let out = self.wire.next_due();
        let decision = Time(self.turn.0.saturating_add(self.common.delay));
        if out <= decision || (self.common.delay > 0 && self.queue.backlog().packets == 0) {
            return out;
        }
        decision
    }

    /// The next packet that is out at `now`, and since when.
    #[inline]
    pub fn pull<S: Store + ?Sized>(&mut self, now: Time, store: &mut S) -> Option<(Time, Parcel)> {
        self.settle(if self.common.delay > 0 { just_before(now) } else { now }, store);
        self.wire.pull(now)
    }

    /// Bits it could have carried between two instants, and its mean rate, where its rate is not constant.
    pub fn varying_capacity(&self, from: Time, to: Time) -> Option<(f64, f64)> {
        match self.server {
            Server::Constant(_) | Server::Shaped(_) => None,
            Server::Schedule(_) | Server::Trace(_) => {
                let (bits, span) = (self.server.bits_between(from, to), to.since(from).as_secs_f64());
                Some((bits, if span > 0.0 { bits / span } else { 0.0 }))
            }
        }
    }

    /// The run ends at `now`: packets still waiting are accounted for.
    pub fn finish(&mut self, now: Time) {
        // Taking them out must neither count as drops nor as marks of the run.
        struct Nobody<'a>(&'a mut Common);
        impl Sink for Nobody<'_> {
            fn dropped(&mut self, at: Time, parcel: Parcel, _reason: Reason) {
                self.0.stats.stayed(parcel.arrived, at, parcel.len);
            }
            fn marked(&mut self, _at: Time, _parcel: &Parcel, _reason: Reason) {}
        }
        while let Some(p) = self.queue.dequeue(now, &mut Nobody(&mut self.common)) {
            self.common.stats.stayed(p.arrived, now, p.len);
        }
    }
}

impl Element for Link {
    fn keeps_order(&self) -> bool {
        self.wire.in_order()
    }

    fn push(&mut self, now: Time, _port: Port, parcel: Parcel, store: &mut dyn Store) {
        Link::push(self, now, parcel, store);
    }

    fn pull(&mut self, now: Time, store: &mut dyn Store) -> Option<Out> {
        Link::pull(self, now, store).map(|(at, parcel)| Out { at, port: 0, parcel })
    }

    fn next_due(&self) -> Time {
        Link::next_due(self)
    }
}
