//! What to send again, and in which order (RFC 6675 `NextSeg`).

use super::{EVER, Hole, LOST, RETRANS, SACKED, Scoreboard};
use crate::estimator::delivery_rate::Totals;
use crate::time::Time;

impl Scoreboard {
    /// Retransmission starts again from the head.
    pub(super) fn restart(&mut self) {
        self.hint = self.records.head();
        self.high_rxt = self.records.head();
        while self.resent.pop().is_some() {}
    }

    /// A new recovery begins: nothing has been retransmitted in it.
    pub fn begin_recovery(&mut self) {
        self.high_rxt = self.records.head();
    }

    /// The lost segment to send next: the lowest one (RFC 6675 `NextSeg` rule 1).
    #[inline]
    //= RFC 6675 §4 next-seg-1
    pub fn next_lost(&mut self) -> Option<Hole> {
        if self.pending == 0 {
            return None;
        }
        self.hint = self.hint.max(self.records.head());
        while self.hint < self.lost_tail.min(self.records.tail()) {
            let r = self.records.get(self.hint);
            if r.flags & (LOST | RETRANS | SACKED) == LOST {
                return Some(Hole { number: self.hint, seq: r.seq, len: r.len });
            }
            self.hint += 1;
        }
        None
    }

    /// A hole below the highest SACKed position that is not known to be lost (RFC 6675 `NextSeg` rule 3).
    //= RFC 6675 §4 next-seg-3
    pub fn next_hole(&mut self) -> Option<Hole> {
        let (_, top) = self.ranges.last()?;
        self.high_rxt = self.high_rxt.max(self.records.head());
        while self.high_rxt < self.records.tail() {
            let r = self.records.get(self.high_rxt);
            if r.seq >= top {
                return None;
            }
            if r.flags & (SACKED | RETRANS) == 0 {
                return Some(Hole { number: self.high_rxt, seq: r.seq, len: r.len });
            }
            self.high_rxt += 1;
        }
        None
    }

    /// The last outstanding segment that is not delivered (RFC 6675 `NextSeg` rule 4, tail probes).
    pub fn last_undelivered(&self) -> Option<Hole> {
        let mut end = self.nxt;
        while end > self.una {
            match self.ranges.find(end - 1).and_then(|i| self.ranges.get(i)) {
                Some((start, _)) => end = start,
                None => {
                    let number = self.find(end - 1);
                    let r = self.records.get(number);
                    return Some(Hole { number, seq: r.seq, len: r.len });
                }
            }
        }
        None
    }

    /// The first outstanding segment.
    pub fn head(&self) -> Option<Hole> {
        self.records.front().map(|r| Hole { number: self.records.head(), seq: r.seq, len: r.len })
    }

    /// The first outstanding segment is selectively acknowledged.
    pub fn is_head_sacked(&self) -> bool {
        self.records.front().is_some_and(|r| r.is(SACKED))
    }

    /// Something outstanding was sent again.
    pub fn any_resent(&self) -> bool {
        self.retrans > 0 || self.records.front().is_some_and(|r| r.is(EVER))
    }

    /// Something that was sent again may be outstanding.
    #[inline]
    pub fn may_be_resent(&self) -> bool {
        self.resent_tail > self.records.head() && !self.resent.is_empty()
    }

    /// How many segments that start in `start..end` were sent again, and whether one of them is selectively
    /// acknowledged.
    pub fn resent_within(&self, start: u64, end: u64) -> (u64, bool) {
        let (start, end) = (start.max(self.una), end.min(self.nxt));
        let (mut count, mut sacked) = (0, false);
        if start >= end {
            return (0, false);
        }
        for n in self.find(start)..self.records.tail() {
            let r = self.records.get(n);
            if r.seq >= end {
                break;
            }
            if r.is(EVER) {
                count += 1;
                sacked |= r.is(SACKED);
            }
        }
        (count, sacked)
    }

    /// One segment is outstanding.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.records.tail() - self.records.head() == 1
    }

    /// Segment `number` was sent again as a tail loss probe: the original is still believed to be in the network, the
    /// probe is not counted.
    pub fn probed(&mut self, number: u64, now: Time, totals: Totals) {
        let pipe = self.pipe();
        self.records.get_mut(number).flags |= EVER;
        self.left_again(number, now, pipe, totals);
    }

    /// Segment `number` was sent again.
    pub fn retransmitted(&mut self, number: u64, now: Time, totals: Totals) {
        let pipe = self.pipe();
        let counted = self.count(self.records.get(number).len);
        let r = self.records.get_mut(number);
        if !r.is(RETRANS) {
            self.retrans += counted;
            if r.is(LOST) {
                self.pending -= counted;
            }
        }
        r.flags |= RETRANS | EVER;
        self.settle();
        self.left_again(number, now, pipe, totals);
    }

    /// `pipe` was in flight before it left.
    fn left_again(&mut self, number: u64, now: Time, pipe: u64, totals: Totals) {
        let counted = self.count(self.records.get(number).len);
        self.records.get_mut(number).xmit = now;
        let in_flight = pipe + counted;
        if let Some(rate) = &mut self.rate {
            rate.sent_again(number, now, in_flight, totals);
        }
        self.high_rxt = self.high_rxt.max(number + 1);
        self.resent_tail = self.resent_tail.max(number + 1);
        // Only RFC 8985 reads the list: without it, what is acknowledged leaves it here.
        while self.resent.front().is_some_and(|r| r.0 < self.records.head()) {
            self.resent.pop();
        }
        self.resent.push((number, now));
    }
}
