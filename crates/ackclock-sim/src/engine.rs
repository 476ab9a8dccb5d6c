//! The loop: visits elements in the order of their deadlines.

use crate::cells::Named;
use crate::events::{Events, LAST};
use crate::flow::{Conn, Flow, Side};
use crate::host::{Maker, Talk, Work};
use crate::one_way::OneWay;
use crate::probe::Probes;
use crate::routes::{END, Routes};
use crate::slab::{NONE, Slab};
use crate::tap::Taps;
use crate::wire::Link;
use ackclock_core::app::relay::Node;
use ackclock_core::packet::{Family, FourTuple, Packet};
use ackclock_core::path::{DelayLine, Port};
use ackclock_core::tcp::Endpoint;
use ackclock_core::time::Time;
use ackclock_run::others::Other;
use ackclock_run::warnings::Warnings;

/// Events between two looks at the caller's interrupt.
pub(crate) const INTERRUPT_INTERVAL: u64 = 1 << 16;

/// A run was interrupted by its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run was interrupted")]
pub struct Interrupted;

/// A packet handed to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When.
    pub at: Time,
    /// Twice the connection's number, plus one for its server.
    pub to: u32,
    /// Where it came from and went to: of its connection, or of the one that has taken the place of one that is over.
    pub addresses: FourTuple,
    /// The packet.
    pub packet: Packet,
    /// Whether it is the second of two that a medium made of one.
    pub copy: bool,
}

/// A packet on a delay line: the rest of what a parcel says is in its slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bare {
    pub id: u32,
    pub len: u32,
}

/// Numbers of the first elements of a kind, in the order in which simultaneous events run. The sampler is [`LAST`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub others: u32,
    /// Probe points.
    pub taps: u32,
    pub delays: u32,
    pub sides: u32,
}

/// A network and its state: the whole run.
pub struct Sim {
    pub(crate) events: Events,
    pub(crate) layout: Layout,
    pub(crate) links: Vec<Link>,
    pub(crate) delays: Vec<DelayLine<Bare>>,
    pub(crate) others: Vec<Other>,
    /// What belongs to the cells among them, in their order.
    pub(crate) cells: Vec<Named>,
    /// Of each port of these, which of them and which of its ports.
    pub(crate) doors: Vec<(usize, Port)>,
    pub(crate) sides: Vec<Side>,
    /// What applications know of the sides.
    pub(crate) talks: Vec<Talk>,
    pub(crate) work: Work,
    /// Makes controllers that only the caller can make, for connections that are opened during the run.
    pub(crate) maker: Option<Maker>,
    pub(crate) flows: Vec<Flow>,
    /// Those with relays.
    pub(crate) nodes: Vec<Node>,
    /// None: not asked for.
    pub(crate) one_way: Option<Box<OneWay>>,
    pub(crate) conns: Vec<Conn>,
    pub(crate) slab: Slab,
    pub(crate) routes: Routes,
    /// A reserved slot that the next segment is written into.
    pub(crate) spare: u32,
    pub(crate) probes: Probes,
    pub(crate) from: Time,
    pub(crate) end: Time,
    pub(crate) measuring: bool,
    pub(crate) visits: u64,
    /// How far the run was stepped; only its steps keep this.
    pub(crate) now: Time,
    pub(crate) log: Option<Vec<Delivery>>,
    /// None: nobody captures.
    pub(crate) taps: Option<Box<Taps>>,
    pub(crate) link_names: Vec<(String, Option<u64>)>,
    /// What to know about the run before it is played.
    pub(crate) warnings: Warnings,
}

impl Sim {
    /// Plays the run to its end. `interrupted` is asked now and then whether to give up.
    ///
    /// # Errors
    /// [`Interrupted`] when it said so.
    pub fn run(&mut self, interrupted: impl FnMut() -> bool) -> Result<(), Interrupted> {
        self.advance(self.end, interrupted)?;
        self.now = self.end;
        self.finish();
        Ok(())
    }

    /// Plays the run up to and including `until`; [`Sim::run`] plays the rest.
    pub fn run_until(&mut self, until: Time) {
        let until = until.min(self.end);
        let never: Result<(), Interrupted> = self.advance(until, || false);
        debug_assert_eq!(never, Ok(()));
        self.now = self.now.max(until);
    }

    fn advance(&mut self, until: Time, mut interrupted: impl FnMut() -> bool) -> Result<(), Interrupted> {
        while let Some((now, element)) = self.events.earliest() {
            if now > until {
                break;
            }
            self.visits += 1;
            if self.visits % INTERRUPT_INTERVAL == 0 && interrupted() {
                return Err(Interrupted);
            }
            self.visit(now, element);
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn visit(&mut self, now: Time, element: u32) {
        let next = if element < self.layout.others {
            self.on_link_due(now, element as usize)
        } else if element < self.layout.delays {
            self.on_other_due(now, element)
        } else if element < self.layout.sides {
            let i = (element - self.layout.delays) as usize;
            while let Some((_, p)) = self.delays[i].leave(now) {
                self.arrive(now, p.id, p.len);
            }
            self.delays[i].due()
        } else if element != LAST {
            let side = (element - self.layout.sides) as usize;
            if self.events.due_bound(element) > now {
                let next = self.on_departure_due(now, side);
                return self.events.departed(element, now, next);
            }
            self.on_side_due(now, side)
        } else {
            self.on_sampler_due(now)
        };
        self.events.done(element, next);
    }

    /// A link is due: what is out of it goes on. Returns when more will be.
    #[inline(always)]
    fn on_link_due(&mut self, now: Time, i: usize) -> Time {
        loop {
            let link = &mut self.links[i];
            let Some((p, next)) = link.pull(now, &mut self.slab) else { return link.next_due() };
            if p.id != NONE {
                self.arrive(now, p.id, p.len);
            }
            // Packets come out one by one: asking when costs less than asking for another.
            let due = if next.is_set() { next } else { self.links[i].next_due() };
            if due > now {
                return due;
            }
        }
    }

    /// A packet has come out of an element: on to the next, or to its endpoint.
    #[inline(always)]
    fn arrive(&mut self, now: Time, id: u32, len: u32) {
        let slot = self.slab.get_mut(id);
        let element = self.routes.stop(slot.next);
        if element != END {
            slot.next += 1;
            self.enter(now, element, id, len);
            return;
        }
        let to = (slot.side ^ 1) as usize;
        if let Some(log) = &mut self.log {
            let conn = &self.conns[to / 2];
            let family = if self.flows.len() > FourTuple::MOST_FLOWS_V4 { Family::V6 } else { Family::V4 };
            let sent = FourTuple::of_connection(family, conn.flow, conn.number);
            let addresses = if to & 1 == 1 { sent } else { sent.reversed() };
            log.push(Delivery { at: now, to: to as u32, addresses, packet: slot.packet, copy: slot.copy });
        }
        let Side { endpoint: Some(endpoint), watch, stamp, flow, .. } = &mut self.sides[to] else {
            return self.on_datagram(now, to, id);
        };
        let Packet::Tcp(segment) = &slot.packet else {
            // A host that has no use for it: connections take segments only.
            return self.slab.remove(id);
        };
        if slot.generation != stamp.generation {
            // Of a connection that is over.
            return self.slab.remove(id);
        }
        if let Some(one_way) = &mut self.one_way {
            if segment.len > 0 && to & 1 == 1 && !slot.copy {
                one_way.arrived(now, id, *flow);
            }
        }
        endpoint.on_segment(now, segment);
        let (due, busy, cwnd) = (endpoint.deadline_bound(), endpoint.may_transmit(), endpoint.tx.cwnd());
        let progress = endpoint.has_news() || endpoint.rx.stats.delivered >= *watch;
        self.slab.remove(id);
        let asked = progress && self.on_progress(now, to);
        if busy || asked {
            self.transmit(now, to);
            if progress {
                self.reap(now, to / 2);
            }
        } else {
            self.events.schedule(self.layout.sides + to as u32, due);
            if to & 1 == 0 {
                self.note_sender(now, to, cwnd);
            }
        }
    }

    /// A packet enters an element.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Time, element: u32, id: u32, len: u32) {
        if element < self.layout.others {
            if let Some(due) = self.links[element as usize].push(now, id, len, &mut self.slab) {
                self.events.schedule(element, due);
            }
        } else if element >= self.layout.delays {
            let line = &mut self.delays[(element - self.layout.delays) as usize];
            line.enter(now, Bare { id, len });
            self.events.schedule(element, line.due());
        } else {
            self.enter_other(now, element, id, len);
        }
    }

    /// A packet enters an element by the port that has the number `door`.
    #[cold] // for runs of links alone, which cost the less for it
    fn enter_other(&mut self, now: Time, door: u32, id: u32, len: u32) {
        if door >= self.layout.taps {
            return self.pass_tap(now, door, id, len);
        }
        let (i, port) = self.doors[(door - self.layout.others) as usize];
        let other = &mut self.others[i];
        let parcel = self.slab.parcel(id, len);
        other.push(now, port, parcel, &mut self.slab);
        self.events.schedule(door - u32::from(port), other.next_due());
    }

    /// An element is due. The events of all its ports are those of the first.
    #[cold]
    fn on_other_due(&mut self, now: Time, door: u32) -> Time {
        let (i, _) = self.doors[(door - self.layout.others) as usize];
        while let Some(out) = self.others[i].pull(now, &mut self.slab) {
            self.arrive_by_others(now, out.parcel.id, out.parcel.len);
        }
        self.others[i].next_due()
    }

    /// If packets for `side` come straight, but for who looks at them, out of an element that may release several at one
    /// moment, its endpoint gets them in blocks.
    pub(crate) fn note_blocks(&mut self, side: usize) {
        let route = self.sides[side ^ 1].route;
        let behind = (route.next..).map(|at| self.routes.stop(at)).take_while(|stop| *stop != END);
        let is_tap = |stop: &u32| (self.layout.taps..self.layout.delays).contains(stop);
        let last = std::iter::once(route.first).chain(behind).filter(|stop| !is_tap(stop)).last();
        if last.is_some_and(|stop| (self.layout.others..self.layout.taps).contains(&stop)) {
            if let Some(endpoint) = &mut self.sides[side].endpoint {
                endpoint.rx.comes_in_blocks();
            }
        }
    }

    /// [`Sim::arrive`] for what is neither link nor delay. A single copy of it: every one weighs on the others.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrive_by_others(&mut self, now: Time, id: u32, len: u32) {
        self.arrive(now, id, len);
    }

    /// Sends what the endpoint has ready and sees to it that its timers are minded.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time, side: usize) {
        let Some((_, cwnd)) = self.send_ready(now, side) else { return };
        if side & 1 == 0 {
            self.note_sender(now, side, cwnd);
        }
    }

    /// Sends what the endpoint has ready and sees to it that its timers are minded. Returns whether anything left, and the
    /// congestion window; `None` where there is no endpoint.
    #[inline(always)]
    fn send_ready(&mut self, now: Time, side: usize) -> Option<(bool, u64)> {
        let mut sent = false;
        let (due, departure, cwnd) = loop {
            let Side { endpoint: Some(endpoint), route, stamp, .. } = &mut self.sides[side] else { return None };
            let id = self.spare;
            let slot = self.slab.get_mut(id);
            let Packet::Tcp(segment) = &mut slot.packet else {
                slot.packet = Packet::default();
                continue;
            };
            if !endpoint.poll_into(now, segment) {
                break (endpoint.deadline_bound(), endpoint.departure(), endpoint.tx.cwnd());
            }
            sent = true;
            let len = endpoint.wire_bytes(segment);
            let route = *route;
            slot.leaves(side as u32, route, *stamp);
            if let Some(one_way) = &mut self.one_way {
                one_way.left(now, id);
            }
            self.spare = self.slab.reserve();
            self.enter(now, route.first, id, len);
        };
        let element = self.layout.sides + side as u32;
        self.events.schedule(element, due);
        if departure.is_set() {
            self.events.schedule_departure(element, now, departure);
        }
        Some((sent, cwnd))
    }

    /// Something happened at the client `side`: its window, and what is recorded of it by event.
    #[inline(always)]
    fn note_sender(&mut self, now: Time, side: usize, cwnd: u64) {
        let c = side / 2;
        self.conns[c].note_window(now, cwnd, self.from);
        if self.probes.follows_flow_events() && c < self.flows.len() {
            let of = (c, self.flows[c].split.as_deref());
            self.probes.on_flow_event(now, of, &self.sides[side], &self.sides[side + 1]);
        }
    }

    /// Pacing lets the next segment of `side` out, and nothing else is due there. Returns when it does so again.
    fn on_departure_due(&mut self, now: Time, side: usize) -> Time {
        let Side { endpoint: Some(endpoint), .. } = &mut self.sides[side] else { return Time::NEVER };
        endpoint.on_departure(now);
        if let Some((true, cwnd)) = self.send_ready(now, side) {
            if side & 1 == 0 {
                self.note_sender(now, side, cwnd);
            }
        }
        self.sides[side].endpoint.as_deref().map_or(Time::NEVER, Endpoint::departure)
    }

    #[inline]
    fn side_due(&self, side: usize) -> Time {
        // The bound was made exact when the timers ran; at worst it wakes the endpoint once too often.
        let endpoint = self.sides[side].endpoint.as_deref().map_or(Time::NEVER, Endpoint::deadline_bound);
        if side & 1 == 0 { endpoint.min(self.conns[side / 2].due) } else { endpoint }
    }

    #[inline]
    pub(crate) fn on_application_due(&mut self, now: Time, side: usize) {
        if side & 1 == 0 && self.conns[side / 2].due <= now {
            self.on_app_due(now, side / 2);
        }
    }

    fn on_side_due(&mut self, now: Time, side: usize) -> Time {
        self.on_application_due(now, side);
        if let Some(endpoint) = &mut self.sides[side].endpoint {
            let expired = endpoint.on_timer(now);
            let failed = endpoint.has_failed_now();
            let decided = std::mem::take(&mut self.conns[side / 2].decided);
            // When an endpoint is woken too early, nothing happens, and series must not show when that is.
            if let Some((sent, cwnd)) = self.send_ready(now, side) {
                if side & 1 == 0 && (expired || sent || decided) {
                    self.note_sender(now, side, cwnd);
                }
            }
            if failed {
                self.on_progress(now, side);
                self.reap(now, side / 2);
            }
        }
        self.side_due(side)
    }

    fn on_sampler_due(&mut self, now: Time) -> Time {
        if !self.measuring && self.from <= now {
            self.begin_measurement();
        }
        self.probes.sample(now, &self.flows, &self.sides, &mut self.links, &mut self.slab);
        let measurement = if self.measuring { Time::NEVER } else { self.from };
        self.probes.next_due().min(measurement)
    }

    fn begin_measurement(&mut self) {
        self.measuring = true;
        if let Some(one_way) = &mut self.one_way {
            one_way.begin();
        }
        for i in 0..self.flows.len() {
            self.flows[i].baseline = Some(Box::new(self.totals(i)));
        }
    }

    fn finish(&mut self) {
        for link in &mut self.links {
            link.finish(self.end, &mut self.slab);
        }
        self.finish_cells();
        self.finish_taps();
        self.count_datagrams();
        for conn in &mut self.conns {
            conn.account_window(self.end, self.from);
        }
        self.probes.finish(&mut self.links);
    }

    /// Events so far.
    pub fn visits(&self) -> u64 {
        self.visits
    }

    /// Every packet delivered so far, in order, if the run asked for it (`engine.log_deliveries`).
    pub fn take_deliveries(&mut self) -> Vec<Delivery> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Packets in flight.
    pub fn packets_in_flight(&self) -> usize {
        self.slab.live() - 1
    }
}
