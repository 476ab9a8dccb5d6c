//! BBRv1's window: towards its target as data is delivered, with the caution of recovery.

use super::path::{BW_SHIFT, mul_div};
use super::{Bbr1, Mode, losing};
use crate::cc::{Ack, Cx, Phase};

impl Bbr1 {
    /// Remembers the last window that no loss and no PROBE_RTT had cut.
    pub(super) fn save_window(&mut self) {
        let good = !losing(self.phase) && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// The window follows recovery: what was lost leaves it, its first round conserves packets, its end restores it.
    pub(super) fn modulate_for_recovery(&mut self, cx: &Cx<'_>, acked: u64, lost: u64) {
        let in_flight = self.path.units(cx.in_flight);
        self.cwnd = self.cwnd.saturating_sub(lost).max(self.path.segment);
        if cx.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.conserving = true;
            self.round_end = cx.delivered;
            self.cwnd = (in_flight + acked).max(self.path.segment);
        } else if losing(self.phase) && !losing(cx.phase) {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        self.phase = cx.phase;
        if self.conserving {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
    }

    pub(super) fn set_cwnd(&mut self, cx: &Cx<'_>, ack: &Ack) {
        let acked = self.path.units(ack.delivered);
        if acked > 0 {
            self.modulate_for_recovery(cx, acked, self.path.units(ack.lost));
            if !self.conserving {
                self.move_to_target(cx, acked);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.min_window());
        }
    }

    pub(super) fn move_to_target(&mut self, cx: &Cx<'_>, acked: u64) {
        let bw = self.path.bw();
        let of = (bw, self.cwnd_gain, self.path.min_rtt_us);
        if self.kept.bdp_of != of {
            self.kept.bdp_of = of;
            self.kept.bdp = self.path.bdp(bw, self.cwnd_gain);
        }
        let mut target = self.kept.bdp;
        if self.s.ack_aggregation && self.full {
            let most = mul_div(bw, self.s.extra_acked_max_us, 1 << BW_SHIFT);
            target += self.path.aggregation.excess().min(most);
        }
        let target = self.with_quanta(target);
        if self.full {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || self.path.units(cx.delivered) < self.path.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_window());
    }
}
