//! From the resolved run to the network.

use crate::endpoint::{self, Make};
use crate::engine::{Bare, Layout, Sim};
use crate::events::Events;
use crate::flow::MAX_FLOWS;
use crate::host::{Maker, Talk, Work};
use crate::links;
use crate::marking;
use crate::network::Network;
use crate::one_way::OneWay;
use crate::probe::Probes;
use crate::routes::{Route, Routes};
use crate::slab::Slab;
use crate::spec::{self, Hop, Player, Run, SpecError};
use crate::split::cap;
use crate::tap::{Doors, Taps};
use crate::wire::Link;
use ackclock_core::app::Connections;
use ackclock_core::path::{DelayLine, Port};
use ackclock_core::time::{Span, Time};
use ackclock_run::check::check;
use ackclock_run::others::Others;
use ackclock_run::warnings::Warnings;
use ackclock_run::ways::{self, Path, Stops, drawn_as};
use std::borrow::Cow;

/// Numbers what routes pass: links first, then every port of the other elements, then the probe points, then one delay line
/// per distinct delay.
pub(crate) struct Router<'a> {
    stops: Stops<'a>,
    taps: Doors,
    routes: Routes,
}

impl<'a> Router<'a> {
    /// For `run`, whose elements have so many `ports`.
    ///
    /// # Errors
    /// Something is to be captured that is not there.
    pub(crate) fn new(run: &'a Run, ports: &[Port]) -> Result<Router<'a>, SpecError> {
        let mut stops = Stops::new(run, ports);
        let taps = Doors::of(run, stops.before_delays())?;
        stops.reserve(taps.len());
        Ok(Router { stops, taps, routes: Routes::default() })
    }

    /// The way of flow number `flow` over `hops`, of its data or `back`.
    pub(crate) fn route(&mut self, hops: &[Hop], (flow, back): (usize, bool), path: &str) -> Result<Route, SpecError> {
        let elements = self.stops.of(hops, path)?;
        Ok(self.routes.add(self.taps.around(elements, flow, back)))
    }

    /// Both ways of `f`, which has the number `flow`; `path` is its own, for messages.
    pub(crate) fn both(&mut self, f: &spec::Flow, flow: usize, path: &str) -> Result<[Route; 2], SpecError> {
        let forward = self.route(&f.forward, (flow, false), &format!("{path}.forward"))?;
        Ok([forward, self.route(&f.reverse, (flow, true), &format!("{path}.reverse"))?])
    }
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
        if run.engine.kind != Player::Sim {
            let problem = "is for another engine, and this is the simulator; leave it out, or write sim";
            return Err(SpecError::new("engine.kind", problem));
        }
        check(run)?;
        let probes = Probes::new(&run.probes, run.flows.len())?;
        let others = Others::of(run, probes.cells_every)?;
        let mut router = Router::new(run, &others.ports())?;
        let mut net = Network::default();
        let legs = spec::relay::legs(run);
        // Routes of the last flow, for those that have the same.
        let mut last: Option<(&spec::Flow, [Route; 2], Path)> = None;
        for (i, f) in run.flows.iter().enumerate() {
            let path = format!("flows.{i}");
            let (routes, best) = match last {
                Some((other, routes, best)) if other.shares(f) => (routes, best),
                _ => {
                    // A leg has what is drawn of its flow.
                    let own = drawn_as(f, run, legs.get(&i).map_or(&f.id, |(whole, _)| &run.flows[*whole].id));
                    let routes = router.both(&own, i, &path)?;
                    let best = ways::best(&own, run, &others);
                    last = (matches!(own, Cow::Borrowed(_)) && router.taps.len() == 0).then_some((f, routes, best));
                    (routes, best)
                }
            };
            net.flow(f, run, (routes, best), cap(run, &legs, i), &path, make)?;
        }
        net.split(run, &legs)?;
        let Network { sides, flows, conns, marks, nodes, .. } = net;
        let Others { list: others, cells, warnings: of_cells, .. } = others;
        let mut warnings = Warnings::default();
        warnings.extend(of_cells);
        marking::warn(run, &marks, &mut warnings);
        let links = run.links.iter().enumerate();
        let links: Vec<Link> = links
            .map(|(i, l)| links::link(l, run, &format!("links.{i}"), probes.queue_events))
            .collect::<Result<_, _>>()?;
        let delays: Vec<DelayLine<Bare>> = router.stops.delays().iter().map(|d| DelayLine::new(Span(*d))).collect();
        let doors = others.iter().zip(0..).flat_map(|(e, i)| (0..e.ports()).map(move |port| (i, port))).collect();
        let layout = Layout {
            others: links.len() as u32,
            taps: router.stops.before_delays() - router.taps.len(),
            delays: router.stops.before_delays(),
            sides: router.stops.before_delays() + delays.len() as u32,
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
        let mut sim = Sim {
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
            nodes,
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
        };
        (0..sim.sides.len()).for_each(|side| sim.note_blocks(side));
        Ok(sim)
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
        let mut begin = 0;
        for group in run.flows.chunk_by(spec::Flow::shares) {
            let n = group.len() as u64;
            let made = spec::made(&group[0], run, &format!("flows.{begin}"))?;
            if let Connections::Many(each) = made.connections {
                transfers = transfers.saturating_add((each.min(MAX_FLOWS as f64) as u64).saturating_mul(n));
            }
            at_once = at_once.zip(made.at_once).map(|(sum, own)| sum.saturating_add(own.saturating_mul(n)));
            begin += group.len();
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
