//! Illinois: growth and reduction follow the mean queueing delay of a round (Liu, Başar, Srikant, *TCP-Illinois: A
//! Loss- and Delay-Based Congestion Control Algorithm for High-Speed Networks*, VALUETOOLS 2006; Performance
//! Evaluation 65, 2008), and Linux's fixed-point form.
//!
//! Known deviation: none known.

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::estimator::round_rtt::RoundRtt;
use crate::params::{Default, Kind, ParamSpec, Params, float};
use crate::slowstart::SlowStart;

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux: whole segments, alpha in 1/128 and beta in 1/64. Profile linux: linux",
    },
    float("alpha_min", 0.3, (0.01, 1.0), "segments of growth per round at the largest delay"),
    float("alpha_max", 10.0, (1.0, 1000.0), "segments of growth per round without delay"),
    float("beta_min", 0.125, (0.0, 1.0), "removed fraction of the window at little delay"),
    float("beta_max", 0.5, (0.0, 1.0), "removed fraction of the window at much delay"),
    float("d1", 0.01, (0.0, 1.0), "up to this fraction of the largest delay growth is alpha_max"),
    float("d2", 0.1, (0.0, 1.0), "up to this fraction the reduction is beta_min"),
    float("d3", 0.8, (0.0, 1.0), "from this fraction the reduction is beta_max"),
    ParamSpec {
        name: "theta",
        kind: Kind::Count,
        default: Default::Int(5),
        range: Some((0.0, 1e6)),
        doc: "rounds in a row with delay below d1 before growth returns to alpha_max",
    },
    ParamSpec {
        name: "win_thresh",
        kind: Kind::Segments,
        default: Default::Int(15),
        range: Some((0.0, 1e9)),
        doc: "a smaller window grows and shrinks as Reno's",
    },
    BASE,
];

pub(super) const ENTRY: Controller = Controller {
    name: "illinois",
    family: "loss and delay",
    source: "Liu, Başar, Srikant 2006",
    summary: "grows fast and shrinks little while the queueing delay is small",
    differences: "Linux computes in fixed point; after a recovery it counts all that the last acknowledgment covers \
        towards growth; ns-3 compares win_thresh with bytes, so that it never acts",
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Illinois::new(p))),
};

/// Linux's fixed-point ones.
const ALPHA_ONE: f64 = 128.0;
const BETA_ONE: f64 = 64.0;

/// alpha/w per segment acknowledged; less beta on loss; both from the delay.
#[derive(Clone, Debug)]
pub struct Illinois {
    linux: bool,
    base: Base,
    alpha_min: f64,
    alpha_max: f64,
    beta_min: f64,
    beta_max: f64,
    d: [f64; 3],
    theta: u64,
    win_thresh: f64,
    rounds: RoundRtt,
    alpha: f64,
    beta: f64,
    /// The delay was above d1 since alpha was alpha_max.
    above: bool,
    /// Rounds below d1 in a row, since.
    low: u64,
    /// Segments acknowledged since the window grew, and by the acknowledgment being handled (Linux).
    count: u64,
    acked: u64,
}

impl Illinois {
    /// From its parameters.
    pub fn new(p: &Params) -> Illinois {
        let linux = p.text("variant") == "linux";
        // Fixed-point constants are rounded down.
        let fixed = |x: f64, one: f64| if linux { (x * one).floor() / one } else { x };
        let alpha_max = fixed(p.float("alpha_max"), ALPHA_ONE);
        Illinois {
            linux,
            base: Base::new(p),
            alpha_min: fixed(p.float("alpha_min"), ALPHA_ONE),
            alpha_max,
            beta_min: fixed(p.float("beta_min"), BETA_ONE),
            beta_max: fixed(p.float("beta_max"), BETA_ONE),
            d: ["d1", "d2", "d3"].map(|n| p.float(n)),
            theta: p.int("theta"),
            win_thresh: p.int("win_thresh") as f64,
            rounds: RoundRtt::new(),
            alpha: if linux { alpha_max } else { 1.0 },
            beta: fixed(p.float("beta_max"), BETA_ONE),
            above: false,
            low: 0,
            count: 0,
            acked: 0,
        }
    }

    /// Rounds a delay or a quotient down as Linux's integers do.
    fn whole(&self, x: f64) -> f64 {
        if self.linux {
            // The products of d's with whole delays are not exact.
            (x + 1e-6).floor()
        } else {
            x
        }
    }

    /// Growth at mean delay `da` of at most `dm`.
    fn alpha(&mut self, da: f64, dm: f64) -> f64 {
        let d1 = self.whole(self.d[0] * dm);
        if da <= d1 {
            if !self.above {
                return self.alpha_max;
            }
            self.low += 1;
            if self.low < self.theta {
                return self.alpha;
            }
            self.low = 0;
            self.above = false;
            return self.alpha_max;
        }
        self.above = true;
        if !self.linux {
            self.low = 0;
        }
        if self.alpha_max <= self.alpha_min {
            return self.alpha_min;
        }
        // kappa1 / (kappa2 + da) of the paper, over (dm - d1) alpha_min / (alpha_max - alpha_min).
        let (room, da) = (dm - d1, da - d1);
        if self.linux {
            let slope = self.whole(da * (self.alpha_max - self.alpha_min) / self.alpha_min);
            self.whole(room * self.alpha_max * ALPHA_ONE / (room + slope)) / ALPHA_ONE
        } else {
            room * self.alpha_max / (room + da * (self.alpha_max - self.alpha_min) / self.alpha_min)
        }
    }

    /// Reduction at mean delay `da` of at most `dm`.
    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.whole(self.d[1] * dm), self.whole(self.d[2] * dm));
        if da <= d2 {
            return self.beta_min;
        }
        if da >= d3 || d3 <= d2 {
            return self.beta_max;
        }
        let line = (self.beta_min * d3 - self.beta_max * d2 + (self.beta_max - self.beta_min) * da) / (d3 - d2);
        if self.linux { (line * BETA_ONE + 1e-9).floor() / BETA_ONE } else { line }
    }

    fn as_reno(&mut self) {
        self.alpha = 1.0;
        self.beta = if self.linux { self.beta_max } else { 0.5 };
    }

    /// A round is over.
    fn adjust(&mut self, ack: &Ack, w: &Window) {
        if w.cwnd < self.win_thresh {
            self.as_reno();
        } else if self.rounds.count() > 0 {
            let base = self.rounds.base();
            let mean = match self.linux {
                true => (self.rounds.sum() / u64::from(self.rounds.count())) as f64,
                false => self.rounds.mean(),
            };
            let (da, dm) = ((mean - base as f64).max(0.0), (self.rounds.max() - base) as f64);
            self.alpha = self.alpha(da, dm);
            self.beta = self.beta(da, dm);
        }
        self.rounds.begin(ack.nxt);
    }
}

/// Longest RTT that Linux's arithmetic takes, microseconds.
const MAX_US: u64 = u32::MAX as u64 / 1280;

impl Avoidance for Illinois {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    #[inline]
    fn observe(&mut self, _cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        // Packets, of whatever size.
        self.acked = ack.segments;
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(if self.linux { (rtt.0 / 1000).min(MAX_US) } else { rtt.0 });
        }
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        if self.rounds.over(ack.una) {
            self.adjust(ack, w);
        }
        let left = opening.on_ack(cx, ack, w, acked);
        if self.linux { 0.0 } else { left }
    }

    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        if self.rounds.over(ack.una) {
            self.adjust(ack, w);
        }
        if !ack.window_limited {
            return;
        }
        if !self.linux {
            w.cwnd += self.alpha * acked / w.cwnd;
            return;
        }
        self.count += std::mem::replace(&mut self.acked, 1);
        let (now, delta) = (w.cwnd as u64, (self.count as f64 * self.alpha) as u64);
        if delta >= now {
            w.cwnd += (delta / now.max(1)) as f64;
            self.count = 0;
        }
    }

    fn validates_itself(&self) -> bool {
        true
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.count = 0;
        if self.linux {
            let now = w.cwnd.floor();
            return now - (now * self.beta).floor();
        }
        self.base.window(cx, signal, w) * (1.0 - self.beta)
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Loss {
            self.count = 0;
            self.as_reno();
            self.low = 0;
            self.above = false;
            self.rounds.begin(cx.nxt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn illinois(variant: &str) -> Illinois {
        let given: Vec<_> =
            [("variant", variant), ("base", "cwnd")].map(|(n, v)| (n.to_owned(), Value::Text(v.to_owned()))).into();
        Illinois::new(&Params::new(PARAMS, &given).unwrap())
    }

    /// Mean delay in milliseconds of at most 100, alpha, beta.
    const CURVES: [(f64, f64, f64); 7] = [
        (5.0, 4.33577, 0.125),
        (10.0, 2.53846, 0.125),
        (20.0, 1.38785, 0.178571),
        (45.0, 0.650602, 0.3125),
        (50.0, 0.588119, 0.339286),
        (80.0, 0.373116, 0.5),
        (100.0, 0.3, 0.5),
    ];

    #[test]
    fn curve_vectors() {
        for (da, alpha, beta) in CURVES {
            let mut law = illinois("paper");
            assert!((law.alpha(da * 1e6, 100e6) / alpha - 1.0).abs() < 1e-5, "{da}");
            assert!((law.beta(da * 1e6, 100e6) - beta).abs() < 1e-6, "{da}");
        }
    }

    #[test]
    fn linux_rounds_to_its_fractions() {
        for (da, alpha, beta) in CURVES {
            let mut law = illinois("linux");
            // alpha_min is 38/128, 1 % below 0.3.
            let (a, b) = (law.alpha(da * 1e3, 100e3), law.beta(da * 1e3, 100e3));
            assert!(a <= alpha && a > 0.985 * alpha - 1.0 / ALPHA_ONE && a * ALPHA_ONE % 1.0 == 0.0, "{da} {a}");
            assert!(b <= beta && b > beta - 1.0 / BETA_ONE && b * BETA_ONE % 1.0 == 0.0, "{da} {b}");
        }
    }

    #[test]
    fn full_growth_returns_after_theta_quiet_rounds() {
        for variant in ["paper", "linux"] {
            let mut law = illinois(variant);
            assert_eq!(law.alpha(0.0, 100e3), 10.0);
            law.alpha = law.alpha(50e3, 100e3);
            let kept = law.alpha;
            let after: Vec<f64> = (0..6).map(|_| law.alpha(500.0, 100e3)).collect();
            assert_eq!(after, [kept, kept, kept, kept, 10.0, 10.0], "{variant}");
        }
    }

    #[test]
    fn growth_and_reduction() {
        let (loss, mut w) = (Signal::Loss { flight: 0 }, Window { cwnd: 100.0, ssthresh: 2.0 });
        testing::with_cx(1000, |cx| {
            let mut law = illinois("paper");
            (law.alpha, law.beta) = (10.0, 0.125);
            law.rounds.begin(1);
            law.grow(cx, &testing::ack(2.0), &mut w, 2.0);
            assert_eq!(w.cwnd, 100.2);
            w.cwnd = 100.0;
            assert_eq!(law.reduce(cx, loss, &w), 87.5);

            let mut law = illinois("linux");
            (law.alpha, law.beta) = (10.0, 0.125);
            law.rounds.begin(1);
            // The last acknowledgment of a recovery covers 30 segments: 300/100 at once.
            let ack = Ack { segments: 30, ..testing::ack(1.0) };
            law.observe(cx, &ack, &mut w);
            law.grow(cx, &ack, &mut w, 1.0);
            assert_eq!(w.cwnd, 103.0);
            assert_eq!(law.reduce(cx, loss, &w), 91.0);
        });
    }

    #[test]
    fn linux_counts_packets_whatever_they_hold() {
        testing::with_cx(1000, |cx| {
            let mut law = illinois("linux");
            (law.alpha, law.beta) = (10.0, 0.125);
            law.rounds.begin(1);
            let mut w = Window { cwnd: 100.0, ssthresh: 2.0 };
            // Ten packets of 100 bytes: 10 * 10 / 100.
            let ack = Ack { acked: 1000, segments: 10, ..testing::ack(10.0) };
            law.observe(cx, &ack, &mut w);
            law.grow(cx, &ack, &mut w, 10.0);
            assert_eq!(w.cwnd, 101.0);
        });
    }

    #[test]
    fn small_windows_and_timeouts_are_renos() {
        testing::with_cx(1000, |cx| {
            let mut law = illinois("linux");
            let mut w = Window { cwnd: 14.0, ssthresh: 2.0 };
            law.rounds.sample(1);
            law.grow(cx, &Ack { una: 1, ..testing::ack(1.0) }, &mut w, 1.0);
            assert_eq!((law.alpha, law.beta), (1.0, 0.5));
            (law.alpha, law.beta, law.above, law.low) = (3.0, 0.2, true, 3);
            cx.phase = Phase::Loss;
            law.phase(cx, &mut w);
            assert_eq!((law.alpha, law.beta, law.above, law.low), (1.0, 0.5, false, 0));
        });
    }
}
