//! Prague: DCTCP made fit for the Internet, for queues that mark early and often (L4S).
//!
//! K. De Schepper, O. Tilmans, B. Briscoe, V. Goel, Prague Congestion Control,
//! draft-briscoe-iccrg-prague-congestion-control; the requirements are those of RFC 9331 §4.3. Once per virtual round trip,
//! `R* = max(SRTT, rtt_virtual)`, the share `M` of marked bytes goes into `alpha = (1 - g) alpha + g M`. At most once per `R*`
//! a mark reduces the window at once to `(1 - alpha / 2) w`. Everything that is delivered unmarked adds
//! `(SRTT / R*)^2 / w`, whether or not a mark is being answered. Segments are paced at `w / SRTT`, so that the window
//! needs not be whole and can be below two.
//!
//! Known deviations from Linux (the L4S team's version 0.7): the window falls at once, there by a segment per
//! acknowledgment; it is the window that is kept when it is small, there the rate; the rate is not wobbled by 3 %;
//! segments are not made smaller below 1 Mbit/s; alpha begins at one as in the draft, there at zero behind a window
//! that the first mark halves. A timeout begins with one segment again (RFC 5681 §3.1). Not modelled: recognising a
//! queue that marks as RFC 3168 has it (optional in the draft).

use super::registry::{Builder, Controller};
use super::{Ack, CongestionControl, Control, Cx, EcnUse, Needs, Pacing, Phase, Restart, Signal, Undo};
use crate::math::{float, whole};
use crate::params::{ParamSpec, Params, count, float as real, time};
use crate::time::{Span, Time};

/// Parameters of `prague`.
const PARAMS: &[ParamSpec] = &[
    count("shift_g", 4, (0.0, 10.0), "weight of the newest round trip in alpha: g = 2^-shift_g"),
    real("alpha_on_init", 1.0, (0.0, 1.0), "alpha until the first mark"),
    time(
        "rtt_virtual",
        25,
        (0.0, 1.0),
        "round-trip time that shorter ones behave as: growth and reductions per second are those of it; 0: none",
    ),
    count(
        "transition",
        4,
        (0.0, 1e6),
        "round trips after slow start before rtt_virtual counts (Linux; 500 in its versions before 0.7)",
    ),
];

pub(super) const ENTRY: Controller = Controller {
    name: "prague",
    family: "marks",
    source: "draft-briscoe-iccrg-prague-congestion-control",
    summary: "DCTCP for the Internet: paced, with ECT(1), a fractional window and growth that does not depend on short RTTs",
    differences: "Linux (out of tree) moves the window by a segment per acknowledgment and keeps the rate when it is small",
    params: PARAMS,
    builder: Builder::Whole(|p| Box::new(Prague::new(p))),
};

/// Least window that segments may fill, whatever the pace.
const LEAST: f64 = 2.0;
/// Least pace, payload bytes per second: 100 kbit/s.
const LEAST_RATE: f64 = 12_500.0;
/// Bursts last at most so long at the pace, s.
const BURST: f64 = 1.0 / 4096.0;

/// The controller.
#[derive(Clone, Debug)]
pub struct Prague {
    g: f64,
    rtt_virtual: Span,
    transition: u64,
    mss: f64,
    /// The window, in segments and parts of one.
    w: f64,
    /// Segments; infinite before the first congestion.
    ssthresh: f64,
    slow_start: bool,
    alpha: f64,
    /// A mark was seen: until then nothing says that the path has a queue that marks.
    seen: bool,
    acked: u64,
    marked: u64,
    /// The round ends when this position is acknowledged, and rounds since slow start.
    end: u64,
    rounds: u64,
    /// When alpha was last updated and when a mark last reduced the window.
    updated: Time,
    reduced: Option<Time>,
    rate: u64,
}

impl Prague {
    /// From its parameters.
    pub fn new(p: &Params) -> Prague {
        Prague {
            g: 1.0 / float(1 << p.int("shift_g").min(10)),
            rtt_virtual: p.duration("rtt_virtual"),
            transition: p.int("transition"),
            mss: 1.0,
            w: 1.0,
            ssthresh: f64::INFINITY,
            slow_start: true,
            alpha: p.float("alpha_on_init"),
            seen: false,
            acked: 0,
            marked: 0,
            end: 0,
            rounds: 0,
            updated: Time::ZERO,
            reduced: None,
            rate: 0,
        }
    }

    /// The present estimate of the share of marks.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The window, segments.
    pub fn window(&self) -> f64 {
        self.w
    }

    /// Whether it behaves as over `rtt_virtual` when the round-trip time is shorter.
    fn is_independent(&self) -> bool {
        !self.slow_start && self.rounds >= self.transition
    }

    /// Whether a virtual round trip has passed since `then`; the real one is the endpoint's.
    fn has_passed(&self, now: Time, then: Time) -> bool {
        !self.is_independent() || now.since(then) >= self.rtt_virtual
    }

    /// A round trip has ended: its share of marks goes into alpha.
    fn end_round(&mut self, cx: &Cx<'_>, seen: bool) {
        if seen && self.acked > 0 {
            let share = float(self.marked) / float(self.acked);
            self.alpha += self.g * (share.min(1.0) - self.alpha);
        }
        (self.acked, self.marked, self.end, self.updated) = (0, 0, cx.nxt, cx.now);
        self.rounds += u64::from(!self.slow_start);
    }

    /// Grows for so many segments delivered unmarked.
    fn grow(&mut self, cx: &Cx<'_>, mut segments: f64) {
        if self.slow_start {
            let room = self.ssthresh - self.w;
            self.w += segments.min(room);
            if segments < room {
                return;
            }
            segments -= room;
            self.leave_slow_start();
        }
        let mut per_round = 1.0;
        if self.is_independent() && cx.rtt.smoothed < self.rtt_virtual {
            let share = float(cx.rtt.smoothed.0) / float(self.rtt_virtual.0);
            per_round = share * share;
        }
        self.w += segments * per_round / self.w;
    }

    /// A mark was reported.
    fn answer_mark(&mut self, cx: &Cx<'_>) {
        if self.reduced.is_none_or(|then| self.has_passed(cx.now, then)) {
            self.reduced = Some(cx.now);
            self.shrink(cx, self.w * (1.0 - self.alpha / 2.0));
        }
    }

    fn leave_slow_start(&mut self) {
        self.slow_start = false;
        self.rounds = 0;
    }

    /// Congestion leaves a window of `w` segments.
    fn shrink(&mut self, cx: &Cx<'_>, w: f64) {
        if self.slow_start {
            self.leave_slow_start();
        }
        self.w = w.max(LEAST_RATE * cx.rtt.smoothed.as_secs_f64() / self.mss);
        self.ssthresh = self.w.max(LEAST);
    }

    fn pace(&mut self, cx: &Cx<'_>) {
        let srtt = cx.rtt.smoothed.as_secs_f64();
        if srtt > 0.0 {
            let gain = if self.slow_start && self.w < self.ssthresh / 2.0 { 2.0 } else { 1.0 };
            self.rate = whole((gain * self.w * self.mss / srtt).max(LEAST_RATE));
        }
    }
}

impl CongestionControl for Prague {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        self.mss = f64::from(cx.mss.max(1));
        self.w = float(initial_window) / self.mss;
        (self.end, self.updated) = (cx.nxt, cx.now);
        self.pace(cx);
    }

    fn observe(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        let seen = self.seen;
        self.seen |= ack.ece;
        self.acked += ack.delivered;
        self.marked += ack.marked;
        if ack.una > self.end && self.has_passed(cx.now, self.updated) {
            self.end_round(cx, seen);
        }
        // The endpoint tells of one mark per real round trip: of shorter ones the virtual one ends between two signals.
        let stretched = self.is_independent() && cx.rtt.smoothed < self.rtt_virtual;
        if ack.ece && stretched && matches!(cx.phase, Phase::Open | Phase::Disorder | Phase::Reduction) {
            self.answer_mark(cx);
            self.pace(cx);
        }
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        // Where the pace is what holds the sender back the window is seldom full.
        if ack.window_limited || ack.rate.is_some_and(|sample| !sample.app_limited) {
            self.grow(cx, float(ack.delivered.saturating_sub(ack.marked)) / self.mss);
        }
        self.pace(cx);
    }

    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        match signal {
            Signal::Ecn { .. } => self.answer_mark(cx),
            Signal::Loss { .. } => self.shrink(cx, self.w / 2.0),
            Signal::Timeout { repeated, .. } => {
                if !repeated {
                    self.ssthresh = (self.w / 2.0).max(LEAST);
                }
                (self.w, self.slow_start) = (1.0, true);
            }
        }
        self.pace(cx);
    }

    fn on_recovered(&mut self, cx: &mut Cx<'_>, cwnd: u64) {
        self.w = self.w.min(float(cwnd) / self.mss);
        self.pace(cx);
    }

    fn set_window(&mut self, cx: &mut Cx<'_>, cwnd: u64) {
        self.w = (float(cwnd) / self.mss).max(1.0);
        self.slow_start = self.w < self.ssthresh;
        self.pace(cx);
    }

    fn on_undo(&mut self, cx: &mut Cx<'_>, undo: Undo) {
        self.w = self.w.max(float(undo.cwnd) / self.mss);
        // Above this there was no threshold.
        let none = undo.ssthresh == u64::MAX;
        self.ssthresh = if none { f64::INFINITY } else { self.ssthresh.max(float(undo.ssthresh) / self.mss) };
        self.slow_start = self.w < self.ssthresh;
        self.pace(cx);
    }

    fn on_restart(&mut self, cx: &mut Cx<'_>, restart: Restart) {
        self.ssthresh = self.ssthresh.max(float(restart.ssthresh_floor) / self.mss);
        self.w = self.w.min(float(restart.window) / self.mss).max(1.0);
        self.slow_start = self.w < self.ssthresh;
        self.pace(cx);
    }

    fn control(&self) -> Control {
        let least = if self.slow_start { 1.0 } else { LEAST };
        // 1e-9 of a segment hides the rounding of sums such as ten times 0.1.
        let whole_segments = float(whole(self.w + 1.0 - 1e-9)).max(least);
        // Saturates: infinity is "none yet".
        let ssthresh = ((self.ssthresh + 1e-9) * self.mss) as u64;
        Control {
            pacing: if self.rate > 0 { Pacing::Rate(self.rate) } else { Pacing::Off },
            burst: whole((float(self.rate) * BURST).max(self.mss)) as u32,
            ..Control::window(whole(whole_segments * self.mss), ssthresh)
        }
    }

    fn needs(&self) -> Needs {
        Needs { observe: true, rate: true, ecn: EcnUse::Accurate, ect1: true, ..Needs::default() }
    }
}

#[cfg(test)]
#[path = "prague_tests.rs"]
mod tests;
