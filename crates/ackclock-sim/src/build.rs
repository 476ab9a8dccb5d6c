//! From the resolved run to the network.

use crate::endpoint::{self, Make};
use crate::engine::{Layout, Sim};
use crate::events::Events;
use crate::flow::{tag, Flow, Side, Snapshot, MAX_FLOWS, MAX_HOPS};
use crate::links;
use crate::marking;
use crate::probe::Probes;
use crate::slab::Slab;
use crate::spec::{self, Hop, Run, SpecError, Start};
use crate::wire::{DelayLine, Link};
use ackclock_core::rng::Stream;
use ackclock_core::tcp::Endpoint;
use ackclock_core::time::{Span, Time};

/// Longest run, delay and interval: 10 years, so that sums of times cannot overflow.
const MAX_DURATION: u64 = 10 * 366 * 86_400 * 1_000_000_000;
/// Most bytes of link framing.
const MAX_OVERHEAD: u32 = 65_535;
/// Fastest link, bit/s.
const MAX_RATE: u64 = 1_000_000_000_000_000;

/// Numbers the elements that routes pass: links first, then one delay line per distinct delay.
struct Router<'a> {
    links: &'a [spec::Link],
    delays: Vec<u64>,
}

impl Router<'_> {
    fn route(&mut self, hops: &[Hop], path: &str) -> Result<Box<[u32]>, SpecError> {
        if hops.is_empty() || hops.len() > MAX_HOPS {
            return Err(SpecError::new(path, format!("a route has 1 to {MAX_HOPS} hops, not {}", hops.len())));
        }
        hops.iter()
            .map(|hop| match hop {
                Hop::Link(id) => {
                    let i = self.links.iter().position(|l| l.id == *id);
                    i.map(|i| i as u32).ok_or_else(|| SpecError::new(path, format!("no link has the id '{id}'")))
                }
                Hop::Delay(ns) => {
                    let i = self.delays.iter().position(|d| d == ns).unwrap_or_else(|| {
                        self.delays.push(*ns);
                        self.delays.len() - 1
                    });
                    Ok((self.links.len() + i) as u32)
                }
            })
            .collect()
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
        check(run)?;
        let mut router = Router { links: &run.links, delays: Vec::new() };
        let mut sides = Vec::with_capacity(2 * run.flows.len());
        let mut flows = Vec::with_capacity(run.flows.len());
        let mut marks = Vec::with_capacity(run.flows.len());
        for (i, f) in run.flows.iter().enumerate() {
            let path = format!("flows.{i}");
            let (profile, config) = endpoint::config(f, &path)?;
            for (server, hops, name) in [(false, &f.forward, "forward"), (true, &f.reverse, "reverse")] {
                let rng = Stream::named(run.seed, run.run, &format!("flow {} endpoint {}", f.id, u8::from(server)));
                let cc = make(f, server, profile, &path)?;
                if !server {
                    marks.push(marking::Use::of(&config, cc.needs().ecn));
                }
                let endpoint = Endpoint::new(&config, f.mss, cc, rng, tag(i, server));
                let route = router.route(hops, &format!("{path}.{name}"))?;
                sides.push(Side { endpoint, first_hop: route[0], route });
            }
            flows.push(flow(f, run, config.handshake));
        }
        let probes = Probes::new(&run.probes, flows.len())?;
        let links = run.links.iter().enumerate();
        let links: Vec<Link> = links
            .map(|(i, l)| links::link(l, run, &format!("links.{i}"), probes.queue_events))
            .collect::<Result<_, _>>()?;
        let delays: Vec<DelayLine> = router.delays.iter().map(|d| DelayLine::new(Span(*d))).collect();
        let layout = Layout {
            delays: links.len() as u32,
            sides: (links.len() + delays.len()) as u32,
            sampler: (links.len() + delays.len() + sides.len()) as u32,
        };
        let mut events = Events::new(layout.sampler as usize + 1);
        for (i, f) in flows.iter().enumerate() {
            events.schedule(layout.sides + 2 * i as u32, f.start);
        }
        events.schedule(layout.sampler, probes.next_due().min(Time(run.warmup_ns)));
        let mut slab = Slab::default();
        let spare = slab.reserve();
        Ok(Sim {
            events,
            layout,
            links,
            delays,
            sides,
            flows,
            slab,
            spare,
            probes,
            from: Time(run.warmup_ns),
            end: Time(run.duration_ns),
            measuring: false,
            visits: 0,
            log: run.engine.log_deliveries.then(Vec::new),
            link_names: run.links.iter().map(|l| (l.id.clone(), l.rate_bps)).collect(),
            warnings: marking::warnings(run, &marks),
        })
    }

    /// Bytes of memory the run will need at most, roughly: full queues and paths, scoreboards and series.
    ///
    /// # Errors
    /// As [`Sim::new`].
    pub fn estimate_bytes(run: &Run) -> Result<u64, SpecError> {
        check(run)?;
        const PER_PACKET: u64 = 64 + 16 + 24;
        const PER_FLOW: u64 = 8 * 1024;
        let mss = u64::from(run.flows.iter().map(|f| f.mss).min().unwrap_or(1460)).max(1);
        let packets = |l: &spec::Link| {
            let rate = l.fastest();
            let flight = rate.map_or(0, |r| (u128::from(r) * u128::from(l.delay_ns) / 8_000_000_000) as u64 / mss);
            let queue = l.queue.as_ref().map_or(u64::MAX, |q| {
                q.limit_packets.unwrap_or(u64::MAX).min(q.limit_bytes.map_or(u64::MAX, |b| b / mss + 1))
            });
            // No queue holds more than arrives during the run; a sender's window bounds it as well.
            let ever = rate.map_or(0, |r| (u128::from(r) * u128::from(run.duration_ns) / 8_000_000_000) as u64 / mss);
            flight.saturating_add(queue.min(ever))
        };
        let in_flight = run.links.iter().map(packets).fold(0, u64::saturating_add);
        let probes = Probes::new(&run.probes, run.flows.len())?;
        Ok(in_flight
            .saturating_mul(PER_PACKET)
            .saturating_add((run.flows.len() as u64).saturating_mul(PER_FLOW))
            .saturating_add(probes.estimate(run.duration_ns, run.flows.len(), run.links.len())))
    }
}

fn check(run: &Run) -> Result<(), SpecError> {
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
        if f.mss == 0 || f.mss > 65_535 {
            return err(&format!("flows.{i}.mss"), format!("a segment has 1 to 65535 bytes, not {}", f.mss));
        }
        if let Start::Uniform([a, b]) = f.start {
            if b < a {
                return err(&format!("flows.{i}.start"), "the interval ends before it begins".into());
            }
        }
    }
    for (i, l) in run.links.iter().enumerate() {
        if run.links[..i].iter().any(|other| other.id == l.id) {
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
    for (i, f) in run.flows.iter().enumerate() {
        let hops = || f.forward.iter().chain(&f.reverse);
        if hops().any(|h| matches!(h, Hop::Delay(ns) if *ns > MAX_DURATION)) {
            return err(&format!("flows.{i}"), "a delay of more than ten years".into());
        }
        if !hops().any(|h| takes_time(h, run)) {
            return err(&format!("flows.{i}"), "nothing on its way takes time; give a link a rate or a delay".into());
        }
    }
    if run.probes.values().any(|p| matches!(p, spec::Sampling::Every { every_ns } if *every_ns > MAX_DURATION)) {
        return err("probes", "an interval of more than ten years".into());
    }
    Ok(())
}

/// Whether a packet is later behind this hop than before it.
fn takes_time(hop: &Hop, run: &Run) -> bool {
    match hop {
        Hop::Delay(ns) => *ns > 0,
        Hop::Link(id) => run.links.iter().any(|l| l.id == *id && (l.delay_ns > 0 || !l.unlimited())),
    }
}

fn flow(f: &spec::Flow, run: &Run, handshake: bool) -> Flow {
    let start = match f.start {
        Start::At(ns) => Time(ns),
        Start::Uniform([a, b]) => {
            let mut rng = Stream::named(run.seed, run.run, &format!("flow {} start", f.id));
            Flow::draw_start(&mut rng, a, b)
        }
    };
    let spec::App::Bulk { bytes } = f.app;
    Flow {
        id: f.id.clone(),
        cc: f.cc.name.clone(),
        start,
        // A source told to stop before it starts does so at once: time never runs back.
        stop: f.stop_ns.map_or(Time::NEVER, |ns| Time(ns).max(start)),
        bytes,
        handshake,
        opened: false,
        stopped: false,
        completed: None,
        baseline: Snapshot::default(),
        cwnd_area: 0,
        cwnd_at: start,
        cwnd: 0,
    }
}
