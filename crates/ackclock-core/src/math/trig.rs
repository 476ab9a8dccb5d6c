//! Sine and cosine of whole and broken turns.

use std::f64::consts::TAU;

/// Terms of Taylor's series, which reach 1e-18 at an eighth of a turn.
const TERMS: usize = 9;
/// Those of the cosine in the square of the angle, the highest first.
const COSINE: [f64; TERMS] = inverse_factorials(0);
/// Those of the sine over the angle.
const SINE: [f64; TERMS] = inverse_factorials(1);

/// `1 / n!` for every second `n` from `first` on, with changing signs, the last first.
const fn inverse_factorials(first: usize) -> [f64; TERMS] {
    let mut all = [0.0; TERMS];
    let (mut factorial, mut sign, mut n, mut i) = (1.0, 1.0, first, 0);
    while i < TERMS {
        all[TERMS - 1 - i] = sign / factorial;
        factorial *= ((n + 1) * (n + 2)) as f64;
        (sign, n, i) = (-sign, n + 2, i + 1);
    }
    all
}

/// Cosine and sine of `turns` times a full turn; within a few units in the last place of 1 as long as `turns` is below 2^40 or so, where
/// the fraction of a turn begins to lose digits.
///
/// ```
/// assert_eq!(ackclock_core::math::cos_sin(0.25), (0.0, 1.0));
/// assert_eq!(ackclock_core::math::cos_sin(-3.0), (1.0, 0.0));
/// ```
pub fn cos_sin(turns: f64) -> (f64, f64) {
    // The nearest quarter turn, and what is left: at most an eighth, 0.7854 in radians.
    let quarters = (turns * 4.0 + if turns < 0.0 { -0.5 } else { 0.5 }) as i64;
    let x = (turns - quarters as f64 / 4.0) * TAU;
    let x2 = x * x;
    let c = COSINE.iter().fold(0.0, |sum, a| sum * x2 + a);
    let s = SINE.iter().fold(0.0, |sum, a| sum * x2 + a) * x;
    // Turned by the quarters, without a branch: which quarter it is nobody can foresee. The second bit of a number of quarters becomes
    // the sign.
    let odd = (quarters & 1) as usize;
    let (c, s) = ([c, s][odd], [s, c][odd]);
    let signed = |x: f64, quarters: i64| f64::from_bits(x.to_bits() ^ (((quarters & 2) as u64) << 62));
    (signed(c, quarters + 1), signed(s, quarters))
}

#[cfg(test)]
mod tests {
    use super::{TAU, cos_sin};

    #[test]
    fn they_agree_with_the_library() {
        for k in -4000..4000 {
            let turns = f64::from(k) * 0.001_37;
            let (c, s) = cos_sin(turns);
            assert!((c - (turns * TAU).cos()).abs() < 2e-14 && (s - (turns * TAU).sin()).abs() < 2e-14, "{turns}");
            assert!((c * c + s * s - 1.0).abs() < 1e-15, "{turns}");
        }
    }
}
