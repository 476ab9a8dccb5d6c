//! Every queueing discipline by name, with its parameters: what a scenario can ask for.

use super::codel;
use super::droptail;
use super::dualpi2;
use super::fair;
use super::fq_codel;
use super::pie;
use super::priority;
use super::red;
use super::{Limits, Queue};
use crate::params::{ParamError, ParamSpec, Params, Value};
use crate::rng::Stream;
use crate::time::Span;

/// What a queue knows of the link it feeds.
#[derive(Clone, Debug)]
pub struct Site {
    /// The room there is.
    pub limits: Limits,
    /// The link's rate, bit/s: its mean where it varies.
    pub rate_bps: u64,
    /// The link's propagation delay.
    pub delay: Span,
    /// Bytes of a full-size packet on the link.
    pub packet: u32,
    /// Weights of the classes of packets (`Parcel::class`), for schedulers that share by weight; a class without one
    /// has weight 1.
    pub weights: Vec<f64>,
    /// The queue's own random stream.
    pub rng: Stream,
}

impl Site {
    /// The weight of a class.
    pub fn weight(&self, class: u8) -> f64 {
        self.weights.get(usize::from(class)).copied().unwrap_or(1.0)
    }
}

/// Makes a queue from its parameters, which it may refuse.
pub type Build = fn(&Params, Site) -> Result<Box<dyn Queue>, ParamError>;

/// A queueing discipline.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    /// Its `kind` in a scenario.
    pub name: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// Packets it holds when the scenario gives no limit; none: a limit must be given.
    pub default_limit: Option<u64>,
    /// Makes it.
    pub build: Build,
}

/// Every discipline, in the order of the tables.
pub const DISCIPLINES: &[Discipline] = &[
    droptail::ENTRY,
    codel::ENTRY,
    fq_codel::ENTRY,
    red::ENTRY,
    pie::ENTRY,
    dualpi2::ENTRY,
    priority::ENTRY,
    fair::SCFQ,
    fair::WFQ,
    fair::WF2Q,
    fair::FQ,
    fair::DRR,
];

/// The discipline of that name.
pub fn find(name: &str) -> Option<&'static Discipline> {
    DISCIPLINES.iter().find(|d| d.name == name)
}

/// Makes the queue `name` at `site` with the parameters given over its defaults.
///
/// # Errors
/// An unknown name or parameter, a value out of range, or parameters that contradict each other.
pub fn build(name: &str, given: &[(String, Value)], site: Site) -> Result<Box<dyn Queue>, ParamError> {
    let entry = find(name).ok_or_else(|| ParamError::Unknown(name.to_owned()))?;
    (entry.build)(&Params::new(entry.params, given)?, site)
}
