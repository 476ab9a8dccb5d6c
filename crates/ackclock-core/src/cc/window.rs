//! The frame of every window-based controller: any avoidance law with any slow start.

use super::{Ack, CongestionControl, Control, Cx, RecoveryBy, Restart, Signal};
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
pub trait Avoidance: Send {
    /// Grows the window for `acked` newly acknowledged segments in congestion avoidance.
    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64);

    /// The slow start threshold after congestion, segments, at least 2. Called before the window changes.
    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64;

    /// Sees every acknowledgment before the window grows, in slow start as well: for estimators.
    fn observe(&mut self, _cx: &Cx<'_>, _ack: &Ack, _w: &Window) {}

    /// Whether [`Avoidance::observe`] wants to see acknowledgments during fast recovery too.
    fn estimates(&self) -> bool {
        false
    }

    /// The sender was idle for `idle` and resumes.
    fn resume(&mut self, _cx: &Cx<'_>, _idle: Span) {}

    /// Who runs recovery.
    fn recovery_by(&self) -> RecoveryBy {
        RecoveryBy::Endpoint
    }
}

/// An [`Avoidance`] law and a [`SlowStart`] as one controller.
pub struct WindowBased {
    law: Box<dyn Avoidance>,
    slow_start: Box<dyn SlowStart>,
    w: Window,
    mss: f64,
    /// Bytes are whole: the window is rounded down to them once per event.
    control: Control,
    /// Linux counts the window in whole segments.
    whole_segments: bool,
}

impl WindowBased {
    /// Combines a law and a slow start. With `whole_segments` the window the endpoint sees is a whole number of
    /// segments, as in Linux.
    pub fn new(law: Box<dyn Avoidance>, slow_start: Box<dyn SlowStart>, whole_segments: bool) -> Self {
        let control = Control { cwnd: 0, ssthresh: u64::MAX };
        WindowBased {
            law,
            slow_start,
            w: Window { cwnd: 1.0, ssthresh: f64::INFINITY },
            mss: 1.0,
            control,
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
    }
}

impl CongestionControl for WindowBased {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        self.mss = f64::from(cx.mss);
        self.w.cwnd = initial_window as f64 / self.mss;
        self.slow_start.start(cx);
        self.publish();
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        self.law.observe(cx, ack, &self.w);
        let mut acked = if ack.grow { ack.delivered as f64 / self.mss } else { 0.0 };
        if self.w.in_slow_start() {
            let before = self.w.ssthresh;
            acked = self.slow_start.on_ack(cx, ack, &mut self.w, acked);
            if self.w.ssthresh != before {
                self.publish_ssthresh();
            }
        }
        if acked > 0.0 && ack.window_limited && !self.w.in_slow_start() {
            self.law.grow(cx, ack, &mut self.w, acked);
        }
        self.publish();
    }

    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        let held = matches!(signal, Signal::Timeout { repeated: true, .. });
        if !held {
            self.w.ssthresh = self.law.reduce(cx, signal, &self.w).max(2.0);
        }
        match signal {
            Signal::Timeout { .. } => self.w.cwnd = 1.0,
            Signal::Loss { .. } if self.law.recovery_by() == RecoveryBy::SlowStart => self.w.cwnd = 1.0,
            Signal::Loss { .. } => self.w.cwnd = self.w.ssthresh,
        }
        self.slow_start.on_congestion(cx, signal);
        self.publish();
        self.publish_ssthresh();
    }

    fn on_recovered(&mut self, _cx: &mut Cx<'_>, cwnd: u64) {
        self.w.cwnd = (cwnd as f64 / self.mss).max(1.0);
        self.publish();
    }

    fn on_restart(&mut self, cx: &mut Cx<'_>, restart: Restart) {
        self.law.resume(cx, restart.idle);
        self.w.ssthresh = self.w.ssthresh.max(restart.ssthresh_floor as f64 / self.mss);
        self.w.cwnd = self.w.cwnd.min(restart.window as f64 / self.mss).max(1.0);
        self.publish();
        self.publish_ssthresh();
    }

    #[inline]
    fn control(&self) -> Control {
        self.control
    }

    fn estimates(&self) -> bool {
        self.law.estimates()
    }

    fn recovery_by(&self) -> RecoveryBy {
        self.law.recovery_by()
    }
}
