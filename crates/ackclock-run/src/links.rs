//! From a link or an element of the resolved run to that of a path.

use crate::given::given;
use crate::spec::{self, Run, SpecError};
use ackclock_core::impair::{Reorder, ScriptedDrop};
use ackclock_core::path::{
    self, Bucket, Element, JitterParams, LinkParams, LossParams, Pace, QueueParams, Refusal, Setting,
};
use ackclock_core::queue::{Limits, Step, registry};
use ackclock_core::time::{Span, Time};

fn loss(loss: Option<&spec::Loss>, run: &Run, at: &str) -> Result<LossParams, SpecError> {
    Ok(match loss {
        None => LossParams::None,
        Some(spec::Loss::Bernoulli { p }) => LossParams::Bernoulli(*p),
        Some(spec::Loss::GilbertElliott { p, r, h, k }) => LossParams::GilbertElliott([*p, *r, *h, *k]),
        Some(spec::Loss::BitErrors { ber }) => LossParams::BitErrors(*ber),
        Some(spec::Loss::Every { n }) => LossParams::Every(*n),
        Some(spec::Loss::Scripted { drops }) => {
            let drop = |d: &spec::Drop| {
                let flow = run.flows.iter().position(|f| f.id == d.flow);
                let flow = flow.ok_or_else(|| SpecError::new(at, format!("no flow has the id '{}'", d.flow)))?;
                Ok(ScriptedDrop { flow: flow as u32, nth: d.nth })
            };
            LossParams::Scripted(drops.iter().map(drop).collect::<Result<_, SpecError>>()?)
        }
    })
}

fn jitter(jitter: &spec::Jitter) -> JitterParams {
    match jitter {
        spec::Jitter::Uniform { low_ns, high_ns } => JitterParams::Uniform(Span(*low_ns), Span(*high_ns)),
        spec::Jitter::Normal { mean_ns, sd_ns } => JitterParams::Normal(Span(*mean_ns), Span(*sd_ns)),
        spec::Jitter::Pareto { scale_ns, shape } => JitterParams::Pareto(Span(*scale_ns), *shape),
        spec::Jitter::Exponential { mean_ns } => JitterParams::Exponential(Span(*mean_ns)),
        spec::Jitter::Empirical { values_ns } => JitterParams::Measured(values_ns.iter().map(|v| Span(*v)).collect()),
    }
}

fn reorder(r: &spec::Reorder) -> Reorder {
    Reorder { probability: r.probability, extra: Span(r.extra_ns) }
}

fn bucket(b: &spec::Bucket) -> Bucket {
    Bucket { rate_bps: b.rate_bps, burst_bytes: b.burst_bytes }
}

fn events(link: &spec::Link, run: &Run, path: &str) -> Result<Vec<path::Event>, SpecError> {
    let event = |(i, e): (usize, &spec::Event)| {
        let loss = e.loss.as_ref().map(|l| loss(Some(l), run, &format!("{path}.events.{i}.loss")));
        Ok(path::Event {
            at: Time(e.at_ns),
            delay: e.delay_ns.map(Span),
            loss: loss.transpose()?,
            jitter: e.jitter.as_ref().map(jitter),
            reorder: e.reorder.as_ref().map(reorder),
            duplicate: e.duplicate,
        })
    };
    link.events.iter().enumerate().map(event).collect()
}

/// What sets the pace of `link`; none: it has no rate, so nothing waits for it.
fn pace(link: &spec::Link, path: &str) -> Result<Option<Pace>, SpecError> {
    let at = |key: &str, problem: &str| Err(SpecError::new(format!("{path}.{key}"), problem));
    if link.schedule.is_some() && link.trace.is_some() {
        return at("trace", "a link follows a schedule or a trace, not both; remove one");
    }
    let changes = link.schedule.is_some() || link.trace.is_some();
    if changes && link.rate_bps.is_some() {
        return at("rate_bps", "a schedule or a trace gives the rate; remove one");
    }
    if changes && link.shaper.is_some() {
        return at("shaper", "a shaper stands before a line of constant rate; leave one of them out");
    }
    if let Some(s) = &link.schedule {
        let steps = s.steps.iter().map(|[begin, rate]| (Time(*begin), *rate)).collect();
        return Ok(Some(Pace::Schedule(steps, s.period_ns.map(Span))));
    }
    if let Some(t) = &link.trace {
        return Ok(Some(Pace::Trace(t.times_ms.clone(), t.opportunity_bytes)));
    }
    match (link.rate_bps, &link.shaper) {
        (None, None) => Ok(None),
        (None, Some(_)) => at("shaper", "a shaper stands before a line; give the link a rate"),
        (Some(rate), None) => Ok(Some(Pace::Constant(rate))),
        (Some(rate), Some(b)) => Ok(Some(Pace::Shaped(bucket(b), rate))),
    }
}

/// The queue `q` as plain data; `at` is its key.
///
/// # Errors
/// A parameter that is not of its kind.
pub fn queue(q: &spec::Queue, at: &str) -> Result<QueueParams, SpecError> {
    let params = match registry::find(&q.kind) {
        Some(entry) => {
            let kind = |n: &str| entry.params.iter().find(|s| s.name == n).map(|s| s.kind);
            given(&q.params, kind, format!("{at}.params"))?
        }
        // The link says that nobody knows it.
        None => Vec::new(),
    };
    let most = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    Ok(QueueParams {
        kind: q.kind.clone(),
        limits: Limits {
            packets: most(q.limit_packets),
            bytes: most(q.limit_bytes),
            includes_service: q.limit_includes_service,
        },
        step: Step { packets: most(q.mark_above_packets), bytes: most(q.mark_above_bytes) },
        weights: q.weights.clone(),
        packet_bytes: q.packet_bytes,
        params,
    })
}

/// The link `l` of `run` as plain data.
///
/// # Errors
/// What is wrong with it, and where.
pub fn params(l: &spec::Link, run: &Run, path: &str) -> Result<LinkParams, SpecError> {
    if l.rate_bps == Some(0) {
        return Err(SpecError::new(format!("{path}.rate_bps"), "a rate must be above zero"));
    }
    Ok(LinkParams {
        name: l.id.clone(),
        pace: pace(l, path)?,
        delay: Span(l.delay_ns),
        overhead: l.overhead_bytes,
        policer: l.policer.as_ref().map(bucket),
        queue: l.queue.as_ref().map_or_else(|| Ok(QueueParams::unlimited()), |q| queue(q, &format!("{path}.queue")))?,
        loss: loss(l.loss.as_ref(), run, &format!("{path}.loss"))?,
        jitter: l.jitter.as_ref().map(jitter).unwrap_or_default(),
        preserve_order: l.preserve_order,
        reorder: l.reorder.as_ref().map(reorder).unwrap_or_default(),
        duplicate: l.duplicate,
        events: events(l, run, path)?,
    })
}

/// What there is to know of `run` besides its elements.
pub fn setting(run: &Run) -> Setting {
    Setting { seed: run.seed, run: run.run, from: Time(run.warmup_ns), to: Time(run.duration_ns) }
}

/// What a link at `path` is not content with, as a fault of the document.
pub fn refused(path: &str, e: Refusal) -> SpecError {
    let at = if e.key.is_empty() { path.to_owned() } else { format!("{path}.{}", e.key) };
    SpecError::new(at, e.problem)
}

/// The element `e` of the run.
///
/// # Errors
/// What is wrong with it, and where.
pub fn element(e: &spec::Element, path: &str) -> Result<Box<dyn Element>, SpecError> {
    let kind = path::registry::find(&e.kind).ok_or_else(|| {
        let known: Vec<_> = path::registry::ELEMENTS.iter().map(|k| k.name).collect();
        SpecError::new(format!("{path}.kind"), format!("unknown element '{}'; known are {}", e.kind, known.join(", ")))
    })?;
    let of = |n: &str| kind.params.iter().find(|s| s.name == n).map(|s| s.kind);
    let params = given(&e.params, of, format!("{path}.params"))?;
    let made = path::registry::build(kind.name, &params);
    made.map_err(|e| SpecError::new(format!("{path}.params"), e.to_string()))
}
