//! H-TCP as Linux 6.12 computes it: clock ticks, whole segments, 7-bit fractions and the overflow of 32 bits.

use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::params::Params;
use crate::slowstart::SlowStart;
use crate::time::{Span, Time};

/// Bits of the fractions of alpha and beta.
const BITS: u32 = 7;
const ONE: u32 = 1 << BITS;

/// What an unfounded reduction restores.
#[derive(Clone, Copy, Debug)]
struct Before {
    congestion: u32,
    rtt_max: u32,
    previous: u32,
}

/// State of the integer form; times in clock ticks.
#[derive(Clone, Debug)]
pub struct HtcpInteger {
    tick: Span,
    hz: u32,
    delta_l: u32,
    beta_min: u32,
    beta_max: u32,
    bandwidth_switch: bool,
    rtt_scaling: bool,
    alpha: u32,
    beta: u32,
    /// beta may follow the RTTs: a cut has come since throughput last changed.
    adaptive: bool,
    /// What the next acknowledgment counts.
    acked: u32,
    count: u64,
    rtt_min: u32,
    rtt_max: u32,
    /// When the last congestion began or ended.
    congestion: u32,
    before: Option<Before>,
    /// Throughput, segments per second: segments since `measured_since`, average, maximum, maximum before.
    segments: u32,
    measured_since: u32,
    smoothed: u32,
    maximum: u32,
    previous: u32,
}

impl HtcpInteger {
    /// From H-TCP's parameters.
    pub fn new(p: &Params) -> HtcpInteger {
        let hz = p.int("hz").clamp(1, 1_000_000);
        // Down, as 0.8 is 102/128.
        let fixed = |x: f64| (x * f64::from(ONE)) as u32;
        let beta_min = fixed(p.float("beta_min"));
        let tick = Span(1_000_000_000 / hz);
        HtcpInteger {
            tick,
            hz: hz as u32,
            delta_l: ticks_up(p.duration("delta_l"), tick),
            beta_min,
            beta_max: fixed(p.float("beta_max")).max(beta_min),
            bandwidth_switch: p.bool("bandwidth_switch"),
            rtt_scaling: p.text("rtt_scaling") != "off",
            alpha: ONE,
            beta: beta_min,
            adaptive: false,
            acked: 1,
            count: 0,
            rtt_min: 0,
            rtt_max: 0,
            congestion: 0,
            before: None,
            segments: 0,
            measured_since: 0,
            smoothed: 0,
            maximum: 0,
            previous: 0,
        }
    }

    fn tick_of(&self, now: Time) -> u32 {
        (now.0 / self.tick.0) as u32
    }

    fn measure_rtt(&mut self, rtt: u32, open: bool) {
        if self.rtt_min == 0 || rtt < self.rtt_min {
            self.rtt_min = rtt;
        }
        if open {
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            let most = self.rtt_max.saturating_add(ticks_up(Span::from_millis(20), self.tick));
            if rtt > self.rtt_max && rtt <= most {
                self.rtt_max = rtt;
            }
        }
    }

    fn measure_throughput(&mut self, now: u32, acked: u32, w: u32) {
        self.segments = self.segments.wrapping_add(acked);
        // Growth beyond the window wraps to a number that is never reached: then there is no measurement.
        let enough = w.wrapping_sub((self.alpha >> BITS).max(1));
        let elapsed = now.wrapping_sub(self.measured_since);
        if self.segments < enough || self.rtt_min == 0 || elapsed < self.rtt_min {
            return;
        }
        let rate = self.segments.wrapping_mul(self.hz) / elapsed;
        if now.wrapping_sub(self.congestion) / self.rtt_min <= 3 {
            self.smoothed = rate;
            self.maximum = rate;
        } else {
            self.smoothed = self.smoothed.wrapping_mul(3).wrapping_add(rate) / 4;
            self.maximum = self.maximum.max(self.smoothed);
        }
        self.segments = 0;
        self.measured_since = now;
    }

    fn update_beta(&mut self) {
        if self.bandwidth_switch {
            let (now, before) = (u64::from(self.maximum), u64::from(self.previous));
            self.previous = self.maximum;
            if !(4 * before..=6 * before).contains(&(5 * now)) {
                self.beta = self.beta_min;
                self.adaptive = false;
                return;
            }
        }
        if self.adaptive && self.rtt_min > ticks_up(Span::from_millis(10), self.tick) && self.rtt_max > 0 {
            let ratio = (u64::from(self.rtt_min) << BITS) / u64::from(self.rtt_max);
            self.beta = (ratio as u32).clamp(self.beta_min, self.beta_max);
        } else {
            self.beta = self.beta_min;
            self.adaptive = true;
        }
    }

    fn update_alpha(&mut self, now: u32) {
        let hz = self.hz;
        let mut factor = 1u32;
        let elapsed = now.wrapping_sub(self.congestion);
        if elapsed > self.delta_l {
            let beyond = elapsed - self.delta_l;
            let half = beyond / 2;
            // 32 bits overflow 131 seconds after congestion at 1000 ticks per second.
            let square = half.wrapping_mul(half) / hz;
            factor = (beyond.wrapping_mul(10).wrapping_add(square) / hz).wrapping_add(1);
        }
        if self.rtt_scaling && self.rtt_min > 0 {
            // Eighths of 100 ms / RTT, between a half and ten.
            let scale = ((hz << 3) / self.rtt_min.saturating_mul(10)).clamp(4, 80);
            factor = (factor.wrapping_shl(3) / scale).max(1);
        }
        self.alpha = factor.wrapping_mul(2).wrapping_mul(ONE - self.beta);
        if self.alpha == 0 {
            self.alpha = ONE;
        }
    }
}

/// `span` in ticks, rounded up.
fn ticks_up(span: Span, tick: Span) -> u32 {
    span.0.div_ceil(tick.0.max(1)).min(u64::from(u32::MAX)) as u32
}

impl Avoidance for HtcpInteger {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    fn start(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.congestion = self.tick_of(cx.now);
    }

    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window) {
        let acked = ack.segments as u32;
        if cx.phase == Phase::Open {
            self.acked = acked & 0xffff;
        }
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.0 > 0) {
            // Measured in whole microseconds.
            let rtt = Span(rtt.0 / 1000 * 1000);
            self.measure_rtt(ticks_up(rtt, self.tick), cx.phase == Phase::Open);
        }
        if !self.bandwidth_switch {
            return;
        }
        let now = self.tick_of(cx.now);
        if matches!(cx.phase, Phase::Open | Phase::Disorder) {
            self.measure_throughput(now, acked, w.cwnd as u32);
        } else {
            self.segments = 0;
            self.measured_since = now;
        }
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        // What slow start leaves of its last acknowledgment is not used.
        opening.on_ack(cx, ack, w, acked);
        0.0
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, _ack: &Ack, w: &mut Window, _acked: f64) {
        if self.count.saturating_mul(u64::from(self.alpha)) >> BITS >= w.cwnd as u64 {
            w.cwnd += 1.0;
            self.count = 0;
            self.update_alpha(self.tick_of(cx.now));
        } else {
            self.count += u64::from(self.acked);
        }
        self.acked = 1;
    }

    fn reduce(&mut self, cx: &Cx<'_>, _signal: Signal, w: &Window) -> f64 {
        self.count = 0;
        let (rtt_min, rtt_max) = (self.rtt_min, self.rtt_max);
        self.update_beta();
        self.update_alpha(self.tick_of(cx.now));
        if rtt_min > 0 && rtt_max > rtt_min {
            // Old maxima fade, for the route may have changed.
            self.rtt_max = rtt_min + (u64::from(rtt_max - rtt_min) * 95 / 100) as u32;
        }
        ((w.cwnd as u64).saturating_mul(u64::from(self.beta)) >> BITS) as f64
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        let now = self.tick_of(cx.now);
        match cx.phase {
            Phase::Open => {
                if self.before.take().is_some() {
                    self.congestion = now;
                }
            }
            Phase::Disorder => {}
            Phase::Reduction | Phase::Recovery | Phase::Loss => {
                if cx.phase == Phase::Loss {
                    self.count = 0;
                }
                // After the reduction: what an undo restores is already the faded maximum.
                let (rtt_max, previous) = (self.rtt_max, self.previous);
                self.before = Some(Before { congestion: self.congestion, rtt_max, previous });
                self.congestion = now;
            }
        }
    }

    fn undo(&mut self, _cx: &Cx<'_>, _w: &mut Window) {
        if let Some(before) = self.before.take() {
            self.congestion = before.congestion;
            self.rtt_max = before.rtt_max;
            self.previous = before.previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::htcp::PARAMS;
    use super::*;
    use crate::cc::testing;

    fn htcp() -> HtcpInteger {
        HtcpInteger::new(&Params::new(PARAMS, &[]).unwrap())
    }

    fn alpha(h: &mut HtcpInteger, delta: u32) -> f64 {
        h.update_alpha(delta);
        f64::from(h.alpha) / 128.0
    }

    #[test]
    fn growth_is_the_papers_rounded_down() {
        let mut h = htcp();
        assert_eq!((h.beta_min, h.beta_max), (64, 102));
        for (delta, want) in [(500, 1.0), (1000, 1.0), (1500, 6.0), (2000, 11.0), (5000, 45.0), (10_000, 111.0)] {
            assert_eq!(alpha(&mut h, delta), want, "{delta}");
        }
        h.beta = 102;
        assert_eq!(alpha(&mut h, 2000), 11.0 * 52.0 / 128.0);
        // A minimum RTT of 40 ms divides by 20/8, one of 320 ms multiplies by two; growth stays one at least.
        h.beta = 64;
        for (rtt, want) in [(40, 4.0), (80, 8.0), (320, 22.0), (5, 1.0)] {
            h.rtt_min = rtt;
            assert_eq!(alpha(&mut h, 2000), want, "{rtt}");
        }
    }

    #[test]
    fn the_square_of_a_long_time_overflows_as_in_linux() {
        let mut h = htcp();
        assert_eq!(alpha(&mut h, 1000 + 131_070), 1.0 + ((1_310_700 + 4_294_836) / 1000) as f64);
        assert_eq!(alpha(&mut h, 1000 + 131_072), 1.0 + 1310.0);
    }

    #[test]
    fn half_is_kept_until_throughput_is_steady_for_one_congestion() {
        let mut h = htcp();
        (h.rtt_min, h.rtt_max, h.maximum) = (40, 60, 800);
        let w = Window { cwnd: 100.0, ssthresh: 2.0 };
        testing::with_cx(1448, |cx| {
            let cut = |h: &mut HtcpInteger| h.reduce(cx, Signal::Loss { flight: 0 }, &w);
            // Throughput has changed from 0; now it is steady, but this is the first such congestion.
            assert_eq!([cut(&mut h), cut(&mut h)], [50.0, 50.0]);
            // The maximum has faded from 60 to 59 and 58: 128 * 40 / 58 = 88.
            assert_eq!(cut(&mut h), (100 * 88 / 128) as f64);
            h.rtt_max = 41;
            assert_eq!(cut(&mut h), (100 * 102 / 128) as f64);
            // An RTT of 10 ms or less is too coarse for a ratio.
            h.rtt_min = 10;
            assert_eq!(cut(&mut h), 50.0);
            h.maximum = 1000;
            assert_eq!(cut(&mut h), 50.0);
        });
    }

    #[test]
    fn growth_counts_what_the_last_open_acknowledgment_covered() {
        let mut h = htcp();
        let w = &mut Window { cwnd: 4.0, ssthresh: 2.0 };
        testing::with_cx(1448, |cx| {
            // Of whatever size.
            let ack = Ack { acked: 300, segments: 2, ..testing::ack(2.0) };
            let mut windows = Vec::new();
            for _ in 0..4 {
                h.observe(cx, &ack, w);
                h.grow(cx, &ack, w, 2.0);
                windows.push(w.cwnd);
            }
            // Two acknowledgments fill the count; the one that finds it full adds a segment and counts nothing.
            assert_eq!(windows, [4.0, 4.0, 5.0, 5.0]);
        });
    }
}
