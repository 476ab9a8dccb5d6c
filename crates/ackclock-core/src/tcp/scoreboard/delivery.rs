//! What one acknowledgment delivered, as the scoreboard finds it.

use super::{EVER, Record};
use crate::time::{Span, Time};

/// A microsecond, in nanoseconds.
const MICRO: u64 = 1000;

/// How finely the times at which segments were sent are told apart where losses are found by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stamps {
    /// As they are.
    #[default]
    Exact,
    /// In whole microseconds, as by Linux (tcp_skb_timestamp_us): of what was sent within one, the position decides.
    Micros,
}

impl Stamps {
    /// `time` as far as it is known.
    pub fn of(self, time: Time) -> Time {
        match self {
            Stamps::Exact => time,
            Stamps::Micros => Time(time.0 - time.0 % MICRO),
        }
    }

    /// Whether `a` was sent after `b`.
    #[inline]
    pub fn later(self, a: RackSegment, b: RackSegment) -> bool {
        a.xmit.0 >= b.xmit.0 + MICRO || self.is_later(a, b)
    }

    fn is_later(self, a: RackSegment, b: RackSegment) -> bool {
        (self.of(a.xmit), a.end) > (self.of(b.xmit), b.end)
    }
}

/// RFC 8985's most recently sent segment that was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct RackSegment {
    /// When it was sent.
    pub xmit: Time,
    /// Its end.
    pub end: u64,
}

impl Record {
    #[inline]
    pub(super) fn as_sent(&self) -> RackSegment {
        RackSegment { xmit: self.xmit, end: self.end() }
    }
}

/// What one acknowledgment delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// The time of the acknowledgment.
    pub now: Time,
    /// How finely times of transmission are told apart.
    pub stamps: Stamps,
    /// Highest position delivered before by a never-retransmitted segment.
    pub forward: u64,
    /// What was outstanding before it, as the window counts.
    pub flight: u64,
    /// Smallest round-trip time so far: a shorter one of a retransmitted segment belongs to its original.
    pub min_rtt: Span,
    /// Bytes delivered for the first time.
    pub bytes: u64,
    /// Bytes newly acknowledged cumulatively.
    pub acked: u64,
    /// Segments among them, as they were sent; one of which a part is missing is not.
    pub segments: u64,
    /// Bytes newly acknowledged selectively.
    pub sacked: u64,
    /// Transmission times of the first and last never-retransmitted segment newly acknowledged cumulatively.
    pub ack_xmit: Option<(Time, Time)>,
    /// The same for segments newly acknowledged selectively.
    pub sack_xmit: Option<(Time, Time)>,
    /// A segment that was retransmitted is among the cumulatively acknowledged ones.
    pub acked_retransmitted: bool,
    /// End of the last segment that was retransmitted, not SACKed, and is now acknowledged cumulatively.
    pub resent_end: u64,
    /// The most recently sent segment of this acknowledgment.
    pub rack: Option<RackSegment>,
    /// When the segment was sent that was looked at last: selectively acknowledged ones come first, then the others.
    pub last_xmit: Time,
    /// A never-retransmitted segment was delivered below the highest one delivered before: by how much, bytes.
    pub reordering: u64,
    /// What was sent again from this time on is not what the acknowledgment answers, as its echo tells.
    pub unanswered: Option<Time>,
}

impl Delivery {
    #[inline]
    pub(super) fn note(&mut self, r: &Record, sacked_now: bool) {
        let rtt = self.now.since(r.xmit);
        if r.is(EVER) {
            if !sacked_now {
                self.acked_retransmitted = true;
                // The original came (RFC 8985 §6.2 step 2). A selective acknowledgment echoes an older segment.
                //= RFC 8985 §6.2 step-1-ambiguous
                if self.unanswered.is_some_and(|t| r.xmit >= t) {
                    return;
                }
            }
            // Without any sample nothing tells the two apart.
            if rtt < self.min_rtt || self.min_rtt == Span::ZERO {
                return;
            }
        } else {
            let slot = if sacked_now { &mut self.sack_xmit } else { &mut self.ack_xmit };
            *slot = Some((slot.map_or(r.xmit, |s| s.0), r.xmit));
        }
        self.note_newest(r);
    }

    /// Segments that were sent once are acknowledged, the first of which left at `first`.
    #[inline]
    pub(super) fn note_plain(&mut self, first: Time, last: &Record) {
        self.ack_xmit = Some((self.ack_xmit.map_or(first, |s| s.0), last.xmit));
        self.note_newest(last);
    }

    #[inline]
    fn note_newest(&mut self, r: &Record) {
        self.last_xmit = r.xmit;
        let segment = r.as_sent();
        if self.rack.is_none_or(|k| self.stamps.later(segment, k)) {
            self.rack = Some(segment);
        }
    }
}
