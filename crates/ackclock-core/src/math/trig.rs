//! Sine and cosine of whole and broken turns.

use std::f64::consts::TAU;

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
    // Taylor's series: nine terms of each reach 1e-18.
    let (mut c, mut s) = (1.0, 1.0);
    for k in (1..9).rev() {
        let k = f64::from(2 * k);
        c = 1.0 - c * x2 / (k * (k - 1.0));
        s = 1.0 - s * x2 / (k * (k + 1.0));
    }
    s *= x;
    match quarters & 3 {
        0 => (c, s),
        1 => (-s, c),
        2 => (-c, -s),
        _ => (s, -c),
    }
}

#[cfg(test)]
mod tests {
    use super::{cos_sin, TAU};

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
