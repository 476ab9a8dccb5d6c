//! Congestion control: the contract between an endpoint and its controller.
//!
//! The endpoint measures, the controller decides. Events go in, one small [`Control`] value comes out. Most
//! algorithms only say how a window grows and shrinks: they implement [`Avoidance`] (one file each) and
//! [`WindowBased`] combines them with any slow start. Model-based algorithms implement [`CongestionControl`] itself.

mod cubic;
mod cubic_integer;
pub mod registry;
mod reno;
mod tahoe;
#[cfg(test)]
pub(crate) mod testing;
mod window;

use crate::rng::Stream;
use crate::time::{Span, Time};

pub use cubic::Cubic;
pub use cubic_integer::CubicInteger;
pub use reno::Reno;
pub use window::{Avoidance, Window, WindowBased};

/// What the endpoint knows of the round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttView {
    /// Smoothed (RFC 6298); zero before the first sample.
    pub smoothed: Span,
    /// Smallest sample of the connection; zero before the first.
    pub min: Span,
}

/// What every event of a controller comes with.
pub struct Cx<'a> {
    /// The time of the event.
    pub now: Time,
    /// Sender maximum segment size: payload bytes of a full segment.
    pub mss: u32,
    /// Bytes the endpoint believes to be in the network after this event.
    pub in_flight: u64,
    /// Round-trip times so far.
    pub rtt: RttView,
    /// Payload bytes delivered to the receiver so far, selectively or cumulatively acknowledged.
    pub delivered: u64,
    /// Payload bytes declared lost so far.
    pub lost: u64,
    /// The connection's own random stream.
    pub rng: &'a mut Stream,
}

/// One acknowledgment that delivered data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Bytes newly delivered: cumulatively or selectively acknowledged for the first time.
    pub delivered: u64,
    /// Bytes newly declared lost on this acknowledgment.
    pub lost: u64,
    /// Round-trip time of the newest segment acknowledged; `None` when ambiguous (Karn's rule without timestamps).
    pub rtt: Option<Span>,
    /// Bytes in flight before this acknowledgment.
    pub in_flight_before: u64,
    /// Counts rounds: a round ends when a segment sent after its begin is acknowledged.
    pub round: u64,
    /// Whether the window was what held the sender back (RFC 9438 §5.8): only then should it grow.
    pub window_limited: bool,
    /// Whether the controller moves the window: not during fast recovery, when this is for its estimators only
    /// ([`CongestionControl::estimates`]).
    pub grow: bool,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Loss found by acknowledgments: fast recovery begins.
    Loss {
        /// Bytes outstanding when the loss was found, without those sent by limited transmit (RFC 5681 FlightSize).
        flight: u64,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Bytes outstanding (RFC 5681 FlightSize).
        flight: u64,
        /// True when the segment that timed out had timed out before: ssthresh must be held (RFC 5681 §3.1).
        repeated: bool,
    },
}

impl Signal {
    /// Bytes outstanding when the signal came.
    pub fn flight(&self) -> u64 {
        match *self {
            Signal::Loss { flight } | Signal::Timeout { flight, .. } => flight,
        }
    }
}

/// What the endpoint's idle rule asks for when sending resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// How long nothing was sent.
    pub idle: Span,
    /// The window must not be above this, bytes.
    pub window: u64,
    /// The slow start threshold must not be below this, bytes (Linux: three quarters of the old window).
    pub ssthresh_floor: u64,
}

/// What a controller wants: read by the endpoint after every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes; `u64::MAX` is "none yet".
    pub ssthresh: u64,
}

/// Who moves the window while losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryBy {
    /// The endpoint, with its recovery algorithm (PRR, NewReno inflation, ...), towards the controller's ssthresh.
    Endpoint,
    /// No fast recovery: the window collapses and slow start repairs (Tahoe).
    SlowStart,
}

/// A congestion controller: events in, [`Control`] out.
pub trait CongestionControl: Send {
    /// The connection is established; `initial_window` in bytes (RFC 6928).
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64);
    /// An acknowledgment delivered data.
    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack);
    /// Congestion was signalled: at most once per recovery episode.
    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal);
    /// Fast recovery has ended and leaves a window of `cwnd` bytes.
    fn on_recovered(&mut self, cx: &mut Cx<'_>, cwnd: u64);
    /// Sending resumes after an idle time (RFC 5681 §4.1).
    fn on_restart(&mut self, cx: &mut Cx<'_>, restart: Restart);
    /// The present decision.
    fn control(&self) -> Control;
    /// Whether acknowledgments are of use to it while the window is not its own.
    fn estimates(&self) -> bool {
        false
    }
    /// Who runs recovery.
    fn recovery_by(&self) -> RecoveryBy {
        RecoveryBy::Endpoint
    }
}
