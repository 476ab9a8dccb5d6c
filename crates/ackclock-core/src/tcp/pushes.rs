//! Where Linux pushes the stream: which segments carry PSH.
//!
//! The application writes blocks, and the end of each is pushed; unless it lies within a segment that has not left and to
//! which the next block adds. What is queued beyond half of the largest window the peer has offered is pushed before the
//! end of its block. A writer who finds the send buffer full pushes what there is, and goes on, with a block that begins
//! there, with the first acknowledgment that leaves a third of the buffer free. Segments that are SACKed one behind the other
//! are merged, which frees what each of them takes beyond its payload.
//!
//! With a bound on what waits unsent (TCP_NOTSENT_LOWAT, `notsent_lowat`) a writer also finds no room while as much has not left,
//! and goes on when less than half of it is left (tcp_stream_memory_free and its second argument in Linux 6.12). What it sends
//! while it writes leaves with the write, so what a burst leaves behind is looked at with the next acknowledgment, or when the
//! application stops.

use super::config::Config;
use std::collections::VecDeque;

/// Half of the largest window a SYN can show.
const QUEUED: u64 = 65_535 / 2;
/// Memory of a queued segment beyond its payload.
const OVERHEAD: u64 = 832;

/// The next segment that is pushed, and the rule that finds it. Positions are bytes of the stream.
#[derive(Clone, Debug)]
pub(super) struct Pushes {
    /// Its end in the stream; `u64::MAX`: nothing is pushed.
    next: u64,
    /// So many bytes acknowledged wake a writer for whom there was no room; `u64::MAX`: none waits.
    wake_at: u64,
    rule: Option<Box<Rule>>,
}

/// How far the stream has come when the application may write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes acknowledged and sent.
    pub acked: u64,
    /// See `acked`.
    pub sent: u64,
    /// Segments outstanding that are SACKed together with the one before them.
    pub merged: u64,
    /// Largest window that the peer has offered, bytes; zero while only that of its SYN is known.
    pub window: u64,
}

#[derive(Clone, Debug)]
struct Rule {
    /// Sizes, bytes: a segment, what the application writes at a time.
    mss: u64,
    block: u64,
    /// Memory, bytes: the buffer, a segment in it.
    buffer: u64,
    each: u64,
    /// Bytes unsent that leave the writer no room; zero: no bound.
    bound: u64,
    /// A write that the bound will stop has begun, and how much it has sent is not known yet.
    begun: bool,
    /// Ends of what is pushed, from the first unacknowledged one on, and how many of them have left.
    known: VecDeque<u64>,
    left: usize,
    /// The write under way begins and ends here (`u64::MAX`: never), and the buffer has taken it up to `taken`.
    start: u64,
    end: u64,
    taken: u64,
    /// Ends of the writes behind it.
    later: VecDeque<u64>,
}

impl Pushes {
    pub fn new(config: &Config, mss: u32) -> Pushes {
        Pushes { next: u64::MAX, wake_at: u64::MAX, rule: Rule::new(config, mss).map(Box::new) }
    }

    /// The application writes what lies between positions `start` and `end`, which may be `u64::MAX`.
    #[inline]
    pub fn write(&mut self, (start, end): (u64, u64), at: Progress) {
        if let Some(rule) = &mut self.rule {
            rule.write((start, end), at);
            (self.next, self.wake_at) = (rule.next(at.sent), rule.wake_at());
        }
    }

    /// The application writes no more, into a connection that is `open`. What of the stream will be sent all the same: with a
    /// bound on what waits unsent, what has been written, else nothing beyond what has left.
    pub fn stop(&mut self, at: Progress, open: bool) -> u64 {
        let Some(rule) = &mut self.rule else { return at.sent };
        let end = rule.stop(at, open);
        (self.next, self.wake_at) = (rule.next(at.sent), u64::MAX);
        end
    }

    /// Whether the writer may wake, so that [`Pushes::refill`] is to follow: everything below stream position `una` (1 is the
    /// first byte's) is acknowledged, or what is merged frees less than if it were.
    #[inline]
    pub fn may_wake(&self, una: u64) -> bool {
        una > self.wake_at
    }

    /// The writer goes on if a third of the buffer is free.
    #[cold]
    #[inline(never)]
    pub fn refill(&mut self, at: Progress) {
        if let Some(rule) = &mut self.rule {
            if rule.refill(at) {
                (self.next, self.wake_at) = (rule.next(at.sent), rule.wake_at());
            }
        }
    }

    /// New data up to stream position `end` leaves. True when it is pushed.
    #[inline]
    pub fn take(&mut self, end: u64) -> bool {
        if end <= self.next {
            return false;
        }
        self.advance(end)
    }

    #[cold]
    fn advance(&mut self, end: u64) -> bool {
        let pushed = end - 1 == self.next;
        self.next = self.rule.as_mut().map_or(u64::MAX, |r| r.next(end - 1));
        pushed
    }

    /// Whether data up to stream position `end`, sent before, was pushed.
    pub fn is(&self, end: u64) -> bool {
        end >= 2 && self.rule.as_ref().is_some_and(|r| r.known.binary_search(&(end - 1)).is_ok())
    }
}

impl Rule {
    fn new(config: &Config, mss: u32) -> Option<Rule> {
        let (mss, block, bound) = (u64::from(mss.max(1)), config.write_bytes, config.notsent_lowat);
        if block == 0 && bound == 0 {
            return None;
        }
        Some(Rule {
            mss,
            block: if block > 0 { block } else { u64::MAX / 4 },
            buffer: config.send_buffer,
            each: mss + OVERHEAD,
            bound,
            begun: false,
            known: VecDeque::new(),
            left: 0,
            start: 0,
            end: 0,
            taken: 0,
            later: VecDeque::new(),
        })
    }

    fn write(&mut self, (start, end): (u64, u64), at: Progress) {
        self.forget(at.acked);
        if self.waits() {
            self.later.push_back(end);
            return;
        }
        (self.start, self.taken, self.end) = (start, start, end);
        self.begun = self.bound > 0 && end > at.sent + self.most_unsent();
        if !self.begun {
            self.fill(at);
        }
    }

    /// What the bound lets wait, whole segments: the one that reaches it is still taken.
    fn most_unsent(&self) -> u64 {
        self.bound.div_ceil(self.mss) * self.mss
    }

    /// Not everything that was written is in the buffer.
    fn waits(&self) -> bool {
        self.taken < self.end
    }

    /// As long as nothing is merged.
    fn wake_at(&self) -> u64 {
        if self.waits() && self.bound > 0 {
            0
        } else if self.waits() {
            let kept = 2 * self.buffer / 3 / self.each;
            self.taken.saturating_sub(kept * self.mss)
        } else {
            u64::MAX
        }
    }

    fn stop(&mut self, at: Progress, open: bool) -> u64 {
        if self.bound == 0 {
            self.known.truncate(self.left);
        } else if self.waits() && open {
            self.refill(at);
        }
        self.later.clear();
        (self.end, self.begun) = (self.taken, false);
        if self.bound == 0 { at.sent } else { self.taken.max(at.sent) }
    }

    /// What was pushed and is acknowledged will not be asked for.
    fn forget(&mut self, acked: u64) {
        while self.left > 0 && self.known.front().is_some_and(|end| *end <= acked) {
            self.known.pop_front();
            self.left -= 1;
        }
    }

    /// False: less than a third of the buffer is free.
    fn refill(&mut self, at: Progress) -> bool {
        let queued = self.taken.saturating_sub(at.acked).div_ceil(self.mss) * self.each;
        let memory = queued.saturating_sub(at.merged * OVERHEAD);
        if memory + memory / 2 > self.buffer {
            return false;
        }
        if self.bound > 0 && !self.begun && 2 * self.taken.saturating_sub(at.sent) >= self.bound {
            return false;
        }
        self.begun = false;
        self.forget(at.acked);
        self.start = self.taken;
        self.fill(at);
        true
    }

    /// The buffer takes what it has room for. The segment that exceeds it is still taken.
    fn fill(&mut self, at: Progress) {
        let full = (self.buffer + at.merged * OVERHEAD).div_ceil(self.each);
        let outstanding = (at.sent - at.acked).div_ceil(self.mss);
        let room = at.sent + full.saturating_sub(outstanding) * self.mss;
        let room = if self.bound > 0 { room.min(at.sent + self.most_unsent()) } else { room };
        let queued = if at.window > 0 { at.window / 2 } else { QUEUED };
        loop {
            self.take_up_to(self.end.min(room), at.sent, queued);
            if self.waits() {
                return;
            }
            let Some(end) = self.later.pop_front() else { return };
            (self.start, self.end) = (self.end, end);
        }
    }

    /// The buffer takes the present write up to `to`. What is queued beyond `queued` bytes is pushed.
    fn take_up_to(&mut self, to: u64, sent: u64, queued: u64) {
        // What leaves is not held back by a buffer that would be too small for it.
        self.taken = self.taken.max(sent.min(self.end));
        if self.taken >= to {
            return;
        }
        self.forget_end(self.taken, sent);
        let mut end = self.start + ((self.taken - self.start) / self.block + 1) * self.block;
        while end < to {
            self.take_block(end, sent, queued);
            if (end - sent) % self.mss == 0 {
                self.known.push_back(end);
            }
            end += self.block;
        }
        self.take_block(to, sent, queued);
        self.known.push_back(to);
    }

    /// The buffer takes a block, or the rest of one, up to `end`.
    #[inline]
    fn take_block(&mut self, end: u64, sent: u64, queued: u64) {
        let mut from = self.taken + queued;
        while from < end {
            // The first end of a segment that is beyond what may be queued.
            from = sent + ((from - sent) / self.mss + 1) * self.mss;
            if from < end {
                self.known.push_back(from);
            }
            from += queued;
        }
        self.taken = end;
    }

    /// What was written before ended at `end`, within a segment that has not left: it grows and is not pushed.
    fn forget_end(&mut self, end: u64, sent: u64) {
        let within = end > sent && (end - sent) % self.mss > 0;
        if within && self.known.len() > self.left && self.known.back() == Some(&end) {
            self.known.pop_back();
        }
    }

    /// The first end of a pushed segment beyond `sent`, which has left.
    fn next(&mut self, sent: u64) -> u64 {
        while self.known.get(self.left).is_some_and(|end| *end <= sent) {
            self.left += 1;
        }
        self.known.get(self.left).map_or(u64::MAX, |end| *end)
    }
}

#[cfg(test)]
#[path = "pushes_tests.rs"]
mod tests;
