//! BBRv1's modes: when one ends and the next begins, and the gains of each.

use super::path::mul_div;
use super::settings::GAIN_UNIT;
use super::{Bbr1, Mode};
use crate::cc::{Ack, Cx, RateSample};

impl Bbr1 {
    #[cold]
    pub(super) fn enter_probe_bw(&mut self, cx: &mut Cx<'_>) {
        self.mode = Mode::ProbeBw;
        // Any phase but the one that drains.
        let last = self.s.cycle_length - 1;
        self.cycle = last - cx.rng.below(last);
        self.advance_cycle();
    }

    pub(super) fn advance_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % self.s.cycle_length;
        self.cycle_begin_us = self.delivered_us;
    }

    pub(super) fn cycle_phase_over(&self, cx: &Cx<'_>, ack: &Ack) -> bool {
        let full_length = self.delivered_us.saturating_sub(self.cycle_begin_us) > self.path.min_rtt_us;
        if self.pacing_gain == GAIN_UNIT {
            return full_length;
        }
        let in_flight = self.in_network(cx, ack, self.path.units(ack.in_flight_before));
        let bw = self.path.max_bw.get();
        if self.pacing_gain > GAIN_UNIT {
            return full_length && (ack.lost > 0 || in_flight >= self.inflight(bw, self.pacing_gain));
        }
        full_length || in_flight <= self.inflight(bw, GAIN_UNIT)
    }

    pub(super) fn check_full(&mut self, app_limited: bool) {
        if self.full || !self.round_start || app_limited {
            return;
        }
        let bw = self.path.max_bw.get();
        if bw >= mul_div(self.full_bw, self.s.full_bw_growth, GAIN_UNIT) {
            (self.full_bw, self.full_rounds) = (bw, 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= self.s.full_bw_rounds;
    }

    pub(super) fn check_drain(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        let bw = self.path.max_bw.get();
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.ssthresh = self.path.bytes(self.inflight(bw, GAIN_UNIT).max(2 * self.path.segment));
        }
        if self.mode == Mode::Drain {
            let in_network = self.in_network(cx, ack, self.path.units(cx.in_flight));
            if in_network <= self.inflight(bw, GAIN_UNIT) {
                self.enter_probe_bw(cx);
            }
        }
    }

    pub(super) fn update_min_rtt(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        let expired = cx.now >= self.min_rtt_expires;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.0 / 1000;
            if rtt < self.path.min_rtt_us || (expired && !lone_runt(cx, ack)) {
                self.path.min_rtt_us = rtt;
                self.min_rtt_seen(self.ticks(cx.now));
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_rtt_until = None;
        }
        self.limits = self.mode == Mode::ProbeRtt;
        if self.limits {
            if self.probe_rtt_until.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.end_probe_rtt(cx);
                }
            } else if self.path.units(cx.in_flight) <= self.min_window() {
                self.probe_rtt_until = Some(self.ticks(cx.now) + self.s.probe_rtt_time);
                self.probe_rtt_round_done = false;
                self.round_end = cx.delivered;
            }
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    #[cold]
    pub(super) fn end_probe_rtt(&mut self, cx: &mut Cx<'_>) {
        let now = self.ticks(cx.now);
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_seen(now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full {
            self.enter_probe_bw(cx);
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn update_gains(&mut self) {
        let s = &self.s;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (s.startup_gain, s.startup_gain),
            Mode::Drain => (s.startup_drain_gain, s.startup_gain),
            Mode::ProbeRtt => (GAIN_UNIT, GAIN_UNIT),
            Mode::ProbeBw => {
                let pacing = match self.cycle {
                    _ if self.path.policed_bw.is_some() => GAIN_UNIT,
                    0 => s.probe_gain,
                    1 => s.drain_gain,
                    _ => GAIN_UNIT,
                };
                (pacing, s.cwnd_gain)
            }
        };
    }
}

/// A segment shorter than the MSS that was alone in its round trip: its acknowledgment may have been delayed.
fn lone_runt(cx: &Cx<'_>, ack: &Ack) -> bool {
    let alone = |r: &RateSample| r.prior_delivered + ack.delivered == cx.delivered;
    ack.acked < u64::from(cx.mss) && ack.delivered <= u64::from(cx.mss) && ack.rate.as_ref().is_some_and(alone)
}
