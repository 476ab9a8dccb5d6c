//! BIC (L. Xu, K. Harfoush, I. Rhee, INFOCOM 2004): binary search for the window of the last loss.
//!
//! Known deviation: before the first loss there is nothing to search, so congestion avoidance grows by Smax. The forms
//! of Linux and ns-3 are [`super::BicCount`].

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, BicCount, Cx, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};

/// Parameters of `bic`, all variants.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux", "ns3"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux (integer arithmetic of Linux 6.12: `search` quarters the distance, growth allows for \
              delayed acknowledgments); ns3 (the same without that, other constants). Profiles linux, ns3: that name",
    },
    BASE,
    ParamSpec {
        name: "beta",
        kind: Kind::Float,
        default: Default::Float(0.0),
        range: Some((0.0, 0.99)),
        doc: "kept fraction of the window; 0 is the variant's own: 0.875, linux 819/1024, ns3 0.8",
    },
    ParamSpec {
        name: "max_increment",
        kind: Kind::Segments,
        default: Default::Int(0),
        range: Some((0.0, 1e6)),
        doc: "Smax, most segments of growth per round-trip time; 0 is the variant's own: 32, linux and ns3 16",
    },
    ParamSpec {
        name: "min_increment",
        kind: Kind::Float,
        default: Default::Float(0.01),
        range: Some((1e-6, 1e3)),
        doc: "Smin, least segments of growth per round-trip time (paper)",
    },
    ParamSpec {
        name: "low_window",
        kind: Kind::Segments,
        default: Default::Int(14),
        range: Some((1.0, 1e6)),
        doc: "window up to which the law is Reno's",
    },
    ParamSpec {
        name: "fast_convergence",
        kind: Kind::Bool,
        default: Default::Bool(true),
        range: None,
        doc: "aim lower when a loss comes below the maximum before",
    },
    ParamSpec {
        name: "search",
        kind: Kind::Count,
        default: Default::Int(4),
        range: Some((2.0, 1e3)),
        doc: "B: the part of the distance to the maximum that a round-trip time adds is 1/B (linux, ns3)",
    },
    ParamSpec {
        name: "smooth_part",
        kind: Kind::Count,
        default: Default::Int(0),
        range: Some((0.0, 1e3)),
        doc: "round-trip times from B below the maximum to the maximum; 0 is the variant's own: 20, ns3 5",
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
    name: "bic",
    family: "loss",
    source: "Xu, Harfoush and Rhee 2004",
    summary: "binary search between the window after the last loss and that before it, then probing beyond",
    differences: "Linux keeps 0.8 of the window, not 0.875, quarters the distance where the paper halves it, grows by \
        16 segments at most and doubles the growth under delayed acknowledgments; ns-3 has Linux's law without that",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "paper" => Box::new(Bic::new(p)),
        _ => Box::new(BicCount::new(p)),
    }),
};

/// Slow start beyond the maximum: from one segment per round-trip time to Smax.
#[derive(Clone, Copy, Debug)]
struct Probing {
    /// Growth per round-trip time, segments.
    step: f64,
    /// The window at which `step` doubles.
    target: f64,
}

/// The law of the paper, with its names.
#[derive(Clone, Debug)]
pub struct Bic {
    base: Base,
    beta: f64,
    s_max: f64,
    s_min: f64,
    low_window: f64,
    fast_convergence: bool,
    /// Infinite while the maximum is unknown.
    max_win: f64,
    min_win: f64,
    target_win: f64,
    probing: Option<Probing>,
    /// The search as it was before the last reduction: max_win, min_win, target_win.
    before: Option<(f64, f64, f64)>,
}

impl Bic {
    /// From its parameters.
    pub fn new(p: &Params) -> Bic {
        let own = |given: f64, own: f64| if given > 0.0 { given } else { own };
        let s_max = own(p.float("max_increment"), 32.0);
        Bic {
            base: Base::new(p),
            beta: own(p.float("beta"), 0.875),
            s_max,
            s_min: p.float("min_increment").min(s_max),
            low_window: p.float("low_window"),
            fast_convergence: p.bool("fast_convergence"),
            max_win: f64::INFINITY,
            min_win: 0.0,
            target_win: f64::INFINITY,
            probing: None,
            before: None,
        }
    }

    fn aim(&mut self) {
        self.target_win = (self.max_win + self.min_win) / 2.0;
    }
}

impl Avoidance for Bic {
    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        if w.cwnd < self.low_window {
            w.cwnd += acked / w.cwnd;
        } else if let Some(p) = &mut self.probing {
            w.cwnd += p.step * acked / w.cwnd;
            if w.cwnd >= p.target {
                p.step *= 2.0;
                p.target = w.cwnd + p.step;
                if p.step >= self.s_max {
                    self.probing = None;
                }
            }
        } else {
            let increment = (self.target_win - w.cwnd).max(self.s_min).min(self.s_max);
            w.cwnd += increment * acked / w.cwnd;
            if w.cwnd < self.max_win {
                self.min_win = w.cwnd;
                self.aim();
            } else {
                self.probing = Some(Probing { step: 1.0, target: w.cwnd + 1.0 });
                self.max_win = f64::INFINITY;
                self.target_win = f64::INFINITY;
            }
        }
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        let window = self.base.window(cx, signal, w);
        if w.cwnd < self.low_window {
            return window / 2.0;
        }
        self.before = Some((self.max_win, self.min_win, self.target_win));
        let previous = self.max_win;
        let reduced = self.beta * window;
        self.max_win = w.cwnd;
        self.min_win = reduced;
        self.probing = None;
        if self.fast_convergence && previous.is_finite() && previous > self.max_win {
            self.max_win = (self.max_win + self.min_win) / 2.0;
        }
        self.aim();
        reduced
    }

    fn undo(&mut self, _cx: &Cx<'_>, _w: &mut Window) {
        if let Some((max_win, min_win, target_win)) = self.before.take() {
            (self.max_win, self.min_win, self.target_win) = (max_win, min_win, target_win);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;

    fn bic() -> Bic {
        Bic::new(&Params::new(PARAMS, &[]).unwrap())
    }

    fn w(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 2.0 }
    }

    fn loss(bic: &mut Bic, cwnd: f64) -> f64 {
        testing::with_cx(1000, |cx| bic.reduce(cx, Signal::Loss { flight: (cwnd * 1000.0) as u64 }, &w(cwnd)))
    }

    /// The window after a round-trip time of single acknowledgments.
    fn round(bic: &mut Bic, cwnd: f64) -> f64 {
        let mut w = w(cwnd);
        testing::with_cx(1000, |cx| {
            for _ in 0..cwnd as u64 {
                bic.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            }
        });
        w.cwnd
    }

    #[test]
    fn search_vectors() {
        let mut b = bic();
        b.max_win = 800.0;
        assert_eq!(loss(&mut b, 800.0), 700.0);
        assert_eq!((b.max_win, b.min_win, b.target_win), (800.0, 700.0, 750.0));
        // Smax per acknowledgment while the target is more than Smax away, then half of what is left.
        testing::with_cx(1000, |cx| {
            let mut at = w(700.0);
            b.grow(cx, &testing::ack(1.0), &mut at, 1.0);
            assert!((at.cwnd - (700.0 + 32.0 / 700.0)).abs() < 1e-9);
            b.target_win = 710.0;
            let mut at = w(700.0);
            b.grow(cx, &testing::ack(1.0), &mut at, 1.0);
            assert!((at.cwnd - (700.0 + 10.0 / 700.0)).abs() < 1e-9);
        });
        let mut b = bic();
        let grown = round(&mut b, 800.0);
        assert!((grown - 832.0).abs() < 1.0, "Smax without a maximum: {grown}");
    }

    #[test]
    fn probing_doubles_its_step() {
        let mut b = bic();
        loss(&mut b, 800.0);
        let mut at = 799.999;
        let mut steps = Vec::new();
        for _ in 0..200 {
            at = round(&mut b, at);
            steps.extend(b.probing.map(|p| p.step));
        }
        steps.dedup();
        assert_eq!(steps, [1.0, 2.0, 4.0, 8.0, 16.0]);
        assert!((round(&mut b, at) - at - 32.0).abs() < 1.0);
    }

    #[test]
    fn fast_convergence_and_low_windows() {
        let mut b = bic();
        loss(&mut b, 800.0);
        // Below the maximum before: (720 + 630) / 2.
        assert_eq!(loss(&mut b, 720.0), 630.0);
        assert_eq!((b.max_win, b.target_win), (675.0, 652.5));
        assert_eq!(loss(&mut b, 12.0), 6.0);
        let mut at = w(10.0);
        testing::with_cx(1000, |cx| b.grow(cx, &testing::ack(1.0), &mut at, 1.0));
        assert_eq!(at.cwnd, 10.1);
    }
}
