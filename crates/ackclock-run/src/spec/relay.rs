//! Relays in the resolved run: flows that are split in two.

use super::{Run, SpecError};
use ackclock_core::app::relay::{Node, Opening, Setting};
use ackclock_core::time::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The relay of a flow. Its legs are flows of the run like others; their applications are those of the flow, whose own
/// options and routes say nothing but what it would be without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// The flows that are its legs: between source and relay, between relay and sink.
    pub legs: [String; 2],
    /// Bytes of the buffer of each direction of a connection.
    pub buffer_bytes: u64,
    /// When clients are answered: `transparent`, `accepted`, `lazy`, `syn_forward`.
    #[serde(default = "transparent")]
    pub opening: String,
    /// How long what has arrived takes to the other leg.
    #[serde(default)]
    pub delay_ns: u64,
    /// The node that it is on. Relays with one node share its processor and its connections; none: one of its own.
    #[serde(default)]
    pub node: Option<String>,
    /// How long the node's processor takes for a segment with data, one after the other.
    #[serde(default)]
    pub per_segment_ns: u64,
    /// Most connections of the node at a time; none: any number.
    #[serde(default)]
    pub connections: Option<u64>,
}

fn transparent() -> String {
    "transparent".to_owned()
}

/// The smallest buffer: what the window of a SYN can promise, which nothing takes back.
const LEAST_BUFFER: u64 = 65_535;

impl Relay {
    /// What the state machine is made with, between legs of this `mss`; `path` is the relay's own, for messages.
    ///
    /// # Errors
    /// A way of opening that there is not, too small a buffer.
    pub fn setting(&self, mss: [u64; 2], path: &str) -> Result<Setting, SpecError> {
        let opening = match self.opening.as_str() {
            "transparent" => Opening::Transparent,
            "accepted" => Opening::Accepted,
            "lazy" => Opening::Lazy,
            "syn_forward" => Opening::SynForward,
            other => {
                let problem = format!("unknown '{other}'; known are transparent, accepted, lazy, syn_forward");
                return Err(SpecError::new(format!("{path}.opening"), problem));
            }
        };
        if self.buffer_bytes < LEAST_BUFFER {
            let problem = format!("{} B; at least {LEAST_BUFFER}, which a SYN may promise", self.buffer_bytes);
            return Err(SpecError::new(format!("{path}.buffer_bytes"), problem));
        }
        Ok(Setting { buffer: self.buffer_bytes, opening, delay: Span(self.delay_ns), mss })
    }

    /// The node that it is on, as it begins.
    pub fn node(&self) -> Node {
        Node::new(Span(self.per_segment_ns), self.connections.unwrap_or(u64::MAX))
    }
}

/// Of each flow of `run` that is a leg, the flow that it belongs to and which of its legs it is: by its number.
pub fn legs(run: &Run) -> BTreeMap<usize, (usize, usize)> {
    let mut legs = BTreeMap::new();
    if run.flows.iter().any(|f| f.relay.is_some()) {
        let numbers: BTreeMap<_, _> = run.flows.iter().zip(0..).map(|(f, i)| (f.id.as_str(), i)).collect();
        for (whole, f) in run.flows.iter().enumerate() {
            for (which, id) in f.relay.iter().flat_map(|r| r.legs.iter().enumerate()) {
                legs.extend(numbers.get(id.as_str()).map(|leg| (*leg, (whole, which))));
            }
        }
    }
    legs
}

/// Checks the relays of `run`.
///
/// # Errors
/// What is wrong with one, and where.
pub(crate) fn check(run: &Run) -> Result<(), SpecError> {
    if run.flows.iter().all(|f| f.relay.is_none()) {
        return Ok(());
    }
    let mut taken = vec![false; run.flows.len()];
    let mut nodes: BTreeMap<&str, &Relay> = BTreeMap::new();
    let numbers: BTreeMap<_, _> = run.flows.iter().zip(0..).map(|(f, i)| (f.id.as_str(), i)).collect();
    for (i, f) in run.flows.iter().enumerate() {
        let Some(relay) = &f.relay else { continue };
        let path = format!("flows.{i}.relay");
        let err = |problem: String| Err(SpecError::new(path.as_str(), problem));
        relay.setting([0; 2], &path)?;
        if let Some(node) = &relay.node {
            let first = *nodes.entry(node).or_insert(relay);
            if (first.per_segment_ns, first.connections) != (relay.per_segment_ns, relay.connections) {
                return err(format!(
                    "other relays of the node '{node}' have another processor or cap; give all the same"
                ));
            }
        }
        if f.app.datagrams().is_some() {
            return err("it splits connections, and this flow sends datagrams; leave it out".into());
        }
        for id in &relay.legs {
            let Some(leg) = numbers.get(id.as_str()).copied() else {
                return err(format!("no flow has the id '{id}' of its leg"));
            };
            if leg == i || run.flows[leg].relay.is_some() || std::mem::replace(&mut taken[leg], true) {
                return err(format!("the flow '{id}' cannot be its leg: it is one already, or has a relay itself"));
            }
            if run.flows[leg].app != f.app {
                return err(format!("its leg '{id}' has another application; write the one of the flow"));
            }
            if run.flows[leg].tcp.get("handshake") == Some(&serde_json::Value::Bool(false)) {
                return err(format!("its leg '{id}' has no handshake, which a relay waits for; leave handshake out"));
            }
        }
    }
    Ok(())
}
