//! BBRv3's answer to loss (draft-ietf-ccwg-bbr §5.5.10, §5.5.11): the short-term bounds, the long-term bound, and how
//! an unfounded answer is taken back.

use super::{Bbr3, INFINITE, State};
use crate::cc::{Ack, Cx, Lost, Phase, RateSample};

/// What the last round trip delivered, and whether it lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// Largest rate and largest delivered volume of the round.
    pub bw_latest: u64,
    pub inflight_latest: u64,
    /// This acknowledgment ends a loss round, which ends with the delivery of so much.
    pub round_start: bool,
    pub round_delivered: u64,
    pub loss_in_round: bool,
    /// Ranges lost in this round, and where the last one ends.
    pub ranges: u64,
    pub last_lost: u64,
}

/// What is restored when a loss turns out not to be one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    pub state: Option<State>,
    pub bw_shortterm: u64,
    pub inflight_shortterm: u64,
    pub inflight_longterm: u64,
}

impl Saved {
    pub const NOTHING: Saved = Saved { state: None, bw_shortterm: 0, inflight_shortterm: 0, inflight_longterm: 0 };
}

impl Bbr3 {
    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest(&mut self, cx: &Cx<'_>, rate: Option<&RateSample>) {
        self.signals.round_start = false;
        let Some(rate) = rate else { return };
        self.signals.bw_latest = self.signals.bw_latest.max(self.sampled);
        self.signals.inflight_latest = self.signals.inflight_latest.max(rate.delivered);
        if rate.prior_delivered >= self.signals.round_delivered {
            self.signals.round_delivered = cx.delivered;
            self.signals.round_start = true;
        }
    }

    /// UpdateCongestionSignals, after the bandwidth filter.
    pub(super) fn adapt_short_term(&mut self) {
        if !self.signals.round_start {
            return;
        }
        let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
        if self.signals.loss_in_round && !probing {
            if self.bw_shortterm == INFINITE {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm == INFINITE {
                self.inflight_shortterm = self.cwnd;
            }
            let kept = |bound: u64| (bound as f64 * self.s.beta) as u64;
            self.bw_shortterm = self.signals.bw_latest.max(kept(self.bw_shortterm));
            self.inflight_shortterm = self.signals.inflight_latest.max(kept(self.inflight_shortterm));
        }
        self.signals.loss_in_round = false;
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest(&mut self, rate: Option<&RateSample>) {
        if let (true, Some(rate)) = (self.signals.round_start, rate) {
            self.signals.bw_latest = self.sampled;
            self.signals.inflight_latest = rate.delivered;
            self.signals.ranges = 0;
        }
    }

    /// ResetCongestionSignals.
    pub(super) fn reset_signals(&mut self) {
        self.signals.loss_in_round = false;
        (self.signals.bw_latest, self.signals.inflight_latest) = (0, 0);
    }

    /// ResetShortTermModel.
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (INFINITE, INFINITE);
    }

    /// IsInflightTooHigh, of `lost` among `in_flight` bytes.
    pub(super) fn too_much_lost(&self, lost: u64, in_flight: u64) -> bool {
        lost > 0 && lost as f64 > in_flight as f64 * self.s.loss_threshold
    }

    /// The same of the data that this acknowledgment's sample covers.
    pub(super) fn sample_lost_too_much(&self, cx: &Cx<'_>, ack: &Ack) -> bool {
        ack.rate.is_some_and(|r| self.too_much_lost(cx.lost.saturating_sub(r.prior_lost), r.tx_in_flight))
    }

    /// CheckStartupHighLoss.
    pub(super) fn check_startup_loss(&mut self, cx: &Cx<'_>, ack: &Ack) {
        let searching = self.state == State::Startup && !self.full.ever;
        let round_of_recovery = self.signals.round_start && cx.phase == Phase::Recovery;
        if !searching || !round_of_recovery || self.signals.ranges < self.s.startup_loss_ranges {
            return;
        }
        if self.sample_lost_too_much(cx, ack) {
            self.saved.state = Some(State::Startup);
            self.full.ever = true;
            self.inflight_longterm = self.bdp(1.0).max(self.signals.inflight_latest);
        }
    }

    /// HandleLostPacket.
    pub(super) fn note_loss(&mut self, cx: &mut Cx<'_>, lost: &Lost) {
        if lost.pos != self.signals.last_lost {
            self.signals.ranges += 1;
        }
        self.signals.last_lost = lost.pos + lost.len;
        if !self.signals.loss_in_round {
            self.signals.round_delivered = cx.delivered;
            self.save_state(cx);
            self.signals.loss_in_round = true;
        }
        if !self.probe_sample || !self.too_much_lost(lost.lost, lost.tx_in_flight) {
            return;
        }
        // Once per probe.
        self.prev_probe_too_high = true;
        self.probe_sample = false;
        if !lost.app_limited {
            let at_loss = inflight_at_loss(lost, self.s.loss_threshold);
            self.inflight_longterm = at_loss.max((self.target_inflight() as f64 * self.s.beta) as u64);
        }
        if self.state == State::Up {
            self.saved.state = Some(State::Up);
            self.start_down(cx);
        }
    }

    /// SaveStateUponLoss.
    pub(super) fn save_state(&mut self, cx: &Cx<'_>) {
        self.save_window(cx.phase);
        self.saved = Saved {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn take_back(&mut self, cx: &mut Cx<'_>) {
        self.restore_window();
        self.signals.loss_in_round = false;
        self.full.restart(0);
        self.bw_shortterm = self.bw_shortterm.max(self.saved.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.saved.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.saved.inflight_longterm);
        match self.saved.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.ever = false;
                if self.state != State::ProbeRtt {
                    self.enter(State::Startup);
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(cx),
            _ => {}
        }
    }
}

/// InflightAtLoss: the volume in flight at which the losses since the segment's transmission crossed the threshold.
pub(super) fn inflight_at_loss(lost: &Lost, threshold: f64) -> u64 {
    let before = lost.tx_in_flight.saturating_sub(lost.len) as f64;
    let lost_before = lost.lost.saturating_sub(lost.len) as f64;
    (before + lost_prefix(before, lost_before, threshold)).max(0.0) as u64
}

/// How much of a segment had to be lost for the losses to cross the threshold.
pub(super) fn lost_prefix(inflight_before: f64, lost_before: f64, threshold: f64) -> f64 {
    (threshold * inflight_before - lost_before) / (1.0 - threshold)
}
