//! BBR, version 1: Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00; tcp_bbr of Linux 6.12.
//!
//! The sender keeps a model of the path, the largest delivery rate of ten rounds and the smallest RTT of ten seconds,
//! paces at a multiple of the one and keeps a multiple of their product in flight. Loss does not change the model.

mod path;
mod phases;
mod policer;
mod settings;
#[cfg(test)]
mod tests;
mod window;

use super::registry::{Builder, Controller};
use super::{Ack, CongestionControl, Control, Cx, Needs, Pacing, Phase, RecoveryBy, Restart, Signal, Undo};
use crate::params::Params;
use crate::time::Time;
use path::{BW_SHIFT, NO_RTT, Path, bandwidth, mul_div};
use policer::{Policer, Sample, Sums};
use settings::{GAIN_UNIT, PARAMS, Settings};

pub(super) const ENTRY: Controller = Controller {
    name: "bbr1",
    family: "model",
    source: "draft-cardwell-iccrg-bbr-congestion-control-00",
    summary: "paces at the bottleneck's bandwidth, keeps twice the bandwidth-delay product in flight",
    differences: "Linux counts segments, paces 1 % below the estimate, allows for aggregated acknowledgments and detects \
        policers; ns-3 has neither margin nor detection",
    params: PARAMS,
    builder: Builder::Whole(|p| Box::new(Bbr1::new(p))),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate per round until the bandwidth stops growing.
    Startup,
    /// Lets the queue of STARTUP drain.
    Drain,
    /// Cycles around the estimated bandwidth.
    ProbeBw,
    /// Nearly empties the path to see its minimum RTT.
    ProbeRtt,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    s: Settings,
    path: Path,
    policer: Policer,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Rounds so far, and what has to be delivered, bytes, for the next.
    rounds: u64,
    round_end: u64,
    round_start: bool,
    /// Time of the last delivery, microseconds.
    delivered_us: u64,
    full: bool,
    full_bw: u64,
    full_rounds: u64,
    /// Phase of PROBE_BW and its begin.
    cycle: u64,
    cycle_begin_us: u64,
    /// From when on the minimum RTT is too old.
    min_rtt_expires: Time,
    /// When PROBE_RTT may end, in ticks; set when the path is nearly empty.
    probe_rtt_until: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// This acknowledgment found PROBE_RTT.
    limits: bool,
    /// Phase of the sender at the last delivery.
    phase: Phase,
    conserving: bool,
    rate_from_rtt: bool,
    /// Units.
    cwnd: u64,
    prior_cwnd: u64,
    /// Bytes; infinite until the pipe was full.
    ssthresh: u64,
    /// Bytes per second, and the burst that goes with it, units and bytes.
    pacing_rate: u64,
    quantum: u64,
    burst: u32,
    kept: Kept,
}

/// Results of the model that stay while what they are made of does: most acknowledgments change neither.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    /// Bandwidth and gain, and the pacing rate they make.
    rate_of: (u64, u64),
    rate: u64,
    /// Bandwidth, gain and minimum RTT, and the window they make.
    bdp_of: (u64, u64, u64),
    bdp: u64,
}

#[inline]
fn micros(t: Time) -> u64 {
    t.0 / 1000
}

fn losing(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}

impl Bbr1 {
    /// From its parameters.
    pub fn new(p: &Params) -> Bbr1 {
        let s = Settings::new(p);
        Bbr1 {
            path: Path::new(),
            policer: Policer::default(),
            mode: Mode::Startup,
            pacing_gain: s.startup_gain,
            cwnd_gain: s.startup_gain,
            rounds: 0,
            round_end: 0,
            round_start: false,
            delivered_us: 0,
            full: false,
            full_bw: 0,
            full_rounds: 0,
            cycle: 0,
            cycle_begin_us: 0,
            min_rtt_expires: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            limits: false,
            phase: Phase::Open,
            conserving: false,
            rate_from_rtt: false,
            cwnd: 0,
            prior_cwnd: 0,
            ssthresh: u64::MAX,
            pacing_rate: 0,
            quantum: 0,
            burst: 0,
            kept: Kept::default(),
            s,
        }
    }

    #[inline]
    fn ticks(&self, now: Time) -> u64 {
        now.0 / self.s.tick
    }

    /// The minimum RTT is that of a moment, in ticks.
    fn min_rtt_seen(&mut self, at: u64) {
        let expired = at.saturating_add(self.s.min_rtt_window).saturating_add(1);
        self.min_rtt_expires = Time(expired.saturating_mul(self.s.tick));
    }

    fn min_window(&self) -> u64 {
        self.s.min_segments * self.path.segment
    }

    fn sums(&self, cx: &Cx<'_>) -> Sums {
        Sums { ms: self.delivered_us / 1000, delivered: self.path.units(cx.delivered), lost: self.path.units(cx.lost) }
    }

    /// `gain` BDP with the allowance for bursts of the sending and receiving hosts.
    fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_quanta(self.path.bdp(bw, gain))
    }

    fn with_quanta(&self, window: u64) -> u64 {
        let window = window + 3 * self.quantum;
        if !self.s.linux {
            return window;
        }
        // Even, because of delayed acknowledgments; the probing phase must rise above small BDPs.
        let probing = self.mode == Mode::ProbeBw && self.cycle == 0;
        window.next_multiple_of(2) + if probing { 2 } else { 0 }
    }

    /// What will be in the network when the next segment leaves, `in_flight` units being there now: pacing has
    /// scheduled that time already (Linux).
    fn in_network(&self, cx: &Cx<'_>, ack: &Ack, in_flight: u64) -> u64 {
        if !self.s.linux {
            return in_flight;
        }
        let wait_us = ack.departs.since(cx.now).0 / 1000;
        let delivered = mul_div(self.path.bw(), wait_us, 1 << BW_SHIFT);
        let rising = self.pacing_gain > GAIN_UNIT;
        let then = in_flight + if rising { self.quantum } else { 0 };
        then.saturating_sub(delivered)
    }

    #[inline(always)] // called in one place
    fn update_bandwidth(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        self.round_start = false;
        let Some(rate) = &ack.rate else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = cx.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        if self.s.policer {
            self.look_for_policer(cx, ack.lost > 0, rate.app_limited);
        }
        let bw = bandwidth(self.path.units(rate.delivered), rate.interval.0 / 1000);
        // A sample limited by the application says only that the path has at least so much.
        if !rate.app_limited || bw >= self.path.max_bw.get() {
            self.path.max_bw.update(self.s.bw_rounds, self.rounds, bw);
        }
    }

    fn look_for_policer(&mut self, cx: &mut Cx<'_>, losses: bool, app_limited: bool) {
        if self.path.policed_bw.is_some() {
            if self.policer.expires(&self.s, self.mode == Mode::ProbeBw, self.round_start) {
                let sums = self.sums(cx);
                self.policer.reset(&mut self.path, sums);
                self.enter_probe_bw(cx);
            }
            return;
        }
        let e = Sample { sums: self.sums(cx), losses, app_limited, round_start: self.round_start };
        if self.policer.sample(&self.s, &mut self.path, &e) {
            self.pacing_gain = GAIN_UNIT;
        }
    }

    /// The rate before any delivery: the initial window per round trip, of a millisecond when none is known.
    #[cold]
    fn rate_from_window(&mut self, cx: &Cx<'_>) {
        let mut us = 1000;
        if cx.rtt.smoothed.0 > 0 {
            us = (cx.rtt.smoothed.0 / 1000).max(1);
            self.rate_from_rtt = true;
        }
        self.pace(self.path.pacing_rate(&self.s, bandwidth(self.cwnd, us), self.s.startup_gain));
    }

    #[inline(never)]
    fn pace(&mut self, rate: u64) {
        self.pacing_rate = rate;
        self.quantum = self.path.quantum(&self.s, rate);
        self.burst = self.path.bytes(self.quantum) as u32;
    }

    #[inline]
    fn set_pacing_rate(&mut self, cx: &Cx<'_>, gain: u64) {
        if !self.rate_from_rtt && cx.rtt.smoothed.0 > 0 {
            self.rate_from_window(cx);
        }
        if self.kept.rate_of != (self.path.bw(), gain) {
            self.kept.rate_of = (self.path.bw(), gain);
            self.kept.rate = self.path.pacing_rate(&self.s, self.path.bw(), gain);
        }
        let rate = self.kept.rate;
        // STARTUP does not slow down.
        if rate != self.pacing_rate && (self.full || rate > self.pacing_rate) {
            self.pace(rate);
        }
    }
}

impl CongestionControl for Bbr1 {
    fn start(&mut self, cx: &mut Cx<'_>, initial_window: u64) {
        let mss = u64::from(cx.mss).max(1);
        (self.path.unit, self.path.segment) = if self.s.linux { (mss, 1) } else { (1, mss) };
        self.path.initial_window = self.path.units(initial_window);
        self.cwnd = self.path.initial_window;
        self.path.min_rtt_us = if cx.rtt.min.0 > 0 { cx.rtt.min.0 / 1000 } else { NO_RTT };
        self.min_rtt_seen(self.ticks(cx.now));
        self.delivered_us = micros(cx.now);
        self.path.aggregation.restart(self.delivered_us);
        self.rate_from_window(cx);
    }

    fn on_ack(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        if ack.delivered > 0 {
            self.delivered_us = micros(cx.now);
        }
        self.update_bandwidth(cx, ack);
        if self.s.ack_aggregation && ack.delivered > 0 && ack.rate.is_some() {
            let (acked, bw) = (self.path.units(ack.delivered), self.path.bw());
            self.path.aggregation.on_ack(&self.s, self.delivered_us, self.round_start, acked, bw, self.cwnd);
        }
        if self.mode == Mode::ProbeBw && self.cycle_phase_over(cx, ack) {
            self.advance_cycle();
        }
        self.check_full(ack.rate.is_some_and(|r| r.app_limited));
        self.check_drain(cx, ack);
        self.update_min_rtt(cx, ack);
        self.update_gains();
        self.set_pacing_rate(cx, self.pacing_gain);
        self.set_cwnd(cx, ack);
    }

    fn on_congestion(&mut self, _cx: &mut Cx<'_>, signal: Signal) {
        if !matches!(signal, Signal::Timeout { repeated: true, .. }) {
            self.save_window();
        }
        if matches!(signal, Signal::Timeout { .. }) {
            self.cwnd = self.path.segment;
        }
    }

    fn on_phase(&mut self, cx: &mut Cx<'_>) {
        if cx.phase == Phase::Loss {
            self.phase = Phase::Loss;
            self.full_bw = 0;
            // A timeout counts as the end of a round.
            self.round_start = true;
            if self.s.policer {
                self.look_for_policer(cx, true, false);
            }
        }
    }

    fn on_recovered(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}

    fn set_window(&mut self, _cx: &mut Cx<'_>, cwnd: u64) {
        self.cwnd = self.path.units(cwnd).max(self.path.segment);
    }

    fn on_undo(&mut self, cx: &mut Cx<'_>, _undo: Undo) {
        (self.full_bw, self.full_rounds) = (0, 0);
        let sums = self.sums(cx);
        self.policer.reset(&mut self.path, sums);
    }

    // The window restarts from nothing but the model.
    fn on_restart(&mut self, _cx: &mut Cx<'_>, _restart: Restart) {}

    fn on_limited_start(&mut self, cx: &mut Cx<'_>) {
        self.idle_restart = true;
        self.path.aggregation.restart(micros(cx.now));
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(cx, GAIN_UNIT),
            Mode::ProbeRtt => self.end_probe_rtt(cx),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn limits_itself(&self) -> bool {
        self.limits
    }

    #[inline]
    fn control(&self) -> Control {
        let pacing = Pacing::Rate(self.pacing_rate.max(1));
        Control { pacing, burst: self.burst, ..Control::window(self.path.bytes(self.cwnd), self.ssthresh) }
    }

    fn needs(&self) -> Needs {
        Needs { rate: true, recovery: RecoveryBy::Controller, ..Needs::default() }
    }
}
