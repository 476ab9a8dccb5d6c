//! Westwood: after a loss the window is the bandwidth-delay product that the acknowledgments measured (Mascolo,
//! Casetti, Gerla, Sanadidi, Wang, *TCP Westwood: Bandwidth Estimation for Enhanced Transport over Wireless Links*,
//! MobiCom 2001).
//!
//! Known deviation: the paper gives no time constant for the filter; 0.5 s is a choice of ours. A sample that would
//! contain an idle time is left out.

use super::additive::Additive;
use super::registry::{Builder, Controller};
use super::{Ack, Avoidance, Cx, Needs, Signal, Window};
use crate::estimator::bandwidth::{AckedCount, Tustin};
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::time::Span;

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "tau",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_millis(500)),
        range: Some((0.001, 1000.0)),
        doc: "time constant of the bandwidth filter",
    },
    ParamSpec {
        name: "m",
        kind: Kind::Float,
        default: Default::Float(2.0),
        range: Some((2.0, 1e6)),
        doc: "an empty bandwidth sample follows tau/m without an acknowledgment",
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "westwood",
    family: "loss",
    source: "Mascolo et al. 2001",
    summary: "Reno's growth; after a loss the bandwidth-delay product measured, a sample per acknowledgment",
    differences: "Linux's module of this name and ns-3's class are Westwood+ (westwood+)",
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Westwood::new(p))),
};

/// The window that fills the path without a queue: `rate` bytes per second times the smallest RTT, segments. Half of
/// the present window before the first RTT is known.
pub(super) fn product(cx: &Cx<'_>, rate: f64, w: &Window) -> f64 {
    if cx.rtt.min == Span::ZERO {
        return w.cwnd / 2.0;
    }
    rate * cx.rtt.min.as_secs_f64() / f64::from(cx.mss)
}

/// Reno's growth; the reduction goes to the bandwidth-delay product.
#[derive(Clone, Debug)]
pub struct Westwood {
    filter: Tustin,
    acked: AckedCount,
    reno: Additive,
    /// The threshold after the recovery that runs: a loss does not raise the window, and slow start wins back what is
    /// below it.
    after: Option<f64>,
}

impl Westwood {
    /// From its parameters.
    pub fn new(p: &Params) -> Westwood {
        Westwood {
            filter: Tustin::new(p.duration("tau"), p.float("m")),
            acked: AckedCount::default(),
            reno: Additive::new(false),
            after: None,
        }
    }
}

impl Avoidance for Westwood {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    fn start(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.filter.begin(cx.now);
    }

    #[inline]
    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if ack.acked > 0 || ack.duplicate || ack.delivered > 0 {
            let bytes = self.acked.take(ack.acked, u64::from(cx.mss));
            self.filter.delivered(cx.now, bytes);
        }
    }

    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        self.reno.add_reno(w, acked);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        let product = product(cx, self.filter.rate(), w).max(2.0);
        if matches!(signal, Signal::Timeout { .. }) {
            self.after = None;
            return product;
        }
        self.after = Some(product);
        product.min(w.cwnd)
    }

    fn recovered(&mut self, _cx: &Cx<'_>, w: &mut Window) {
        if let Some(product) = self.after.take() {
            w.ssthresh = product;
        }
    }

    fn undo(&mut self, _cx: &Cx<'_>, _w: &mut Window) {
        self.after = None;
    }

    fn resume(&mut self, cx: &Cx<'_>, _idle: Span) {
        self.filter.begin(cx.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::time::Time;

    /// A law whose filter has settled at 10 Mbit/s, one segment of 1250 bytes per millisecond.
    fn settled(cx: &mut Cx<'_>) -> Westwood {
        let mut law = Westwood::new(&Params::new(PARAMS, &[]).unwrap());
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        law.start(cx, &mut w);
        for k in 1..=20_000 {
            cx.now = Time(k * 1_000_000);
            law.observe(cx, &Ack { acked: 1250, delivered: 1250, ..Ack::default() }, &mut w);
        }
        cx.rtt.min = Span::from_millis(100);
        law
    }

    #[test]
    fn a_loss_leaves_the_product() {
        testing::with_cx(1250, |cx| {
            let mut law = settled(cx);
            let loss = Signal::Loss { flight: 0 };
            let mut w = Window { cwnd: 150.0, ssthresh: 2.0 };
            w.cwnd = law.reduce(cx, loss, &w);
            assert!((w.cwnd - 100.0).abs() < 1e-6, "{}", w.cwnd);
            // A window below the product stays, and slow start goes up to it.
            let mut w = Window { cwnd: 60.0, ssthresh: 2.0 };
            w.ssthresh = law.reduce(cx, loss, &w);
            assert_eq!(w.ssthresh, 60.0);
            law.recovered(cx, &mut w);
            assert!((w.ssthresh - 100.0).abs() < 1e-6 && w.cwnd == 60.0);
            let timeout = Signal::Timeout { flight: 0, repeated: false };
            assert!((law.reduce(cx, timeout, &w) - 100.0).abs() < 1e-6);
        });
    }

    #[test]
    fn an_idle_time_is_no_sample() {
        testing::with_cx(1250, |cx| {
            let mut law = settled(cx);
            let before = law.filter.rate();
            cx.now += Span::from_secs(30);
            law.resume(cx, Span::from_secs(30));
            cx.now += Span::from_millis(1);
            law.observe(
                cx,
                &Ack { acked: 1250, delivered: 1250, ..Ack::default() },
                &mut Window { cwnd: 1.0, ssthresh: 2.0 },
            );
            assert!((law.filter.rate() / before - 1.0).abs() < 1e-6);
        });
    }
}
