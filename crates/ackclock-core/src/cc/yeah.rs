//! YeAH: Scalable TCP while few segments queue, Reno with early decongestion otherwise (Baiocchi, Castellani, Vacirca,
//! *YeAH-TCP: Yet Another Highspeed TCP*, PFLDnet 2007), with Linux's constants and in Linux's form.
//!
//! Known deviation: the paper's form is Linux's rules in real numbers.

use super::additive::Additive;
use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::vegas::MIN_SAMPLES;
use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::estimator::round_rtt::RoundRtt;
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::slowstart::SlowStart;
use crate::time::Span;

const fn number(name: &'static str, kind: Kind, default: Default, range: (f64, f64), doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind, default, range: Some(range), doc }
}

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper: real numbers; linux: whole segments and microseconds. Profile linux: linux",
    },
    number("alpha", Kind::Segments, Default::Int(80), (1.0, 1e9), "Q_max: more queued segments are taken out at once"),
    number("gamma", Kind::Float, Default::Float(1.0), (1.0, 1e6), "the queue divided by this is taken out"),
    number("phy", Kind::Float, Default::Float(8.0), (0.1, 1e6), "a queueing delay above base/phy means slow mode"),
    number("delta", Kind::Count, Default::Int(3), (0.0, 30.0), "a loss takes at least w/2^delta"),
    number("epsilon", Kind::Count, Default::Int(1), (0.0, 30.0), "early decongestion takes at most w/2^epsilon"),
    number(
        "rho",
        Kind::Count,
        Default::Int(16),
        (0.0, 1e6),
        "rounds of slow mode after which a loss halves the window",
    ),
    number("zeta", Kind::Count, Default::Int(50), (0.0, 1e6), "rounds of fast mode that forget Reno's window"),
    number("ai_count", Kind::Float, Default::Float(100.0), (1.0, 1e6), "Scalable: acknowledged segments per segment"),
    MIN_SAMPLES,
    BASE,
];

pub(super) const ENTRY: Controller = Controller {
    name: "yeah",
    family: "loss and delay",
    source: "Baiocchi, Castellani, Vacirca 2007",
    summary: "Scalable TCP while few of its segments queue, else Reno with early decongestion",
    differences: "Linux forgets the base RTT when idle; ns-3 falls to Reno on any queueing",
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Yeah::new(p))),
};

/// Fast and slow mode by the number of its own segments that queue.
#[derive(Clone, Debug)]
pub struct Yeah {
    linux: bool,
    base: Base,
    alpha: f64,
    gamma: f64,
    phy: f64,
    least: f64,
    most: f64,
    rho: u64,
    zeta: u64,
    ai_count: f64,
    min_samples: u64,
    rounds: RoundRtt,
    /// Segments queued in the last round.
    queue: f64,
    /// Rounds of slow mode in a row.
    slow: u64,
    /// Rounds of fast mode since the last loss.
    fast: u64,
    /// The window that Reno would have.
    reno_window: f64,
    growth: Additive,
}

impl Yeah {
    /// From its parameters.
    pub fn new(p: &Params) -> Yeah {
        let linux = p.text("variant") == "linux";
        let fraction = |name| 1.0 / (1u64 << p.int(name).min(62)) as f64;
        Yeah {
            linux,
            base: Base::new(p),
            alpha: p.int("alpha") as f64,
            gamma: p.float("gamma"),
            phy: p.float("phy"),
            least: fraction("delta"),
            most: fraction("epsilon"),
            rho: p.int("rho"),
            zeta: p.int("zeta"),
            ai_count: p.float("ai_count"),
            min_samples: p.int("min_samples"),
            rounds: RoundRtt::new(),
            queue: 0.0,
            slow: 0,
            fast: 0,
            reno_window: 2.0,
            growth: Additive::new(linux),
        }
    }

    fn whole(&self, x: f64) -> f64 {
        if self.linux { x.floor() } else { x }
    }

    /// A round with enough samples is over.
    fn adjust(&mut self, w: &mut Window) {
        let (base, rtt) = (self.rounds.base() as f64, self.rounds.min() as f64);
        let delay = rtt - base;
        self.queue = self.whole(w.cwnd * delay / rtt);
        if self.queue > self.alpha || delay > self.whole(base / self.phy) {
            if self.queue > self.alpha && w.cwnd > self.reno_window {
                let out = self.whole(self.queue / self.gamma).min(self.whole(w.cwnd * self.most));
                w.cwnd = (w.cwnd - out).max(self.reno_window);
                w.ssthresh = w.cwnd;
            }
            self.reno_window =
                if self.reno_window <= 2.0 { self.whole(w.cwnd / 2.0).max(2.0) } else { self.reno_window + 1.0 };
            self.slow += 1;
        } else {
            self.fast += 1;
            if self.fast > self.zeta {
                self.reno_window = 2.0;
                self.fast = 0;
            }
            self.slow = 0;
        }
    }

    fn on_ack(&mut self, ack: &Ack, w: &mut Window, acked: f64) {
        if acked > 0.0 {
            let per = if self.slow == 0 { w.cwnd.min(self.ai_count) } else { w.cwnd };
            self.growth.add(w, per, acked);
        }
        if self.rounds.over(ack.una) {
            if u64::from(self.rounds.count()) >= self.min_samples {
                self.adjust(w);
            }
            self.rounds.begin(ack.nxt);
        }
    }
}

impl Avoidance for Yeah {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    #[inline]
    fn observe(&mut self, _cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(if self.linux { rtt.0 / 1000 + 1 } else { rtt.0 });
        }
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        if ack.window_limited {
            let left = opening.on_ack(cx, ack, w, acked);
            self.on_ack(ack, w, if w.in_slow_start() { 0.0 } else { left });
        }
        0.0
    }

    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        self.on_ack(ack, w, acked);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.growth.reset();
        let now = self.whole(self.base.window(cx, signal, w));
        let half = self.whole(now / 2.0).max(2.0);
        let out = if self.slow < self.rho { self.queue.min(half).max(self.whole(now * self.least)) } else { half };
        self.fast = 0;
        self.reno_window = self.whole(self.reno_window / 2.0).max(2.0);
        now - out
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        match cx.phase {
            Phase::Open => self.rounds.begin(cx.nxt),
            Phase::Loss => self.growth.reset(),
            _ => {}
        }
    }

    fn resume(&mut self, cx: &Cx<'_>, idle: Span) {
        self.transmit_start(cx, idle);
    }

    fn transmit_start(&mut self, cx: &Cx<'_>, _idle: Span) {
        if self.linux {
            self.rounds.forget();
        }
        self.rounds.begin(cx.nxt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    const LOSS: Signal = Signal::Loss { flight: 0 };

    fn yeah(variant: &str) -> Yeah {
        let given: Vec<_> =
            [("variant", variant), ("base", "cwnd")].map(|(n, v)| (n.to_owned(), Value::Text(v.to_owned()))).into();
        Yeah::new(&Params::new(PARAMS, &given).unwrap())
    }

    /// The window after a round of RTT `rtt` milliseconds over a base of 100 ms.
    fn after_round(law: &mut Yeah, cwnd: f64, rtt: u64) -> f64 {
        let mut w = Window { cwnd, ssthresh: 2.0 };
        law.rounds.sample(100_000);
        law.rounds.begin(0);
        law.rounds.sample(rtt * 1000);
        law.adjust(&mut w);
        w.cwnd
    }

    #[test]
    fn reduction_vectors() {
        let w = Window { cwnd: 400.0, ssthresh: 2.0 };
        for variant in ["paper", "linux"] {
            for (queue, slow, left) in [(20.0, 0, 350.0), (120.0, 15, 280.0), (120.0, 16, 200.0)] {
                let mut law = yeah(variant);
                (law.queue, law.slow) = (queue, slow);
                assert_eq!(testing::with_cx(1000, |cx| law.reduce(cx, LOSS, &w)), left);
            }
        }
    }

    #[test]
    fn a_long_queue_is_taken_out() {
        for variant in ["paper", "linux"] {
            let mut law = yeah(variant);
            // 500 segments, 20 % of them queued: 100 > 80 out.
            assert_eq!(after_round(&mut law, 500.0, 125), 400.0);
            assert_eq!((law.slow, law.reno_window), (1, 200.0));
            // At most half.
            assert_eq!(after_round(&mut law, 500.0, 300), 250.0);
            assert_eq!((law.slow, law.reno_window), (2, 201.0));
            // Not below Reno's window.
            law.reno_window = 480.0;
            assert_eq!(after_round(&mut law, 500.0, 125), 480.0);
        }
    }

    #[test]
    fn modes_follow_queue_and_delay() {
        let mut law = yeah("linux");
        // 10 % delay, 9 segments: fast. 15 % is above 1/8: slow, without decongestion.
        assert_eq!(after_round(&mut law, 100.0, 110), 100.0);
        assert_eq!((law.slow, law.fast), (0, 1));
        assert_eq!(after_round(&mut law, 100.0, 115), 100.0);
        assert_eq!((law.slow, law.reno_window), (1, 50.0));
        law.fast = 50;
        after_round(&mut law, 100.0, 110);
        assert_eq!((law.slow, law.fast, law.reno_window), (0, 0, 2.0));
    }

    #[test]
    fn growth_is_scalables_or_renos() {
        let grown = |variant, slow| {
            let mut law = yeah(variant);
            law.rounds.begin(10);
            law.slow = slow;
            let mut w = Window { cwnd: 400.0, ssthresh: 2.0 };
            for _ in 0..200 {
                law.on_ack(&testing::ack(1.0), &mut w, 1.0);
            }
            w.cwnd
        };
        assert!((grown("paper", 0) - 402.0).abs() < 1e-9);
        assert!((grown("paper", 1) - 400.5).abs() < 1e-3);
        assert_eq!([grown("linux", 0), grown("linux", 1)], [402.0, 400.0]);
    }
}
