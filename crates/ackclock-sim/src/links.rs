//! From a link of the resolved run to the link of the network: its queue, its server and its medium.

use crate::endpoint::given;
use crate::spec::{self, Run, SpecError};
use crate::wire::{Common, FusedLink, GeneralLink, Link, LinkStats};
use ackclock_core::impair::{Loss, ScriptedDrop};
use ackclock_core::params::ParamError;
use ackclock_core::queue::registry::{self, Site};
use ackclock_core::queue::{DropTail, Limits, Queue, Step};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};

fn loss(link: &spec::Link, run: &Run, path: &str) -> Result<Loss, SpecError> {
    let at = || format!("{path}.loss");
    Ok(match &link.loss {
        None => Loss::None,
        Some(spec::Loss::Bernoulli { p }) if (0.0..1.0).contains(p) => {
            Loss::Bernoulli { p: *p, rng: Stream::named(run.seed, run.run, &format!("link {} loss", link.id)) }
        }
        Some(spec::Loss::Bernoulli { p }) => {
            return Err(SpecError::new(at(), format!("a loss probability is in [0, 1), not {p}")));
        }
        Some(spec::Loss::Every { n: 0 | 1 }) => {
            return Err(SpecError::new(at(), "every packet would be lost; n must be at least 2"));
        }
        Some(spec::Loss::Every { n }) => Loss::Every { n: *n, count: 0 },
        Some(spec::Loss::Scripted { drops }) => {
            let drop = |d: &spec::Drop| {
                let flow = run.flows.iter().position(|f| f.id == d.flow);
                let flow = flow.ok_or_else(|| SpecError::new(at(), format!("no flow has the id '{}'", d.flow)))?;
                Ok(ScriptedDrop { flow: flow as u32, nth: d.nth })
            };
            Loss::scripted(drops.iter().map(drop).collect::<Result<_, SpecError>>()?)
        }
    })
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
    limits: Limits,
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
        rate_bps: link.rate_bps.unwrap_or(0),
        delay: Span(link.delay_ns),
        packet: q.packet_bytes,
        weights: q.weights.clone(),
        rng: Stream::named(run.seed, run.run, &format!("link {} queue", link.id)),
    };
    registry::build(&q.kind, &params, site).map_err(|e| {
        let key = match &e {
            ParamError::Unknown(name) => name,
            ParamError::WrongKind { name, .. }
            | ParamError::OutOfRange { name, .. }
            | ParamError::Conflict { name, .. } => name,
        };
        SpecError::new(at(key), e.to_string())
    })
}

/// The link `l` of `run`; `log` keeps every change of its queue's length.
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
    let common = Common { delay: l.delay_ns, overhead: l.overhead_bytes, loss: loss(l, run, path)?, stats };
    let plain = q.kind == "droptail" && q.params.is_empty();
    let Some(rate) = l.rate_bps else {
        // Nothing ever waits for it, but a wrong queue is wrong all the same.
        queue(q, l, run, path, limits)?;
        return Ok(Link::Fused(FusedLink::new(common, None, limits, step)));
    };
    if plain && run.engine.fused {
        return Ok(Link::Fused(FusedLink::new(common, Some(rate), limits, step)));
    }
    let queue = if plain { Box::new(DropTail::new(limits, step)) } else { queue(q, l, run, path, limits)? };
    let classes = run.flows.iter().map(|f| f.class).collect();
    Ok(Link::General(Box::new(GeneralLink::new(common, rate, queue, limits.includes_service, classes))))
}
