//! The queue of a link, or of a user of a cell, as plain data.

use super::Refusal;
use crate::link::OPPORTUNITY;
use crate::params::Value;
use crate::queue::registry::{self, Site};
use crate::queue::{DropTail, Limits, Queue, Step};
use crate::rng::Stream;
use crate::time::Span;

/// A queueing discipline and its room.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueParams {
    /// Its name in the registry of queues.
    pub kind: String,
    /// The room.
    pub limits: Limits,
    /// Above which length `droptail` marks.
    pub step: Step,
    /// Weights of the classes of parcels, for schedulers that share by weight; a class without one has weight 1.
    pub weights: Vec<f64>,
    /// Bytes of a full-size packet on this link.
    pub packet_bytes: u32,
    /// Parameters of the discipline.
    pub params: Vec<(String, Value)>,
}

impl QueueParams {
    /// First in, first out, without a limit.
    pub fn unlimited() -> QueueParams {
        let limits = Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: true };
        let (kind, packet_bytes) = ("droptail".to_owned(), OPPORTUNITY + 14);
        QueueParams { kind, limits, step: Step::NEVER, weights: Vec::new(), packet_bytes, params: Vec::new() }
    }

    /// Whether it is first in, first out and drops only what finds no room.
    pub fn plain(&self) -> bool {
        self.kind == "droptail" && self.params.is_empty()
    }

    /// Whether its room and its threshold make sense.
    ///
    /// # Errors
    /// What is wrong, and with which key.
    pub fn check(&self) -> Result<(), Refusal> {
        let QueueParams { limits, step, .. } = self;
        if limits.packets == 0 || limits.bytes == 0 {
            return Err(Refusal::new("", "a queue of no packets or bytes lets nothing through"));
        }
        if *step != Step::NEVER && self.kind != "droptail" {
            let problem = format!("'{}' decides by itself what it marks; leave mark_above out", self.kind);
            return Err(Refusal::new("mark_above", problem));
        }
        let never = |mark: u64, limit: u64| mark != u64::MAX && mark >= limit;
        if never(step.packets, limits.packets) || never(step.bytes, limits.bytes) {
            let problem = "a queue never holds more than its limit: nothing would be marked";
            return Err(Refusal::new("mark_above", problem));
        }
        Ok(())
    }

    /// The queue, before something that carries `rate_bps` on average and takes `delay`; `rng` is its stream.
    ///
    /// # Errors
    /// What is wrong, and with which key; [`QueueParams::check`] looks at the rest.
    pub fn build(&self, rate_bps: u64, delay: Span, rng: Stream) -> Result<Box<dyn Queue>, Refusal> {
        let QueueParams { kind, limits, step, weights, packet_bytes, params } = self;
        let entry = registry::find(kind).ok_or_else(|| {
            let known: Vec<_> = registry::DISCIPLINES.iter().map(|d| d.name).collect();
            Refusal::new("kind", format!("unknown queue '{kind}'; known are {}", known.join(", ")))
        })?;
        if weights.iter().any(|w| !(w.is_finite() && *w > 0.0)) {
            return Err(Refusal::new("weights", "a weight is a number above zero"));
        }
        let site = Site { limits: *limits, rate_bps, delay, packet: *packet_bytes, weights: weights.clone(), rng };
        // The step is no parameter: who describes the link resolves it from the path.
        let made = match entry.name {
            "droptail" => DropTail::marking(params, site, *step),
            kind => registry::build(kind, params, site),
        };
        made.map_err(|e| Refusal::of("", &e))
    }
}
