//! BBRv3's bandwidth probing (draft-ietf-ccwg-bbr §5.3.3): DOWN, CRUISE, REFILL, UP, and around again.

use super::{Bbr3, INFINITE, State};
use crate::cc::{Ack, Cx};
use crate::math::{float, whole};
use crate::time::Span;

/// What the acknowledgments of the present round tell about (ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    /// Nothing in particular.
    Init,
    /// Data sent while refilling the pipe.
    Refilling,
    /// The probe has begun, its data is not delivered yet.
    ProbeStarting,
    /// Data of the probe.
    ProbeFeedback,
    /// The last data of the probe.
    ProbeStopping,
}

impl State {
    /// IsInAProbeBWState.
    pub(super) fn probes_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
}

impl Bbr3 {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, cx: &mut Cx<'_>) {
        self.reset_signals();
        self.acked_per_increment = INFINITE;
        self.rounds_since_up = cx.rng.below(2);
        let spread = cx.rng.uniform() * self.s.probe_wait_spread.0 as f64;
        self.probe_wait = self.s.probe_wait + Span(spread as u64);
        self.cycle_begin = cx.now;
        self.acks = Acks::ProbeStopping;
        self.round_end = cx.delivered;
        self.enter(State::Down);
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self, cx: &Cx<'_>) {
        self.reset_short_term();
        (self.up_rounds, self.up_acked) = (0, 0);
        self.prev_probe_precautionary = false;
        self.acks = Acks::Refilling;
        self.round_end = cx.delivered;
        self.enter(State::Refill);
    }

    fn start_up(&mut self, cx: &Cx<'_>) {
        self.acks = Acks::ProbeStarting;
        self.round_end = cx.delivered;
        self.full.restart(self.sampled);
        self.enter(State::Up);
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        if !self.full.ever || self.adapt_long_term(cx, ack) || !self.state.probes_bw() {
            return;
        }
        let go_down = self.state == State::Up && self.time_to_go_down(cx, ack);
        match self.state {
            State::Down | State::Cruise if self.time_to_probe(cx) => self.start_refill(cx),
            State::Down if self.time_to_cruise(cx) => self.enter(State::Cruise),
            State::Refill if self.round_start => {
                self.probe_sample = true;
                self.start_up(cx);
            }
            State::Up if go_down => {
                self.prev_probe_too_high = false;
                self.start_down(cx);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW: BBR's own clock, or that of a Reno flow with this window.
    fn time_to_probe(&self, cx: &Cx<'_>) -> bool {
        let reno = || (self.target_inflight() / self.mss).min(self.s.reno_rounds);
        cx.now > self.cycle_begin + self.probe_wait || self.rounds_since_up >= reno()
    }

    fn time_to_cruise(&self, cx: &Cx<'_>) -> bool {
        cx.in_flight <= self.inflight_with_headroom() && cx.in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    fn time_to_go_down(&mut self, cx: &Cx<'_>, ack: &Ack) -> bool {
        if self.prev_probe_too_high && cx.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if ack.window_limited && self.cwnd >= self.inflight_longterm {
            // The bound, not the path, holds the bandwidth down.
            self.full.restart(self.sampled);
            return false;
        }
        self.full.now
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITE {
            return INFINITE;
        }
        let headroom = whole(float(self.inflight_longterm) * self.s.headroom).max(self.mss);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_window())
    }

    /// RaiseInflightLongtermSlope: the bound grows by 1, 2, 4, ... segments per round.
    pub(super) fn raise_slope(&mut self) {
        let growth = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.acked_per_increment = (self.cwnd / growth).max(self.mss);
    }

    /// ProbeInflightLongtermUpward.
    fn raise_long_term(&mut self, ack: &Ack) {
        if !ack.window_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        self.up_acked += ack.delivered;
        let increments = self.up_acked / self.acked_per_increment;
        self.up_acked -= increments * self.acked_per_increment;
        self.inflight_longterm = self.inflight_longterm.saturating_add(increments * self.mss);
        if self.round_start {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel. True when it decided a transition.
    fn adapt_long_term(&mut self, cx: &mut Cx<'_>, ack: &Ack) -> bool {
        if self.acks == Acks::ProbeStarting && self.round_start {
            self.acks = Acks::ProbeFeedback;
        }
        if self.acks == Acks::ProbeStopping && self.round_start {
            self.probe_sample = false;
            self.acks = Acks::Init;
            if self.state.probes_bw() {
                if ack.rate.is_some_and(|r| !r.app_limited) {
                    self.cycles += 1;
                }
                if self.prev_probe_precautionary && !self.prev_probe_too_high {
                    self.start_refill(cx);
                    return true;
                }
            }
        }
        let Some(rate) = ack.rate else { return false };
        if !self.sample_lost_too_much(cx, ack) && self.inflight_longterm != INFINITE {
            self.inflight_longterm = self.inflight_longterm.max(rate.tx_in_flight);
            if self.state == State::Up {
                self.raise_long_term(ack);
            }
        }
        false
    }
}
