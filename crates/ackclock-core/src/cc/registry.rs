//! The list of controllers: name, source, parameters, builder.

use super::{cubic, reno, Avoidance, CongestionControl, Cubic, CubicInteger, Reno, WindowBased};
use crate::cc::tahoe::Tahoe;
use crate::params::{ParamError, ParamSpec, Params, Value};
use crate::slowstart::SlowStart;

/// A controller's entry in the list.
pub struct Controller {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it reacts to: "loss", "delay", "model", ...
    pub family: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// What it does, one line.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    law: fn(&Params) -> Box<dyn Avoidance>,
}

/// Every controller.
pub const CONTROLLERS: &[Controller] = &[
    Controller {
        name: "tahoe",
        family: "loss",
        source: "Jacobson 1988",
        summary: "one segment per window; every loss restarts slow start",
        params: reno::PARAMS,
        law: |p| Box::new(Tahoe::new(p)),
    },
    Controller {
        name: "reno",
        family: "loss",
        source: "RFC 5681",
        summary: "one segment per window; half on loss",
        params: reno::PARAMS,
        law: |p| Box::new(Reno::new(p)),
    },
    Controller {
        name: "newreno",
        family: "loss",
        source: "RFC 5681, RFC 6582",
        summary: "Reno with partial-acknowledgment recovery where SACK is off",
        params: reno::PARAMS,
        law: |p| Box::new(Reno::new(p)),
    },
    Controller {
        name: "cubic",
        family: "loss",
        source: "RFC 9438",
        summary: "window as a cubic function of the time since the last loss",
        params: cubic::PARAMS,
        law: |p| {
            if p.text("variant") == "linux" {
                Box::new(CubicInteger::new(p))
            } else {
                Box::new(Cubic::new(p))
            }
        },
    },
];

/// The entry of controller `name`.
pub fn find(name: &str) -> Option<&'static Controller> {
    CONTROLLERS.iter().find(|c| c.name == name)
}

/// Builds controller `name` with `slow_start` and the parameters given, defaults for the rest.
///
/// # Errors
/// An unknown name or parameter.
pub fn build(
    name: &str,
    given: &[(String, Value)],
    slow_start: Box<dyn SlowStart>,
) -> Result<Box<dyn CongestionControl>, ParamError> {
    let entry = find(name).ok_or_else(|| ParamError::Unknown(name.to_owned()))?;
    let params = Params::new(entry.params, given)?;
    let whole = entry.params.iter().any(|s| s.name == "variant") && params.text("variant") == "linux";
    Ok(Box::new(WindowBased::new((entry.law)(&params), slow_start, whole)))
}
