//! Recovery with SACK: RFC 6675's counting or RFC 8985's transmission times find the losses, PRR or RFC 6675 moves
//! the window.

use super::super::config::PrrRule;
use super::super::control_block::ControlBlock;
use super::super::scoreboard::{Delivery, Stamps};
use super::super::timers::{Timer, Timers};
use super::prr::Prr;
use super::rack::REORDERING_THRESHOLD;
use super::undo::Report;
use super::{AckEvent, Recovery, Repair};
use crate::cc::Phase;
use crate::time::{Span, Time};

impl Recovery {
    /// Handles one acknowledgment. Returns whether the controller may grow the window.
    pub(super) fn repair_with_sack(
        &mut self,
        e: &AckEvent<'_>,
        d: &Delivery,
        tcb: &mut ControlBlock,
        timers: &mut Timers,
    ) -> bool {
        self.repairs_wait = false;
        if self.phase == Phase::Loss {
            self.repair_timeout(e, d, tcb);
        }
        if self.phase != Phase::Open && tcb.board.una() >= self.point {
            self.leave(e, tcb);
        }
        if self.phase == Phase::Recovery && e.advanced && self.undo_partial(e, tcb) {
            self.repairs_wait = true;
            self.reduce_for(Self::counted(e.report, d, tcb), true, tcb);
            return false;
        }
        if e.report.is_some() && self.phase != Phase::Loss {
            self.undo_duplicates(e.now, tcb);
        }
        let lost_before = tcb.board.total_lost();
        let retransmitting = tcb.board.retransmitting();
        self.find_losses(e, tcb, timers);
        let lost_retransmission = tcb.board.retransmitting() < retransmitting;
        let newly_lost = tcb.board.total_lost() - lost_before;
        let enter = match self.phase {
            Phase::Open => tcb.board.lost() > 0,
            Phase::Loss => lost_retransmission && newly_lost > 0,
            Phase::Disorder | Phase::Reduction | Phase::Recovery => false,
        };
        if enter {
            self.enter(e.now, d, tcb);
        }
        if self.phase != Phase::Recovery {
            return true;
        }
        // A loss takes its bytes out of the network; room for as many more comes with deliveries only. Linux lets
        // the window be until something is delivered.
        let delivered = Self::counted(e.report, d, tcb);
        if delivered > 0 || (newly_lost > 0 && !Self::is_linux(tcb)) {
            let safe = match tcb.config.prr {
                PrrRule::Ns3 => d.resent_end == tcb.board.una(),
                PrrRule::Rfc9937 | PrrRule::Linux => newly_lost == 0,
            };
            self.reduce_for(delivered, e.advanced && safe, tcb);
        }
        false
    }

    /// Bytes that an acknowledgment delivered, for the window and for rates; Linux counts duplicates of its retransmissions,
    /// which it has a `report` of, too.
    #[inline]
    pub fn counted(report: Option<Report>, d: &Delivery, tcb: &ControlBlock) -> u64 {
        match report {
            Some(of) if Self::is_linux(tcb) => d.bytes + of.segments * u64::from(tcb.mss),
            _ => d.bytes,
        }
    }

    /// How finely times of transmission are told apart.
    #[inline]
    pub fn stamps(&self) -> Stamps {
        self.rack.stamps()
    }

    fn find_losses(&mut self, e: &AckEvent<'_>, tcb: &mut ControlBlock, timers: &mut Timers) {
        if self.rack.is_on() {
            if self.rack.looks() {
                self.mark_overdue(e.now, tcb, timers);
            }
            return;
        }
        if e.advanced {
            self.dup_acks = 0;
            self.limited_sent = if self.phase == Phase::Open { 0 } else { self.limited_sent };
        }
        if e.duplicate {
            self.dup_acks += 1;
        }
        //= RFC 6675 §5.1 after-timeout
        // After a timeout everything is marked already, and what was sent later waits (RFC 6675 §5.1).
        if self.phase == Phase::Loss {
            return;
        }
        let dupthresh = tcb.config.dupthresh;
        tcb.board.mark_by_count(dupthresh, tcb.mss);
        if self.phase == Phase::Open && tcb.board.lost() == 0 && self.dup_acks >= dupthresh {
            tcb.board.mark_head();
        }
    }

    /// How much later than the newest delivered segment another may arrive (RFC 8985 §6.2 step 4).
    pub(super) fn reo_wnd(&self, tcb: &ControlBlock) -> Span {
        let repairing = self.phase != Phase::Open;
        let many = || tcb.board.has_sacked_segments(REORDERING_THRESHOLD, tcb.mss);
        self.rack.reo_wnd(repairing, many, &tcb.rtt)
    }

    /// RFC 8985 §6.2: marks what is overdue; sets the reordering timer for the rest.
    fn mark_overdue(&mut self, now: Time, tcb: &mut ControlBlock, timers: &mut Timers) {
        let reo_wnd = self.reo_wnd(tcb);
        let (_, wait) = tcb.board.mark_overdue(now, self.rack.stamps(), self.rack.newest(), self.rack.rtt() + reo_wnd);
        match wait {
            Some(wait) => self.timer.start_reordering(now, wait, tcb, timers),
            None => timers.clear(Timer::Reorder),
        }
    }

    /// The reordering timer expired.
    pub fn on_reorder_timer(&mut self, now: Time, tcb: &mut ControlBlock, timers: &mut Timers) {
        let lost_before = tcb.board.total_lost();
        self.mark_overdue(now, tcb, timers);
        self.repairs_wait = false;
        if tcb.board.total_lost() == lost_before {
            self.timer.after_reordering(now, false, tcb, timers);
            return;
        }
        let linux = Self::is_linux(tcb);
        match self.phase {
            Phase::Open => {
                self.enter(now, &Delivery::default(), tcb);
                // Linux counts the expiry as a delivered segment.
                self.reduce_for(if linux { u64::from(tcb.mss) } else { 0 }, false, tcb);
            }
            // Nothing was delivered, so nothing is added to what may be sent; Linux leaves the window as it was.
            Phase::Recovery if !linux => self.reduce_for(0, false, tcb),
            _ => {}
        }
        self.timer.after_reordering(now, true, tcb, timers);
    }

    /// Fast recovery begins (RFC 6675 §5 step 4, RFC 9937 §6).
    //= RFC 6675 §5 enter
    fn enter(&mut self, now: Time, d: &Delivery, tcb: &mut ControlBlock) {
        // A timer has no acknowledgment before which more was outstanding.
        let flight = d.flight.max(tcb.board.occupied()).saturating_sub(self.limited_sent);
        self.begin_episode((tcb.window(), tcb.ssthresh()), tcb);
        if self.reduction.is_active() {
            self.undo.stands();
        }
        self.tail.end();
        if self.reduction_becomes_recovery(now, flight, tcb) {
            return;
        }
        let window_before = tcb.window();
        self.signal_loss(now, flight, true, tcb);
        self.begin_recovery(tcb.board.nxt(), tcb);
        let reference = match tcb.config.prr {
            PrrRule::Rfc9937 => {
                //= RFC 9937 §6 recover-fs
                // RecoverFS: outstanding before this acknowledgment less what was SACKed before it (RFC 9937 §6).
                tcb.board.occupied() - tcb.board.sacked() + d.bytes
            }
            PrrRule::Linux => window_before,
            PrrRule::Ns3 => tcb.board.occupied(),
        };
        self.prr = Prr::new(reference, tcb.config.prr);
        if self.repair == Repair::Sack {
            tcb.congestion.hold_at(tcb.recovery_target());
            // The first retransmission leaves whatever the pipe (RFC 6675 §5 step 4.3).
            self.forced = true;
        }
    }

    /// Proportional rate reduction, where it is the algorithm.
    fn reduce_for(&mut self, delivered: u64, safe: bool, tcb: &mut ControlBlock) {
        if self.repair == Repair::Prr && !tcb.congestion.recovers() {
            self.reduce(delivered, safe, tcb);
        }
    }

    /// The recovery point is acknowledged, of fast recovery or of a timeout's repair.
    //= RFC 6675 §5 leave
    fn leave(&mut self, e: &AckEvent<'_>, tcb: &mut ControlBlock) {
        let recovering = self.phase == Phase::Recovery;
        if recovering {
            tcb.congestion.release();
        }
        let undone = self.undo_at_the_end(e, tcb);
        if recovering {
            let window = if undone { tcb.congestion.control().cwnd } else { tcb.recovery_target() };
            //= RFC 9937 §6 end
            tcb.recovered(e.now, window);
        }
        self.phase = Phase::Open;
        self.frto.end();
        self.no_duplicates();
        self.undo.forget_first(&tcb.board);
    }
}
