//! The engine's names, kinds, defaults and sources as JSON.

use ackclock_core::cc::EcnUse;
use ackclock_core::cc::registry::{self, Builder, CONTROLLERS, Controller, OUTSIDE};
use ackclock_core::params::{Kind, ParamSpec, Value as Param};
use ackclock_core::queue::registry::DISCIPLINES;
use ackclock_core::slowstart::{self, SLOW_STARTS};
use ackclock_core::tcp::config::OPTIONS;
use ackclock_core::tcp::{Config, Profile};
use ackclock_sim::probe::{CELL_METRICS, FLOW_METRICS, LINK_METRICS, USER_METRICS};
use serde_json::{Map, Value, json};

fn value(v: &Param) -> Value {
    match v {
        Param::Bool(b) => json!(b),
        Param::Int(n) => json!(n),
        Param::Float(x) => json!(x),
        Param::Duration(s) => json!(s.0),
        Param::Text(t) => json!(t),
    }
}

fn choices(kind: Kind) -> Value {
    match kind {
        Kind::Choice(words) => json!(words),
        _ => Value::Null,
    }
}

fn param(p: &ParamSpec) -> Value {
    json!({
        "name": p.name, "kind": p.kind.name(), "default": value(&p.default.into()), "choices": choices(p.kind),
        "range": p.range.map(|r| [r.0, r.1]), "doc": p.doc,
    })
}

/// All options of a configuration.
pub fn config(c: &Config) -> Value {
    let options: Map<String, Value> =
        OPTIONS.iter().filter_map(|o| c.get(o.name).map(|v| (o.name.to_owned(), value(&v)))).collect();
    Value::Object(options)
}

/// What a controller with its default parameters wants of ECN, and whether its packets carry ECT(1) then.
fn marks(c: &Controller) -> (&'static str, bool) {
    let slow_start = slowstart::build("standard", &[]);
    let needs = slow_start.and_then(|s| registry::build(c.name, &[], s)).map(|made| made.needs()).unwrap_or_default();
    let ecn = match needs.ecn {
        EcnUse::Classic => "classic",
        EcnUse::Dctcp => "dctcp",
        EcnUse::Accurate => "accurate",
    };
    (ecn, needs.ect1)
}

fn controller(c: &Controller) -> Value {
    let params: Vec<Value> = c.params.iter().map(param).collect();
    let own_start = matches!(c.builder, Builder::Whole(_));
    let (ecn, ect1) = marks(c);
    json!({
        "name": c.name, "family": c.family, "source": c.source, "summary": c.summary,
        "differences": c.differences, "own_start": own_start, "ecn": ecn, "ect1": ect1, "params": params,
    })
}

/// Everything with a name.
pub fn everything() -> Value {
    let tcp: Vec<Value> = OPTIONS
        .iter()
        .map(|o| {
            let default = |p: &Profile| {
                let v = Config::profile(*p).get(o.name).map_or(Value::Null, |v| value(&v));
                (p.name().to_owned(), v)
            };
            let defaults: Map<String, Value> = Profile::ALL.iter().map(default).collect();
            json!({
                "name": o.name, "kind": o.kind.name(), "choices": choices(o.kind),
                "range": o.range.map(|r| [r.0, r.1]), "defaults": defaults, "doc": o.doc,
            })
        })
        .collect();
    let controllers: Vec<Value> = CONTROLLERS.iter().map(controller).collect();
    let slow_starts: Vec<Value> = SLOW_STARTS
        .iter()
        .map(|s| {
            let params: Vec<Value> = s.params.iter().map(param).collect();
            json!({"name": s.name, "source": s.source, "summary": s.summary, "params": params})
        })
        .collect();
    let queues: Vec<Value> = DISCIPLINES
        .iter()
        .map(|q| {
            let params: Vec<Value> = q.params.iter().map(param).collect();
            json!({
                "name": q.name, "source": q.source, "summary": q.summary, "params": params, "default_limit": q.default_limit,
            })
        })
        .collect();
    let profiles: Vec<&str> = Profile::ALL.iter().map(|p| p.name()).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"), "commit": env!("ACKCLOCK_COMMIT"), "profiles": profiles, "tcp_options": tcp, "controllers": controllers,
        "outside": controller(OUTSIDE),
        "slow_starts": slow_starts, "queues": queues, "flow_series": FLOW_METRICS, "link_series": LINK_METRICS, "cell_series": CELL_METRICS, "user_series": USER_METRICS,
    })
}
