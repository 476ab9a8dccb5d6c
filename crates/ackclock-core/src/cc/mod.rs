//! Congestion control: the contract between an endpoint and its controller.
//!
//! The endpoint measures, the controller decides. Events go in, one small [`Control`] value comes out. Most
//! algorithms only say how a window grows and shrinks: they implement [`Avoidance`] (one file each) and
//! [`WindowBased`] combines them with any slow start. Model-based algorithms implement [`CongestionControl`] itself.
//!
//! Order of events on one acknowledgment: [`CongestionControl::observe`], then [`CongestionControl::on_congestion`],
//! [`CongestionControl::on_undo`], [`CongestionControl::on_recovered`] and [`CongestionControl::on_phase`] as recovery
//! has it, then [`CongestionControl::on_ack`].

mod additive;
mod bbr1;
mod bbr3;
mod bic;
mod bic_integer;
mod control;
mod copa;
mod cubic;
mod cubic_integer;
mod cubic_ns3;
mod dctcp;
mod external;
mod fast;
mod fast_ns2;
mod highspeed;
mod htcp;
mod htcp_integer;
mod hybla;
mod illinois;
mod interval;
mod ledbat;
mod prague;
pub mod registry;
mod reno;
mod scalable;
mod tahoe;
#[cfg(test)]
pub(crate) mod testing;
mod vegas;
mod veno;
mod westwood;
mod westwood_plus;
mod window;
mod yeah;

use crate::math::float;
use crate::rng::Stream;
use crate::time::{Span, Time};

pub use bbr1::Bbr1;
pub use bbr3::Bbr3;
pub use bic::Bic;
pub use bic_integer::BicCount;
pub use control::{Control, Decision, Pacing};
pub use copa::Copa;
pub use cubic::Cubic;
pub use cubic_integer::CubicInteger;
pub use cubic_ns3::CubicNs3;
pub use dctcp::Dctcp;
pub use external::External;
pub use fast::Fast;
pub use fast_ns2::FastNs2;
pub use highspeed::{HighSpeed, HighSpeedTable};
pub use htcp::Htcp;
pub use htcp_integer::HtcpInteger;
pub use hybla::{Hybla, HyblaInteger};
pub use interval::Interval;
pub use ledbat::Ledbat;
pub use prague::Prague;
pub use reno::Reno;
pub use scalable::{Scalable, ScalableCount};
pub use window::{Avoidance, Window, WindowBased};

/// What the endpoint knows of the round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttView {
    /// Smoothed (RFC 6298); zero before the first sample.
    pub smoothed: Span,
    /// Smallest sample of the connection, or of the last [`Config::min_rtt_window`]; zero before the first.
    ///
    /// [`Config::min_rtt_window`]: crate::tcp::config::Config::min_rtt_window
    pub min: Span,
}

/// Where the sender stands with respect to congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be wrong.
    #[default]
    Open,
    /// Duplicates or SACKed segments arrived, but nothing is held for lost yet. The window moves as in `Open`.
    Disorder,
    /// The network marked packets: the window shrinks, nothing is repaired (Linux's CWR).
    Reduction,
    /// Losses found by acknowledgments are being repaired.
    Recovery,
    /// A timeout (or Tahoe's reaction) is being repaired by slow start.
    Loss,
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
    /// Next position to send, bytes of the stream: for rounds of one's own.
    pub nxt: u64,
    /// Payload bytes delivered to the receiver so far, selectively or cumulatively acknowledged.
    pub delivered: u64,
    /// Payload bytes declared lost so far.
    pub lost: u64,
    /// Where the sender stands.
    pub phase: Phase,
    /// The connection's own random stream.
    pub rng: &'a mut Stream,
}

/// How fast the network delivered over the last round trip (draft-ietf-ccwg-bbr, delivery rate samples).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: u64,
    /// The longer of the send and the acknowledgment interval; at least the smallest round-trip time.
    pub interval: Span,
    /// [`Cx::delivered`] when the newest delivered segment was sent (P.delivered).
    pub prior_delivered: u64,
    /// Bytes in flight right after that segment was sent.
    pub tx_in_flight: u64,
    /// [`Cx::lost`] when it was sent.
    pub prior_lost: u64,
    /// The sender had nothing more to send then: the sample may be below what the network could do.
    pub app_limited: bool,
}

impl RateSample {
    /// Bytes per second.
    #[inline]
    pub fn rate(&self) -> f64 {
        float(self.delivered) * 1e9 / float(self.interval.0.max(1))
    }
}

/// A segment declared lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Its first position in the stream, and its bytes.
    pub pos: u64,
    /// See `pos`.
    pub len: u64,
    /// Bytes in flight right after it was sent.
    pub tx_in_flight: u64,
    /// Bytes declared lost since it was sent, its own included.
    pub lost: u64,
    /// The sender had nothing more to send then.
    pub app_limited: bool,
}

/// One acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Bytes newly delivered: cumulatively or selectively acknowledged for the first time.
    pub delivered: u64,
    /// Bytes by which the cumulative acknowledgment advanced.
    pub acked: u64,
    /// Segments by which it advanced, as they were sent: selectively acknowledged before or not, of a part of one none
    /// (Linux's `pkts_acked`).
    pub segments: u64,
    /// Bytes newly declared lost on this acknowledgment; zero in [`CongestionControl::observe`].
    pub lost: u64,
    /// Bytes newly delivered that the network had marked (CE), as exactly as the receiver reports them.
    pub marked: u64,
    /// The acknowledgment carries ECN-Echo.
    pub ece: bool,
    /// A duplicate acknowledgment (RFC 5681 §2; with SACK RFC 6675 §2).
    pub duplicate: bool,
    /// Round-trip time of the newest segment acknowledged; `None` when ambiguous (Karn's rule without timestamps).
    pub rtt: Option<Span>,
    /// One-way delay of the segment that caused the acknowledgment, from the timestamps and with their tick; the
    /// clocks of the two ends may differ by a constant. `None` without timestamps.
    pub one_way: Option<Span>,
    /// Delivery rate, for controllers that ask for it ([`Needs::rate`]); `None` when no valid sample came.
    pub rate: Option<RateSample>,
    /// When pacing lets the next segment leave; in the past when it may leave now. Only with [`Needs::rate`].
    pub departs: Time,
    /// Bytes in flight before this acknowledgment.
    pub in_flight_before: u64,
    /// First outstanding position and next position to send, bytes of the stream: for rounds of one's own.
    pub una: u64,
    /// See `una`.
    pub nxt: u64,
    /// Counts rounds: a round ends when a segment sent after its begin is acknowledged.
    pub round: u64,
    /// Only the cumulative acknowledgment advanced: no SACK blocks, the peer's window as before (with [`Ack::ece`]
    /// unset: what Linux's header prediction recognises).
    pub plain: bool,
    /// Whether the window was what held the sender back (RFC 9438 §5.8): only then should it grow.
    pub window_limited: bool,
    /// Whether the controller moves the window: not during fast recovery, when this is for its estimators only.
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
    /// The network marked a packet (RFC 3168): at most once per window, nothing was lost.
    Ecn {
        /// Bytes outstanding (RFC 5681 FlightSize).
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
            Signal::Loss { flight } | Signal::Ecn { flight } | Signal::Timeout { flight, .. } => flight,
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

/// The reaction to a congestion signal turned out to be unfounded: what was in force before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undo {
    /// Congestion window before the reaction, bytes.
    pub cwnd: u64,
    /// Slow start threshold before it, bytes.
    pub ssthresh: u64,
}

/// Who moves the window while losses are repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryBy {
    /// The endpoint, with its recovery algorithm (PRR, NewReno inflation, ...), towards the controller's ssthresh.
    #[default]
    Endpoint,
    /// No fast recovery: the window collapses and slow start repairs (Tahoe).
    SlowStart,
    /// The controller: its window is in force at all times, [`CongestionControl::on_ack`] comes for every
    /// acknowledgment.
    Controller,
}

/// What a controller wants of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// What the endpoint's options say; marks are congestion as losses are (RFC 3168).
    #[default]
    Classic,
    /// Negotiates ECN whatever the endpoint's options; the receiver reports every change of marking at once
    /// (RFC 8257), and marks reach the controller as [`Signal::Ecn`] once per window and as [`Ack::marked`].
    Dctcp,
    /// Negotiates counts of marks whatever the endpoint's options (RFC 9768). Marks reach the controller as with
    /// [`EcnUse::Dctcp`], and its window is in force and grows also while a mark is answered. A peer that cannot count
    /// gets packets that are not ECN-capable (RFC 9331 §4.2).
    Accurate,
}

/// What a controller needs of its endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// It wants [`CongestionControl::observe`]: to see every acknowledgment, whatever the phase.
    pub observe: bool,
    /// It wants to see those too that come while nothing is outstanding, duplicates or with data: [`Ack::acked`] and
    /// [`Ack::delivered`] are zero. Only with `observe`.
    pub observe_idle: bool,
    /// It wants [`Ack::rate`].
    pub rate: bool,
    /// What it wants of ECN.
    pub ecn: EcnUse,
    /// Its ECN-capable packets carry ECT(1): it is scalable and answers marks as RFC 9331 §4 asks.
    pub ect1: bool,
    /// Who runs recovery.
    pub recovery: RecoveryBy,
    /// It may ask for packet pairs ([`CongestionControl::packet_pair`]).
    pub pairs: bool,
}

/// Two segments that left at the same time and were acknowledged one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketPair {
    /// Their payload bytes.
    pub bytes: [u32; 2],
    /// Their round-trip times.
    pub rtt: [Span; 2],
}

/// What a start measured, for the results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StartEstimate {
    /// What the path carries, bit/s.
    pub rate_bps: f64,
    /// The slow start threshold that follows from it, bytes.
    pub ssthresh: u64,
}

/// A congestion controller: events in, [`Control`] out.
pub trait CongestionControl: Send {
    /// The connection is established; `initial_window` in bytes (RFC 6928).
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64);
    /// Segments are paced, because this controller asks for it or the option `pacing` does. Comes after
    /// [`CongestionControl::start`], or not at all.
    fn on_paced(&mut self, _cx: &mut Cx<'_>) {}
    /// An acknowledgment arrived, before recovery looks at it. Only with [`Needs::observe`].
    fn observe(&mut self, _cx: &mut Cx<'_>, _ack: &Ack) {}
    /// An acknowledgment delivered data and the window may move.
    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack);
    /// A segment was declared lost, by this acknowledgment or by a timer before it. Comes before
    /// [`CongestionControl::on_phase`]; only with [`Needs::rate`].
    fn on_lost(&mut self, _cx: &mut Cx<'_>, _lost: &Lost) {}
    /// Congestion was signalled: at most once per recovery episode.
    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal);
    /// The sender's phase changed to [`Cx::phase`], or a timeout expired again in [`Phase::Loss`].
    fn on_phase(&mut self, _cx: &mut Cx<'_>) {}
    /// Fast recovery, or the reduction after a mark, has ended and leaves a window of `cwnd` bytes.
    fn on_recovered(&mut self, cx: &mut Cx<'_>, cwnd: u64);
    /// The endpoint sets the window to `cwnd` bytes for a reason of its own: a timeout leaves more than one segment.
    fn set_window(&mut self, cx: &mut Cx<'_>, cwnd: u64);
    /// The last reaction was unfounded (RFC 4015): go back to what was before.
    fn on_undo(&mut self, cx: &mut Cx<'_>, undo: Undo);
    /// Sending resumes after an idle time (RFC 5681 §4.1).
    fn on_restart(&mut self, cx: &mut Cx<'_>, restart: Restart);
    /// Data leaves while nothing is in flight: at the start, after an idle time, after a timeout. Nothing has left for
    /// `idle`, or since [`CongestionControl::on_restart`] if that was later.
    fn on_transmit_start(&mut self, _cx: &mut Cx<'_>, _idle: Span) {}
    /// Data leaves while nothing is in flight, and delivery-rate samples are limited by the application: an idle time
    /// is over. Only with [`Needs::rate`].
    fn on_limited_start(&mut self, _cx: &mut Cx<'_>) {}
    /// The controller itself keeps the sender below what the network may carry: after this acknowledgment samples are
    /// limited until what is in flight now is delivered. Only with [`Needs::rate`].
    fn limits_itself(&self) -> bool {
        false
    }
    /// Payload bytes of two segments of new data to send back to back, the second whatever the window. Asked while no
    /// pair is under way and the window has room. Only with [`Needs::pairs`].
    fn packet_pair(&mut self, _cx: &mut Cx<'_>) -> Option<[u32; 2]> {
        None
    }
    /// Both segments of a pair were acknowledged. A pair of which one was lost is not heard of again.
    fn on_packet_pair(&mut self, _cx: &mut Cx<'_>, _pair: &PacketPair) {}
    /// The time that [`Control::wake_at`] asked for has come: before anything else that is due then, and once, unless
    /// the decision asks for another.
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    /// Takes a decision from outside. False when there is something in it that it decides itself: by default
    /// everything but the window, from which it goes on as after [`CongestionControl::set_window`].
    fn on_decision(&mut self, cx: &mut Cx<'_>, decision: &Decision) -> bool {
        let Decision { cwnd: Some(cwnd), ssthresh: None, pacing: None, wake_at: None } = *decision else {
            return false;
        };
        self.set_window(cx, cwnd);
        true
    }
    /// What it measured up to its last waking, if it measures for somebody outside.
    fn interval(&self) -> Option<&Interval> {
        None
    }
    /// What the start measured, if it did.
    fn start_estimate(&self) -> Option<StartEstimate> {
        None
    }
    /// The present decision.
    fn control(&self) -> Control;
    /// What it needs of its endpoint; asked once, when the connection begins.
    fn needs(&self) -> Needs {
        Needs::default()
    }
}
