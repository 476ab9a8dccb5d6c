//! Random variates: sizes and times drawn from a distribution.
//!
//! Every draw takes exactly one uniform number and inverts the distribution function, so that two runs that draw from
//! the same stream stay aligned whatever the parameters are.

mod truncated;

use crate::math::{exp, exp_m1, inverse_normal, ln, ln_1p, normal};
use crate::rng::Stream;
pub use truncated::Truncation;

/// A distribution of positive numbers. [`Variate::check`] says whether its parameters make sense.
#[derive(Clone, Debug, PartialEq)]
pub enum Variate {
    /// Always the same.
    Constant(f64),
    /// Every value of an interval alike.
    Uniform {
        /// The smallest value.
        min: f64,
        /// No value reaches it.
        max: f64,
    },
    /// Exponential truncated to `[min, max]`; made by [`Variate::exponential_between`].
    TruncatedExponential {
        /// Its rate before truncation; below zero where the density rises.
        rate: f64,
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// An exponential, Pareto or lognormal distribution whose values outside `[min, max]` are moved to its ends.
    Clipped {
        /// The distribution.
        of: Box<Variate>,
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// Exponential with this mean.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Pareto: `P(X > x) = (min / x)^shape`.
    Pareto {
        /// The tail's exponent.
        shape: f64,
        /// The smallest value.
        min: f64,
    },
    /// Pareto truncated to `[min, max]`.
    BoundedPareto {
        /// The exponent before truncation.
        shape: f64,
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// Lognormal truncated to an interval; made by [`Variate::lognormal`].
    Lognormal {
        /// Mean of the logarithm before truncation.
        mu: f64,
        /// Standard deviation of the logarithm before truncation.
        sigma: f64,
        /// Probability below the interval, and within it, before truncation.
        cut: (f64, f64),
        /// The interval.
        range: (f64, f64),
    },
    /// Values with their cumulative probabilities, both rising, the last probability 1.
    Empirical {
        /// Value and probability of it or less.
        points: Vec<(f64, f64)>,
        /// Whether values between two points occur, on a straight line; otherwise only the points do.
        interpolate: bool,
    },
}

impl Variate {
    /// The lognormal distribution that has this mean and standard deviation before it is truncated to `[min, max]`.
    ///
    /// ```
    /// use ackclock_core::variate::Variate;
    /// let page = Variate::lognormal(20_000.0, 4690.416, 100.0, 200_000.0);
    /// assert!((page.quantile(0.5) - 19_471.70).abs() < 0.01);
    /// ```
    pub fn lognormal(mean: f64, sd: f64, min: f64, max: f64) -> Variate {
        let sigma2 = ln_1p((sd / mean) * (sd / mean));
        let (mu, sigma) = (ln(mean) - sigma2 / 2.0, sigma2.sqrt());
        let below = if min > 0.0 { normal((ln(min) - mu) / sigma) } else { 0.0 };
        let up_to = if max < f64::INFINITY { normal((ln(max) - mu) / sigma) } else { 1.0 };
        Variate::Lognormal { mu, sigma, cut: (below, up_to - below), range: (min, max) }
    }

    /// What is wrong with the parameters, and what would be right.
    ///
    /// # Errors
    /// A sentence about the first parameter that makes no sense.
    pub fn check(&self) -> Result<(), &'static str> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let ok = match self {
            Variate::Constant(x) => (x.is_finite() && *x >= 0.0, "a constant is not below zero"),
            Variate::Exponential { mean } => (positive(*mean), "a mean is above zero"),
            Variate::Uniform { min, max } => {
                (*min >= 0.0 && min < max && max.is_finite(), "a uniform distribution has 0 <= min < max")
            }
            Variate::TruncatedExponential { rate, min, max } => (
                rate.is_finite() && *min >= 0.0 && min < max && max.is_finite(),
                "a truncated exponential distribution has 0 <= min < max and a mean above zero, after truncation between them",
            ),
            Variate::Clipped { of, min, max } => {
                of.check()?;
                (*min >= 0.0 && min < max && max.is_finite(), "a distribution is clipped to 0 <= min < max")
            }
            Variate::Pareto { shape, min } => (
                positive(*shape) && positive(*min),
                "a Pareto distribution has a shape and a smallest value above zero",
            ),
            Variate::BoundedPareto { shape, min, max } => (
                positive(*shape) && positive(*min) && max.is_finite() && max > min,
                "a bounded Pareto distribution has a shape above zero and 0 < min < max",
            ),
            Variate::Lognormal { mu, sigma, cut, range } => (
                mu.is_finite() && positive(*sigma) && range.0 >= 0.0 && range.1 > range.0 && cut.1 > 1e-12,
                "a lognormal distribution has a mean and a standard deviation above zero, and most of it within min < max",
            ),
            Variate::Empirical { points, .. } => {
                let rising = points.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1);
                let sane = points.iter().all(|p| p.0.is_finite() && p.0 >= 0.0 && p.1 >= 0.0);
                let ends = points.last().is_some_and(|p| (p.1 - 1.0).abs() < 1e-9);
                (rising && sane && ends, "values and cumulative probabilities rise, and the last probability is 1")
            }
        };
        if ok.0 { Ok(()) } else { Err(ok.1) }
    }

    /// The value that is not exceeded with probability `u`, which is in [0, 1).
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Variate::Constant(x) => *x,
            Variate::Exponential { mean } => -mean * ln_1p(-u),
            Variate::Uniform { min, max } => min + u * (max - min),
            Variate::TruncatedExponential { rate, min, max } => truncated::exponential_quantile(*rate, *min, *max, u),
            Variate::Clipped { of, min, max } => of.quantile(u).clamp(*min, *max),
            Variate::Pareto { shape, min } => min * exp(-ln_1p(-u) / shape),
            Variate::BoundedPareto { shape, min, max } => {
                // 1 - (min / max)^shape, the mass that is kept.
                let kept = -exp_m1(shape * ln(min / max));
                (min * exp(-ln_1p(-u * kept) / shape)).clamp(*min, *max)
            }
            Variate::Lognormal { mu, sigma, cut, range } => {
                exp(mu + sigma * inverse_normal(cut.0 + u * cut.1)).clamp(range.0, range.1)
            }
            Variate::Empirical { points, interpolate } => empirical(points, *interpolate, u),
        }
    }

    /// A value drawn from `rng`.
    #[inline]
    pub fn draw(&self, rng: &mut Stream) -> f64 {
        self.quantile(rng.uniform())
    }

    /// A whole number drawn from `rng`: the nearest, at least `least`.
    #[inline]
    pub fn draw_whole(&self, rng: &mut Stream, least: u64) -> u64 {
        // The conversion saturates; infinity cannot come from a uniform number below 1.
        ((self.draw(rng) + 0.5) as u64).max(least)
    }

    /// The mean; infinity where there is none.
    pub fn mean(&self) -> f64 {
        match self {
            Variate::Constant(x) => *x,
            Variate::Exponential { mean } => *mean,
            Variate::Uniform { min, max } => (min + max) / 2.0,
            Variate::TruncatedExponential { rate, min, max } => min + truncated::exponential_mean(*rate, max - min),
            Variate::Clipped { of, min, max } => {
                min + truncated::limited_mean(of, *max) - truncated::limited_mean(of, *min)
            }
            Variate::Pareto { shape, .. } if *shape <= 1.0 => f64::INFINITY,
            Variate::Pareto { shape, min } => min * shape / (shape - 1.0),
            Variate::BoundedPareto { shape: k, min, max } => {
                let kept = -exp_m1(k * ln(min / max));
                if (k - 1.0).abs() < 1e-9 {
                    return min / kept * ln(max / min);
                }
                // L^k/(1-(L/H)^k) * k/(k-1) * (L^(1-k) - H^(1-k)), with L = min and H = max.
                min / kept * k / (k - 1.0) * -exp_m1((1.0 - k) * ln(max / min))
            }
            Variate::Lognormal { mu, sigma, cut, range } => {
                let z = |x: f64| (ln(x) - mu) / sigma - sigma;
                let below = if range.0 > 0.0 { normal(z(range.0)) } else { 0.0 };
                let up_to = if range.1 < f64::INFINITY { normal(z(range.1)) } else { 1.0 };
                exp(mu + sigma * sigma / 2.0) * (up_to - below) / cut.1
            }
            Variate::Empirical { points, interpolate } => {
                let (mut sum, mut before) = (0.0, (points.first().map_or(0.0, |p| p.0), 0.0));
                for &(x, p) in points {
                    let value = if *interpolate { (x + before.0) / 2.0 } else { x };
                    sum += value * (p - before.1);
                    before = (x, p);
                }
                sum
            }
        }
    }
}

fn empirical(points: &[(f64, f64)], interpolate: bool, u: f64) -> f64 {
    let i = points.partition_point(|p| p.1 <= u).min(points.len().saturating_sub(1));
    let Some(&(x, p)) = points.get(i) else { return 0.0 };
    if !interpolate || i == 0 {
        return x;
    }
    let (x0, p0) = points[i - 1];
    x0 + (x - x0) * ((u - p0) / (p - p0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn close(got: f64, expected: f64, within: f64) {
        assert!((got - expected).abs() <= within, "{got} is not {expected}");
    }

    #[test]
    fn quantiles_of_a_truncated_lognormal() {
        // A web model's objects (mean, variance, range in bytes); values by an independent evaluation of the formulas.
        let main = Variate::lognormal(20_000.0, 22e6f64.sqrt(), 100.0, 200_000.0);
        let embedded = Variate::lognormal(160_000.0, 5e9f64.sqrt(), 50.0, 2e6);
        let u = [0.05, 0.5, 0.95, 0.99];
        for (v, expected) in [
            (&main, [13_307.94, 19_471.70, 28_490.27, 33_356.50]),
            (&embedded, [73_054.90, 146_345.46, 293_162.98, 390_950.32]),
        ] {
            for (u, x) in u.iter().zip(expected) {
                close(v.quantile(*u), x, 0.006);
            }
        }
        let Variate::Lognormal { mu, sigma, .. } = &main else { unreachable!() };
        close(*mu, 9.876_717_169_072, 1e-11);
        close(*sigma, 0.231_388_778_743, 1e-11);
        close(embedded.mean(), 159_999.999_4, 1e-3);
    }

    #[test]
    fn quantiles_of_a_truncated_pareto() {
        // Objects of a page: exponent 1.1 between 2 and 50.
        let v = Variate::BoundedPareto { shape: 1.1, min: 2.0, max: 50.0 };
        for (u, x) in [(0.25, 2.575_216), (0.5, 3.659_404), (0.9, 13.139_734), (0.99, 38.451_750)] {
            close(v.quantile(u), x, 1e-6);
        }
        close(v.mean(), 6.235_625_583_623, 1e-9);
        close(Variate::BoundedPareto { shape: 1.0, min: 1.0, max: std::f64::consts::E }.mean(), 1.581_976_707, 1e-8);
    }

    #[test]
    fn means_of_draws() {
        let points = vec![(1000.0, 0.5), (10_000.0, 0.9), (100_000.0, 1.0)];
        for v in [
            Variate::Constant(7.0),
            Variate::Exponential { mean: 12.0 },
            Variate::Pareto { shape: 2.5, min: 3.0 },
            Variate::BoundedPareto { shape: 1.2, min: 10.0, max: 10_000.0 },
            Variate::lognormal(50.0, 40.0, 10.0, 120.0),
            Variate::Empirical { points: points.clone(), interpolate: false },
            Variate::Empirical { points, interpolate: true },
        ] {
            assert_eq!(v.check(), Ok(()));
            let mut rng = Stream::named(1, 0, "means");
            let n = 400_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = v.draw(&mut rng);
                sum += x;
                squares += x * x;
            }
            let mean = sum / f64::from(n);
            let error = ((squares / f64::from(n) - mean * mean).max(0.0) / f64::from(n)).sqrt();
            assert!((mean - v.mean()).abs() <= 4.0 * error + 1e-9, "{v:?}: {mean} +- {error}, not {}", v.mean());
        }
    }

    #[test]
    fn draws_stay_in_range_and_take_one_number_each() {
        let v = [
            Variate::Pareto { shape: 0.3, min: 1.0 },
            Variate::BoundedPareto { shape: 1.1, min: 2.0, max: 50.0 },
            Variate::lognormal(100.0, 500.0, 50.0, 60.0),
        ];
        for v in v {
            let (mut a, mut b) = (Stream::named(1, 0, "range"), Stream::named(1, 0, "range"));
            for _ in 0..10_000 {
                let x = v.draw(&mut a);
                b.next_u64();
                assert!(x >= v.quantile(0.0) && x.is_finite(), "{v:?} {x}");
            }
            assert_eq!(a.next_u64(), b.next_u64());
        }
        assert_eq!(Variate::Constant(0.2).draw_whole(&mut Stream::named(1, 0, ""), 1), 1);
        assert_eq!(Variate::Constant(2.5).draw_whole(&mut Stream::named(1, 0, ""), 1), 3);
    }

    #[test]
    fn nonsense_is_refused() {
        for v in [
            Variate::Constant(-1.0),
            Variate::Exponential { mean: 0.0 },
            Variate::Pareto { shape: 0.0, min: 1.0 },
            Variate::BoundedPareto { shape: 1.0, min: 2.0, max: 2.0 },
            Variate::lognormal(10.0, 0.0, 0.0, 100.0),
            Variate::lognormal(10.0, 1.0, 100.0, 50.0),
            Variate::lognormal(10.0, 1.0, 1e6, 2e6),
            Variate::Empirical { points: vec![], interpolate: false },
            Variate::Empirical { points: vec![(1.0, 0.9)], interpolate: false },
            Variate::Empirical { points: vec![(2.0, 0.5), (1.0, 1.0)], interpolate: false },
        ] {
            assert!(v.check().is_err(), "{v:?}");
        }
    }
}
