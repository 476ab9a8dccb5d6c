//! BBRv3's minimum RTT and the state that refreshes it (draft-ietf-ccwg-bbr §5.3.4).

use super::probe_bw::Acks;
use super::{Bbr3, State};
use crate::cc::{Ack, Cx};

impl Bbr3 {
    /// UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, cx: &Cx<'_>, ack: &Ack) {
        self.probe_rtt_expired = cx.now > self.probe_rtt_min_at + self.s.probe_rtt_interval;
        if let Some(rtt) = ack.rtt {
            if self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|min| rtt < min) {
                (self.probe_rtt_min, self.probe_rtt_min_at) = (Some(rtt), cx.now);
            }
        }
        let expired = cx.now > self.min_rtt_at + self.s.min_rtt_window;
        let smaller = self.probe_rtt_min.is_some_and(|rtt| self.min_rtt.is_none_or(|min| rtt < min));
        if smaller || expired {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
            self.model_changed();
        }
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_window(cx.phase);
            self.enter(State::ProbeRtt);
            self.probe_rtt_until = None;
            self.acks = Acks::ProbeStopping;
            self.round_end = cx.delivered;
        }
        self.limits = self.state == State::ProbeRtt;
        if self.limits {
            if self.probe_rtt_until.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.end_probe_rtt(cx);
                }
            } else if cx.in_flight <= self.probe_rtt_window() {
                self.probe_rtt_until = Some(cx.now + self.s.probe_rtt_time);
                self.probe_rtt_round_done = false;
                self.round_end = cx.delivered;
            }
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT.
    pub(super) fn end_probe_rtt(&mut self, cx: &mut Cx<'_>) {
        if self.probe_rtt_until.is_none_or(|until| cx.now <= until) {
            return;
        }
        self.probe_rtt_min_at = cx.now;
        self.restore_window();
        self.reset_short_term();
        if self.full.ever {
            self.start_down(cx);
            self.enter(State::Cruise);
        } else {
            self.enter(State::Startup);
        }
    }

    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.s.probe_rtt_cwnd_gain).max(self.min_window())
    }
}
