//! What a controller written in Python is given: the context, acknowledgments and signals as Python objects.
//!
//! Times are seconds, sizes bytes. An object belongs to the controller once it keeps a reference to it; otherwise
//! the next call uses it again, which saves its allocation.

use ackclock_core::cc::{self, Phase};
use ackclock_core::rng::Stream;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The connection's random stream, there while a controller of its is being called.
#[derive(Clone, Default)]
pub struct Lent(Arc<Mutex<Option<Stream>>>);

impl Lent {
    /// Puts `stream` there or takes it away; returns what was there.
    pub fn set(&self, stream: Option<Stream>) -> Option<Stream> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), stream)
    }

    /// Runs `f` while the stream of `cx` is lent.
    pub fn while_lent<'c, R>(&self, cx: &mut cc::Cx<'c>, f: impl FnOnce(&mut cc::Cx<'c>) -> R) -> R {
        self.set(Some(cx.rng.clone()));
        let out = f(cx);
        if let Some(stream) = self.set(None) {
            *cx.rng = stream;
        }
        out
    }

    fn draw<R>(&self, f: impl FnOnce(&mut Stream) -> R) -> PyResult<R> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.as_mut().map(f).ok_or_else(|| PyRuntimeError::new_err("random numbers are there only during a call"))
    }
}

/// What every event of a controller comes with. Times are seconds, sizes bytes.
#[pyclass(module = "ackclock._ackclock")]
pub struct Cx {
    pub now: f64,
    pub now_ns: u64,
    pub mss: u32,
    pub in_flight: u64,
    pub smoothed: f64,
    pub min: f64,
    pub nxt: u64,
    pub delivered: u64,
    pub lost: u64,
    pub phase: Phase,
    pub lent: Lent,
}

impl Cx {
    /// A context of no call yet.
    pub fn new(lent: Lent) -> Cx {
        Cx {
            now: 0.0,
            now_ns: 0,
            mss: 0,
            in_flight: 0,
            smoothed: 0.0,
            min: 0.0,
            nxt: 0,
            delivered: 0,
            lost: 0,
            phase: Phase::Open,
            lent,
        }
    }

    /// Takes the values of `cx`.
    pub fn take(&mut self, cx: &cc::Cx<'_>) {
        self.now = cx.now.as_secs_f64();
        self.now_ns = cx.now.0;
        self.mss = cx.mss;
        self.in_flight = cx.in_flight;
        self.smoothed = cx.rtt.smoothed.as_secs_f64();
        self.min = cx.rtt.min.as_secs_f64();
        self.nxt = cx.nxt;
        self.delivered = cx.delivered;
        self.lost = cx.lost;
        self.phase = cx.phase;
    }
}

/// The word for a phase.
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "open",
        Phase::Disorder => "disorder",
        Phase::Reduction => "reduction",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    }
}

#[pymethods]
impl Cx {
    /// The time of the event, seconds since the run began.
    #[getter]
    fn now(&self) -> f64 {
        self.now
    }
    /// The same, exactly, in ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    /// Payload of a full segment, bytes.
    #[getter]
    fn mss(&self) -> u32 {
        self.mss
    }
    /// Bytes the endpoint believes to be in the network after this event.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.in_flight
    }
    /// Smoothed round-trip time (RFC 6298), seconds; zero before the first sample.
    #[getter]
    fn srtt(&self) -> f64 {
        self.smoothed
    }
    /// Smallest sample of the connection, seconds; zero before the first.
    #[getter]
    fn min_rtt(&self) -> f64 {
        self.min
    }
    /// Next position to send, bytes from the beginning of the stream.
    #[getter]
    fn nxt(&self) -> u64 {
        self.nxt
    }
    /// Payload bytes delivered so far, cumulatively or selectively acknowledged.
    #[getter]
    fn delivered(&self) -> u64 {
        self.delivered
    }
    /// Payload bytes declared lost so far.
    #[getter]
    fn lost(&self) -> u64 {
        self.lost
    }
    /// Where the sender stands: "open", "disorder", "reduction", "recovery" or "loss".
    #[getter]
    fn phase(&self) -> &'static str {
        phase_name(self.phase)
    }
    /// A number drawn uniformly from [0, 1), from the connection's own stream.
    fn random(&self) -> PyResult<f64> {
        self.lent.draw(Stream::uniform)
    }
    /// A whole number drawn uniformly from [0, n), from the connection's own stream.
    fn randrange(&self, n: u64) -> PyResult<u64> {
        self.lent.draw(|s| s.below(n))
    }
    fn __repr__(&self) -> String {
        let Cx { now, mss, in_flight, smoothed, min, .. } = self;
        let phase = phase_name(self.phase);
        format!("Cx(now={now}, mss={mss}, in_flight={in_flight}, srtt={smoothed}, min_rtt={min}, phase='{phase}')")
    }
}

/// One acknowledgment. Times are seconds, sizes bytes.
#[pyclass(module = "ackclock._ackclock")]
#[derive(Default)]
pub struct Ack(pub cc::Ack);

#[pymethods]
impl Ack {
    /// Bytes newly delivered: cumulatively or selectively acknowledged for the first time.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    /// Bytes by which the cumulative acknowledgment advanced.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked
    }
    /// Segments by which it advanced, as they were sent, whatever their size; of a part of one none.
    #[getter]
    fn segments(&self) -> u64 {
        self.0.segments
    }
    /// Bytes newly declared lost; zero in `observe`.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost
    }
    /// Bytes newly delivered that the network had marked (CE).
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked
    }
    /// The acknowledgment carries ECN-Echo.
    #[getter]
    fn ece(&self) -> bool {
        self.0.ece
    }
    /// A duplicate acknowledgment (RFC 5681 §2, RFC 6675 §2).
    #[getter]
    fn duplicate(&self) -> bool {
        self.0.duplicate
    }
    /// Round-trip time of the newest segment acknowledged, seconds; None when ambiguous (Karn's rule).
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(|s| s.as_secs_f64())
    }
    /// The same, exactly, in ns.
    #[getter]
    fn rtt_ns(&self) -> Option<u64> {
        self.0.rtt.map(|s| s.0)
    }
    /// One-way delay from the timestamps, seconds, up to a constant; None without them.
    #[getter]
    fn one_way(&self) -> Option<f64> {
        self.0.one_way.map(|s| s.as_secs_f64())
    }
    /// Delivery rate (:class:`RateSample`, bytes per second), for controllers with `wants_rate`.
    #[getter]
    fn rate(&self) -> Option<RateSample> {
        self.0.rate.map(RateSample)
    }
    /// When pacing lets the next segment leave, seconds since the run began (with `wants_rate`).
    #[getter]
    fn departs(&self) -> f64 {
        self.0.departs.as_secs_f64()
    }
    /// Bytes in flight before this acknowledgment.
    #[getter]
    fn in_flight_before(&self) -> u64 {
        self.0.in_flight_before
    }
    /// First outstanding position of the stream, bytes from its beginning.
    #[getter]
    fn una(&self) -> u64 {
        self.0.una
    }
    /// Next position to send, bytes from the beginning of the stream.
    #[getter]
    fn nxt(&self) -> u64 {
        self.0.nxt
    }
    /// Counts rounds: one ends when a segment sent after its begin is acknowledged.
    #[getter]
    fn round(&self) -> u64 {
        self.0.round
    }
    /// Only the cumulative acknowledgment advanced.
    #[getter]
    fn plain(&self) -> bool {
        self.0.plain
    }
    /// Whether the window held the sender back (RFC 9438 §5.8).
    #[getter]
    fn window_limited(&self) -> bool {
        self.0.window_limited
    }
    /// Whether the controller moves the window: not during fast recovery.
    #[getter]
    fn grow(&self) -> bool {
        self.0.grow
    }
    fn __repr__(&self) -> String {
        let cc::Ack { delivered, acked, lost, round, window_limited, .. } = self.0;
        let rtt = self.rtt().map_or("None".to_owned(), |s| s.to_string());
        let limited = if window_limited { "True" } else { "False" };
        format!(
            "Ack(delivered={delivered}, acked={acked}, lost={lost}, rtt={rtt}, round={round}, window_limited={limited})"
        )
    }
}

/// How fast the network delivered over the last round trip.
#[pyclass(frozen, module = "ackclock._ackclock")]
pub struct RateSample(pub cc::RateSample);

#[pymethods]
impl RateSample {
    /// Bytes delivered over `interval`.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered
    }
    /// Seconds; at least the smallest round-trip time.
    #[getter]
    fn interval(&self) -> f64 {
        self.0.interval.as_secs_f64()
    }
    /// `Cx.delivered` when the newest delivered segment was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.0.prior_delivered
    }
    /// Bytes in flight right after that segment was sent.
    #[getter]
    fn tx_in_flight(&self) -> u64 {
        self.0.tx_in_flight
    }
    /// `Cx.lost` when it was sent.
    #[getter]
    fn prior_lost(&self) -> u64 {
        self.0.prior_lost
    }
    /// The sender had nothing more to send then.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }
    /// Bytes per second.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.rate()
    }
}

/// Why the window must shrink.
#[pyclass(frozen, module = "ackclock._ackclock")]
pub struct Signal(pub cc::Signal);

/// The word for a signal.
pub fn signal_name(signal: cc::Signal) -> &'static str {
    match signal {
        cc::Signal::Loss { .. } => "loss",
        cc::Signal::Ecn { .. } => "ecn",
        cc::Signal::Timeout { .. } => "timeout",
    }
}

#[pymethods]
impl Signal {
    /// Loss found by acknowledgments ("loss"), a mark ("ecn"), or the retransmission timer ("timeout").
    #[getter]
    fn kind(&self) -> &'static str {
        signal_name(self.0)
    }
    /// Bytes outstanding when the signal came (RFC 5681 FlightSize).
    #[getter]
    fn flight(&self) -> u64 {
        self.0.flight()
    }
    /// A timeout of a segment that timed out before: ssthresh must be held (RFC 5681 §3.1).
    #[getter]
    fn repeated(&self) -> bool {
        matches!(self.0, cc::Signal::Timeout { repeated: true, .. })
    }
    fn __repr__(&self) -> String {
        let repeated = if self.repeated() { ", repeated=True" } else { "" };
        format!("Signal(kind='{}', flight={}{repeated})", self.kind(), self.flight())
    }
}

/// What was in force before a reaction that was unfounded.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub struct Undo {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow start threshold, bytes; infinite if there was none.
    pub ssthresh: f64,
}

/// What the endpoint's idle rule asks for when sending resumes.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub struct Restart {
    /// Seconds without sending.
    pub idle: f64,
    /// The window must not be above this, bytes.
    pub window: u64,
    /// The threshold must not be below this, bytes.
    pub ssthresh_floor: u64,
}

/// A segment declared lost.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub struct Lost {
    /// Its first position, bytes from the beginning of the stream.
    pub pos: u64,
    /// Its length, bytes.
    pub len: u64,
    /// Bytes in flight right after it was sent.
    pub tx_in_flight: u64,
    /// Bytes declared lost since it was sent, its own included.
    pub lost: u64,
    /// The sender had nothing more to send then.
    pub app_limited: bool,
}

/// Bytes as Python sees them: no threshold is infinity.
pub fn threshold(bytes: u64) -> f64 {
    if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 }
}
