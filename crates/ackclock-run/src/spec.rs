//! The resolved run: the one document the engine reads (`docs/resolved-run.md`).

mod app;
pub mod cell;
mod distribution;
pub mod flow;
mod hspa;
mod link;
pub mod relay;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use app::made;
pub use app::{App, Datagrams};
pub use cell::Cell;
pub use flow::{Flow, FlowGroup};
pub use hspa::Hspa;
pub use link::{Bucket, Drop, Event, Jitter, Link, Loss, Queue, Reorder, Schedule, Trace};
pub use relay::Relay;

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct SpecError {
    /// Path of the key, such as `flows.0.cc.params.beta`.
    pub path: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl SpecError {
    /// At `path` there is this `problem`.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> SpecError {
        SpecError { path: path.into(), problem: problem.into() }
    }
}

/// The format this engine reads.
pub const FORMAT: u32 = 1;

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`FORMAT`].
    pub format: u32,
    /// Master seed.
    pub seed: u64,
    /// Replication number.
    #[serde(default)]
    pub run: u64,
    /// End of the run, nanoseconds.
    pub duration_ns: u64,
    /// Begin of the measurement, nanoseconds.
    #[serde(default)]
    pub warmup_ns: u64,
    /// Links.
    pub links: Vec<Link>,
    /// What else routes may pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elements: Vec<Element>,
    /// Radio cells, which routes pass like elements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
    /// Cells of HSPA, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hspa: Vec<Hspa>,
    /// Flows: in the document those that are equal but for their names may stand together ([`FlowGroup::count`]).
    #[serde(with = "flow::groups")]
    pub flows: Vec<Flow>,
    /// Series to record.
    #[serde(default)]
    pub probes: BTreeMap<String, Sampling>,
    /// Whether the one-way delay of every packet is taken, for percentiles of each flow.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub packet_delays: bool,
    /// Where packets are looked at (`ackclock_sim::tap`): `flows`, `links`, or one of them, `links.ID`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capture: Vec<String>,
    /// Engine options.
    #[serde(default)]
    pub engine: Engine,
}

/// Who plays a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Player {
    /// The simulator.
    #[default]
    Sim,
    /// The kernel of this computer, over the path in real time.
    Kernel,
    /// A kernel that was built for it, over the path in virtual time.
    #[serde(rename = "kernel-vt")]
    KernelVt,
}

/// Who plays the run, and options of who does; those of the simulator change no result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Who plays it.
    #[serde(default)]
    pub kind: Player,
    /// Of a kernel that was built for it, which one: its name and its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<[String; 2]>,
    /// After how much time of the computer a run counts as stuck; for who waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Version of the Internet protocol between real kernels.
    #[serde(default = "version_4")]
    pub ip: u8,
    /// The processor that drives the path between them.
    #[serde(default)]
    pub pin: Option<usize>,
    /// Between real kernels: hosts leave segmentation to the path, as to a network card.
    #[serde(default)]
    pub offload: bool,
    /// A run whose packets were late counts as valid.
    #[serde(default)]
    pub allow_late: bool,
    /// Solve DropTail links without an event per departure.
    #[serde(default = "yes")]
    pub fused: bool,
    /// Keep a list of every packet delivered to an endpoint, for `ackclock_sim::Sim::take_deliveries`.
    #[serde(default)]
    pub log_deliveries: bool,
}

fn yes() -> bool {
    true
}

fn version_4() -> u8 {
    4
}

impl Default for Engine {
    fn default() -> Self {
        Engine {
            kind: Player::Sim,
            kernel: None,
            limit_ns: None,
            ip: version_4(),
            pin: None,
            offload: false,
            allow_late: false,
            fused: true,
            log_deliveries: false,
        }
    }
}

/// A step of a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hop {
    /// Over a link.
    #[serde(rename = "link")]
    Link(String),
    /// A pure delay.
    #[serde(rename = "delay_ns")]
    Delay(u64),
    /// A pure delay between two, drawn once from the flow's own stream.
    #[serde(rename = "uniform_ns")]
    Uniform([u64; 2]),
    /// Through an element.
    #[serde(rename = "element")]
    Element(Through),
}

/// Where a route enters an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Through {
    /// Name of the element.
    pub id: String,
    /// Which of its ways, from 0.
    #[serde(default)]
    pub port: u16,
}

/// A path element that is neither a link nor a delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Name.
    pub id: String,
    /// Its kind in the registry (`ackclock_core::path::registry`).
    pub kind: String,
    /// Parameters of the kind.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
}

/// A start time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Fixed.
    #[serde(rename = "at_ns")]
    At(u64),
    /// Uniform between two times, from the flow's own stream.
    #[serde(rename = "uniform_ns")]
    Uniform([u64; 2]),
}

/// An algorithm by name, with the parameters that differ from its defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Algorithm {
    /// Name (a slow start's `kind`).
    #[serde(alias = "kind")]
    pub name: String,
    /// Parameters.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
    /// For the record: hash of the source of a controller that is not the engine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// When a series is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// At every event of its flow or link.
    EveryEvent,
    /// When its value changes.
    OnChange,
    /// At fixed intervals.
    #[serde(untagged)]
    Every {
        /// The interval, nanoseconds.
        every_ns: u64,
    },
}

impl Run {
    /// Reads a document.
    ///
    /// # Errors
    /// Not JSON, or not of this shape: the message names the place.
    pub fn from_json(text: &str) -> Result<Run, SpecError> {
        let run: Run = serde_json::from_str(text).map_err(|e| SpecError::new("resolved run", e.to_string()))?;
        if run.format != FORMAT {
            return Err(SpecError::new("format", format!("is {}, this engine reads {FORMAT}", run.format)));
        }
        Ok(run)
    }
}
