//! BIC as Linux 6.12 and ns-3 compute it: whole segments, and a count of acknowledgments per segment of growth.

use super::reno::add_per;
use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::params::Params;
use crate::slowstart::SlowStart;
use crate::time::Span;

/// Fixed-point one of beta.
const BETA_ONE: u64 = 1024;
/// 0.8 as Linux stores it.
const BETA: u64 = 819;
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
    /// In 1/1024.
    beta: u64,
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
        let beta = match p.float("beta") {
            b if b > 0.0 => (b * BETA_ONE as f64).round() as u64,
            _ => BETA,
        };
        BicCount {
            ns3,
            tick: Span(1_000_000_000 / hz),
            hz,
            beta,
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
        if self.last_max == 0 {
            per.min(FIRST_COUNT)
        } else {
            per
        }
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
            let segments = ack.acked.div_ceil(u64::from(cx.mss));
            self.delayed_ack = self.delayed_ack - (self.delayed_ack >> RATIO_BITS) + segments;
        }
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        opening.on_ack(cx, ack, w, acked)
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
        let keep = |part: u64, of: u64| (u128::from(cwnd) * u128::from(part) / u128::from(of)) as u64;
        if !self.ns3 {
            self.count = 0;
        }
        self.last_max = match cwnd < self.last_max && self.fast_convergence {
            true if self.ns3 => keep(self.beta, BETA_ONE),
            true => keep(BETA_ONE + self.beta, 2 * BETA_ONE),
            false => cwnd,
        };
        if !self.is_low(cwnd) {
            keep(self.beta, BETA_ONE) as f64
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
