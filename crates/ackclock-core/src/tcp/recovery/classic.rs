//! Recovery without SACK: Tahoe, Reno (RFC 5681 §3.2) and NewReno (RFC 6582).

use super::super::input::AckEvent;
use super::super::scoreboard::Delivery;
use super::super::sender::{Phase, Sender};
use super::super::timers::{Timer, Timers};
use super::Repair;

impl Sender {
    /// Handles one acknowledgment. Returns whether the controller may grow the window.
    pub(in super::super) fn repair_without_sack(
        &mut self,
        e: &AckEvent<'_>,
        d: &Delivery,
        timers: &mut Timers,
    ) -> bool {
        match self.phase {
            Phase::Open => {
                if e.advanced {
                    self.dup_acks = 0;
                    self.limited_sent = 0;
                } else if e.duplicate {
                    self.count_duplicate(e, timers);
                }
                true
            }
            Phase::Recovery => {
                if e.advanced {
                    self.new_ack_in_recovery(e, d);
                } else if e.duplicate {
                    // Each duplicate is a segment that left the network (RFC 5681 §3.2 step 4).
                    self.window += u64::from(self.mss);
                }
                false
            }
            Phase::Disorder | Phase::Reduction | Phase::Loss => {
                if e.advanced {
                    self.dup_acks = 0;
                } else if e.duplicate {
                    self.dup_acks += 1;
                }
                if self.board.una() >= self.recover {
                    self.phase = Phase::Open;
                }
                true
            }
        }
    }

    fn count_duplicate(&mut self, e: &AckEvent<'_>, timers: &mut Timers) {
        self.dup_acks += 1;
        // RFC 6582 §3.2 step 2: duplicates of what was sent before the last recovery do not start another. RFC 5681's
        // Reno has no such rule; after a timeout, whose retransmissions bring duplicates of their own, it is kept.
        let guarded = self.careful || self.repair == Repair::NewReno || self.config.careful;
        if self.dup_acks != self.config.dupthresh || (guarded && self.board.una() <= self.recover) {
            return;
        }
        let flight = self.board.outstanding().saturating_sub(self.limited_sent);
        self.signal_loss(e.now, flight);
        self.stats.recoveries += 1;
        self.recover = self.board.nxt();
        self.careful = self.repair == Repair::Tahoe;
        self.force = true;
        self.first_partial = true;
        self.limited_sent = 0;
        if self.repair == Repair::Tahoe {
            self.lost += self.board.mark_all();
            self.with_cc(e.now, |cc, cx| {
                let one = u64::from(cx.mss);
                cc.set_window(cx, one);
            });
            self.window = self.control.cwnd;
            self.phase = Phase::Loss;
        } else {
            self.lost += self.board.mark_head();
            // A controller that runs its own recovery may have no threshold.
            self.window = self.control.ssthresh.saturating_add(self.config.dupthresh * u64::from(self.mss));
            if self.controller_recovers() {
                self.window = self.control.cwnd;
            }
            self.phase = Phase::Recovery;
        }
        timers.set_after(Timer::Rto, e.now, self.rtt.rto());
    }

    fn new_ack_in_recovery(&mut self, e: &AckEvent<'_>, d: &Delivery) {
        let mss = u64::from(self.mss);
        let ssthresh = self.control.ssthresh;
        if self.repair == Repair::NewReno && self.board.una() < self.recover {
            // Partial acknowledgment: the next hole is lost too (RFC 6582 §3.2 step 3).
            self.lost += self.board.mark_head();
            self.force = true;
            self.window = self.window.saturating_sub(d.acked).max(mss);
            if d.acked >= mss {
                self.window += mss;
            }
            return;
        }
        let window = match self.repair {
            Repair::NewReno if !self.config.newreno_full_window => ssthresh.min(self.board.pipe().max(mss) + mss),
            _ => ssthresh,
        };
        self.with_cc(e.now, |cc, cx| cc.on_recovered(cx, window));
        self.window = self.control.cwnd;
        self.phase = Phase::Open;
        self.dup_acks = 0;
    }
}
