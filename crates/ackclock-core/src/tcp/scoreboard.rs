//! What is outstanding, segment by segment, and which of it is delivered, lost or sent again.
//!
//! Every counter is kept incrementally and every pointer only moves forward within an episode, so the cost of an
//! acknowledgment depends on what it changes, not on the window: RFC 6675's `Pipe`, `IsLost` and `NextSeg` and
//! RFC 8985's time order are all read off without a scan.

mod audit;
mod counting;
mod delivery;
mod loss;
mod rate;
mod resend;

use super::intervals::IntervalSet;
use crate::estimator::delivery_rate::DeliveryRate;
use crate::ring::Ring;
use crate::time::Time;

pub use audit::Known;
pub use delivery::{Delivery, RackSegment, Stamps};

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission of it is in the network.
const RETRANS: u8 = 4;
/// It was retransmitted at least once.
const EVER: u8 = 8;
/// It was selectively acknowledged once, and that has been forgotten: nothing new is learned when it is again.
const FORGOTTEN: u8 = 16;

/// One transmitted segment.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    seq: u64,
    /// Time of the last transmission.
    xmit: Time,
    len: u32,
    flags: u8,
}

impl Record {
    #[inline]
    fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
    #[inline]
    fn is(&self, f: u8) -> bool {
        self.flags & f != 0
    }
}

/// A segment to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Its number, for [`Scoreboard::retransmitted`].
    pub number: u64,
    /// Its first position.
    pub seq: u64,
    /// Its length.
    pub len: u32,
}

/// The sender's record of everything above the cumulative acknowledgment.
///
/// The numbers of records `judged`, `hint`, `rack_from` and `high_rxt` may lie below the first record: what was
/// acknowledged needs no second look, and an acknowledgment in order need not touch them.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    // What every acknowledgment and every transmission touches, in two cache lines.
    records: Ring<Record>,
    una: u64,
    nxt: u64,
    /// What a segment counts; 0: its bytes. The counters of this struct count so.
    unit: u64,
    /// What is outstanding counts beyond its bytes; modulo 2^64, for a full segment with a FIN counts one less.
    padding: u64,
    /// What the pipe counts beyond the bytes outstanding, modulo 2^64: padding and retransmissions less what is delivered
    /// or lost.
    beyond: u64,
    sacked: u64,
    lost: u64,
    retrans: u64,
    /// Lost, not delivered, and no retransmission under way.
    pending: u64,
    /// Bytes ever marked lost, each time they were (C.lost).
    total_lost: u64,
    lost_payload: u64,
    /// Highest position delivered by a never-retransmitted segment.
    forward: u64,
    /// One past the largest number ever sent again.
    resent_tail: u64,
    /// Delivery rate, when the controller wants it.
    rate: Option<Box<DeliveryRate>>,
    // What losses touch.
    /// Delivered out of order: what is SACKed, as positions.
    ranges: IntervalSet,
    /// Every record below this number has been judged by the counting rule.
    judged: u64,
    /// No pending record has a smaller number.
    hint: u64,
    /// One past the largest number ever marked lost.
    lost_tail: u64,
    /// Every original transmission below this number is delivered, lost or retransmitted.
    rack_from: u64,
    /// HighRxt: records below this number were retransmitted or passed over in this recovery.
    high_rxt: u64,
    /// Retransmissions in the order they left: number and time.
    resent: Ring<(u64, Time)>,
}

impl Scoreboard {
    /// An empty scoreboard whose first position is `start`.
    pub fn new(start: u64) -> Scoreboard {
        Scoreboard { una: start, nxt: start, forward: start, ..Scoreboard::default() }
    }

    /// First unacknowledged position (SND.UNA).
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Next position to send (SND.NXT).
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Highest position delivered by a never-retransmitted segment.
    #[inline]
    pub fn forward(&self) -> u64 {
        self.forward
    }

    /// Outstanding bytes, delivered or not (RFC 5681 FlightSize).
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// Bytes believed to be in the network (RFC 6675 `Pipe`).
    #[inline]
    //= RFC 6675 §4 set-pipe
    pub fn pipe(&self) -> u64 {
        (self.nxt - self.una).wrapping_add(self.beyond)
    }

    /// Bytes selectively acknowledged above the cumulative acknowledgment.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Bytes marked lost and not delivered yet.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes ever marked lost, each time they were (C.lost).
    #[inline]
    pub fn total_lost(&self) -> u64 {
        self.total_lost
    }

    /// Bytes of retransmissions in the network.
    #[inline]
    pub fn retransmitting(&self) -> u64 {
        self.retrans
    }

    /// Lost bytes waiting for retransmission.
    #[inline]
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// Nothing outstanding is SACKed, lost or sent again.
    #[inline]
    pub fn is_pristine(&self) -> bool {
        self.sacked | self.lost | self.retrans == 0 && !self.may_be_resent()
    }

    /// Transmission time of the first outstanding segment.
    pub fn head_xmit(&self) -> Option<Time> {
        self.records.front().map(|r| r.xmit)
    }

    /// A new segment of `len` positions leaves. [`Scoreboard::note_sent`] must follow where rates are tracked.
    #[inline]
    pub fn sent(&mut self, len: u32, now: Time) {
        self.records.push(Record { seq: self.nxt, xmit: now, len, flags: 0 });
        self.nxt += u64::from(len);
        if self.unit > 0 {
            let padding = self.unit.wrapping_sub(u64::from(len));
            self.padding = self.padding.wrapping_add(padding);
            self.beyond = self.beyond.wrapping_add(padding);
        }
    }

    /// Number of the record that contains `seq`, which must be outstanding.
    #[inline]
    fn find(&self, seq: u64) -> u64 {
        let (head, tail) = (self.records.head(), self.records.tail());
        let first = self.records.get(head);
        // Segments of a bulk transfer have one size: the guess is exact.
        let guess = head + (seq.saturating_sub(first.seq)) / u64::from(first.len.max(1));
        if guess < tail {
            let r = self.records.get(guess);
            if r.seq <= seq && seq < r.end() {
                return guess;
            }
        }
        let (mut lo, mut hi) = (head, tail);
        while hi - lo > 1 {
            let mid = lo + (hi - lo) / 2;
            if self.records.get(mid).seq <= seq {
                lo = mid;
            } else {
                hi = mid;
            }
        }
        lo
    }

    /// Acknowledges everything below `ack`.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u64, d: &mut Delivery) {
        debug_assert!(ack > self.una && ack <= self.nxt);
        d.acked += ack - self.una;
        let in_order = self.sacked == 0;
        let head = self.records.head();
        if self.rate.is_none() {
            self.pass_plain(ack, d);
        }
        while let Some(&r) = self.records.front() {
            if r.end() > ack {
                break;
            }
            if let Some(rate) = &mut self.rate {
                if !r.is(SACKED | FORGOTTEN) {
                    rate.delivered(self.records.head(), r.xmit, r.end());
                }
                rate.pop();
            }
            self.records.skip();
            if r.flags == 0 {
                d.bytes += self.count(r.len);
                d.note(&r, false);
                if r.end() < d.forward {
                    d.reordering = d.reordering.max(d.forward - r.end());
                }
                self.forward = self.forward.max(r.end());
                continue;
            }
            self.retire(&r, false, d);
        }
        let segments = self.records.head() - head;
        d.segments += segments;
        if self.unit > 0 {
            self.forget_padding(segments, ack);
        }
        if let Some(r) = self.records.front().copied() {
            if r.seq < ack {
                let cut = (ack - r.seq) as u32;
                self.retire(&Record { len: cut, ..r }, true, d);
                let head = self.records.head();
                let r = self.records.get_mut(head);
                r.seq += u64::from(cut);
                r.len -= cut;
            }
        }
        self.una = ack;
        if in_order && self.retrans | self.lost == 0 {
            self.beyond = self.padding;
            return;
        }
        self.settle();
        if !in_order {
            self.ranges.trim_below(ack);
        }
    }

    /// The segments up to `ack` in front that were sent once and of which nothing is known are delivered: they are
    /// neighbours and left in order, so that the first and the last of them say all.
    #[inline(always)]
    fn pass_plain(&mut self, ack: u64, d: &mut Delivery) {
        let (head, tail) = (self.records.head(), self.records.tail());
        let mut n = head;
        while n < tail {
            let r = self.records.get(n);
            if r.end() > ack || r.flags != 0 {
                break;
            }
            n += 1;
        }
        if n == head {
            return;
        }
        let (first, last) = (*self.records.get(head), *self.records.get(n - 1));
        self.records.skip_to(n);
        d.bytes += if self.unit > 0 { (n - head) * self.unit } else { last.end() - first.seq };
        d.note_plain(first.xmit, &last);
        if first.end() < d.forward {
            d.reordering = d.reordering.max(d.forward - first.end());
        }
        self.forward = self.forward.max(last.end());
    }

    /// Takes a record, or with `cut` the first part of one, out of the counters.
    fn retire(&mut self, r: &Record, cut: bool, d: &mut Delivery) {
        let counted = self.count_of(r.len, cut);
        if r.is(SACKED) {
            self.sacked -= counted;
            if r.is(EVER) {
                d.acked_retransmitted = true;
            }
            return;
        }
        if r.is(EVER) {
            d.resent_end = r.end();
        }
        if !r.is(FORGOTTEN) {
            d.bytes += counted;
            d.note(r, false);
        }
        self.forget_loss(r, counted);
    }

    #[inline]
    fn forget_loss(&mut self, r: &Record, counted: u64) {
        if r.is(LOST) {
            self.lost -= counted;
            if !r.is(RETRANS) {
                self.pending -= counted;
            }
        }
        if r.is(RETRANS) {
            self.retrans -= counted;
        }
    }

    /// Takes a SACK block. Parts of segments do not count: a receiver stores whole ones.
    pub fn sack(&mut self, start: u64, end: u64, d: &mut Delivery) {
        let (start, end) = (start.max(self.una), end.min(self.nxt));
        if start >= end || self.ranges.covers(start, end) {
            return;
        }
        let first = self.records.get(self.find(start));
        let start = if first.seq == start { start } else { first.end() };
        let last = self.records.get(self.find(end - 1));
        let end = if last.end() == end { end } else { last.seq };
        if start >= end {
            return;
        }
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.insert(start, end, |a, b| self.mark_sacked(a, b, d));
        self.settle();
        self.ranges = ranges;
    }

    /// Record `n` is selectively acknowledged for the first time.
    #[inline]
    fn first_delivery(&mut self, n: u64, r: &Record, d: &mut Delivery) {
        d.bytes += self.count(r.len);
        d.note(r, true);
        if let Some(rate) = &mut self.rate {
            rate.delivered(n, r.xmit, r.end());
        }
        if !r.is(EVER) {
            if r.end() < self.forward {
                d.reordering = d.reordering.max(self.forward - r.end());
            }
            self.forward = self.forward.max(r.end());
        }
    }

    fn mark_sacked(&mut self, start: u64, end: u64, d: &mut Delivery) {
        let mut n = self.find(start);
        while n < self.records.tail() {
            let r = *self.records.get(n);
            if r.seq >= end {
                break;
            }
            let counted = self.count(r.len);
            self.forget_loss(&r, counted);
            self.sacked += counted;
            d.sacked += counted;
            if !r.is(FORGOTTEN) {
                self.first_delivery(n, &r, d);
            }
            self.records.get_mut(n).flags = (r.flags & EVER) | SACKED;
            n += 1;
        }
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;
