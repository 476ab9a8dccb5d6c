//! From the resolved run to the network.

use crate::endpoint::{self, Make};
use crate::engine::{Bare, Layout, Sim};
use crate::events::Events;
use crate::flow::{MAX_FLOWS, MAX_HOPS};
use crate::host::{Maker, Talk, Work};
use crate::links;
use crate::marking;
use crate::network::Network;
use crate::one_way::OneWay;
use crate::others::Others;
use crate::probe::Probes;
use crate::routes::{Route, Routes};
use crate::slab::Slab;
use crate::spec::{self, Hop, Run, SpecError, Start, Through};
use crate::tap::{Doors, Taps};
use crate::wire::Link;
use ackclock_core::app::Connections;
use ackclock_core::path::{DelayLine, Port};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Longest run, delay and interval: 10 years, so that sums of times cannot overflow.
const MAX_DURATION: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Most bytes of link framing.
const MAX_OVERHEAD: u32 = 65_535;
/// Fastest link, bit/s.
const MAX_RATE: u64 = 1_000_000_000_000_000;

/// Numbers the elements that routes pass: links first, then every port of the other elements, then one delay line per
/// distinct delay.
pub(crate) struct Router<'a> {
    links: BTreeMap<&'a str, u32>,
    /// The other elements: number of the first port, and how many there are.
    elements: BTreeMap<&'a str, (u32, Port)>,
    /// How many links, ports and probe points there are.
    before_delays: u32,
    taps: Doors,
    delays: Vec<u64>,
    numbers: BTreeMap<u64, u32>,
    routes: Routes,
}

impl<'a> Router<'a> {
    /// For `run`, whose elements have so many `ports`.
    ///
    /// # Errors
    /// Something is to be captured that is not there.
    pub(crate) fn new(run: &'a Run, ports: &[Port]) -> Result<Router<'a>, SpecError> {
        let links: BTreeMap<_, _> = run.links.iter().zip(0..).map(|(l, i)| (l.id.as_str(), i)).collect();
        let mut before_delays = links.len() as u32;
        let mut elements = BTreeMap::new();
        let names = run.elements.iter().map(|e| e.id.as_str()).chain(run.cells.iter().map(|c| c.id.as_str()));
        let names = names.chain(run.hspa.iter().map(|h| h.id.as_str()));
        for (id, n) in names.zip(ports) {
            elements.insert(id, (before_delays, *n));
            before_delays += u32::from(*n);
        }
        let taps = Doors::of(run, before_delays)?;
        before_delays += taps.len();
        let (delays, numbers, routes) = (Vec::new(), BTreeMap::new(), Routes::default());
        Ok(Router { links, elements, before_delays, taps, delays, numbers, routes })
    }

    /// The way of flow number `flow` over `hops`, of its data or `back`.
    pub(crate) fn route(&mut self, hops: &[Hop], (flow, back): (usize, bool), path: &str) -> Result<Route, SpecError> {
        if hops.is_empty() || hops.len() > MAX_HOPS {
            return Err(SpecError::new(path, format!("a route has 1 to {MAX_HOPS} hops, not {}", hops.len())));
        }
        let elements = hops.iter().map(|hop| match hop {
            Hop::Link(id) => {
                let i = self.links.get(id.as_str()).copied();
                i.ok_or_else(|| SpecError::new(path, format!("no link has the id '{id}'")))
            }
            Hop::Element(Through { id, port }) => match self.elements.get(id.as_str()) {
                Some((first, n)) if port < n => Ok(first + u32::from(*port)),
                Some((_, n)) => Err(SpecError::new(path, format!("'{id}' has ports 0 to {}, not {port}", n - 1))),
                None => Err(SpecError::new(path, format!("no element has the id '{id}'"))),
            },
            // Those that are drawn are drawn before.
            Hop::Delay(ns) | Hop::Uniform([ns, _]) => {
                let i = *self.numbers.entry(*ns).or_insert_with(|| {
                    self.delays.push(*ns);
                    self.delays.len() as u32 - 1
                });
                Ok(self.before_delays + i)
            }
        });
        let elements = elements.collect::<Result<Vec<_>, SpecError>>()?;
        Ok(self.routes.add(self.taps.around(elements, flow, back)))
    }
}

/// The flow with its delays as they are drawn for this replication.
fn drawn<'a>(f: &'a spec::Flow, run: &Run) -> Cow<'a, spec::Flow> {
    if !f.forward.iter().chain(&f.reverse).any(|hop| matches!(hop, Hop::Uniform(_))) {
        return Cow::Borrowed(f);
    }
    let mut f = f.clone();
    let mut rng = Stream::named(run.seed, run.run, &format!("flow {} delay", f.id));
    for hop in f.forward.iter_mut().chain(&mut f.reverse) {
        if let Hop::Uniform([low, high]) = *hop {
            *hop = Hop::Delay(low + rng.below(high - low + 1));
        }
    }
    Cow::Owned(f)
}

impl Sim {
    /// Builds the network of `run`.
    ///
    /// # Errors
    /// What is wrong with the document, and where.
    pub fn new(run: &Run) -> Result<Sim, SpecError> {
        Sim::new_with(run, &mut |flow, _, profile, path| endpoint::controller(flow, profile, path))
    }

    /// Builds the network of `run` with controllers that `make` makes, those of the registry or others.
    ///
    /// # Errors
    /// As [`Sim::new`], and what `make` says.
    pub fn new_with(run: &Run, make: &mut Make<'_>) -> Result<Sim, SpecError> {
        check(run)?;
        let probes = Probes::new(&run.probes, run.flows.len())?;
        let others = Others::of(run, probes.cells_every)?;
        let mut router = Router::new(run, &others.ports())?;
        let mut net = Network::default();
        for (i, f) in run.flows.iter().enumerate() {
            let path = format!("flows.{i}");
            let f = &drawn(f, run);
            let routes = [(&f.forward, false, "forward"), (&f.reverse, true, "reverse")];
            let [forward, reverse] =
                routes.map(|(hops, back, name)| router.route(hops, (i, back), &format!("{path}.{name}")));
            net.flow(f, run, (&others, [forward?, reverse?]), &path, make)?;
        }
        let Network { sides, flows, conns, marks } = net;
        let Others { list: others, cells, mut warnings, .. } = others;
        warnings.extend(marking::warnings(run, &marks));
        let links = run.links.iter().enumerate();
        let links: Vec<Link> = links
            .map(|(i, l)| links::link(l, run, &format!("links.{i}"), probes.queue_events))
            .collect::<Result<_, _>>()?;
        let delays: Vec<DelayLine<Bare>> = router.delays.iter().map(|d| DelayLine::new(Span(*d))).collect();
        let doors = others.iter().zip(0..).flat_map(|(e, i)| (0..e.ports()).map(move |port| (i, port))).collect();
        let layout = Layout {
            others: links.len() as u32,
            taps: router.before_delays - router.taps.len(),
            delays: router.before_delays,
            sides: router.before_delays + delays.len() as u32,
        };
        let mut events = Events::new(layout.sides as usize, sides.len());
        for (i, conn) in conns.iter().enumerate() {
            events.schedule(layout.sides + 2 * i as u32, conn.due);
        }
        let talks = sides.iter().map(|_| Talk::default()).collect();
        events.schedule_last(probes.next_due().min(Time(run.warmup_ns)));
        let mut slab = Slab::default();
        let spare = slab.reserve();
        let one_way = run.packet_delays.then(|| Box::new(OneWay::new(flows.len())));
        Ok(Sim {
            events,
            layout,
            links,
            delays,
            others,
            cells,
            doors,
            sides,
            talks,
            work: Work::default(),
            maker: None,
            flows,
            one_way,
            conns,
            slab,
            routes: router.routes,
            spare,
            probes,
            from: Time(run.warmup_ns),
            end: Time(run.duration_ns),
            measuring: run.warmup_ns == 0,
            visits: 0,
            now: Time::ZERO,
            log: run.engine.log_deliveries.then(Vec::new),
            taps: (!run.capture.is_empty()).then(|| Box::new(Taps::new(router.taps.into_list(), run.flows.len()))),
            link_names: run.links.iter().map(|l| (l.id.clone(), l.rate_bps)).collect(),
            warnings,
        })
    }

    /// From now on the controllers of connections that are opened during the run are made by `maker`; without it by the
    /// registry.
    pub fn set_maker(&mut self, maker: Maker) {
        self.maker = Some(maker);
    }

    /// Bytes of memory the run will need at most, roughly: full queues and paths, scoreboards and series.
    ///
    /// # Errors
    /// As [`Sim::new`].
    pub fn estimate_bytes(run: &Run) -> Result<u64, SpecError> {
        check(run)?;
        const PER_PACKET: u64 = 64 + 16 + 24;
        const PER_FLOW: u64 = 8 * 1024;
        const WINDOW: u64 = 6_000_000;
        let packet = |f: &spec::Flow| f.app.datagrams().map_or(f.mss, |d| d.payload);
        let mss = u64::from(run.flows.iter().map(packet).min().unwrap_or(1460)).max(1);
        let mut transfers = 0u64;
        // What all sources together have under way at a time, if that is known of each.
        let mut at_once = Some(0u64);
        for (i, f) in run.flows.iter().enumerate() {
            let made = spec::made(f, run, &format!("flows.{i}"))?;
            if let Connections::Many(n) = made.connections {
                transfers = transfers.saturating_add(n.min(MAX_FLOWS as f64) as u64);
            }
            at_once = at_once.zip(made.at_once).map(|(sum, own)| sum.saturating_add(own));
        }
        let under_way = at_once.map_or(u64::MAX, |bytes| bytes / mss + 1);
        let packets = |l: &spec::Link| {
            let rate = l.fastest();
            let flight = rate.map_or(0, |r| (u128::from(r) * u128::from(l.delay_ns) / 8_000_000_000) as u64 / mss);
            let queue = l.queue.as_ref().map_or(u64::MAX, |q| {
                q.limit_packets.unwrap_or(u64::MAX).min(q.limit_bytes.map_or(u64::MAX, |b| b / mss + 1))
            });
            // No queue holds more than arrives during the run, or than its senders have; their windows bound it as well.
            let ever = rate.map_or(0, |r| (u128::from(r) * u128::from(run.duration_ns) / 8_000_000_000) as u64 / mss);
            flight.min(under_way).saturating_add(queue.min(ever).min(under_way))
        };
        // Behind the links of a cell come rates so much lower that what is in the network is the senders' windows.
        let users: usize = run.cells.iter().map(|c| c.users.len()).sum();
        let windows = (run.flows.len() as u64).saturating_mul(WINDOW / mss);
        let (in_cells, most) =
            if run.cells.is_empty() && run.hspa.is_empty() { (0, u64::MAX) } else { (windows, windows) };
        let links = run.links.iter().map(|l| packets(l).min(most));
        let in_flight = links.fold(in_cells, u64::saturating_add);
        let probes = Probes::new(&run.probes, run.flows.len())?;
        Ok(in_flight
            .saturating_mul(PER_PACKET)
            .saturating_add((run.flows.len() as u64).saturating_mul(PER_FLOW))
            // At worst, on a path that cannot carry them, all transfers are open at once.
            .saturating_add(transfers.saturating_mul(PER_FLOW))
            .saturating_add(probes.estimate(run.duration_ns, run.flows.len(), run.links.len(), users)))
    }
}

pub(crate) fn check(run: &Run) -> Result<(), SpecError> {
    let err = |path: &str, problem: String| Err(SpecError::new(path, problem));
    if run.duration_ns == 0 || run.duration_ns > MAX_DURATION {
        return err("duration_ns", "a run lasts more than nothing and at most ten years".into());
    }
    if run.warmup_ns >= run.duration_ns {
        return err("warmup_ns", format!("the warm-up of {} ns must end before the run does", run.warmup_ns));
    }
    if run.flows.is_empty() || run.flows.len() > MAX_FLOWS {
        return err("flows", format!("a run has 1 to {MAX_FLOWS} flows, not {}", run.flows.len()));
    }
    for (i, f) in run.flows.iter().enumerate() {
        if f.app.datagrams().is_none() && (f.mss == 0 || f.mss > 65_535) {
            return err(&format!("flows.{i}.mss"), format!("a segment has 1 to 65535 bytes, not {}", f.mss));
        }
        if let Start::Uniform([a, b]) = f.start {
            if b < a {
                return err(&format!("flows.{i}.start"), "the interval ends before it begins".into());
            }
        }
    }
    let mut takes_time = BTreeMap::new();
    for (i, l) in run.links.iter().enumerate() {
        if takes_time.insert(l.id.as_str(), l.delay_ns > 0 || !l.unlimited()).is_some() {
            return err(&format!("links.{i}.id"), format!("two links have the id '{}'", l.id));
        }
        if l.delay_ns > MAX_DURATION {
            return err(&format!("links.{i}.delay_ns"), format!("{} ns is more than ten years", l.delay_ns));
        }
        if l.overhead_bytes > MAX_OVERHEAD {
            let problem = format!("{} B of framing; at most {MAX_OVERHEAD}", l.overhead_bytes);
            return err(&format!("links.{i}.overhead_bytes"), problem);
        }
        let steps = l.schedule.iter().flat_map(|s| s.steps.iter().map(|step| step[1]));
        if l.rate_bps.into_iter().chain(steps).any(|r| r > MAX_RATE) {
            return err(&format!("links.{i}.rate_bps"), format!("faster than {MAX_RATE} bit/s"));
        }
    }
    for (i, e) in run.elements.iter().enumerate() {
        if run.elements[..i].iter().any(|other| other.id == e.id) {
            return err(&format!("elements.{i}.id"), format!("two elements have the id '{}'", e.id));
        }
    }
    for (i, c) in run.cells.iter().enumerate() {
        let taken = run.elements.iter().any(|e| e.id == c.id) || run.cells[..i].iter().any(|other| other.id == c.id);
        if taken {
            return err(&format!("cells.{i}.id"), format!("two elements have the id '{}'", c.id));
        }
    }
    for (i, h) in run.hspa.iter().enumerate() {
        let others = run.elements.iter().map(|e| &e.id).chain(run.cells.iter().map(|c| &c.id));
        if others.chain(run.hspa[..i].iter().map(|other| &other.id)).any(|id| *id == h.id) {
            return err(&format!("hspa.{i}.id"), format!("two elements have the id '{}'", h.id));
        }
    }
    for (i, f) in run.flows.iter().enumerate() {
        let hops = || f.forward.iter().chain(&f.reverse);
        if hops().any(|h| matches!(h, Hop::Uniform([low, high]) if low > high)) {
            return err(&format!("flows.{i}"), "the least delay is above the largest".into());
        }
        if hops().any(|h| matches!(h, Hop::Delay(ns) | Hop::Uniform([_, ns]) if *ns > MAX_DURATION)) {
            return err(&format!("flows.{i}"), "a delay of more than ten years".into());
        }
        // A packet must be later behind its route than before it. Unknown links are told of when routes are made.
        let later = |h: &Hop| match h {
            Hop::Delay(ns) | Hop::Uniform([ns, _]) => *ns > 0,
            Hop::Link(id) => takes_time.get(id.as_str()).copied().unwrap_or(true),
            // Elements may, but nobody says so; a cell does.
            Hop::Element(Through { id, .. }) => {
                run.cells.iter().any(|c| c.id == *id) || run.hspa.iter().any(|h| h.id == *id)
            }
        };
        if !hops().any(later) {
            return err(&format!("flows.{i}"), "nothing on its way takes time; give a link a rate or a delay".into());
        }
    }
    if run.probes.values().any(|p| matches!(p, spec::Sampling::Every { every_ns } if *every_ns > MAX_DURATION)) {
        return err("probes", "an interval of more than ten years".into());
    }
    Ok(())
}
