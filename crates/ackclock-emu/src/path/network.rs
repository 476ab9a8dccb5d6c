//! The elements of a run and the packets in them.

use super::agenda::Agenda;
use super::packets::Slot;
use super::{Addressed, Addresses, Packets, Streams, Tally};
use ackclock_core::app::Connections;
use ackclock_core::packet::Family;
use ackclock_core::path::{DelayLine, Element, Link, Out, Pace, Port};
use ackclock_core::time::{Span, Time};
use ackclock_run::others::{Other, Others};
use ackclock_run::ways::{Stops, drawn};
use ackclock_run::{Run, SpecError, links, spec};
use std::collections::VecDeque;

/// Behind the last element of a route.
const END: u32 = u32::MAX;
/// No link.
pub const NOWHERE: u32 = u32::MAX;

/// A packet that has come out at the end of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// When, exactly, however late it was asked for.
    pub at: Time,
    /// Its slot, which [`Network::done`] frees.
    pub id: u32,
    /// Who sent it.
    pub side: u32,
    /// The last link it passed, or [`NOWHERE`].
    pub link: u32,
}

/// The path of a run. Its driver enters packets and asks for those that are out, with times that do not run back.
pub struct Network {
    /// Links, in the order of the document.
    pub links: Vec<Link>,
    /// What is neither link nor delay.
    pub others: Others,
    /// Of each port of these, which of them and which of its ports.
    doors: Vec<(usize, Port)>,
    delays: Vec<DelayLine>,
    /// Routes, one after the other, each ended by [`END`]; where that of each side begins.
    table: Vec<u32>,
    routes: Vec<u32>,
    classes: Vec<u8>,
    agenda: Agenda,
    packets: Packets,
    addresses: Addresses,
    streams: Streams,
    /// The flow whose hosts may send to any address.
    open: Option<usize>,
    /// What is counted of each flow.
    pub tallies: Vec<Tally>,
    out: VecDeque<Delivered>,
    /// Packets that hosts sent but not to the other end of a flow.
    pub astray: u64,
}

/// The pace of a link without a rate: a packet takes the nanosecond that is the least here.
const UNLIMITED: Pace = Pace::Constant(1 << 60);

impl Network {
    /// That of `run`, for packets of at most `size` bytes with addresses of `family`; `series` is the interval of the series of
    /// cells.
    ///
    /// # Errors
    /// What is wrong with the document, and where.
    pub fn new(run: &Run, (family, size): (Family, usize), series: Option<Span>) -> Result<Network, SpecError> {
        ackclock_run::check(run)?;
        let others = Others::of(run, series)?;
        let mut stops = Stops::new(run, &others.ports());
        let (mut table, mut routes, mut many) = (Vec::new(), Vec::new(), Vec::new());
        for (i, f) in run.flows.iter().enumerate() {
            let path = format!("flows.{i}");
            let f = drawn(f, run);
            for (hops, name) in [(&f.forward, "forward"), (&f.reverse, "reverse")] {
                routes.push(table.len() as u32);
                table.extend(stops.of(hops, &format!("{path}.{name}"))?);
                table.push(END);
            }
            many.push(matches!(spec::made(&f, run, &path)?.connections, Connections::Many(_)));
        }
        let setting = links::setting(run);
        let made = run.links.iter().enumerate().map(|(i, l)| {
            let path = format!("links.{i}");
            let mut params = links::params(l, run, &path)?;
            if params.pace.is_none() && params.policer.is_none() && params.only_loses() {
                params.pace = Some(UNLIMITED);
            }
            params.build(&setting).map_err(|e| links::refused(&path, e))
        });
        let links: Vec<Link> = made.collect::<Result<_, SpecError>>()?;
        let doors = others.list.iter().zip(0..).flat_map(|(e, i)| (0..e.ports()).map(move |port| (i, port))).collect();
        let delays: Vec<DelayLine> = stops.delays().iter().map(|d| DelayLine::new(Span(*d))).collect();
        Ok(Network {
            agenda: Agenda::new(stops.before_delays() as usize + delays.len()),
            classes: run.flows.iter().map(|f| f.class).collect(),
            packets: Packets::new(size),
            addresses: Addresses::new(family, run.flows.len()),
            tallies: vec![Tally::new(Time(run.warmup_ns)); run.flows.len()],
            streams: Streams::new(many),
            open: None,
            out: VecDeque::new(),
            astray: 0,
            links,
            others,
            doors,
            delays,
            table,
            routes,
        })
    }

    /// Whatever one host of flow number `flow` sends goes to its other host, whatever its address is, and each connection is a
    /// stream of its own.
    pub fn open(&mut self, flow: usize) {
        self.open = Some(flow);
        self.streams.apart(flow);
    }

    /// Makes room for so many packets, so that none has to be made while the clock runs.
    pub fn reserve(&mut self, packets: usize) {
        self.packets.reserve(packets);
    }

    /// Where the next packet is to be written, which [`Network::enter`] takes.
    pub fn room(&mut self) -> &mut [u8] {
        let id = self.packets.spare();
        self.packets.room(id)
    }

    /// The first `len` bytes of [`Network::room`] are a packet that a host sends at `now`. What was due until then must have
    /// been pulled.
    pub fn enter(&mut self, now: Time, len: usize) {
        self.enter_from(None, now, len);
    }

    /// As [`Network::enter`], where it is known which host has sent it: of the flows in order their sources and sinks.
    pub fn enter_from(&mut self, host: Option<usize>, now: Time, len: usize) {
        self.admit((host, false), now, len);
    }

    /// As [`Network::enter_from`], of a packet whose transport's checksum has been made here.
    pub fn enter_sound(&mut self, host: usize, now: Time, len: usize) {
        self.admit((Some(host), true), now, len);
    }

    /// Whether the checksum of a packet that came out is known to be right.
    pub fn is_sound(&self, delivered: &Delivered) -> bool {
        self.packets.get(delivered.id).sound
    }

    fn admit(&mut self, (host, sound): (Option<usize>, bool), now: Time, len: usize) {
        let id = self.packets.spare();
        let Some(bytes) = self.packets.room(id).get(..len) else { return };
        let anywhere = host.filter(|host| self.open == Some(host / 2));
        let found = match anywhere {
            Some(host) => Addressed::sent_by(host as u32, bytes),
            None => self.addresses.read(bytes),
        };
        let Some(found) = found else {
            self.astray += 1;
            return;
        };
        let stream = self.streams.of(&found);
        let flow = found.side as usize / 2;
        let slot = Slot {
            len: len as u32,
            side: found.side,
            next: self.routes[found.side as usize],
            link: NOWHERE,
            stream,
            payload: found.payload,
            class: self.classes[flow],
            ecn: found.ecn,
            copy: false,
            sound,
            taken: true,
            entered: now,
        };
        self.tallies[flow].enters(now, &slot);
        self.packets.take(id, slot);
        self.forward(now, id);
    }

    /// The packet in slot `id` goes on to what comes next on its way.
    fn forward(&mut self, now: Time, id: u32) {
        let slot = self.packets.get_mut(id);
        let element = self.table[slot.next as usize];
        slot.next += 1;
        if element == END {
            let slot = *slot;
            self.tallies[slot.side as usize / 2].leaves(now, &slot);
            self.out.push_back(Delivered { at: now, id, side: slot.side, link: slot.link });
            return;
        }
        let number = element as usize;
        let doors = self.links.len() + self.doors.len();
        let parcel = self.packets.parcel(id);
        let (element, due) = if let Some(link) = self.links.get_mut(number) {
            self.packets.get_mut(id).link = element;
            link.push(now, parcel, &mut self.packets);
            (element, link.next_due())
        } else if number < doors {
            let (i, port) = self.doors[number - self.links.len()];
            let other = &mut self.others.list[i];
            other.push(now, port, parcel, &mut self.packets);
            (element - u32::from(port), other.next_due())
        } else {
            let line = &mut self.delays[number - doors];
            line.push(now, 0, parcel, &mut self.packets);
            (element, line.next_due())
        };
        self.agenda.set(element, due);
    }

    /// When something is to be done next.
    pub fn next_due(&mut self) -> Time {
        if let Some(first) = self.out.front() {
            return first.at;
        }
        self.agenda.first().map_or(Time::NEVER, |(at, _)| at)
    }

    /// The next packet that has come out at `now` or before.
    pub fn pull(&mut self, now: Time) -> Option<Delivered> {
        loop {
            if let Some(delivered) = self.out.pop_front() {
                return Some(delivered);
            }
            let (at, element) = self.agenda.first().filter(|(at, _)| *at <= now)?;
            self.visit(at, element);
        }
    }

    /// Whether something is due at `now` or before.
    pub fn is_due(&mut self, now: Time) -> bool {
        self.next_due() <= now
    }

    /// Everything that is due until `now` happens; what comes out waits for [`Network::pull`].
    pub fn settle(&mut self, now: Time) {
        while let Some((at, element)) = self.agenda.first().filter(|(at, _)| *at <= now) {
            self.visit(at, element);
        }
    }

    fn visit(&mut self, now: Time, element: u32) {
        let number = element as usize;
        let doors = self.links.len() + self.doors.len();
        let due = loop {
            let out = if let Some(link) = self.links.get_mut(number) {
                link.pull(now, &mut self.packets).map(|(at, parcel)| Out { at, port: 0, parcel })
            } else if number < doors {
                self.others.list[self.doors[number - self.links.len()].0].pull(now, &mut self.packets)
            } else {
                self.delays[number - doors].pull(now, &mut self.packets)
            };
            match out {
                Some(out) => self.forward(now, out.parcel.id),
                None if number < self.links.len() => break self.links[number].next_due(),
                None if number < doors => {
                    break self.others.list[self.doors[number - self.links.len()].0].next_due();
                }
                None => break self.delays[number - doors].next_due(),
            }
        };
        self.agenda.set(element, due);
    }

    /// The bytes of a packet that came out.
    pub fn bytes(&self, delivered: &Delivered) -> &[u8] {
        self.packets.bytes(delivered.id)
    }

    /// A packet that came out has been handed on.
    pub fn done(&mut self, delivered: &Delivered) {
        self.packets.remove(delivered.id);
    }

    /// Packets and bytes in the queue of link number `i` at `now`, until when everything has been settled.
    pub fn backlog(&mut self, i: usize, now: Time) -> (u64, u64) {
        let link = &mut self.links[i];
        link.settle(now, &mut self.packets);
        link.backlog()
    }

    /// The run is over at `end`.
    pub fn finish(&mut self, end: Time) {
        self.settle(end);
        for slot in self.packets.each() {
            self.tallies[slot.side as usize / 2].stays(slot);
        }
        for link in &mut self.links {
            link.settle(end, &mut self.packets);
            link.finish(end);
        }
        for other in &mut self.others.list {
            if let Other::Cell(cell) = other {
                cell.finish(end, &mut self.packets);
            }
        }
    }
}
