//! A link with any queue: an event per departure.

use super::{Common, Flight, InFlight};
use crate::slab::{Slab, NONE};
use ackclock_core::impair::Medium;
use ackclock_core::link::{Policer, Server};
use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::queue::{Backlog, Queue, Reason, Sink};
use ackclock_core::time::Time;

/// The packet in transmission.
#[derive(Clone, Copy, Debug)]
struct Service {
    parcel: Parcel,
    end: Time,
}

/// Queue, serialiser and propagation as separate steps.
pub struct GeneralLink {
    pub(super) common: Common,
    server: Server,
    policer: Option<Policer>,
    queue: Box<dyn Queue>,
    includes_service: bool,
    service: Option<Service>,
    /// When the server opens, while something waits for that.
    opens: Time,
    /// On the wire, the packet in transmission included.
    wire: Flight,
    medium: Medium,
    /// The class of each flow's packets.
    classes: Box<[u8]>,
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
    /// The class of each flow's packets.
    pub classes: Box<[u8]>,
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
        self.slab.get_mut(parcel.id).ecn = Ecn::Ce;
    }
}

impl GeneralLink {
    /// An idle link.
    pub fn new(parts: Parts) -> GeneralLink {
        let Parts { common, server, policer, queue, includes_service, medium, classes } = parts;
        let wire = Flight::new(medium.keeps_order());
        let (service, opens) = (None, Time::NEVER);
        GeneralLink { common, server, policer, queue, includes_service, service, opens, wire, medium, classes }
    }

    fn in_service(&self) -> Backlog {
        self.service.map_or(Backlog::default(), |s| Backlog { packets: 1, bytes: u64::from(s.parcel.len) })
    }

    /// Packets and bytes in the queue as its limit counts them.
    pub fn backlog(&self) -> (u64, u64) {
        let waiting = self.queue.backlog();
        let service = if self.includes_service { self.in_service() } else { Backlog::default() };
        (waiting.packets + service.packets, waiting.bytes + service.bytes)
    }

    /// Ends and begins the transmissions due up to `now`.
    pub fn settle(&mut self, now: Time, slab: &mut Slab) {
        loop {
            match self.service {
                Some(s) if s.end <= now => {
                    self.service = None;
                    self.common.stats.total_bytes += u64::from(s.parcel.len);
                    self.begin(s.end, slab);
                    self.log_level(s.end);
                }
                None if self.opens <= now => {
                    let at = self.opens;
                    self.begin(at, slab);
                    self.log_level(at);
                }
                _ => break,
            }
        }
    }

    fn log_level(&mut self, now: Time) {
        if self.common.stats.log.is_some() {
            let packets = self.backlog().0;
            self.common.stats.log_level(now, packets);
        }
    }

    /// The link is free at `now`: the next transmission begins, or waits until the server opens.
    fn begin(&mut self, now: Time, slab: &mut Slab) {
        self.opens = Time::NEVER;
        let opens = self.server.opens(now);
        if opens > now {
            if self.queue.backlog().packets > 0 {
                self.opens = opens;
            }
            return;
        }
        let mut sink = Consequences { common: &mut self.common, slab, dropped: NONE };
        let Some(parcel) = self.queue.dequeue(now, &mut sink) else { return };
        let (start, end) = self.server.transmit(now, parcel.len);
        self.common.stats.service(parcel.arrived, start, end, parcel.len);
        self.leave(parcel, end, slab);
        self.service = Some(Service { parcel, end });
    }

    /// The medium decides what becomes of `parcel`, whose transmission ends at `end`.
    fn leave(&mut self, parcel: Parcel, end: Time, slab: &mut Slab) {
        let header = *slab.get(parcel.id);
        let fate = self.medium.fate(parcel.flow, header.len > 0, parcel.len, end);
        let len = parcel.len - self.common.overhead;
        let exit = Time(end.0.saturating_add(self.common.delay).saturating_add(fate.extra.0));
        if fate.lost {
            self.common.stats.lost += u64::from(self.common.stats.covers(end));
            slab.remove(parcel.id);
        }
        self.wire.push(InFlight { exit, id: if fate.lost { NONE } else { parcel.id }, len });
        if fate.duplicate {
            self.common.stats.duplicated += u64::from(self.common.stats.covers(end));
            let id = slab.reserve();
            *slab.get_mut(id) = header;
            self.wire.push(InFlight { exit, id, len });
        }
    }

    /// A packet of `len` bytes arrives. What the queue drops leaves `slab`.
    pub fn push(&mut self, now: Time, id: u32, len: u32, slab: &mut Slab) {
        self.settle(super::just_before(now), slab);
        let segment = slab.get(id);
        let flow = super::flow_number(segment.flow);
        let class = self.classes.get(flow as usize).copied().unwrap_or(0);
        let parcel = Parcel { id, len: len + self.common.overhead, flow, class, ecn: segment.ecn, arrived: now };
        let in_service = self.in_service();
        self.common.stats.arrive(now);
        let mut sink = Consequences { common: &mut self.common, slab, dropped: NONE };
        if !self.server.fits(parcel.len) || self.policer.as_mut().is_some_and(|p| !p.conforms(now, parcel.len)) {
            return sink.dropped(now, parcel, Reason::Policed);
        }
        self.queue.enqueue(now, parcel, in_service, &mut sink);
        if sink.dropped == id {
            return;
        }
        if self.service.is_none() && !self.opens.is_set() {
            self.begin(now, slab);
        }
        let (packets, bytes) = self.backlog();
        self.common.stats.peak(now, packets, bytes);
        self.common.stats.log_level(now, packets);
    }

    /// When a packet is out, or the instant after a transmission ends: what arrives as it ends still finds it here.
    /// Without propagation a packet is out as its transmission ends, and has left the queue.
    pub fn next_due(&self) -> Time {
        let after = u64::from(self.common.delay > 0);
        let service = self.service.map_or(Time::NEVER, |s| Time(s.end.0.saturating_add(after)));
        let opens = Time(self.opens.0.saturating_add(after));
        service.min(opens).min(self.wire.next_due())
    }

    /// The next packet that is out at `now`.
    pub fn pull(&mut self, now: Time, slab: &mut Slab) -> Option<InFlight> {
        self.settle(if self.common.delay > 0 { super::just_before(now) } else { now }, slab);
        self.wire.pull(now)
    }

    /// Bits it could have carried between two instants, and its mean rate, where its rate is not constant.
    pub fn varying_capacity(&self, from: Time, to: Time) -> Option<(f64, f64)> {
        match self.server {
            Server::Constant(_) | Server::Shaped(_) => None,
            Server::Schedule(_) | Server::Trace(_) => {
                Some((self.server.bits_between(from, to), self.server.mean_rate_bps()))
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
