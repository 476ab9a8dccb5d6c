//! A link with any queue: an event per departure.

use super::{Common, InFlight};
use crate::slab::{Slab, NONE};
use ackclock_core::link::Serializer;
use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::queue::{Backlog, Queue, Reason, Sink};
use ackclock_core::ring::Ring;
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
    serializer: Serializer,
    queue: Box<dyn Queue>,
    includes_service: bool,
    service: Option<Service>,
    /// On the wire, the packet in transmission included.
    wire: Ring<InFlight>,
    /// The class of each flow's packets.
    classes: Box<[u8]>,
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
    /// An idle link at `rate` bit/s. With `includes_service` the queue length counts the packet in transmission.
    /// `classes` are those of the flows' packets.
    pub fn new(
        common: Common,
        rate: u64,
        queue: Box<dyn Queue>,
        includes_service: bool,
        classes: Box<[u8]>,
    ) -> GeneralLink {
        GeneralLink {
            common,
            serializer: Serializer::new(rate),
            queue,
            includes_service,
            service: None,
            wire: Ring::default(),
            classes,
        }
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
        while let Some(s) = self.service {
            if s.end > now {
                break;
            }
            self.service = None;
            self.common.stats.total_bytes += u64::from(s.parcel.len);
            self.begin(s.end, slab);
            self.log_level(s.end);
        }
    }

    fn log_level(&mut self, now: Time) {
        if self.common.stats.log.is_some() {
            let packets = self.backlog().0;
            self.common.stats.log_level(now, packets);
        }
    }

    fn begin(&mut self, now: Time, slab: &mut Slab) {
        let mut sink = Consequences { common: &mut self.common, slab, dropped: NONE };
        let Some(parcel) = self.queue.dequeue(now, &mut sink) else { return };
        let (start, end) = self.serializer.transmit(now, parcel.len);
        self.common.stats.service(parcel.arrived, start, end, parcel.len);
        let lost = self.common.loses(slab.get(parcel.id), end);
        if lost {
            slab.remove(parcel.id);
        }
        let id = if lost { NONE } else { parcel.id };
        let len = parcel.len - self.common.overhead;
        self.wire.push(InFlight { exit: Time(end.0.saturating_add(self.common.delay)), id, len });
        self.service = Some(Service { parcel, end });
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
        self.queue.enqueue(now, parcel, in_service, &mut sink);
        if sink.dropped == id {
            return;
        }
        if self.service.is_none() {
            self.begin(now, slab);
        }
        let (packets, bytes) = self.backlog();
        self.common.stats.peak(now, packets, bytes);
        self.common.stats.log_level(now, packets);
    }

    /// When a packet is out, or the instant after a transmission ends: what arrives as it ends still finds it here.
    /// Without propagation a packet is out as its transmission ends, and has left the queue.
    pub fn next_due(&self) -> Time {
        let service = self.service.map_or(Time::NEVER, |s| Time(s.end.0 + u64::from(self.common.delay > 0)));
        service.min(self.wire.front().map_or(Time::NEVER, |e| e.exit))
    }

    /// The next packet that is out at `now`.
    pub fn pull(&mut self, now: Time, slab: &mut Slab) -> Option<InFlight> {
        self.settle(if self.common.delay > 0 { super::just_before(now) } else { now }, slab);
        if self.wire.front()?.exit > now {
            return None;
        }
        self.wire.pop()
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
