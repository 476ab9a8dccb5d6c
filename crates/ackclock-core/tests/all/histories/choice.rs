//! Which controller plays, with which parameters.

use ackclock_core::cc::CongestionControl;
use ackclock_core::cc::registry::{self, Builder, CONTROLLERS, Controller};
use ackclock_core::params::{Kind, ParamSpec, Value};
use ackclock_core::slowstart::{self, SLOW_STARTS, SlowStartEntry};
use ackclock_core::time::Span;
use proptest::prelude::*;

type Given = Vec<(String, Value)>;

/// A controller in one of its variants; with a slow start where it takes one.
#[derive(Clone, Copy)]
pub struct Form {
    pub entry: &'static Controller,
    pub variant: Option<&'static str>,
    start: &'static SlowStartEntry,
}

/// A form with its parameters. What is not given is the default.
#[derive(Clone, Debug)]
pub struct Choice {
    pub name: &'static str,
    given: Given,
    start: &'static str,
    start_given: Given,
}

/// Every controller, each of its variants, with every slow start.
pub fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for entry in CONTROLLERS {
        let words = match entry.params.iter().find(|p| p.name == "variant").map(|p| p.kind) {
            Some(Kind::Choice(words)) => words.iter().copied().map(Some).collect(),
            _ => vec![None],
        };
        let starts = if matches!(entry.builder, Builder::Law(_)) { SLOW_STARTS } else { &SLOW_STARTS[..1] };
        for variant in words {
            all.extend(starts.iter().map(|start| Form { entry, variant, start }));
        }
    }
    all
}

impl Form {
    /// With its defaults.
    pub fn usual(&self) -> Choice {
        let variant = self.variant.map(|v| ("variant".to_owned(), Value::Text(v.to_owned())));
        let given = variant.into_iter().collect();
        Choice { name: self.entry.name, given, start: self.start.name, start_given: vec![] }
    }

    /// With any parameters that its construction accepts.
    pub fn any(&self) -> impl Strategy<Value = Choice> + use<> {
        let usual = self.usual();
        // A slow start is told nothing where the controller has its own.
        let start_params = if matches!(self.entry.builder, Builder::Law(_)) { self.start.params } else { &[] };
        (parameters(self.entry.params, &["variant"]), parameters(start_params, &[])).prop_filter_map(
            "parameters that do not go together",
            move |(given, start_given)| {
                let given = usual.given.iter().cloned().chain(given).collect();
                let choice = Choice { given, start_given, ..usual.clone() };
                choice.build().is_some().then_some(choice)
            },
        )
    }
}

impl Choice {
    /// The same, but these durations, where it has them, are as long as they can be.
    pub fn lasting(mut self, names: &[&str]) -> Choice {
        let entry = registry::find(self.name).expect("a controller");
        for spec in entry.params.iter().filter(|spec| names.contains(&spec.name)) {
            let (_, most) = spec.range.expect("a duration has a range");
            self.given.retain(|(name, _)| name != spec.name);
            self.given.push((spec.name.to_owned(), Value::Duration(Span((most * 1e9) as u64))));
        }
        self
    }

    /// The same with the default of this parameter.
    pub fn without(mut self, name: &str) -> Choice {
        self.given.retain(|(given, _)| given != name);
        self
    }

    /// None: its parameters are refused.
    pub fn build(&self) -> Option<Box<dyn CongestionControl>> {
        let slow_start = slowstart::build(self.start, &self.start_given).ok()?;
        registry::build(self.name, &self.given, slow_start).ok()
    }
}

/// Some of the parameters, but none of those chosen already.
fn parameters(specs: &'static [ParamSpec], chosen: &[&str]) -> impl Strategy<Value = Given> {
    let each: Vec<_> = specs
        .iter()
        .filter(|spec| !chosen.contains(&spec.name))
        .map(|spec| prop::option::weighted(0.4, value(spec)).prop_map(move |v| v.map(|v| (spec.name.to_owned(), v))))
        .collect();
    each.prop_map(|given| given.into_iter().flatten().collect())
}

fn value(spec: &'static ParamSpec) -> BoxedStrategy<Value> {
    let range = spec.range.unwrap_or((0.0, 1e9));
    match spec.kind {
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Choice(words) => prop::sample::select(words).prop_map(|w| Value::Text(w.to_owned())).boxed(),
        Kind::Float => number(range).prop_map(Value::Float).boxed(),
        Kind::Duration => number(range).prop_map(|s| Value::Duration(Span((s * 1e9) as u64))).boxed(),
        Kind::Count | Kind::Bytes | Kind::Segments => number(range).prop_map(|n| Value::Int(n.ceil() as u64)).boxed(),
    }
}

/// A number of a range: its ends, evenly, or of any magnitude.
fn number((low, high): (f64, f64)) -> impl Strategy<Value = f64> {
    let least = if low > 0.0 { low } else { high * 1e-9 };
    let magnitude = move |u: f64| (least * (high / least).powf(u)).clamp(low, high);
    prop_oneof![
        1 => Just(low),
        1 => Just(high),
        3 => low..=high,
        3 => (0.0..=1.0).prop_map(magnitude),
    ]
}
