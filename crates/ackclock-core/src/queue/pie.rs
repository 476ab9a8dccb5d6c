//! PIE: drops or marks arrivals with a probability that a proportional-integral controller keeps such that the queueing
//! delay stays at a target. Pan, Natarajan, Baker and White, Proportional Integral Controller Enhanced (PIE),
//! RFC 8033, 2017; section numbers below are of that document. `variant` follows Linux's or ns-3's decisions where they
//! differ from the RFC's.

use super::departure_rate::DepartureRate;
use super::registry::{Discipline, Site};
use super::{Backlog, Limits, Queue, Reason, Sink, mark};
use crate::packet::Parcel;
use crate::params::{Default, Kind, ParamError, ParamSpec, Params, choice, count, flag, float, time};
use crate::ring::Ring;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// The parameters.
const PARAMS: &[ParamSpec] = &[
    time("target", 15, (1e-5, 10.0), "QDELAY_REF, the queueing delay aimed at (RFC 8033 §4.2)"),
    time("update", 15, (1e-4, 10.0), "T_UPDATE, time between two updates of the probability (RFC 8033 §4.2)"),
    float("alpha", 0.125, (0.0, 1e3), "gain on the distance from the target, 1/s per update (RFC 8033 §4.2)"),
    float("beta", 1.25, (0.0, 1e3), "gain on the change of the delay, 1/s per update (RFC 8033 §4.2)"),
    flag(
        "auto_tune",
        true,
        "gains divided by 2, 8, 32 ... 2048 while the probability is below 0.1 ... 1e-6 (RFC 8033 §4.2)",
    ),
    float("cap", 0.02, (0.0, 1.0), "largest increment of the probability from `cap_from` on (RFC 8033 §5.5)"),
    float("cap_from", 0.1, (0.0, 1.0), "probability from which `cap` holds (RFC 8033 §5.5)"),
    float("decay", 0.98, (0.0, 1.0), "factor at each update while there is no delay (RFC 8033 §4.2; Linux 1 - 1/64)"),
    time("high_delay", 250, (0.0, 1e3), "delay above which each update adds `high_step` (Linux)"),
    float("high_step", 0.02, (0.0, 1.0), "what is added to the probability above `high_delay`; 0: nothing (Linux)"),
    time("max_burst", 150, (0.0, 10.0), "MAX_BURST, time without drops that a calm time earns (RFC 8033 §4.4)"),
    choice("delay", &["head", "sojourn", "rate"], DELAY_DOC),
    ParamSpec {
        name: "rate_threshold",
        kind: Kind::Bytes,
        default: Default::Int(16_384),
        range: Some((1.0, 1e9)),
        doc: "DQ_THRESHOLD, bytes waiting and bytes departed of one measurement of the rate (RFC 8033 §5)",
    },
    float("rate_weight", 0.25, (1e-6, 1.0), "weight of a measurement in the mean time per byte (RFC 8033 §5)"),
    flag("derandomize", true, "drops spread out evenly (RFC 8033 §5.4; ns-3 false)"),
    float("spread_low", 0.85, (0.0, 1e3), "accumulated probability below which nothing is dropped (RFC 8033 §5.4)"),
    float("spread_high", 8.5, (0.0, 1e4), "accumulated probability from which an arrival is dropped (RFC 8033 §5.4)"),
    float("calm", 0.2, (0.0, 1.0), "with a smaller probability and half the target's delay, no drops (RFC 8033 §4.1)"),
    count("floor", 2, (0.0, 1e6), "full-size packets waiting up to which nothing is dropped (RFC 8033 §4.1)"),
    flag("byte_mode", false, "the probability of a packet is in proportion to its size (Linux bytemode)"),
    flag("ecn", false, "mark packets of transports that understand ECN (RFC 8033 §5.1)"),
    float(
        "ecn_limit",
        0.1,
        (0.0, 1.0),
        "mark_ecnth, probability from which such packets are dropped too (RFC 8033 §5.1)",
    ),
    choice("variant", &["rfc", "linux", "ns3"], "whose decisions hold where implementations differ from the RFC"),
];

const DELAY_DOC: &str = "the delay at an update: how long the head of the queue has waited (RFC 8033 §4), how long the \
     last packet that left had (Linux, ns-3), or bytes over the measured rate of departures (RFC 8033 §5)";

/// The entry of the registry. The limit is Linux's; the RFC has none.
pub(super) const ENTRY: Discipline = Discipline {
    name: "pie",
    source: "R. Pan, P. Natarajan, F. Baker, G. White: Proportional Integral Controller Enhanced (PIE), RFC 8033, 2017",
    summary: "drops arrivals with a probability that holds the queueing delay at a target",
    params: PARAMS,
    default_limit: Some(1000),
    build: |p, site| Ok(Box::new(Pie::new(p, site)?)),
};

/// How the delay is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    Head,
    Sojourn,
    Rate,
}

/// Whose decisions hold.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Rfc,
    Linux,
    Ns3,
}

/// The constants; delays in seconds.
#[derive(Clone, Debug)]
struct Law {
    target: f64,
    update: Span,
    alpha: f64,
    beta: f64,
    auto_tune: bool,
    cap: f64,
    cap_from: f64,
    decay: f64,
    high_delay: f64,
    high_step: f64,
    max_burst: Span,
    measure: Measure,
    derandomize: bool,
    spread: (f64, f64),
    calm: f64,
    floor: u64,
    packet: u64,
    byte_mode: bool,
    ecn: bool,
    ecn_limit: f64,
    variant: Variant,
}

impl Law {
    fn new(p: &Params, packet: u32) -> Result<Law, ParamError> {
        let spread = (p.float("spread_low"), p.float("spread_high"));
        if spread.0 > spread.1 {
            let problem = format!("{} is above spread_high = {}; swap them", spread.0, spread.1);
            return Err(ParamError::Conflict { name: "spread_low".into(), problem });
        }
        Ok(Law {
            target: p.duration("target").as_secs_f64(),
            update: p.duration("update"),
            alpha: p.float("alpha"),
            beta: p.float("beta"),
            auto_tune: p.bool("auto_tune"),
            cap: p.float("cap"),
            cap_from: p.float("cap_from"),
            decay: p.float("decay"),
            high_delay: p.duration("high_delay").as_secs_f64(),
            high_step: p.float("high_step"),
            max_burst: p.duration("max_burst"),
            measure: match p.text("delay") {
                "rate" => Measure::Rate,
                "sojourn" => Measure::Sojourn,
                _ => Measure::Head,
            },
            derandomize: p.bool("derandomize"),
            spread,
            calm: p.float("calm"),
            floor: p.int("floor"),
            packet: u64::from(packet.max(1)),
            byte_mode: p.bool("byte_mode"),
            ecn: p.bool("ecn"),
            ecn_limit: p.float("ecn_limit"),
            variant: match p.text("variant") {
                "linux" => Variant::Linux,
                "ns3" => Variant::Ns3,
                _ => Variant::Rfc,
            },
        })
    }

    /// The probability after an update that finds `delay`, was `p` and found `old` the last time (§4.2).
    fn next(&self, p: f64, delay: f64, old: f64, empty: bool) -> f64 {
        let tuned = if self.auto_tune { tuning(p) } else { 1.0 };
        let mut step = tuned * (self.alpha * (delay - self.target) + self.beta * (delay - old));
        if p >= self.cap_from {
            step = step.min(self.cap);
        }
        if delay > self.high_delay {
            step += self.high_step;
        }
        let mut next = p + step;
        // Linux holds the decay while something waits, however short.
        if delay == 0.0 && old == 0.0 && (empty || self.variant != Variant::Linux) {
            next *= self.decay;
        }
        next.clamp(0.0, 1.0)
    }
}

/// The factor of the gains at probability `p`: what keeps the loop stable where the throughput of TCP reacts strongly.
fn tuning(p: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

/// The allowance for bursts as ns-3 (after ns-2.36) sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The next arrival begins a burst.
    Idle,
    /// A burst has begun.
    Protecting,
    /// Its allowance is used up; so many updates have been calm since.
    Passed(u64),
}

/// What an update changes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    /// The probability.
    p: f64,
    /// The delay at the last update, s.
    old: f64,
    /// Time left without drops.
    burst: Span,
    phase: Phase,
}

/// A FIFO under PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    law: Law,
    limits: Limits,
    rng: Stream,
    fifo: Ring<Parcel>,
    bytes: u64,
    state: State,
    /// When the probability is updated next.
    next: Time,
    /// Probability accumulated since the last drop (§5.4).
    spread: f64,
    /// How long the last packet waited that left others behind, s.
    sojourn: f64,
    rate: DepartureRate,
    /// The last departure, for Linux's burst allowance.
    departed: Option<Time>,
}

impl Pie {
    /// An empty queue.
    ///
    /// # Errors
    /// Parameters that contradict each other.
    pub fn new(p: &Params, site: Site) -> Result<Pie, ParamError> {
        let law = Law::new(p, site.packet)?;
        // ns-3 grants the first allowance when the first packet arrives.
        let burst = if law.variant == Variant::Ns3 { Span::ZERO } else { law.max_burst };
        Ok(Pie {
            limits: site.limits,
            rng: site.rng,
            fifo: Ring::default(),
            bytes: 0,
            state: State { p: 0.0, old: 0.0, burst, phase: Phase::Idle },
            next: Time::ZERO + law.update,
            spread: 0.0,
            sojourn: 0.0,
            rate: DepartureRate::new(p.int("rate_threshold"), p.float("rate_weight")),
            departed: None,
            law,
        })
    }

    /// Does the updates that were due until `now`, each with the queue as it was then.
    fn catch_up(&mut self, now: Time) {
        let still = self.fifo.is_empty() || self.law.measure != Measure::Head;
        while self.next <= now {
            let before = self.state;
            self.update(self.next);
            self.next += self.law.update;
            if still && self.state == before && self.next <= now {
                // Nothing an update depends on changes any more: the others would do nothing either.
                self.next += self.law.update * (now.since(self.next).0 / self.law.update.0 + 1);
            }
        }
    }

    /// The delay at an update, s.
    fn delay(&self, at: Time) -> f64 {
        match self.law.measure {
            Measure::Head => self.fifo.front().map_or(0.0, |head| at.since(head.arrived).as_secs_f64()),
            Measure::Sojourn => self.sojourn,
            Measure::Rate => self.bytes as f64 * self.rate.per_byte(),
        }
    }

    fn update(&mut self, at: Time) {
        let law = &self.law;
        let delay = self.delay(at);
        let State { p, old, burst, .. } = self.state;
        let ns3 = law.variant == Variant::Ns3;
        // ns-3 has no probability while the allowance lasts.
        let p = if ns3 && burst > Span::ZERO { 0.0 } else { law.next(p, delay, old, self.fifo.is_empty()) };
        let calm = p == 0.0 && delay < law.target / 2.0 && old < law.target / 2.0;
        self.state.p = p;
        self.state.old = delay;
        if law.variant != Variant::Linux {
            self.state.burst = burst.saturating_sub(law.update);
        }
        if ns3 {
            return self.calm_in_ns3(calm);
        }
        if calm && (law.variant == Variant::Rfc || law.measure != Measure::Rate || self.rate.per_byte() > 0.0) {
            self.state.burst = law.max_burst;
            if law.variant == Variant::Linux {
                self.spread = 0.0;
                self.departed = None;
                self.rate.forget();
            }
        }
    }

    /// ns-3 grants a new allowance only after an allowance that was used up and 1.5 s of calm.
    fn calm_in_ns3(&mut self, calm: bool) {
        if calm && self.rate.per_byte() > 0.0 {
            self.rate.forget();
        }
        let calm = calm && self.state.burst == Span::ZERO;
        self.state.phase = match self.state.phase {
            Phase::Protecting if calm => Phase::Passed(0),
            Phase::Passed(n) if calm && n + 1 > Span::from_millis(1500).0 / self.law.update.0 => Phase::Idle,
            Phase::Passed(n) => Phase::Passed(if calm { n + 1 } else { 0 }),
            other => other,
        };
    }

    /// Whether an arrival of `len` bytes is to be dropped or marked (§4.1, §5.4).
    fn early(&mut self, len: u32) -> bool {
        let law = &self.law;
        if self.state.burst > Span::ZERO {
            return false;
        }
        if law.variant == Variant::Ns3 && self.state.phase == Phase::Idle {
            self.state.phase = Phase::Protecting;
            self.state.burst = law.max_burst;
        }
        let last = match (law.variant, law.measure) {
            (Variant::Linux, Measure::Sojourn) => self.sojourn,
            _ => self.state.old,
        };
        if last < law.target / 2.0 && self.state.p < law.calm {
            return false;
        }
        let few = match law.variant {
            Variant::Rfc => self.bytes <= law.floor * law.packet,
            Variant::Linux => self.bytes < law.floor * law.packet,
            Variant::Ns3 => self.fifo.len() as u64 <= law.floor,
        };
        if few {
            return false;
        }
        let p = self.state.p * if law.byte_mode { f64::from(len) / law.packet as f64 } else { 1.0 };
        if p == 0.0 {
            self.spread = 0.0;
            return false;
        }
        if law.derandomize {
            self.spread += p;
            if self.spread < law.spread.0 {
                return false;
            }
            if self.spread >= law.spread.1 {
                return true;
            }
        }
        self.rng.uniform() < p
    }
}

impl Queue for Pie {
    fn enqueue(&mut self, now: Time, mut parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        self.catch_up(now);
        if !self.limits.admit(self.backlog(), in_service, parcel.len) {
            self.spread = 0.0;
            return sink.dropped(now, parcel, Reason::Full);
        }
        if self.early(parcel.len) {
            self.spread = 0.0;
            let markable = self.law.ecn && self.state.p < self.law.ecn_limit;
            if !(markable && mark(now, &mut parcel, Reason::Early, sink)) {
                return sink.dropped(now, parcel, Reason::Early);
            }
        }
        self.bytes += u64::from(parcel.len);
        self.fifo.push(parcel);
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn Sink) -> Option<Parcel> {
        self.catch_up(now);
        let parcel = self.fifo.pop()?;
        self.bytes -= u64::from(parcel.len);
        match self.law.measure {
            Measure::Head => {}
            Measure::Sojourn if self.fifo.is_empty() => self.sojourn = 0.0,
            Measure::Sojourn => self.sojourn = now.since(parcel.arrived).as_secs_f64(),
            Measure::Rate => self.rate.left(now, parcel.len, self.bytes),
        }
        if self.law.variant == Variant::Linux {
            // Linux counts the allowance down by the time between departures.
            let gap = self.departed.map_or(Span::ZERO, |last| now.since(last));
            self.state.burst = self.state.burst.saturating_sub(gap);
            self.departed = Some(now);
        }
        Some(parcel)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
#[path = "pie_tests.rs"]
mod tests;
