//! Where Linux pushes the stream: which segments carry PSH.
//!
//! The application writes blocks, and the end of each is pushed; unless it lies within a segment that has not left and to
//! which the next block adds. What is queued beyond half of the largest window the peer has offered is pushed before the
//! end of its block. A sender of more than its buffer holds fills that first, then is woken when a third of it is free,
//! and each refill ends with a push.
//!
//! Known deviation: Linux wakes it with the first acknowledgment that leaves a third free, which may free a segment more, so
//! that a refill has 2454 or 2455 segments; here it has 2454. Where acknowledgments are of two segments, the pairs may then
//! be others than in Linux.

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
    rule: Option<Box<Rule>>,
}

/// What an application is about to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Bytes acknowledged and sent.
    pub acked: u64,
    /// See `acked`.
    pub sent: u64,
    /// Bytes written before.
    pub start: u64,
    /// Bytes written with it; `u64::MAX` without end.
    pub end: u64,
    /// Largest window that the peer has offered, bytes; zero while only that of its SYN is known.
    pub window: u64,
}

#[derive(Clone, Debug)]
struct Rule {
    /// Sizes, bytes: a segment, what the application writes at a time.
    mss: u64,
    block: u64,
    /// What fills the buffer, and what fills it again when a third of it is free.
    first_fill: u64,
    refill: u64,
    /// Ends of segments that are pushed, from the first unacknowledged one on, and how many of them have left.
    known: VecDeque<u64>,
    left: usize,
    /// The writing of more than the buffer holds.
    long: Option<Long>,
}

/// From `start` on the stream is written without end, in segments counted from `base`; what is queued beyond `queued`
/// bytes is pushed.
#[derive(Clone, Copy, Debug)]
struct Long {
    base: u64,
    start: u64,
    end: u64,
    queued: u64,
}

impl Pushes {
    pub fn new(config: &Config, mss: u32) -> Pushes {
        Pushes { next: u64::MAX, rule: Rule::new(config, mss).map(Box::new) }
    }

    /// The application writes `b`.
    #[inline]
    pub fn write(&mut self, b: Block) {
        if let Some(rule) = &mut self.rule {
            rule.write(b);
            self.next = rule.next(b.sent);
        }
    }

    /// Nothing beyond the `sent` bytes that have left will be sent.
    pub fn stop(&mut self) {
        if let Some(rule) = &mut self.rule {
            rule.known.truncate(rule.left);
            rule.long = None;
            self.next = u64::MAX;
        }
    }

    /// New data up to stream position `end` (1 is the first byte's) leaves. True when it is pushed.
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
        end >= 2 && self.rule.as_ref().is_some_and(|r| r.is(end - 1))
    }
}

impl Rule {
    fn new(config: &Config, mss: u32) -> Option<Rule> {
        let mss = u64::from(mss.max(1));
        // The segment that exceeds the buffer is still taken.
        let full = config.send_buffer.div_ceil(mss + OVERHEAD);
        let kept = 2 * config.send_buffer / 3 / (mss + OVERHEAD);
        let (first_fill, refill) = (full * mss, (full - kept).max(1) * mss);
        let (block, known) = (config.write_bytes, VecDeque::new());
        (block > 0).then_some(Rule { mss, block, first_fill, refill, known, left: 0, long: None })
    }

    fn write(&mut self, b: Block) {
        while self.left > 0 && self.known.front().is_some_and(|end| *end <= b.acked) {
            self.known.pop_front();
            self.left -= 1;
        }
        if let Some(long) = &mut self.long {
            if b.start > b.sent {
                // It is being written still.
                long.end = b.end;
                return;
            }
            self.long = None;
        }
        let queued = if b.window > 0 { b.window / 2 } else { QUEUED };
        if b.end - b.start > self.first_fill {
            self.forget_end(b.start, b.sent);
            self.long = Some(Long { base: b.sent, start: b.start, end: b.end, queued });
            return;
        }
        let mut start = b.start;
        while start < b.end {
            self.forget_end(start, b.sent);
            let end = b.end.min(start + self.block);
            let mut from = start;
            loop {
                // The first end of a segment that is beyond what may be queued.
                from = b.sent + ((from + queued - b.sent) / self.mss + 1) * self.mss;
                if from >= end {
                    break;
                }
                self.known.push_back(from);
            }
            self.known.push_back(end);
            start = end;
        }
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
        let long = self.long.map_or(u64::MAX, |l| self.after(&l, sent.max(l.base)));
        self.known.get(self.left).map_or(long, |end| long.min(*end))
    }

    fn is(&self, end: u64) -> bool {
        let long = self.long.is_some_and(|l| end > l.base && self.after(&l, end - 1) == end);
        long || self.known.binary_search(&end).is_ok()
    }

    /// First segment end beyond `sent` that is pushed while `l` is written.
    fn after(&self, l: &Long, sent: u64) -> u64 {
        let (end, offset) = (sent - l.base, l.start - l.base);
        let segment = |bytes: u64| bytes / self.mss + 1;
        let step = segment(l.queued);
        let mut start = offset + end.saturating_sub(offset) / self.block * self.block;
        while start < self.first_fill {
            let first = segment(start + l.queued);
            let steps = (end / self.mss + step).saturating_sub(first) / step;
            let n = (first + steps * step) * self.mss;
            if n <= (start + self.block).min(self.first_fill) {
                return (l.base + n).min(l.end);
            }
            start += self.block;
        }
        let refills = (end + self.refill).saturating_sub(self.first_fill) / self.refill;
        (l.base + self.first_fill + refills * self.refill).min(l.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    const LINUX: fn() -> Pushes = || Pushes::new(&Config::profile(Profile::Linux), 1448);

    fn block(sent: u64, start: u64, end: u64, window: u64) -> Block {
        Block { acked: 0, sent, start, end, window }
    }

    #[test]
    fn pushes_of_a_bulk_sender() {
        let mut p = LINUX();
        p.write(block(0, 0, u64::MAX, 0));
        let pushed: Vec<u64> = (1..15_000).filter(|n| p.take(1 + n * 1448)).collect();
        assert_eq!(pushed[..10], [23, 46, 69, 114, 137, 160, 204, 227, 250, 295]);
        assert_eq!(pushed[pushed.len() - 4..], [7359, 9813, 12267, 14721]);
        assert!((1..15_000).all(|n| p.is(1 + n * 1448) == pushed.contains(&n)));
        let mut none = Pushes::new(&Config::profile(Profile::Rfc), 1448);
        none.write(block(0, 0, u64::MAX, 0));
        assert!(!(1..15_000).any(|n| none.take(1 + n * 1448)));
    }

    /// The ends of segments of 1448 bytes that are pushed, of what lies between `sent` and `end`.
    fn pushed(p: &mut Pushes, sent: u64, end: u64) -> Vec<u64> {
        let mut ends: Vec<u64> = (1..).map(|n| sent + 1448 * n).take_while(|e| *e < end).collect();
        ends.push(end);
        ends.retain(|e| p.take(1 + e));
        ends
    }

    #[test]
    fn the_end_of_what_was_written_is_pushed() {
        // 100,000 bytes into a new connection: beyond 32,767 and twice as many more, then the end.
        let mut p = LINUX();
        p.write(block(0, 0, 100_000, 0));
        assert_eq!(pushed(&mut p, 0, 100_000), [23 * 1448, 46 * 1448, 69 * 1448, 100_000]);
        // The window is large: 400,000 bytes in blocks of 131,072, which do not end with a segment.
        p.write(block(100_000, 100_000, 500_000, 8_000_000));
        assert_eq!(pushed(&mut p, 100_000, 500_000), [500_000]);
        assert!(p.is(1 + 500_000) && p.is(1 + 46 * 1448) && !p.is(1 + 45 * 1448));
        // What was pushed and is acknowledged is forgotten.
        p.write(Block { acked: 400_000, ..block(500_000, 500_000, 500_800, 8_000_000) });
        assert!(p.is(1 + 500_000) && !p.is(1 + 100_000));
        assert_eq!(pushed(&mut p, 500_000, 500_800), [500_800]);
    }

    #[test]
    fn what_has_not_left_grows_with_the_next_block_and_is_pushed_at_its_end() {
        let mut p = LINUX();
        for (start, end) in [(0, 200), (200, 400), (400, 1448), (1448, 1648)] {
            p.write(block(0, start, end, 8_000_000));
        }
        assert_eq!(pushed(&mut p, 0, 1648), [1448, 1648]);
        // Nothing is appended to what has left.
        p.write(block(1648, 1648, 1848, 8_000_000));
        assert_eq!(pushed(&mut p, 1648, 1848), [1848]);
        p.write(block(1848, 1848, 2048, 8_000_000));
        p.stop();
        assert!(!p.take(1 + 2048));
    }
}
