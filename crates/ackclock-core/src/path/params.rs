//! A link as plain data, and what is made of it.

mod output;
mod queue;

use super::{Common, Link, LinkStats, Parts};
use crate::impair::{Change, Loss, Medium, Reorder};
use crate::link::{Policer, RateSchedule, Serializer, Server, Shaper, Trace, TraceLink};
use crate::params::ParamError;
use crate::queue::{DropTail, Queue};
use crate::rng::Stream;
use crate::time::{Span, Time};
use std::fmt;

pub use output::{Event, JitterParams, LossParams};
pub use queue::QueueParams;

/// What is wrong with a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key of [`LinkParams`], below a point the key of that; empty: the whole.
    pub key: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl Refusal {
    /// At `key`.
    pub fn new(key: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal { key: key.into(), problem: problem.into() }
    }

    /// What a part refuses whose key is `key`.
    pub fn below(self, key: &str) -> Refusal {
        let key = if self.key.is_empty() { key.to_owned() } else { format!("{key}.{}", self.key) };
        Refusal { key, ..self }
    }

    /// What a part of the link refuses, below `key`.
    fn of(key: &str, e: &ParamError) -> Refusal {
        let (ParamError::Unknown(name)
        | ParamError::WrongKind { name, .. }
        | ParamError::OutOfRange { name, .. }
        | ParamError::Conflict { name, .. }) = e;
        Refusal::new(if key.is_empty() { name.clone() } else { format!("{key}.{name}") }, e.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.problem)
    }
}

impl std::error::Error for Refusal {}

/// What an element is part of: where its random streams come from, and when it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Master seed.
    pub seed: u64,
    /// Replication number.
    pub run: u64,
    /// Begin of the measurement.
    pub from: Time,
    /// Its end, and that of the run.
    pub to: Time,
}

/// A token bucket, full at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Bits per second.
    pub rate_bps: u64,
    /// Bytes it holds.
    pub burst_bytes: u32,
}

/// What sets the pace of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// Bits per second, above zero.
    Constant(u64),
    /// A bucket before a line of so many bits per second.
    Shaped(Bucket, u64),
    /// Begin and bits per second, the first at 0, 0 is off; after the period, if there is one, again.
    Schedule(Vec<(Time, u64)>, Option<Span>),
    /// Opportunities, milliseconds, not decreasing, and the bytes each carries.
    Trace(Vec<u64>, u32),
}

/// A one-way link as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkParams {
    /// Its name, from which its random streams are derived: changing one link changes no other's draws.
    pub name: String,
    /// What sets the pace; none: nothing ever waits for it.
    pub pace: Option<Pace>,
    /// Propagation delay, the smallest of the run.
    pub delay: Span,
    /// Bytes added to every packet.
    pub overhead: u32,
    /// A bucket that drops what exceeds it, before the queue.
    pub policer: Option<Bucket>,
    /// What waits for it.
    pub queue: QueueParams,
    /// Loss at the output.
    pub loss: LossParams,
    /// Extra delay of single packets.
    pub jitter: JitterParams,
    /// Whether jitter keeps the order of packets.
    pub preserve_order: bool,
    /// Packets held back so that others overtake them.
    pub reorder: Reorder,
    /// Share of packets that come out twice.
    pub duplicate: f64,
    /// What changes.
    pub events: Vec<Event>,
}

impl LinkParams {
    /// A link with this name, pace and delay, without a limit to its queue, and nothing else.
    pub fn new(name: &str, pace: Pace, delay: Span) -> LinkParams {
        LinkParams {
            name: name.to_owned(),
            pace: Some(pace),
            delay,
            overhead: 0,
            policer: None,
            queue: QueueParams::unlimited(),
            loss: LossParams::None,
            jitter: JitterParams::None,
            preserve_order: true,
            reorder: Reorder::default(),
            duplicate: 0.0,
            events: Vec::new(),
        }
    }

    /// Whether nothing happens at the output but losses.
    pub fn only_loses(&self) -> bool {
        let still = self.reorder == Reorder::default() && self.duplicate == 0.0 && self.events.is_empty();
        still && self.jitter == JitterParams::None
    }

    /// What every link has.
    pub fn common(&self, setting: &Setting) -> Common {
        let stats = LinkStats::new(setting.from, setting.to, self.queue.limits.includes_service);
        Common { delay: self.delay.0, overhead: self.overhead, stats }
    }

    /// Its loss alone.
    ///
    /// # Errors
    /// A probability outside 0..1, or that everything is lost.
    pub fn build_loss(&self, setting: &Setting) -> Result<Loss, Refusal> {
        self.loss.build("loss", &format!("link {} loss", self.name), setting)
    }

    /// The link.
    ///
    /// # Errors
    /// What is wrong, and with which key.
    pub fn build(&self, setting: &Setting) -> Result<Link, Refusal> {
        let (medium, server, policer, queue) = self.parts(setting)?;
        let Some(server) = server else {
            let problem = "a policer, jitter, reordering, duplicates and events need a rate; give the link one";
            return Err(Refusal::new("", problem));
        };
        let includes_service = self.queue.limits.includes_service;
        Ok(Link::new(Parts { common: self.common(setting), server, policer, queue, includes_service, medium }))
    }

    /// Whether everything is right that [`LinkParams::build`] looks at, but for the lack of a pace.
    ///
    /// # Errors
    /// As [`LinkParams::build`].
    pub fn check(&self, setting: &Setting) -> Result<(), Refusal> {
        self.parts(setting).map(|_| ())
    }

    #[allow(clippy::type_complexity)] // a name would only repeat what they are
    fn parts(&self, setting: &Setting) -> Result<(Medium, Option<Server>, Option<Policer>, Box<dyn Queue>), Refusal> {
        self.queue.check().map_err(|e| e.below("queue"))?;
        let medium = self.medium(setting)?;
        let server = self.server()?;
        let policer = self.policer()?;
        let queue = self.queue(setting, server.as_ref())?;
        Ok((medium, server, policer, queue))
    }

    fn medium(&self, setting: &Setting) -> Result<Medium, Refusal> {
        let owner = format!("link {}", self.name);
        let at = |e: ParamError| Refusal::of("", &e);
        let medium = Medium::new(setting.seed, setting.run, &owner)
            .with_loss(self.build_loss(setting)?)
            .with_jitter(self.jitter.build("jitter")?, self.preserve_order)
            .with_duplicate(self.duplicate)
            .map_err(at)?
            .with_reorder(self.reorder)
            .map_err(at)?;
        let mut events = Vec::new();
        for (i, e) in self.events.iter().enumerate() {
            let key = format!("events.{i}");
            let mut add = |change| events.push((e.at, change));
            if let Some(delay) = e.delay {
                let problem = "below the link's own delay, which must be the smallest";
                let extra = delay.0.checked_sub(self.delay.0);
                let extra = extra.ok_or_else(|| Refusal::new(format!("{key}.delay_ns"), problem))?;
                add(Change::Delay(Span(extra)));
            }
            if let Some(l) = &e.loss {
                let name = format!("{owner} event {i} loss");
                add(Change::Loss(l.build(&format!("{key}.loss"), &name, setting)?));
            }
            if let Some(j) = &e.jitter {
                add(Change::Jitter(j.build(&format!("{key}.jitter"))?));
            }
            if let Some(r) = e.reorder {
                add(Change::Reorder(r));
            }
            if let Some(share) = e.duplicate {
                add(Change::Duplicate(share));
            }
        }
        medium.with_events(events).map_err(|e| Refusal::of("events", &e))
    }

    fn server(&self) -> Result<Option<Server>, Refusal> {
        let packet = self.queue.packet_bytes;
        Ok(Some(match &self.pace {
            None => return Ok(None),
            Some(Pace::Constant(0) | Pace::Shaped(_, 0)) => {
                return Err(Refusal::new("rate_bps", "a rate must be above zero"));
            }
            Some(Pace::Constant(rate)) => Server::Constant(Serializer::new(*rate)),
            Some(Pace::Schedule(steps, period)) => {
                let made = RateSchedule::new(steps, *period);
                Server::Schedule(made.map_err(|e| Refusal::new("schedule", e.to_string()))?)
            }
            Some(Pace::Trace(times_ms, bytes)) => {
                let made = Trace::new(times_ms).and_then(|trace| TraceLink::new(trace, *bytes));
                Server::Trace(made.map_err(|e| Refusal::new("trace", e.to_string()))?)
            }
            Some(Pace::Shaped(bucket, line)) => {
                let made = Shaper::new(bucket.rate_bps, bucket.burst_bytes, *line);
                let shaper = made.map_err(|e| Refusal::new("shaper", e.to_string()))?;
                if !shaper.fits(packet) {
                    return Err(Refusal::new("shaper.burst_bytes", too_small(*bucket, packet)));
                }
                Server::Shaped(shaper)
            }
        }))
    }

    fn policer(&self) -> Result<Option<Policer>, Refusal> {
        let Some(bucket) = self.policer else { return Ok(None) };
        let made = Policer::new(bucket.rate_bps, bucket.burst_bytes);
        let policer = made.map_err(|e| Refusal::new("policer", e.to_string()))?;
        let packet = self.queue.packet_bytes;
        if !policer.fits(packet) {
            return Err(Refusal::new("policer.burst_bytes", too_small(bucket, packet)));
        }
        Ok(Some(policer))
    }

    /// The queue by the registry.
    fn queue(&self, setting: &Setting, server: Option<&Server>) -> Result<Box<dyn Queue>, Refusal> {
        if self.queue.plain() {
            return Ok(Box::new(DropTail::new(self.queue.limits, self.queue.step)));
        }
        // The mean rate over the run.
        let bits = server.map_or(0.0, |s| s.bits_between(Time::ZERO, setting.to));
        let rate_bps = ((bits * 1e9 / setting.to.0.max(1) as f64) as u64).max(u64::from(server.is_some()));
        let rng = Stream::named(setting.seed, setting.run, &format!("link {} queue", self.name));
        self.queue.build(rate_bps, self.first_delay(), rng).map_err(|e| e.below("queue"))
    }

    /// The propagation delay at the start: an event at 0 may say another than [`LinkParams::delay`].
    fn first_delay(&self) -> Span {
        let set = self.events.iter().filter(|e| e.at == Time::ZERO).filter_map(|e| e.delay).next_back();
        set.unwrap_or(self.delay)
    }
}

fn too_small(bucket: Bucket, packet: u32) -> String {
    format!("{} B never hold a full-size packet of {packet} B; give at least that", bucket.burst_bytes)
}
