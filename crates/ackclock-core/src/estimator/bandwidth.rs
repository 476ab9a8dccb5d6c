//! Bandwidth from the stream of acknowledgments, as Westwood and Westwood+ estimate it.

use crate::time::{Span, Time};

/// Counts what each acknowledgment delivered, once: a duplicate stands for one segment, and the cumulative
/// acknowledgment that follows does not count it again (AckedCount, Mascolo et al., MobiCom 2001).
#[derive(Clone, Debug, Default)]
pub struct AckedCount {
    /// Bytes counted for duplicates and not yet acknowledged cumulatively.
    accounted: u64,
}

impl AckedCount {
    /// Bytes that an acknowledgment stands for which advances the cumulative acknowledgment by `advance`.
    pub fn take(&mut self, advance: u64, mss: u64) -> u64 {
        if advance == 0 {
            self.accounted = self.accounted.saturating_add(mss);
            return mss;
        }
        if advance <= mss {
            return advance;
        }
        if self.accounted >= advance {
            self.accounted -= advance;
            return mss;
        }
        advance - std::mem::take(&mut self.accounted)
    }
}

/// A low-pass filter with time constant tau, discretised by the bilinear (Tustin) transform, whose samples need not be
/// evenly spaced:
///
/// sigma = 2 tau / dt;  B = (sigma - 1)/(sigma + 1) B + (b + b_before)/(sigma + 1)
#[derive(Clone, Debug)]
pub struct Tustin {
    tau: f64,
    /// Longest time between samples, as a part of tau: 1/m of the paper.
    gap: Span,
    rate: f64,
    sample: f64,
    last: Time,
    /// Bytes that arrived at the very time of the last sample.
    pending: u64,
}

/// So many empty samples leave nothing of the estimate.
const FORGOTTEN: u64 = 4096;

impl Tustin {
    /// With time constant `tau`, and an empty sample whenever `tau`/`m` passes without one.
    pub fn new(tau: Span, m: f64) -> Tustin {
        let tau = tau.max(Span(1));
        let gap = Span(((tau.0 as f64 / m.max(1.0)) as u64).max(1));
        Tustin { tau: tau.as_secs_f64(), gap, rate: 0.0, sample: 0.0, last: Time::ZERO, pending: 0 }
    }

    /// Time begins to count at `now`: before it nothing could be delivered.
    pub fn begin(&mut self, now: Time) {
        self.last = now;
        self.pending = 0;
    }

    fn filter(&mut self, b: f64, dt: f64) {
        let sigma = 2.0 * self.tau / dt;
        self.rate = ((sigma - 1.0) * self.rate + b + self.sample) / (sigma + 1.0);
        self.sample = b;
    }

    /// `bytes` were delivered at `now`.
    pub fn delivered(&mut self, now: Time, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
        let mut dt = now.since(self.last).0;
        if dt == 0 {
            return;
        }
        let empty = (dt - 1) / self.gap.0;
        if empty > FORGOTTEN {
            (self.rate, self.sample) = (0.0, 0.0);
        } else {
            for _ in 0..empty {
                self.filter(0.0, self.gap.as_secs_f64());
            }
        }
        dt -= empty * self.gap.0;
        let seconds = dt as f64 * 1e-9;
        self.filter(self.pending as f64 / seconds, seconds);
        self.pending = 0;
        self.last = now;
    }

    /// The estimate, bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got / want - 1.0).abs() < 1e-7, "{got} != {want}");
    }

    #[test]
    fn evenly_spaced_samples() {
        let mut f = Tustin::new(Span::from_millis(500), 2.0);
        for (k, want) in [90909.09, 256198.35, 391435.01, 502083.19, 592613.52].into_iter().enumerate() {
            f.delivered(Time(100_000_000 * (k as u64 + 1)), 100_000);
            assert!((f.rate() - want).abs() < 0.01, "{} != {want}", f.rate());
        }
    }

    #[test]
    fn unevenly_spaced_samples() {
        let mut f = Tustin::new(Span::from_millis(500), 2.0);
        for (ms, bytes, want) in [(100, 100_000, 90909.09), (150, 100_000, 225108.23), (350, 100_000, 566738.82)] {
            f.delivered(Time(ms * 1_000_000), bytes);
            assert!((f.rate() - want).abs() < 0.01, "{} != {want}", f.rate());
        }
    }

    #[test]
    fn silence_lowers_the_estimate() {
        // tau/m = 250 ms, sigma = 4: an empty sample after a full one of b takes B to (3 B + b)/5, the next to 3/5.
        let mut f = Tustin::new(Span::from_millis(500), 2.0);
        f.delivered(Time(100_000_000), 100_000);
        let first = f.rate();
        f.delivered(Time(100_000_000 + 500_000_001), 0);
        let sigma = 1.0 / 1e-9;
        let twice = (3.0 * first + 1e6) / 5.0 * 0.6;
        close(f.rate(), twice * (sigma - 1.0) / (sigma + 1.0));
        f.delivered(Time(u64::MAX / 2), 0);
        assert_eq!(f.rate(), 0.0);
    }

    #[test]
    fn acknowledgments_of_one_instant_are_one_sample() {
        let (mut a, mut b) = (Tustin::new(Span::from_millis(500), 2.0), Tustin::new(Span::from_millis(500), 2.0));
        a.begin(Time(7));
        b.begin(Time(7));
        a.delivered(Time(7), 600);
        a.delivered(Time(50_000_007), 400);
        b.delivered(Time(50_000_007), 1000);
        assert_eq!(a.rate(), b.rate());
    }

    #[test]
    fn duplicates_count_once() {
        let mut c = AckedCount::default();
        let taken: Vec<u64> = [1000, 0, 0, 0, 4000, 2000].into_iter().map(|a| c.take(a, 1000)).collect();
        assert_eq!(taken, [1000, 1000, 1000, 1000, 1000, 2000]);
        // More duplicates than a partial acknowledgment covers: it counts as one segment itself.
        let mut c = AckedCount::default();
        let taken: Vec<u64> = [0, 0, 0, 2000, 1000, 2000].into_iter().map(|a| c.take(a, 1000)).collect();
        assert_eq!(taken, [1000, 1000, 1000, 1000, 1000, 1000]);
    }
}
