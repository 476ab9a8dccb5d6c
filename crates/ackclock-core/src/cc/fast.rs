//! FAST TCP (Jin, Wei and Low, FAST TCP: Motivation, Architecture, Algorithms, Performance, INFOCOM 2004).
//!
//! The window goes to where a fixed number of the flow's packets wait in queues. This file has the parameters, the law
//! and the paper's form; [`super::FastNs2`] is the form of the ns-2 module.
//!
//! Known deviations: the paper's pacing of bursts within a round-trip time is left to the acknowledgments.

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, Cx, FastNs2, Needs, Phase, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::slowstart::SlowStart;
use crate::time::{Span, Time};

/// Parameters of `fast`, both variants.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "ns2"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper: an update every other round-trip time, spread over one; ns2: the module for ns-2 (Cui and Andrew 2005), \
              an update every 10 ms and no slow start of its own. Profile ns2: ns2",
    },
    ParamSpec {
        name: "alpha",
        kind: Kind::Segments,
        default: Default::Int(0),
        range: Some((0.0, 1e6)),
        doc: "packets of the flow that wait in queues; 0 is the variant's own: 200 (paper), 100 (ns2)",
    },
    ParamSpec {
        name: "beta",
        kind: Kind::Segments,
        default: Default::Int(0),
        range: Some((0.0, 1e6)),
        doc: "packets in queues above which ns2 shrinks the window, which it keeps between alpha and this; 0 is alpha",
    },
    ParamSpec {
        name: "alpha_tuning",
        kind: Kind::Bool,
        default: Default::Bool(false),
        range: None,
        doc: "alpha follows the rate: 8 packets below 11 Mbit/s, 20 up to 110 Mbit/s, 200 above",
    },
    ParamSpec {
        name: "gamma",
        kind: Kind::Float,
        default: Default::Float(0.5),
        range: Some((0.001, 1.0)),
        doc: "weight of the new target in an update",
    },
    ParamSpec {
        name: "rtt_weight",
        kind: Kind::Float,
        default: Default::Float(0.0),
        range: Some((0.0, 1.0)),
        doc: "largest weight of a sample in the mean RTT, which is min(3/w, this); 0 is the variant's own: 1/4 (paper), 1/256 (ns2)",
    },
    ParamSpec {
        name: "mi_threshold",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_micros(750)),
        range: Some((0.0, 10.0)),
        doc: "queueing delay below which the window grows exponentially: in slow start (paper), by a segment per acknowledgment (ns2)",
    },
    ParamSpec {
        name: "update_interval",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_millis(10)),
        range: Some((0.0, 10.0)),
        doc: "time between updates of ns2 (fast_update_cwnd_interval_)",
    },
    ParamSpec {
        name: "pacing_rtt",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_millis(4)),
        range: Some((0.0, 10.0)),
        doc: "ns2 spreads an increase over acknowledgments when the smallest RTT is at least this",
    },
    BASE,
];

pub(super) const ENTRY: Controller = Controller {
    name: "fast",
    family: "loss and delay",
    source: "Jin, Wei and Low 2004",
    summary: "keeps alpha of its packets in queues; half on loss",
    differences: "Linux and ns-3 have no FAST; the ns-2 module updates every 10 ms and averages the RTT more (variant ns2)",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "ns2" => Box::new(FastNs2::new(p)),
        _ => Box::new(Fast::new(p)),
    }),
};

/// What both forms share: the constants and the round-trip times.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    alpha: f64,
    tuned: bool,
    pub gamma: f64,
    weight: f64,
    pub mi_threshold: f64,
    pub base: Base,
    /// Smallest and mean round-trip time, seconds; the mean is zero before the first sample.
    pub base_rtt: f64,
    pub mean_rtt: f64,
}

impl Estimate {
    /// From the parameters, with the variant's own alpha and weight.
    pub fn new(p: &Params, alpha: f64, weight: f64) -> Estimate {
        let or = |x: f64, own: f64| if x > 0.0 { x } else { own };
        Estimate {
            alpha: or(p.float("alpha"), alpha),
            tuned: p.bool("alpha_tuning"),
            gamma: p.float("gamma"),
            weight: or(p.float("rtt_weight"), weight),
            mi_threshold: p.duration("mi_threshold").as_secs_f64(),
            base: Base::new(p),
            base_rtt: f64::INFINITY,
            mean_rtt: 0.0,
        }
    }

    /// Takes an RTT sample of a flow with window `w`: its weight is η = min(3/w, the largest).
    #[inline]
    pub fn sample(&mut self, rtt: Span, w: f64) {
        let rtt = rtt.as_secs_f64().max(1e-9);
        self.base_rtt = self.base_rtt.min(rtt);
        if self.mean_rtt == 0.0 {
            self.mean_rtt = rtt;
        } else {
            self.mean_rtt += (3.0 / w.max(1.0)).min(self.weight) * (rtt - self.mean_rtt);
        }
    }

    /// Mean queueing delay, seconds; zero before the first sample.
    #[inline]
    pub fn queueing(&self) -> f64 {
        (self.mean_rtt - self.base_rtt).max(0.0)
    }

    /// baseRTT/RTT; 1 before the first sample.
    #[inline]
    pub fn ratio(&self) -> f64 {
        if self.mean_rtt > self.base_rtt { self.base_rtt / self.mean_rtt } else { 1.0 }
    }

    /// α for a flow with window `w`.
    pub fn alpha(&self, cx: &Cx<'_>, w: f64) -> f64 {
        if !self.tuned || self.mean_rtt == 0.0 {
            return self.alpha;
        }
        match w * f64::from(cx.mss) * 8.0 / self.mean_rtt {
            rate if rate < 11e6 => 8.0,
            rate if rate <= 110e6 => 20.0,
            _ => 200.0,
        }
    }
}

/// The window law: (1 - γ) w + γ (ratio w_old + α), with ratio = baseRTT/RTT and w_old the window one round-trip time
/// ago. The paper bounds it by 2w.
pub(super) fn target(w: f64, w_old: f64, ratio: f64, alpha: f64, gamma: f64) -> f64 {
    (1.0 - gamma) * w + gamma * (ratio * w_old + alpha)
}

/// The paper's form: the window changes during one round-trip time and is left alone during the next.
#[derive(Clone, Debug)]
pub struct Fast {
    e: Estimate,
    /// The round of the next update; `None`: the one after the present.
    next: Option<u64>,
    /// Segments still to be added, and how many for each segment acknowledged.
    rest: f64,
    step: f64,
    /// When the last reduction was taken back.
    undone: Time,
}

impl Fast {
    /// From its parameters.
    pub fn new(p: &Params) -> Fast {
        Fast { e: Estimate::new(p, 200.0, 0.25), next: Some(0), rest: 0.0, step: 0.0, undone: Time::NEVER }
    }
}

impl Avoidance for Fast {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    #[inline]
    fn observe(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.e.sample(rtt, w.cwnd);
        }
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        // A threshold is not lowered by the acknowledgment that has restored it.
        let may_end = w.cwnd >= 2.0 && cx.now != self.undone;
        if may_end && self.e.queueing() >= self.e.mi_threshold.max(1e-9) {
            w.ssthresh = w.cwnd;
            return acked;
        }
        opening.on_ack(cx, ack, w, acked)
    }

    fn undo(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.undone = cx.now;
    }

    /// A decrease does not wait for a full window.
    fn validates_itself(&self) -> bool {
        true
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        let next = *self.next.get_or_insert(ack.round + 1);
        if ack.round >= next {
            // w_old is w: the window did not move since the update before the last.
            let to = target(w.cwnd, w.cwnd, self.e.ratio(), self.e.alpha(cx, w.cwnd), self.e.gamma);
            let to = to.min(2.0 * w.cwnd);
            self.next = Some(ack.round + 2);
            self.rest = (to - w.cwnd).max(0.0);
            self.step = self.rest / w.cwnd;
            w.cwnd = w.cwnd.min(to.max(2.0));
        }
        if self.rest > 0.0 && ack.window_limited {
            let step = (self.step * acked).min(self.rest);
            w.cwnd += step;
            self.rest -= step;
        }
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        (self.next, self.rest) = (None, 0.0);
        self.e.base.window(cx, signal, w) / 2.0
    }

    fn recovered(&mut self, _cx: &Cx<'_>, _w: &mut Window) {
        (self.next, self.rest) = (None, 0.0);
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Loss {
            self.e.mean_rtt = 0.0;
        }
    }

    fn resume(&mut self, _cx: &Cx<'_>, _idle: Span) {
        (self.next, self.rest, self.e.mean_rtt) = (None, 0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::params::Value;

    #[test]
    fn vectors_of_the_law() {
        // w, baseRTT, RTT, α and the next window for γ = 1/2 and w_old = w.
        let table = [
            (100.0, 0.1, 0.1, 200.0, 200.0),
            (50.0, 0.1, 0.1, 200.0, 100.0),
            (1000.0, 0.1, 0.1, 200.0, 1100.0),
            (1000.0, 0.1, 0.12, 200.0, 1016.667),
            (1200.0, 0.1, 0.12, 200.0, 1200.0),
            (2000.0, 0.1, 0.11, 100.0, 1959.091),
        ];
        for (w, base, rtt, alpha, next) in table {
            let got = target(w, w, base / rtt, alpha, 0.5).min(2.0 * w);
            assert!((got - next).abs() < 5e-4, "{w}: {got}");
        }
    }

    fn fast(given: &[(&str, Value)]) -> Fast {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        Fast::new(&Params::new(PARAMS, &given).unwrap())
    }

    #[test]
    fn an_update_is_spread_over_one_round_and_the_next_is_left_alone() {
        let mut law = fast(&[]);
        let mut w = Window { cwnd: 1000.0, ssthresh: 500.0 };
        law.e.base_rtt = 0.1;
        law.e.mean_rtt = 0.12;
        testing::with_cx(1000, |cx| {
            let round = |law: &mut Fast, w: &mut Window, round: u64| {
                for _ in 0..1000 {
                    law.grow(cx, &Ack { round, ..testing::ack(1.0) }, w, 1.0);
                }
                w.cwnd
            };
            assert!((round(&mut law, &mut w, 4) - 1016.667).abs() < 1e-3);
            assert!((round(&mut law, &mut w, 5) - 1016.667).abs() < 1e-3);
            // A shrinking window is in force at once: 1016.667 (0.5 + 0.5 / 2) + 100 = 862.5.
            law.e.mean_rtt = 0.2;
            law.grow(cx, &Ack { round: 6, ..testing::ack(1.0) }, &mut w, 1.0);
            assert!((w.cwnd - 862.5).abs() < 1e-3);
        });
    }

    #[test]
    fn the_mean_rtt_weighs_three_samples_of_a_window() {
        let mut e = fast(&[]).e;
        e.sample(Span::from_millis(100), 60.0);
        e.sample(Span::from_millis(120), 60.0);
        assert!((e.mean_rtt - 0.101).abs() < 1e-12, "η = 3/60");
        e.sample(Span::from_millis(141), 4.0);
        assert!((e.mean_rtt - 0.111).abs() < 1e-12, "η = 1/4");
        assert!((e.queueing() - 0.011).abs() < 1e-12);
    }

    #[test]
    fn alpha_by_rate() {
        let mut e = fast(&[("alpha_tuning", Value::Bool(true))]).e;
        e.mean_rtt = 0.1;
        // 1000-byte segments per 100 ms: 100 are 8 Mbit/s, 1000 are 80, 2000 are 160.
        testing::with_cx(1000, |cx| {
            assert_eq!([100.0, 1000.0, 2000.0].map(|w| e.alpha(cx, w)), [8.0, 20.0, 200.0]);
        });
    }

    #[test]
    fn slow_start_ends_when_the_queue_grows() {
        let mut law = fast(&[]);
        let mut opening = crate::slowstart::build("standard", &[]).unwrap();
        testing::with_cx(1000, |cx| {
            let mut w = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
            law.e.sample(Span::from_millis(100), 20.0);
            assert_eq!(law.slow_start(cx, &testing::ack(1.0), &mut w, 1.0, opening.as_mut()), 0.0);
            assert_eq!((w.cwnd, w.in_slow_start()), (21.0, true));
            law.e.sample(Span::from_millis(110), 20.0);
            assert_eq!(law.slow_start(cx, &testing::ack(1.0), &mut w, 1.0, opening.as_mut()), 1.0);
            assert_eq!((w.cwnd, w.in_slow_start()), (21.0, false));
        });
    }
}
