//! Reactions taken back: what was held for lost had merely been late (RFC 4015).
//!
//! Three kinds of evidence, each an option: the receiver reports every retransmission of the episode as a duplicate
//! (`dsack_undo`, RFC 2883), an acknowledgment echoes a timestamp older than the first retransmission (`eifel`,
//! RFC 3522), or segments sent once are acknowledged after a timeout (`frto`, see [`super::frto`]). When evidence is
//! looked at, and what follows from it, is as in Linux; window and threshold go back to what they were.

use super::super::config::Config;
use super::super::control_block::ControlBlock;
use super::super::scoreboard::{Delivery, Scoreboard};
use super::super::segment::{Segment, seq_before, unwrap_seq};
use super::{AckEvent, Recovery};
use crate::cc;
use crate::cc::Phase;
use crate::time::Time;

/// What can be taken back: an episode is a reaction and the retransmissions that follow from it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// There are episodes: with SACK.
    on: bool,
    /// Evidence by duplicate reports, and by timestamps.
    by_dsack: bool,
    by_timestamp: bool,
    /// Tick of the timestamp clock, ns.
    tick: u64,
    /// SND.UNA at the reaction; none: there is nothing to take back.
    marker: Option<u64>,
    /// Retransmissions not yet reported as duplicates; none: nothing was sent again.
    unconfirmed: Option<u64>,
    /// When the first retransmission left.
    first: Option<Time>,
    /// What was in force before; none: the reaction must stand.
    prior: Option<cc::Undo>,
    /// Segments that the receiver reported as duplicates so far.
    dsacked: u64,
}

/// A report of something that came twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Report {
    /// One past the last position.
    pub end: u64,
    /// How many segments of ours that is.
    pub segments: u64,
}

impl Undo {
    pub fn new(on: bool, config: &Config) -> Undo {
        Undo {
            on,
            by_dsack: config.dsack_undo,
            by_timestamp: config.eifel,
            tick: config.timestamp_tick.0.max(1),
            ..Undo::default()
        }
    }

    /// A segment was sent again.
    pub fn resent(&mut self, now: Time) {
        self.first.get_or_insert(now);
        self.unconfirmed = Some(self.unconfirmed.unwrap_or(0) + 1);
    }

    /// The reaction must stand whatever comes: the network marked packets, too.
    //= RFC 4015 §3.2 marks-stand
    pub fn stands(&mut self) {
        self.prior = None;
    }

    /// With nothing outstanding that was sent again, the next retransmission is the first of an episode.
    pub fn forget_first(&mut self, board: &Scoreboard) {
        if !board.any_resent() {
            self.first = None;
        }
    }

    fn confirm(&mut self, segments: u64) {
        self.unconfirmed = self.unconfirmed.map(|n| n.saturating_sub(segments));
    }

    /// Every retransmission of the episode turned out to be a duplicate.
    fn all_duplicates(&self) -> bool {
        self.by_dsack && self.marker.is_some() && self.unconfirmed == Some(0)
    }

    /// The acknowledgment answers what was sent before the first retransmission, or nothing was sent again at all.
    //= RFC 3522 §3.2 detection
    fn answers_original(&self, seg: &Segment) -> bool {
        if !self.by_timestamp || self.marker.is_none() {
            return false;
        }
        let Some(first) = self.first else { return true };
        seg.has_timestamps() && seq_before(seg.tsecr(), (first.0 / self.tick) as u32)
    }

    /// The episode turned out to be unfounded, as this acknowledgment shows.
    fn is_unfounded(&self, seg: &Segment) -> bool {
        self.all_duplicates() || self.answers_original(seg)
    }
}

impl Recovery {
    /// A reaction to a loss begins: what was in force `before`, window and threshold, may come back.
    pub(super) fn begin_episode(&mut self, (cwnd, ssthresh): (u64, u64), tcb: &ControlBlock) {
        if !self.undo.on {
            return;
        }
        // Linux: a window that grew well beyond the threshold moves it.
        let ssthresh = ssthresh.max(cwnd / 4 * 3);
        let under_way = tcb.board.retransmitting().div_ceil(u64::from(tcb.mss)) + u64::from(self.tail.repeats_data());
        self.undo.forget_first(&tcb.board);
        self.undo.marker = Some(tcb.board.una());
        self.undo.unconfirmed = (under_way > 0).then_some(under_way);
        self.undo.prior = Some(cc::Undo { cwnd, ssthresh });
    }

    /// Takes a report of a duplicate delivery (RFC 2883) in the first SACK block of `seg`, if there is one that
    /// retransmissions explain. `una`: SND.UNA before this acknowledgment, `ack` after it; `largest_window`: the peer's
    /// largest, bytes.
    //= RFC 2883 §5 read
    pub fn take_dsack(
        &mut self,
        seg: &Segment,
        (una, ack): (u64, u64),
        largest_window: u64,
        tcb: &mut ControlBlock,
    ) -> Option<Report> {
        let block = |i: usize| {
            let b = seg.sack().get(i)?;
            Some((unwrap_seq(b.start, tcb.iss, ack), unwrap_seq(b.end, tcb.iss, ack)))
        };
        let (start, end) = block(0)?;
        let below = start < ack;
        // Or inside the second block, which then holds it for the second time.
        let inside = || block(1).is_some_and(|(s, e)| s <= start && end <= e);
        if !below && !inside() {
            return None;
        }
        tcb.stats.dsacks += 1;
        let mss = u64::from(tcb.mss);
        let segments = if end > start { (end - start).div_ceil(mss) } else { 0 };
        self.undo.dsacked += segments;
        // More than was ever sent again, or than fits a window: the network made copies, or the report is forged.
        if segments == 0
            || end - start > largest_window.max(mss)
            || self.undo.dsacked > tcb.stats.retransmitted_segments
        {
            return None;
        }
        if !self.tail.ends_at(end) {
            self.rack.widen(tcb.board.una(), tcb.board.nxt());
        }
        if self.undo.marker.is_some_and(|m| end > m) {
            if end <= una {
                self.undo.confirm(segments);
            } else {
                let (again, sacked) = tcb.board.resent_within(start, end);
                self.undo.confirm(again);
                self.rack.see_reordering(sacked);
            }
        }
        Some(Report { end, segments })
    }

    /// An acknowledgment with SACK blocks came while nothing is outstanding: it can only report duplicates.
    pub fn take_late_report(
        &mut self,
        now: Time,
        seg: &Segment,
        ack: u64,
        largest_window: u64,
        tcb: &mut ControlBlock,
    ) {
        if let Some(report) = self.take_dsack(seg, (tcb.board.una(), ack), largest_window, tcb) {
            let again = Self::counted(Some(report), &Delivery::default(), tcb);
            tcb.congestion.add_delivered(again);
            if self.tail.ends_at(report.end) {
                self.tail.end();
            }
            self.undo_duplicates(now, tcb);
        }
    }

    /// Takes the last reaction back. `late`: what is marked lost was late as well.
    //= RFC 4015 §3.2 restore
    fn take_back(&mut self, now: Time, late: bool, tcb: &mut ControlBlock) {
        if late {
            tcb.board.forgive();
        }
        if let Some(prior) = self.undo.prior {
            tcb.decide(now, |cc, cx| cc.on_undo(cx, prior));
        }
        self.undo.marker = None;
        tcb.stats.undos += 1;
    }

    /// A recovery ends at its recovery point, or a timeout's repair does. True when the reaction is taken back.
    pub(super) fn undo_at_the_end(&mut self, e: &AckEvent<'_>, tcb: &mut ControlBlock) -> bool {
        let undone = self.undo.is_unfounded(e.seg);
        if undone {
            self.take_back(e.now, false, tcb);
        } else {
            self.rack.recovered();
        }
        undone
    }

    /// After a timeout something new is acknowledged; `spurious`: F-RTO says that the timeout was. True when the
    /// timeout is taken back.
    pub(super) fn undo_timeout(&mut self, e: &AckEvent<'_>, spurious: bool, tcb: &mut ControlBlock) -> bool {
        if !spurious && !self.undo.is_unfounded(e.seg) {
            return false;
        }
        self.take_back(e.now, true, tcb);
        tcb.stats.spurious_timeouts += 1;
        self.reopen(tcb);
        true
    }

    /// A partial acknowledgment in recovery. True when it answers originals while retransmissions are under way:
    /// nothing is marked or sent again until they have come back.
    pub(super) fn undo_partial(&mut self, e: &AckEvent<'_>, tcb: &mut ControlBlock) -> bool {
        if !self.undo.answers_original(e.seg) {
            return false;
        }
        self.rack.see_reordering(tcb.board.sacked() > 0);
        if tcb.board.retransmitting() > 0 {
            return true;
        }
        self.undo.forget_first(&tcb.board);
        tcb.congestion.release();
        self.take_back(e.now, true, tcb);
        self.reopen(tcb);
        false
    }

    /// All retransmissions have been reported as duplicates, in recovery or after it.
    pub(super) fn undo_duplicates(&mut self, now: Time, tcb: &mut ControlBlock) {
        if !self.undo.all_duplicates() {
            return;
        }
        self.rack.undone();
        if self.phase == Phase::Recovery {
            tcb.congestion.release();
        }
        self.take_back(now, false, tcb);
        if self.phase == Phase::Recovery {
            self.reopen(tcb);
        }
    }

    /// Nothing is being repaired any more.
    fn reopen(&mut self, tcb: &ControlBlock) {
        self.phase = Phase::Open;
        self.point = tcb.board.nxt();
        self.frto.end();
        self.repairs_wait = false;
        self.no_duplicates();
        self.undo.forget_first(&tcb.board);
    }
}
