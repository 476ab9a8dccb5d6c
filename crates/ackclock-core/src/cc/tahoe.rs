//! Tahoe (Jacobson 1988): Reno's growth, but every loss restarts slow start from one segment.

use super::{Ack, Avoidance, Cx, RecoveryBy, Reno, Signal, Window};
use crate::params::Params;

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

    fn recovery_by(&self) -> RecoveryBy {
        RecoveryBy::SlowStart
    }
}
