//! Extra delay of single packets, drawn by inversion: one uniform number per packet, whatever the distribution.

use crate::math::{exp, inverse_normal, ln, normal};
use crate::params::ParamError;
use crate::time::Span;

/// A distribution of extra delay.
#[derive(Clone, Debug, Default)]
pub struct Jitter {
    law: Law,
}

/// Lengths are nanoseconds.
#[derive(Clone, Debug, Default)]
enum Law {
    #[default]
    None,
    Uniform {
        low: f64,
        width: f64,
    },
    Normal {
        mean: f64,
        sd: f64,
        /// Probability below zero of the distribution before it is truncated.
        below: f64,
    },
    Pareto {
        scale: f64,
        /// `-1 / shape`.
        power: f64,
    },
    Exponential {
        mean: f64,
    },
    /// Probabilities from 0 to 1 and the delays that many packets do not exceed; linear between.
    Quantiles {
        points: Box<[(f64, f64)]>,
    },
}

fn conflict(name: &str, problem: &str) -> ParamError {
    ParamError::Conflict { name: name.to_owned(), problem: problem.to_owned() }
}

impl Jitter {
    /// No extra delay.
    pub fn none() -> Jitter {
        Jitter::default()
    }

    /// Uniform between `low` and `high`.
    ///
    /// # Errors
    /// `low` above `high`.
    pub fn uniform(low: Span, high: Span) -> Result<Jitter, ParamError> {
        if low > high {
            return Err(conflict("low", "must not exceed 'high'"));
        }
        Ok(Jitter { law: Law::Uniform { low: low.0 as f64, width: (high.0 - low.0) as f64 } })
    }

    /// Normal with `mean` and standard deviation `sd`, truncated at zero: the distribution of a normal variable that
    /// is known not to be negative. Its own mean is higher than `mean` (`mean + sd φ(m)/Φ(m)`, `m = mean/sd`).
    pub fn normal(mean: Span, sd: Span) -> Jitter {
        let (mean, sd) = (mean.0 as f64, sd.0 as f64);
        if sd == 0.0 {
            return Jitter { law: Law::Uniform { low: mean, width: 0.0 } };
        }
        Jitter { law: Law::Normal { mean, sd, below: normal(-mean / sd) } }
    }

    /// Pareto: at least `scale`, and above `x` with probability `(scale/x)^shape`. Mean `scale shape/(shape - 1)`.
    ///
    /// # Errors
    /// A shape of 1 or less, which has no mean.
    pub fn pareto(scale: Span, shape: f64) -> Result<Jitter, ParamError> {
        if !(shape > 1.0 && shape.is_finite()) {
            return Err(conflict("shape", "must be above 1: a Pareto distribution of less has no mean"));
        }
        Ok(Jitter { law: Law::Pareto { scale: scale.0 as f64, power: -1.0 / shape } })
    }

    /// Exponential with this mean.
    pub fn exponential(mean: Span) -> Jitter {
        Jitter { law: Law::Exponential { mean: mean.0 as f64 } }
    }

    /// As measured: the `i`-th of `n` sorted values is the quantile `i/(n-1)`, linear between.
    ///
    /// # Errors
    /// No values.
    pub fn measured(values: &[Span]) -> Result<Jitter, ParamError> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let steps = sorted.len().saturating_sub(1).max(1) as f64;
        let mut points: Vec<(f64, f64)> =
            sorted.iter().enumerate().map(|(i, v)| (i as f64 / steps, v.0 as f64)).collect();
        if let [only] = points[..] {
            points.push((1.0, only.1));
        }
        Jitter::table(points, "values")
    }

    /// From quantiles (probability, delay): the first at 0, the last at 1, linear between. Equal probabilities with
    /// different delays are a gap that no packet falls into.
    ///
    /// # Errors
    /// Probabilities or delays that decrease, or do not go from 0 to 1.
    pub fn quantiles(points: &[(f64, Span)]) -> Result<Jitter, ParamError> {
        Jitter::table(points.iter().map(|&(p, d)| (p, d.0 as f64)).collect(), "quantiles")
    }

    fn table(points: Vec<(f64, f64)>, name: &str) -> Result<Jitter, ParamError> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(conflict(name, "needs at least one delay"));
        };
        if first.0 != 0.0 || last.0 != 1.0 {
            return Err(conflict(name, "must begin with the delay of probability 0 and end with that of 1"));
        }
        // Not the negation of <: a NaN is refused as well.
        if !points.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1) {
            return Err(conflict(name, "must ascend, probabilities as well as delays"));
        }
        Ok(Jitter { law: Law::Quantiles { points: points.into() } })
    }

    /// Whether it delays nothing and needs no draw.
    #[inline]
    pub fn is_none(&self) -> bool {
        matches!(self.law, Law::None)
    }

    /// The delay below which the share `u` of packets stays, `u` in [0, 1); rounded to the nearest nanosecond.
    pub fn draw(&self, u: f64) -> Span {
        let ns = match &self.law {
            Law::None => 0.0,
            Law::Uniform { low, width } => low + u * width,
            Law::Normal { mean, sd, below } => {
                // The largest number below 1 keeps the tail finite.
                let p = (below + u * (1.0 - below)).min(1.0 - f64::EPSILON / 2.0);
                (mean + sd * inverse_normal(p)).max(0.0)
            }
            Law::Pareto { scale, power } => scale * exp(power * ln(1.0 - u)),
            Law::Exponential { mean } => -mean * ln(1.0 - u),
            Law::Quantiles { points } => {
                let i = points.partition_point(|q| q.0 <= u).clamp(1, points.len() - 1);
                let ((p0, d0), (p1, d1)) = (points[i - 1], points[i]);
                let share = if p1 > p0 { ((u - p0) / (p1 - p0)).clamp(0.0, 1.0) } else { 1.0 };
                d0 + share * (d1 - d0)
            }
        };
        Span((ns + 0.5) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    const MS: f64 = 1e6;

    /// Mean and standard deviation of many draws, in milliseconds.
    fn moments(j: &Jitter) -> (f64, f64) {
        let mut rng = Stream::named(3, 1, "jitter test");
        let n = 200_000;
        let x: Vec<f64> = (0..n).map(|_| j.draw(rng.uniform()).0 as f64 / MS).collect();
        let mean = x.iter().sum::<f64>() / f64::from(n);
        let var = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / f64::from(n);
        (mean, var.sqrt())
    }

    fn close(j: &Jitter, mean: f64, sd: f64) {
        let got = moments(j);
        // Four standard errors of the mean; the spread within 2 %.
        assert!((got.0 - mean).abs() < 4.0 * sd / 200_000f64.sqrt(), "{got:?} {mean}");
        assert!((got.1 / sd - 1.0).abs() < 0.02, "{got:?} {sd}");
    }

    #[test]
    fn moments_agree_with_closed_forms() {
        let ms = Span::from_millis;
        close(&Jitter::uniform(ms(2), ms(8)).unwrap(), 5.0, 6.0 / 12f64.sqrt());
        close(&Jitter::exponential(ms(4)), 4.0, 4.0);
        // Pareto of shape 5: mean 5/4, variance 5 / (4^2 * 3).
        close(&Jitter::pareto(ms(1), 5.0).unwrap(), 1.25, (5.0f64 / 48.0).sqrt());
        // Far from zero the truncation does nothing.
        close(&Jitter::normal(ms(50), ms(5)), 50.0, 5.0);
        // The half normal: mean sqrt(2/pi), variance 1 - 2/pi.
        let half = 2.0 / std::f64::consts::PI;
        close(&Jitter::normal(ms(0), ms(1)), half.sqrt(), (1.0 - half).sqrt());
        // Mean 1, spread 1: phi(1)/Phi(1) = .241970725/.841344746 = .287599971; variance 1 - m - m^2 with m = that.
        let m: f64 = 0.287_599_971;
        close(&Jitter::normal(ms(1), ms(1)), 1.0 + m, (1.0 - m - m * m).sqrt());
    }

    #[test]
    fn quantiles_are_met() {
        let ms = |x: f64| Span((x * MS) as u64);
        let j = Jitter::quantiles(&[(0.0, ms(1.0)), (0.5, ms(2.0)), (0.9, ms(6.0)), (1.0, ms(30.0))]).unwrap();
        for (u, d) in [(0.0, 1.0), (0.25, 1.5), (0.5, 2.0), (0.7, 4.0), (0.9, 6.0), (0.95, 18.0)] {
            assert!(j.draw(u).0.abs_diff(ms(d).0) <= 1, "{u}");
        }
        let j = Jitter::measured(&[ms(3.0), ms(1.0), ms(2.0)]).unwrap();
        assert_eq!([0.0, 0.25, 0.5].map(|u| j.draw(u)), [ms(1.0), ms(1.5), ms(2.0)]);
        assert_eq!(Jitter::measured(&[ms(7.0)]).unwrap().draw(0.3), ms(7.0));
        // Half the packets nothing, half 5 ms.
        let j = Jitter::quantiles(&[(0.0, ms(0.0)), (0.5, ms(0.0)), (0.5, ms(5.0)), (1.0, ms(5.0))]).unwrap();
        assert_eq!([0.0, 0.49, 0.5, 0.99].map(|u| j.draw(u)), [ms(0.0), ms(0.0), ms(5.0), ms(5.0)]);
    }

    #[test]
    fn every_uniform_number_gives_a_delay() {
        let ms = Span::from_millis;
        let last = 1.0 - f64::EPSILON / 2.0;
        assert_eq!(Jitter::none().draw(last), Span::ZERO);
        assert_eq!(Jitter::normal(ms(0), ms(1)).draw(0.0), Span::ZERO);
        assert_eq!(Jitter::normal(ms(1), Span::ZERO).draw(0.7), ms(1));
        assert!(Jitter::normal(ms(1000), ms(1)).draw(0.0) < ms(1000));
        // 53 bits reach 8.3 standard deviations and 37 means.
        assert!((Jitter::normal(ms(0), ms(1)).draw(last).0 as f64 / MS) < 8.4);
        assert!((Jitter::exponential(ms(1)).draw(last).0 as f64 / MS) < 37.0);
        assert_eq!(Jitter::pareto(ms(1), 2.0).unwrap().draw(0.0), ms(1));
    }

    #[test]
    fn nonsense_is_refused() {
        let ms = Span::from_millis;
        assert!(Jitter::uniform(ms(2), ms(1)).is_err());
        assert!(Jitter::pareto(ms(1), 1.0).is_err() && Jitter::pareto(ms(1), f64::NAN).is_err());
        assert!(Jitter::measured(&[]).is_err());
        for bad in [
            &[(0.1, ms(1)), (1.0, ms(2))][..],
            &[(0.0, ms(1)), (0.9, ms(2))],
            &[(0.0, ms(2)), (1.0, ms(1))],
            &[(0.0, ms(1)), (f64::NAN, ms(2)), (1.0, ms(3))],
        ] {
            assert!(Jitter::quantiles(bad).is_err());
        }
    }
}
