//! Recovery without SACK: Tahoe, Reno (RFC 5681 §3.2) and NewReno (RFC 6582).

use super::super::control_block::ControlBlock;
use super::super::scoreboard::Delivery;
use super::super::timers::{Timer, Timers};
use super::{AckEvent, Cause, Recovery, Repair};
use crate::cc::Phase;

impl Recovery {
    /// Handles one acknowledgment. Returns whether the controller may grow the window.
    pub(super) fn repair_without_sack(
        &mut self,
        e: &AckEvent<'_>,
        d: &Delivery,
        tcb: &mut ControlBlock,
        timers: &mut Timers,
    ) -> bool {
        match self.phase {
            Phase::Open => {
                if e.advanced {
                    self.no_duplicates();
                } else if e.duplicate {
                    self.count_duplicate(e, tcb, timers);
                }
                true
            }
            Phase::Recovery => {
                if e.advanced {
                    self.new_ack_in_recovery(e, d, tcb);
                } else if e.duplicate {
                    //= RFC 5681 §3.2 inflation
                    // Each duplicate is a segment that left the network (RFC 5681 §3.2 step 4).
                    tcb.congestion.hold_at(tcb.window() + u64::from(tcb.mss));
                }
                false
            }
            Phase::Disorder | Phase::Reduction | Phase::Loss => {
                if e.advanced {
                    self.dup_acks = 0;
                } else if e.duplicate {
                    self.dup_acks += 1;
                }
                if tcb.board.una() >= self.point {
                    self.phase = Phase::Open;
                }
                true
            }
        }
    }

    //= RFC 5681 §3.2 fast-retransmit
    fn count_duplicate(&mut self, e: &AckEvent<'_>, tcb: &mut ControlBlock, timers: &mut Timers) {
        self.dup_acks += 1;
        //= RFC 6582 §3.2 step-2-recover
        // RFC 6582 §3.2 step 2: duplicates of what was sent before the last recovery do not start another. RFC 5681's
        // Reno has no such rule; after a timeout, whose retransmissions bring duplicates of their own, it is kept.
        let guarded = self.careful || self.repair == Repair::NewReno || tcb.config.careful;
        if self.dup_acks != tcb.config.dupthresh || (guarded && tcb.board.una() <= self.point) {
            return;
        }
        let mss = u64::from(tcb.mss);
        //= RFC 5681 §3.2 limited-flight
        let flight = tcb.board.occupied().saturating_sub(self.limited_sent);
        self.signal_loss(e.now, flight, false, tcb);
        tcb.stats.recoveries += 1;
        self.cause = Cause::Fast;
        self.point = tcb.board.nxt();
        self.careful = self.repair == Repair::Tahoe;
        self.forced = true;
        self.first_partial = true;
        self.limited_sent = 0;
        if self.repair == Repair::Tahoe {
            tcb.board.mark_all();
            tcb.set_window(e.now, mss);
            self.phase = Phase::Loss;
        } else {
            tcb.board.mark_head();
            tcb.congestion.hold_at(tcb.recovery_target().saturating_add(tcb.config.dupthresh * mss));
            self.phase = Phase::Recovery;
        }
        timers.set_after(Timer::Rto, e.now, tcb.rtt.rto());
    }

    fn new_ack_in_recovery(&mut self, e: &AckEvent<'_>, d: &Delivery, tcb: &mut ControlBlock) {
        let mss = u64::from(tcb.mss);
        if self.repair == Repair::NewReno && tcb.board.una() < self.point {
            //= RFC 6582 §3.2 step-3-partial
            // Partial acknowledgment: the next hole is lost too (RFC 6582 §3.2 step 3).
            tcb.board.mark_head();
            self.forced = true;
            let deflated = tcb.window().saturating_sub(d.acked).max(mss);
            tcb.congestion.hold_at(if d.acked >= mss { deflated + mss } else { deflated });
            return;
        }
        let target = tcb.recovery_target();
        //= RFC 6582 §3.2 step-3-full
        let window = match self.repair {
            Repair::NewReno if !tcb.config.newreno_full_window => target.min(tcb.board.pipe().max(mss) + mss),
            _ => target,
        };
        tcb.recovered(e.now, window);
        self.phase = Phase::Open;
        self.dup_acks = 0;
    }
}
