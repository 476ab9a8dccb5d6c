//! Reactions taken back: what was held for lost had merely been late (RFC 4015).
//!
//! Three kinds of evidence, each an option: the receiver reports every retransmission of the episode as a duplicate
//! (`dsack_undo`, RFC 2883), an acknowledgment echoes a timestamp older than the first retransmission (`eifel`,
//! RFC 3522), or segments sent once are acknowledged after a timeout (`frto`, see [`super::frto`]). When evidence is
//! looked at, and what follows from it, is as in Linux; window and threshold go back to what they were.

use super::super::input::AckEvent;
use super::super::segment::{seq_before, unwrap_seq, Segment};
use super::super::sender::{Phase, Sender};
use crate::cc::Undo;
use crate::time::Time;

/// Recoveries for which a reordering window widened by a duplicate report lasts (RFC 8985 §6.2, Linux).
const REO_WND_RECOVERIES: u64 = 16;
/// Most steps of a quarter of the round-trip time, as in Linux.
const MOST_REO_WND_STEPS: u64 = 255;

/// What can be taken back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Episode {
    /// SND.UNA at the reaction; none: there is nothing to take back.
    marker: Option<u64>,
    /// Retransmissions not yet reported as duplicates; none: nothing was sent again.
    unconfirmed: Option<u64>,
    /// When the first retransmission left.
    first: Option<Time>,
    /// What was in force before; none: the reaction must stand.
    prior: Option<Undo>,
}

impl Episode {
    /// A segment was sent again.
    pub fn resent(&mut self, now: Time) {
        self.first.get_or_insert(now);
        self.unconfirmed = Some(self.unconfirmed.unwrap_or(0) + 1);
    }

    /// The reaction must stand whatever comes: the network marked packets, too.
    pub fn stands(&mut self) {
        self.prior = None;
    }

    fn confirm(&mut self, segments: u64) {
        self.unconfirmed = self.unconfirmed.map(|n| n.saturating_sub(segments));
    }
}

/// A report of something that came twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// One past the last position.
    pub end: u64,
    /// How many segments of ours that is.
    pub segments: u64,
}

/// RFC 8985's adaptation of the reordering window.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReoWnd {
    /// Steps beyond the first quarter of the smallest round-trip time.
    extra: u64,
    /// Recoveries until it is narrow again.
    persist: u64,
    /// The window was widened in the round that ends here.
    round: Option<u64>,
}

impl ReoWnd {
    /// Quarters of the smallest round-trip time (RACK.reo_wnd_mult).
    #[inline]
    pub fn steps(&self) -> u64 {
        1 + self.extra
    }

    /// A duplicate was reported: once per round trip the window gets wider.
    fn widen(&mut self, una: u64, nxt: u64) {
        if self.round.is_none_or(|end| una >= end) {
            self.extra = (self.extra + 1).min(MOST_REO_WND_STEPS - 1);
            self.persist = REO_WND_RECOVERIES;
            self.round = Some(nxt);
        }
    }

    /// A recovery ended and was justified.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.extra = 0;
        }
    }

    /// A recovery was taken back for duplicates.
    fn undone(&mut self) {
        self.persist = (self.persist + 1).min(REO_WND_RECOVERIES);
    }
}

impl Sender {
    /// A reaction to a loss begins: what was in force `before`, window and threshold, may come back.
    pub(in super::super) fn begin_episode(&mut self, (cwnd, ssthresh): (u64, u64)) {
        if !self.repairs_selectively() {
            return;
        }
        // Linux: a window that grew well beyond the threshold moves it.
        let ssthresh = ssthresh.max(cwnd / 4 * 3);
        let under_way = self.board.retransmitting().div_ceil(u64::from(self.mss))
            + u64::from(self.tail.end.is_some() && self.tail.repeated);
        self.forget_first_retransmission();
        self.episode = Episode {
            marker: Some(self.board.una()),
            unconfirmed: (under_way > 0).then_some(under_way),
            prior: Some(Undo { cwnd, ssthresh }),
            ..self.episode
        };
    }

    /// With nothing outstanding that was sent again, the next retransmission is the first of an episode.
    pub(in super::super) fn forget_first_retransmission(&mut self) {
        if !self.board.any_resent() {
            self.episode.first = None;
        }
    }

    /// Takes a report of a duplicate delivery (RFC 2883) in the first SACK block of `seg`, if there is one that
    /// retransmissions explain. `una`: SND.UNA before this acknowledgment.
    pub(in super::super) fn take_dsack(&mut self, seg: &Segment, ack: u64, una: u64) -> Option<Report> {
        let block = |i: usize| {
            let b = seg.sack().get(i)?;
            Some((unwrap_seq(b.start, self.iss, ack), unwrap_seq(b.end, self.iss, ack)))
        };
        let (start, end) = block(0)?;
        let below = start < ack;
        // Or inside the second block, which then holds it for the second time.
        let inside = || block(1).is_some_and(|(s, e)| s <= start && end <= e);
        if !below && !inside() {
            return None;
        }
        self.stats.dsacks += 1;
        let mss = u64::from(self.mss);
        let segments = if end > start { (end - start).div_ceil(mss) } else { 0 };
        self.dsacked += segments;
        // More than was ever sent again, or than fits a window: the network made copies, or the report is forged.
        if segments == 0
            || end - start > self.largest_window.max(mss)
            || self.dsacked > self.stats.retransmitted_segments
        {
            return None;
        }
        let probe = self.tail.end == Some(end);
        if self.reordering_seen && !probe {
            self.reo_wnd.widen(self.board.una(), self.board.nxt());
        }
        if self.episode.marker.is_some_and(|m| end > m) {
            if end <= una {
                self.episode.confirm(segments);
            } else {
                let (again, sacked) = self.board.resent_within(start, end);
                self.episode.confirm(again);
                self.reordering_seen |= sacked;
            }
        }
        Some(Report { end, segments })
    }

    /// Every retransmission of the episode turned out to be a duplicate.
    fn all_duplicates(&self) -> bool {
        self.config.dsack_undo && self.episode.marker.is_some() && self.episode.unconfirmed == Some(0)
    }

    /// The acknowledgment answers what was sent before the first retransmission, or nothing was sent again at all.
    fn answers_original(&self, e: &AckEvent<'_>) -> bool {
        if !self.config.eifel || self.episode.marker.is_none() {
            return false;
        }
        let Some(first) = self.episode.first else { return true };
        let stamp = (first.0 / self.config.timestamp_tick.0.max(1)) as u32;
        e.seg.has_timestamps() && seq_before(e.seg.tsecr, stamp)
    }

    /// Takes the last reaction back. `late`: what is marked lost was late as well.
    fn take_back(&mut self, now: Time, late: bool) {
        if late {
            self.board.forgive();
        }
        if let Some(prior) = self.episode.prior {
            self.with_cc(now, |cc, cx| cc.on_undo(cx, prior));
            self.window = self.control.cwnd;
        }
        self.episode.marker = None;
        self.stats.undos += 1;
    }

    /// A recovery ends at its recovery point, or a timeout's repair does. True when the reaction is taken back.
    pub(in super::super) fn undo_at_the_end(&mut self, e: &AckEvent<'_>) -> bool {
        let undone = self.all_duplicates() || self.answers_original(e);
        if undone {
            self.take_back(e.now, false);
        } else {
            self.reo_wnd.recovered();
        }
        undone
    }

    /// After a timeout something new is acknowledged; `spurious`: F-RTO says that the timeout was. True when the
    /// timeout is taken back.
    pub(in super::super) fn undo_timeout(&mut self, e: &AckEvent<'_>, spurious: bool) -> bool {
        if !spurious && !self.all_duplicates() && !self.answers_original(e) {
            return false;
        }
        self.take_back(e.now, true);
        self.stats.spurious_timeouts += 1;
        self.retries = 0;
        self.reopen();
        true
    }

    /// A partial acknowledgment in recovery. True when it answers originals while retransmissions are under way:
    /// nothing is marked or sent again until they have come back.
    pub(in super::super) fn undo_partial(&mut self, e: &AckEvent<'_>) -> bool {
        if !self.answers_original(e) {
            return false;
        }
        self.reordering_seen |= self.board.sacked() > 0;
        if self.board.retransmitting() > 0 {
            return true;
        }
        self.forget_first_retransmission();
        self.take_back(e.now, true);
        self.reopen();
        false
    }

    /// All retransmissions have been reported as duplicates, in recovery or after it.
    pub(in super::super) fn undo_duplicates(&mut self, now: Time) {
        if self.all_duplicates() {
            self.reo_wnd.undone();
            self.take_back(now, false);
            if self.phase == Phase::Recovery {
                self.reopen();
            }
        }
    }

    /// Nothing is being repaired any more.
    fn reopen(&mut self) {
        self.phase = Phase::Open;
        self.recover = self.board.nxt();
        self.frto = None;
        self.hold = false;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.forget_first_retransmission();
    }
}
