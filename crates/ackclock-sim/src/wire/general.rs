//! A link with any queue.
//!
//! What a queue decides at the begin of a transmission it must be asked at that time of the virtual clock, but nobody can
//! tell the difference before the packet is out, propagation included. So transmissions begin late, in one go, whenever a
//! packet arrives or comes out, each with the time that was its own: they cost no events.

use super::{Common, Flight, InFlight};
use crate::slab::{Slab, Slot, NONE};
use ackclock_core::impair::Medium;
use ackclock_core::link::{Policer, Server};
use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::queue::{Backlog, Queue, Reason, Sink};
use ackclock_core::time::Time;

/// Queue, serialiser and propagation as separate steps.
pub struct GeneralLink {
    pub(super) common: Common,
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

/// What a general link is made of.
pub struct Parts {
    /// What every link has. Its loss is not used: the medium has one.
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

impl std::fmt::Debug for GeneralLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GeneralLink").field("service", &self.service).field("wire", &self.wire).finish()
    }
}

/// Carries out what the queue decides: frees the slots of what it drops and marks headers.
struct Consequences<'a> {
    common: &'a mut Common,
    slab: &'a mut Slab,
    /// The last one dropped.
    dropped: u32,
}

impl Sink for Consequences<'_> {
    fn dropped(&mut self, at: Time, parcel: Parcel, reason: Reason) {
        self.common.stats.drop_at(at, reason);
        self.common.stats.stayed(parcel.arrived, at, parcel.len);
        self.slab.remove(parcel.id);
        self.dropped = parcel.id;
    }

    fn marked(&mut self, at: Time, parcel: &Parcel, reason: Reason) {
        self.common.stats.mark_at(at, reason);
        self.slab.get_mut(parcel.id).packet.set_ecn(Ecn::Ce);
    }
}

impl GeneralLink {
    /// An idle link.
    pub fn new(parts: Parts) -> GeneralLink {
        let Parts { common, server, policer, queue, includes_service, medium } = parts;
        let wire = Flight::new(medium.keeps_order());
        let ideal = medium.is_ideal();
        let (service, turn) = (Backlog::default(), Time::NEVER);
        GeneralLink { common, server, policer, queue, includes_service, service, turn, wire, medium, ideal }
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
    pub fn settle(&mut self, now: Time, slab: &mut Slab) {
        if self.turn <= now {
            self.catch_up(now, slab);
        }
    }

    fn catch_up(&mut self, now: Time, slab: &mut Slab) {
        while self.turn <= now {
            let at = self.turn;
            self.common.stats.total_bytes += self.service.bytes;
            self.service = Backlog::default();
            self.begin(at, slab);
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

    /// The link is free at `now`: the next transmission begins, or waits until the server opens.
    #[inline]
    fn begin(&mut self, now: Time, slab: &mut Slab) {
        self.turn = Time::NEVER;
        let opens = self.server.opens(now);
        if opens > now {
            if self.queue.backlog().packets > 0 {
                self.turn = opens;
            }
            return;
        }
        let mut sink = Consequences { common: &mut self.common, slab, dropped: NONE };
        let Some(parcel) = self.queue.dequeue(now, &mut sink) else { return };
        let (start, end) = self.server.transmit(now, parcel.len);
        self.common.stats.service(parcel.arrived, start, end, parcel.len);
        self.leave(parcel, end, slab);
        self.service = Backlog { packets: 1, bytes: u64::from(parcel.len) };
        self.turn = end;
    }

    /// The medium decides what becomes of `parcel`, whose transmission ends at `end`.
    #[inline]
    fn leave(&mut self, parcel: Parcel, end: Time, slab: &mut Slab) {
        let len = parcel.len - self.common.overhead;
        let exit = Time(end.0.saturating_add(self.common.delay));
        if self.ideal {
            self.wire.push(InFlight { exit, id: parcel.id, len });
        } else {
            self.pass(parcel, InFlight { exit, id: parcel.id, len }, end, slab);
        }
    }

    /// `packet` passes a medium that is not ideal.
    fn pass(&mut self, parcel: Parcel, mut packet: InFlight, end: Time, slab: &mut Slab) {
        let data = slab.get(parcel.id).packet.payload() > 0;
        let fate = self.medium.fate(parcel.flow, data, parcel.len, end);
        packet.exit = Time(packet.exit.0.saturating_add(fate.extra.0));
        if fate.lost {
            self.common.stats.lost += u64::from(self.common.stats.covers(end));
            slab.remove(parcel.id);
            packet.id = NONE;
        }
        self.wire.push(packet);
        if fate.duplicate {
            self.common.stats.duplicated += u64::from(self.common.stats.covers(end));
            let id = slab.reserve();
            *slab.get_mut(id) = Slot { copy: true, ..*slab.get(parcel.id) };
            self.wire.push(InFlight { id, ..packet });
        }
    }

    /// A packet of `len` bytes arrives. What the queue drops leaves `slab`.
    pub fn push(&mut self, now: Time, id: u32, len: u32, slab: &mut Slab) {
        self.settle(super::just_before(now), slab);
        let slot = slab.get(id);
        let flow = slot.connection();
        let class = slot.class;
        let parcel = Parcel { id, len: len + self.common.overhead, flow, class, ecn: slot.packet.ecn(), arrived: now };
        self.common.stats.arrive(now);
        let mut sink = Consequences { common: &mut self.common, slab, dropped: NONE };
        if !self.server.fits(parcel.len) || self.policer.as_mut().is_some_and(|p| !p.conforms(now, parcel.len)) {
            return sink.dropped(now, parcel, Reason::Policed);
        }
        self.queue.enqueue(now, parcel, self.service, &mut sink);
        if sink.dropped == id {
            return;
        }
        if self.service.packets == 0 && !self.turn.is_set() {
            self.idle(now, slab);
        }
        let (packets, bytes) = self.backlog();
        self.common.stats.peak(now, packets, bytes);
        self.common.stats.log_level(now, packets);
    }

    /// What arrived finds an idle link.
    fn idle(&mut self, now: Time, slab: &mut Slab) {
        self.begin(now, slab);
    }

    /// When a packet may be out: one on the wire, or the next to be transmitted, which the transmission under way or the
    /// server keeps from it for at least the propagation delay more.
    #[inline]
    pub fn next_due(&self) -> Time {
        Time(self.turn.0.saturating_add(self.common.delay)).min(self.wire.next_due())
    }

    /// The next packet that is out at `now`.
    #[inline]
    pub fn pull(&mut self, now: Time, slab: &mut Slab) -> Option<InFlight> {
        self.settle(if self.common.delay > 0 { super::just_before(now) } else { now }, slab);
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
