//! The tables of 3GPP TS 36.213: CQI, modulation and coding schemes, transport block sizes.
//!
//! They are committed as CSV files beside this one and become constants when the crate is compiled. Sources, column by column:
//! `cqi.csv` table 7.2.3-1, and SINR thresholds; `mcs.csv` tables 7.1.7.1-1 and 8.6.1-1, spectral efficiencies of R1-081483, and the
//! SINR of 10 % block errors (additive noise, code blocks of 6144 bits) of the link-to-system curves of ns-3's error model;
//! `tbs.csv` table 7.1.7.2.1-1.

mod parse;

use parse::Reader;

/// Highest CQI.
pub const CQIS: usize = 15;
/// How many modulation and coding schemes there are.
pub const MCS: usize = 29;
/// How many rows of transport block sizes there are.
pub const ITBS: usize = 27;
/// Most resource blocks of the table of sizes.
pub const MOST_RBS: usize = 110;

/// A CQI.
#[derive(Clone, Copy, Debug)]
pub struct Cqi {
    /// Bits per symbol.
    pub efficiency: f64,
    /// The scheme used for it: the fastest whose spectral efficiency is not above its own.
    pub mcs: u8,
    /// Least SINR, dB: error model of ns-3 (MIESM), common values of link-level simulations, Shannon's formula with a gap.
    pub thresholds: [f64; 3],
    /// Bits of a transport block over 100 resource blocks.
    pub tbs100: u32,
}

/// A modulation and coding scheme.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Row of the table of sizes, downlink.
    pub down: u8,
    /// Row of the table of sizes, uplink.
    pub up: u8,
    /// Bits per symbol in the uplink: 2, 4, 6.
    pub up_bits: u8,
    /// Bits per symbol.
    pub efficiency: f64,
    /// SINR of 10 % block errors, dB.
    pub sinr_db: f64,
}

/// CQI 1 to 15, the first at 0.
pub const CQI: [Cqi; CQIS] = cqis();
/// The schemes 0 to 28.
pub const SCHEMES: [Scheme; MCS] = schemes();
/// Bits of a transport block, by row and number of resource blocks; none for no block.
pub static TBS: [[u32; MOST_RBS + 1]; ITBS] = sizes();

/// Bits of a transport block of row `itbs` over `rbs` resource blocks, at most [`MOST_RBS`].
#[inline]
pub fn bits(itbs: u8, rbs: u16) -> u32 {
    TBS[itbs as usize][rbs as usize]
}

const fn cqis() -> [Cqi; CQIS] {
    let mut r = Reader::new(include_bytes!("tables/cqi.csv"));
    let mut all = [Cqi { efficiency: 0.0, mcs: 0, thresholds: [0.0; 3], tbs100: 0 }; CQIS];
    r.line();
    r.line();
    let mut i = 0;
    while i < CQIS {
        r.skip(3);
        all[i].efficiency = r.number();
        all[i].mcs = r.whole() as u8;
        r.skip(1);
        all[i].thresholds = [r.number(), r.number(), r.number()];
        all[i].tbs100 = r.whole();
        i += 1;
    }
    all
}

const fn schemes() -> [Scheme; MCS] {
    let mut r = Reader::new(include_bytes!("tables/mcs.csv"));
    let mut all = [Scheme { down: 0, up: 0, up_bits: 0, efficiency: 0.0, sinr_db: 0.0 }; MCS];
    r.line();
    let mut i = 0;
    while i < MCS {
        r.skip(2);
        all[i].down = r.whole() as u8;
        all[i].up_bits = r.whole() as u8;
        all[i].up = r.whole() as u8;
        all[i].efficiency = r.number();
        all[i].sinr_db = r.number();
        i += 1;
    }
    all
}

const fn sizes() -> [[u32; MOST_RBS + 1]; ITBS] {
    let mut r = Reader::new(include_bytes!("tables/tbs.csv"));
    let mut all = [[0; MOST_RBS + 1]; ITBS];
    r.line();
    let mut n = 1;
    while n <= MOST_RBS {
        r.skip(1);
        let mut itbs = 0;
        while itbs < ITBS {
            all[itbs][n] = r.whole();
            itbs += 1;
        }
        n += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_standard() {
        // TS 36.213 table 7.1.7.2.1-1, cells picked by hand.
        let known = [(100, 26, 75_376), (100, 0, 2792), (50, 26, 36_696), (25, 26, 18_336), (6, 26, 4392), (1, 0, 16)];
        for (rbs, itbs, size) in known.into_iter().chain([(110, 26, 75_376), (100, 15, 30_576), (1, 6, 328)]) {
            assert_eq!(bits(itbs, rbs), size, "{rbs} blocks, row {itbs}");
        }
    }

    #[test]
    fn sizes_grow_with_blocks_and_rows() {
        // The one exception of the standard: (1, 6) is 328, which is more than (2, 6) and (1, 7).
        let odd = |n: usize, i: usize| n == 1 && i == 6;
        for n in 1..=MOST_RBS {
            for i in 0..ITBS {
                if n < MOST_RBS && !odd(n, i) {
                    assert!(TBS[i][n + 1] >= TBS[i][n], "{n} {i}");
                }
                if i + 1 < ITBS && !odd(n, i) {
                    assert!(TBS[i + 1][n] > TBS[i][n], "{n} {i}");
                }
            }
        }
        assert!(TBS[6][1] > TBS[6][2] && TBS[6][1] > TBS[7][1]);
    }

    #[test]
    fn every_cqi_has_the_fastest_scheme_that_is_not_more_efficient() {
        for (i, c) in CQI.iter().enumerate() {
            // The efficiencies of the schemes have two decimals.
            let fits = |s: &Scheme| s.efficiency <= (c.efficiency * 100.0 + 0.5).floor() / 100.0;
            let fastest = SCHEMES.iter().rposition(fits);
            assert_eq!(fastest, Some(2 * i), "CQI {}", i + 1);
            assert_eq!(usize::from(c.mcs), 2 * i);
            assert_eq!(c.tbs100, bits(SCHEMES[2 * i].down, 100));
            assert_eq!(c.thresholds[0], SCHEMES[2 * i].sinr_db);
        }
    }

    #[test]
    fn the_gap_thresholds_are_shannons_formula() {
        // eff = log2(1 + SINR / gap), gap = -ln(5 BER) / 1.5 at BER 5e-5; efficiency and threshold have two decimals.
        let gap = -(5.0f64 * 5e-5).ln() / 1.5;
        for c in &CQI {
            let sinr = 10.0 * (gap * (SCHEMES[usize::from(c.mcs)].efficiency.exp2() - 1.0)).log10();
            assert!((sinr - c.thresholds[2]).abs() < 0.006, "{sinr} {c:?}");
        }
    }

    #[test]
    fn full_band_rates() {
        let mbps =
            [2.79, 4.58, 7.22, 10.30, 14.11, 15.84, 19.85, 25.46, 30.58, 32.86, 39.23, 46.89, 55.06, 61.66, 75.38];
        for (c, rate) in CQI.iter().zip(mbps) {
            assert!((f64::from(c.tbs100) / 1000.0 - rate).abs() < 0.006, "{c:?}");
        }
    }
}
