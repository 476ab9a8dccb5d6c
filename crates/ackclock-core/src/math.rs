//! Elementary functions that give the same bits on every machine.
//!
//! Addition, multiplication, division and square root are exact by IEEE 754. The functions of the system's
//! mathematical library are not: they differ in the last bit between versions and between processors. A window that
//! differs in its last bit can lose another packet, so algorithms use the functions below instead.

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
    if x < 0.0 {
        -y
    } else {
        y
    }
}

#[cfg(test)]
mod tests {
    use super::cbrt;

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
}
