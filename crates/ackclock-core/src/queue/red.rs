//! RED, random early detection: drops or marks with a probability that grows with the average queue.
//!
//! S. Floyd and V. Jacobson, Random early detection gateways for congestion avoidance, IEEE/ACM Transactions on
//! Networking 1 (4), 1993; S. Floyd, Recommendation on using the "gentle" variant of RED, 2000; S. Floyd,
//! R. Gummadi and S. Shenker, Adaptive RED, 2001; marking RFC 3168 §7. The forms of ns-2 and ns-3 are presets.
//!
//! Deviations: adaptive RED's timer starts with the first arrival, and its steps use the average of the last arrival,
//! as in the paper; ns-2 and ns-3 step at arrivals only and keep the first `max_p` in the gentle branch.

mod law;
#[cfg(test)]
mod peer_tests;
mod settings;
#[cfg(test)]
mod tests;

use super::registry::{Discipline, Site};
use super::{Backlog, Limits, Queue, Reason, Sink, mark};
use crate::math::{exp, ln, powu};
use crate::packet::Parcel;
use crate::params::{ParamError, Params};
use crate::ring::Ring;
use crate::rng::Stream;
use crate::time::Time;
use law::{Curve, spread};
use settings::Settings;

/// The entry of the registry.
pub(super) const ENTRY: Discipline = Discipline {
    name: "red",
    source: "Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001",
    summary: "drops or marks early, with a probability that grows with the average queue",
    params: settings::PARAMS,
    default_limit: Some(50),
    build: |p, site| Ok(Box::new(Red::new(p, site)?)),
};

/// What becomes of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Pass,
    Drop(Reason),
    Mark,
}

/// A queue with random early detection.
#[derive(Clone, Debug)]
struct Red {
    limits: Limits,
    s: Settings,
    curve: Curve,
    rng: Stream,
    fifo: Ring<Parcel>,
    bytes: u64,
    avg: f64,
    max_p: f64,
    /// Packets since the last drop or mark, this one included.
    count: u64,
    /// The same in bytes.
    count_bytes: u64,
    /// Whether the arrival before was exposed to a drop.
    exposed: bool,
    /// Since when the link has had nothing to send; [`Time::NEVER`] while it has.
    idle_since: Time,
    /// Adaptive RED's next step; [`Time::NEVER`] until traffic starts it.
    next_step: Time,
    per_mean: f64,
    ln_keep: f64,
}

impl Red {
    fn new(p: &Params, site: Site) -> Result<Red, ParamError> {
        let s = Settings::new(p, &site)?;
        Ok(Red {
            limits: site.limits,
            curve: Curve::new(&s),
            rng: site.rng,
            fifo: Ring::default(),
            bytes: 0,
            avg: 0.0,
            max_p: s.max_p,
            count: 0,
            count_bytes: 0,
            exposed: false,
            idle_since: Time::ZERO,
            next_step: Time::NEVER,
            per_mean: 1.0 / f64::from(s.mean_packet),
            ln_keep: ln(1.0 - s.weight),
            s,
        })
    }

    /// The average after an arrival that finds `q`.
    #[inline]
    fn average(&mut self, now: Time, q: f64) {
        let w = self.s.weight;
        if self.idle_since.is_set() {
            self.age(now);
            if self.s.floyd {
                // Only a queue that is not empty is averaged (1993, fig. 2).
                return;
            }
        }
        self.avg += w * (q - self.avg);
    }

    /// The link was idle: the average goes down as if mean packets had passed an empty queue meanwhile.
    fn age(&mut self, now: Time) {
        let idle = now.since(self.idle_since).0;
        self.idle_since = Time::NEVER;
        if self.avg <= 0.0 || idle == 0 {
            return;
        }
        // Bits that idle time had room for, times 1e9, and those of a mean packet.
        let (room, packet) = (u128::from(idle) * u128::from(self.s.rate_bps), f64::from(self.s.mean_packet) * 8e9);
        self.avg *= if self.s.floyd {
            exp(room as f64 / packet * self.ln_keep)
        } else {
            powu(1.0 - self.s.weight, (room / packet as u128) as u64)
        };
    }

    /// The steps of `max_p` that were due until `now`, each with the average as it was then: that of the last arrival.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        let Some(a) = self.s.adaptation else { return };
        if !self.next_step.is_set() {
            self.next_step = now + a.interval;
            return;
        }
        if now < self.next_step {
            return;
        }
        let (low, high) = self.curve.target();
        while self.next_step <= now {
            let before = self.max_p;
            if self.avg > high && before <= a.top {
                self.max_p = (before + a.alpha.min(before / 4.0)).min(1.0);
            } else if self.avg < low && before >= a.bottom {
                self.max_p = before * a.beta;
            }
            if self.max_p == before {
                // Nor will the remaining steps change it.
                let missed = now.since(self.next_step).0 / a.interval.0;
                self.next_step += a.interval * missed;
            }
            self.next_step += a.interval;
        }
    }

    /// Decides on an arrival of `len` bytes that finds `q`, the average being up to date.
    #[inline]
    fn decide(&mut self, len: u32, q: f64) -> Verdict {
        self.count += 1;
        self.count_bytes += u64::from(len);
        // ns-2 lets pass what finds at most one packet (in byte mode: byte).
        if self.curve.below(self.avg) || !(self.s.floyd || q > 1.0) {
            self.exposed = false;
            return Verdict::Pass;
        }
        if self.curve.beyond(self.avg) {
            self.restart();
            self.exposed |= self.s.floyd;
            return Verdict::Drop(Reason::Threshold);
        }
        if !self.exposed {
            self.exposed = true;
            if self.s.floyd {
                self.restart();
            } else {
                (self.count, self.count_bytes) = (1, u64::from(len));
                return Verdict::Pass;
            }
        }
        let pb = self.curve.probability(self.avg, self.max_p);
        let pa = self.chance(pb, len);
        if pa <= 0.0 || (pa < 1.0 && self.rng.uniform() >= pa) {
            return Verdict::Pass;
        }
        self.restart();
        if self.s.ecn && pb <= self.s.mark_p { Verdict::Mark } else { Verdict::Drop(Reason::Early) }
    }

    /// Nothing has passed since the last drop.
    fn restart(&mut self) {
        (self.count, self.count_bytes) = (0, 0);
    }

    /// `p_a` for a packet of `len` bytes.
    #[inline]
    fn chance(&self, pb: f64, len: u32) -> f64 {
        let (wait, size) = (self.s.wait, f64::from(len) * self.per_mean);
        match (self.s.bytes, self.s.floyd) {
            (false, _) => spread(pb, self.count as f64, wait),
            // The size weighs before the spreading (1993, §7), or after it, which then goes by mean packets (ns-2).
            (true, true) => spread((pb * size).min(1.0), self.count as f64, wait),
            (true, false) => {
                let passed = self.count_bytes / u64::from(self.s.mean_packet);
                match spread(pb, passed as f64, wait) {
                    pa if pa < 1.0 => (pa * size).min(1.0),
                    _ => 1.0,
                }
            }
        }
    }
}

impl Queue for Red {
    fn enqueue(&mut self, now: Time, mut parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        self.catch_up(now);
        let waiting = self.backlog();
        let queue = self.limits.counted(waiting, in_service);
        let q = if self.s.bytes { queue.bytes } else { queue.packets } as f64;
        let idle = self.idle_since.is_set();
        self.average(now, q);
        let reason = match self.decide(parcel.len, q) {
            _ if !self.limits.admit(waiting, in_service, parcel.len) => {
                self.restart();
                Some(Reason::Full)
            }
            Verdict::Drop(reason) => Some(reason),
            // What does not understand ECN is dropped.
            Verdict::Mark if !mark(now, &mut parcel, Reason::Early, sink) => Some(Reason::Early),
            _ => None,
        };
        if let Some(reason) = reason {
            if idle {
                self.idle_since = now;
            }
            return sink.dropped(now, parcel, reason);
        }
        self.bytes += u64::from(parcel.len);
        self.fifo.push(parcel);
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn Sink) -> Option<Parcel> {
        let Some(parcel) = self.fifo.pop() else {
            if !self.idle_since.is_set() {
                self.idle_since = now;
            }
            return None;
        };
        self.bytes -= u64::from(parcel.len);
        Some(parcel)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len() as u64, bytes: self.bytes }
    }
}
