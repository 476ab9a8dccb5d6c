//! The grid of resource blocks: how many a bandwidth has, and how many the downlink gives out at a time.
//!
//! Sources: 3GPP TS 36.104 table 5.6-1 (blocks of 180 kHz), TS 36.213 table 7.1.6.1-1 (groups). Normal cyclic prefix, frequency
//! division duplex: both directions have a grid of their own.

/// Width of a resource block, Hz.
pub const RB_HZ: f64 = 180_000.0;

/// Bandwidths in MHz and their resource blocks.
pub const BANDWIDTHS: [(f64, u16); 6] = [(1.4, 6), (3.0, 15), (5.0, 25), (10.0, 50), (15.0, 75), (20.0, 100)];

/// Resource blocks and how they are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Resource blocks.
    pub rbs: u16,
    /// Resource blocks of a group; the last group has what remains.
    pub group: u16,
}

impl Grid {
    /// Of a bandwidth, if it is one of [`BANDWIDTHS`].
    pub fn of_bandwidth(mhz: f64) -> Option<Grid> {
        let (_, rbs) = BANDWIDTHS.into_iter().find(|b| b.0 == mhz)?;
        let group = match rbs {
            0..=10 => 1,
            11..=26 => 2,
            27..=63 => 3,
            _ => 4,
        };
        Some(Grid { rbs, group })
    }

    /// How many groups there are.
    #[inline]
    pub fn groups(&self) -> u16 {
        self.rbs.div_ceil(self.group)
    }

    /// Resource blocks of group `i`.
    #[inline]
    pub fn blocks_of(&self, i: u16) -> u16 {
        self.group.min(self.rbs - i * self.group)
    }

    /// Where resource block `i` lies, Hz from the middle of the band.
    pub fn offset_hz(&self, i: u16) -> f64 {
        (f64::from(i) + 0.5 - f64::from(self.rbs) / 2.0) * RB_HZ
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_and_groups() {
        let expected = [(1.4, 6, 1, 6), (3.0, 15, 2, 8), (5.0, 25, 2, 13), (10.0, 50, 3, 17), (15.0, 75, 4, 19)];
        for (mhz, rbs, group, groups) in expected.into_iter().chain([(20.0, 100, 4, 25)]) {
            let grid = Grid::of_bandwidth(mhz).unwrap();
            assert_eq!((grid.rbs, grid.group, grid.groups()), (rbs, group, groups), "{mhz}");
            assert_eq!((0..groups).map(|i| grid.blocks_of(i)).sum::<u16>(), rbs);
        }
        assert_eq!(Grid::of_bandwidth(7.0), None);
    }

    #[test]
    fn blocks_lie_around_the_middle() {
        let grid = Grid { rbs: 6, group: 1 };
        assert_eq!((grid.offset_hz(0), grid.offset_hz(5)), (-450_000.0, 450_000.0));
    }
}
