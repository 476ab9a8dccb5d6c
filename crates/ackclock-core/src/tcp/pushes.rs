//! Where Linux pushes the stream: which segments carry PSH.
//!
//! The application writes blocks, and the end of each is pushed; unless it lies within a segment that has not left and to
//! which the next block adds. What is queued beyond half of the largest window the peer has offered is pushed before the
//! end of its block. A writer who finds the send buffer full pushes what there is, and goes on, with a block that begins
//! there, with the first acknowledgment that leaves a third of the buffer free. Segments that are SACKed one behind the other
//! are merged, which frees what each of them takes beyond its payload.

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

    /// Nothing beyond the `sent` bytes that have left will be sent.
    pub fn stop(&mut self) {
        if let Some(rule) = &mut self.rule {
            rule.stop();
            (self.next, self.wake_at) = (u64::MAX, u64::MAX);
        }
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
        let (mss, block) = (u64::from(mss.max(1)), config.write_bytes);
        let none = Rule {
            mss,
            block,
            buffer: config.send_buffer,
            each: mss + OVERHEAD,
            known: VecDeque::new(),
            left: 0,
            start: 0,
            end: 0,
            taken: 0,
            later: VecDeque::new(),
        };
        (block > 0).then_some(none)
    }

    fn write(&mut self, (start, end): (u64, u64), at: Progress) {
        self.forget(at.acked);
        if self.waits() {
            self.later.push_back(end);
            return;
        }
        (self.start, self.taken, self.end) = (start, start, end);
        self.fill(at);
    }

    /// Not everything that was written is in the buffer.
    fn waits(&self) -> bool {
        self.taken < self.end
    }

    /// As long as nothing is merged.
    fn wake_at(&self) -> u64 {
        if self.waits() {
            let kept = 2 * self.buffer / 3 / self.each;
            self.taken.saturating_sub(kept * self.mss)
        } else {
            u64::MAX
        }
    }

    fn stop(&mut self) {
        self.known.truncate(self.left);
        self.later.clear();
        self.end = self.taken;
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
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    const MSS: u64 = 1448;
    const LINUX: fn() -> Pushes = || Pushes::new(&Config::profile(Profile::Linux), MSS as u32);

    /// Nothing is acknowledged.
    fn at(sent: u64, window: u64) -> Progress {
        Progress { acked: 0, merged: 0, sent, window }
    }

    /// Segments of a writer without end, with everything but the last two acknowledged in pairs, that are pushed. The
    /// receiver acknowledges a pushed segment at once, so that others are paired from then on; not if `even`.
    fn bulk(p: &mut Pushes, segments: u64, even: bool) -> Vec<u64> {
        p.write((0, u64::MAX), at(0, 0));
        let (mut acked, mut pushed) = (0, vec![]);
        for n in 1..=segments {
            let push = p.take(1 + n * MSS);
            if push {
                pushed.push(n);
            }
            if n - acked == 2 || (push && !even) {
                acked = n;
                if p.may_wake(1 + n * MSS) {
                    p.refill(Progress { acked: n * MSS, ..at(n * MSS, 6_000_000) });
                    assert!(!p.may_wake(1 + n * MSS), "it fills the buffer at once");
                }
            }
        }
        pushed
    }

    /// Recorded: conformance/kernel/LINUX-FACTS.md, 10.7. A segment of 2280 bytes: 7359 fill 16 MiB, 4905 are two thirds.
    #[test]
    fn pushes_of_a_bulk_sender() {
        let mut p = LINUX();
        let pushed = bulk(&mut p, 19_632, false);
        assert_eq!(pushed[..10], [23, 46, 69, 114, 137, 160, 204, 227, 250, 295]);
        let first = pushed.iter().position(|n| *n == 7359).unwrap();
        assert_eq!(pushed[first..], [7359, 9814, 12_268, 14_722, 17_177, 19_631]);
        let again: Vec<u64> = (1..=19_632).filter(|n| p.is(1 + n * MSS)).collect();
        assert_eq!(again, [19_631], "sent again; everything up to 17,181 was acknowledged when the buffer was filled last");
        let mut none = Pushes::new(&Config::profile(Profile::Rfc), MSS as u32);
        assert_eq!(bulk(&mut none, 15_000, false), []);
        assert!(!none.may_wake(u64::MAX - 1));
    }

    #[test]
    fn an_acknowledgment_that_frees_a_segment_more_makes_the_refill_longer() {
        // Pairs: 2454 segments free a third, 4908 again, always with the second of a pair.
        let pushed = bulk(&mut LINUX(), 13_000, true);
        assert_eq!(pushed[pushed.len() - 3..], [7359, 9813, 12_267]);
        // With one segment acknowledged alone the pairs end with odd numbers: 2455 frees one more, then 2454 are needed.
        let mut p = LINUX();
        p.write((0, u64::MAX), at(0, 0));
        for acked in [1, 2453] {
            assert!(!p.may_wake(1 + acked * MSS));
        }
        assert!(p.may_wake(1 + 2455 * MSS));
        p.refill(Progress { acked: 2455 * MSS, ..at(4000 * MSS, 6_000_000) });
        assert!(!p.may_wake(1 + 4907 * MSS + 1447) && p.may_wake(1 + 4909 * MSS));
        p.refill(Progress { acked: 4909 * MSS, ..at(6000 * MSS, 6_000_000) });
        let left: Vec<u64> = (6001..13_000).filter(|n| p.take(1 + n * MSS)).collect();
        assert_eq!(left[left.len() - 3..], [7359, 9814, 12_268]);
    }

    #[test]
    fn a_small_window_has_refills_pushed_in_between() {
        let mut p = LINUX();
        p.write((0, u64::MAX), at(0, 0));
        assert!(p.may_wake(1 + 2454 * MSS));
        // More than 32,000 bytes are queued beyond the last push with 23 segments. A block has 90.5, and the second begins
        // within segment 7450.
        p.refill(Progress { acked: 2454 * MSS, ..at(2460 * MSS, 64_000) });
        let left: Vec<u64> = (2461..7540).filter(|n| p.take(1 + n * MSS)).filter(|n| *n > 7355).collect();
        assert_eq!(left, [7359, 7382, 7405, 7428, 7472, 7495, 7518]);
    }

    /// The ends of segments of 1448 bytes that are pushed, of what lies between `sent` and `end`.
    fn pushed(p: &mut Pushes, sent: u64, end: u64) -> Vec<u64> {
        let mut ends: Vec<u64> = (1..).map(|n| sent + MSS * n).take_while(|e| *e < end).collect();
        ends.push(end);
        ends.retain(|e| p.take(1 + e));
        ends
    }

    #[test]
    fn the_end_of_what_was_written_is_pushed() {
        // 100,000 bytes into a new connection: beyond 32,767 and twice as many more, then the end.
        let mut p = LINUX();
        p.write((0, 100_000), at(0, 0));
        assert_eq!(pushed(&mut p, 0, 100_000), [23 * MSS, 46 * MSS, 69 * MSS, 100_000]);
        // The window is large: 400,000 bytes in blocks of 131,072, which do not end with a segment.
        p.write((100_000, 500_000), at(100_000, 8_000_000));
        assert_eq!(pushed(&mut p, 100_000, 500_000), [500_000]);
        assert!(p.is(1 + 500_000) && p.is(1 + 46 * MSS) && !p.is(1 + 45 * MSS));
        // What was pushed and is acknowledged is forgotten.
        p.write((500_000, 500_800), Progress { acked: 400_000, ..at(500_000, 8_000_000) });
        assert!(p.is(1 + 500_000) && !p.is(1 + 100_000));
        assert_eq!(pushed(&mut p, 500_000, 500_800), [500_800]);
    }

    #[test]
    fn the_end_of_a_long_write_is_pushed_when_another_follows() {
        // 20,000 segments; what follows begins with a segment, or within one.
        for (more, expected) in [(0, vec![20_000 * MSS, 20_002 * MSS]), (500, vec![20_002 * MSS + 500])] {
            let mut p = LINUX();
            let (end, last) = (20_000 * MSS + more, 20_002 * MSS + more);
            p.write((0, end), at(0, 0));
            p.write((end, last), at(3 * MSS, 6_000_000));
            let (mut left, mut n) = (vec![], 0);
            while n * MSS < last {
                n += 1;
                let sent = last.min(n * MSS);
                if p.take(1 + sent) {
                    left.push(sent);
                }
                if p.may_wake(1 + sent) {
                    p.refill(Progress { acked: sent, ..at(sent, 6_000_000) });
                }
            }
            left.retain(|end| *end > 19_900 * MSS);
            assert_eq!(left, expected);
            assert!(!p.may_wake(u64::MAX - 1), "everything is in the buffer");
        }
    }

    #[test]
    fn what_was_pushed_stays_so_after_a_stop_and_another_write() {
        let mut p = LINUX();
        p.write((0, u64::MAX), at(0, 0));
        let left: Vec<u64> = (1..=50).filter(|n| p.take(1 + n * MSS)).collect();
        assert_eq!(left, [23, 46]);
        p.stop();
        assert!(!p.may_wake(u64::MAX - 1));
        let again = |p: &Pushes| (1..=69).filter(|n| p.is(1 + n * MSS)).collect::<Vec<u64>>();
        assert_eq!(again(&p), [23, 46], "69 will not leave");
        p.write((50 * MSS, 69 * MSS), Progress { acked: 30 * MSS, ..at(50 * MSS, 6_000_000) });
        assert_eq!(pushed(&mut p, 50 * MSS, 69 * MSS), [69 * MSS]);
        assert_eq!(again(&p), [46, 69], "23 is acknowledged");
    }

    #[test]
    fn what_has_not_left_grows_with_the_next_block_and_is_pushed_at_its_end() {
        let mut p = LINUX();
        for (start, end) in [(0, 200), (200, 400), (400, 1448), (1448, 1648)] {
            p.write((start, end), at(0, 8_000_000));
        }
        assert_eq!(pushed(&mut p, 0, 1648), [1448, 1648]);
        // Nothing is appended to what has left.
        p.write((1648, 1848), at(1648, 8_000_000));
        assert_eq!(pushed(&mut p, 1648, 1848), [1848]);
        p.write((1848, 2048), at(1848, 8_000_000));
        p.stop();
        assert!(!p.take(1 + 2048));
    }
}
