//! BBRv1's model of the path: bottleneck bandwidth, minimum RTT, ACK aggregation, and what follows from them.
//!
//! Amounts of data are whole *units*: segments in variant linux, bytes in variant draft. A bandwidth is in units per
//! microsecond, shifted left by 24 bits as Linux has it.

use super::settings::{GAIN_UNIT, Settings};
use crate::estimator::windowed_filter::WindowedMax;

pub(super) const BW_SHIFT: u32 = 24;
/// The minimum RTT before the first sample.
pub(super) const NO_RTT: u64 = u64::MAX;

/// `a * b / c` without overflow.
#[inline]
pub(super) fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let quotient = product / u128::from(c.max(1));
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

/// `units` in `us` microseconds.
#[inline]
pub(super) fn bandwidth(units: u64, us: u64) -> u64 {
    // Rates above 2^63 units have no meaning, and their products would not fit.
    (units.min(1 << 39) << BW_SHIFT) / us.max(1)
}

/// How much more is acknowledged at a time than the bandwidth lets expect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    begin_us: u64,
    acked: u64,
    excess: [u64; 2],
    present: usize,
    rounds: u64,
}

impl Aggregation {
    /// A new epoch begins.
    pub fn restart(&mut self, now_us: u64) {
        (self.begin_us, self.acked) = (now_us, 0);
    }

    /// The largest excess of the last one to two windows.
    #[inline]
    pub fn excess(&self) -> u64 {
        self.excess[0].max(self.excess[1])
    }

    /// `acked` units were delivered; `round` begins a round trip; `bw` is what is expected and `cwnd` the bound.
    pub fn on_ack(&mut self, s: &Settings, now_us: u64, round: bool, acked: u64, bw: u64, cwnd: u64) {
        if round {
            self.rounds += 1;
            if self.rounds >= s.extra_acked_rounds {
                self.rounds = 0;
                self.present ^= 1;
                self.excess[self.present] = 0;
            }
        }
        let mut expected = mul_div(bw, now_us.saturating_sub(self.begin_us), 1 << BW_SHIFT);
        // Twenty bits count the segments of an epoch in Linux.
        let long = s.linux && self.acked + acked >= 1 << 20;
        if self.acked <= expected || long {
            self.restart(now_us);
            expected = 0;
        }
        self.acked += acked;
        let excess = (self.acked - expected).min(cwnd);
        self.excess[self.present] = self.excess[self.present].max(excess);
    }
}

/// The model.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Bytes of a unit.
    pub unit: u64,
    /// Units of a segment.
    pub segment: u64,
    /// Largest delivery rate of the last rounds.
    pub max_bw: WindowedMax,
    /// The long-term rate of a policed path, while it is in force.
    pub policed_bw: Option<u64>,
    pub min_rtt_us: u64,
    pub aggregation: Aggregation,
    /// Units, before anything is known.
    pub initial_window: u64,
}

impl Path {
    pub fn new() -> Path {
        Path {
            unit: 1,
            segment: 1,
            max_bw: WindowedMax::new(0, 0),
            policed_bw: None,
            min_rtt_us: NO_RTT,
            aggregation: Aggregation::default(),
            initial_window: 10,
        }
    }

    /// The bandwidth in force.
    #[inline]
    pub fn bw(&self) -> u64 {
        self.policed_bw.unwrap_or_else(|| self.max_bw.get())
    }

    /// Units of so many bytes.
    #[inline]
    pub fn units(&self, bytes: u64) -> u64 {
        if self.unit == 1 { bytes } else { bytes.div_ceil(self.unit) }
    }

    /// Bytes of a number of units.
    #[inline]
    pub fn bytes(&self, units: u64) -> u64 {
        units.saturating_mul(self.unit)
    }

    /// Bytes per second at `gain` times `bw`, less the margin.
    pub fn pacing_rate(&self, s: &Settings, bw: u64, gain: u64) -> u64 {
        let bytes = mul_div(bw.saturating_mul(self.unit), gain, GAIN_UNIT);
        mul_div(bytes, s.paced_millionths, 1 << BW_SHIFT)
    }

    /// `gain` times the bandwidth-delay product, rounded up; the initial window before any RTT.
    pub fn bdp(&self, bw: u64, gain: u64) -> u64 {
        if self.min_rtt_us == NO_RTT {
            return self.initial_window;
        }
        let product = u128::from(bw) * u128::from(self.min_rtt_us);
        let scaled = product.saturating_mul(u128::from(gain)) / u128::from(GAIN_UNIT);
        (scaled.div_ceil(1 << BW_SHIFT)).min(1 << 50) as u64
    }

    /// The burst that the sending host is given at a time, units: 1 ms of data, within bounds.
    pub fn quantum(&self, s: &Settings, rate: u64) -> u64 {
        let low = rate < 1_200_000 / 8;
        if s.linux {
            // A 1024th of a second; an offloaded burst holds 64 KiB with its headers.
            let segments = (rate >> 10).min(65_215) / self.unit;
            return segments.max(if low { 1 } else { 2 }).min(127);
        }
        match rate {
            _ if low => self.segment,
            _ if rate < 24_000_000 / 8 => 2 * self.segment,
            _ => (rate / 1000).min(65_536),
        }
    }
}
