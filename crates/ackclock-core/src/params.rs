//! Named parameters: one description serves the engine, the scenario's validation and the documentation.

use crate::time::Span;
use std::fmt;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// A whole number: a count, bytes or segments, as the [`Kind`] says.
    Int(u64),
    /// A real number.
    Float(f64),
    /// A length of time.
    Duration(Span),
    /// One of the choices.
    Text(String),
}

/// What a parameter measures, which fixes its unit and how a scenario writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A plain number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Segments of one MSS.
    Segments,
    /// A length of time.
    Duration,
    /// A real number.
    Float,
    /// One word out of a list.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// The name used outside the engine.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Count => "count",
            Kind::Bytes => "bytes",
            Kind::Segments => "segments",
            Kind::Duration => "duration",
            Kind::Float => "float",
            Kind::Choice(_) => "choice",
        }
    }
}

/// A default value that can stand in a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(u64),
    /// A real number.
    Float(f64),
    /// A length of time.
    Duration(Span),
    /// One of the choices.
    Text(&'static str),
}

impl From<Default> for Value {
    fn from(d: Default) -> Value {
        match d {
            Default::Bool(b) => Value::Bool(b),
            Default::Int(n) => Value::Int(n),
            Default::Float(x) => Value::Float(x),
            Default::Duration(s) => Value::Duration(s),
            Default::Text(t) => Value::Text(t.to_owned()),
        }
    }
}

/// Describes one parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Its key in a scenario.
    pub name: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// Its value when a scenario says nothing.
    pub default: Default,
    /// Smallest and largest sensible value, for numbers (durations in seconds).
    pub range: Option<(f64, f64)>,
    /// Meaning and source, one sentence.
    pub doc: &'static str,
}

/// A parameter that is a real number.
pub const fn float(name: &'static str, default: f64, range: (f64, f64), doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Float, default: Default::Float(default), range: Some(range), doc }
}

/// A parameter that counts things.
pub const fn count(name: &'static str, default: u64, range: (f64, f64), doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Count, default: Default::Int(default), range: Some(range), doc }
}

/// A parameter that is a length of time, its default in milliseconds, its range in seconds.
pub const fn time(name: &'static str, ms: u64, range: (f64, f64), doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Duration, default: Default::Duration(Span::from_millis(ms)), range: Some(range), doc }
}

/// A parameter that is one word out of a list, the first of which is its default.
pub const fn choice(name: &'static str, words: &'static [&'static str], doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Choice(words), default: Default::Text(words[0]), range: None, doc }
}

/// A parameter that is a yes or no.
pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> ParamSpec {
    ParamSpec { name, kind: Kind::Bool, default: Default::Bool(default), range: None, doc }
}

/// What is wrong with a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// No parameter has this name.
    Unknown(String),
    /// The value is of another kind than the parameter.
    WrongKind {
        /// The parameter.
        name: String,
        /// What it takes.
        wants: String,
    },
    /// The value contradicts another one.
    Conflict {
        /// The parameter.
        name: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The value is outside the sensible range.
    OutOfRange {
        /// The parameter.
        name: String,
        /// The value given.
        value: f64,
        /// Smallest and largest sensible value.
        range: (f64, f64),
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unknown(name) => write!(f, "unknown parameter '{name}'"),
            ParamError::WrongKind { name, wants } => write!(f, "'{name}' must be {wants}"),
            ParamError::Conflict { name, problem } => write!(f, "'{name}': {problem}"),
            ParamError::OutOfRange { name, value, range } => {
                write!(f, "'{name}' is {value}, outside {}..{}", range.0, range.1)
            }
        }
    }
}

impl std::error::Error for ParamError {}

/// Checks `value` against a kind and range and turns whole numbers into what the kind stores.
pub fn check(name: &str, kind: Kind, range: Option<(f64, f64)>, value: &Value) -> Result<Value, ParamError> {
    let wrong = |wants: &str| ParamError::WrongKind { name: name.to_owned(), wants: wants.to_owned() };
    let value = match (kind, value) {
        (Kind::Bool, Value::Bool(_)) | (Kind::Float, Value::Float(_)) | (Kind::Duration, Value::Duration(_)) => {
            value.clone()
        }
        (Kind::Float, Value::Int(n)) => Value::Float(*n as f64),
        (Kind::Duration, Value::Int(ns)) => Value::Duration(Span(*ns)),
        (Kind::Count | Kind::Bytes | Kind::Segments, Value::Int(_)) => value.clone(),
        (Kind::Choice(words), Value::Text(t)) if words.contains(&t.as_str()) => value.clone(),
        (Kind::Choice(words), _) => return Err(wrong(&format!("one of {}", words.join(", ")))),
        (Kind::Bool, _) => return Err(wrong("true or false")),
        (Kind::Float, _) => return Err(wrong("a number")),
        (Kind::Duration, _) => return Err(wrong("a length of time")),
        (Kind::Count | Kind::Bytes | Kind::Segments, _) => return Err(wrong("a whole number")),
    };
    if let Some(range) = range {
        let x = match &value {
            Value::Int(n) => *n as f64,
            Value::Float(x) => *x,
            // Divided, not multiplied by 1e-9: an end of the range is the number it looks like.
            Value::Duration(s) => s.0 as f64 / 1e9,
            _ => return Ok(value),
        };
        if !(range.0..=range.1).contains(&x) {
            return Err(ParamError::OutOfRange { name: name.to_owned(), value: x, range });
        }
    }
    Ok(value)
}

/// The parameters of one algorithm: what the scenario set, over the defaults of its description.
#[derive(Clone, Debug)]
pub struct Params {
    values: Vec<(&'static str, Value)>,
}

impl Params {
    /// Checks `given` against `specs` and fills in the defaults.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong kind or outside its range.
    pub fn new(specs: &[ParamSpec], given: &[(String, Value)]) -> Result<Params, ParamError> {
        let mut values: Vec<(&'static str, Value)> = specs.iter().map(|s| (s.name, s.default.into())).collect();
        for (name, value) in given {
            let i = specs.iter().position(|s| s.name == name).ok_or_else(|| ParamError::Unknown(name.clone()))?;
            values[i].1 = check(name, specs[i].kind, specs[i].range, value)?;
        }
        Ok(Params { values })
    }

    fn get(&self, name: &str) -> &Value {
        static MISSING: Value = Value::Bool(false);
        let found = self.values.iter().find(|(n, _)| *n == name);
        debug_assert!(found.is_some(), "parameter {name} is not in the algorithm's description");
        found.map_or(&MISSING, |(_, v)| v)
    }

    /// A yes-or-no parameter of the description.
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Value::Bool(true))
    }

    /// A whole-number parameter of the description.
    pub fn int(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Int(n) => *n,
            _ => 0,
        }
    }

    /// A real-number parameter of the description; whole numbers are converted.
    pub fn float(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Float(x) => *x,
            Value::Int(n) => *n as f64,
            _ => 0.0,
        }
    }

    /// A length-of-time parameter of the description.
    pub fn duration(&self, name: &str) -> Span {
        match self.get(name) {
            Value::Duration(s) => *s,
            _ => Span::ZERO,
        }
    }

    /// A choice parameter of the description.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Text(t) => t,
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[ParamSpec] = &[
        ParamSpec {
            name: "beta",
            kind: Kind::Float,
            default: Default::Float(0.7),
            range: Some((0.1, 0.99)),
            doc: "kept",
        },
        ParamSpec {
            name: "law",
            kind: Kind::Choice(&["a", "b"]),
            default: Default::Text("a"),
            range: None,
            doc: "which",
        },
    ];

    #[test]
    fn defaults_fill_what_is_not_given() {
        let p = Params::new(SPECS, &[("law".into(), Value::Text("b".into()))]).unwrap();
        assert_eq!(p.float("beta"), 0.7);
        assert_eq!(p.text("law"), "b");
    }

    #[test]
    fn wrong_parameters_are_refused() {
        let err = |name: &str, v| Params::new(SPECS, &[(name.to_owned(), v)]).unwrap_err().to_string();
        assert_eq!(err("bete", Value::Float(0.5)), "unknown parameter 'bete'");
        assert_eq!(err("beta", Value::Float(2.0)), "'beta' is 2, outside 0.1..0.99");
        assert_eq!(err("beta", Value::Bool(true)), "'beta' must be a number");
        assert_eq!(err("law", Value::Text("c".into())), "'law' must be one of a, b");
    }
}
