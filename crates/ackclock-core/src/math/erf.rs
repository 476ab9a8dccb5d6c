//! The complement of the error function.

use super::exp;

/// `erfc(x)`, absolute error below 1.5e-7: the approximation 7.1.26 of M. Abramowitz and I. Stegun, Handbook of mathematical functions
/// (1964).
///
/// ```
/// assert!((ackclock_core::math::erfc(0.0) - 1.0).abs() < 1.5e-7);
/// ```
pub fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    series.iter().fold(0.0, |sum, a| sum * t + a) * t * exp(-x * x)
}

#[cfg(test)]
mod tests {
    use super::erfc;
    use crate::math::normal;

    #[test]
    fn it_is_twice_the_tail_of_the_normal_distribution() {
        for k in -60..=60 {
            let x = f64::from(k) * 0.1;
            let exact = 2.0 * normal(-x * std::f64::consts::SQRT_2);
            assert!((erfc(x) - exact).abs() < 1.5e-7, "{x}: {}", erfc(x));
        }
        assert_eq!((erfc(40.0), erfc(-40.0)), (0.0, 2.0));
    }
}
