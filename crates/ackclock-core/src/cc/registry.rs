//! The list of controllers: name, source, parameters, builder.

use super::{
    bbr1, bbr3, bic, copa, cubic, dctcp, fast, highspeed, htcp, hybla, illinois, ledbat, reno, scalable, tahoe, vegas,
    veno, westwood, westwood_plus, yeah, Avoidance, CongestionControl, WindowBased,
};
use crate::params::{Kind, ParamError, ParamSpec, Params, Value};
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

/// The entry of controller `name`.
pub fn find(name: &str) -> Option<&'static Controller> {
    CONTROLLERS.iter().find(|c| c.name == name)
}

/// What is named the least of something must not be above what is named the most; nor Vegas' alpha above its beta,
/// where zero is the variant's own.
fn in_order(entry: &Controller, params: &Params) -> Result<(), ParamError> {
    let number =
        |name: &str| entry.params.iter().any(|s| s.name == name && s.kind == Kind::Float).then(|| params.float(name));
    for spec in entry.params {
        let upper = match spec.name.strip_suffix("_min") {
            Some(stem) => format!("{stem}_max"),
            None if (entry.name, spec.name) == ("vegas", "alpha") => "beta".to_owned(),
            None => continue,
        };
        if let (Some(least), Some(most)) = (number(spec.name), number(&upper).filter(|most| *most > 0.0)) {
            if least > most {
                let problem = format!("{least} is above {upper} = {most}; raise one or lower the other");
                return Err(ParamError::Conflict { name: spec.name.to_owned(), problem });
            }
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
