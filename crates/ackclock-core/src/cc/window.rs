//! The frame of every window-based controller: any avoidance law with any slow start.

use super::{
    Ack, CongestionControl, Control, Cx, Needs, Pacing, PacketPair, RecoveryBy, Restart, Signal, StartEstimate, Undo,
};
use crate::slowstart::SlowStart;
use crate::time::Span;

/// The window in segments of one MSS, as the literature counts it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window `w`, segments.
    pub cwnd: f64,
    /// Slow start threshold, segments; infinite before the first congestion.
    pub ssthresh: f64,
}

impl Window {
    /// True while slow start is in charge.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The law of a window-based algorithm: how the window grows in congestion avoidance and shrinks on congestion.
///
/// Only [`Avoidance::grow`] and [`Avoidance::reduce`] are needed; the rest is for laws with estimators or a slow start
/// of their own.
pub trait Avoidance: Send {
    /// Grows the window for `acked` newly acknowledged segments in congestion avoidance.
    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64);

    /// The slow start threshold after congestion, segments; the frame keeps it at 2 or more. Called before the window
    /// changes, not when a timeout must hold the threshold ([`Signal::Timeout`] `repeated`).
    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64;

    /// Names what the law needs: [`Needs::observe`] to have [`Avoidance::observe`] called.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The connection begins with window `w`.
    fn start(&mut self, _cx: &Cx<'_>, _w: &mut Window) {}

    /// Sees every acknowledgment, in every phase, before recovery and before the window grows: for estimators.
    fn observe(&mut self, _cx: &Cx<'_>, _ack: &Ack, _w: &mut Window) {}

    /// Grows the window for `acked` segments in slow start, by default as `opening` does. Returns the segments left
    /// for congestion avoidance when slow start ended on this acknowledgment.
    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        opening.on_ack(cx, ack, w, acked)
    }

    /// True when the law itself looks at [`Ack::window_limited`]: it is then called for acknowledgments that were not
    /// limited by the window too.
    fn validates_itself(&self) -> bool {
        false
    }

    /// The sender's phase changed to [`Cx::phase`], or a timeout expired again.
    fn phase(&mut self, _cx: &Cx<'_>, _w: &mut Window) {}

    /// Fast recovery has ended and leaves window `w`.
    fn recovered(&mut self, _cx: &Cx<'_>, _w: &mut Window) {}

    /// The last reduction was unfounded; `w` is restored already.
    fn undo(&mut self, _cx: &Cx<'_>, _w: &mut Window) {}

    /// The sender was idle for `idle` and resumes.
    fn resume(&mut self, _cx: &Cx<'_>, _idle: Span) {}

    /// Data leaves while nothing is in flight. Nothing has left for `idle`, or since [`Avoidance::resume`] if that was
    /// later.
    fn transmit_start(&mut self, _cx: &Cx<'_>, _idle: Span) {}

    /// How segments are spread over time.
    fn pacing(&self) -> Pacing {
        Pacing::Off
    }
}

/// An [`Avoidance`] law and a [`SlowStart`] as one controller.
#[repr(C, align(64))]
pub struct WindowBased {
    law: Box<dyn Avoidance>,
    slow_start: Box<dyn SlowStart>,
    w: Window,
    mss: f64,
    /// Linux counts the window in whole segments.
    whole_segments: bool,
    validates_itself: bool,
    recovery: RecoveryBy,
    /// Bytes are whole: the window is rounded down to them once per event.
    control: Control,
}

impl WindowBased {
    /// Combines a law and a slow start. With `whole_segments` the window the endpoint sees is a whole number of
    /// segments, as in Linux.
    pub fn new(law: Box<dyn Avoidance>, slow_start: Box<dyn SlowStart>, whole_segments: bool) -> Self {
        WindowBased {
            validates_itself: law.validates_itself(),
            recovery: law.needs().recovery,
            law,
            slow_start,
            w: Window { cwnd: 1.0, ssthresh: f64::INFINITY },
            mss: 1.0,
            control: Control::window(0, u64::MAX),
            whole_segments,
        }
    }

    /// The window, for tests and traces.
    pub fn window(&self) -> Window {
        self.w
    }

    #[inline]
    fn publish(&mut self) {
        // A conversion to an integer truncates without a call into the mathematical library.
        let cwnd = if self.whole_segments { self.w.cwnd as u64 as f64 } else { self.w.cwnd };
        // 1e-9 of a segment hides the rounding of sums such as ten times 0.1.
        self.control.cwnd = ((cwnd + 1e-9) * self.mss) as u64;
    }

    fn publish_ssthresh(&mut self) {
        // Float to integer conversion saturates: infinity becomes u64::MAX.
        self.control.ssthresh = ((self.w.ssthresh + 1e-9) * self.mss) as u64;
        self.control.pacing = self.law.pacing();
    }

    fn publish_all(&mut self) {
        self.publish();
        self.publish_ssthresh();
    }
}

impl CongestionControl for WindowBased {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        self.mss = f64::from(cx.mss);
        self.w.cwnd = initial_window as f64 / self.mss;
        self.slow_start.start(cx);
        self.law.start(cx, &mut self.w);
        self.publish_all();
    }

    fn on_paced(&mut self, _cx: &mut Cx<'_>) {
        self.slow_start.on_paced();
    }

    fn observe(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        let before = self.w;
        self.law.observe(cx, ack, &mut self.w);
        if self.w.in_slow_start() {
            self.slow_start.observe(cx, ack, &mut self.w);
        }
        if self.w != before {
            self.publish_all();
        }
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        let ssthresh = self.w.ssthresh;
        let mut acked = ack.delivered as f64 / self.mss;
        if self.w.in_slow_start() {
            acked = self.law.slow_start(cx, ack, &mut self.w, acked, self.slow_start.as_mut());
        }
        if acked > 0.0 && (ack.window_limited || self.validates_itself) && !self.w.in_slow_start() {
            self.law.grow(cx, ack, &mut self.w, acked);
        }
        self.publish();
        if self.w.ssthresh != ssthresh {
            self.publish_ssthresh();
        }
    }

    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        let held = matches!(signal, Signal::Timeout { repeated: true, .. });
        if !held {
            self.w.ssthresh = self.law.reduce(cx, signal, &self.w).max(2.0);
        }
        match signal {
            Signal::Timeout { .. } => self.w.cwnd = 1.0,
            Signal::Loss { .. } if self.recovery == RecoveryBy::SlowStart => self.w.cwnd = 1.0,
            Signal::Loss { .. } | Signal::Ecn { .. } => self.w.cwnd = self.w.ssthresh,
        }
        self.slow_start.on_congestion(cx, signal);
        self.publish_all();
    }

    fn on_phase(&mut self, cx: &mut Cx<'_>) {
        self.law.phase(cx, &mut self.w);
        self.publish_all();
    }

    fn on_recovered(&mut self, cx: &mut Cx<'_>, cwnd: u64) {
        // Rounded to whole bytes the window would be a little below the threshold, and so in slow start.
        let at_threshold = cwnd == self.control.ssthresh;
        self.w.cwnd = if at_threshold { self.w.ssthresh } else { (cwnd as f64 / self.mss).max(1.0) };
        self.law.recovered(cx, &mut self.w);
        self.publish_all();
    }

    fn set_window(&mut self, _cx: &mut Cx<'_>, cwnd: u64) {
        self.w.cwnd = (cwnd as f64 / self.mss).max(1.0);
        self.publish();
    }

    fn on_undo(&mut self, cx: &mut Cx<'_>, undo: Undo) {
        self.w.cwnd = self.w.cwnd.max(undo.cwnd as f64 / self.mss);
        // Above this there was no threshold.
        let none = undo.ssthresh == u64::MAX;
        self.w.ssthresh = if none { f64::INFINITY } else { self.w.ssthresh.max(undo.ssthresh as f64 / self.mss) };
        self.law.undo(cx, &mut self.w);
        self.publish_all();
    }

    fn on_restart(&mut self, cx: &mut Cx<'_>, restart: Restart) {
        self.law.resume(cx, restart.idle);
        self.w.ssthresh = self.w.ssthresh.max(restart.ssthresh_floor as f64 / self.mss);
        self.w.cwnd = self.w.cwnd.min(restart.window as f64 / self.mss).max(1.0);
        self.publish_all();
    }

    fn on_transmit_start(&mut self, cx: &mut Cx<'_>, idle: Span) {
        self.law.transmit_start(cx, idle);
    }

    fn packet_pair(&mut self, cx: &mut Cx<'_>) -> Option<[u32; 2]> {
        self.slow_start.packet_pair(cx, &self.w)
    }

    fn on_packet_pair(&mut self, cx: &mut Cx<'_>, pair: &PacketPair) {
        self.slow_start.on_packet_pair(cx, pair, &mut self.w);
        self.publish_all();
    }

    fn start_estimate(&self) -> Option<StartEstimate> {
        self.slow_start.estimate()
    }

    #[inline]
    fn control(&self) -> Control {
        self.control
    }

    fn needs(&self) -> Needs {
        let needs = self.law.needs();
        Needs { observe: needs.observe || self.slow_start.observes(), pairs: self.slow_start.pairs(), ..needs }
    }
}
