//! The retransmission timer (RFC 6298 §5) and what runs beside it.
//!
//! Linux has one timer for probe, reordering and timeout: while the probe's or the reordering timer runs, the timeout
//! counts from the last transmission of the first outstanding segment, not from the last acknowledgment.

use super::super::config::{Config, RearmRule, RtoRule};
use super::super::control_block::ControlBlock;
use super::super::scoreboard::{Delivery, Hole};
use super::super::timers::{Timer, Timers};
use super::{Recovery, Repair};
use crate::cc::Phase;
use crate::time::{Span, Time};

/// How the retransmission timer is set, and how often it expired.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RetransmissionTimer {
    /// One timer for everything, as in Linux.
    shared: bool,
    /// RFC 6582 §4: only the first partial acknowledgment restarts it.
    impatient: bool,
    /// Which retransmissions of a recovery restart it.
    rearm: RearmRule,
    /// The last recovery that retransmitted, by its number in the statistics.
    rearmed_in: u64,
    /// Linux's other timers have a slack of two ticks.
    slack: Span,
    /// Timeouts of the head in a row, and the head (SND.UNA) at the last one.
    retries: u64,
    expired_at: u64,
}

impl RetransmissionTimer {
    pub fn new(config: &Config) -> RetransmissionTimer {
        RetransmissionTimer {
            shared: config.rto == RtoRule::Linux,
            impatient: config.newreno_impatient,
            rearm: config.rearm_rto,
            rearmed_in: 0,
            slack: config.timer_tick * 2,
            retries: 0,
            expired_at: 0,
        }
    }

    /// Time that other timers have beyond what they ask for.
    #[inline]
    pub fn slack(&self) -> Span {
        self.slack
    }

    /// One timer for everything, as in Linux.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The last timeout was that of the segment at `una`.
    pub fn expired_at(&self, una: u64) -> bool {
        self.expired_at == una
    }

    /// It expired for the segment at `una`, not for the first time if `again`. Returns the timeouts in a row.
    pub fn expire(&mut self, una: u64, again: bool) -> u64 {
        self.retries = if again { self.retries + 1 } else { 1 };
        self.expired_at = una;
        self.retries
    }

    /// What is left of the timeout since the first outstanding segment was sent last.
    pub fn since_head(now: Time, tcb: &ControlBlock) -> Span {
        let head = tcb.board.head_xmit().unwrap_or(now);
        (head + tcb.rtt.rto()).since(now).max(Span(1))
    }

    /// Restarts it in the place of the others.
    #[inline]
    fn restart(&self, now: Time, tcb: &ControlBlock, timers: &mut Timers) {
        let other = timers.is_set(Timer::Probe) || timers.is_set(Timer::Reorder);
        let shares = other && self.shared;
        timers.set_after(Timer::Rto, now, if shares { Self::since_head(now, tcb) } else { tcb.rtt.rto() });
        timers.clear(Timer::Probe);
        if shares {
            timers.clear(Timer::Reorder);
        }
    }

    /// What was sent before a delivered segment has `wait` left until it is lost (RFC 8985 §6.2).
    //= RFC 8985 §6.2 step-5-timer
    pub fn start_reordering(&self, now: Time, wait: Span, tcb: &ControlBlock, timers: &mut Timers) {
        let wait = wait + self.slack;
        timers.set_after(Timer::Reorder, now, wait);
        if self.shared {
            timers.clear(Timer::Probe);
            timers.set_after(Timer::Rto, now, Self::since_head(now, tcb).max(wait));
        }
    }

    /// The reordering timer expired and what is overdue is marked; `lost`: that was something.
    pub fn after_reordering(&self, now: Time, lost: bool, tcb: &ControlBlock, timers: &mut Timers) {
        if !timers.is_set(Timer::Reorder) && (self.shared || lost) {
            let wait = if self.shared { Self::since_head(now, tcb) } else { tcb.rtt.rto() };
            timers.set_after(Timer::Rto, now, wait);
        }
    }

    /// Whether the retransmission that leaves restarts it because of the recovery that it is part of.
    fn rearms(&mut self, recovering: bool, recoveries: u64) -> bool {
        if !recovering {
            return false;
        }
        let first = self.rearmed_in != recoveries;
        self.rearmed_in = recoveries;
        match self.rearm {
            RearmRule::Never => false,
            RearmRule::First => first,
            RearmRule::Every => true,
        }
    }
}

impl Recovery {
    /// RFC 6298 §5.2 and §5.3: an acknowledgment of new data restarts or stops the timer.
    #[inline(always)]
    //= RFC 6298 §5 5.3-restart
    pub fn restart_timer(&mut self, now: Time, tcb: &ControlBlock, timers: &mut Timers) {
        //= RFC 6298 §5 5.2-stop
        if tcb.board.outstanding() == 0 {
            timers.clear(Timer::Rto);
            timers.clear(Timer::Reorder);
            timers.clear(Timer::Probe);
            return;
        }
        let partial = self.repair == Repair::NewReno && self.phase == Phase::Recovery;
        //= RFC 6582 §4 timer
        if partial && self.timer.impatient && !self.first_partial {
            return;
        }
        self.first_partial = false;
        let repairing = self.phase != Phase::Open || tcb.board.sacked() > 0;
        if repairing && self.timer.shared && timers.is_set(Timer::Reorder) {
            // The reordering timer that this acknowledgment has set stands.
            return;
        }
        if self.may_probe(tcb) {
            timers.set_after(Timer::Rto, now, tcb.rtt.rto());
            timers.clear(Timer::Reorder);
            self.tail.acknowledged();
        } else {
            self.timer.restart(now, tcb, timers);
        }
    }

    /// Linux restarts the timer also on an acknowledgment that delivers only what was sent before the first outstanding
    /// segment was sent last.
    #[inline]
    pub fn outlives_head(&self, d: &Delivery, tcb: &ControlBlock) -> bool {
        let Some((first, _)) = d.sack_xmit else { return false };
        self.timer.shared && tcb.board.head_xmit().is_some_and(|head| first < head)
    }

    /// A retransmission leaves. RFC 6298 §5.1 starts the timer only if it is not running; Linux restarts it for the
    /// head.
    pub fn rearm(&mut self, now: Time, hole: Hole, tcb: &ControlBlock, timers: &mut Timers) {
        let head = hole.seq == tcb.board.una();
        let linux = self.timer.shared && head && !timers.is_set(Timer::Reorder);
        let careful = self.timer.rearms(self.phase == Phase::Recovery, tcb.stats.recoveries);
        if linux || careful || !timers.is_set(Timer::Rto) {
            timers.set_after(Timer::Rto, now, tcb.rtt.rto());
            timers.clear(Timer::Probe);
        }
    }
}
