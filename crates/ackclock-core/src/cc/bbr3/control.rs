//! BBRv3's pacing rate and window (draft-ietf-ccwg-bbr §5.6).

use super::{Bbr3, INFINITE, State};
use crate::cc::{Cx, Phase};
use crate::time::Span;

impl Bbr3 {
    /// InitPacingRate.
    pub(super) fn rate_from_window(&mut self, cx: &Cx<'_>) {
        let mut rtt = Span::from_millis(1);
        if cx.rtt.smoothed > Span::ZERO {
            rtt = cx.rtt.smoothed;
            self.rate_from_rtt = true;
        }
        self.pace((self.s.startup_gain * self.initial_window as f64 / rtt.as_secs_f64()) as u64);
    }

    fn pace(&mut self, rate: u64) {
        self.pacing_rate = rate;
        self.quantum = (rate / 1000).min(64 * 1024).max(2 * self.mss);
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing_rate(&mut self, cx: &Cx<'_>, gain: f64) {
        if !self.rate_from_rtt && cx.rtt.smoothed > Span::ZERO {
            self.rate_from_window(cx);
        }
        if self.paced_for != (self.bw, gain) {
            self.paced_for = (self.bw, gain);
            self.paced_rate = (gain * self.bw as f64 * self.s.paced) as u64;
        }
        let rate = self.paced_rate;
        if rate != self.pacing_rate && (self.full.ever || rate > self.pacing_rate) {
            self.pace(rate);
        }
    }

    /// SaveCwnd, in phase `phase` of the sender.
    pub(super) fn save_window(&mut self, phase: Phase) {
        let good = !matches!(phase, Phase::Recovery | Phase::Loss) && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// RestoreCwnd.
    pub(super) fn restore_window(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&mut self, cx: &Cx<'_>, acked: u64) {
        let max_inflight = self.with_quanta(self.bdp(self.cwnd_gain).saturating_add(self.extra_filter.get()));
        if self.full.ever {
            self.cwnd = (self.cwnd + acked).min(max_inflight);
        } else if self.cwnd < max_inflight || cx.delivered < self.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_window());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        // BoundCwndForModel, after the draft's table.
        let cap = match self.state {
            State::Startup => INFINITE,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            _ => self.inflight_longterm,
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm).max(self.min_window()));
    }
}
