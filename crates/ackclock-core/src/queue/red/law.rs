//! RED's two probabilities as functions.

use super::settings::Settings;

/// From the average queue to the probability `p_b`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Curve {
    min: f64,
    max: f64,
    /// The average from which everything is dropped: max, or 2 max when gentle.
    edge: f64,
    per_range: f64,
    per_max: f64,
}

impl Curve {
    pub fn new(s: &Settings) -> Curve {
        let edge = if s.gentle { 2.0 * s.max } else { s.max };
        Curve { min: s.min, max: s.max, edge, per_range: 1.0 / (s.max - s.min), per_max: 1.0 / s.max }
    }

    /// Whether the average is below everything.
    #[inline]
    pub fn below(&self, avg: f64) -> bool {
        avg < self.min
    }

    /// Whether the average is so high that no packet may pass.
    #[inline]
    pub fn beyond(&self, avg: f64) -> bool {
        avg >= self.edge
    }

    /// `p_b` (Floyd and Jacobson 1993, fig. 2; the gentle branch Floyd 2000).
    #[inline]
    pub fn probability(&self, avg: f64, max_p: f64) -> f64 {
        if self.below(avg) {
            0.0
        } else if self.beyond(avg) {
            1.0
        } else if avg < self.max {
            max_p * (avg - self.min) * self.per_range
        } else {
            max_p + (1.0 - max_p) * (avg - self.max) * self.per_max
        }
    }

    /// Where adaptive RED wants the average: the middle fifth between the thresholds.
    pub fn target(&self) -> (f64, f64) {
        let range = self.max - self.min;
        (self.min + 0.4 * range, self.min + 0.6 * range)
    }
}

/// `p_a`: `p_b` spread so that the gaps between drops are uniform in place of geometric. `count` packets have passed
/// since the last drop, this one included (Floyd and Jacobson 1993, §4); with `wait` (ns-2) the gaps are uniform in
/// 1/p..2/p in place of 0..1/p.
#[inline]
pub(super) fn spread(pb: f64, count: f64, wait: bool) -> f64 {
    let passed = count * pb;
    let end = if wait { 2.0 } else { 1.0 };
    if passed >= end {
        1.0
    } else if wait && passed < 1.0 {
        0.0
    } else {
        pb / (end - passed)
    }
}
