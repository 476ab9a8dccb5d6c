//! Tahoe (Jacobson 1988): Reno's growth, but every loss restarts slow start from one segment.

use super::registry::{Builder, Controller};
use super::{Ack, Avoidance, Cx, Needs, RecoveryBy, Reno, Signal, Window, reno};
use crate::params::Params;

pub(super) const ENTRY: Controller = Controller {
    name: "tahoe",
    family: "loss",
    source: "Jacobson 1988",
    summary: "one segment per window; every loss restarts slow start",
    differences: "Linux and ns-3 have no Tahoe; the variants are those of reno",
    params: reno::PARAMS,
    builder: Builder::Law(|p| Box::new(Tahoe::new(p))),
};

/// Reno without fast recovery.
#[derive(Clone, Debug)]
pub struct Tahoe(Reno);

impl Tahoe {
    /// Takes Reno's parameters.
    pub fn new(p: &Params) -> Tahoe {
        Tahoe(Reno::new(p).restarting())
    }
}

impl Avoidance for Tahoe {
    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        self.0.grow(cx, ack, w, acked);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.0.reduce(cx, signal, w)
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryBy::SlowStart, ..Needs::default() }
    }
}
