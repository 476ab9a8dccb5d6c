//! Logarithm and exponential near their zeros, where the plain forms cancel.

use super::{exp, ln};

/// `ln(1 + x)` without the rounding of `1 + x`; within a few units in the last place.
///
/// ```
/// assert_eq!(ackclock_core::math::ln_1p(1e-20), 1e-20);
/// ```
pub fn ln_1p(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 0.25 {
        return ln(1.0 + x);
    }
    // 2 artanh(s) with s = x / (2 + x), |s| <= 1/7: eleven terms reach 1e-18.
    let s = x / (2.0 + x);
    let s2 = s * s;
    let mut sum = 0.0;
    for k in (0..11).rev() {
        sum = sum * s2 + 1.0 / f64::from(2 * k + 1);
    }
    2.0 * s * sum
}

/// `exp(x) - 1` without cancellation; within a few units in the last place.
///
/// ```
/// assert_eq!(ackclock_core::math::exp_m1(-1e-20), -1e-20);
/// ```
pub fn exp_m1(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 0.5 {
        return exp(x) - 1.0;
    }
    // Taylor: sixteen terms reach 1e-19.
    let mut sum = 1.0;
    for n in (2..17).rev() {
        sum = 1.0 + sum * x / f64::from(n);
    }
    x * sum
}

#[cfg(test)]
mod tests {
    use super::{exp_m1, ln_1p};

    #[test]
    fn they_agree_with_the_library() {
        for e in -30..2 {
            for k in [1.0, 1.7, 2.3, 4.9, 9.9] {
                let x = k * 10f64.powi(e);
                for x in [x, -x] {
                    assert!((exp_m1(x) / x.exp_m1() - 1.0).abs() < 1e-13, "{x}");
                    if x > -1.0 {
                        assert!((ln_1p(x) / x.ln_1p() - 1.0).abs() < 1e-14, "{x}");
                    }
                }
            }
        }
        assert_eq!((ln_1p(0.0), exp_m1(0.0), ln_1p(-1.0)), (0.0, 0.0, f64::NEG_INFINITY));
    }
}
