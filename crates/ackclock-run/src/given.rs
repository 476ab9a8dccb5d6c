//! Parameters by name, as the document gives them.

use crate::spec::SpecError;
use ackclock_core::params::{Kind, Value};
use ackclock_core::time::Span;
use std::collections::BTreeMap;
use std::fmt::Display;

/// A JSON value as the engine's own, for a parameter of kind `kind`.
fn value(kind: Kind, json: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as J;
    Some(match (kind, json) {
        (_, J::Bool(b)) => Value::Bool(*b),
        (_, J::String(s)) => Value::Text(s.clone()),
        (Kind::Duration, J::Number(n)) => Value::Duration(Span(n.as_u64()?)),
        (Kind::Float, J::Number(n)) => Value::Float(n.as_f64()?),
        (_, J::Number(n)) => n.as_u64().map(Value::Int).or_else(|| n.as_f64().map(Value::Float))?,
        _ => return None,
    })
}

/// Names and values.
pub type Given = Vec<(String, Value)>;

/// Parameters as given, each of the kind that `kind_of` says.
///
/// # Errors
/// One that nobody knows, or of another kind, and where.
pub fn given(
    params: &BTreeMap<String, serde_json::Value>,
    kind_of: impl Fn(&str) -> Option<Kind>,
    path: impl Display,
) -> Result<Given, SpecError> {
    params
        .iter()
        .map(|(name, json)| {
            let at = || format!("{path}.{name}");
            let kind = kind_of(name).ok_or_else(|| SpecError::new(at(), "unknown parameter"))?;
            let v =
                value(kind, json).ok_or_else(|| SpecError::new(at(), format!("{json} is not a {}", kind.name())))?;
            Ok((name.clone(), v))
        })
        .collect()
}
