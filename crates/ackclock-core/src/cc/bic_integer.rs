//! BIC as Linux 6.12 and ns-3 compute it: whole segments, and a count of acknowledgments per segment of growth.

use super::reno::add_per;
use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::params::Params;
use crate::time::Span;

/// Linux: fixed-point one of beta, and 0.8 as it stores it.
const BETA_ONE: u64 = 1024;
const BETA: u64 = 819;
/// ns-3 has a real number: six digits of it.
const BETA_ONE_NS3: u64 = 1_000_000;
/// Most growth before the first loss: one segment per 20 acknowledged.
const FIRST_COUNT: u64 = 20;
/// Bits of the fraction of `delayed_ack`.
const RATIO_BITS: u32 = 4;

/// State of the counting forms.
#[derive(Clone, Debug)]
pub struct BicCount {
    ns3: bool,
    tick: Span,
    hz: u64,
    /// Numerator and denominator of the fraction kept.
    beta: (u64, u64),
    max_increment: u64,
    low_window: u64,
    fast_convergence: bool,
    search: u64,
    smooth_part: u64,
    /// Segments acknowledged per segment of growth.
    per: u64,
    count: u64,
    last_max: u64,
    last_cwnd: u64,
    last_tick: u64,
    /// Segments per acknowledgment, in sixteenths: an average over about sixteen acknowledgments.
    delayed_ack: u64,
}

impl BicCount {
    /// From BIC's parameters.
    pub fn new(p: &Params) -> BicCount {
        let ns3 = p.text("variant") == "ns3";
        let own = |given: u64, own: u64| if given > 0 { given } else { own };
        let hz = p.int("hz").max(1);
        let one = if ns3 { BETA_ONE_NS3 } else { BETA_ONE };
        let beta = match p.float("beta") {
            b if b > 0.0 => (b * one as f64).round() as u64,
            _ if ns3 => one / 10 * 8,
            _ => BETA,
        };
        BicCount {
            ns3,
            tick: Span(1_000_000_000 / hz),
            hz,
            beta: (beta, one),
            max_increment: own(p.int("max_increment"), 16),
            low_window: p.int("low_window"),
            fast_convergence: p.bool("fast_convergence"),
            search: p.int("search").max(1),
            smooth_part: own(p.int("smooth_part"), if ns3 { 5 } else { 20 }),
            per: 0,
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_tick: 0,
            delayed_ack: 2 << RATIO_BITS,
        }
    }

    /// Forgets what losses and acknowledgments have taught.
    fn reset(&mut self) {
        self.per = 0;
        self.last_max = 0;
        self.last_cwnd = 0;
        self.last_tick = 0;
        self.delayed_ack = 2 << RATIO_BITS;
    }

    /// Segments to acknowledge per segment of growth at window `w`, were every segment acknowledged by itself.
    fn undelayed(&self, w: u64) -> u64 {
        let near = w * self.smooth_part / self.search;
        let linear = w / self.max_increment;
        let per = if w < self.last_max {
            match (self.last_max - w) / self.search {
                distance if distance > self.max_increment => linear,
                0 | 1 => near,
                distance => w / distance,
            }
        } else if w < self.last_max + self.search {
            near
        } else if w < self.last_max + self.max_increment * (self.search - 1) {
            w * (self.search - 1) / (w - self.last_max)
        } else {
            linear
        };
        if self.last_max == 0 { per.min(FIRST_COUNT) } else { per }
    }

    fn is_low(&self, w: u64) -> bool {
        // ns-3 has the bound itself among the larger windows.
        w < self.low_window || (w == self.low_window && !self.ns3)
    }

    fn update(&mut self, cx: &Cx<'_>, w: u64) {
        let tick = cx.now.0 / self.tick.0.max(1);
        if self.last_cwnd == w && tick - self.last_tick <= self.hz / 32 {
            return;
        }
        self.last_cwnd = w;
        self.last_tick = tick;
        self.per = if self.is_low(w) {
            w
        } else if self.ns3 {
            self.undelayed(w).max(1)
        } else {
            ((self.undelayed(w) << RATIO_BITS) / self.delayed_ack.max(1)).max(1)
        };
    }
}

impl Avoidance for BicCount {
    fn needs(&self) -> Needs {
        Needs { observe: !self.ns3, ..Needs::default() }
    }

    #[inline]
    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if cx.phase == Phase::Open {
            self.delayed_ack = self.delayed_ack - (self.delayed_ack >> RATIO_BITS) + ack.segments;
        }
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        if self.ns3 {
            // One segment at most, when more than the count is acknowledged; the rest is forgotten.
            self.count += acked.round() as u64;
            self.update(cx, w.cwnd as u64);
            if self.count > self.per {
                w.cwnd += 1.0;
                self.count = 0;
            }
            return;
        }
        self.update(cx, w.cwnd as u64);
        add_per(w, &mut self.count, self.per, acked);
    }

    fn reduce(&mut self, cx: &Cx<'_>, _signal: Signal, w: &Window) -> f64 {
        let cwnd = w.cwnd as u64;
        let (beta, one) = self.beta;
        let keep = |part: u64, of: u64| (u128::from(cwnd) * u128::from(part) / u128::from(of)) as u64;
        if self.ns3 {
            // The count belongs to the maximum before.
            self.last_cwnd = 0;
        } else {
            self.count = 0;
        }
        self.last_max = match cwnd < self.last_max && self.fast_convergence {
            true if self.ns3 => keep(beta, one),
            true => keep(one + beta, 2 * one),
            false => cwnd,
        };
        if !self.is_low(cwnd) {
            keep(beta, one) as f64
        } else if self.ns3 {
            (cx.in_flight / u64::from(cx.mss) / 2) as f64
        } else {
            (cwnd / 2) as f64
        }
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Loss && !self.ns3 {
            self.count = 0;
            self.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bic::PARAMS;
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;
    use crate::time::Time;

    fn bic(variant: &str) -> BicCount {
        BicCount::new(&Params::new(PARAMS, &[("variant".into(), Value::Text(variant.into()))]).unwrap())
    }

    fn w(cwnd: u32) -> Window {
        Window { cwnd: f64::from(cwnd), ssthresh: 2.0 }
    }

    fn loss(b: &mut BicCount, cwnd: u32) -> f64 {
        testing::with_cx(1448, |cx| b.reduce(cx, Signal::Loss { flight: 0 }, &w(cwnd)))
    }

    #[test]
    fn linux_vectors() {
        let mut b = bic("linux");
        assert_eq!((loss(&mut b, 100), b.last_max), (79.0, 100));
        let per = [79, 96, 100, 110, 200].map(|w| b.undelayed(w));
        assert_eq!(per, [15, 480, 500, 33, 12]);
        assert_eq!((loss(&mut b, 90), b.last_max), (71.0, 80));
        assert_eq!([14, 15, 3].map(|w| loss(&mut b, w)), [7.0, 11.0, 1.0]);
        // Far from the maximum and far beyond it growth is 16 per round-trip time.
        b.last_max = 1000;
        assert_eq!([b.undelayed(320), b.undelayed(1600)], [20, 100]);
    }

    #[test]
    fn linux_grows_at_most_five_per_cent_before_the_first_loss_and_allows_for_delayed_acknowledgments() {
        let mut b = bic("linux");
        testing::with_cx(1448, |cx| {
            b.grow(cx, &testing::ack(1.0), &mut w(320), 1.0);
            // 20, halved because two segments per acknowledgment are expected.
            assert_eq!(b.per, 10);
            for _ in 0..200 {
                b.observe(cx, &Ack { segments: 1, ..Ack::default() }, &mut w(320));
            }
            // Two small ones: 31 - 1 + 2.
            b.delayed_ack = 31;
            b.observe(cx, &Ack { acked: 200, segments: 2, ..Ack::default() }, &mut w(320));
            assert_eq!(b.delayed_ack, 32);
            b.observe(cx, &Ack { acked: 100, segments: 1, ..Ack::default() }, &mut w(320));
            // The integer average of ones ends where a sixteenth of it is one.
            assert_eq!(b.delayed_ack, 31);
            b.delayed_ack = 16;
            cx.now = Time(40_000_000);
            b.grow(cx, &testing::ack(1.0), &mut w(320), 1.0);
            assert_eq!(b.per, 20);
            b.grow(cx, &testing::ack(1.0), &mut w(10), 1.0);
            assert_eq!(b.per, 10);
        });
    }

    #[test]
    fn a_timeout_forgets_the_maximum_in_linux() {
        let mut b = bic("linux");
        loss(&mut b, 100);
        testing::with_cx(1448, |cx| {
            cx.phase = Phase::Recovery;
            b.phase(cx, &mut w(79));
            assert_eq!(b.last_max, 100);
            cx.phase = Phase::Loss;
            b.phase(cx, &mut w(1));
            assert_eq!((b.last_max, b.per), (0, 0));
        });
    }

    #[test]
    fn ns3_has_its_own_constants() {
        let mut b = bic("ns3");
        assert_eq!((loss(&mut b, 100), b.last_max), (80.0, 100));
        // A smooth part of 5: a quarter of Linux's count near the maximum.
        assert_eq!([79, 96, 100].map(|w| b.undelayed(w)), [15, 120, 125]);
        assert_eq!((loss(&mut b, 90), b.last_max), (72.0, 72));
    }
}
