//! CUBIC as Linux 6.12 computes it: whole segments, clock ticks and fixed-point constants.
//!
//! The cubic root is exact here; Linux's is an approximation within 0.2 %.

use super::reno::add_per;
use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::params::Params;
use crate::time::{Span, Time};

/// Fixed-point one of beta.
const BETA_ONE: u64 = 1024;
/// 0.7 as Linux stores it.
const BETA: u64 = 717;
/// Bits of a fixed-point second.
const HZ_BITS: u32 = 10;
/// Most growth before the first loss: one segment per 20 acknowledged.
const FIRST_COUNT: u64 = 20;

/// State of the integer form.
#[derive(Clone, Debug)]
pub struct CubicInteger {
    tick: Span,
    hz: u64,
    beta: u64,
    /// The same on a mark; 0: as on a loss.
    abe: u64,
    /// C in fixed point: 41 * 10 for 0.4.
    rtt_scale: u64,
    /// Eighths of a segment of acknowledgments per segment of Reno growth and window segment: 15 for beta 0.7.
    beta_scale: u64,
    fast_convergence: bool,
    reno_friendly: bool,
    /// Segments acknowledged per segment of growth.
    per: u64,
    count: u64,
    last_max: u64,
    last_cwnd: u64,
    last_time: u64,
    /// Tick of the epoch's start.
    epoch_start: Option<u64>,
    origin: u64,
    k: u64,
    delay_min: Span,
    acked: u64,
    reno_cwnd: u64,
}

/// Largest `y` with `y^3 <= x`.
fn integer_cbrt(x: u64) -> u64 {
    let mut y = crate::math::cbrt(x as f64) as u64;
    while y.saturating_mul(y).saturating_mul(y) > x {
        y -= 1;
    }
    while (y + 1).saturating_mul(y + 1).saturating_mul(y + 1) <= x {
        y += 1;
    }
    y
}

impl CubicInteger {
    /// From CUBIC's parameters.
    pub fn new(p: &Params) -> CubicInteger {
        let hz = p.int("hz").max(1);
        let beta = match p.float("beta") {
            b if b > 0.0 => (b * BETA_ONE as f64).round() as u64,
            _ => BETA,
        };
        CubicInteger {
            tick: Span(1_000_000_000 / hz),
            hz,
            beta,
            abe: (p.float("abe") * BETA_ONE as f64) as u64,
            rtt_scale: (p.float("c") * 102.5).round() as u64 * 10,
            beta_scale: 8 * (BETA_ONE + beta) / 3 / (BETA_ONE - beta).max(1),
            fast_convergence: p.bool("fast_convergence"),
            reno_friendly: p.bool("reno_friendly"),
            per: 1,
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: 0,
            epoch_start: None,
            origin: 0,
            k: 0,
            delay_min: Span::ZERO,
            acked: 0,
            reno_cwnd: 0,
        }
    }

    fn tick_of(&self, now: Time) -> u64 {
        now.0 / self.tick.0
    }

    /// Segments to acknowledge per segment of growth at window `w`.
    fn update(&mut self, now: Time, w: u64, acked: u64) {
        let tick = self.tick_of(now);
        self.acked += acked;
        if self.last_cwnd == w && tick - self.last_time <= self.hz / 32 {
            return;
        }
        if self.epoch_start.is_none() || tick != self.last_time {
            self.last_cwnd = w;
            self.last_time = tick;
            self.per = self.cubic_count(tick, w, acked);
        }
        if self.reno_friendly {
            self.follow_reno(w);
        }
        self.per = self.per.max(2);
    }

    fn cubic_count(&mut self, tick: u64, w: u64, acked: u64) -> u64 {
        let start = match self.epoch_start {
            Some(s) => s,
            None => {
                self.epoch_start = Some(tick);
                self.acked = acked;
                self.reno_cwnd = w;
                if self.last_max <= w {
                    self.k = 0;
                    self.origin = w;
                } else {
                    let cube_factor = (1u64 << (10 + 3 * HZ_BITS)) / self.rtt_scale.max(1);
                    self.k = integer_cbrt(cube_factor * (self.last_max - w));
                    self.origin = self.last_max;
                }
                tick
            }
        };
        let ahead = self.delay_min.0.div_ceil(self.tick.0);
        let t = ((tick - start + ahead) << HZ_BITS) / self.hz;
        let offset = t.abs_diff(self.k);
        let cube = u128::from(self.rtt_scale) * u128::from(offset).pow(3);
        let delta = (cube >> (10 + 3 * HZ_BITS)).min(u128::from(u32::MAX)) as u64;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta };
        let per = if target > w { w / (target - w) } else { 100 * w };
        if self.last_max == 0 { per.min(FIRST_COUNT) } else { per }
    }

    fn follow_reno(&mut self, w: u64) {
        let per = (w * self.beta_scale) >> 3;
        if per > 0 && self.acked > per {
            let steps = (self.acked - 1) / per;
            self.acked -= steps * per;
            self.reno_cwnd += steps;
        }
        if self.reno_cwnd > w {
            self.per = self.per.min(w / (self.reno_cwnd - w));
        }
    }
}

impl Avoidance for CubicInteger {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        let Some(rtt) = ack.rtt else { return };
        // Right after a reduction samples carry the delay of the queue's overflow.
        if self.epoch_start.is_some_and(|s| self.tick_of(cx.now) - s < self.hz) {
            return;
        }
        if self.delay_min == Span::ZERO || self.delay_min > rtt {
            self.delay_min = rtt;
        }
    }

    fn grow(&mut self, cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        self.update(cx.now, w.cwnd as u64, acked.round() as u64);
        add_per(w, &mut self.count, self.per, acked);
    }

    fn reduce(&mut self, _cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        let cwnd = w.cwnd as u64;
        self.epoch_start = None;
        self.count = 0;
        self.last_max = if cwnd < self.last_max && self.fast_convergence {
            cwnd * (BETA_ONE + self.beta) / (2 * BETA_ONE)
        } else {
            cwnd
        };
        let beta = if self.abe > 0 && matches!(signal, Signal::Ecn { .. }) { self.abe } else { self.beta };
        (cwnd * beta / BETA_ONE).max(2) as f64
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        // A timeout forgets everything but the threshold.
        if cx.phase == Phase::Loss {
            *self = CubicInteger {
                per: 1,
                last_max: 0,
                last_cwnd: 0,
                last_time: 0,
                origin: 0,
                k: 0,
                delay_min: Span::ZERO,
                acked: 0,
                reno_cwnd: 0,
                ..self.clone()
            };
        }
    }

    fn resume(&mut self, cx: &Cx<'_>, idle: Span) {
        self.transmit_start(cx, idle);
    }

    fn transmit_start(&mut self, cx: &Cx<'_>, idle: Span) {
        // Time in which nothing leaves does not count (RFC 9438 §4.2 and §5.8); the epoch may have begun within it.
        let now = self.tick_of(cx.now);
        let left = self.tick_of(cx.now - idle);
        if let Some(s) = &mut self.epoch_start {
            *s = (*s + (now - left)).min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cubic::PARAMS;
    use super::*;
    use crate::cc::testing;

    fn cubic() -> CubicInteger {
        CubicInteger::new(&Params::new(PARAMS, &[]).unwrap())
    }

    #[test]
    fn fixed_point_constants() {
        let c = cubic();
        assert_eq!((c.beta, c.rtt_scale, c.beta_scale), (717, 410, 15));
        assert_eq!(integer_cbrt(26), 2);
        assert_eq!(integer_cbrt(27), 3);
        assert_eq!(integer_cbrt(u64::from(u32::MAX)), 1625);
    }

    #[test]
    fn reduction_and_fast_convergence() {
        let mut c = cubic();
        testing::with_cx(1448, |cx| {
            let w = |cwnd| Window { cwnd, ssthresh: cwnd };
            assert_eq!(c.reduce(cx, Signal::Loss { flight: 0 }, &w(100.0)), 70.0);
            assert_eq!(c.last_max, 100);
            assert_eq!(c.reduce(cx, Signal::Loss { flight: 0 }, &w(90.0)), 63.0);
            assert_eq!(c.last_max, 90 * 1741 / 2048);
            assert_eq!(c.reduce(cx, Signal::Timeout { flight: 0, repeated: false }, &w(50.0)), 35.0);
            cx.phase = Phase::Loss;
            c.phase(cx, &mut w(1.0));
            assert_eq!(c.last_max, 0);
        });
    }

    #[test]
    fn agrees_with_the_real_valued_curve() {
        let mut c = cubic();
        c.last_max = 1000;
        c.delay_min = Span::from_millis(100);
        let (start, w) = (Time(5_000_000_000), 700);
        c.update(start, w, 1);
        // K = cbrt(300 / 0.4004) seconds in units of 1/1024 s.
        assert!((c.k as f64 / 1024.0 - 9.0826).abs() < 0.002, "{}", c.k);
        c.update(start + Span::from_secs(4), w, 1);
        // Target: 1000 - 0.4004 (9.0826 - 4.1)^3 = 950.5.
        assert_eq!(c.per, 700 / (950 - 700));
    }
}
