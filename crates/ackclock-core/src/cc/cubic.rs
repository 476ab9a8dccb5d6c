//! CUBIC (RFC 9438), with the older parameterisations of RFC 8312 and draft-rhee-tcpm-cubic-02.
//!
//! Known deviation: none from RFC 9438. The integer form that Linux runs is [`super::CubicInteger`].

use super::registry::{Builder, Controller};
use super::reno::{ABE, BASE, Base, kept};
use super::{Ack, Avoidance, CubicInteger, CubicNs3, Cx, Signal, Window};
use crate::math::cbrt;
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::time::{Span, Time};

/// Parameters of `cubic`, all variants.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["rfc9438", "rfc8312", "cubic_2007", "linux", "ns3"]),
        default: Default::Text("rfc9438"),
        range: None,
        doc: "rfc9438; rfc8312 (closed-form W_est, target not bounded above); cubic_2007 (draft-rhee-tcpm-cubic-02: \
              keeps 0.8); linux (integer arithmetic of Linux 6.12); ns3 (Linux's form in real numbers). Profiles linux, ns3: that name",
    },
    ParamSpec {
        name: "beta",
        kind: Kind::Float,
        default: Default::Float(0.0),
        range: Some((0.0, 0.99)),
        doc: "kept fraction of the window; 0 is the variant's own: 0.7, cubic_2007 0.8, linux 717/1024",
    },
    ParamSpec {
        name: "c",
        kind: Kind::Float,
        default: Default::Float(0.4),
        range: Some((0.001, 100.0)),
        doc: "C, segments per cubic second (RFC 9438 §4.1)",
    },
    ParamSpec {
        name: "fast_convergence",
        kind: Kind::Bool,
        default: Default::Bool(true),
        range: None,
        doc: "lower W_max when the window shrank before reaching it (RFC 9438 §4.7)",
    },
    ParamSpec {
        name: "reno_friendly",
        kind: Kind::Bool,
        default: Default::Bool(true),
        range: None,
        doc: "never grow slower than Reno would (RFC 9438 §4.3)",
    },
    BASE,
    ABE,
    ParamSpec {
        name: "low_window",
        kind: Kind::Segments,
        default: Default::Int(0),
        range: Some((0.0, 1e6)),
        doc: "window up to which growth is Reno's; 0 is off, 38 in Belogaev et al. 2016",
    },
    ParamSpec {
        name: "max_increment",
        kind: Kind::Segments,
        default: Default::Int(0),
        range: Some((0.0, 1e6)),
        doc: "most segments of growth per round-trip time; 0 is off, 16 or 32 in early Linux",
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
    name: "cubic",
    family: "loss",
    source: "RFC 9438",
    summary: "window as a cubic function of the time since the last loss",
    differences: "Linux counts whole segments with fixed-point constants, looks one minimum RTT ahead, forgets W_max on \
        a timeout and starts with HyStart (variant linux); ns-3 is the Linux form in floating point and leaves \
        HyStart later",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "linux" => Box::new(CubicInteger::new(p)),
        "ns3" => Box::new(CubicNs3::new(p)),
        _ => Box::new(Cubic::new(p)),
    }),
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Rfc9438,
    Rfc8312,
    Draft2007,
}

/// The cubic curve of the present congestion epoch.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Seconds from the epoch's start to the plateau at W_max.
    k: f64,
    w_max: f64,
}

impl Epoch {
    /// W_cubic(t) = C (t - K)^3 + W_max (RFC 9438 eq. 1).
    //= RFC 9438 §4.2 curve
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let d = t - self.k;
        c * d * d * d + self.w_max
    }
}

/// The window as a cubic function of the time since the last congestion.
#[derive(Clone, Debug)]
pub struct Cubic {
    form: Form,
    c: f64,
    beta: f64,
    abe: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    base: Base,
    low_window: f64,
    max_increment: f64,
    epoch: Option<Epoch>,
    /// Up to here it is decided which time counts for the epoch.
    counted: Time,
    /// W_max that the next epoch climbs to; `None` before the first loss and after a timeout.
    w_max: Option<f64>,
    w_est: f64,
    cwnd_prior: f64,
    /// The law as it was before the last reduction.
    before: Option<Box<Cubic>>,
}

impl Cubic {
    /// From its parameters.
    pub fn new(p: &Params) -> Cubic {
        let form = match p.text("variant") {
            "rfc8312" => Form::Rfc8312,
            "cubic_2007" => Form::Draft2007,
            _ => Form::Rfc9438,
        };
        let beta = match (p.float("beta"), form) {
            (b, _) if b > 0.0 => b,
            (_, Form::Draft2007) => 0.8,
            _ => 0.7,
        };
        Cubic {
            form,
            c: p.float("c"),
            beta,
            abe: p.float("abe"),
            fast_convergence: p.bool("fast_convergence"),
            reno_friendly: p.bool("reno_friendly"),
            base: Base::new(p),
            low_window: p.float("low_window"),
            max_increment: p.float("max_increment"),
            epoch: None,
            counted: Time::ZERO,
            w_max: None,
            w_est: 0.0,
            cwnd_prior: f64::INFINITY,
            before: None,
        }
    }

    /// K: seconds until the window is back at W_max (RFC 9438 eq. 2).
    fn k(&self, w_max: f64, w_epoch: f64) -> f64 {
        match self.form {
            Form::Draft2007 => cbrt(w_max * (1.0 - self.beta) / self.c),
            _ => cbrt((w_max - w_epoch) / self.c),
        }
    }

    fn begin_epoch(&mut self, now: Time, w: f64) -> Epoch {
        let w_max = match self.w_max {
            Some(w_max) if w_max > w => w_max,
            _ => w,
        };
        let k = if w_max > w { self.k(w_max, w) } else { 0.0 };
        if self.w_max.is_none() {
            self.cwnd_prior = w;
        }
        self.w_est = w;
        let epoch = Epoch { start: now, k, w_max };
        self.epoch = Some(epoch);
        epoch
    }

    /// What has passed does not count for the epoch: the window was not updated because the application, or the
    /// receiver, held the sender back (RFC 9438 §4.2 and §5.8).
    //= RFC 9438 §5.8 idle
    fn leave_out(&mut self, now: Time) {
        if let Some(e) = &mut self.epoch {
            e.start = (e.start + now.since(self.counted)).min(now);
        }
        self.counted = now;
    }

    /// The window standard TCP would have by now, segments.
    //= RFC 9438 §4.3 reno-friendly
    fn reno_estimate(&mut self, w: f64, w_max: f64, t: f64, rtt: f64, acked: f64) -> f64 {
        let alpha = 3.0 * (1.0 - self.beta) / (1.0 + self.beta);
        match self.form {
            Form::Rfc8312 if rtt > 0.0 => self.w_est = w_max * self.beta + alpha * t / rtt,
            Form::Rfc9438 if self.w_est >= self.cwnd_prior => self.w_est += acked / w,
            _ => self.w_est += alpha * acked / w,
        }
        self.w_est
    }
}

impl Avoidance for Cubic {
    fn validates_itself(&self) -> bool {
        true
    }

    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        if !ack.window_limited {
            self.leave_out(cx.now);
            return;
        }
        self.counted = cx.now;
        if w.cwnd < self.low_window {
            self.epoch = None;
            w.cwnd += acked / w.cwnd;
            return;
        }
        let epoch = match self.epoch {
            Some(e) => e,
            None => self.begin_epoch(cx.now, w.cwnd),
        };
        let t = cx.now.since(epoch.start).as_secs_f64();
        let rtt = cx.rtt.smoothed.as_secs_f64();
        let mut target = epoch.w_cubic(self.c, t + rtt).max(w.cwnd);
        if self.form == Form::Rfc9438 {
            target = target.min(1.5 * w.cwnd);
        }
        if self.max_increment > 0.0 {
            target = target.min(w.cwnd + self.max_increment);
        }
        let w_est = self.reno_estimate(w.cwnd, epoch.w_max, t, rtt, acked);
        if self.reno_friendly && epoch.w_cubic(self.c, t) < w_est {
            w.cwnd = w.cwnd.max(w_est);
        } else {
            w.cwnd += (target - w.cwnd) / w.cwnd * acked;
        }
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.before = None;
        self.before = Some(Box::new(self.clone()));
        self.epoch = None;
        if matches!(signal, Signal::Timeout { .. }) {
            //= RFC 9438 §4.8 timeout
            // RFC 9438 §4.8: the first epoch after the slow start that follows starts at its plateau.
            self.w_max = None;
        } else {
            self.cwnd_prior = w.cwnd;
            let below = self.w_max.is_some_and(|w_max| w.cwnd < w_max);
            //= RFC 9438 §4.7 fast-convergence
            let w_max = if self.fast_convergence && below { w.cwnd * (1.0 + self.beta) / 2.0 } else { w.cwnd };
            self.w_max = Some(w_max);
        }
        self.base.window(cx, signal, w) * kept(signal, self.beta, self.abe)
    }

    fn undo(&mut self, _cx: &Cx<'_>, _w: &mut Window) {
        //= RFC 9438 §4.9 spurious
        // RFC 9438 §4.9.
        if let Some(before) = self.before.take() {
            *self = *before;
        }
    }

    fn transmit_start(&mut self, cx: &Cx<'_>, _idle: Span) {
        self.leave_out(cx.now);
    }
}

#[cfg(test)]
#[path = "cubic_idle_tests.rs"]
mod idle_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn cubic(given: &[(&str, Value)]) -> Cubic {
        let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
        Cubic::new(&Params::new(PARAMS, &given).unwrap())
    }

    fn draft() -> Cubic {
        cubic(&[("variant", Value::Text("cubic_2007".into()))])
    }

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-4 * want.abs().max(1e-2), "{got} != {want}");
    }

    #[test]
    //= test: RFC 9438 §4.2 curve
    fn time_to_plateau_vectors() {
        let c = cubic(&[]);
        for (w_max, k) in [(100.0, 4.217163), (1000.0, 9.085603), (10_000.0, 19.574338)] {
            close(c.k(w_max, 0.7 * w_max), k);
        }
        close(draft().k(100.0, 80.0), 3.684031);
        close(draft().k(1000.0, 800.0), 7.937005);
    }

    #[test]
    //= test: RFC 9438 §4.2 curve
    fn curve_vectors() {
        let c = cubic(&[]);
        let e = Epoch { start: Time::ZERO, k: c.k(100.0, 70.0), w_max: 100.0 };
        for (t, w) in [(0.0, 70.0), (0.5, 79.4555), (1.0, 86.6808), (2.0, 95.6403), (5.0, 100.1919), (6.0, 102.2667)] {
            close(e.w_cubic(0.4, t), w);
        }
        let d = draft();
        let e = Epoch { start: Time::ZERO, k: d.k(100.0, 80.0), w_max: 100.0 };
        for (t, w) in [(0.0, 80.0), (1.0, 92.2657), (2.0, 98.0897), (5.0, 100.9116)] {
            close(e.w_cubic(0.4, t), w);
        }
    }

    #[test]
    //= test: RFC 9438 §4.7 fast-convergence
    fn fast_convergence_vectors() {
        testing::with_cx(1000, |cx| {
            for (mut c, w_max, ssthresh) in [(cubic(&[]), 76.5, 63.0), (draft(), 81.0, 72.0)] {
                c.w_max = Some(100.0);
                let w = Window { cwnd: 90.0, ssthresh: 90.0 };
                close(c.reduce(cx, Signal::Loss { flight: 90_000 }, &w), ssthresh);
                close(c.w_max.unwrap(), w_max);
            }
        });
    }

    #[test]
    //= test: RFC 9438 §4.2 curve
    fn the_window_follows_the_curve() {
        // RTT 100 ms, W_max 1000: a second and a half after the loss the window is that of the curve one RTT ahead.
        let mut c = cubic(&[]);
        testing::with_cx(1000, |cx| {
            cx.rtt.smoothed = Span::from_millis(100);
            let mut w = Window { cwnd: 1000.0, ssthresh: 1000.0 };
            w.cwnd = c.reduce(cx, Signal::Loss { flight: 1_000_000 }, &w);
            for _ in 0..80 {
                let acks = w.cwnd as u64;
                for _ in 0..acks {
                    cx.now += Span(100_000_000 / acks);
                    c.grow(cx, &testing::ack(1.0), &mut w, 1.0);
                }
            }
            let e = c.epoch.unwrap();
            let t = cx.now.since(e.start).as_secs_f64();
            assert!((w.cwnd / e.w_cubic(0.4, t) - 1.0).abs() < 0.01, "{} {}", w.cwnd, e.w_cubic(0.4, t));
        });
    }

    #[test]
    //= test: RFC 9438 §4.3 reno-friendly
    fn a_small_window_grows_as_reno_would() {
        // W_max 10 at RTT 10 ms: the cubic curve is nearly flat, W_est rules with alpha = 0.529.
        let mut c = cubic(&[]);
        testing::with_cx(1000, |cx| {
            cx.rtt.smoothed = Span::from_millis(10);
            let mut w = Window { cwnd: 10.0, ssthresh: 10.0 };
            w.cwnd = c.reduce(cx, Signal::Loss { flight: 10_000 }, &w);
            for _ in 0..7 {
                cx.now += Span::from_millis(1);
                c.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            }
            assert!((w.cwnd - 7.529).abs() < 0.03, "{}", w.cwnd);
        });
    }
}
