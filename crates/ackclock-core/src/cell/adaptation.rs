//! Link adaptation: from SINR to CQI, from CQI to a modulation and coding scheme.
//!
//! A user reports the largest CQI whose threshold its SINR reaches; the base station uses the scheme that belongs to it (TS 36.213 table
//! 7.2.3-1 and 7.1.7.1-1). Without quantisation the base station picks the fastest of all 29 schemes directly, by the SINR at which it
//! has 10 % of block errors.

use super::tables::{CQI, CQIS, SCHEMES};

/// Where the CQI rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thresholds {
    /// SINR of 10 % block errors of long code blocks: the error model of ns-3, by mutual information.
    #[default]
    Miesm,
    /// Common values of link-level simulations, one to three dB stricter.
    LinkLevel,
    /// Shannon's formula with a gap for a bit error rate of 5e-5 (G. Piro et al., EuropeanWireless 2010): strictly above.
    Gap,
    /// Where ns-3's `LteAmc` switches: it judges a block of one group of resource blocks, which is short and needs more. Recorded in steps
    /// of 0.25 dB.
    Lena,
}

/// The first SINR of the record at which ns-3 reports each CQI, dB; between it and 0.25 dB less lies the threshold.
const LENA: [f64; CQIS] = [-4.25, -3.25, -1.5, 0.5, 2.25, 4.5, 6.25, 7.75, 10.25, 11.5, 13.75, 15.5, 17.0, 19.0, 20.0];

impl Thresholds {
    /// Every set.
    pub const ALL: [Thresholds; 4] = [Thresholds::Miesm, Thresholds::LinkLevel, Thresholds::Gap, Thresholds::Lena];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Thresholds::Miesm => "miesm",
            Thresholds::LinkLevel => "linklevel",
            Thresholds::Gap => "gap",
            Thresholds::Lena => "lena",
        }
    }

    /// The threshold of each CQI, dB.
    pub fn values(self) -> [f64; CQIS] {
        match self {
            Thresholds::Miesm => CQI.map(|c| c.thresholds[0]),
            Thresholds::LinkLevel => CQI.map(|c| c.thresholds[1]),
            Thresholds::Gap => CQI.map(|c| c.thresholds[2]),
            Thresholds::Lena => LENA.map(|x| x - 0.125),
        }
    }
}

/// A step of the adaptation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// From this SINR on, dB.
    pub sinr_db: f64,
    /// This scheme.
    pub mcs: u8,
}

/// Which scheme is used at which SINR.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// Rising.
    pub levels: Vec<Level>,
    thresholds: [f64; CQIS],
    strict: bool,
}

impl Adaptation {
    /// With these thresholds; not `quantised` all schemes are used.
    pub fn new(set: Thresholds, quantised: bool) -> Adaptation {
        let thresholds = set.values();
        let levels = if quantised {
            thresholds.iter().zip(&CQI).map(|(x, c)| Level { sinr_db: *x, mcs: c.mcs }).collect()
        } else {
            SCHEMES.iter().zip(0..).map(|(s, mcs)| Level { sinr_db: s.sinr_db, mcs }).collect()
        };
        Adaptation { levels, thresholds, strict: set == Thresholds::Gap }
    }

    /// Whether `sinr_db` reaches `threshold`.
    #[inline]
    pub fn reaches(&self, sinr_db: f64, threshold: f64) -> bool {
        sinr_db > threshold || (!self.strict && sinr_db == threshold)
    }

    /// The CQI, 0 to 15.
    pub fn cqi(&self, sinr_db: f64) -> u8 {
        self.thresholds.partition_point(|t| self.reaches(sinr_db, *t)) as u8
    }

    /// The scheme; none below the first level.
    pub fn scheme(&self, sinr_db: f64) -> Option<u8> {
        let n = self.levels.partition_point(|l| self.reaches(sinr_db, l.sinr_db));
        Some(self.levels[n.checked_sub(1)?].mcs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::bits;
    use super::*;

    #[test]
    fn a_cqi_is_the_largest_that_is_reached() {
        let a = Adaptation::new(Thresholds::Miesm, true);
        assert_eq!([-8.0, -7.24, 0.58, 0.59, 19.51, 19.52, 60.0].map(|x| a.cqi(x)), [0, 1, 4, 5, 14, 15, 15]);
        assert_eq!([-8.0, -7.24, 0.59, 60.0].map(|x| a.scheme(x)), [None, Some(0), Some(8), Some(28)]);
        // Shannon's formula asks for more than the threshold.
        let gap = Adaptation::new(Thresholds::Gap, true);
        assert_eq!((gap.cqi(2.22), gap.cqi(2.23)), (2, 3));
        assert_eq!((a.cqi(-6.0), Adaptation::new(Thresholds::LinkLevel, true).cqi(-6.0)), (1, 1));
    }

    #[test]
    fn all_schemes_are_finer() {
        let fine = Adaptation::new(Thresholds::Miesm, false);
        let coarse = Adaptation::new(Thresholds::Miesm, true);
        for k in -800..2500 {
            let x = f64::from(k) / 100.0;
            let (f, c) = (fine.scheme(x), coarse.scheme(x));
            assert!(f == c || f == c.map(|m| m + 1), "{x}: {f:?} {c:?}");
        }
        assert_eq!(fine.scheme(3.73), Some(11));
    }

    /// What ns-3 does: SNR in dB, CQI, scheme (-1: not served), bits of a block over 100 resource blocks.
    fn record() -> Vec<(f64, u8, i32, u32)> {
        let text = include_str!("tables/lte-amc-miesm.csv");
        let rows = text.lines().filter(|l| !l.starts_with('#')).skip(1);
        rows.map(|line| {
            let f: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
            (f[0], f[1] as u8, f[2] as i32, f[3] as u32)
        })
        .collect()
    }

    #[test]
    fn ns3_switches_where_it_was_recorded() {
        let lena = Adaptation::new(Thresholds::Lena, true);
        let record = record();
        assert_eq!(record.len(), 161);
        for (snr, cqi, mcs, tb) in record {
            assert_eq!(lena.cqi(snr), cqi, "{snr} dB");
            assert_eq!(lena.scheme(snr).map_or(-1, i32::from), mcs, "{snr} dB");
            assert_eq!(lena.scheme(snr).map_or(0, |m| bits(SCHEMES[usize::from(m)].down, 100)), tb, "{snr} dB");
        }
    }

    #[test]
    fn short_blocks_need_more_than_long_ones() {
        // The same error model, asked for a block of one group instead of code blocks of 6144 bits: never less, at most 3 dB more.
        let (miesm, lena) = (Thresholds::Miesm.values(), Thresholds::Lena.values());
        assert!(miesm.iter().zip(lena).all(|(m, l)| l > *m && l - m < 3.0), "{miesm:?} {lena:?}");
    }
}
