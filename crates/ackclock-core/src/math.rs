//! Elementary functions that give the same bits on every machine.
//!
//! Addition, multiplication, division and square root are exact by IEEE 754. The functions of the system's
//! mathematical library are not: they differ in the last bit between versions and between processors. A window that
//! differs in its last bit can lose another packet, so algorithms use the functions below instead.

mod erf;
mod normal;
mod small;
mod trig;

pub use erf::erfc;
pub use normal::{inverse_normal, normal};
pub use small::{exp_m1, ln_1p};
pub use trig::cos_sin;

/// `x` to a whole power, by repeated squaring: at most two multiplications per binary digit of `n`.
///
/// ```
/// assert_eq!(ackclock_core::math::powu(0.5, 10), 1.0 / 1024.0);
/// ```
pub fn powu(x: f64, n: u64) -> f64 {
    let (mut result, mut square, mut n) = (1.0, x, n);
    while n > 0 {
        if n & 1 == 1 {
            result *= square;
        }
        square *= square;
        n >>= 1;
    }
    result
}

/// `n` as a float, for `n` below 2^63: one instruction where `n as f64` needs several.
#[inline]
pub fn float(n: u64) -> f64 {
    debug_assert!(i64::try_from(n).is_ok());
    n as i64 as f64
}

/// The whole part of `x`, at most 2^63 - 1, for half the instructions of `x as u64`. `x` is not below zero.
#[inline]
pub fn whole(x: f64) -> u64 {
    debug_assert!(x >= 0.0);
    x as i64 as u64
}

/// Cube root, by Newton's iteration from an estimate made of the exponent bits; within one unit in the last place.
///
/// ```
/// assert_eq!(ackclock_core::math::cbrt(27.0), 3.0);
/// assert_eq!(ackclock_core::math::cbrt(-0.001), -0.1);
/// ```
pub fn cbrt(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let a = x.abs();
    // Dividing the exponent by three: the bias 1023 contributes 2/3 of itself (Kahan's estimate, within 5 %).
    let mut y = f64::from_bits(a.to_bits() / 3 + 0x2a9f_7893_0000_0000);
    for _ in 0..4 {
        // Halley's step: cubic convergence, 5 % -> below 1e-16 in three steps.
        let y3 = y * y * y;
        y *= (y3 + 2.0 * a) / (2.0 * y3 + a);
    }
    y -= (y * y * y - a) / (3.0 * y * y);
    if x < 0.0 { -y } else { y }
}

/// Natural logarithm; within a few units in the last place. NaN below zero, minus infinity at zero.
///
/// ```
/// use ackclock_core::math::ln;
/// assert_eq!(ln(1.0), 0.0);
/// assert!((ln(83_000.0 / 38.0) - 7.689_009_727).abs() < 1e-9);
/// ```
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() {
        return x;
    }
    // Subnormal numbers have no exponent of their own: 2^54 lifts them.
    let (x, shift) = if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, 54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023 - shift;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh(s) with |s| <= 0.172: eleven terms reach 1e-17.
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let mut sum = 0.0;
    for k in (0..11).rev() {
        sum = sum * s2 + 1.0 / f64::from(2 * k + 1);
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * sum
}

/// Logarithm to the base 10, from [`ln`].
///
/// ```
/// assert!((ackclock_core::math::log10(1000.0) - 3.0).abs() < 1e-15);
/// ```
pub fn log10(x: f64) -> f64 {
    ln(x) / std::f64::consts::LN_10
}

/// Two to the power `x`; within a few units in the last place, zero and infinity outside the range of numbers.
///
/// ```
/// assert_eq!(ackclock_core::math::exp2(10.0), 1024.0);
/// ```
pub fn exp2(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x >= 1024.0 {
        return f64::INFINITY;
    }
    if x < -1022.0 {
        return 0.0;
    }
    let k = (x + if x < 0.0 { -0.5 } else { 0.5 }) as i64;
    // The rest is at most a half: |r| <= 0.347, and fourteen terms reach 1e-18.
    let r = (x - k as f64) * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for n in (1..15).rev() {
        sum = 1.0 + sum * r / f64::from(n);
    }
    // Two factors: 2^1024 is no number, though the product may be.
    let half = k / 2;
    let power = |k: i64| f64::from_bits(((k + 1023) as u64) << 52);
    sum * power(half) * power(k - half)
}

/// e to the power `x`.
///
/// ```
/// assert!((ackclock_core::math::exp(1.0) - std::f64::consts::E).abs() < 1e-14);
/// ```
pub fn exp(x: f64) -> f64 {
    exp2(x * std::f64::consts::LOG2_E)
}

#[cfg(test)]
mod tests {
    use super::{cbrt, exp, exp2, ln, powu};

    #[test]
    fn whole_powers_are_products() {
        for n in 0..300u64 {
            let product = (0..n).fold(1.0, |y: f64, _| y * 0.998);
            assert!((powu(0.998, n) / product - 1.0).abs() < 1e-13, "{n}");
        }
        assert_eq!((powu(3.0, 4), powu(0.0, 0), powu(0.9, u64::MAX)), (81.0, 1.0, 0.0));
    }

    #[test]
    fn cubes_have_their_roots() {
        for k in 1..2000 {
            let x = f64::from(k) * 0.37;
            let y = cbrt(x * x * x);
            assert!((y - x).abs() <= 4e-16 * x, "{x} {y}");
        }
        for e in -300..300 {
            let x = 10f64.powi(e);
            let y = cbrt(x);
            assert!((y * y * y / x - 1.0).abs() < 1e-15, "1e{e}");
        }
    }

    #[test]
    fn special_values_pass_through() {
        assert_eq!(cbrt(0.0), 0.0);
        assert!(cbrt(f64::NAN).is_nan());
        assert_eq!(cbrt(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn logarithm_and_powers_agree_with_the_library() {
        for k in 1..4000 {
            let x = f64::from(k) * 0.37;
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "{x}");
            let y = f64::from(k - 2000) * 0.173;
            assert!((exp2(y) / y.exp2() - 1.0).abs() < 1e-15, "{y}");
            assert!((exp(y) / y.exp() - 1.0).abs() < 1e-13, "{y}");
        }
        for e in -300..300 {
            let x = 10f64.powi(e);
            assert!((ln(x) - x.ln()).abs() < 2e-13, "1e{e}");
        }
    }

    #[test]
    fn logarithm_and_powers_at_the_edges() {
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!(ln(-1.0).is_nan() && exp2(f64::NAN).is_nan());
        assert!((ln(5e-324) + 744.440_071_921_381).abs() < 1e-9);
        assert_eq!((exp2(1024.0), exp2(-1023.0)), (f64::INFINITY, 0.0));
        assert_eq!((exp2(1023.0), exp2(-1022.0)), (f64::MAX / 2.0 + 2f64.powi(969), f64::MIN_POSITIVE));
    }
}
