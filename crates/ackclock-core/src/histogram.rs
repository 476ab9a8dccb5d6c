//! Order statistics of delays in fixed relative precision.

/// Bits of a mantissa: bins are 2^-10 of their value wide, below 0.1 %.
const BITS: u32 = 10;

/// Bins that are made together.
const MADE_TOGETHER: usize = 64;

/// Counts of values in bins of constant relative width; values below 2048 have a bin each.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// From bin number `first` on, as far as there were values.
    counts: Vec<u64>,
    first: usize,
    sum: u128,
}

#[inline]
fn bin(v: u64) -> usize {
    let e = (v | 1 << BITS).ilog2() - BITS;
    ((u64::from(e) << BITS) + (v >> e)) as usize
}

/// The middle of a bin.
fn value(bin: usize) -> f64 {
    let bin = bin as u64;
    let e = (bin >> BITS).saturating_sub(1);
    let low = (bin - (e << BITS)) << e;
    low as f64 + ((1u64 << e) - 1) as f64 / 2.0
}

impl Histogram {
    /// Counts `v`.
    #[inline]
    pub fn record(&mut self, v: u64) {
        // A bin before the first is beyond the last, too.
        let mut i = bin(v).wrapping_sub(self.first);
        if i >= self.counts.len() {
            i = self.reach(bin(v));
        }
        self.counts[i] += 1;
        self.sum += u128::from(v);
    }

    /// Makes room for bin number `bin`, and says where it stands.
    #[cold]
    #[inline(never)]
    fn reach(&mut self, bin: usize) -> usize {
        let (low, high) = (bin / MADE_TOGETHER * MADE_TOGETHER, (bin / MADE_TOGETHER + 1) * MADE_TOGETHER);
        if self.counts.is_empty() {
            self.first = low;
        }
        if low < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - low));
            self.first = low;
        }
        self.counts.resize(self.counts.len().max(high - self.first), 0);
        bin - self.first
    }

    /// The nearest-rank percentile, `p` in (0, 1]; none without values.
    pub fn percentile(&self, p: f64) -> Option<f64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = ((p * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        for (i, c) in self.counts.iter().enumerate() {
            seen += c;
            if seen >= rank {
                return Some(value(self.first + i));
            }
        }
        None
    }

    /// The mean, exactly; none without values.
    pub fn mean(&self) -> Option<f64> {
        let total = self.count();
        (total > 0).then(|| self.sum as f64 / total as f64)
    }

    /// The sum of the values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_monotone_and_narrow() {
        let mut last = 0;
        for v in (0..5000).chain((13..50).map(|e| 1u64 << e)).chain([u64::MAX / 2]) {
            let b = bin(v);
            let mid = value(b);
            assert!((mid - v as f64).abs() <= v as f64 / 1024.0, "{v} {mid}");
            assert!(b >= last);
            last = b;
        }
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut h = Histogram::default();
        (1..=100).for_each(|v| h.record(v));
        assert_eq!([0.5, 0.95, 0.99, 1.0].map(|p| h.percentile(p).unwrap()), [50.0, 95.0, 99.0, 100.0]);
        assert_eq!(h.mean(), Some(50.5));
        assert_eq!(Histogram::default().percentile(0.5), None);
    }

    #[test]
    fn only_bins_between_the_least_and_the_largest_value_are_kept() {
        let mut h = Histogram::default();
        for v in [50_000_000, 80_000_000, 20_000_000, 50_000_001] {
            h.record(v);
        }
        assert!(h.counts.len() < 3 * 1024, "{}", h.counts.len());
        let within = |p: f64, v: f64| (h.percentile(p).unwrap() / v - 1.0).abs() < 1.0 / 1024.0;
        assert!(within(0.25, 2e7) && within(0.5, 5e7) && within(0.75, 5e7) && within(1.0, 8e7));
        assert_eq!((h.count(), h.mean()), (4, Some(50_000_000.25)));
    }
}
