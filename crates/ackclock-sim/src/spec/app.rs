//! Applications in the resolved run: a kind and its parameters, which the list in `ackclock_core::app::registry` describes.

use super::{Flow, Run, SpecError};
use ackclock_core::app::params::{Arrivals, Given, Kind, Value};
use ackclock_core::app::registry::{self, Entry, APPLICATIONS};
use ackclock_core::app::{Made, Setup};
use ackclock_core::time::Time;
use ackclock_core::variate::Variate;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// What the two ends of a flow do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct App {
    /// Its name.
    pub kind: String,
    /// Its parameters.
    #[serde(flatten)]
    pub params: BTreeMap<String, Json>,
}

/// Packets that need no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Payload of each, bytes.
    pub payload: u32,
    /// They are ECN-capable.
    pub ect: bool,
}

impl App {
    /// What it sends if it sends datagrams: its `transport` is `udp` then.
    pub fn datagrams(&self) -> Option<Datagrams> {
        (self.params.get("transport")? == "udp").then(|| Datagrams {
            payload: self.params.get("packet_bytes").and_then(Json::as_u64).unwrap_or(0).min(u64::from(u32::MAX))
                as u32,
            ect: self.params.get("ect") == Some(&Json::Bool(true)),
        })
    }

    /// Its description; `path` is the flow's.
    ///
    /// # Errors
    /// There is none of this kind.
    pub(crate) fn entry(&self, path: &str) -> Result<&'static Entry, SpecError> {
        registry::find(&self.kind).ok_or_else(|| {
            let known: Vec<_> = APPLICATIONS.iter().map(|e| e.kind).collect();
            let problem = format!("unknown application '{}'; known are {}", self.kind, known.join(", "));
            SpecError::new(format!("{path}.app.kind"), problem)
        })
    }
}

/// The applications at the two ends of `f`; `path` is its own, for messages.
///
/// # Errors
/// What is wrong with its parameters, and where.
pub(crate) fn made(f: &Flow, run: &Run, path: &str) -> Result<Made, SpecError> {
    let entry = f.app.entry(path)?;
    let at = |key: &str| format!("{path}.app.{key}");
    let mut given = Given::default();
    for (key, json) in &f.app.params {
        let known = || entry.params.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        let param = entry.params.iter().find(|p| p.name == key).ok_or_else(|| {
            SpecError::new(at(key), format!("{} has no such parameter; it has {}", entry.kind, known()))
        })?;
        if !json.is_null() {
            given.insert(key, value(param.kind, json).map_err(|problem| SpecError::new(at(key), problem))?);
        }
    }
    if let Some(missing) = entry.params.iter().find(|p| p.required && !given.has(p.name)) {
        return Err(SpecError::new(at(missing.name), format!("{} needs it: {}", entry.kind, missing.doc)));
    }
    let setup = Setup { seed: (run.seed, run.run), flow: &f.id, end: Time(run.duration_ns) };
    (entry.make)(&given, &setup).map_err(|p| SpecError::new(at(p.key), p.text))
}

fn value(kind: Kind, json: &Json) -> Result<Value, String> {
    let list = || json.as_array()?.iter().map(Json::as_u64).collect::<Option<Vec<_>>>();
    match kind {
        Kind::Whole => json.as_u64().map(Value::Whole).ok_or_else(|| format!("{json} is not a whole number")),
        Kind::Flag => json.as_bool().map(Value::Flag).ok_or_else(|| format!("{json} is neither true nor false")),
        Kind::Word(words) => {
            let word = json.as_str().filter(|w| words.contains(w));
            word.map(|w| Value::Word(w.to_owned())).ok_or_else(|| format!("{json} is none of {}", words.join(", ")))
        }
        Kind::List => list().map(Value::List).ok_or_else(|| format!("{json} is not a list of whole numbers")),
        Kind::Arrivals => match Several::deserialize(json).map_err(|e| e.to_string())? {
            Several::PoissonPerS(rate) => Ok(Value::Arrivals(Arrivals::PoissonPerS(rate))),
            Several::EveryNs(ns) => Ok(Value::Arrivals(Arrivals::EveryNs(ns))),
        },
        Kind::Distribution => variate(&Dist::deserialize(json).map_err(|e| e.to_string())?).map(Value::Distribution),
    }
}

/// The distribution `d`.
fn variate(d: &Dist) -> Result<Variate, String> {
    let v = match *d {
        Dist::Constant { value } => Variate::Constant(value),
        Dist::Exponential { mean } => Variate::Exponential { mean },
        Dist::Pareto { shape, mean: None, min: Some(min), max: None } => Variate::Pareto { shape, min },
        Dist::Pareto { shape, mean: None, min: Some(min), max: Some(max) } => {
            Variate::BoundedPareto { shape, min, max }
        }
        Dist::Pareto { shape, mean: Some(mean), min: None, max: None } if shape > 1.0 => {
            Variate::Pareto { shape, min: mean * (shape - 1.0) / shape }
        }
        Dist::Pareto { .. } => return Err(
            "a Pareto distribution is given by shape and min, with max if it is truncated, or by shape > 1 and mean"
                .into(),
        ),
        Dist::Lognormal { mean, sd, min, max } => {
            Variate::lognormal(mean, sd, min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY))
        }
        Dist::Empirical { ref points, interpolate } => Variate::Empirical { points: points.clone(), interpolate },
    };
    match v.check() {
        Ok(()) => Ok(v),
        Err(problem) => Err(problem.to_owned()),
    }
}

/// When transfers arrive, counted from the flow's start.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Several {
    PoissonPerS(f64),
    EveryNs(u64),
}

/// A distribution of sizes in bytes or times in nanoseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Dist {
    /// Always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: f64,
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
    },
    /// Lognormal, truncated to `[min, max]`.
    Lognormal {
        /// Its mean before truncation.
        mean: f64,
        /// Its standard deviation before truncation.
        sd: f64,
        /// The smallest value.
        #[serde(default)]
        min: Option<f64>,
        /// The largest value.
        #[serde(default)]
        max: Option<f64>,
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
