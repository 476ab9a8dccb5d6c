//! Applications in the resolved run: a kind and its parameters, which the list in `ackclock_core::app::registry` describes.

use super::distribution::Dist;
use super::{Flow, Run, SpecError};
use ackclock_core::app::params::{Arrivals, Given, Kind, Value};
use ackclock_core::app::registry::{self, APPLICATIONS, Entry};
use ackclock_core::app::web::page::Planned;
use ackclock_core::app::{Made, Setup};
use ackclock_core::time::{Span, Time};
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
    pub fn entry(&self, path: &str) -> Result<&'static Entry, SpecError> {
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
pub fn made(f: &Flow, run: &Run, path: &str) -> Result<Made, SpecError> {
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
        Kind::Objects => {
            let objects = Vec::<Listed>::deserialize(json).map_err(|e| e.to_string())?;
            Ok(Value::Objects(objects.into_iter().map(Planned::from).collect()))
        }
        Kind::Distribution => {
            let made = Dist::deserialize(json).map_err(|e| e.to_string())?.variate();
            made.map(Value::Distribution)
        }
    }
}

/// When transfers arrive, counted from the flow's start.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Several {
    PoissonPerS(f64),
    EveryNs(u64),
}

/// An object of a page.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    /// Its name, for readers.
    #[serde(default, rename = "name")]
    _name: Option<String>,
    /// Its bytes.
    bytes: u64,
    /// Numbers of the objects that make it known.
    #[serde(default)]
    after: Vec<u32>,
    /// From the last byte of the last of these to when it is known.
    #[serde(default)]
    parse_ns: Option<u64>,
}

impl From<Listed> for Planned {
    fn from(listed: Listed) -> Planned {
        Planned { bytes: listed.bytes, after: listed.after, parse: listed.parse_ns.map(Span) }
    }
}
