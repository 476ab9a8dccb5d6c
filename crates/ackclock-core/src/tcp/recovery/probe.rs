//! Tail loss probes (RFC 8985 §7): when acknowledgments stop coming, one segment asks for another, before the timeout
//! takes the window away.
//!
//! Linux has one timer for probe, reordering and timeout: while the probe's or the reordering timer runs, the timeout
//! counts from the last transmission of the first outstanding segment, not from the last acknowledgment.

use super::super::config::RtoRule;
use super::super::input::AckEvent;
use super::super::output::Output;
use super::super::scoreboard::Delivery;
use super::super::sender::{Phase, Sender};
use super::super::timers::{Timer, Timers};
use crate::cc::Signal;
use crate::time::{Span, Time};

/// How long the peer may delay an acknowledgment (RFC 8985 §7.2, TLP.max_ack_delay).
const MAX_ACK_DELAY: Span = Span::from_millis(200);
/// Before the first sample of the round-trip time (RFC 8985 §7.2).
const WITHOUT_SAMPLE: Span = Span::from_secs(1);

/// The state of tail loss probes.
#[derive(Clone, Copy, Debug, Default)]
pub struct TailProbe {
    /// Probes are sent at all.
    pub on: bool,
    /// SND.NXT behind the outstanding probe (TLP.end_seq).
    pub end: Option<u64>,
    /// The outstanding probe repeated data (TLP.is_retrans).
    pub repeated: bool,
    /// A probe is to leave now.
    pub due: bool,
    /// The timer is to be set anew when nothing more leaves.
    pub stale: Stale,
    /// Linux's timers have a slack of two ticks.
    slack: Span,
}

/// Why the probe timer must be set anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stale {
    /// It need not.
    #[default]
    No,
    /// New data was acknowledged.
    Acknowledged,
    /// New data left.
    Sent,
}

impl Sender {
    /// The connection is established: whether probes may be sent.
    pub(in super::super) fn decide_on_probes(&mut self) {
        self.tail.on = self.config.tlp && self.repairs_selectively();
        self.tail.slack = self.config.timer_tick * 2;
    }

    /// RFC 8985 §7.2: data is outstanding, none of it selectively acknowledged, and nothing is being repaired.
    #[inline]
    fn may_probe(&self) -> bool {
        self.tail.on && matches!(self.phase, Phase::Open | Phase::Reduction) && self.board.sacked() == 0
    }

    /// The probe timeout, at most `limit`, the time left until the retransmission timeout.
    #[inline]
    fn probe_timeout(&self, limit: Span) -> Span {
        let srtt = self.rtt.smoothed();
        let wait = if srtt == Span::ZERO {
            WITHOUT_SAMPLE
        } else if self.board.is_single() {
            let delay = if self.config.rto == RtoRule::Linux { self.config.min_rto } else { MAX_ACK_DELAY };
            srtt * 2 + delay
        } else {
            srtt * 2 + self.tail.slack
        };
        wait.min(limit)
    }

    /// An acknowledgment of new data restarts the timers (RFC 6298 §5.3, RFC 8985 §7.2).
    #[inline]
    pub(in super::super) fn set_timers(&mut self, now: Time, timers: &mut Timers) {
        let linux = self.config.rto == RtoRule::Linux;
        if linux && timers.is_set(Timer::Reorder) && (self.phase != Phase::Open || self.board.sacked() > 0) {
            // The reordering timer that this acknowledgment has set stands.
            return;
        }
        if self.may_probe() {
            timers.set_after(Timer::Rto, now, self.rtt.rto());
            timers.clear(Timer::Reorder);
            self.tail.stale = Stale::Acknowledged;
        } else {
            self.set_timeout(now, timers);
        }
    }

    /// Linux restarts the timer on an acknowledgment that delivers only what was sent before the first outstanding
    /// segment was sent last.
    #[inline]
    pub(in super::super) fn outlives_head(&self, d: &Delivery) -> bool {
        let Some((first, _)) = d.sack_xmit else { return false };
        self.config.rto == RtoRule::Linux && self.board.head_xmit().is_some_and(|head| first < head)
    }

    /// Sets the retransmission timer, which takes the place of the others.
    pub(in super::super) fn set_timeout(&mut self, now: Time, timers: &mut Timers) {
        let rto = self.rtt.rto();
        let other = timers.is_set(Timer::Probe) || timers.is_set(Timer::Reorder);
        let wait = if self.config.rto == RtoRule::Linux && other { self.since_head(now, rto) } else { rto };
        timers.set_after(Timer::Rto, now, wait);
        timers.clear(Timer::Probe);
        if self.config.rto == RtoRule::Linux {
            timers.clear(Timer::Reorder);
        }
    }

    /// What was sent before a delivered segment has `wait` left until it is lost (RFC 8985 §6.2).
    pub(in super::super) fn set_reorder_timer(&mut self, now: Time, wait: Span, timers: &mut Timers) {
        let wait = wait + self.tail.slack;
        timers.set_after(Timer::Reorder, now, wait);
        if self.config.rto == RtoRule::Linux {
            timers.clear(Timer::Probe);
            timers.set_after(Timer::Rto, now, self.since_head(now, self.rtt.rto()).max(wait));
        }
    }

    /// The reordering timer expired and what is overdue is marked; `lost`: that was something.
    pub(in super::super) fn set_timeout_after_reordering(&mut self, now: Time, lost: bool, timers: &mut Timers) {
        let rto = self.rtt.rto();
        let linux = self.config.rto == RtoRule::Linux;
        if !timers.is_set(Timer::Reorder) && (linux || lost) {
            timers.set_after(Timer::Rto, now, if linux { self.since_head(now, rto) } else { rto });
        }
    }

    /// What is left of `rto` since the first outstanding segment was sent last.
    fn since_head(&self, now: Time, rto: Span) -> Span {
        let head = self.board.head_xmit().unwrap_or(now);
        (head + rto).since(now).max(Span(1))
    }

    /// New data left or was acknowledged, and nothing more leaves now: the probe waits from now (RFC 8985 §7.2).
    #[inline(always)]
    pub(in super::super) fn renew_probe(&mut self, now: Time, timers: &mut Timers) {
        let sent = self.tail.stale == Stale::Sent;
        self.tail.stale = Stale::No;
        if !self.may_probe() || self.board.outstanding() == 0 {
            return;
        }
        let left = if sent && self.config.rto == RtoRule::Linux {
            self.since_head(now, self.rtt.rto())
        } else {
            timers.at(Timer::Rto).since(now)
        };
        timers.set_after(Timer::Probe, now, self.probe_timeout(left));
    }

    /// The probe timer expired.
    pub(in super::super) fn on_probe_timer(&mut self, now: Time, timers: &mut Timers) {
        if self.board.outstanding() == 0 {
            return;
        }
        let calm = matches!(self.phase, Phase::Open | Phase::Reduction) && self.board.lost() == 0;
        let rto = self.rtt.rto();
        if calm && self.tail.end.is_none() {
            self.tail.due = true;
            // The way for what leaves whatever the window.
            self.force = true;
            timers.set_after(Timer::Rto, now, rto);
        } else if self.config.rto == RtoRule::Linux {
            timers.set_after(Timer::Rto, now, self.since_head(now, rto));
        }
    }

    /// The probe: a new segment if there is one and the peer's window has room, else the last one again.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn send_probe(&mut self, now: Time, timers: &mut Timers) -> Option<Output> {
        self.tail.due = false;
        let (len, fin) = self.available();
        let fits = self.board.nxt() + u64::from(len) <= self.peer_edge;
        let out = if (len > 0 || fin) && fits {
            self.tail.repeated = false;
            self.emit(now, len, fin, timers)
        } else {
            let hole = self.board.last_undelivered()?;
            self.tail.repeated = true;
            self.leaves_again(now, hole.len);
            self.board.probed(hole.number, now, self.totals());
            self.repeat(hole, now)
        };
        self.stats.tlp_probes += 1;
        self.tail.end = Some(self.board.nxt());
        self.tail.stale = Stale::No;
        timers.clear(Timer::Probe);
        Some(out)
    }

    /// RFC 8985 §7.4: what the acknowledgment says of the outstanding probe, which ends at `end`.
    pub(in super::super) fn judge_probe(&mut self, end: u64, e: &AckEvent<'_>, d: &Delivery, same_window: bool) {
        let ack = self.board.una();
        if ack < end {
            return;
        }
        if !self.tail.repeated || e.report.is_some_and(|r| r.end == end) {
            // New data arrived, or both copies of the old did: nothing was lost.
            self.tail.end = None;
        } else if ack > end {
            // What the probe repeated had been lost, and was repaired without recovery: the window must know.
            // Linux passes through the state of a reduction and back, which some controllers wait for.
            let flight = self.board.outstanding() + d.acked;
            self.tail.end = None;
            self.marks.reducing = false;
            let flight = self.before_reduction(e.now, flight, true);
            self.with_cc(e.now, |cc, cx| cc.on_congestion(cx, Signal::Loss { flight }));
            self.stats.tlp_recoveries += 1;
            self.phase = Phase::Reduction;
            self.tell_phase(e.now);
            let ssthresh = self.control.ssthresh;
            self.with_cc(e.now, |cc, cx| cc.on_recovered(cx, ssthresh));
            self.window = self.control.cwnd;
            self.phase = Phase::Open;
            self.tell_phase(e.now);
        } else if !e.advanced && e.seg.len == 0 && same_window && d.sacked == 0 {
            // A plain duplicate: both copies arrived.
            self.tail.end = None;
        }
    }
}
