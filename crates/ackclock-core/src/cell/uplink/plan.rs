//! How many resource blocks a user sends with: its power is shared by them, so more of them carry less each.

use crate::cell::params::Rlc;
use crate::cell::radio::Medium;
use crate::cell::scheduler::{Discipline, Scheduler};
use crate::cell::sinr::decibel;
use crate::cell::tables::{SCHEMES, bits};

/// Resource blocks, a scheme, and what they carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Resource blocks.
    pub rbs: u16,
    /// Scheme.
    pub mcs: u8,
    /// Bytes of the transport block.
    pub size: u32,
}

/// Makes plans.
#[derive(Clone, Debug)]
pub struct Planner {
    /// Least resource blocks of a grant.
    pub least: u16,
    /// Fastest scheme.
    fastest: u8,
    /// Fewest bytes of a block that carries anything.
    useful: u32,
    /// Of every number of resource blocks, what each loses, dB.
    shares_db: Vec<f64>,
}

impl Planner {
    /// For up to `rbs` resource blocks, and at least `least`; with 64QAM or without.
    pub fn new(rbs: u16, least: u16, with_64qam: bool, rlc: &Rlc) -> Planner {
        // The last scheme of 16QAM (table 8.6.1-1).
        let slower = SCHEMES.iter().rposition(|s| s.up_bits <= 4).unwrap_or(0) as u8;
        Planner {
            least: least.min(rbs),
            fastest: if with_64qam { SCHEMES.len() as u8 - 1 } else { slower },
            useful: rlc.block_overhead + rlc.packet_overhead + 4,
            shares_db: (0..=rbs).map(|n| decibel(f64::from(n.max(1)))).collect(),
        }
    }

    /// SNR per resource block when `one_db` is that of all power in one, and power control allows `limit_db`.
    #[inline]
    pub fn sinr_db(&self, one_db: f64, limit_db: f64, rbs: u16) -> f64 {
        (one_db - self.shares_db[usize::from(rbs)]).min(limit_db)
    }

    /// The fewest resource blocks that carry `need` bytes, or those that carry most, of `free` ones. None when there are too few.
    pub fn plan(&self, medium: &Medium, one_db: f64, limit_db: f64, free: u16, need: u64) -> Option<Plan> {
        if free < self.least {
            return None;
        }
        let need = need.max(u64::from(self.useful));
        let mut best: Option<Plan> = None;
        for level in medium.adaptation.levels.iter().rev() {
            if !medium.adaptation.reaches(limit_db, level.sinr_db) {
                continue;
            }
            let reach = |lost: &f64| medium.adaptation.reaches(one_db - lost, level.sinr_db);
            if !reach(&self.shares_db[usize::from(self.least.max(1))]) {
                continue;
            }
            // Entry 0 is not a number of blocks.
            let most = self.shares_db[1..=usize::from(free)].partition_point(reach) as u16;
            if most < self.least {
                continue;
            }
            let mcs = level.mcs.min(self.fastest);
            let itbs = SCHEMES[usize::from(mcs)].up;
            let largest = bits(itbs, most) / 8;
            if u64::from(largest) >= need {
                return Some(self.fewest(mcs, most, need));
            }
            if best.is_none_or(|b| largest > b.size) {
                best = Some(Plan { rbs: most, mcs, size: largest });
            }
        }
        if best.is_none_or(|b| b.size < self.useful) {
            // Nothing reaches: the slowest scheme, as strong as it gets.
            let slowest = self.fewest(0, free, u64::from(self.useful));
            best = (medium.min_mcs0 && slowest.size >= self.useful).then_some(slowest);
        }
        best
    }

    /// The fewest resource blocks, at most `most`, that carry `need` bytes with scheme `mcs`.
    fn fewest(&self, mcs: u8, most: u16, need: u64) -> Plan {
        let itbs = SCHEMES[usize::from(mcs)].up;
        let (mut low, mut high) = (self.least, most);
        while low < high {
            let middle = (low + high) / 2;
            if u64::from(bits(itbs, middle) / 8) >= need {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Plan { rbs: low, mcs, size: bits(itbs, low) / 8 }
    }

    /// How many of the `free` resource blocks one of `users` may have.
    pub fn share(&self, scheduler: &Scheduler, free: u16, users: usize) -> u16 {
        match scheduler.discipline {
            Discipline::RoundRobin => (usize::from(free).div_ceil(users.max(1)) as u16).max(self.least),
            _ => free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::adaptation::{Adaptation, Thresholds};
    use crate::cell::grid::Grid;
    use crate::cell::harq::Model;
    use crate::cell::params::{Errors, Mode};

    fn medium(min_mcs0: bool) -> Medium {
        Medium {
            grid: Grid { rbs: 100, group: 4 },
            adaptation: Adaptation::new(Thresholds::Miesm, true),
            min_mcs0,
            period: 1,
            delay: 4,
            subband: false,
            penalty_db: 0.0,
            band: None,
            model: Model { errors: Errors::None, slope_db: 0.5, retransmissions: 3 },
        }
    }

    #[test]
    fn power_is_shared_by_the_blocks() {
        let planner = Planner::new(100, 3, true, &Rlc::of(Mode::Unacknowledged));
        let plan = |one_db: f64, free, need| planner.plan(&medium(true), one_db, f64::INFINITY, free, need);
        // 40 dB in one block are 20 dB in each of a hundred: CQI 15 (19.52 dB), 75,376 bits.
        assert_eq!(plan(40.0, 100, u64::MAX), Some(Plan { rbs: 100, mcs: 28, size: 75_376 / 8 }));
        // 15 dB in one are 10.23 in three: CQI 10, scheme 18, uplink row 17; 3 blocks of it carry 1032 bits.
        assert_eq!(plan(15.01, 100, 100), Some(Plan { rbs: 3, mcs: 18, size: bits(17, 3) / 8 }));
        // An edge user: 0 dB in one is -4.77 in three, CQI 2 (-5.83 dB); CQI 1 (-7.24 dB) reaches with five: 5 blocks of row 0 are less
        // than 3 of row 2.
        assert_eq!(bits(0, 5), 120);
        assert_eq!(plan(0.0, 100, u64::MAX), Some(Plan { rbs: 3, mcs: 2, size: bits(2, 3) / 8 }));
        // Nobody hears it: the slowest scheme in as few blocks as carry anything (13 bytes: 120 bits are 15).
        assert_eq!(plan(-20.0, 100, 1), Some(Plan { rbs: 5, mcs: 0, size: 15 }));
        assert_eq!(planner.plan(&medium(false), -20.0, f64::INFINITY, 100, 1), None);
        assert_eq!(plan(40.0, 2, 100), None);
    }

    #[test]
    fn power_control_and_16qam_limit_the_scheme() {
        let rlc = Rlc::of(Mode::Unacknowledged);
        let planner = Planner::new(100, 3, true, &rlc);
        let plan = planner.plan(&medium(true), 60.0, 1.0, 100, u64::MAX).unwrap();
        assert_eq!((plan.rbs, plan.mcs), (100, 8), "1 dB: CQI 5");
        let slow = Planner::new(100, 3, false, &rlc).plan(&medium(true), 60.0, f64::INFINITY, 100, u64::MAX).unwrap();
        assert_eq!(slow, Plan { rbs: 100, mcs: 20, size: bits(19, 100) / 8 });
    }
}
