//! CUBIC as ns-3's TcpCubic computes it: Linux's form with real numbers for time and K, and one segment of growth per
//! acknowledgment at most.
//!
//! Known deviation: ns-3 keeps its window in bytes and counts whole segments of it; a window that recovery left with a
//! part of a segment keeps that part here too, but random starts of ns-3's own HyStart rounds are not imitated. ns-3's clock
//! runs on while nothing is sent, against RFC 9438 §5.8; here it does not.

use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::math::cbrt;
use crate::params::Params;
use crate::time::{Span, Time};

/// Most growth before the first loss: one segment per 20 acknowledged (CntClamp).
const FIRST_COUNT: u64 = 20;
/// Samples so soon after the begin of an epoch carry the overflow's delay (CubicDelta).
const SETTLING: Span = Span::from_millis(10);

/// State of the form.
#[derive(Clone, Debug)]
pub struct CubicNs3 {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    last_max: u64,
    epoch: Option<Time>,
    /// Seconds from the epoch's begin to `origin`.
    k: f64,
    origin: u64,
    delay_min: Option<Span>,
    /// Segments acknowledged towards the next one of growth.
    count: u64,
    acked: u64,
    reno_cwnd: u64,
}

impl CubicNs3 {
    /// From CUBIC's parameters.
    pub fn new(p: &Params) -> CubicNs3 {
        CubicNs3 {
            c: p.float("c"),
            beta: match p.float("beta") {
                b if b > 0.0 => b,
                _ => 0.7,
            },
            fast_convergence: p.bool("fast_convergence"),
            reno_friendly: p.bool("reno_friendly"),
            last_max: 0,
            epoch: None,
            k: 0.0,
            origin: 0,
            delay_min: None,
            count: 0,
            acked: 0,
            reno_cwnd: 0,
        }
    }

    /// Segments to acknowledge per segment of growth at window `w`.
    fn per(&mut self, now: Time, w: u64, acked: u64) -> u64 {
        self.acked += acked;
        let begin = match self.epoch {
            Some(begin) => begin,
            None => {
                self.epoch = Some(now);
                self.acked = acked;
                self.reno_cwnd = w;
                let below = self.last_max.saturating_sub(w);
                self.k = cbrt(below as f64 / self.c);
                self.origin = self.last_max.max(w);
                now
            }
        };
        let t = (now + self.delay_min.unwrap_or(Span::ZERO)).since(begin).as_secs_f64();
        let offset = t - self.k;
        let target = (self.origin as f64 + self.c * offset * offset * offset).clamp(0.0, 1e15) as u64;
        let mut per = if target > w { w / (target - w) } else { 100 * w };
        if self.last_max == 0 {
            per = per.min(FIRST_COUNT);
        }
        if self.reno_friendly {
            let eighths = (8.0 * (1.0 + self.beta) / 3.0 / (1.0 - self.beta)) as u64;
            let step = ((w * eighths) >> 3).max(1);
            while self.acked > step {
                self.acked -= step;
                self.reno_cwnd += 1;
            }
            if self.reno_cwnd > w {
                per = per.min(w / (self.reno_cwnd - w));
            }
        }
        per.max(2)
    }
}

impl Avoidance for CubicNs3 {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        let Some(rtt) = ack.rtt else { return };
        if self.epoch.is_none_or(|begin| cx.now.since(begin) >= SETTLING) {
            self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    fn grow(&mut self, cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        let acked = acked.round() as u64;
        self.count += acked;
        let per = self.per(cx.now, (w.cwnd as u64).max(1), acked);
        if self.count >= per {
            w.cwnd += 1.0;
            self.count -= per;
        }
    }

    fn reduce(&mut self, _cx: &Cx<'_>, _signal: Signal, w: &Window) -> f64 {
        let cwnd = w.cwnd as u64;
        self.last_max = if self.fast_convergence && cwnd < self.last_max {
            (cwnd as f64 * (1.0 + self.beta) / 2.0) as u64
        } else {
            cwnd
        };
        self.epoch = None;
        ((cwnd as f64 * self.beta) as u64).max(2) as f64
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Loss {
            (self.last_max, self.epoch, self.k, self.origin, self.delay_min) = (0, None, 0.0, 0, None);
        }
    }

    fn resume(&mut self, cx: &Cx<'_>, idle: Span) {
        self.transmit_start(cx, idle);
    }

    fn transmit_start(&mut self, cx: &Cx<'_>, idle: Span) {
        // RFC 9438 §5.8: time without data does not count.
        if let Some(begin) = &mut self.epoch {
            *begin = (*begin + idle).min(cx.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cubic::PARAMS;
    use super::*;
    use crate::cc::testing;

    fn cubic() -> CubicNs3 {
        CubicNs3::new(&Params::new(PARAMS, &[]).unwrap())
    }

    /// K(100) = 4.217 s; W(1) = 86.68, W(2) = 95.64, W(6) = 102.27 (RFC 9438 eq. 1 with beta 0.7).
    #[test]
    fn the_curve_in_whole_segments() {
        let mut c = cubic();
        c.reno_friendly = false;
        c.last_max = 100;
        let start = Time(1_000_000_000);
        let mut at = |s: u64| c.per(start + Span::from_secs(s), 70, 1);
        at(0);
        // 70 segments per (W(t) - 70): 70/16, 70/25, 70/32.
        assert_eq!([at(1), at(2), at(6)], [4, 2, 2]);
        assert!((c.k - 4.217_163).abs() < 1e-5);
    }

    #[test]
    fn growth_is_a_segment_per_acknowledgment_at_most() {
        let mut c = cubic();
        testing::with_cx(1000, |cx| {
            let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
            c.grow(cx, &testing::ack(50.0), &mut w, 50.0);
            assert_eq!(w.cwnd, 11.0);
        });
    }

    #[test]
    fn reduction_fast_convergence_and_timeout() {
        let mut c = cubic();
        testing::with_cx(1000, |cx| {
            let w = |cwnd| Window { cwnd, ssthresh: cwnd };
            let loss = Signal::Loss { flight: 0 };
            assert_eq!((c.reduce(cx, loss, &w(100.0)), c.last_max), (70.0, 100));
            // 90 times 0.7 is a little below 63 in double precision, in ns-3 too.
            assert_eq!((c.reduce(cx, loss, &w(90.0)), c.last_max), (62.0, 76));
            cx.phase = Phase::Loss;
            c.phase(cx, &mut w(1.0));
            assert_eq!(c.last_max, 0);
        });
    }
}
