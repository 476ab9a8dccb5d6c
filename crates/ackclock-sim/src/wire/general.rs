//! A link with any queue: an event per departure.

use super::{Common, InFlight, Outcome};
use crate::slab::NONE;
use ackclock_core::link::Serializer;
use ackclock_core::packet::Parcel;
use ackclock_core::queue::{Backlog, Queue, Verdict};
use ackclock_core::ring::Ring;
use ackclock_core::tcp::segment::Segment;
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
    /// Headers the loss process needs when a packet starts its transmission: flow tag and payload by slot.
    headers: Vec<Segment>,
    /// Slots of packets the queue dropped after having taken them.
    dropped: Vec<u32>,
}

impl std::fmt::Debug for GeneralLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GeneralLink").field("service", &self.service).field("wire", &self.wire).finish()
    }
}

impl GeneralLink {
    /// An idle link at `rate` bit/s. With `includes_service` the queue length counts the packet in transmission.
    pub fn new(common: Common, rate: u64, queue: Box<dyn Queue>, includes_service: bool) -> GeneralLink {
        GeneralLink {
            common,
            serializer: Serializer::new(rate),
            queue,
            includes_service,
            service: None,
            wire: Ring::default(),
            headers: Vec::new(),
            dropped: Vec::new(),
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
    pub fn settle(&mut self, now: Time) {
        while let Some(s) = self.service {
            if s.end > now {
                break;
            }
            self.service = None;
            self.common.stats.total_bytes += u64::from(s.parcel.len);
            self.begin(s.end);
            let packets = self.backlog().0;
            self.common.stats.log_level(s.end, packets);
        }
    }

    fn begin(&mut self, now: Time) {
        let dropped = &mut self.dropped;
        let stats = &mut self.common.stats;
        let next = self.queue.dequeue(now, &mut |p, _| {
            dropped.push(p.id);
            stats.evict_at(now);
        });
        let Some(parcel) = next else { return };
        let (start, end) = self.serializer.transmit(now, parcel.len);
        self.common.stats.service(parcel.arrived, start, end, parcel.len);
        let header = self.headers[parcel.id as usize];
        let lost = self.common.loses(&header, end);
        if lost {
            self.dropped.push(parcel.id);
        }
        let id = if lost { NONE } else { parcel.id };
        let len = parcel.len - self.common.overhead;
        self.wire.push(InFlight { exit: Time(end.0.saturating_add(self.common.delay)), id, len });
        self.service = Some(Service { parcel, end });
    }

    /// A packet of `len` bytes arrives.
    pub fn push(&mut self, now: Time, id: u32, len: u32, segment: &Segment) -> Outcome {
        self.settle(super::just_before(now));
        if id as usize >= self.headers.len() {
            self.headers.resize(id as usize + 1, Segment::default());
        }
        self.headers[id as usize] = *segment;
        let flow = super::flow_number(segment.flow);
        let parcel = Parcel { id, len: len + self.common.overhead, flow, ecn: segment.ecn, arrived: now };
        let in_service = self.in_service();
        let (dropped, stats) = (&mut self.dropped, &mut self.common.stats);
        let verdict = self.queue.enqueue(now, parcel, in_service, &mut |p, _| {
            if p.id == id {
                stats.drop_at(now);
            } else {
                stats.evict_at(now);
                dropped.push(p.id);
            }
        });
        match verdict {
            Verdict::Dropped => return Outcome::Dropped,
            Verdict::Marked => self.common.stats.mark_at(now),
            Verdict::Taken => {}
        }
        if self.service.is_none() {
            self.begin(now);
        }
        let (packets, bytes) = self.backlog();
        self.common.stats.level(now, packets, bytes);
        self.common.stats.log_level(now, packets);
        if verdict == Verdict::Marked {
            Outcome::Marked
        } else {
            Outcome::Taken
        }
    }

    /// When a packet is out, or the instant after a transmission ends: what arrives as it ends still finds it here.
    /// Without propagation a packet is out as its transmission ends, and has left the queue.
    pub fn next_due(&self) -> Time {
        let service = self.service.map_or(Time::NEVER, |s| Time(s.end.0 + u64::from(self.common.delay > 0)));
        service.min(self.wire.front().map_or(Time::NEVER, |e| e.exit))
    }

    /// The next packet that is out at `now`; slots of packets that will never be are moved to `dropped`.
    pub fn pull(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<InFlight> {
        self.settle(if self.common.delay > 0 { super::just_before(now) } else { now });
        dropped.append(&mut self.dropped);
        if self.wire.front()?.exit > now {
            return None;
        }
        self.wire.pop()
    }

    /// The run ends at `now`.
    pub fn finish(&mut self, now: Time) {
        let stats = &mut self.common.stats;
        while let Some(p) = self.queue.dequeue(now, &mut |_, _| ()) {
            stats.still_waiting(p.arrived, p.len);
        }
    }
}
