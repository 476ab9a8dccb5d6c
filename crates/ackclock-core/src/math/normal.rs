//! The inverse of the normal distribution function.

use super::ln;

// Numerator and denominator of Wichura's three rational approximations, highest power first.
const CENTRE: [[f64; 8]; 2] = [
    [
        2_509.080_928_730_122_7,
        33_430.575_583_588_13,
        67_265.770_927_008_7,
        45_921.953_931_549_87,
        13_731.693_765_509_46,
        1_971.590_950_306_551_3,
        133.141_667_891_784_38,
        3.387_132_872_796_366_5,
    ],
    [
        5_226.495_278_852_854,
        28_729.085_735_721_943,
        39_307.895_800_092_71,
        21_213.794_301_586_597,
        5_394.196_021_424_751,
        687.187_007_492_057_9,
        42.313_330_701_600_91,
        1.0,
    ],
];
const MIDDLE: [[f64; 8]; 2] = [
    [
        0.000_774_545_014_278_341_4,
        0.022_723_844_989_269_184,
        0.241_780_725_177_450_6,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-09,
        0.000_547_593_808_499_534_5,
        0.015_198_666_563_616_457,
        0.148_103_976_427_480_08,
        0.689_767_334_985_1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
];
const TAIL: [[f64; 8]; 2] = [
    [
        2.010_334_399_292_288_1e-07,
        2.711_555_568_743_487_6e-05,
        0.001_242_660_947_388_078_4,
        0.026_532_189_526_576_124,
        0.296_560_571_828_504_87,
        1.784_826_539_917_291_3,
        5.463_784_911_164_114,
        6.657_904_643_501_103,
    ],
    [
        2.044_263_103_389_939_7e-15,
        1.421_511_758_316_446e-07,
        1.846_318_317_510_054_8e-05,
        0.000_786_869_131_145_613_3,
        0.014_875_361_290_850_615,
        0.136_929_880_922_735_8,
        0.599_832_206_555_888,
        1.0,
    ],
];

/// The value below which a standard normal variable stays with probability `p`: the rational approximations of M. J.
/// Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37 (1988), form
/// PPND16. Relative error about 1e-15 for `p` from 1e-300 on; above one half the rounding of `1 - p` limits it.
/// Minus infinity at 0, infinity at 1, NaN outside.
///
/// ```
/// use ackclock_core::math::inverse_normal;
/// assert_eq!(inverse_normal(0.5), 0.0);
/// assert!((inverse_normal(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
/// ```
pub fn inverse_normal(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&CENTRE, 0.180_625 - q * q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-ln(tail)).sqrt();
    let x = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&TAIL, r - 5.0) };
    x.copysign(q)
}

fn ratio(coefficients: &[[f64; 8]; 2], r: f64) -> f64 {
    let [numerator, denominator] = coefficients.map(|c| c.iter().fold(0.0, |sum, a| sum * r + a));
    numerator / denominator
}

/// The standard normal distribution function, by bisection of [`inverse_normal`]: for constants, not for packets.
pub fn normal(x: f64) -> f64 {
    if x > 0.0 {
        return 1.0 - normal(-x);
    }
    let (mut low, mut high) = (0.0, 0.5);
    loop {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if inverse_normal(middle) < x {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{inverse_normal, normal};

    #[test]
    fn percentage_points_agree_with_tables() {
        // Values of Python's statistics.NormalDist.
        let table = [
            (1e-300, -37.047_096_299_361_2),
            (1e-20, -9.262_340_089_798_405),
            (1e-10, -6.361_340_902_404_056),
            (1e-5, -4.264_890_793_922_825),
            (0.001, -3.090_232_306_167_813_5),
            (0.025, -1.959_963_984_540_054),
            (0.3, -0.524_400_512_708_040_7),
        ];
        for (p, x) in table {
            assert!((inverse_normal(p) / x - 1.0).abs() < 1e-14, "{p} {}", inverse_normal(p));
            assert!((normal(x) / p - 1.0).abs() < 1e-11, "{p} {}", normal(x));
        }
        assert!((inverse_normal(0.99999) - 4.264_890_793_923_84).abs() < 1e-10);
        assert!((normal(1.0) - 0.841_344_746_068_543).abs() < 1e-14);
    }

    #[test]
    fn it_rises_and_ends_in_infinity() {
        let x: Vec<f64> = (0..=10_000).map(|k| inverse_normal(f64::from(k) / 10_000.0)).collect();
        assert!(x.windows(2).all(|w| w[0] < w[1]));
        assert_eq!((x[0], x[10_000]), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(inverse_normal(-0.1).is_nan() && inverse_normal(f64::NAN).is_nan());
        assert!(normal(f64::NEG_INFINITY) < 1e-300);
    }
}
