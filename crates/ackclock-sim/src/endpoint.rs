//! From a flow of the resolved run to the options, controller and slow start of its endpoints.

use crate::spec::{self, SpecError};
use ackclock_core::cc::{CongestionControl, registry};
use ackclock_core::params::{Kind, Value};
use ackclock_core::slowstart::{self, SlowStart};
use ackclock_core::tcp::config::OPTIONS;
use ackclock_core::tcp::{Config, Profile};
use ackclock_run::given::given;
use std::collections::BTreeMap;

/// The endpoint options of a flow: its profile's for its controller, with what is set apart.
pub fn config(flow: &spec::Flow, path: &str) -> Result<(Profile, Config), SpecError> {
    let profile = Profile::from_name(&flow.profile).ok_or_else(|| {
        let known: Vec<_> = Profile::ALL.iter().map(|p| p.name()).collect();
        SpecError::new(
            format!("{path}.profile"),
            format!("unknown profile '{}'; known are {}", flow.profile, known.join(", ")),
        )
    })?;
    let mut config = profile.options(&flow.cc.name);
    let kind = |name: &str| OPTIONS.iter().find(|o| o.name == name).map(|o| o.kind);
    for (name, v) in given(&flow.tcp, kind, format_args!("{path}.tcp"))? {
        config.set(&name, &v).map_err(|e| SpecError::new(format!("{path}.tcp.{name}"), e.to_string()))?;
    }
    if config.max_rto < config.min_rto {
        let (most, least) = (config.max_rto.as_secs_f64(), config.min_rto.as_secs_f64());
        let problem = format!("max_rto = {most} s is below min_rto = {least} s; raise one or lower the other");
        return Err(SpecError::new(format!("{path}.tcp.max_rto"), problem));
    }
    let full =
        u64::from(flow.mss) + config.header_bytes + if config.timestamps && config.count_options { 12 } else { 0 };
    if config.mtu > 0 && full > config.mtu {
        let problem = format!("a full segment is a packet of {full} bytes, above the MTU of {}", config.mtu);
        return Err(SpecError::new(format!("{path}.mss"), problem));
    }
    Ok((profile, config))
}

/// Makes the controller of one end of a flow, `true` for its server; see [`crate::Sim::new_with`].
pub type Make<'a> = dyn FnMut(&spec::Flow, bool, Profile, &str) -> Result<Box<dyn CongestionControl>, SpecError> + 'a;

/// The controller of the registry that `flow` names. `path` is the flow's own, for messages.
pub fn controller(flow: &spec::Flow, profile: Profile, path: &str) -> Result<Box<dyn CongestionControl>, SpecError> {
    let name = flow.cc.name.as_str();
    let entry = registry::find(name).ok_or_else(|| {
        let known: Vec<_> = registry::CONTROLLERS.iter().map(|c| c.name).collect();
        SpecError::new(format!("{path}.cc"), format!("unknown controller '{name}'; known are {}", known.join(", ")))
    })?;
    let at = |what: &str| format!("{path}.{what}");
    let kind = |n: &str| entry.params.iter().find(|s| s.name == n).map(|s| s.kind);
    let mut params = given(&flow.cc.params, kind, format_args!("{path}.cc.params"))?;
    for (n, v) in profile.controller_defaults(name) {
        let fits =
            entry.params.iter().any(|s| s.name == *n && matches!(s.kind, Kind::Choice(words) if words.contains(v)));
        if fits && !flow.cc.params.contains_key(*n) {
            params.push(((*n).to_owned(), Value::Text((*v).to_owned())));
        }
    }
    if flow.slow_start.is_some() && matches!(entry.builder, registry::Builder::Whole(_)) {
        return Err(SpecError::new(at("slow_start"), format!("'{name}' starts by itself; leave slow_start out")));
    }
    let slow_start = slow_start(flow, profile, path)?;
    registry::build(name, &params, slow_start).map_err(|e| SpecError::new(at("cc"), e.to_string()))
}

/// The slow start that `flow` names, or else its profile's.
pub fn slow_start(flow: &spec::Flow, profile: Profile, path: &str) -> Result<Box<dyn SlowStart>, SpecError> {
    let at = |what: &str| format!("{path}.{what}");
    let none = BTreeMap::new();
    let default = || (profile.default_slow_start(&flow.cc.name), &none);
    let (name, params) = flow.slow_start.as_ref().map_or_else(default, |ss| (ss.name.as_str(), &ss.params));
    let ss_entry = slowstart::SLOW_STARTS.iter().find(|e| e.name == name).ok_or_else(|| {
        let known: Vec<_> = slowstart::SLOW_STARTS.iter().map(|c| c.name).collect();
        SpecError::new(at("slow_start"), format!("unknown slow start '{name}'; known are {}", known.join(", ")))
    })?;
    let kind = |n: &str| ss_entry.params.iter().find(|s| s.name == n).map(|s| s.kind);
    let mut ss_params = given(params, kind, format_args!("{path}.slow_start.params"))?;
    if !params.contains_key("abc_limit") && kind("abc_limit").is_some() {
        ss_params.push(("abc_limit".to_owned(), Value::Int(profile.abc_limit())));
    }
    let form = profile.name();
    let has_form = matches!(kind("variant"), Some(Kind::Choice(words)) if words.contains(&form));
    if !params.contains_key("variant") && has_form {
        ss_params.push(("variant".to_owned(), Value::Text(form.to_owned())));
    }
    slowstart::build(name, &ss_params).map_err(|e| SpecError::new(at("slow_start"), e.to_string()))
}

#[cfg(test)]
mod tests {
    use crate::{Run, Sim};

    #[test]
    fn a_largest_timeout_below_the_smallest_is_refused() {
        let run = |tcp: &str| {
            let flow = format!(
                r#"{{"id": "0", "forward": [{{"delay_ns": 1000}}], "reverse": [{{"delay_ns": 1000}}], "start": {{"at_ns": 0}},
                "app": {{"kind": "bulk"}}, "mss": 1448, "profile": "rfc", "tcp": {tcp}, "cc": {{"name": "reno"}}}}"#
            );
            let text = format!(r#"{{"format": 1, "seed": 1, "duration_ns": 1000, "links": [], "flows": [{flow}]}}"#);
            Sim::new(&Run::from_json(&text).unwrap()).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(run(r#"{"max_rto": 2000000000}"#), Ok(()));
        let problem = run(r#"{"max_rto": 500000000}"#).unwrap_err();
        assert!(problem.contains("max_rto = 0.5 s is below min_rto = 1 s"), "{problem}");
    }
}
