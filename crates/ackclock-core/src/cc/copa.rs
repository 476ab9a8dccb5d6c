//! Copa: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
//!
//! The target rate is 1 / (delta dq) packets per second, dq being the queueing delay; the window moves towards it by
//! v / (delta w) per acknowledged packet. Not in the paper: what a timeout does, an optional answer to loss, and that a
//! velocity gained in one direction is dropped as soon as the window turns, not at the end of its round trip. Against
//! the paper the competitive mode is off unless asked for.

use super::registry::{Builder, Controller};
use super::{Ack, CongestionControl, Control, Cx, Needs, Pacing, RecoveryBy, Restart, Signal, Undo};
use crate::estimator::windowed_filter::{WindowedMax, WindowedMin};
use crate::math::{float, whole};
use crate::params::{self, Default, Kind, ParamSpec, Params, count};
use crate::time::Span;

/// Parameters of `copa`.
const PARAMS: &[ParamSpec] = &[
    params::float(
        "delta",
        0.5,
        (0.004, 10.0),
        "delta of the default mode: 1/delta packets of each flow are queued (§2.1)",
    ),
    ParamSpec {
        name: "min_rtt_window",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_secs(10)),
        range: Some((0.1, 3600.0)),
        doc: "window of RTTmin (§2.1)",
    },
    count("velocity_rounds", 3, (1.0, 100.0), "round trips in one direction before the velocity doubles (§2.1)"),
    params::float("pacing_gain", 2.0, (1.0, 10.0), "pacing rate, windows per RTTstanding (§2.1)"),
    count(
        "burst",
        2,
        (1.0, 100.0),
        "segments that leave together when pacing lets something out; the paper sends each alone",
    ),
    ParamSpec {
        name: "competitive",
        kind: Kind::Bool,
        default: Default::Bool(false),
        range: None,
        doc: "lowers delta beside flows that fill the buffer (§2.2). Off, since on slow paths the swing of Copa's own \
              queue is too few packets to tell an empty one, and a flow that once lowered delta finds no way back",
    },
    params::float(
        "empty_fraction",
        0.1,
        (0.0, 1.0),
        "a queue below this share of RTTmax - RTTmin is nearly empty (§2.2)",
    ),
    count("empty_rounds", 5, (1.0, 1000.0), "round trips without a nearly empty queue that mean competition (§2.2)"),
    count("max_rtt_rounds", 4, (1.0, 1000.0), "window of RTTmax, round trips (§2.2)"),
    ParamSpec {
        name: "loss",
        kind: Kind::Choice(&["ignore", "halve"]),
        default: Default::Text("ignore"),
        range: None,
        doc: "what a loss does to the window in the default mode, which the paper leaves open",
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "copa",
    family: "delay",
    source: "Arun and Balakrishnan 2018",
    summary: "moves the rate towards the inverse of the queueing delay; two packets of each flow are queued",
    differences: "mainline Linux and ns-3 have no Copa",
    params: PARAMS,
    builder: Builder::Whole(|p| Box::new(Copa::new(p))),
};

/// Smallest window that delay leaves, segments.
const MIN_WINDOW: f64 = 2.0;

/// The controller; the window is in segments, times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Copa {
    default_delta: f64,
    min_rtt_window: u64,
    velocity_rounds: u64,
    pacing_gain: f64,
    burst: u64,
    /// The same in bytes.
    burst_bytes: u32,
    competitive: bool,
    empty_fraction: f64,
    empty_rounds: u64,
    max_rtt_rounds: u64,
    halves: bool,
    mss: f64,
    w: f64,
    /// Bytes.
    ssthresh: u64,
    slow_start: bool,
    delta: f64,
    min_rtt: Option<WindowedMin>,
    standing: WindowedMin,
    max_rtt: WindowedMax,
    velocity: f64,
    rising: bool,
    /// Round trips in the present direction.
    held: u64,
    round: u64,
    /// A round trip ends when so many bytes are delivered: what was in flight at its begin. The cumulative
    /// acknowledgment would stop the count while a retransmission is missing.
    round_end: u64,
    w_at_round: f64,
    /// Round in which the queue was nearly empty last.
    empty_at: u64,
    lossy_round: bool,
    pacing_rate: u64,
}

impl Copa {
    /// From its parameters.
    pub fn new(p: &Params) -> Copa {
        let delta = p.float("delta");
        Copa {
            default_delta: delta,
            min_rtt_window: p.duration("min_rtt_window").0,
            velocity_rounds: p.int("velocity_rounds"),
            pacing_gain: p.float("pacing_gain"),
            burst: p.int("burst"),
            burst_bytes: 0,
            competitive: p.bool("competitive"),
            empty_fraction: p.float("empty_fraction"),
            empty_rounds: p.int("empty_rounds"),
            max_rtt_rounds: p.int("max_rtt_rounds"),
            halves: p.text("loss") == "halve",
            mss: 1.0,
            w: 1.0,
            ssthresh: u64::MAX,
            slow_start: true,
            delta,
            min_rtt: None,
            standing: WindowedMin::new(0, 0),
            max_rtt: WindowedMax::new(0, 0),
            velocity: 1.0,
            rising: true,
            held: 0,
            round: 0,
            round_end: 0,
            w_at_round: 1.0,
            empty_at: 0,
            lossy_round: false,
            pacing_rate: 0,
        }
    }

    /// Takes an RTT sample. Returns RTTstanding and RTTmin, nanoseconds.
    fn sample(&mut self, cx: &Cx<'_>, rtt: Span) -> (u64, u64) {
        let (now, rtt) = (cx.now.0, rtt.0.max(1));
        let Some(min) = &mut self.min_rtt else {
            self.min_rtt = Some(WindowedMin::new(now, rtt));
            self.standing.reset(now, rtt);
            self.max_rtt.reset(self.round, rtt);
            return (rtt, rtt);
        };
        let min = min.update(self.min_rtt_window, now, rtt);
        self.max_rtt.update(self.max_rtt_rounds, self.round, rtt);
        (self.standing.update(cx.rtt.smoothed.0 / 2, now, rtt), min)
    }

    /// Whether the queue was nearly empty; all in nanoseconds.
    fn nearly_empty(&self, queueing: u64, min: u64) -> bool {
        let range = self.max_rtt.get().saturating_sub(min);
        queueing == 0 || (queueing as f64) < self.empty_fraction * range as f64
    }

    /// Once per round trip: direction and velocity, and delta of the competitive mode.
    fn on_round(&mut self, round: u64) {
        self.round = round;
        let rising = self.w > self.w_at_round;
        self.held = if rising == self.rising { self.held + 1 } else { 1 };
        self.rising = rising;
        self.w_at_round = self.w;
        let doubled = if self.held >= self.velocity_rounds { 2.0 * self.velocity } else { 1.0 };
        // Never more than twice the window per round trip.
        self.velocity = doubled.min(self.w * self.delta).max(1.0);
        if !self.competitive || round - self.empty_at <= self.empty_rounds {
            self.delta = self.default_delta;
        } else if !self.lossy_round {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        self.lossy_round = false;
    }

    /// Moves the window for `acked` segments.
    fn adjust(&mut self, standing: u64, queueing: u64, acked: f64, limited: bool) {
        // lambda <= lambda_t, both sides times delta dq RTTstanding.
        let below = self.w * self.delta * queueing as f64 <= standing as f64;
        if self.slow_start {
            if below {
                self.w += if limited { acked } else { 0.0 };
                return;
            }
            self.slow_start = false;
            self.ssthresh = self.bytes(self.w.max(MIN_WINDOW));
            self.empty_at = self.round;
            self.held = 0;
        }
        if below != self.rising && self.velocity > 1.0 {
            // A velocity gained in the other direction would overshoot.
            self.velocity = 1.0;
            self.held = 0;
        }
        let step = acked * self.velocity / (self.delta * self.w);
        if !below {
            self.w = (self.w - step).max(MIN_WINDOW);
        } else if limited {
            self.w += step;
        }
    }

    fn pace(&mut self, rtt: u64) {
        self.pacing_rate = whole(self.pacing_gain * self.w * self.mss * 1e9 / float(rtt.max(1)));
    }

    #[inline]
    fn bytes(&self, segments: f64) -> u64 {
        whole(segments * self.mss + 1e-6)
    }
}

impl CongestionControl for Copa {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        self.mss = f64::from(cx.mss.max(1));
        self.burst_bytes = whole(float(self.burst) * self.mss) as u32;
        self.w = initial_window as f64 / self.mss;
        self.w_at_round = self.w;
        if cx.rtt.smoothed > Span::ZERO {
            self.pace(cx.rtt.smoothed.0);
        }
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        if cx.delivered >= self.round_end {
            self.round_end = cx.delivered + cx.in_flight.max(1);
            self.on_round(self.round + 1);
        }
        let (standing, min) = match (ack.rtt, &self.min_rtt) {
            (Some(rtt), _) => self.sample(cx, rtt),
            // Segments sent twice give no sample: the last ones stand.
            (None, Some(min)) => (self.standing.get(), min.get()),
            (None, None) => return,
        };
        let queueing = standing.saturating_sub(min);
        if self.nearly_empty(queueing, min) {
            self.empty_at = self.round;
        }
        self.adjust(standing, queueing, ack.delivered as f64 / self.mss, ack.window_limited);
        self.pace(standing);
    }

    fn on_congestion(&mut self, _cx: &mut Cx<'_>, signal: Signal) {
        if self.delta < self.default_delta {
            self.delta = (2.0 * self.delta).min(self.default_delta);
        } else if self.halves && !self.slow_start {
            self.w = (self.w / 2.0).max(MIN_WINDOW);
        }
        self.lossy_round = true;
        self.velocity = 1.0;
        self.held = 0;
        if matches!(signal, Signal::Timeout { .. }) {
            self.w = 1.0;
            self.slow_start = true;
        }
    }

    fn on_recovered(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}

    fn set_window(&mut self, _cx: &mut Cx<'_>, cwnd: u64) {
        self.w = (cwnd as f64 / self.mss).max(1.0);
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>, undo: Undo) {
        self.w = self.w.max(undo.cwnd as f64 / self.mss);
    }

    fn on_restart(&mut self, _cx: &mut Cx<'_>, restart: Restart) {
        self.w = self.w.min(restart.window as f64 / self.mss).max(MIN_WINDOW);
    }

    #[inline]
    fn control(&self) -> Control {
        // Without any RTT nothing can be paced.
        let pacing = if self.pacing_rate > 0 { Pacing::Rate(self.pacing_rate) } else { Pacing::Off };
        Control { pacing, burst: self.burst_bytes, ..Control::window(self.bytes(self.w), self.ssthresh) }
    }

    fn needs(&self) -> Needs {
        Needs { recovery: RecoveryBy::Controller, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::cc::RttView;
    use crate::time::Time;

    fn copa() -> Copa {
        Copa::new(&Params::new(PARAMS, &[("competitive".into(), crate::params::Value::Bool(true))]).unwrap())
    }

    /// After slow start with a window of `w` segments, RTTmin `min` and RTTstanding `standing` milliseconds.
    fn steady(w: f64, min: u64, standing: u64) -> (Copa, f64) {
        testing::with_cx(1000, |cx| {
            let mut c = copa();
            c.start(cx, 10_000);
            let ms = Span::from_millis;
            cx.rtt = RttView { smoothed: ms(standing), min: ms(min) };
            let ack = |rtt| Ack { rtt: Some(rtt), ..testing::ack(0.0) };
            c.on_ack(cx, &ack(ms(min)));
            cx.now = Time::ZERO + Span::from_secs(1);
            c.on_ack(cx, &ack(ms(standing)));
            c.slow_start = false;
            c.w = w;
            cx.now += ms(1);
            c.on_ack(cx, &Ack { rtt: Some(ms(standing)), ..testing::ack(1.0) });
            let w = c.w;
            (c, w)
        })
    }

    /// dq = 10 ms: lambda_t = 200 packets/s. 20 packets in 110 ms are 181.8 packets/s: 20 + 1/(0.5 * 20).
    #[test]
    fn moves_towards_the_target_rate() {
        assert!((steady(20.0, 100, 110).1 - 20.1).abs() < 1e-9);
        // 22 packets in 110 ms are 200 packets/s, just the target; 23 are more.
        assert!((steady(22.0, 100, 110).1 - (22.0 + 1.0 / 11.0)).abs() < 1e-9);
        assert!((steady(23.0, 100, 110).1 - (23.0 - 2.0 / 23.0)).abs() < 1e-9);
        assert!(steady(1000.0, 100, 100).1 > 1000.0, "no queue, no limit");
    }

    #[test]
    fn paces_at_two_windows_per_standing_rtt() {
        let (c, w) = steady(20.0, 100, 110);
        assert_eq!(c.control().pacing, Pacing::Rate((2.0 * w * 1000.0 / 0.11) as u64));
    }

    #[test]
    fn velocity_doubles_after_three_rounds_and_falls_back() {
        let mut c = copa();
        c.w = 100.0;
        c.w_at_round = 100.0;
        let mut seen = vec![];
        for round in 1..8 {
            c.w += if round < 7 { 1.0 } else { -1.0 };
            c.on_round(round);
            c.empty_at = round;
            seen.push(c.velocity);
        }
        assert_eq!(seen, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 1.0]);
    }

    #[test]
    fn velocity_is_bounded_by_the_window() {
        let mut c = copa();
        (c.w, c.w_at_round, c.held, c.velocity) = (11.0, 10.0, 9, 64.0);
        c.on_round(1);
        assert_eq!(c.velocity, 5.5);
    }

    /// Competitive mode: 1/delta grows by one per round and is halved by a loss, down to the default of 2.
    #[test]
    fn delta_beside_flows_that_fill_the_buffer() {
        let mut c = copa();
        c.slow_start = false;
        let inverse = |c: &Copa| (1.0 / c.delta * 1000.0).round() / 1000.0;
        let seen: Vec<f64> = (1..10)
            .map(|round| {
                c.on_round(round);
                inverse(&c)
            })
            .collect();
        assert_eq!(seen, [2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        testing::with_cx(1000, |cx| c.on_congestion(cx, Signal::Loss { flight: 0 }));
        assert_eq!(inverse(&c), 3.0);
        testing::with_cx(1000, |cx| c.on_congestion(cx, Signal::Loss { flight: 0 }));
        assert_eq!(inverse(&c), 2.0);
        c.empty_at = 9;
        c.on_round(10);
        assert_eq!(inverse(&c), 2.0);
    }
}
