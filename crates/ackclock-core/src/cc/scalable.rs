//! Scalable TCP (T. Kelly, Computer Communication Review 33(2), 2003): recovery time independent of the window.
//!
//! Known deviation: the legacy window's value 16 is that of Kelly's implementation as commonly quoted.

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base, add_per};
use super::{Ack, Avoidance, Cx, Phase, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};

/// Parameters of `scalable`.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux", "ns3"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux: whole segments, Reno's growth up to `count` segments, no legacy window; ns3: the same, \
              and what exceeds `count` is forgotten. Profiles linux, ns3: that name",
    },
    BASE,
    ParamSpec {
        name: "a",
        kind: Kind::Float,
        default: Default::Float(0.01),
        range: Some((1e-6, 1.0)),
        doc: "growth per segment acknowledged, segments (paper)",
    },
    ParamSpec {
        name: "b",
        kind: Kind::Float,
        default: Default::Float(0.125),
        range: Some((0.001, 0.99)),
        doc: "part of the window given up on congestion; linux rounds the cut down to whole segments",
    },
    ParamSpec {
        name: "legacy_window",
        kind: Kind::Float,
        default: Default::Float(16.0),
        range: Some((0.0, 1e6)),
        doc: "lwnd: up to it the law is Reno's, segments (paper)",
    },
    ParamSpec {
        name: "count",
        kind: Kind::Segments,
        default: Default::Int(0),
        range: Some((0.0, 1e6)),
        doc: "segments acknowledged per segment of growth (linux, ns3); 0 is the variant's own: 100, ns3 50",
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "scalable",
    family: "loss",
    source: "Kelly 2003",
    summary: "0.01 segment per segment acknowledged; seven eighths on loss",
    differences: "Linux and ns-3 have no legacy window: up to 100 (ns-3: 50) segments the growth is Reno's, the cut \
        is an eighth always",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "paper" => Box::new(Scalable::new(p)),
        _ => Box::new(ScalableCount::new(p)),
    }),
};

/// The law of the paper.
#[derive(Clone, Debug)]
pub struct Scalable {
    a: f64,
    b: f64,
    legacy_window: f64,
    base: Base,
}

impl Scalable {
    /// From its parameters.
    pub fn new(p: &Params) -> Scalable {
        Scalable { a: p.float("a"), b: p.float("b"), legacy_window: p.float("legacy_window"), base: Base::new(p) }
    }
}

impl Avoidance for Scalable {
    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        w.cwnd += if w.cwnd <= self.legacy_window { acked / w.cwnd } else { self.a * acked };
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        let kept = if w.cwnd <= self.legacy_window { 0.5 } else { 1.0 - self.b };
        kept * self.base.window(cx, signal, w)
    }
}

/// The law of Linux 6.12 and of ns-3, in whole segments.
#[derive(Clone, Debug)]
pub struct ScalableCount {
    per: u64,
    b: f64,
    base: Base,
    ns3: bool,
    count: u64,
}

impl ScalableCount {
    /// From the parameters of `scalable`.
    pub fn new(p: &Params) -> ScalableCount {
        let ns3 = p.text("variant") == "ns3";
        let per = match p.int("count") {
            0 if ns3 => 50,
            0 => 100,
            n => n,
        };
        ScalableCount { per, b: p.float("b"), base: Base::new(p), ns3, count: 0 }
    }
}

impl Avoidance for ScalableCount {
    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        let before = w.cwnd;
        add_per(w, &mut self.count, self.per.min(w.cwnd as u64), acked);
        if self.ns3 && w.cwnd > before {
            self.count = 0;
        }
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.count = 0;
        let window = self.base.window(cx, signal, w).floor();
        if self.ns3 {
            return (window * (1.0 - self.b)).floor();
        }
        window - (window * self.b).floor()
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Loss {
            self.count = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn law(variant: &str) -> Box<dyn Avoidance> {
        let text = |s: &str| Value::Text(s.to_owned());
        let given = [("variant".to_owned(), text(variant)), ("base".to_owned(), text("cwnd"))];
        let Builder::Law(make) = ENTRY.builder else { panic!() };
        make(&Params::new(PARAMS, &given).unwrap())
    }

    fn after(variant: &str, cwnd: f64, acks: u32) -> f64 {
        let mut law = law(variant);
        let mut w = Window { cwnd, ssthresh: 2.0 };
        testing::with_cx(1000, |cx| {
            for _ in 0..acks {
                law.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            }
        });
        w.cwnd
    }

    fn reduced(variant: &str, cwnd: f64) -> f64 {
        let w = Window { cwnd, ssthresh: 2.0 };
        testing::with_cx(1000, |cx| law(variant).reduce(cx, Signal::Loss { flight: 0 }, &w))
    }

    #[test]
    fn vectors() {
        assert!((after("paper", 1000.0, 100) - 1001.0).abs() < 1e-9);
        assert_eq!(after("linux", 1000.0, 100), 1001.0);
        assert_eq!(after("ns3", 1000.0, 100), 1002.0);
        // Reno below: 20 acknowledgments for a segment; the paper's legacy window ends at 16.
        assert_eq!(after("linux", 20.0, 20), 21.0);
        assert!((after("paper", 10.0, 1) - 10.1).abs() < 1e-12);
        assert!((after("paper", 20.0, 1) - 20.01).abs() < 1e-12);
        assert_eq!([reduced("paper", 1000.0), reduced("paper", 12.0)], [875.0, 6.0]);
        assert_eq!([reduced("linux", 1000.0), reduced("linux", 15.0), reduced("linux", 7.0)], [875.0, 14.0, 7.0]);
        assert_eq!([reduced("ns3", 1000.0), reduced("ns3", 15.0)], [875.0, 13.0]);
    }

    /// Round-trip times of whole windows acknowledged, in steps of a thousandth, until the window is `target`.
    fn rounds(mut cwnd: f64, target: f64) -> f64 {
        let mut law = law("paper");
        testing::with_cx(1000, |cx| {
            let mut rounds = 0.0;
            while cwnd < target {
                let mut w = Window { cwnd, ssthresh: 2.0 };
                law.grow(cx, &testing::ack(1.0), &mut w, cwnd);
                // Within a round the growth is exponential: (1 + a)^t.
                let t = crate::math::ln(target / cwnd) / crate::math::ln(w.cwnd / cwnd);
                rounds += t.min(1.0);
                cwnd = w.cwnd;
            }
            rounds
        })
    }

    #[test]
    fn times_do_not_depend_on_the_window() {
        for w in [100.0, 10_000.0] {
            // ln(8/7) / ln 1.01 to recover from a loss, ln 2 / ln 1.01 to double.
            assert!((rounds(reduced("paper", w), w) - 13.42).abs() < 0.01);
            assert!((rounds(w, 2.0 * w) - 69.66).abs() < 0.01);
        }
    }
}
