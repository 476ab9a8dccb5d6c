//! Tail loss probes (RFC 8985 §7): when acknowledgments stop coming, one segment asks for another, before the timeout
//! takes the window away.

use super::super::control_block::ControlBlock;
use super::super::scoreboard::Delivery;
use super::super::timers::{Timer, Timers};
use super::timer::RetransmissionTimer;
use super::{AckEvent, Recovery};
use crate::cc::{Phase, Signal};
use crate::time::{Span, Time};
use std::num::NonZeroU64;

/// How long the peer may delay an acknowledgment (RFC 8985 §7.2, TLP.max_ack_delay).
const MAX_ACK_DELAY: Span = Span::from_millis(200);
/// Before the first sample of the round-trip time (RFC 8985 §7.2).
const WITHOUT_SAMPLE: Span = Span::from_secs(1);

/// The state of tail loss probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// SND.NXT behind the outstanding probe (TLP.end_seq).
    end: Option<NonZeroU64>,
    /// Probes are sent at all.
    on: bool,
    /// The timer is to be set anew when nothing more leaves.
    stale: Stale,
    /// A probe is to leave now.
    due: bool,
    /// The outstanding probe repeated data (TLP.is_retrans).
    repeated: bool,
}

/// Why the probe timer must be set anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stale {
    /// It need not.
    #[default]
    No,
    /// New data was acknowledged.
    Acknowledged,
    /// New data left.
    Sent,
}

impl TailProbe {
    /// `on`: probes are sent.
    pub fn new(on: bool) -> TailProbe {
        TailProbe { on, ..TailProbe::default() }
    }

    /// No probe is outstanding any more.
    #[inline]
    pub fn end(&mut self) {
        self.end = None;
    }

    /// A probe is outstanding.
    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.end.is_some()
    }

    /// A probe is outstanding and ends at `pos`.
    pub fn ends_at(&self, pos: u64) -> bool {
        self.end.is_some_and(|end| end.get() == pos)
    }

    /// A probe is outstanding that repeated data.
    pub fn repeats_data(&self) -> bool {
        self.end.is_some() && self.repeated
    }

    /// New data was acknowledged.
    #[inline]
    pub fn acknowledged(&mut self) {
        self.stale = Stale::Acknowledged;
    }
}

impl Recovery {
    /// RFC 8985 §7.2: data is outstanding, none of it selectively acknowledged, and nothing is being repaired.
    #[inline]
    //= RFC 8985 §7.2 conditions
    pub(super) fn may_probe(&self, tcb: &ControlBlock) -> bool {
        self.tail.on && matches!(self.phase, Phase::Open | Phase::Reduction) && tcb.board.sacked() == 0
    }

    /// The probe timeout, at most `limit`, the time left until the retransmission timeout.
    #[inline]
    //= RFC 8985 §7.2 pto
    fn probe_timeout(&self, limit: Span, tcb: &ControlBlock) -> Span {
        let srtt = tcb.rtt.smoothed();
        let wait = if srtt == Span::ZERO {
            WITHOUT_SAMPLE
        } else if tcb.board.is_single() {
            srtt * 2 + if self.timer.is_shared() { tcb.config.min_rto } else { MAX_ACK_DELAY }
        } else {
            srtt * 2 + self.timer.slack()
        };
        //= RFC 8985 §7.2 before-rto
        wait.min(limit)
    }

    /// New data left.
    #[inline]
    pub fn probe_waits_for_new_data(&mut self) {
        if self.tail.on {
            self.tail.stale = Stale::Sent;
        }
    }

    /// Nothing more leaves now: if new data left or was acknowledged, the probe waits from now (RFC 8985 §7.2).
    #[inline]
    pub fn renew_probe(&mut self, now: Time, tcb: &ControlBlock, timers: &mut Timers) {
        if self.tail.stale == Stale::No {
            return;
        }
        let sent = self.tail.stale == Stale::Sent;
        self.tail.stale = Stale::No;
        if !self.may_probe(tcb) || tcb.board.outstanding() == 0 {
            return;
        }
        let left = if sent && self.timer.is_shared() {
            RetransmissionTimer::since_head(now, tcb)
        } else {
            timers.at(Timer::Rto).since(now)
        };
        timers.set_after(Timer::Probe, now, self.probe_timeout(left, tcb));
    }

    /// The probe timer expired.
    pub fn on_probe_timer(&mut self, now: Time, tcb: &ControlBlock, timers: &mut Timers) {
        if tcb.board.outstanding() == 0 {
            return;
        }
        let calm = matches!(self.phase, Phase::Open | Phase::Reduction) && tcb.board.lost() == 0;
        //= RFC 8985 §7.3 one-probe
        if calm && self.tail.end.is_none() {
            self.tail.due = true;
            // The way for what leaves whatever the window.
            self.forced = true;
            //= RFC 8985 §7.3 rearm
            timers.set_after(Timer::Rto, now, tcb.rtt.rto());
        } else if self.timer.is_shared() {
            timers.set_after(Timer::Rto, now, RetransmissionTimer::since_head(now, tcb));
        }
    }

    /// Takes the probe that is due.
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.tail.due)
    }

    /// A probe left, which was new data or (`repeated`) the last segment again.
    pub fn probed(&mut self, repeated: bool, tcb: &mut ControlBlock) {
        self.tail.end = NonZeroU64::new(tcb.board.nxt());
        self.tail.repeated = repeated;
        self.tail.stale = Stale::No;
        tcb.stats.tlp_probes += 1;
    }

    /// RFC 8985 §7.4: what the acknowledgment says of the outstanding probe, if there is one.
    #[inline]
    pub fn judge_probe(&mut self, e: &AckEvent<'_>, d: &Delivery, tcb: &mut ControlBlock) {
        if let Some(end) = self.tail.end {
            self.judge_outstanding_probe(end.get(), e, d, tcb);
        }
    }

    #[cold]
    //= RFC 8985 §7.4 repaired-loss
    fn judge_outstanding_probe(&mut self, end: u64, e: &AckEvent<'_>, d: &Delivery, tcb: &mut ControlBlock) {
        let ack = tcb.board.una();
        if ack < end {
            return;
        }
        if !self.tail.repeated || e.report.is_some_and(|r| r.end == end) {
            // New data arrived, or both copies of the old did: nothing was lost.
            self.tail.end();
        } else if ack > end {
            // What the probe repeated had been lost, and was repaired without recovery: the window must know.
            self.tail.end();
            self.reduce_for_probe(e.now, d.flight, tcb);
        } else if !e.advanced && e.seg.len == 0 && e.same_window && d.sacked == 0 {
            // A plain duplicate: both copies arrived.
            self.tail.end();
        }
    }

    /// The window is reduced for a loss that needs no repair. Linux passes through the state of a reduction and back,
    /// which some controllers wait for.
    fn reduce_for_probe(&mut self, now: Time, flight: u64, tcb: &mut ControlBlock) {
        self.reduction.stop(tcb);
        let flight = tcb.flight_to_reduce(now, flight, true);
        tcb.signal(now, Signal::Loss { flight });
        tcb.stats.tlp_recoveries += 1;
        self.phase = Phase::Reduction;
        self.report_phase(now, tcb);
        tcb.recovered(now, tcb.recovery_target());
        self.phase = Phase::Open;
        self.report_phase(now, tcb);
    }
}
