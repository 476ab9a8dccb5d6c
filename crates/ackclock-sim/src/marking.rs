//! Warnings about explicit congestion notification: marks that nobody makes, and marks that nobody would see.

use crate::spec::{Hop, Link, Queue, Run};
use ackclock_core::cc::{EcnUse, Needs};
use ackclock_core::params::{Default, Value};
use ackclock_core::queue::registry;
use ackclock_core::tcp::Config;
use std::collections::BTreeSet;

/// How the sender of a flow comes to use ECN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Use {
    /// It does not.
    None,
    /// Its options ask for it.
    Asked,
    /// Its controller works with marks and has ECN whatever the options say.
    Needed {
        /// With ECT(1), which `dualpi2` serves with low latency.
        ect1: bool,
    },
}

impl Use {
    /// Of a sender with these options and a controller with this need.
    pub(crate) fn of(config: &Config, controller: &Needs) -> Use {
        match config.get("ecn") {
            _ if controller.ecn != EcnUse::Classic => Use::Needed { ect1: controller.ect1 },
            Some(Value::Text(rule)) if rule != "off" => Use::Asked,
            _ => Use::None,
        }
    }
}

/// Whether the queue of `link` marks.
fn marks(link: &Link) -> bool {
    let Some(Queue { kind, mark_above_packets, mark_above_bytes, params, .. }) = &link.queue else { return false };
    if mark_above_packets.is_some() || mark_above_bytes.is_some() {
        return true;
    }
    let spec = registry::find(kind).and_then(|d| d.params.iter().find(|p| p.name == "ecn"));
    let default = spec.is_some_and(|p| p.default == Default::Bool(true));
    params.get("ecn").map_or(default, |asked| asked == true) || kind == "dualpi2"
}

/// Whether the queue of `link` has one queue for scalable and one for other controllers.
fn couples(link: &Link) -> bool {
    link.queue.as_ref().is_some_and(|queue| queue.kind == "dualpi2")
}

/// What in the scenario asks the queue of `link` to mark, if something does: a default is no request.
fn asked(link: &Link) -> Option<&'static str> {
    let queue = link.queue.as_ref()?;
    if queue.mark_above_packets.is_some() || queue.mark_above_bytes.is_some() {
        return Some("a mark_above");
    }
    (queue.params.get("ecn").is_some_and(|ecn| ecn == true)).then_some("ecn = true")
}

/// What makes the packets of the flows of `run` ECN-capable.
fn remedy(run: &Run) -> &'static str {
    let datagrams = run.flows.iter().filter(|f| f.app.datagrams().is_some()).count();
    match datagrams {
        0 => "tcp.ecn",
        n if n == run.flows.len() => "ect = true in their app",
        _ => "tcp.ecn, or ect = true in the app of datagrams",
    }
}

/// What to know about `run`, whose flows use ECN as `uses` says, one entry per flow. Each line stands once, however
/// many flows it is true of.
pub(crate) fn warnings(run: &Run, uses: &[Use]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |text: String| {
        if !found.contains(&text) {
            found.push(text);
        }
    };
    let marking: BTreeSet<&str> = run.links.iter().filter(|l| marks(l)).map(|l| l.id.as_str()).collect();
    let coupled = |hop: &Hop| matches!(hop, Hop::Link(id) if run.links.iter().any(|l| l.id == *id && couples(l)));
    for (flow, how) in run.flows.iter().zip(uses) {
        let name = if flow.app.datagrams().is_some() { "datagrams" } else { flow.cc.name.as_str() };
        if matches!(how, Use::Needed { .. }) && flow.tcp.get("ecn").is_some_and(|rule| rule == "off") {
            add(format!("tcp.ecn = \"off\" has no effect: {name} asks for ECN by itself"));
        }
        if *how == (Use::Needed { ect1: false }) && flow.forward.iter().any(coupled) {
            let remedy = if name == "dctcp" { "ect1 = true in its cc" } else { "ecn = \"l4s\" in its class" };
            add(format!(
                "{name} sends ECT(0): dualpi2 serves it in the classic queue, with its delay and its marks; set {remedy}"
            ));
        }
        if *how == Use::None
            || flow.forward.iter().any(|hop| matches!(hop, Hop::Link(id) if marking.contains(id.as_str())))
        {
            continue;
        }
        add(if name == "prague" {
            "no queue marks: prague behaves like reno; give the bottleneck a dualpi2 queue".to_owned()
        } else if name == "dctcp" {
            format!("no queue marks: {name} behaves like reno; give the bottleneck's queue a mark_above")
        } else {
            format!("no queue marks: ECN does nothing for {name}; give the bottleneck's queue a mark_above or an AQM with ecn = true")
        });
    }
    if uses.iter().all(|how| *how == Use::None) {
        if let Some((link, key)) = run.links.iter().find_map(|l| asked(l).map(|key| (l, key))) {
            let id = &link.id;
            let remedy = remedy(run);
            add(format!("the queue of {id} has {key} but no flow uses ECN: nothing is marked; set {remedy}"));
        }
    }
    found
}
