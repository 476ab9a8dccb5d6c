//! DualPI2: a queue for classic and one for scalable congestion controls, coupled so that they share the link as if it
//! were one. De Schepper, Briscoe and White, Dual-Queue Coupled AQM for L4S, RFC 9332, 2023, Appendix A; the controller
//! is PI2 (De Schepper, Bondarenko, Tsang and Briscoe, PI2: a linearized AQM for both classic and scalable TCP, CoNEXT
//! 2016).

use super::registry::{Discipline, Site};
use super::{Backlog, Limits, Queue, Reason, Sink, mark};
use crate::packet::{Ecn, Parcel};
use crate::params::{Default as Preset, Kind, ParamError, ParamSpec, Params, choice, count, float, time};
use crate::ring::Ring;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// The parameters.
const PARAMS: &[ParamSpec] = &[
    time("target", 15, (1e-5, 10.0), "the delay of the classic queue aimed at (RFC 9332 §A.1)"),
    time("update", 16, (1e-4, 10.0), "Tupdate, time between two updates of the base probability (RFC 9332 §A.1)"),
    float("alpha", 0.16, (0.0, 1e4), "integral gain, 1/s per update (RFC 9332 §A.1: 0.1 Tupdate/RTT_max^2)"),
    float("beta", 3.2, (0.0, 1e4), "proportional gain, 1/s per update (Linux; RFC 9332 §A.1: 0.3/RTT_max)"),
    float("k", 2.0, (0.1, 100.0), "coupling: the scalable probability is k times the base probability (RFC 9332 §A.1)"),
    choice("native", &["ramp", "step"], "how the low-latency queue marks by its own delay (RFC 9332 §A; Linux step)"),
    micros("ramp_from", 800, "minTh, delay of the low-latency queue where its ramp begins (RFC 9332 §A)"),
    micros("ramp_to", 1200, "minTh + range, delay where its ramp reaches one (RFC 9332 §A)"),
    micros("step", 1000, "delay above which a step marks (Linux step_thresh)"),
    count(
        "native_floor",
        1,
        (0.0, 1e6),
        "Th_len, packets in the low-latency queue up to which its own delay does not count (RFC 9332 §A; Linux 0)",
    ),
    choice("scheduler", &["shifted", "wrr"], "time-shifted FIFO, or weighted round robin (RFC 9332 §A; Linux wrr)"),
    float(
        "shift",
        2.0,
        (0.0, 1e3),
        "head start of the low-latency queue in a time-shifted FIFO, in targets (RFC 9332 §A.2: 50 ms)",
    ),
    float(
        "classic_weight",
        0.0625,
        (0.0, 1.0),
        "share of the classic queue in weighted round robin when both are full (RFC 9332 §A; Linux 0.1)",
    ),
    choice("overload", &["drop", "cap", "overflow"], OVERLOAD_DOC),
    choice(
        "decision",
        &["recur", "random"],
        "a probability acts by counting it up to one (RFC 9332 §A), or by draws (Linux)",
    ),
    count(
        "floor",
        0,
        (0.0, 1e6),
        "full-size packets in both queues below which nothing is dropped or marked by probability (Linux 2)",
    ),
];

const OVERLOAD_DOC: &str = "when the coupled probability reaches one: both queues drop with the classic probability \
     (RFC 9332 §A), the same with at most 1/k^2 of it, or the base probability stops at 1/k and the limit acts (Linux)";

/// A parameter that is a length of time, its default in microseconds.
const fn micros(name: &'static str, us: u64, doc: &'static str) -> ParamSpec {
    let default = Preset::Duration(Span::from_micros(us));
    ParamSpec { name, kind: Kind::Duration, default, range: Some((0.0, 10.0)), doc }
}

/// The entry of the registry. The limit is Linux's; the RFC has the bytes of 250 ms.
pub(super) const ENTRY: Discipline = Discipline {
    name: "dualpi2",
    source: "K. De Schepper, B. Briscoe, G. White: Dual-Queue Coupled Active Queue Management (AQM) for L4S, RFC 9332, 2023",
    summary: "two coupled queues, for classic and for scalable (L4S) congestion controls",
    params: PARAMS,
    default_limit: Some(10_000),
    build: |p, site| Ok(Box::new(DualPi2::new(p, site)?)),
};

/// What happens when the coupled probability reaches one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Overload {
    Drop,
    Cap,
    Overflow,
}

/// Who goes next when both queues have packets.
#[derive(Clone, Copy, Debug)]
enum Scheduler {
    /// Who waits longer, the low-latency queue with a head start.
    Shifted(Span),
    /// By bytes: the weight of the classic queue.
    Weighted(f64),
}

/// The marking of the low-latency queue by its own delay: none up to `from`, always from `to` on.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    from: Span,
    to: Span,
    /// Packets in the queue up to which there is no marking.
    floor: u64,
}

impl Ramp {
    fn probability(&self, waited: Span, packets: u64) -> f64 {
        if packets <= self.floor || waited <= self.from {
            0.0
        } else if waited >= self.to {
            1.0
        } else {
            waited.saturating_sub(self.from).0 as f64 / self.to.saturating_sub(self.from).0 as f64
        }
    }
}

/// The PI2 controller and the three probabilities; delays in seconds.
#[derive(Clone, Debug)]
struct Base {
    target: f64,
    alpha: f64,
    beta: f64,
    k: f64,
    overload: Overload,
    /// The base probability p'.
    p: f64,
    /// The delay at the last update.
    old: f64,
    /// p_C, of the classic queue.
    classic: f64,
    /// p_CL, of the low-latency queue by coupling.
    coupled: f64,
}

impl Base {
    /// An update that finds `delay` (RFC 9332 §A.1).
    fn update(&mut self, delay: f64) {
        let p = self.p + self.alpha * (delay - self.target) + self.beta * (delay - self.old);
        let most = if self.overload == Overload::Overflow { (1.0 / self.k).min(1.0) } else { 1.0 };
        self.old = delay;
        self.set(p.clamp(0.0, most));
    }

    fn set(&mut self, p: f64) {
        self.p = p;
        self.classic = p * p;
        if self.overload == Overload::Cap {
            self.classic = self.classic.min(self.saturation());
        }
        self.coupled = (self.k * p).min(1.0);
    }

    /// p_Cmax, the classic probability at which the coupled one reaches one.
    fn saturation(&self) -> f64 {
        (1.0 / (self.k * self.k)).min(1.0)
    }

    /// Whether marks alone are not enough any more.
    fn overloaded(&self) -> bool {
        self.overload != Overload::Overflow && self.coupled >= 1.0
    }
}

/// Turns a probability into decisions.
#[derive(Clone, Debug, Default)]
struct Chance {
    sum: f64,
}

impl Chance {
    /// Yes in a fraction `p` of the calls: when the sum of `p` reaches one, or by draws from `rng`.
    #[inline]
    fn happens(&mut self, p: f64, rng: Option<&mut Stream>) -> bool {
        if p <= 0.0 {
            return false;
        }
        if let Some(rng) = rng {
            return rng.uniform() < p;
        }
        self.sum += p;
        let yes = self.sum >= 1.0;
        if yes {
            self.sum -= 1.0;
        }
        yes
    }
}

/// One of the two queues.
#[derive(Clone, Debug, Default)]
struct Lane {
    fifo: Ring<Parcel>,
    bytes: u64,
    /// The chance to be marked (or dropped in its stead).
    mark: Chance,
}

impl Lane {
    fn pop(&mut self) -> Option<Parcel> {
        let parcel = self.fifo.pop()?;
        self.bytes -= u64::from(parcel.len);
        Some(parcel)
    }

    /// How long its head has waited, s.
    fn delay(&self, at: Time) -> f64 {
        self.fifo.front().map_or(0.0, |head| at.since(head.arrived).as_secs_f64())
    }
}

/// Two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    base: Base,
    ramp: Ramp,
    scheduler: Scheduler,
    limits: Limits,
    floor_bytes: u64,
    update: Span,
    /// When the base probability is updated next.
    next: Time,
    low: Lane,
    classic: Lane,
    /// The packet that left last was in the low-latency queue.
    left_low: bool,
    /// The chance of the low-latency queue to drop at overload.
    drop: Chance,
    /// Weighted round robin: bytes the classic queue is behind its share.
    owed: f64,
    rng: Stream,
    random: bool,
}

impl DualPi2 {
    /// An empty queue.
    ///
    /// # Errors
    /// Parameters that contradict each other.
    pub fn new(p: &Params, site: Site) -> Result<DualPi2, ParamError> {
        let (from, to) = match p.text("native") {
            "step" => (p.duration("step"), p.duration("step") + Span(1)),
            _ => (p.duration("ramp_from"), p.duration("ramp_to")),
        };
        if from >= to {
            let problem = "must be shorter than 'ramp_to'; native = \"step\" marks from one delay on".to_owned();
            return Err(ParamError::Conflict { name: "ramp_from".to_owned(), problem });
        }
        let target = p.duration("target").as_secs_f64();
        Ok(DualPi2 {
            base: Base {
                target,
                alpha: p.float("alpha"),
                beta: p.float("beta"),
                k: p.float("k"),
                overload: match p.text("overload") {
                    "overflow" => Overload::Overflow,
                    "cap" => Overload::Cap,
                    _ => Overload::Drop,
                },
                p: 0.0,
                old: 0.0,
                classic: 0.0,
                coupled: 0.0,
            },
            ramp: Ramp { from, to, floor: p.int("native_floor") },
            scheduler: match p.text("scheduler") {
                "wrr" => Scheduler::Weighted(p.float("classic_weight")),
                _ => Scheduler::Shifted(Span::from_secs_f64(target * p.float("shift"))),
            },
            limits: site.limits,
            floor_bytes: p.int("floor") * u64::from(site.packet),
            update: p.duration("update"),
            next: Time::ZERO + p.duration("update"),
            low: Lane::default(),
            classic: Lane::default(),
            left_low: false,
            drop: Chance::default(),
            owed: 0.0,
            rng: site.rng,
            random: p.text("decision") == "random",
        })
    }

    /// Does the updates that were due until `now`, each with the delays as they were then.
    fn catch_up(&mut self, now: Time) {
        while self.next <= now {
            let delay = self.low.delay(self.next).max(self.classic.delay(self.next));
            self.base.update(delay);
            self.next += self.update;
            if self.base.p == 0.0 && delay == 0.0 && self.low.fifo.is_empty() && self.classic.fifo.is_empty() {
                // Idle: until something arrives, further updates change nothing.
                if self.next <= now {
                    self.next += self.update * (now.since(self.next).0 / self.update.0 + 1);
                }
            }
        }
    }

    /// Whether the low-latency queue goes next, and what the classic one is owed then; none when both are empty.
    fn low_goes(&self, now: Time) -> Option<(bool, f64)> {
        let (low, classic) = match (self.low.fifo.front(), self.classic.fifo.front()) {
            (None, None) => return None,
            (Some(_), None) => return Some((true, 0.0)),
            (None, Some(_)) => return Some((false, 0.0)),
            (Some(low), Some(classic)) => (low, classic),
        };
        Some(match self.scheduler {
            Scheduler::Shifted(shift) => (now.since(low.arrived) + shift >= now.since(classic.arrived), 0.0),
            Scheduler::Weighted(weight) if self.owed <= 0.0 => (true, weight * f64::from(low.len)),
            Scheduler::Weighted(weight) => (false, (weight - 1.0) * f64::from(classic.len)),
        })
    }

    /// Marks a packet that leaves the low-latency queue after `waited`, or says that it is to be dropped.
    fn leave_low(&mut self, now: Time, parcel: &mut Parcel, small: bool, sink: &mut dyn Sink) -> bool {
        let mut rng = self.random.then_some(&mut self.rng);
        if self.base.overloaded() && !small {
            if self.drop.happens(self.base.classic, rng.as_deref_mut()) {
                return true;
            }
            mark(now, parcel, Reason::Early, sink);
            return false;
        }
        let native = self.ramp.probability(now.since(parcel.arrived), self.low.fifo.len() as u64 + 1);
        let coupled = if small { 0.0 } else { self.base.coupled };
        if self.low.mark.happens(native.max(coupled), rng) {
            mark(now, parcel, if native > coupled { Reason::Delay } else { Reason::Early }, sink);
        }
        false
    }

    /// Marks a packet that leaves the classic queue, or says that it is to be dropped.
    fn leave_classic(&mut self, now: Time, parcel: &mut Parcel, small: bool, sink: &mut dyn Sink) -> bool {
        let rng = self.random.then_some(&mut self.rng);
        if small || !self.classic.mark.happens(self.base.classic, rng) {
            return false;
        }
        // Overload switches marking off.
        self.base.overloaded() || !mark(now, parcel, Reason::Early, sink)
    }
}

impl Queue for DualPi2 {
    fn enqueue(&mut self, now: Time, parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        self.catch_up(now);
        if !self.limits.admit(self.backlog(), in_service, parcel.len) {
            return sink.dropped(now, parcel, Reason::Full);
        }
        let lane = if matches!(parcel.ecn, Ecn::Ect1 | Ecn::Ce) { &mut self.low } else { &mut self.classic };
        lane.bytes += u64::from(parcel.len);
        lane.fifo.push(parcel);
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn Sink) -> Option<Parcel> {
        self.catch_up(now);
        loop {
            let (low_goes, owed) = self.low_goes(now)?;
            let lane = if low_goes { &mut self.low } else { &mut self.classic };
            let mut parcel = lane.pop()?;
            let small = self.low.bytes + self.classic.bytes < self.floor_bytes;
            let dropped = if low_goes {
                self.leave_low(now, &mut parcel, small, sink)
            } else {
                self.leave_classic(now, &mut parcel, small, sink)
            };
            if !dropped {
                self.owed += owed;
                self.left_low = low_goes;
                return Some(parcel);
            }
            sink.dropped(now, parcel, Reason::Early);
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: (self.low.fifo.len() + self.classic.fifo.len()) as u64,
            bytes: self.low.bytes + self.classic.bytes,
        }
    }

    fn low_latency(&self) -> Option<bool> {
        Some(self.left_low)
    }
}

#[cfg(test)]
#[path = "dualpi2_rfc_tests.rs"]
mod rfc_tests;
#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;
