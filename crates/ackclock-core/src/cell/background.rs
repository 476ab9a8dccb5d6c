//! Other users of the cell, who take a share of its TTIs: evenly spread, by Bresenham's line.

/// Parts of the whole.
const WHOLE: u64 = 1_000_000_000;

/// Whose TTIs are whose.
#[derive(Clone, Copy, Debug)]
pub struct Background {
    taken: u64,
}

impl Background {
    /// With this share of the TTIs, from 0 to below 1.
    pub fn new(share: f64) -> Background {
        Background { taken: (share * WHOLE as f64 + 0.5) as u64 }
    }

    /// Whether TTI number `tick` belongs to the others.
    #[inline]
    pub fn takes(&self, tick: u64) -> bool {
        if self.taken == 0 {
            return false;
        }
        let before = |tick: u64| (u128::from(tick) * u128::from(self.taken) / u128::from(WHOLE)) as u64;
        before(tick + 1) > before(tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_even() {
        for share in [0.0, 0.065, 0.25, 1.0 / 3.0, 0.9] {
            let b = Background::new(share);
            let taken: Vec<u64> = (0..100_000).filter(|k| b.takes(*k)).collect();
            assert!((taken.len() as f64 - share * 1e5).abs() <= 1.0, "{share}: {}", taken.len());
            let gaps = taken.windows(2).map(|w| w[1] - w[0]);
            let (least, most) = gaps.fold((u64::MAX, 0), |(a, b), g| (a.min(g), b.max(g)));
            assert!(taken.is_empty() || most - least <= 1, "{share}: {least}..{most}");
        }
    }
}
