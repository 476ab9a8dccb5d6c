//! Hybla (C. Caini, R. Firrincieli, Int. J. Satellite Communications and Networking 22, 2004): the rate of growth of
//! a connection with a short round-trip time, whatever the round-trip time is.
//!
//! Known deviations: the window is bounded by `max_window`; the paper's packet spacing is the endpoint's option
//! `pacing`, its bandwidth estimate for the first threshold is not there.

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base, add_per};
use super::{Ack, Avoidance, Cx, Phase, Signal, Window};
use crate::math::exp2;
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::slowstart::{SlowStart, grow_to_ssthresh};
use crate::time::Span;

/// Parameters of `hybla`, both variants.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux (integer arithmetic of Linux 6.12: growth per acknowledgment, Reno unless nothing is wrong, \
              an initial window of rho segments). Profile linux: linux",
    },
    BASE,
    ParamSpec {
        name: "rtt0",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_millis(25)),
        range: Some((1e-4, 10.0)),
        doc: "RTT_0: the round-trip time of the connection to keep up with",
    },
    ParamSpec {
        name: "scale_initial",
        kind: Kind::Bool,
        default: Default::Bool(false),
        range: None,
        doc: "multiply the initial window by rho (paper; linux sets it to rho)",
    },
    ParamSpec {
        name: "max_window",
        kind: Kind::Segments,
        default: Default::Int(65_535),
        range: Some((2.0, 1e9)),
        doc: "largest window, segments: bounds a slow start of 2^rho per acknowledgment (Linux)",
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "hybla",
    family: "loss",
    source: "Caini and Firrincieli 2004",
    summary: "growth scaled by the round-trip time, as if it were 25 ms",
    differences: "Linux counts acknowledgments, not segments, takes rho from the smoothed RTT in eighths and begins \
        with a window of rho segments",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "linux" => Box::new(HyblaInteger::new(p)),
        _ => Box::new(Hybla::new(p)),
    }),
};

/// The law of the paper.
#[derive(Clone, Debug)]
pub struct Hybla {
    base: Base,
    rtt0: Span,
    scale_initial: bool,
    max_window: f64,
    rtt_min: Span,
    /// Growth per segment acknowledged in slow start, 2^rho - 1, and rho^2.
    opening: f64,
    rho2: f64,
}

impl Hybla {
    /// From its parameters.
    pub fn new(p: &Params) -> Hybla {
        Hybla {
            base: Base::new(p),
            rtt0: p.duration("rtt0"),
            scale_initial: p.bool("scale_initial"),
            max_window: p.float("max_window"),
            rtt_min: Span::ZERO,
            opening: 1.0,
            rho2: 1.0,
        }
    }

    /// Follows the smallest round-trip time; returns rho when it has changed.
    #[inline]
    fn follow(&mut self, rtt_min: Span) -> Option<f64> {
        if rtt_min == self.rtt_min {
            return None;
        }
        self.rtt_min = rtt_min;
        let rho = (rtt_min.as_secs_f64() / self.rtt0.as_secs_f64()).max(1.0);
        self.opening = exp2(rho) - 1.0;
        self.rho2 = rho * rho;
        Some(rho)
    }

    fn bound(&self, w: &mut Window) {
        w.cwnd = w.cwnd.min(self.max_window);
    }
}

impl Avoidance for Hybla {
    fn start(&mut self, cx: &Cx<'_>, w: &mut Window) {
        if let Some(rho) = self.follow(cx.rtt.min).filter(|_| self.scale_initial) {
            w.cwnd *= rho;
        }
        self.bound(w);
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, _: &mut dyn SlowStart) -> f64 {
        self.follow(cx.rtt.min);
        if ack.window_limited {
            // What is beyond the threshold is dropped: it was counted in windows of slow start.
            grow_to_ssthresh(w, (self.opening * acked).min(self.max_window));
            self.bound(w);
        }
        0.0
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        self.follow(cx.rtt.min);
        w.cwnd += (self.rho2 * acked / w.cwnd).min(self.max_window);
        self.bound(w);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.base.window(cx, signal, w) / 2.0
    }
}

/// Bits of the fraction of a segment of growth.
const BITS: u32 = 7;
const ONE: u64 = 1 << BITS;
/// Largest whole part of rho in slow start.
const MOST_DOUBLINGS: u64 = 16;
/// 2^(i/8) in 1/128.
const EIGHTHS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

/// The law as Linux 6.12 has it.
///
/// Deviation: without an RTT sample from the handshake the first sample gives rho, where Linux keeps 1.
#[derive(Clone, Debug)]
pub struct HyblaInteger {
    /// Nanoseconds.
    rtt0: u64,
    max_window: f64,
    /// Nothing is known to be wrong: else the law is Reno's.
    enabled: bool,
    /// rho in eighths.
    rho8: u64,
    /// Smallest smoothed RTT, eighths of microseconds.
    rtt_min: u64,
    /// Fractions of a segment of growth, in 1/128.
    fraction: u64,
    /// Acknowledgments, or for Reno segments, since growth.
    count: u64,
}

impl HyblaInteger {
    /// From Hybla's parameters.
    pub fn new(p: &Params) -> HyblaInteger {
        HyblaInteger {
            rtt0: p.duration("rtt0").0.max(1),
            max_window: p.float("max_window"),
            enabled: true,
            rho8: 8,
            rtt_min: 0,
            fraction: 0,
            count: 0,
        }
    }

    #[inline]
    fn follow(&mut self, srtt: Span) {
        let srtt8 = srtt.0 * 8 / 1000;
        if srtt8 < self.rtt_min || self.rtt_min == 0 {
            self.rtt_min = srtt8;
            self.rho8 = (srtt8 * 1000 / self.rtt0).max(8);
        }
    }

    /// Adds `increment` 128ths of a segment.
    fn add(&mut self, w: &mut Window, increment: u64) {
        w.cwnd += (increment >> BITS) as f64;
        self.fraction += increment % ONE;
        if self.fraction >= ONE {
            self.fraction -= ONE;
            w.cwnd += 1.0;
            self.count = 0;
        }
    }
}

impl Avoidance for HyblaInteger {
    fn validates_itself(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &Cx<'_>, w: &mut Window) {
        self.follow(cx.rtt.smoothed);
        w.cwnd = (self.rho8 >> 3) as f64;
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        self.follow(cx.rtt.smoothed);
        if !self.enabled {
            return opening.on_ack(cx, ack, w, acked);
        }
        if ack.window_limited {
            // 2^rho - 1: the whole part by shifting, the eighths by table.
            let whole = (self.rho8 >> 3).min(MOST_DOUBLINGS);
            self.add(w, (EIGHTHS[(self.rho8 & 7) as usize] << whole) - ONE);
            w.cwnd = w.cwnd.min(w.ssthresh).min(self.max_window);
        }
        0.0
    }

    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        self.follow(cx.rtt.smoothed);
        if !ack.window_limited {
            return;
        }
        let cwnd = w.cwnd as u64;
        if !self.enabled {
            add_per(w, &mut self.count, cwnd, acked);
            return;
        }
        // rho^2 / w in 128ths: rho in eighths has 64ths when squared.
        let increment = self.rho8.saturating_mul(self.rho8).saturating_mul(2) / cwnd.max(1);
        if increment < ONE {
            self.count += 1;
        }
        self.add(w, increment);
        if increment == 0 && self.count >= w.cwnd as u64 {
            // A window too large for the fraction grows as Reno's.
            w.cwnd += 1.0;
            self.count = 0;
        }
        w.cwnd = w.cwnd.min(self.max_window);
    }

    fn reduce(&mut self, _cx: &Cx<'_>, _signal: Signal, w: &Window) -> f64 {
        self.count = 0;
        (w.cwnd as u64 / 2) as f64
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.enabled = cx.phase == Phase::Open;
        if cx.phase == Phase::Loss {
            self.count = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{RttView, testing};
    use crate::slowstart;

    /// Window after one acknowledgment of one segment, from `cwnd`, with round-trip time `ms`.
    fn step(law: &mut dyn Avoidance, ms: u64, cwnd: f64, slow_start: bool) -> f64 {
        let rtt = Span::from_millis(ms);
        let mut w = Window { cwnd, ssthresh: if slow_start { f64::INFINITY } else { 2.0 } };
        let mut opening = slowstart::build("standard", &[]).unwrap();
        testing::with_cx(1000, |cx| {
            cx.rtt = RttView { smoothed: rtt, min: rtt };
            if slow_start {
                law.slow_start(cx, &testing::ack(1.0), &mut w, 1.0, opening.as_mut());
            } else {
                law.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            }
        });
        w.cwnd
    }

    fn params(max_window: u64) -> Params {
        Params::new(PARAMS, &[("max_window".into(), crate::params::Value::Int(max_window))]).unwrap()
    }

    #[test]
    fn vectors() {
        let p = params(10_000_000);
        for (ms, opening, avoidance) in
            [(10, 1.0, 0.01), (25, 1.0, 0.01), (50, 3.0, 0.04), (100, 15.0, 0.16), (500, 1_048_575.0, 4.0)]
        {
            let mut law = Hybla::new(&p);
            assert_eq!(step(&mut law, ms, 1.0, true), 1.0 + opening, "{ms} ms");
            assert!((step(&mut law, ms, 100.0, false) - 100.0 - avoidance).abs() < 1e-9, "{ms} ms");
        }
        assert_eq!(step(&mut Hybla::new(&params(65_535)), 500, 1.0, true), 65_535.0);
    }

    #[test]
    fn the_initial_window() {
        testing::with_cx(1000, |cx| {
            cx.rtt = RttView { smoothed: Span::from_millis(90), min: Span::from_millis(90) };
            let start = |law: &mut dyn Avoidance| {
                let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
                law.start(cx, &mut w);
                w.cwnd
            };
            let mut scaled = Hybla::new(&params(65_535));
            scaled.scale_initial = true;
            assert_eq!(start(&mut Hybla::new(&params(65_535))), 10.0);
            assert_eq!(start(&mut scaled), 36.0);
            assert_eq!(start(&mut HyblaInteger::new(&params(65_535))), 3.0);
        });
    }

    #[test]
    fn linux_counts_in_eighths_and_hundred_and_twenty_eighths() {
        let mut law = HyblaInteger::new(&params(65_535));
        // 41 ms: rho is 13/8; 2 * 2^(5/8) = 394/128, so 266/128 are added.
        let windows: Vec<_> = (0..3).map(|_| step(&mut law, 41, 10.0, true)).collect();
        assert_eq!((windows, law.rho8, law.fraction), (vec![12.0, 12.0, 12.0], 13, 30));
        // 13^2 * 2 = 338 over 10 is 33/128 per acknowledgment.
        assert_eq!(step(&mut law, 41, 10.0, false), 10.0);
        assert_eq!(law.fraction, 63);
        // A smaller RTT lowers rho, a larger one does not raise it again.
        step(&mut law, 30, 10.0, false);
        step(&mut law, 60, 10.0, false);
        assert_eq!(law.rho8, 9);
    }

    #[test]
    fn linux_is_reno_where_something_is_wrong_and_where_the_fraction_vanishes() {
        let mut law = HyblaInteger::new(&params(65_535));
        step(&mut law, 25, 200.0, false);
        let grown = (0..400).filter(|_| step(&mut law, 25, 200.0, false) > 200.0).count();
        // 128/200 is no 128th: one segment per 200 acknowledgments.
        assert_eq!(grown, 2);
        testing::with_cx(1000, |cx| {
            cx.phase = Phase::Disorder;
            law.phase(cx, &mut Window { cwnd: 10.0, ssthresh: 2.0 });
        });
        assert_eq!(step(&mut law, 200, 10.0, true), 11.0);
    }
}
