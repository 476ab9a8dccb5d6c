//! H-TCP (D. Leith, R. Shorten, PFLDnet 2004): growth that rises with the time since the last congestion, cuts that
//! empty the queue.
//!
//! Known deviations: none from the definition, which leaves open how throughput is measured; here as Linux does. The
//! form of Linux is [`super::HtcpInteger`].

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, Cx, HtcpInteger, Needs, Phase, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::time::{Span, Time};

/// Parameters of `htcp`, both variants.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux (integer arithmetic of Linux 6.12: clock ticks, whole segments, growth scaled with the RTT, \
              a maximum RTT that fades, one careful cut after each change of throughput). Profile linux: linux",
    },
    BASE,
    ParamSpec {
        name: "delta_l",
        kind: Kind::Duration,
        default: Default::Duration(Span(1_000_000_000)),
        range: Some((0.0, 1e3)),
        doc: "Delta_L: so long after congestion growth is Reno's",
    },
    ParamSpec {
        name: "beta_min",
        kind: Kind::Float,
        default: Default::Float(0.5),
        range: Some((0.1, 0.9)),
        doc: "least kept fraction of the window, also after a change of throughput",
    },
    ParamSpec {
        name: "beta_max",
        kind: Kind::Float,
        default: Default::Float(0.8),
        range: Some((0.1, 0.99)),
        doc: "largest kept fraction; linux rounds to 102/128",
    },
    ParamSpec {
        name: "bandwidth_switch",
        kind: Kind::Bool,
        default: Default::Bool(true),
        range: None,
        doc: "cut to beta_min when throughput has changed by more than a fifth since the congestion before",
    },
    ParamSpec {
        name: "rtt_scaling",
        kind: Kind::Choice(&["auto", "on", "off"]),
        default: Default::Text("auto"),
        range: None,
        doc: "growth times minimum RTT / 100 ms, from 0.1 to 2, so that flows of different RTT share; auto is off in \
              variant paper and on in linux",
    },
    ParamSpec {
        name: "hz",
        kind: Kind::Count,
        default: Default::Int(1000),
        range: Some((1.0, 1e6)),
        doc: "clock ticks per second of the linux variant",
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "htcp",
    family: "loss",
    source: "Leith and Shorten 2004",
    summary: "growth by the time since the last congestion; cut by the ratio of smallest to largest RTT",
    differences: "Linux scales growth with the RTT, computes growth when the window moves only, keeps half for one more \
        congestion after throughput has changed and lets the largest RTT fade; ns-3 leaves beta unbounded, compares \
        throughput by a division of integers and has no RTT scaling",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "linux" => Box::new(HtcpInteger::new(p)),
        _ => Box::new(Htcp::new(p)),
    }),
};

/// Most by which one sample may raise the largest RTT.
const RISE: Span = Span::from_millis(20);

/// What an unfounded reduction restores.
#[derive(Clone, Copy, Debug)]
struct Before {
    congestion_end: Time,
    rtt_max: Span,
    previous: f64,
}

/// The law of the paper.
#[derive(Clone, Debug)]
pub struct Htcp {
    base: Base,
    delta_l: f64,
    beta_min: f64,
    beta_max: f64,
    bandwidth_switch: bool,
    rtt_scaling: bool,
    beta: f64,
    /// Growth per round-trip time, segments, as of `updated`.
    alpha: f64,
    updated: Option<Time>,
    /// When the last congestion ended, later by all the time since then in which nothing was in flight.
    congestion_end: Time,
    /// Of the last acknowledgment.
    heard: Time,
    rtt_min: Span,
    rtt_max: Span,
    /// Throughput: bytes since `measured_since`, the average, its maximum since the last congestion, that before it.
    bytes: u64,
    measured_since: Time,
    smoothed: f64,
    maximum: f64,
    previous: f64,
    before: Option<Before>,
}

impl Htcp {
    /// From its parameters.
    pub fn new(p: &Params) -> Htcp {
        let beta_min = p.float("beta_min");
        Htcp {
            base: Base::new(p),
            delta_l: p.duration("delta_l").as_secs_f64(),
            beta_min,
            beta_max: p.float("beta_max").max(beta_min),
            bandwidth_switch: p.bool("bandwidth_switch"),
            rtt_scaling: p.text("rtt_scaling") == "on",
            beta: beta_min,
            alpha: 1.0,
            updated: None,
            congestion_end: Time::ZERO,
            heard: Time::ZERO,
            rtt_min: Span::ZERO,
            rtt_max: Span::ZERO,
            bytes: 0,
            measured_since: Time::ZERO,
            smoothed: 0.0,
            maximum: 0.0,
            previous: 0.0,
            before: None,
        }
    }

    /// Growth per round-trip time when the network halves the window, `delta` seconds after congestion.
    fn alpha0(&self, delta: f64) -> f64 {
        let beyond = delta - self.delta_l;
        if beyond <= 0.0 {
            return 1.0;
        }
        1.0 + 10.0 * beyond + beyond * beyond / 4.0
    }

    /// What `rtt_scaling` multiplies growth with.
    fn scale(&self) -> f64 {
        if !self.rtt_scaling || self.rtt_min == Span::ZERO {
            return 1.0;
        }
        (self.rtt_min.as_secs_f64() / 0.1).clamp(0.1, 2.0)
    }

    fn update_alpha(&mut self, now: Time) {
        self.updated = Some(now);
        let alpha0 = self.alpha0(now.since(self.congestion_end).as_secs_f64());
        // Scaling must not take growth below Reno's.
        self.alpha = 2.0 * (1.0 - self.beta) * (alpha0 * self.scale()).max(1.0);
    }

    /// beta of the congestion that begins now.
    fn update_beta(&mut self) {
        let changed = (self.maximum - self.previous).abs() > 0.2 * self.previous;
        self.previous = self.maximum;
        self.beta = if (self.bandwidth_switch && changed) || self.rtt_max == Span::ZERO {
            self.beta_min
        } else {
            let ratio = self.rtt_min.as_secs_f64() / self.rtt_max.as_secs_f64();
            ratio.clamp(self.beta_min, self.beta_max)
        };
    }

    fn measure_throughput(&mut self, cx: &Cx<'_>, acked: u64, w: &Window) {
        if !matches!(cx.phase, Phase::Open | Phase::Disorder) {
            self.bytes = 0;
            self.measured_since = cx.now;
            return;
        }
        self.bytes += acked;
        let elapsed = cx.now.since(self.measured_since);
        let window = w.cwnd * f64::from(cx.mss);
        if (self.bytes as f64) < window || elapsed < self.rtt_min || elapsed == Span::ZERO {
            return;
        }
        let rate = self.bytes as f64 / elapsed.as_secs_f64();
        if cx.now.since(self.congestion_end).0 <= 3 * self.rtt_min.0 {
            // Just after the reduction: begin anew.
            self.smoothed = rate;
            self.maximum = rate;
        } else {
            self.smoothed = (3.0 * self.smoothed + rate) / 4.0;
            self.maximum = self.maximum.max(self.smoothed);
        }
        self.bytes = 0;
        self.measured_since = cx.now;
    }
}

impl Avoidance for Htcp {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    fn start(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.congestion_end = cx.now;
        self.measured_since = cx.now;
        self.heard = cx.now;
    }

    fn transmit_start(&mut self, cx: &Cx<'_>, _idle: Span) {
        // The paper's sources always have data. Delta is how long the path has carried more without congestion: time in
        // which nothing was in flight says nothing of it.
        self.congestion_end = (self.congestion_end + cx.now.since(self.heard)).min(cx.now);
        self.heard = cx.now;
        self.updated = None;
    }

    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window) {
        self.heard = cx.now;
        if let Some(rtt) = ack.rtt {
            if self.rtt_min == Span::ZERO || rtt < self.rtt_min {
                self.rtt_min = rtt;
            }
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if cx.phase == Phase::Open && rtt > self.rtt_max && rtt <= self.rtt_max + RISE {
                self.rtt_max = rtt;
            }
        }
        self.measure_throughput(cx, ack.acked, w);
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        // A thousandth of a second changes alpha by less than 2 %.
        if self.updated.is_none_or(|t| cx.now.since(t).0 >= 1_000_000) {
            self.update_alpha(cx.now);
        }
        w.cwnd += self.alpha * acked / w.cwnd;
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        let (rtt_max, previous) = (self.rtt_max, self.previous);
        self.before = Some(Before { congestion_end: self.congestion_end, rtt_max, previous });
        self.update_beta();
        self.congestion_end = cx.now;
        self.updated = None;
        self.beta * self.base.window(cx, signal, w)
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        // The congestion that was repaired has ended.
        if cx.phase == Phase::Open && self.before.take().is_some() {
            self.congestion_end = cx.now;
            self.updated = None;
        }
    }

    fn undo(&mut self, _cx: &Cx<'_>, _w: &mut Window) {
        if let Some(before) = self.before.take() {
            self.congestion_end = before.congestion_end;
            self.rtt_max = before.rtt_max;
            self.previous = before.previous;
            self.updated = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn htcp(given: &[(&str, &str)]) -> Htcp {
        let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), Value::Text((*v).to_owned()))).collect();
        Htcp::new(&Params::new(PARAMS, &given).unwrap())
    }

    fn millis(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn growth_vectors() {
        let mut h = htcp(&[]);
        let vectors =
            [(0.5, 1.0), (1.0, 1.0), (1.5, 6.0625), (2.0, 11.25), (5.0, 45.0), (10.0, 111.25), (20.0, 281.25)];
        for (delta, alpha0) in vectors {
            assert_eq!(h.alpha0(delta), alpha0, "{delta}");
        }
        for (beta, alpha) in [(0.5, 11.25), (0.65, 7.875), (0.8, 4.5)] {
            h.beta = beta;
            h.update_alpha(Time(2_000_000_000));
            assert!((h.alpha - alpha).abs() < 1e-9, "{beta}: {}", h.alpha);
        }
    }

    #[test]
    fn reduction_vectors() {
        let mut h = htcp(&[("base", "cwnd")]);
        for (min, max, beta) in [(160, 192, 0.8), (100, 180, 0.5556), (100, 400, 0.5)] {
            (h.rtt_min, h.rtt_max) = (millis(min), millis(max));
            h.update_beta();
            assert!((h.beta - beta).abs() < 1e-4, "{min}/{max}: {}", h.beta);
        }
        // Throughput a quarter above that of the congestion before; then the same again.
        (h.rtt_min, h.rtt_max, h.previous, h.maximum) = (millis(160), millis(192), 1e6, 1.25e6);
        let w = Window { cwnd: 100.0, ssthresh: 2.0 };
        testing::with_cx(1000, |cx| {
            let mut cut = || h.reduce(cx, Signal::Loss { flight: 0 }, &w);
            assert_eq!([cut(), cut()], [50.0, 80.0]);
        });
    }

    #[test]
    fn round_trip_scaling_vectors() {
        let mut h = htcp(&[("rtt_scaling", "on")]);
        for (ms, scale) in [(5, 0.1), (16, 0.16), (40, 0.4), (80, 0.8), (160, 1.6), (320, 2.0)] {
            h.rtt_min = millis(ms);
            assert!((h.scale() - scale).abs() < 1e-9, "{ms}");
        }
        assert_eq!(htcp(&[]).scale(), 1.0);
    }

    #[test]
    fn the_clock_starts_when_congestion_ends_and_an_undo_restores_it() {
        let mut h = htcp(&[]);
        let w = &mut Window { cwnd: 100.0, ssthresh: 2.0 };
        testing::with_cx(1000, |cx| {
            cx.now = Time(5_000_000_000);
            h.reduce(cx, Signal::Loss { flight: 100_000 }, w);
            h.undo(cx, w);
            assert_eq!(h.congestion_end, Time::ZERO);
            h.reduce(cx, Signal::Loss { flight: 100_000 }, w);
            cx.now = Time(5_100_000_000);
            h.phase(cx, w);
            assert_eq!(h.congestion_end, Time(5_100_000_000));
            // A change of phase without a reduction is none of its business.
            cx.now = Time(6_000_000_000);
            h.phase(cx, w);
            assert_eq!(h.congestion_end, Time(5_100_000_000));
        });
    }

    #[test]
    fn throughput_is_the_largest_average() {
        let mut h = htcp(&[]);
        let w = &mut Window { cwnd: 10.0, ssthresh: 2.0 };
        testing::with_cx(1000, |cx| {
            for (ms, acked) in [(100, 10_000), (200, 10_000), (300, 10_000), (400, 20_000), (500, 12_000)] {
                cx.now = Time(ms * 1_000_000);
                h.observe(cx, &Ack { acked, rtt: Some(millis(100)), ..Ack::default() }, w);
            }
            // 1e5 until three RTTs have passed, then (3 * 1e5 + 2e5) / 4, then (3 * 1.25e5 + 1.2e5) / 4.
            assert_eq!((h.smoothed, h.maximum), (123_750.0, 125_000.0));
        });
    }
}
