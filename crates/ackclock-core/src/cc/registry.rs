//! The list of controllers: name, source, parameters, builder.

use super::{
    Avoidance, CongestionControl, WindowBased, bbr1, bbr3, bic, copa, cubic, dctcp, external, fast, highspeed, htcp,
    hybla, illinois, ledbat, prague, reno, scalable, tahoe, vegas, veno, westwood, westwood_plus, yeah,
};
use crate::params::{ParamError, ParamSpec, Params, Value};
use crate::slowstart::SlowStart;

/// How a controller is made from its parameters.
#[derive(Clone, Copy)]
pub enum Builder {
    /// A law of the window, to be combined with a slow start.
    Law(fn(&Params) -> Box<dyn Avoidance>),
    /// A controller that starts by itself; a slow start given in a scenario is an error.
    Whole(fn(&Params) -> Box<dyn CongestionControl>),
}

/// A controller's entry in the list; each stands in the controller's own file.
pub struct Controller {
    /// Its name in a scenario.
    pub name: &'static str,
    /// What it reacts to: "loss", "delay", "loss and delay", "marks" or "model".
    pub family: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// What it does, one line.
    pub summary: &'static str,
    /// How Linux and ns-3 differ from the definition, and what `variant` chooses. Empty: they do not.
    pub differences: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// How it is made.
    pub builder: Builder,
}

/// Every controller, in the order of the documentation.
pub const CONTROLLERS: &[Controller] = &[
    tahoe::ENTRY,
    reno::ENTRY,
    reno::NEWRENO,
    cubic::ENTRY,
    highspeed::ENTRY,
    scalable::ENTRY,
    bic::ENTRY,
    htcp::ENTRY,
    hybla::ENTRY,
    fast::ENTRY,
    ledbat::ENTRY,
    dctcp::ENTRY,
    prague::ENTRY,
    bbr1::ENTRY,
    bbr3::ENTRY,
    copa::ENTRY,
    vegas::ENTRY,
    veno::ENTRY,
    westwood::ENTRY,
    westwood_plus::ENTRY,
    illinois::ENTRY,
    yeah::ENTRY,
];

/// The controller that decides nothing itself: it is none of the published ones, and no list of them has it.
pub const OUTSIDE: &Controller = &external::ENTRY;

/// The entry of controller `name`.
pub fn find(name: &str) -> Option<&'static Controller> {
    CONTROLLERS.iter().chain([OUTSIDE]).find(|c| c.name == name)
}

/// Of a controller, parameters the first of which must be below the second; zero of the second stands for a default.
const RISING: &[(&str, &str, &str, Equal)] = &[
    ("vegas", "alpha", "beta", Equal::Allowed),
    ("fast", "alpha", "beta", Equal::Allowed),
    ("highspeed", "low_window", "high_window", Equal::Refused),
    ("highspeed", "high_p", "low_p", Equal::Refused),
    ("illinois", "d1", "d2", Equal::Allowed),
    ("illinois", "d2", "d3", Equal::Allowed),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Equal {
    Allowed,
    Refused,
}

/// What is named the least of something must not be above what is named the most, nor anything in [`RISING`].
fn in_order(entry: &Controller, params: &Params) -> Result<(), ParamError> {
    let ranges = entry.params.iter().filter_map(|spec| {
        let stem = spec.name.strip_suffix("_min")?;
        let most = entry.params.iter().find(|other| other.name.strip_suffix("_max") == Some(stem))?;
        Some((spec.name, most.name, Equal::Allowed))
    });
    let named = RISING.iter().filter(|rule| rule.0 == entry.name).map(|rule| (rule.1, rule.2, rule.3));
    for (lower, upper, equal) in ranges.chain(named) {
        let (least, most) = (params.float(lower), params.float(upper));
        if most > 0.0 && (least > most || (least == most && equal == Equal::Refused)) {
            let word = if least > most { "above" } else { "equal to" };
            let problem = format!("{least} is {word} {upper} = {most}; raise one or lower the other");
            return Err(ParamError::Conflict { name: lower.to_owned(), problem });
        }
    }
    Ok(())
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
    in_order(entry, &params)?;
    let law = match entry.builder {
        Builder::Whole(make) => return Ok(make(&params)),
        Builder::Law(make) => make(&params),
    };
    let whole = entry.params.iter().any(|s| s.name == "variant") && params.text("variant") == "linux";
    Ok(Box::new(WindowBased::new(law, slow_start, whole)))
}
