//! The ways of flows: when they start, what they pass, what is drawn of them, what they allow at best.

use crate::others::Others;
use crate::spec::{self, FlowGroup, Hop, Run, SpecError, Start, Through};
use ackclock_core::path::Port;
use ackclock_core::rng::Stream;
use ackclock_core::time::Time;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Most hops of a route.
pub const MAX_HOPS: usize = 127;

/// Numbers what routes pass: links first, then every port of the other elements, then what its owner reserves, then one
/// delay line per distinct delay.
#[derive(Debug)]
pub struct Stops<'a> {
    links: BTreeMap<&'a str, u32>,
    /// The other elements: number of the first port, and how many there are.
    elements: BTreeMap<&'a str, (u32, Port)>,
    before_delays: u32,
    delays: Vec<u64>,
    numbers: BTreeMap<u64, u32>,
}

impl<'a> Stops<'a> {
    /// For `run`, whose elements have so many `ports`.
    pub fn new(run: &'a Run, ports: &[Port]) -> Stops<'a> {
        let links: BTreeMap<_, _> = run.links.iter().zip(0..).map(|(l, i)| (l.id.as_str(), i)).collect();
        let mut before_delays = links.len() as u32;
        let mut elements = BTreeMap::new();
        let names = run.elements.iter().map(|e| e.id.as_str()).chain(run.cells.iter().map(|c| c.id.as_str()));
        let names = names.chain(run.hspa.iter().map(|h| h.id.as_str()));
        for (id, n) in names.zip(ports) {
            elements.insert(id, (before_delays, *n));
            before_delays += u32::from(*n);
        }
        Stops { links, elements, before_delays, delays: Vec::new(), numbers: BTreeMap::new() }
    }

    /// Keeps `n` numbers before those of the delays; only before the first route.
    pub fn reserve(&mut self, n: u32) {
        self.before_delays += n;
    }

    /// How many links, ports and reserved numbers there are.
    pub fn before_delays(&self) -> u32 {
        self.before_delays
    }

    /// The delays that routes have so far, nanoseconds, by number.
    pub fn delays(&self) -> &[u64] {
        &self.delays
    }

    /// The numbers of what `hops` pass.
    ///
    /// # Errors
    /// A hop that is not there, none, or too many; `path` is the key of the route.
    pub fn of(&mut self, hops: &[Hop], path: &str) -> Result<Vec<u32>, SpecError> {
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
        elements.collect()
    }
}

/// When flow `f` of `run` starts, as it is drawn for this replication.
pub fn start(f: &spec::Flow, run: &Run) -> Time {
    match f.start {
        Start::At(ns) => Time(ns),
        Start::Uniform([a, b]) => {
            let mut rng = Stream::named(run.seed, run.run, &format!("flow {} start", f.id));
            Time(a + rng.below(b.saturating_sub(a).saturating_add(1)))
        }
    }
}

/// The flow with its delays as they are drawn for this replication.
pub fn drawn<'a>(f: &'a spec::Flow, run: &Run) -> Cow<'a, spec::Flow> {
    drawn_as(f, run, &f.id)
}

/// The flow with its delays as they are drawn for that with this `id`.
pub fn drawn_as<'a>(f: &'a spec::Flow, run: &Run, id: &str) -> Cow<'a, spec::Flow> {
    if !f.forward.iter().chain(&f.reverse).any(|hop| matches!(hop, Hop::Uniform(_))) {
        return Cow::Borrowed(f);
    }
    let mut f = f.clone();
    let mut rng = Stream::named(run.seed, run.run, &format!("flow {id} delay"));
    let group: &mut FlowGroup = &mut f;
    for hop in group.forward.iter_mut().chain(&mut group.reverse) {
        if let Hop::Uniform([low, high]) = *hop {
            *hop = Hop::Delay(low + rng.below(high - low + 1));
        }
    }
    Cow::Owned(f)
}

/// The best that a way allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Propagation there and back, nanoseconds.
    pub rtt: u64,
    /// The slowest link of the data's way, bit/s; none: unlimited.
    pub rate: Option<u64>,
}

impl Path {
    /// Seconds that a transfer of `bytes` takes at best, with or without a handshake before it.
    pub fn ideal(&self, bytes: u64, handshake: bool) -> f64 {
        let trips = 1.0 + f64::from(u8::from(handshake));
        self.rtt as f64 * 1e-9 * trips + self.rate.map_or(0.0, |rate| bytes as f64 * 8.0 / rate as f64)
    }
}

/// What the way of `f` allows at best.
pub fn best(f: &spec::Flow, run: &Run, others: &Others) -> Path {
    let link = |id: &str| run.links.iter().find(|l| l.id == *id);
    let of = |hop: &Hop| match hop {
        Hop::Delay(ns) | Hop::Uniform([ns, _]) => (*ns, None),
        Hop::Link(id) => link(id).map_or((0, None), |l| (l.first_delay_ns(), l.fastest())),
        Hop::Element(Through { id, port }) => {
            let (least, rate) = others.best(id, *port);
            (least.0, rate)
        }
    };
    let rtt = f.forward.iter().chain(&f.reverse).map(|hop| of(hop).0).fold(0, u64::saturating_add);
    Path { rtt, rate: f.forward.iter().filter_map(|hop| of(hop).1).min() }
}
