//! Distributions in the resolved run.

use ackclock_core::variate::{Truncation, Variate};
use serde::Deserialize;

/// A distribution of sizes in bytes or times in nanoseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Dist {
    /// Always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// Every value of an interval alike.
    Uniform {
        /// The smallest value.
        min: f64,
        /// No value reaches it.
        max: f64,
    },
    /// Exponential, truncated to `[min, max]` if it has a largest value.
    Exponential {
        /// Its mean.
        mean: f64,
        /// The smallest value.
        #[serde(default)]
        min: Option<f64>,
        /// The largest value.
        #[serde(default)]
        max: Option<f64>,
        /// What the mean is of, and what is done with values outside.
        #[serde(default)]
        truncation: Cut,
    },
    /// Pareto, given by its mean or its smallest value; truncated if it has a largest value.
    Pareto {
        /// Exponent of its tail.
        shape: f64,
        /// Its mean, which needs a shape above 1 and no `max`.
        #[serde(default)]
        mean: Option<f64>,
        /// The smallest value.
        #[serde(default)]
        min: Option<f64>,
        /// The largest value.
        #[serde(default)]
        max: Option<f64>,
        /// What is done with values outside.
        #[serde(default)]
        truncation: Cut,
    },
    /// Lognormal, truncated to `[min, max]`.
    Lognormal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        sd: f64,
        /// The smallest value.
        #[serde(default)]
        min: Option<f64>,
        /// The largest value.
        #[serde(default)]
        max: Option<f64>,
        /// What mean and standard deviation are of, and what is done with values outside.
        #[serde(default)]
        truncation: Cut,
    },
    /// Listed values.
    Empirical {
        /// Values and their cumulative probabilities.
        points: Vec<(f64, f64)>,
        /// Values between the points occur too.
        #[serde(default)]
        interpolate: bool,
    },
}

/// What is done with values outside an interval, and whether parameters are those before it or after it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cut {
    /// They are left out; the parameters are those before it.
    #[default]
    Before,
    /// They are left out; the parameters are those after it.
    After,
    /// They become the nearest end.
    Clip,
}

impl From<Cut> for Truncation {
    fn from(cut: Cut) -> Truncation {
        match cut {
            Cut::Before => Truncation::Before,
            Cut::After => Truncation::After,
            Cut::Clip => Truncation::Clip,
        }
    }
}

impl Dist {
    /// As the core draws from it.
    ///
    /// # Errors
    /// What is wrong with its parameters.
    pub(super) fn variate(&self) -> Result<Variate, String> {
        let v = match *self {
            Dist::Constant { value } => Variate::Constant(value),
            Dist::Uniform { min, max } => Variate::Uniform { min, max },
            Dist::Exponential { mean, min: None, max: None, .. } => Variate::Exponential { mean },
            Dist::Exponential { mean, min, max: Some(max), truncation } => {
                Variate::exponential_between(mean, min.unwrap_or(0.0), max, truncation.into())
            }
            Dist::Exponential { .. } => return Err("an exponential distribution with min has max too".into()),
            Dist::Pareto { shape, mean: None, min: Some(min), max: None, .. } => Variate::Pareto { shape, min },
            Dist::Pareto { shape, mean: None, min: Some(min), max: Some(max), truncation } => {
                Variate::pareto_up_to(shape, min, max, truncation.into())
            }
            Dist::Pareto { shape, mean: Some(mean), min: None, max: None, .. } if shape > 1.0 => {
                Variate::Pareto { shape, min: mean * (shape - 1.0) / shape }
            }
            Dist::Pareto { .. } => return Err(
                "a Pareto distribution is given by shape and min, with max if it is truncated, or by shape > 1 and mean"
                    .into(),
            ),
            Dist::Lognormal { mean, sd, min, max, truncation } => {
                let (min, max) = (min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY));
                Variate::lognormal_between(mean, sd, min, max, truncation.into())
            }
            Dist::Empirical { ref points, interpolate } => Variate::Empirical { points: points.clone(), interpolate },
        };
        match v.check() {
            Ok(()) => Ok(v),
            Err(problem) => Err(problem.to_owned()),
        }
    }
}
