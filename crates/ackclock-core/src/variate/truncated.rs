//! Distributions cut to an interval, and the conventions by which their parameters are meant.
//!
//! * [`Truncation::Before`]: the parameters are those of the whole distribution; what is outside the interval is left out.
//! * [`Truncation::After`]: mean (and standard deviation) are those of what is left.
//! * [`Truncation::Clip`]: values outside become the nearest end of the interval.

use super::Variate;
use crate::math::{exp, exp_m1, ln, ln_1p, normal};

/// What is done with values outside an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// They are left out; the parameters are those before it.
    #[default]
    Before,
    /// They are left out; the parameters are those after it.
    After,
    /// They become the nearest end.
    Clip,
}

/// Steps of the solvers, fixed so that every machine finds the same.
const STEPS: u32 = 200;
/// Lengths of an interval, in means of the exponential, beyond which it is practically at one end.
const FARTHEST: f64 = 700.0;

impl Variate {
    /// The exponential distribution with this mean, on `[min, max]`. A mean after truncation may be above the middle of
    /// the interval: the density rises then.
    ///
    /// ```
    /// use ackclock_core::variate::{Truncation, Variate};
    /// let interval = Variate::exponential_between(30.0, 10.0, 60.0, Truncation::After);
    /// assert!((interval.mean() - 30.0).abs() < 1e-9);
    /// ```
    pub fn exponential_between(mean: f64, min: f64, max: f64, truncation: Truncation) -> Variate {
        match truncation {
            Truncation::Clip => clipped(Variate::Exponential { mean }, min, max),
            Truncation::Before => Variate::TruncatedExponential { rate: 1.0 / mean, min, max },
            Truncation::After => Variate::TruncatedExponential { rate: rate_for(mean - min, max - min), min, max },
        }
    }

    /// The Pareto distribution from `min` on, on `[min, max]`.
    pub fn pareto_up_to(shape: f64, min: f64, max: f64, truncation: Truncation) -> Variate {
        match truncation {
            Truncation::Clip => clipped(Variate::Pareto { shape, min }, min, max),
            Truncation::Before | Truncation::After => Variate::BoundedPareto { shape, min, max },
        }
    }

    /// The lognormal distribution with this mean and standard deviation, on `[min, max]`.
    pub fn lognormal_between(mean: f64, sd: f64, min: f64, max: f64, truncation: Truncation) -> Variate {
        match truncation {
            Truncation::Before => Variate::lognormal(mean, sd, min, max),
            Truncation::Clip => clipped(Variate::lognormal(mean, sd, 0.0, f64::INFINITY), min, max),
            Truncation::After => lognormal_after(mean, sd, min, max),
        }
    }
}

fn clipped(of: Variate, min: f64, max: f64) -> Variate {
    Variate::Clipped { of: Box::new(of), min, max }
}

/// The value of a truncated exponential that is not exceeded with probability `u`.
pub(super) fn exponential_quantile(rate: f64, min: f64, max: f64, u: f64) -> f64 {
    if rate == 0.0 {
        return min + u * (max - min);
    }
    // min - ln(1 - u (1 - e^(-rate L))) / rate
    (min - ln_1p(u * exp_m1(-rate * (max - min))) / rate).clamp(min, max)
}

/// Its mean above `min` on an interval of `length`: 1 / rate - L / (e^(rate L) - 1).
pub(super) fn exponential_mean(rate: f64, length: f64) -> f64 {
    let x = rate * length;
    if x.abs() < 1e-4 {
        // Its series: both terms are large and nearly cancel there.
        length * (0.5 - x / 12.0)
    } else {
        1.0 / rate - length / exp_m1(x)
    }
}

/// The rate with which it is `mean`; not a number where there is none. It falls from `length` to 0 as the rate rises, so
/// that bisection finds it.
fn rate_for(mean: f64, length: f64) -> f64 {
    let most = FARTHEST / length;
    let (mut low, mut high) = (-most, most);
    if !(exponential_mean(high, length) <= mean && mean <= exponential_mean(low, length)) {
        return f64::NAN;
    }
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if exponential_mean(middle, length) > mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Mean and variance of a lognormal distribution on an interval.
fn lognormal_moments(mu: f64, sigma: f64, min: f64, max: f64) -> (f64, f64) {
    let a = if min > 0.0 { (ln(min) - mu) / sigma } else { f64::NEG_INFINITY };
    let b = if max < f64::INFINITY { (ln(max) - mu) / sigma } else { f64::INFINITY };
    let below = |x: f64| match x {
        f64::NEG_INFINITY => 0.0,
        f64::INFINITY => 1.0,
        x => normal(x),
    };
    let kept = below(b) - below(a);
    let first = exp(mu + sigma * sigma / 2.0) * (below(b - sigma) - below(a - sigma)) / kept;
    let second = exp(2.0 * mu + 2.0 * sigma * sigma) * (below(b - 2.0 * sigma) - below(a - 2.0 * sigma)) / kept;
    (first, second - first * first)
}

/// The lognormal distribution that has this mean and standard deviation after truncation. The parameters before it are
/// raised by the ratio of what is wanted to what they give, until they give it; where much is cut off that does not come
/// to an end, and [`Variate::check`] refuses what it is.
fn lognormal_after(mean: f64, sd: f64, min: f64, max: f64) -> Variate {
    let (mut m, mut v) = (mean, sd * sd);
    let refused = Variate::Lognormal { mu: f64::NAN, sigma: f64::NAN, cut: (0.0, 0.0), range: (min, max) };
    for _ in 0..STEPS {
        let sigma2 = ln_1p(v / (m * m));
        let (first, variance) = lognormal_moments(ln(m) - sigma2 / 2.0, sigma2.sqrt(), min, max);
        if !(first.is_finite() && variance > 0.0) {
            return refused;
        }
        let (by, by_variance) = (mean / first, sd * sd / variance);
        (m, v) = (m * by, v * by_variance);
        if (by - 1.0).abs() < 1e-14 && (by_variance - 1.0).abs() < 1e-13 {
            break;
        }
    }
    let made = Variate::lognormal(m, v.sqrt(), min, max);
    let Variate::Lognormal { mu, sigma, .. } = &made else { return refused };
    let (first, variance) = lognormal_moments(*mu, *sigma, min, max);
    // The normal distribution function is good to some 1e-15; what it is divided by may be small.
    if (first / mean - 1.0).abs() < 1e-9 && (variance / (sd * sd) - 1.0).abs() < 1e-6 { made } else { refused }
}

/// The mean of the smaller of a value and `x`, of the distributions that are clipped.
pub(super) fn limited_mean(of: &Variate, x: f64) -> f64 {
    match of {
        Variate::Exponential { mean } => -mean * exp_m1(-x / mean),
        Variate::Pareto { min, .. } if x <= *min => x,
        Variate::Pareto { shape, min } if (shape - 1.0).abs() < 1e-9 => min * (1.0 + ln(x / min)),
        Variate::Pareto { shape: k, min } => min - min / (k - 1.0) * exp_m1((k - 1.0) * ln(min / x)),
        Variate::Lognormal { mu, sigma, .. } if x > 0.0 => {
            let z = (ln(x) - mu) / sigma;
            exp(mu + sigma * sigma / 2.0) * normal(z - sigma) + x * (1.0 - normal(z))
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::variate::tests::close;

    /// Times between pages: mean 30 s on 10 to 60 s. Values by an independent evaluation of the formulas.
    #[test]
    fn an_exponential_on_an_interval() {
        let between = |truncation| Variate::exponential_between(30.0, 10.0, 60.0, truncation);
        let after = between(Truncation::After);
        let Variate::TruncatedExponential { rate, .. } = after else { unreachable!() };
        close(rate, 0.024_598_664_008, 1e-12);
        close(1.0 / rate, 40.652_614_292, 1e-8);
        close(after.mean(), 30.0, 1e-12);
        close(between(Truncation::Before).mean(), 28.357_174_097, 1e-9);
        close(between(Truncation::Clip).mean(), 27.435_881, 1e-6);
        let u = [0.05, 0.25, 0.5, 0.95];
        for (truncation, expected) in [
            (Truncation::After, [11.464_535, 17.915_238, 27.753_575, 55.354_797]),
            (Truncation::Before, [11.242_047, 16.798_779, 25.604_176, 54.164_481]),
        ] {
            for (u, x) in u.iter().zip(expected) {
                close(between(truncation).quantile(*u), x, 1e-6);
            }
        }
        // Of the clipped one a third or so is at the lower end: 1 - e^(-1/3) = 0.283.
        assert_eq!(between(Truncation::Clip).quantile(0.28), 10.0);
        assert_eq!(between(Truncation::Clip).quantile(0.9), 60.0);
    }

    #[test]
    fn a_mean_in_the_middle_or_above_it() {
        let with = |mean| Variate::exponential_between(mean, 10.0, 60.0, Truncation::After);
        close(with(35.0).quantile(0.25), 22.5, 1e-6);
        close(with(50.0).mean(), 50.0, 1e-9);
        // Mirrored: a mean of 20 with u is one of 50 with 1 - u.
        close(with(50.0).quantile(0.3), 70.0 - with(20.0).quantile(0.7), 1e-6);
        assert!(with(60.0).check().is_err() && with(10.0).check().is_err() && with(5.0).check().is_err());
    }

    /// Objects of a page and their bytes (mean, variance, range): the parameters before truncation, by an independent
    /// evaluation.
    #[test]
    fn a_lognormal_with_moments_after_truncation() {
        let main = Variate::lognormal_between(20_000.0, 22e6f64.sqrt(), 100.0, 200_000.0, Truncation::After);
        let embedded = Variate::lognormal_between(160_000.0, 5e9f64.sqrt(), 50.0, 2e6, Truncation::After);
        for (v, expected) in
            [(&main, (9.876_717_169_072, 0.231_388_778_743)), (&embedded, (11.893_725_250_565, 0.422_383_350_408))]
        {
            let Variate::Lognormal { mu, sigma, .. } = v else { unreachable!() };
            close(*mu, expected.0, 2e-11);
            close(*sigma, expected.1, 2e-11);
            assert_eq!(v.check(), Ok(()));
        }
        // With 1024 bytes to a kilobyte.
        for (mean, v, range, expected) in [
            (20_480.0, 22e6f64, (100.0, 204_800.0), (9.901_642_697_713, 0.226_103_434_030)),
            (163_840.0, 5e9, (50.0, 2_097_152.0), (11.921_240_962_573, 0.413_290_840_485)),
        ] {
            let made = Variate::lognormal_between(mean, v.sqrt(), range.0, range.1, Truncation::After);
            let Variate::Lognormal { mu, sigma, .. } = made else { unreachable!() };
            close(mu, expected.0, 2e-11);
            close(sigma, expected.1, 2e-11);
        }
        let much = Variate::lognormal_between(50.0, 40.0, 10.0, 200.0, Truncation::After);
        close(much.mean(), 50.0, 1e-6);
        assert!(Variate::lognormal_between(50.0, 5000.0, 10.0, 200.0, Truncation::After).check().is_err());
    }

    #[test]
    fn a_clipped_pareto() {
        let v = Variate::pareto_up_to(1.1, 2.0, 50.0, Truncation::Clip);
        close(v.mean(), 7.504_407, 1e-6);
        assert_eq!(v.quantile(0.999), 50.0);
        assert_eq!(
            Variate::pareto_up_to(1.1, 2.0, 50.0, Truncation::Before),
            Variate::BoundedPareto { shape: 1.1, min: 2.0, max: 50.0 }
        );
    }

    #[test]
    fn means_of_draws() {
        for v in [
            Variate::Uniform { min: 3.0, max: 9.0 },
            Variate::exponential_between(50.0, 10.0, 60.0, Truncation::After),
            Variate::exponential_between(30.0, 10.0, 60.0, Truncation::Clip),
            Variate::pareto_up_to(1.5, 10.0, 500.0, Truncation::Clip),
            Variate::lognormal_between(50.0, 40.0, 10.0, 120.0, Truncation::Clip),
            Variate::lognormal_between(50.0, 20.0, 10.0, 120.0, Truncation::After),
        ] {
            assert_eq!(v.check(), Ok(()), "{v:?}");
            let mut rng = Stream::named(1, 0, "means");
            let n = 200_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = v.draw(&mut rng);
                sum += x;
                squares += x * x;
            }
            let mean = sum / f64::from(n);
            let error = ((squares / f64::from(n) - mean * mean) / f64::from(n)).sqrt();
            assert!((mean - v.mean()).abs() <= 4.0 * error, "{v:?}: {mean} +- {error}, not {}", v.mean());
        }
    }
}
