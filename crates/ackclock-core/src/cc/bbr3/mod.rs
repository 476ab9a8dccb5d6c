//! BBR, version 3 (draft-ietf-ccwg-bbr-06, Cardwell, Swett, Beshay).
//!
//! As version 1 a model of the path, with bounds that loss lowers: `inflight_longterm`, found when probing for
//! bandwidth loses too much, and the short-term `bw_shortterm` and `inflight_shortterm`, in force until the next probe.
//! Names of the draft's pseudocode stand in the comments of the functions that do the same.

mod congestion;
mod control;
mod full_pipe;
mod probe_bw;
mod probe_rtt;
mod settings;
#[cfg(test)]
mod tests;

use super::registry::{Builder, Controller};
use super::{Ack, CongestionControl, Control, Cx, Lost, Needs, Pacing, Phase, RecoveryBy, Restart, Signal, Undo};
use crate::estimator::windowed_filter::WindowedMax;
use crate::math::{float, whole};
use crate::params::Params;
use crate::time::{Span, Time};
use congestion::{Saved, Signals};
use full_pipe::FullPipe;
use probe_bw::Acks;
use settings::{PARAMS, Settings};

pub(super) const ENTRY: Controller = Controller {
    name: "bbr3",
    family: "model",
    source: "draft-ietf-ccwg-bbr-06",
    summary: "BBR whose model is bounded by what the path carried without losing more than 2 %",
    differences: "mainline Linux (6.12) and ns-3 have no BBRv3",
    params: PARAMS,
    builder: Builder::Whole(|p| Box::new(Bbr3::new(p))),
};

const INFINITE: u64 = u64::MAX;

/// BBR's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Doubles the rate per round until the pipe is full.
    Startup,
    /// Lets Startup's queue drain.
    Drain,
    /// ProbeBW: sends less than is delivered, to leave room.
    Down,
    /// ProbeBW: sends what is delivered.
    Cruise,
    /// ProbeBW: fills the pipe before a probe.
    Refill,
    /// ProbeBW: sends more than is delivered, to see whether more can be.
    Up,
    /// Halves the data in flight to see the minimum RTT.
    ProbeRtt,
}

/// The controller. Volumes are bytes, rates bytes per second.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    s: Settings,
    mss: u64,
    initial_window: u64,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Rounds so far; the next begins when something sent after `round_end` bytes were delivered is acknowledged.
    rounds: u64,
    round_end: u64,
    round_start: bool,
    bw_filter: WindowedMax,
    /// ProbeBW cycles so far, the bandwidth filter's time.
    cycles: u64,
    bw: u64,
    /// Of this acknowledgment's sample; zero without one.
    sampled: u64,
    /// `bw` times the minimum RTT; see `model_changed`.
    product: f64,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    full: FullPipe,
    drain_begin: u64,
    signals: Signals,
    saved: Saved,
    acks: Acks,
    cycle_begin: Time,
    probe_wait: Span,
    rounds_since_up: u64,
    up_rounds: u32,
    up_acked: u64,
    acked_per_increment: u64,
    /// Acknowledgments tell about data of a probe that has not been found too much (is_bw_probe_sample).
    probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    probe_rtt_min: Option<Span>,
    probe_rtt_min_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    limits: bool,
    extra_filter: WindowedMax,
    extra_begin: Time,
    extra_delivered: u64,
    phase: Phase,
    cwnd: u64,
    prior_cwnd: u64,
    ssthresh: u64,
    pacing_rate: u64,
    quantum: u64,
    /// What the bandwidth and a gain make of it.
    paced_rate: u64,
    paced_for: (u64, f64),
    rate_from_rtt: bool,
}

impl Bbr3 {
    /// From its parameters.
    pub fn new(p: &Params) -> Bbr3 {
        let s = Settings::new(p);
        Bbr3 {
            mss: 1,
            initial_window: 0,
            state: State::Startup,
            pacing_gain: s.startup_gain,
            cwnd_gain: s.cwnd_gain,
            rounds: 0,
            round_end: 0,
            round_start: false,
            bw_filter: WindowedMax::new(0, 0),
            cycles: 0,
            bw: 0,
            sampled: 0,
            product: 0.0,
            bw_shortterm: INFINITE,
            inflight_shortterm: INFINITE,
            inflight_longterm: INFINITE,
            full: FullPipe::default(),
            drain_begin: 0,
            signals: Signals { last_lost: INFINITE, ..Signals::default() },
            saved: Saved::NOTHING,
            acks: Acks::Init,
            cycle_begin: Time::ZERO,
            probe_wait: Span::ZERO,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acked: 0,
            acked_per_increment: INFINITE,
            probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            limits: false,
            extra_filter: WindowedMax::new(0, 0),
            extra_begin: Time::ZERO,
            extra_delivered: 0,
            phase: Phase::Open,
            cwnd: 0,
            prior_cwnd: 0,
            ssthresh: INFINITE,
            pacing_rate: 0,
            quantum: 0,
            paced_rate: 0,
            paced_for: (0, 0.0),
            rate_from_rtt: false,
            s,
        }
    }

    fn max_bw(&self) -> u64 {
        self.bw_filter.get()
    }

    fn min_window(&self) -> u64 {
        self.s.min_segments * self.mss
    }

    /// Enters `state` with its gains.
    fn enter(&mut self, state: State) {
        let s = &self.s;
        (self.pacing_gain, self.cwnd_gain) = match state {
            State::Startup => (s.startup_gain, s.cwnd_gain),
            State::Drain => (s.startup_drain_gain, s.cwnd_gain),
            State::Down => (s.down_gain, s.cwnd_gain),
            State::Cruise | State::Refill => (1.0, s.cwnd_gain),
            State::Up => (s.up_gain, s.up_cwnd_gain),
            State::ProbeRtt => (1.0, s.probe_rtt_cwnd_gain),
        };
        self.state = state;
    }

    /// BDPMultiple.
    fn bdp_of(&self, bw: u64, gain: f64) -> u64 {
        match self.min_rtt {
            None => self.initial_window,
            Some(rtt) => (bw as f64 * rtt.as_secs_f64() * gain) as u64,
        }
    }

    fn bdp(&self, gain: f64) -> u64 {
        if self.min_rtt.is_none() {
            return self.initial_window;
        }
        whole(self.product * gain)
    }

    /// After every change of the bandwidth or of the minimum RTT, which are seldom.
    fn model_changed(&mut self) {
        self.product = self.min_rtt.map_or(0.0, |rtt| float(self.bw) * rtt.as_secs_f64());
    }

    /// C.send_quantum.
    fn quantum(&self) -> u64 {
        self.quantum
    }

    /// QuantizationBudget.
    fn with_quanta(&self, cap: u64) -> u64 {
        let cap = cap.max(3 * self.quantum()).max(self.min_window());
        cap + if self.state == State::Up { 2 * self.mss } else { 0 }
    }

    /// Inflight.
    fn inflight(&self, bw: u64, gain: f64) -> u64 {
        self.with_quanta(if bw == self.bw { self.bdp(gain) } else { self.bdp_of(bw, gain) })
    }

    /// TargetInflight: the bandwidth-delay product, unless congestion cut the window below it.
    fn target_inflight(&self) -> u64 {
        self.bdp(1.0).min(self.cwnd)
    }

    /// UpdateMaxBw with UpdateRound.
    fn update_max_bw(&mut self, cx: &Cx<'_>, ack: &Ack) {
        self.round_start = false;
        let Some(rate) = ack.rate else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = cx.delivered;
            self.rounds += 1;
            self.rounds_since_up += 1;
            self.round_start = true;
        }
        let bw = self.sampled;
        if bw > 0 && (bw >= self.max_bw() || !rate.app_limited) {
            self.bw_filter.update(self.s.bw_cycles - 1, self.cycles, bw);
        }
    }

    /// UpdateACKAggregation.
    fn update_aggregation(&mut self, cx: &Cx<'_>, ack: &Ack) {
        if ack.delivered == 0 {
            return;
        }
        let elapsed = float(cx.now.since(self.extra_begin).0) * 1e-9;
        let mut expected = whole(float(self.bw) * elapsed);
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_begin) = (0, cx.now);
            expected = 0;
        }
        self.extra_delivered += ack.delivered;
        let extra = (self.extra_delivered - expected).min(self.cwnd);
        let window = if self.full.ever { self.s.extra_acked_rounds } else { 1 };
        self.extra_filter.update(window, self.rounds, extra);
    }

    /// CheckStartupDone and CheckDrainDone.
    fn check_drain(&mut self, cx: &mut Cx<'_>) {
        if self.state == State::Startup && self.full.ever {
            self.enter(State::Drain);
            self.drain_begin = self.rounds;
            self.ssthresh = self.inflight(self.max_bw(), 1.0);
        }
        if self.state == State::Drain {
            let drained = cx.in_flight <= self.inflight(self.bw, 1.0);
            if drained || self.rounds > self.drain_begin + self.s.drain_rounds {
                self.start_down(cx);
            }
        }
    }
}

impl CongestionControl for Bbr3 {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        self.mss = u64::from(cx.mss).max(1);
        self.initial_window = initial_window;
        self.cwnd = initial_window;
        if cx.rtt.smoothed > Span::ZERO {
            self.min_rtt = Some(cx.rtt.smoothed);
            self.probe_rtt_min = self.min_rtt;
            self.model_changed();
        }
        (self.min_rtt_at, self.probe_rtt_min_at) = (cx.now, cx.now);
        (self.extra_begin, self.cycle_begin) = (cx.now, cx.now);
        self.rate_from_window(cx);
    }

    fn on_lost(&mut self, cx: &mut Cx<'_>, lost: &Lost) {
        self.note_loss(cx, lost);
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        let rate = ack.rate.as_ref();
        self.sampled = rate.map_or(0, |r| whole(r.rate()));
        self.update_latest(cx, rate);
        self.update_max_bw(cx, ack);
        self.adapt_short_term();
        self.update_aggregation(cx, ack);
        if let (true, Some(r)) = (self.round_start, rate) {
            if !r.app_limited {
                self.full.on_round(&self.s, self.sampled);
            }
        }
        self.check_startup_loss(cx, ack);
        self.check_drain(cx);
        self.update_cycle(cx, ack);
        self.update_min_rtt(cx, ack);
        self.check_probe_rtt(cx, ack);
        self.advance_latest(rate);
        let bw = self.max_bw().min(self.bw_shortterm);
        if bw != self.bw {
            self.bw = bw;
            self.model_changed();
        }
        self.set_pacing_rate(cx, self.pacing_gain);
        self.set_cwnd(cx, ack.delivered);
    }

    fn on_congestion(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        match signal {
            Signal::Timeout { repeated, .. } => {
                if !repeated {
                    self.save_state(cx);
                }
                self.cwnd = self.mss;
            }
            Signal::Loss { .. } => self.save_state(cx),
            Signal::Ecn { .. } => {}
        }
    }

    fn on_phase(&mut self, cx: &mut Cx<'_>) {
        let losing = |phase| matches!(phase, Phase::Recovery | Phase::Loss);
        if losing(self.phase) && !losing(cx.phase) {
            self.restore_window();
        }
        self.phase = cx.phase;
    }

    fn on_recovered(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}

    fn set_window(&mut self, _cx: &mut Cx<'_>, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
    }

    fn on_undo(&mut self, cx: &mut Cx<'_>, _undo: Undo) {
        self.take_back(cx);
    }

    // The window restarts from nothing but the model.
    fn on_restart(&mut self, _cx: &mut Cx<'_>, _restart: Restart) {}

    /// HandleRestartFromIdle.
    fn on_limited_start(&mut self, cx: &mut Cx<'_>) {
        self.idle_restart = true;
        self.extra_begin = cx.now;
        if self.state.probes_bw() {
            self.set_pacing_rate(cx, 1.0);
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(cx);
        }
    }

    fn limits_itself(&self) -> bool {
        self.limits
    }

    #[inline]
    fn control(&self) -> Control {
        let ssthresh = self.ssthresh.max(2 * self.mss);
        let burst = self.quantum() as u32;
        Control { pacing: Pacing::Rate(self.pacing_rate.max(1)), burst, ..Control::window(self.cwnd, ssthresh) }
    }

    fn needs(&self) -> Needs {
        Needs { rate: true, recovery: RecoveryBy::Controller, ..Needs::default() }
    }
}
