//! Veno: Reno that asks Vegas whether a loss was congestion (Fu and Liew, *TCP Veno: TCP Enhancement for Transmission
//! Over Wireless Access Networks*, IEEE JSAC 21(2), 2003), and Linux's form of it.
//!
//! Known deviation: none from the window law; the paper leaves the choice of the RTT within a round open, the smallest
//! is taken.

use super::additive::Additive;
use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::vegas::MIN_SAMPLES;
use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::estimator::round_rtt::RoundRtt;
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::slowstart::SlowStart;
use crate::time::Span;

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux: whole segments, N in halves, from the RTTs since the acknowledgment before, and for \
              timeouts too. Profile linux: linux",
    },
    ParamSpec {
        name: "beta",
        kind: Kind::Float,
        default: Default::Float(3.0),
        range: Some((0.0, 1e6)),
        doc: "queued segments from which the network counts as congested",
    },
    ParamSpec {
        name: "random_loss_keep",
        kind: Kind::Float,
        default: Default::Float(0.8),
        range: Some((0.0, 1.0)),
        doc: "kept fraction of the window after a loss without congestion",
    },
    ParamSpec {
        name: "congestion_keep",
        kind: Kind::Float,
        default: Default::Float(0.5),
        range: Some((0.0, 1.0)),
        doc: "kept fraction of the window after a loss with congestion",
    },
    MIN_SAMPLES,
    BASE,
];

pub(super) const ENTRY: Controller = Controller {
    name: "veno",
    family: "loss and delay",
    source: "Fu and Liew 2003",
    summary: "Reno; keeps more after a loss, and grows faster, while few of its segments queue",
    differences: "Linux judges by the RTTs since the last acknowledgment instead of those of a round, and applies the \
        rule to timeouts; ns-3 compares as the paper does",
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Veno::new(p))),
};

/// Additive increase, halved in congestion; two decrease factors.
#[derive(Clone, Debug)]
pub struct Veno {
    linux: bool,
    base: Base,
    beta: f64,
    random_loss_keep: f64,
    congestion_keep: f64,
    min_samples: u64,
    rounds: RoundRtt,
    /// Linux counts samples since the beginning, in 16 bits.
    samples: u16,
    /// N, the segments queued.
    queued: f64,
    /// Outside [`Phase::Open`] the window grows as Reno's.
    enabled: bool,
    /// Linux, in congestion: the next full window adds a segment.
    turn: bool,
    reno: Additive,
}

impl Veno {
    /// From its parameters.
    pub fn new(p: &Params) -> Veno {
        let linux = p.text("variant") == "linux";
        Veno {
            linux,
            base: Base::new(p),
            beta: p.float("beta"),
            random_loss_keep: p.float("random_loss_keep"),
            congestion_keep: p.float("congestion_keep"),
            min_samples: p.int("min_samples"),
            rounds: RoundRtt::new(),
            samples: 0,
            queued: 0.0,
            enabled: true,
            turn: true,
            reno: Additive::new(linux),
        }
    }

    fn congested(&self) -> bool {
        self.queued >= self.beta
    }

    fn enough_samples(&self) -> bool {
        let samples = if self.linux { u64::from(self.samples) } else { u64::from(self.rounds.count()) };
        samples >= self.min_samples
    }

    /// N from the smallest RTT of the round.
    fn measure(&mut self, cwnd: f64) {
        let (base, rtt) = (self.rounds.base() as f64, self.rounds.min() as f64);
        self.queued = if self.linux {
            // Twice the target is rounded down. Without a sample the RTT counts as endless.
            let doubled = (2.0 * cwnd.floor() * base / rtt).floor();
            (2.0 * cwnd.floor() - if rtt < MAX_US { doubled } else { 0.0 }) / 2.0
        } else {
            cwnd * (rtt - base) / rtt
        };
    }

    fn avoid(&mut self, w: &mut Window, acked: f64) {
        if !self.congested() {
            self.reno.add_reno(w, acked);
        } else if self.linux {
            let count = self.reno.count();
            if *count >= w.cwnd as u64 {
                *count = 0;
                if self.turn {
                    w.cwnd += 1.0;
                }
                self.turn = !self.turn;
            } else {
                *count += acked.round() as u64;
            }
        } else {
            self.reno.add(w, 2.0 * w.cwnd, acked);
        }
    }

    fn on_ack(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: Option<&mut dyn SlowStart>) {
        if self.enabled && !ack.window_limited {
            return;
        }
        let by_rule = self.enabled && self.enough_samples();
        if by_rule && self.linux {
            self.measure(w.cwnd);
        }
        let left = match opening {
            Some(opening) => opening.on_ack(cx, ack, w, acked),
            None => acked,
        };
        if left > 0.0 {
            if !self.enabled || (self.linux && !by_rule) {
                self.reno.add_reno(w, left);
            } else {
                self.avoid(w, left);
            }
        }
        if self.linux {
            if by_rule {
                w.cwnd = w.cwnd.max(2.0);
            }
            if self.enabled {
                self.rounds.begin(ack.nxt);
            }
        } else if self.enabled && self.rounds.over(ack.una) {
            if by_rule {
                self.measure(w.cwnd);
            } else {
                self.queued = 0.0;
            }
            self.rounds.begin(ack.nxt);
        }
    }

    fn enable(&mut self, nxt: u64) {
        self.enabled = true;
        self.rounds.begin(nxt);
    }
}

/// Linux's RTT when there is none, microseconds.
const MAX_US: f64 = 2_147_483_647.0;

impl Avoidance for Veno {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    #[inline]
    fn observe(&mut self, _cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(if self.linux { rtt.0 / 1000 + 1 } else { rtt.0 });
            self.samples = self.samples.wrapping_add(1);
        }
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        self.on_ack(cx, ack, w, acked, Some(opening));
        0.0
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        self.on_ack(cx, ack, w, acked, None);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.reno.reset();
        let now = self.base.window(cx, signal, w);
        let by_rule = self.linux || !matches!(signal, Signal::Timeout { .. });
        let keep = match self.congested() {
            _ if !by_rule => 0.5,
            true => self.congestion_keep,
            false => self.random_loss_keep,
        };
        // 1e-9 hides that 0.8 is no binary fraction.
        if self.linux { (keep * w.cwnd + 1e-9).floor() } else { keep * now }
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Open {
            self.enable(cx.nxt);
        } else {
            self.enabled = false;
        }
        if cx.phase == Phase::Loss {
            self.reno.reset();
        }
    }

    fn resume(&mut self, cx: &Cx<'_>, idle: Span) {
        self.transmit_start(cx, idle);
    }

    fn transmit_start(&mut self, cx: &Cx<'_>, _idle: Span) {
        if self.linux {
            self.rounds.forget();
            self.turn = true;
            self.enable(cx.nxt);
        } else if self.enabled {
            self.enable(cx.nxt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn veno(variant: &str) -> Veno {
        let given: Vec<_> =
            [("variant", variant), ("base", "cwnd")].map(|(n, v)| (n.to_owned(), Value::Text(v.to_owned()))).into();
        Veno::new(&Params::new(PARAMS, &given).unwrap())
    }

    /// A law that saw `rtt` milliseconds in the last round over a base of 100 ms, with window `cwnd`.
    fn measured(variant: &str, cwnd: f64, rtt: u64) -> Veno {
        let mut law = veno(variant);
        law.rounds.sample(100_000);
        law.rounds.begin(0);
        law.rounds.sample(rtt * 1000);
        law.measure(cwnd);
        law
    }

    #[test]
    fn backlog_and_reduction_vectors() {
        for (cwnd, rtt, queued, left) in [(20.0, 110, 1.818, 16.0), (20.0, 125, 4.0, 10.0), (30.0, 110, 2.727, 24.0)] {
            for variant in ["paper", "linux"] {
                // Linux rounds N up to halves: 2.727 is 3 there, which is congestion.
                let left = if variant == "linux" && cwnd == 30.0 { 15.0 } else { left };
                let mut law = measured(variant, cwnd, rtt);
                let rounding = if variant == "linux" { 0.5 } else { 1e-3 };
                assert!((law.queued - queued).abs() < rounding, "{variant} {}", law.queued);
                let w = Window { cwnd, ssthresh: 2.0 };
                let got = testing::with_cx(1000, |cx| law.reduce(cx, Signal::Loss { flight: 0 }, &w));
                assert!((got - left).abs() < 1e-9, "{variant} {got}");
            }
        }
    }

    #[test]
    fn a_timeout_halves() {
        let w = Window { cwnd: 20.0, ssthresh: 2.0 };
        let timeout = Signal::Timeout { flight: 0, repeated: false };
        testing::with_cx(1000, |cx| {
            assert_eq!(measured("paper", 20.0, 110).reduce(cx, timeout, &w), 10.0);
            assert_eq!(measured("linux", 20.0, 110).reduce(cx, timeout, &w), 16.0);
        });
    }

    #[test]
    fn congestion_halves_the_growth() {
        let grown = |variant, rtt, acks: usize| {
            let mut law = measured(variant, 20.0, rtt);
            let mut w = Window { cwnd: 20.0, ssthresh: 2.0 };
            for _ in 0..acks {
                law.avoid(&mut w, 1.0);
            }
            w.cwnd
        };
        assert!((grown("paper", 110, 1) - 20.05).abs() < 1e-9);
        assert!((grown("paper", 125, 1) - 20.025).abs() < 1e-9);
        assert_eq!([grown("linux", 110, 19), grown("linux", 110, 20)], [20.0, 21.0]);
        // A window and the acknowledgment after it, by turns.
        assert_eq!([grown("linux", 125, 20), grown("linux", 125, 21), grown("linux", 125, 43)], [20.0, 21.0, 21.0]);
        assert_eq!(grown("linux", 125, 21 + 22 + 22), 22.0);
    }

    #[test]
    fn without_samples_of_the_round_linux_sees_congestion() {
        let mut law = veno("linux");
        law.rounds.sample(100_000);
        law.rounds.begin(0);
        law.measure(20.0);
        assert!(law.congested());
    }
}
