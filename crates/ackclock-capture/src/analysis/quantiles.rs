//! Percentiles of round trip times in little memory: exact for few samples, within 0.4 % for many.

use super::packing::Coder;

/// Samples that are kept as they are.
const EXACT: usize = 256;
/// Room that the samples of the next connection at the same place get.
const KEPT: usize = 32;
/// Unit of what is kept, ns: 32 bits reach 275 s.
const UNIT: u64 = 64;
/// Bins of an octave are 2^-7 of its begin wide.
const BITS: u32 = 7;

/// The samples of one direction.
#[derive(Clone, Debug, Default)]
pub struct Quantiles {
    /// Up to [`EXACT`] the samples, then counts of bins from `first` on.
    of: Vec<u32>,
    binned: bool,
    first: u32,
    count: u64,
}

fn bin(v: u32) -> u32 {
    let e = (v | 1 << BITS).ilog2() - BITS;
    (e << BITS) + (v >> e)
}

fn middle(bin: u32) -> f64 {
    let e = (bin >> BITS).saturating_sub(1);
    let low = u64::from(bin - (e << BITS)) << e;
    low as f64 + ((1u64 << e) - 1) as f64 / 2.0
}

impl Quantiles {
    /// Of no samples.
    pub const NONE: Quantiles = Quantiles { of: Vec::new(), binned: false, first: 0, count: 0 };

    /// Counts a sample, ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let v = u32::try_from(ns / UNIT).unwrap_or(u32::MAX);
        self.count += 1;
        if !self.binned {
            if self.of.len() < EXACT {
                self.of.push(v);
                return;
            }
            let samples = std::mem::take(&mut self.of);
            self.binned = true;
            self.first = bin(v);
            samples.into_iter().for_each(|v| self.count_in(bin(v)));
        }
        self.count_in(bin(v));
    }

    #[inline]
    fn count_in(&mut self, bin: u32) {
        if bin < self.first {
            let more = (self.first - bin) as usize;
            self.of.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bin;
        }
        let at = (bin - self.first) as usize;
        if at >= self.of.len() {
            self.of.resize(at + 1, 0);
        }
        self.of[at] = self.of[at].saturating_add(1);
    }

    /// All of it. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C) {
        if C::READS {
            self.clear();
        }
        let Quantiles { of, binned, first, count } = self;
        c.flags([binned]);
        c.int(first);
        c.word(count);
        if *binned {
            c.array(of);
        } else {
            of.sort_unstable(); // Which came first is of no matter, and steps are smaller than numbers.
            c.sorted(of);
        }
    }

    /// Gives back what room it does not need.
    pub fn shrink(&mut self) {
        if self.of.capacity() > KEPT {
            self.of.shrink_to_fit();
        }
    }

    /// None, in the room of few.
    pub fn clear(&mut self) {
        let mut of = std::mem::take(&mut self.of);
        if of.capacity() > KEPT {
            of = Vec::new();
        }
        of.clear();
        *self = Quantiles { of, ..Quantiles::NONE };
    }

    /// How many samples there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The nearest-rank percentiles, ns; none without samples.
    pub fn percentiles<const N: usize>(&self, of: [f64; N]) -> Option<[f64; N]> {
        if self.count == 0 {
            return None;
        }
        let rank = |p: f64| ((p * self.count as f64).ceil() as u64).clamp(1, self.count);
        if !self.binned {
            let mut sorted = self.of.clone();
            sorted.sort_unstable();
            return Some(of.map(|p| (u64::from(sorted[rank(p) as usize - 1]) * UNIT) as f64));
        }
        Some(of.map(|p| {
            let (rank, mut seen, mut at) = (rank(p), 0, self.first);
            for (i, count) in (0..).zip(&self.of) {
                seen += u64::from(*count);
                if seen >= rank {
                    at = self.first + i;
                    break;
                }
            }
            middle(at) * UNIT as f64
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank_and_close() {
        let mut few = Quantiles::default();
        (1..=100u64).for_each(|ms| few.record(ms * 1_000_000));
        let exact = few.percentiles([0.5, 0.95, 0.99]).unwrap();
        for (found, ms) in exact.iter().zip([50.0, 95.0, 99.0]) {
            assert!((found - ms * 1e6).abs() <= 64.0);
        }
        let mut many = Quantiles::default();
        (1..=10_000u64).rev().for_each(|us| many.record(us * 1000));
        for (found, us) in many.percentiles([0.01, 0.5, 0.99]).unwrap().iter().zip([100.0, 5000.0, 9900.0]) {
            assert!((found / (us * 1e3) - 1.0).abs() < 0.005, "{found} {us}");
        }
        assert_eq!(Quantiles::default().percentiles([0.5]), None);
        few.record(u64::MAX);
        assert_eq!(few.count(), 101);
    }
}
