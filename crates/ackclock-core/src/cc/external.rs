//! A controller that decides nothing itself: an agent outside does, and it measures for it.
//!
//! The window and the rate are held as told; the endpoint finds and repairs losses, and what they mean for the window
//! is left to the agent. Two things are not: after a timeout (RFC 5681 §3.1, RFC 6298) and after an idle time (RFC 5681
//! §4.1) the window begins anew and is doubled per round trip until it is the one told, so that no agent, however
//! careless, sends bursts into a network that has stopped to answer.

use super::interval::{Interval, Monitor};
use super::registry::{Builder, Controller};
use super::{Ack, CongestionControl, Control, Cx, Decision, Needs, Pacing, RecoveryBy, Restart, Signal, Undo};
use crate::math::{float, whole};
use crate::params::{self, Default, Kind, ParamSpec, Params};
use crate::time::{Span, Time};

/// Parameters of `external`.
const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "interval",
        kind: Kind::Duration,
        default: Default::Duration(Span::ZERO),
        range: Some((0.0, 3600.0)),
        doc: "time between decisions; 0: `rounds` smoothed round-trip times",
    },
    params::float("rounds", 1.0, (0.1, 1000.0), "smoothed round-trip times between decisions where interval is 0"),
    params::flag(
        "slow_start",
        false,
        "doubles the window per round trip until the first congestion, and asks only then",
    ),
];

pub(super) const ENTRY: Controller = Controller {
    name: "external",
    family: "none",
    source: "docs/gym.md",
    summary: "holds the window and the rate that an agent outside decides",
    differences: "",
    params: PARAMS,
    builder: Builder::Whole(|p| Box::new(External::new(p))),
};

/// Shortest time between decisions, and the time before the first RTT sample.
const LEAST: Span = Span::from_micros(1);
const UNKNOWN: Span = Span::from_millis(100);

/// The controller.
#[derive(Clone, Debug)]
pub struct External {
    interval: Span,
    rounds: f64,
    /// Slow start before the first congestion is still in charge.
    opening: bool,
    /// As decided: bytes, bytes, spread.
    cwnd: u64,
    ssthresh: u64,
    pacing: Pacing,
    wake_at: Time,
    /// What the window is at most after a timeout or an idle time.
    ramp: Option<u64>,
    mss: u64,
    monitor: Monitor,
    complete: Option<Interval>,
}

impl External {
    /// From its parameters.
    pub fn new(p: &Params) -> External {
        External {
            interval: p.duration("interval"),
            rounds: p.float("rounds"),
            opening: p.bool("slow_start"),
            cwnd: 0,
            ssthresh: u64::MAX,
            pacing: Pacing::Off,
            wake_at: Time::NEVER,
            ramp: None,
            mss: 1,
            monitor: Monitor::default(),
            complete: None,
        }
    }

    fn window(&self) -> u64 {
        self.ramp.map_or(self.cwnd, |ramp| ramp.min(self.cwnd)).max(self.mss)
    }

    /// When the interval that begins now ends.
    fn next_end(&self, cx: &Cx<'_>) -> Time {
        if self.interval > Span::ZERO {
            return cx.now + self.interval;
        }
        let srtt = if cx.rtt.smoothed == Span::ZERO { UNKNOWN } else { cx.rtt.smoothed };
        cx.now + Span(whole(float(srtt.0) * self.rounds)).max(LEAST)
    }

    /// The agent takes over.
    fn end_opening(&mut self, cx: &Cx<'_>) {
        self.opening = false;
        self.wake_at = self.next_end(cx);
    }
}

impl CongestionControl for External {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        (self.cwnd, self.mss) = (initial_window, u64::from(cx.mss));
        self.monitor.begin(cx);
        if !self.opening {
            self.wake_at = self.next_end(cx);
        }
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        self.monitor.on_ack(cx, ack);
        if self.opening && ack.window_limited {
            self.cwnd += ack.delivered;
        }
        // Only the ramp of a slow start grows, and not beyond what it leads to.
        self.ramp = self.ramp.map(|ramp| ramp + ack.delivered).filter(|ramp| *ramp < self.cwnd);
    }

    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        if self.opening {
            self.cwnd = (signal.flight() / 2).max(2 * self.mss);
            self.end_opening(cx);
        }
        if let Signal::Timeout { .. } = signal {
            self.ramp = Some(self.mss);
        }
    }

    fn on_recovered(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}

    fn set_window(&mut self, _cx: &mut Cx<'_>, cwnd: u64) {
        self.ramp = Some(cwnd);
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>, _undo: Undo) {
        self.ramp = None;
    }

    fn on_restart(&mut self, _cx: &mut Cx<'_>, restart: Restart) {
        self.ramp = Some(restart.window);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let rate = if let Pacing::Rate(rate) = self.pacing { rate } else { 0 };
        self.complete = Some(self.monitor.end(cx, self.window(), rate));
        self.wake_at = self.next_end(cx);
    }

    fn on_decision(&mut self, _cx: &mut Cx<'_>, decision: &Decision) -> bool {
        self.opening = false;
        self.cwnd = decision.cwnd.unwrap_or(self.cwnd);
        self.ssthresh = decision.ssthresh.unwrap_or(self.ssthresh);
        self.pacing = decision.pacing.unwrap_or(self.pacing);
        self.wake_at = decision.wake_at.unwrap_or(self.wake_at);
        true
    }

    fn interval(&self) -> Option<&Interval> {
        self.complete.as_ref()
    }

    fn control(&self) -> Control {
        Control { pacing: self.pacing, wake_at: self.wake_at, ..Control::window(self.window(), self.ssthresh) }
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryBy::Controller, ..Needs::default() }
    }
}
