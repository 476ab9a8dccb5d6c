//! Which outstanding segments are lost: by counting (RFC 6675), by transmission time (RFC 8985), by timeout.

use super::{EVER, FORGOTTEN, LOST, RETRANS, RackSegment, Record, SACKED, Scoreboard, Stamps};
use crate::time::{Span, Time};

impl Scoreboard {
    pub(super) fn mark(&mut self, n: u64) -> u64 {
        let r = *self.records.get(n);
        if r.is(SACKED) || (r.is(LOST) && !r.is(RETRANS)) {
            return 0;
        }
        let counted = self.count(r.len);
        if r.is(RETRANS) {
            self.retrans -= counted;
        }
        if !r.is(LOST) {
            self.lost += counted;
        }
        self.records.get_mut(n).flags = (r.flags & !RETRANS) | LOST;
        self.pending += counted;
        self.total_lost += counted;
        self.lost_payload += u64::from(r.len);
        self.settle();
        self.hint = self.hint.min(n);
        self.lost_tail = self.lost_tail.max(n + 1);
        if let Some(rate) = &mut self.rate {
            rate.lost(n, r.seq, counted);
        }
        counted
    }

    /// RFC 6675 `IsLost`: marks what lies below `dupthresh` SACKed ranges or more than (dupthresh - 1) segments of
    /// SACKed bytes. Returns the bytes newly lost.
    //= RFC 6675 §4 is-lost
    pub fn mark_by_count(&mut self, dupthresh: u64, mss: u32) -> u64 {
        let (mut ranges, mut bytes) = (0, 0);
        let mut boundary = None;
        for i in (0..self.ranges.len()).rev() {
            let Some((start, end)) = self.ranges.get(i) else { break };
            ranges += 1;
            bytes += end - start;
            if ranges >= dupthresh || bytes > (dupthresh - 1) * u64::from(mss) {
                boundary = Some(start);
                break;
            }
        }
        let Some(boundary) = boundary else { return 0 };
        let until = self.find(boundary);
        let mut newly = 0;
        self.judged = self.judged.max(self.records.head());
        while self.judged < until {
            if !self.records.get(self.judged).is(RETRANS) {
                newly += self.mark(self.judged);
            }
            self.judged += 1;
        }
        newly
    }

    /// Marks the first outstanding segment lost. Returns the bytes newly lost.
    pub fn mark_head(&mut self) -> u64 {
        if self.records.is_empty() {
            return 0;
        }
        self.mark(self.records.head())
    }

    /// Marks everything that is not delivered lost, as after a timeout.
    pub fn mark_all(&mut self) -> u64 {
        let newly = (self.records.head()..self.records.tail()).map(|n| self.mark(n)).sum();
        self.judged = self.records.tail();
        self.restart();
        newly
    }

    /// A timeout under RFC 8985 §6.3: the head is lost, and whatever was sent at least `age` ago, as `stamps` tell.
    //= RFC 8985 §6.3 timeout
    pub fn mark_older(&mut self, now: Time, stamps: Stamps, age: Span) -> u64 {
        let head = self.records.head();
        let old = |r: &Record| stamps.of(now).since(stamps.of(r.xmit)) >= age;
        let newly = (head..self.records.tail())
            .map(|n| if n == head || old(self.records.get(n)) { self.mark(n) } else { 0 })
            .sum();
        self.restart();
        newly
    }

    /// RFC 8985 §6.2 step 5: marks what was sent before `k` and is older than `age`, its round-trip time and the reordering
    /// window. Returns the bytes newly lost and, if something is waiting, how long until all of it is overdue. Times are told
    /// apart by `stamps`.
    //= RFC 8985 §6.2 step-5-lost
    pub fn mark_overdue(&mut self, now: Time, stamps: Stamps, k: RackSegment, age: Span) -> (u64, Option<Span>) {
        let now = stamps.of(now);
        let due = |r: &Record| (stamps.of(r.xmit) + age).since(now);
        let before = |r: &Record| stamps.later(k, r.as_sent());
        let mut newly = 0;
        let mut wait = Span::ZERO;
        self.rack_from = self.rack_from.max(self.records.head());
        while self.rack_from < self.records.tail() {
            let r = *self.records.get(self.rack_from);
            if r.flags & !FORGOTTEN == 0 {
                if !before(&r) {
                    break;
                }
                if due(&r) > Span::ZERO {
                    wait = wait.max(self.longest_wait(k, &due));
                    break;
                }
                newly += self.mark(self.rack_from);
            }
            self.rack_from += 1;
        }
        while let Some(&(n, xmit)) = self.resent.front() {
            if n >= self.records.head() {
                let r = *self.records.get(n);
                // A tail loss probe is sent again without being lost.
                let waiting = r.is(RETRANS) || r.flags & (LOST | SACKED) == 0;
                if waiting && r.xmit == xmit {
                    if !before(&r) {
                        break;
                    }
                    if due(&r) > Span::ZERO {
                        wait = wait.max(due(&r));
                        break;
                    }
                    newly += self.mark(n);
                }
            }
            self.resent.pop();
        }
        (newly, (wait > Span::ZERO).then_some(wait))
    }

    /// The latest original transmission before `k` that is not delivered waits longest: it lies just below a SACKed
    /// range that ends at or below `k`.
    fn longest_wait(&self, k: RackSegment, due: &impl Fn(&Record) -> Span) -> Span {
        let mut end = k.end;
        while end > self.una {
            if let Some((start, _)) = self.ranges.find(end - 1).and_then(|i| self.ranges.get(i)) {
                end = start;
                continue;
            }
            let n = self.find(end - 1);
            let r = self.records.get(n);
            if n < self.rack_from {
                break;
            }
            if r.flags & !FORGOTTEN == 0 {
                return due(r);
            }
            end = r.seq;
        }
        Span::ZERO
    }

    /// What was held for lost was merely late: nothing is lost any more.
    pub fn forgive(&mut self) {
        let mut again: Vec<(Time, u64)> = Vec::new();
        for n in self.records.head()..self.records.tail() {
            let r = self.records.get_mut(n);
            r.flags &= !LOST;
            if r.is(EVER) && !r.is(SACKED) {
                again.push((r.xmit, n));
            }
        }
        (self.lost, self.pending) = (0, 0);
        self.settle();
        let head = self.records.head();
        (self.hint, self.judged, self.rack_from) = (head, head, head);
        // All of it must be judged again, in the order it left.
        again.sort_unstable();
        while self.resent.pop().is_some() {}
        for (xmit, n) in again {
            self.resent.push((n, xmit));
        }
    }

    /// Forgets all SACK information (RFC 2018 §8, in case the receiver reneged).
    //= RFC 2018 §8 forget
    pub fn forget_sacks(&mut self) {
        for n in self.records.head()..self.records.tail() {
            let r = self.records.get_mut(n);
            if r.is(SACKED) {
                r.flags = (r.flags & !SACKED) | FORGOTTEN;
            }
        }
        self.sacked = 0;
        self.settle();
        self.ranges.clear();
        // What was delivered must be judged again.
        self.rack_from = self.records.head();
    }
}
