//! What one acknowledgment delivered, as the scoreboard finds it.

use super::{Record, EVER};
use crate::time::{Span, Time};

/// RFC 8985's most recently sent segment that was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct RackSegment {
    /// When it was sent.
    pub xmit: Time,
    /// Its end.
    pub end: u64,
    /// Its round-trip time.
    pub rtt: Span,
}

/// What one acknowledgment delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// The time of the acknowledgment.
    pub now: Time,
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
    /// Round-trip time of the segment that was looked at last: selectively acknowledged ones come first, then the others.
    pub last_rtt: Span,
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
        self.note_newest(r, rtt);
    }

    /// Segments that were sent once are acknowledged, the first of which left at `first`.
    #[inline]
    pub(super) fn note_plain(&mut self, first: Time, last: &Record) {
        self.ack_xmit = Some((self.ack_xmit.map_or(first, |s| s.0), last.xmit));
        self.note_newest(last, self.now.since(last.xmit));
    }

    #[inline]
    fn note_newest(&mut self, r: &Record, rtt: Span) {
        self.last_rtt = rtt;
        if self.rack.is_none_or(|k| (r.xmit, r.end()) > (k.xmit, k.end)) {
            self.rack = Some(RackSegment { xmit: r.xmit, end: r.end(), rtt });
        }
    }
}
