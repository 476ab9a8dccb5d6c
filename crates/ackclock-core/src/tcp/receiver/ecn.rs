//! What a receiver tells of congestion marks: the echo of RFC 3168 §6.1.3, that of RFC 8257 §3.2, or counts (RFC 9768 §3.2.2).

use super::Receiver;
use crate::packet::Ecn;
use crate::tcp::ecn::{FIRST_COUNT, Feedback};
use crate::tcp::segment::{Segment, flags};

/// Marked packets after which an acknowledgment leaves at once when marks are counted (RFC 9768 §3.2.2.5.1).
const MOST_UNREPORTED: u32 = 2;
/// Segments that Linux acknowledges at once when marks begin: the sender's window may be small.
const QUICK: u64 = 2;

/// State of the feedback.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    feedback: Feedback,
    /// The newest segment was marked (RFC 8257's DCTCP.CE).
    ce: bool,
    /// What is sent carries ECE.
    echo: bool,
    /// An ECN-capable segment came.
    seen: bool,
    /// Marked packets of every kind so far (RFC 9768's r.cep, without what it begins with).
    packets: u64,
    /// Marked packets with payload since the last acknowledgment.
    unreported: u32,
    /// An acknowledgment of what came before this position, with the opposite echo, is to leave first.
    before_change: Option<u64>,
}

impl Receiver {
    /// The peers agreed on how marks are reported.
    pub fn set_feedback(&mut self, feedback: Feedback) {
        self.marks.feedback = feedback;
    }

    /// A packet without payload came with this ECN field: a mark on it is counted, if marks are.
    pub fn on_bare_marking(&mut self, ecn: Ecn) {
        self.marks.packets += u64::from(ecn == Ecn::Ce);
    }

    /// Payload at `pos..end` came with this ECN field and, if `cwr`, the news that the sender has reduced its window.
    /// Called before the payload is taken. True when an acknowledgment is to leave ahead of everything else.
    //= RFC 3168 §6.1.3 echo
    pub fn on_marking(&mut self, ecn: Ecn, cwr: bool, pos: u64, end: u64) -> bool {
        let ce = ecn == Ecn::Ce;
        self.stats.ce_segments += u64::from(ce);
        if self.marks.feedback == Feedback::Accurate {
            self.marks.packets += u64::from(ce);
            //= RFC 9768 §3.2.2.5.1 ack-on-marks
            self.marks.unreported += u32::from(ce);
            self.ack_now |= ce && (!self.marks.ce || self.marks.unreported >= MOST_UNREPORTED);
            self.marks.ce = ce;
            return false;
        }
        if cwr {
            self.marks.echo = false;
            // Linux: the sender's window may be small, so it is answered at once.
            self.ack_now |= self.linux.is_some();
        }
        if end <= self.nxt || pos >= self.edge.max(self.nxt + 1) {
            return false;
        }
        if ecn == Ecn::NotEct {
            // Linux: among capable ones it is probably a retransmission.
            if self.marks.seen {
                self.quicken(QUICK);
            }
            return false;
        }
        self.marks.seen = true;
        if self.marks.feedback == Feedback::Dctcp {
            return self.on_dctcp_mark(ce);
        }
        if ce && !self.marks.echo {
            self.marks.echo = true;
            self.quicken(QUICK);
        }
        false
    }

    /// Whether the segments acknowledged were marked is exact: a change is told at once, and what waits for its
    /// acknowledgment is acknowledged apart, as it came.
    //= RFC 8257 §3.2 ce-state
    fn on_dctcp_mark(&mut self, ce: bool) -> bool {
        let changed = ce != self.marks.ce;
        self.marks.ce = ce;
        self.marks.echo = ce;
        if !changed {
            return false;
        }
        let compressing = self.linux.as_ref().is_some_and(|l| l.compressing());
        let waiting = self.unacked_bytes > 0 && !compressing;
        self.ack_now = true;
        self.marks.before_change = waiting.then_some(self.nxt);
        waiting
    }

    /// Writes what is to be told into `seg`. True when it is the acknowledgment of what came before a change: it is
    /// complete, and what came after it is acknowledged by another.
    pub fn write_marks(&mut self, seg: &mut Segment, scaled: bool) -> bool {
        if self.marks.feedback == Feedback::Accurate {
            seg.set_ace(FIRST_COUNT.wrapping_add(self.marks.packets as u8));
            self.marks.unreported = 0;
            return false;
        }
        let before = self.marks.before_change.take();
        if self.marks.echo != (before.is_some() && seg.len == 0) {
            seg.flags |= flags::ECE;
        }
        let Some(before) = before.filter(|_| seg.len == 0) else { return false };
        let scale = if scaled { self.scale } else { 0 };
        let field = (self.edge.saturating_sub(before) + (1 << scale) - 1) >> scale;
        let field = field.min(65_535);
        self.edge = self.edge.max(before + (field << scale));
        seg.ack = self.origin.wrapping_add(before as u32);
        seg.window = field as u16;
        true
    }

    /// Linux acknowledges the next `segments` at once.
    fn quicken(&mut self, segments: u64) {
        if let Some(l) = &mut self.linux {
            l.quicken_for(segments);
        }
    }
}
