//! Recovery with SACK: RFC 6675's counting or RFC 8985's transmission times find the losses, PRR or RFC 6675 moves
//! the window.

use super::super::config::PrrRule;
use super::super::input::AckEvent;
use super::super::scoreboard::Delivery;
use super::super::sender::{Phase, Sender};
use super::super::timers::{Timer, Timers};
use super::prr::Prr;
use super::Repair;
use crate::time::{Span, Time};

/// SACKed segments after which a hole below them is a loss although reordering was never seen (RFC 8985 §6.2).
const REORDERING_THRESHOLD: u64 = 3;

impl Sender {
    /// Handles one acknowledgment. Returns whether the controller may grow the window.
    pub(in super::super) fn repair_with_sack(&mut self, e: &AckEvent<'_>, d: &Delivery, timers: &mut Timers) -> bool {
        if self.phase == Phase::Open && d.sacked == 0 && self.board.sacked() == 0 && e.report.is_none() {
            self.dup_acks = 0;
            self.limited_sent = 0;
            return true;
        }
        self.hold = false;
        if self.phase == Phase::Loss {
            self.repair_timeout(e, d);
        }
        if self.phase != Phase::Open && self.board.una() >= self.recover {
            self.leave(e);
        }
        if self.phase == Phase::Recovery && e.advanced && self.undo_partial(e) {
            self.hold = true;
            self.reduce(self.counted(e, d), true);
            return false;
        }
        if e.report.is_some() && self.phase != Phase::Loss {
            self.undo_duplicates(e.now);
        }
        let lost_before = self.lost;
        let retransmitting = self.board.retransmitting();
        self.find_losses(e, timers);
        let lost_retransmission = self.board.retransmitting() < retransmitting;
        let newly_lost = self.lost - lost_before;
        let enter = match self.phase {
            Phase::Open => self.board.lost() > 0,
            Phase::Loss => lost_retransmission && newly_lost > 0,
            Phase::Disorder | Phase::Reduction | Phase::Recovery => false,
        };
        if enter {
            self.enter(e.now, d);
        }
        if self.phase == Phase::Recovery {
            // A loss takes its bytes out of the network; room for as many more comes with deliveries only. Linux lets
            // the window be until something is delivered.
            let delivered = self.counted(e, d);
            if delivered > 0 || (newly_lost > 0 && self.config.prr != PrrRule::Linux) {
                let safe = match self.config.prr {
                    PrrRule::Ns3 => d.resent_end == self.board.una(),
                    PrrRule::Rfc9937 | PrrRule::Linux => newly_lost == 0,
                };
                self.reduce(delivered, e.advanced && safe);
            }
            return false;
        }
        true
    }

    /// Bytes that `e` delivered, to reduce the window by; Linux counts duplicates of its retransmissions too.
    fn counted(&self, e: &AckEvent<'_>, d: &Delivery) -> u64 {
        let again = if self.config.prr == PrrRule::Linux {
            e.report.map_or(0, |r| r.segments) * u64::from(self.mss)
        } else {
            0
        };
        d.bytes + again
    }

    fn find_losses(&mut self, e: &AckEvent<'_>, timers: &mut Timers) {
        if self.uses_rack() {
            self.mark_overdue(e.now, timers);
            return;
        }
        if e.advanced {
            self.dup_acks = 0;
            self.limited_sent = if self.phase == Phase::Open { 0 } else { self.limited_sent };
        }
        if e.duplicate {
            self.dup_acks += 1;
        }
        // After a timeout everything is marked already, and what was sent later waits (RFC 6675 §5.1).
        if self.phase == Phase::Loss {
            return;
        }
        self.lost += self.board.mark_by_count(self.config.dupthresh, self.mss);
        if self.phase == Phase::Open && self.board.lost() == 0 && self.dup_acks >= self.config.dupthresh {
            self.lost += self.board.mark_head();
        }
    }

    /// RFC 8985 §6.2: marks what is overdue; sets the reordering timer for the rest.
    fn mark_overdue(&mut self, now: Time, timers: &mut Timers) {
        let many = self.board.sacked() >= REORDERING_THRESHOLD * u64::from(self.mss);
        let reo_wnd = if !self.reordering_seen && (self.phase != Phase::Open || many) {
            Span::ZERO
        } else {
            Span((self.rtt.min().0 / 4 * self.reo_wnd.steps()).min(self.rtt.smoothed().0))
        };
        let (newly, wait) = self.board.mark_overdue(now, &self.rack, reo_wnd);
        self.lost += newly;
        match wait {
            Some(wait) => self.set_reorder_timer(now, wait, timers),
            None => timers.clear(Timer::Reorder),
        }
    }

    /// The reordering timer expired.
    pub(in super::super) fn on_reorder_timer(&mut self, now: Time, timers: &mut Timers) {
        let lost_before = self.lost;
        self.mark_overdue(now, timers);
        self.hold = false;
        if self.lost == lost_before {
            self.set_timeout_after_reordering(now, false, timers);
            return;
        }
        let linux = self.config.prr == PrrRule::Linux;
        match self.phase {
            Phase::Open => {
                self.enter(now, &Delivery::default());
                // Linux counts the expiry as a delivered segment.
                self.reduce(if linux { u64::from(self.mss) } else { 0 }, false);
            }
            // Nothing was delivered, so nothing is added to what may be sent; Linux leaves the window as it was.
            Phase::Recovery if !linux => self.reduce(0, false),
            _ => {}
        }
        self.set_timeout_after_reordering(now, true, timers);
    }

    fn enter(&mut self, now: Time, d: &Delivery) {
        let flight = (self.board.outstanding() + d.acked).saturating_sub(self.limited_sent);
        self.begin_episode((self.window, self.control.ssthresh));
        if self.marks.reducing {
            self.episode.stands();
        }
        self.tail.end = None;
        if self.reduction_becomes_recovery(now, flight) {
            return;
        }
        let window_before = self.window;
        self.signal_loss(now, flight);
        self.stats.recoveries += 1;
        self.phase = Phase::Recovery;
        self.recover = self.board.nxt();
        self.rescued = false;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.board.begin_recovery();
        let reference = match self.config.prr {
            PrrRule::Rfc9937 => {
                // RecoverFS: outstanding before this acknowledgment less what was SACKed before it (RFC 9937 §6).
                self.board.outstanding() + d.acked - (self.board.sacked() - d.sacked.min(self.board.sacked()))
            }
            PrrRule::Linux => window_before,
            PrrRule::Ns3 => self.board.outstanding(),
        };
        self.prr = Prr::new(reference, self.config.prr);
        if self.repair == Repair::Sack {
            self.window = self.control.ssthresh;
            // The first retransmission leaves whatever the pipe (RFC 6675 §5 step 4.3).
            self.force = true;
        }
    }

    fn reduce(&mut self, delivered: u64, safe: bool) {
        if self.repair == Repair::Prr && !self.controller_recovers() {
            let ssthresh = self.control.ssthresh;
            self.window = self.prr.on_ack(delivered, self.board.pipe(), ssthresh, safe, u64::from(self.mss));
        }
    }

    fn leave(&mut self, e: &AckEvent<'_>) {
        let undone = self.undo_at_the_end(e);
        if self.phase == Phase::Recovery {
            let window = if undone { self.control.cwnd } else { self.control.ssthresh };
            self.with_cc(e.now, |cc, cx| cc.on_recovered(cx, window));
            self.window = self.control.cwnd;
        }
        self.phase = Phase::Open;
        self.frto = None;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.forget_first_retransmission();
    }
}
