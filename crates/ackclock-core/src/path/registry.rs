//! Path elements by name, besides links and delays: what a scenario can put into a route.

use super::{Element, aggregate, half_duplex};
use crate::params::{ParamError, ParamSpec, Params, Value};

/// A kind of element.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its `kind` in a scenario.
    pub name: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// Makes it from its parameters, which it may refuse.
    pub build: fn(&Params) -> Result<Box<dyn Element>, ParamError>,
}

/// Every kind, in the order of the tables.
pub const ELEMENTS: &[Kind] = &[aggregate::ENTRY, half_duplex::ENTRY];

/// The kind of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    ELEMENTS.iter().find(|k| k.name == name)
}

/// Makes an element of kind `name` with the parameters given over its defaults.
///
/// # Errors
/// An unknown name or parameter, a value out of range, or parameters that contradict each other.
pub fn build(name: &str, given: &[(String, Value)]) -> Result<Box<dyn Element>, ParamError> {
    let kind = find(name).ok_or_else(|| ParamError::Unknown(name.to_owned()))?;
    (kind.build)(&Params::new(kind.params, given)?)
}
