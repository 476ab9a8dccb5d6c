//! Slow start: how the window opens before the first congestion and after a timeout.
//!
//! A slow start grows the window while it is below ssthresh and hands what is left of an acknowledgment to congestion
//! avoidance. Any of them works with any window-based controller.

mod blbe;
mod hystart;
mod hystart_pp;
mod limited;
mod standard;

use crate::cc::{Ack, Cx, PacketPair, Signal, StartEstimate, Window};
use crate::params::{ParamError, ParamSpec, Params, Value};

pub use blbe::Blbe;
pub use hystart::HyStart;
pub use hystart_pp::HyStartPp;
pub use limited::Limited;
pub use standard::Standard;

/// A start-up algorithm.
pub trait SlowStart: Send {
    /// The connection is established.
    fn start(&mut self, _cx: &Cx<'_>) {}

    /// `acked` segments were delivered while `w` is below ssthresh. Grows `w`, at most to ssthresh, and returns the
    /// segments left for congestion avoidance. May lower ssthresh to end slow start.
    fn on_ack(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) -> f64;

    /// True when it wants [`SlowStart::observe`].
    fn observes(&self) -> bool {
        false
    }

    /// Segments are paced ([`crate::cc::CongestionControl::on_paced`]).
    fn on_paced(&mut self) {}

    /// Sees every acknowledgment while `w` is below ssthresh, in every phase and before the window grows. May lower
    /// ssthresh to end slow start.
    fn observe(&mut self, _cx: &Cx<'_>, _ack: &Ack, _w: &mut Window) {}

    /// Congestion was signalled.
    fn on_congestion(&mut self, _cx: &Cx<'_>, _signal: Signal) {}

    /// True when it wants [`SlowStart::packet_pair`].
    fn pairs(&self) -> bool {
        false
    }

    /// Asks for a packet pair, whatever the window ([`crate::cc::CongestionControl::packet_pair`]).
    fn packet_pair(&mut self, _cx: &Cx<'_>, _w: &Window) -> Option<[u32; 2]> {
        None
    }

    /// A pair was acknowledged. May set ssthresh.
    fn on_packet_pair(&mut self, _cx: &Cx<'_>, _pair: &PacketPair, _w: &mut Window) {}

    /// What it measured, if it did.
    fn estimate(&self) -> Option<StartEstimate> {
        None
    }
}

/// Grows by `grant` segments but not past ssthresh; returns the part of the grant that did not fit.
pub(crate) fn grow_to_ssthresh(w: &mut Window, grant: f64) -> f64 {
    let room = (w.ssthresh - w.cwnd).max(0.0);
    if grant < room {
        w.cwnd += grant;
        0.0
    } else {
        w.cwnd = w.ssthresh;
        grant - room
    }
}

/// A slow start's entry in the list.
pub struct SlowStartEntry {
    /// Its name in a scenario.
    pub name: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// What it does, one line.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// What no single parameter's range can say.
    check: fn(&Params) -> Result<(), ParamError>,
    build: fn(&Params) -> Box<dyn SlowStart>,
}

/// Every slow start.
pub const SLOW_STARTS: &[SlowStartEntry] =
    &[standard::ENTRY, limited::ENTRY, hystart::ENTRY, hystart_pp::ENTRY, blbe::ENTRY];

/// Builds slow start `name` with the parameters given, defaults for the rest.
///
/// # Errors
/// An unknown name or parameter, or parameters that do not go together.
pub fn build(name: &str, given: &[(String, Value)]) -> Result<Box<dyn SlowStart>, ParamError> {
    let entry = SLOW_STARTS.iter().find(|e| e.name == name).ok_or_else(|| ParamError::Unknown(name.to_owned()))?;
    let params = Params::new(entry.params, given)?;
    (entry.check)(&params)?;
    Ok((entry.build)(&params))
}
