//! Loss recovery: what is known of losses and marks, how they are repaired, and what the window does meanwhile.
//!
//! [`Recovery`] is the sender's state machine: open, reduction, recovery, loss. What follows an algorithm of its own keeps its
//! state to itself: [`rack`] and [`tlp`] (RFC 8985), [`prr`] (RFC 9937), [`undo`] (RFC 4015), [`frto`] (RFC 5682), [`reduction`]
//! (RFC 3168), [`timer`] (RFC 6298). [`classic`] repairs without SACK, [`sack`] with it.

mod classic;
mod frto;
mod limited_transmit;
mod prr;
mod rack;
mod reduction;
mod sack;
mod timer;
mod tlp;
mod undo;

use super::config::{Config, LossDetection, PrrRule, Recovery as Algorithm};
use super::control_block::ControlBlock;
use super::peer_window::PeerWindow;
use super::repeated::Cause;
use super::scoreboard::{Delivery, Hole};
use super::segment::Segment;
use super::send_stream::SendStream;
use super::timers::{Timer, Timers};
use crate::cc::{EcnUse, Phase, RecoveryBy, Signal};
use crate::time::{Span, Time};
use frto::Frto;
use prr::Prr;
use rack::Rack;
use reduction::Reduction;
use timer::RetransmissionTimer;
use tlp::TailProbe;
use undo::{Report, Undo};

/// The algorithm in charge, fixed when the connection is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// Slow start from the lost segment (Jacobson 1988).
    Tahoe,
    /// RFC 5681 fast recovery.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675: the window falls to ssthresh at once.
    Sack,
    /// RFC 9937 over RFC 6675's or RFC 8985's scoreboard.
    Prr,
}

impl Repair {
    /// As the options say, with or without SACK, for a controller that leaves recovery to `by`.
    fn choose(algorithm: Algorithm, sack: bool, by: RecoveryBy) -> Repair {
        match algorithm {
            Algorithm::Tahoe => Repair::Tahoe,
            _ if by == RecoveryBy::SlowStart => Repair::Tahoe,
            Algorithm::Reno => Repair::Reno,
            Algorithm::NewReno => Repair::NewReno,
            Algorithm::Sack if sack && by == RecoveryBy::Endpoint => Repair::Sack,
            Algorithm::Sack if sack => Repair::Prr,
            Algorithm::Auto | Algorithm::Prr if sack => Repair::Prr,
            _ => Repair::NewReno,
        }
    }
}

/// One acknowledgment, for the algorithms of recovery.
#[derive(Clone, Copy)]
pub(super) struct AckEvent<'a> {
    pub now: Time,
    /// SND.UNA advanced.
    pub advanced: bool,
    /// A duplicate acknowledgment (RFC 5681 §2; with SACK RFC 6675 §2).
    pub duplicate: bool,
    /// The peer's window did not move.
    pub same_window: bool,
    /// The segment that carries it.
    pub seg: &'a Segment,
    /// What the receiver reports to have come twice (RFC 2883).
    pub report: Option<Report>,
    /// What has not been sent yet, and the window for it.
    pub stream: &'a SendStream,
    /// See `stream`.
    pub peer: &'a PeerWindow,
}

/// The state of loss recovery; first what every acknowledgment looks at, in a cache line.
#[repr(C, align(64))]
pub(super) struct Recovery {
    phase: Phase,
    repair: Repair,
    /// The first lost segment, or a probe, leaves whatever the window.
    forced: bool,
    /// What is lost waits for the next acknowledgment; new data may leave.
    repairs_wait: bool,
    /// `point` was set by a timeout.
    careful: bool,
    /// The next partial acknowledgment is the first of this recovery (RFC 6582 §4).
    first_partial: bool,
    /// RFC 6675's rescue retransmission was used in this recovery.
    rescued: bool,
    limited_transmit: bool,
    /// Duplicate acknowledgments in a row.
    dup_acks: u64,
    /// New bytes sent on duplicate acknowledgments, which FlightSize does not count (RFC 5681 §3.2).
    limited_sent: u64,
    /// Where the present or last recovery ends (RFC 6582 `recover`, RFC 6675 RecoveryPoint), a position of the stream.
    point: u64,
    tail: TailProbe,
    reduction: Reduction,
    timer: RetransmissionTimer,
    rack: Rack,
    prr: Prr,
    frto: Frto,
    undo: Undo,
    /// Why the next segment that leaves again will.
    cause: Cause,
    /// Why the last one did, until somebody asks.
    repeated: Option<Cause>,
}

impl Recovery {
    pub fn new(config: &Config) -> Recovery {
        Recovery {
            phase: Phase::Open,
            repair: Repair::NewReno,
            forced: false,
            repairs_wait: false,
            careful: true,
            first_partial: false,
            rescued: false,
            limited_transmit: config.limited_transmit,
            dup_acks: 0,
            limited_sent: 0,
            point: 0,
            reduction: Reduction::default(),
            tail: TailProbe::default(),
            timer: RetransmissionTimer::new(config),
            rack: Rack::default(),
            prr: Prr::default(),
            frto: Frto::default(),
            undo: Undo::default(),
            cause: Cause::Fast,
            repeated: None,
        }
    }

    /// The connection is established; `sack`: both sides agreed on it.
    pub fn start(&mut self, config: &Config, sack: bool, by: RecoveryBy) {
        self.repair = Repair::choose(config.recovery, sack, by);
        let selective = self.is_selective();
        self.rack = Rack::new(selective && config.loss_detection == LossDetection::Rack, config.prr == PrrRule::Linux);
        self.tail = TailProbe::new(selective && config.tlp);
        self.frto = Frto::new(selective && config.frto);
        self.undo = Undo::new(selective, config);
    }

    /// Losses are repaired with SACK.
    #[inline]
    pub fn is_selective(&self) -> bool {
        matches!(self.repair, Repair::Sack | Repair::Prr)
    }

    /// Where the sender stands with respect to losses and marks.
    #[inline]
    pub fn phase(&self) -> Phase {
        if self.phase == Phase::Open && self.reduction.is_active() {
            return Phase::Reduction;
        }
        self.phase
    }

    /// Nothing is being repaired; the window may be under reduction for a mark.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Nothing is being repaired and no duplicate has arrived since data was acknowledged last.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.phase == Phase::Open && self.dup_acks == 0
    }

    /// Nothing is being repaired, probed, reduced or in doubt, and losses are repaired with SACK.
    #[inline]
    pub fn is_undisturbed(&self) -> bool {
        self.is_calm() && self.is_selective() && !self.reduction.is_active() && !self.tail.is_outstanding()
    }

    /// Reports the phase to the controller if it has changed. Disorder is known to controllers only.
    #[inline]
    pub fn report_phase(&self, now: Time, tcb: &mut ControlBlock) {
        let doubtful = self.phase == Phase::Open && (tcb.board.sacked() > 0 || self.dup_acks > 0);
        let phase = if doubtful { Phase::Disorder } else { self.phase };
        let reduces = self.reduction.is_active() && self.phase == Phase::Open;
        tcb.report_phase(now, if reduces { Phase::Reduction } else { phase });
    }

    /// Whether an acknowledgment that does not advance is a duplicate by what it reports: with SACK something new
    /// (RFC 6675 §2), without it nothing but itself: number and window `repeated` (RFC 5681 §2).
    #[inline]
    //= RFC 6675 §2 duplicate-ack
    pub fn is_duplicate(&self, d: &Delivery, repeated: bool) -> bool {
        if self.is_selective() { d.sacked > 0 } else { repeated }
    }

    /// Takes what an acknowledgment delivered (RFC 8985 §6.2).
    #[inline]
    pub fn update_rack(&mut self, d: &Delivery) {
        self.rack.update(d);
    }

    /// Finds losses by an acknowledgment and repairs them. Returns whether the controller may grow the window.
    #[inline]
    pub fn on_ack(&mut self, e: &AckEvent<'_>, d: &Delivery, tcb: &mut ControlBlock, timers: &mut Timers) -> bool {
        if !self.is_selective() {
            return self.repair_without_sack(e, d, tcb, timers);
        }
        if self.phase == Phase::Open && d.sacked == 0 && tcb.board.sacked() == 0 && e.report.is_none() {
            self.no_duplicates();
            return true;
        }
        self.repair_with_sack(e, d, tcb, timers)
    }

    /// Duplicates are counted anew.
    #[inline]
    fn no_duplicates(&mut self) {
        self.dup_acks = 0;
        self.limited_sent = 0;
    }

    /// Losses were found with `flight` bytes outstanding: the controller answers, unless a mark has just reduced the
    /// window for this flight. With `hold` the window stays until recovery moves it.
    fn signal_loss(&mut self, now: Time, flight: u64, hold: bool, tcb: &mut ControlBlock) {
        let reduced = self.reduction.stop(tcb) && tcb.congestion.needs().ecn == EcnUse::Classic;
        let flight = if reduced { flight } else { tcb.flight_to_reduce(now, flight, true) };
        if hold {
            tcb.congestion.hold();
        }
        if !reduced {
            tcb.signal(now, Signal::Loss { flight });
        }
    }

    /// Fast recovery begins and ends at `point`.
    fn begin_recovery(&mut self, point: u64, tcb: &mut ControlBlock) {
        tcb.stats.recoveries += 1;
        self.cause = Cause::Fast;
        self.phase = Phase::Recovery;
        self.point = point;
        self.rescued = false;
        self.no_duplicates();
        tcb.board.begin_recovery();
    }

    /// The retransmission timer expired (RFC 6298 §5.4 to §5.6, RFC 5681 §3.1). False when it did so too often: the
    /// connection has failed.
    pub fn on_timeout(&mut self, now: Time, tcb: &mut ControlBlock, timers: &mut Timers) -> bool {
        let una = tcb.board.una();
        if tcb.board.outstanding() == 0 {
            return true;
        }
        //= RFC 5681 §3.1 ssthresh-held
        let again = self.phase == Phase::Loss && self.timer.expired_at(una);
        //= RFC 9293 §3.8.3 r2-data
        if self.timer.expire(una, again) > tcb.config.data_retries {
            return false;
        }
        let linux = Self::is_linux(tcb);
        // Linux does not reduce a second time when a timeout interrupts a fast recovery.
        let reducing = self.reduction.is_active() || (self.phase == Phase::Recovery && una < self.point);
        let repeated = again || (reducing && linux);
        tcb.stats.timeouts += 1;
        let before = (tcb.window(), tcb.ssthresh());
        tcb.congestion.release();
        let flight = tcb.flight_to_reduce(now, tcb.board.occupied(), false);
        //= RFC 5681 §3.1 loss-window
        tcb.signal(now, Signal::Timeout { flight, repeated });
        //= RFC 2018 §8 left-edge
        // A receiver that has the first segment would have acknowledged it: it has thrown away what it reported (RFC 2018 §8).
        if tcb.config.clear_sack_on_rto || tcb.board.is_head_sacked() {
            tcb.board.forget_sacks();
            tcb.blocks.clear();
        }
        if self.rack.is_on() {
            // Linux leaves the reordering window out.
            let later = if linux { Span::ZERO } else { self.reo_wnd(tcb) };
            tcb.board.mark_older(now, self.rack.stamps(), self.rack.rtt() + later);
        } else {
            tcb.board.mark_all();
        }
        if !repeated {
            self.begin_episode(before, tcb);
        }
        self.frto.begin(now, self.phase, again);
        if linux && self.rack.is_on() {
            // What is still in flight does not keep the repair waiting.
            tcb.set_window(now, tcb.board.pipe() + u64::from(tcb.mss));
        }
        self.phase = Phase::Loss;
        self.cause = Cause::Timeout;
        tcb.enter_phase(now, Phase::Loss);
        self.point = tcb.board.nxt();
        //= RFC 6298 §5 5.4-resend
        self.careful = true;
        self.no_duplicates();
        self.forced = true;
        self.repairs_wait = false;
        self.tail.end();
        //= RFC 6298 §5 5.5-back-off
        tcb.rtt.back_off();
        timers.clear(Timer::Reorder);
        timers.clear(Timer::Probe);
        timers.set_after(Timer::Rto, now, tcb.rtt.rto());
        true
    }

    /// Whether something leaves whatever the window.
    #[inline]
    pub fn forces(&self) -> bool {
        self.forced
    }

    /// Something leaves whatever the window: once.
    #[inline]
    pub fn take_forced(&mut self) -> bool {
        std::mem::take(&mut self.forced)
    }

    /// What is lost may leave before new data.
    #[inline]
    pub fn may_repair(&self) -> bool {
        !self.repairs_wait
    }

    /// `len` payload bytes leave, for the first time or again.
    #[inline]
    pub fn sent(&mut self, len: u64) {
        if self.phase == Phase::Recovery || self.reduction.is_active() {
            self.prr.sent(len);
        }
    }

    /// A segment is sent again to repair a loss.
    pub fn resent(&mut self, now: Time) {
        self.undo.resent(now);
        self.repeated = Some(self.cause);
        if self.cause == Cause::Timeout {
            self.cause = Cause::AfterTimeout;
        }
    }

    /// The end of what is outstanding is sent again as a probe.
    pub fn probed_again(&mut self) {
        self.repeated = Some(Cause::Probe);
    }

    /// Why the segment that has just left did so before; nothing if it had not. Asked for once.
    pub fn take_repeated(&mut self) -> Option<Cause> {
        self.repeated.take()
    }

    /// The hole to fill although nothing is known to be lost (RFC 6675 `NextSeg` rules 3 and 4, with nothing lost and
    /// nothing new to send): so acknowledgments keep coming. `pipe`: bytes in the network.
    #[inline(never)]
    //= RFC 6675 §4 next-seg-4
    pub fn speculative(&mut self, pipe: u64, tcb: &mut ControlBlock) -> Option<Hole> {
        let by_count = tcb.config.loss_detection == LossDetection::Dupack;
        if self.repairs_wait || !by_count || !self.is_selective() || pipe + u64::from(tcb.mss) > tcb.window() {
            return None;
        }
        let (hole, rescue) = match tcb.board.next_hole() {
            Some(hole) => (hole, false),
            None if self.rescued => return None,
            None => (tcb.board.last_undelivered()?, true),
        };
        // The second segment of a packet pair may be larger than an MSS.
        if pipe + u64::from(hole.len) > tcb.window() {
            return None;
        }
        self.rescued |= rescue;
        Some(hole)
    }

    /// Losses are being repaired in fast recovery.
    #[inline]
    pub fn is_recovering(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// Proportional rate reduction moves the window, after `delivered` bytes more. `safe`: see [`Prr::on_ack`].
    fn reduce(&mut self, delivered: u64, safe: bool, tcb: &mut ControlBlock) {
        let window = self.prr.on_ack(delivered, tcb.board.pipe(), tcb.recovery_target(), safe, u64::from(tcb.mss));
        tcb.congestion.hold_at(window);
    }

    #[cfg(test)]
    pub fn rack(&mut self) -> &mut Rack {
        &mut self.rack
    }

    /// Linux's form of proportional rate reduction, which is also its form of other things beside it.
    #[inline]
    fn is_linux(tcb: &ControlBlock) -> bool {
        tcb.config.prr == PrrRule::Linux
    }
}
