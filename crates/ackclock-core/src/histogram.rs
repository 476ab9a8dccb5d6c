//! Order statistics of delays in fixed relative precision.

/// Bits of a mantissa: bins are 2^-10 of their value wide, below 0.1 %.
const BITS: u32 = 10;

/// Counts of values in bins of constant relative width; values below 2048 have a bin each.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
}

#[inline]
fn bin(v: u64) -> usize {
    let e = (64 - v.leading_zeros()).saturating_sub(BITS + 1);
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
        let i = bin(v);
        if i >= self.counts.len() {
            self.counts.resize(i + 1, 0);
        }
        self.counts[i] += 1;
        self.total += 1;
        self.sum += u128::from(v);
    }

    /// The nearest-rank percentile, `p` in (0, 1]; none without values.
    pub fn percentile(&self, p: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        let rank = ((p * self.total as f64).ceil() as u64).clamp(1, self.total);
        let mut seen = 0;
        for (i, c) in self.counts.iter().enumerate() {
            seen += c;
            if seen >= rank {
                return Some(value(i));
            }
        }
        None
    }

    /// The mean, exactly; none without values.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.total
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
}
