//! From a link of the resolved run to the link of the network: its queue, its server and its medium.

use crate::endpoint::given;
use crate::spec::{self, Run, SpecError};
use crate::wire::{Common, FusedLink, GeneralLink, Link, LinkStats, Parts};
use ackclock_core::impair::{Change, Jitter, Loss, Medium, Reorder, ScriptedDrop};
use ackclock_core::link::{Policer, RateSchedule, Serializer, Server, Shaper, Trace, TraceLink};
use ackclock_core::params::ParamError;
use ackclock_core::queue::registry::{self, Site};
use ackclock_core::queue::{DropTail, Limits, Queue, Step};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};

/// What a part of the engine says is wrong, at `path` and the key it names.
fn wrong(path: &str, e: &ParamError) -> SpecError {
    let key = match e {
        ParamError::Unknown(name)
        | ParamError::WrongKind { name, .. }
        | ParamError::OutOfRange { name, .. }
        | ParamError::Conflict { name, .. } => name,
    };
    SpecError::new(format!("{path}.{key}"), e.to_string())
}

fn loss(loss: Option<&spec::Loss>, run: &Run, at: &str, owner: &str) -> Result<Loss, SpecError> {
    let rng = || Stream::named(run.seed, run.run, &format!("{owner} loss"));
    let within = |made: Result<Loss, ParamError>| made.map_err(|e| wrong(at, &e));
    Ok(match loss {
        None => Loss::None,
        Some(spec::Loss::Bernoulli { p }) if *p == 1.0 => {
            return Err(SpecError::new(format!("{at}.p"), "every packet would be lost; give a probability below 1"));
        }
        Some(spec::Loss::Bernoulli { p }) => within(Loss::bernoulli(*p, rng()))?,
        Some(spec::Loss::GilbertElliott { p, r, h, k }) => within(Loss::gilbert_elliott(*p, *r, *h, *k, rng()))?,
        Some(spec::Loss::BitErrors { ber }) => within(Loss::bit_errors(*ber, rng()))?,
        Some(spec::Loss::Every { n: 0 | 1 }) => {
            return Err(SpecError::new(at, "every packet would be lost; n must be at least 2"));
        }
        Some(spec::Loss::Every { n }) => Loss::Every { n: *n, count: 0 },
        Some(spec::Loss::Scripted { drops }) => {
            let drop = |d: &spec::Drop| {
                let flow = run.flows.iter().position(|f| f.id == d.flow);
                let flow = flow.ok_or_else(|| SpecError::new(at, format!("no flow has the id '{}'", d.flow)))?;
                Ok(ScriptedDrop { flow: flow as u32, nth: d.nth })
            };
            Loss::scripted(drops.iter().map(drop).collect::<Result<_, SpecError>>()?)
        }
    })
}

fn jitter(jitter: &spec::Jitter, at: &str) -> Result<Jitter, SpecError> {
    let values;
    let made = match jitter {
        spec::Jitter::Uniform { low_ns, high_ns } => Jitter::uniform(Span(*low_ns), Span(*high_ns)),
        spec::Jitter::Normal { mean_ns, sd_ns } => Ok(Jitter::normal(Span(*mean_ns), Span(*sd_ns))),
        spec::Jitter::Pareto { scale_ns, shape } => Jitter::pareto(Span(*scale_ns), *shape),
        spec::Jitter::Exponential { mean_ns } => Ok(Jitter::exponential(Span(*mean_ns))),
        spec::Jitter::Empirical { values_ns } => {
            values = values_ns.iter().map(|v| Span(*v)).collect::<Vec<_>>();
            Jitter::measured(&values)
        }
    };
    made.map_err(|e| wrong(at, &e))
}

fn reorder(r: &spec::Reorder) -> Reorder {
    Reorder { probability: r.probability, extra: Span(r.extra_ns) }
}

/// What happens at the output of `link`.
fn medium(link: &spec::Link, run: &Run, path: &str) -> Result<Medium, SpecError> {
    let owner = format!("link {}", link.id);
    let at = |e: ParamError| wrong(path, &e);
    let none = || Ok(Jitter::none());
    let mut medium = Medium::new(run.seed, run.run, &owner)
        .with_loss(loss(link.loss.as_ref(), run, &format!("{path}.loss"), &owner)?)
        .with_jitter(
            link.jitter.as_ref().map_or_else(none, |j| jitter(j, &format!("{path}.jitter")))?,
            link.preserve_order,
        )
        .with_duplicate(link.duplicate)
        .map_err(at)?;
    if let Some(r) = &link.reorder {
        medium = medium.with_reorder(reorder(r)).map_err(at)?;
    }
    let mut events = Vec::new();
    for (i, e) in link.events.iter().enumerate() {
        let path = format!("{path}.events.{i}");
        let mut add = |change| events.push((Time(e.at_ns), change));
        if let Some(delay) = e.delay_ns {
            let extra = delay.checked_sub(link.delay_ns).ok_or_else(|| {
                SpecError::new(format!("{path}.delay_ns"), "below the link's own delay, which must be the smallest")
            })?;
            add(Change::Delay(Span(extra)));
        }
        if let Some(l) = &e.loss {
            add(Change::Loss(loss(Some(l), run, &format!("{path}.loss"), &format!("{owner} event {i}"))?));
        }
        if let Some(j) = &e.jitter {
            add(Change::Jitter(jitter(j, &format!("{path}.jitter"))?));
        }
        if let Some(r) = &e.reorder {
            add(Change::Reorder(reorder(r)));
        }
        if let Some(share) = e.duplicate {
            add(Change::Duplicate(share));
        }
    }
    medium.with_events(events).map_err(|e| wrong(&format!("{path}.events"), &e))
}

/// What sets the pace of `link`; none: it has no rate, so nothing waits for it.
fn server(link: &spec::Link, path: &str, packet: u32) -> Result<Option<Server>, SpecError> {
    let at = |key: &str, problem: String| SpecError::new(format!("{path}.{key}"), problem);
    if link.schedule.is_some() && link.trace.is_some() {
        return Err(at("trace", "a link follows a schedule or a trace, not both; remove one".into()));
    }
    let changes = link.schedule.is_some() || link.trace.is_some();
    if changes && link.rate_bps.is_some() {
        return Err(at("rate_bps", "a schedule or a trace gives the rate; remove one".into()));
    }
    if changes && link.shaper.is_some() {
        return Err(at("shaper", "a shaper stands before a line of constant rate; leave one of them out".into()));
    }
    if let Some(s) = &link.schedule {
        let steps: Vec<_> = s.steps.iter().map(|[begin, rate]| (Time(*begin), *rate)).collect();
        let made = RateSchedule::new(&steps, s.period_ns.map(Span));
        return made.map(|s| Some(Server::Schedule(s))).map_err(|e| at("schedule", e.to_string()));
    }
    if let Some(t) = &link.trace {
        let made = Trace::new(&t.times_ms).and_then(|trace| TraceLink::new(trace, t.opportunity_bytes));
        return made.map(|t| Some(Server::Trace(t))).map_err(|e| at("trace", e.to_string()));
    }
    let Some(rate) = link.rate_bps else {
        return match link.shaper {
            None => Ok(None),
            Some(_) => Err(at("shaper", "a shaper stands before a line; give the link a rate".into())),
        };
    };
    let Some(bucket) = &link.shaper else { return Ok(Some(Server::Constant(Serializer::new(rate)))) };
    let made = Shaper::new(bucket.rate_bps, bucket.burst_bytes, rate);
    let shaper = made.map_err(|e| at("shaper", e.to_string()))?;
    if !shaper.fits(packet) {
        return Err(at("shaper.burst_bytes", too_small(bucket, packet)));
    }
    Ok(Some(Server::Shaped(shaper)))
}

fn too_small(bucket: &spec::Bucket, packet: u32) -> String {
    format!("{} B never hold a full-size packet of {packet} B; give at least that", bucket.burst_bytes)
}

fn policer(link: &spec::Link, path: &str, packet: u32) -> Result<Option<Policer>, SpecError> {
    let Some(bucket) = &link.policer else { return Ok(None) };
    let made = Policer::new(bucket.rate_bps, bucket.burst_bytes);
    let policer = made.map_err(|e| SpecError::new(format!("{path}.policer"), e.to_string()))?;
    if !policer.fits(packet) {
        return Err(SpecError::new(format!("{path}.policer.burst_bytes"), too_small(bucket, packet)));
    }
    Ok(Some(policer))
}

/// The room of a queue and the threshold above which it marks.
fn limits(q: &spec::Queue, path: &str) -> Result<(Limits, Step), SpecError> {
    if q.limit_packets == Some(0) || q.limit_bytes == Some(0) {
        return Err(SpecError::new(format!("{path}.queue"), "a queue of no packets or bytes lets nothing through"));
    }
    let limits = Limits {
        packets: q.limit_packets.unwrap_or(u64::MAX),
        bytes: q.limit_bytes.unwrap_or(u64::MAX),
        includes_service: q.limit_includes_service,
    };
    let step =
        Step { packets: q.mark_above_packets.unwrap_or(u64::MAX), bytes: q.mark_above_bytes.unwrap_or(u64::MAX) };
    let at = || format!("{path}.queue.mark_above");
    if step != Step::NEVER && q.kind != "droptail" {
        let problem = format!("'{}' decides by itself what it marks; leave mark_above out", q.kind);
        return Err(SpecError::new(at(), problem));
    }
    let never = |mark: &Option<u64>, limit: u64| mark.is_some_and(|k| k >= limit);
    if never(&q.mark_above_packets, limits.packets) || never(&q.mark_above_bytes, limits.bytes) {
        let problem = "a queue never holds more than its limit: nothing would be marked";
        return Err(SpecError::new(at(), problem));
    }
    Ok((limits, step))
}

/// The queue `q` of `link` by the registry.
fn queue(
    q: &spec::Queue,
    link: &spec::Link,
    run: &Run,
    path: &str,
    (limits, step): (Limits, Step),
    rate_bps: u64,
) -> Result<Box<dyn Queue>, SpecError> {
    let at = |key: &str| format!("{path}.queue.{key}");
    let entry = registry::find(&q.kind).ok_or_else(|| {
        let known: Vec<_> = registry::DISCIPLINES.iter().map(|d| d.name).collect();
        SpecError::new(at("kind"), format!("unknown queue '{}'; known are {}", q.kind, known.join(", ")))
    })?;
    if q.weights.iter().any(|w| !(w.is_finite() && *w > 0.0)) {
        return Err(SpecError::new(at("weights"), "a weight is a number above zero"));
    }
    let kind = |n: &str| entry.params.iter().find(|s| s.name == n).map(|s| s.kind);
    let params = given(&q.params, kind, &at("params"))?;
    let site = Site {
        limits,
        rate_bps,
        delay: Span(link.first_delay_ns()),
        packet: q.packet_bytes,
        weights: q.weights.clone(),
        rng: Stream::named(run.seed, run.run, &format!("link {} queue", link.id)),
    };
    // The step is no parameter: the scenario resolves it from the path.
    let made = match q.kind.as_str() {
        "droptail" => DropTail::marking(&params, site, step),
        kind => registry::build(kind, &params, site),
    };
    made.map_err(|e| wrong(&format!("{path}.queue"), &e))
}

/// The mean rate of `server` over the run, bit/s, at least 1.
fn mean_rate(server: &Server, run: &Run) -> u64 {
    let bits = server.bits_between(Time::ZERO, Time(run.duration_ns));
    ((bits * 1e9 / run.duration_ns.max(1) as f64) as u64).max(1)
}

/// The link `l` of `run`; `classes` are those of the connections' packets, `log` keeps every change of its queue's
/// length.
///
/// # Errors
/// What is wrong with it, and where.
pub(crate) fn link(l: &spec::Link, run: &Run, path: &str, log: bool) -> Result<Link, SpecError> {
    if l.rate_bps == Some(0) {
        return Err(SpecError::new(format!("{path}.rate_bps"), "a rate must be above zero"));
    }
    let unlimited = spec::Queue::unlimited();
    let q = l.queue.as_ref().unwrap_or(&unlimited);
    let (limits, step) = limits(q, path)?;
    let mut stats = LinkStats::new(Time(run.warmup_ns), Time(run.duration_ns), limits.includes_service);
    stats.log = log.then(Vec::new);
    let medium = medium(l, run, path)?;
    let server = server(l, path, q.packet_bytes)?;
    let policer = policer(l, path, q.packet_bytes)?;
    // What the fused form knows: a constant rate or none, a plain queue, and nothing at the output but losses.
    let plain = q.kind == "droptail" && q.params.is_empty();
    let constant = matches!(server, None | Some(Server::Constant(_)));
    let simple = constant && policer.is_none() && l.jitter.is_none() && l.reorder.is_none();
    let quiet = l.duplicate == 0.0 && l.events.is_empty();
    let owner = format!("link {}", l.id);
    let only_loss = loss(l.loss.as_ref(), run, &format!("{path}.loss"), &owner)?;
    let common = Common { delay: l.delay_ns, overhead: l.overhead_bytes, loss: only_loss, stats };
    if simple && quiet && plain && (run.engine.fused || server.is_none()) {
        return Ok(Link::Fused(FusedLink::new(common, l.rate_bps, limits, step)));
    }
    let mean = server.as_ref().map_or(0, |s| mean_rate(s, run));
    let queue =
        if plain { Box::new(DropTail::new(limits, step)) } else { queue(q, l, run, path, (limits, step), mean)? };
    let Some(server) = server else {
        if simple && quiet {
            // Nothing ever waits for it; its queue had only to be right.
            return Ok(Link::Fused(FusedLink::new(common, None, limits, step)));
        }
        let problem = "a policer, jitter, reordering, duplicates and events need a rate; give the link one";
        return Err(SpecError::new(path, problem));
    };
    let includes_service = limits.includes_service;
    let parts = Parts { common, server, policer, queue, includes_service, medium };
    Ok(Link::General(Box::new(GeneralLink::new(parts))))
}
