//! Ranges of sequence numbers: what SACK blocks have reported above the highest acknowledgment.

use super::packing::Coder;

/// Most ranges that are kept; what would be one more is left out.
pub const MOST_RANGES: usize = 4096;

/// Ranges in order, none touching another.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    of: Vec<(u64, u64)>,
    bytes: u64,
}

impl Ranges {
    /// All of it; `una` is near. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, una: u64) {
        let Ranges { of, bytes } = self;
        let mut count = of.len() as u64;
        c.word(&mut count);
        c.word(bytes);
        if C::READS {
            of.clear();
            of.resize(count as usize, (0, 0));
        }
        let mut before = una;
        for (start, end) in of {
            c.near(start, before);
            c.near(end, *start);
            before = *end;
        }
    }

    /// Forgets all; the room of many is given back.
    pub fn clear(&mut self, kept: usize) {
        self.bytes = 0;
        self.of.clear();
        if self.of.capacity() > kept {
            self.of = Vec::new();
        }
    }

    /// Bytes in all of them.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// End of the last one; 0 without any.
    #[inline]
    pub fn end(&self) -> u64 {
        self.of.last().map_or(0, |r| r.1)
    }

    /// Adds `start..end` and calls `fresh` with every part that was not there, in order. False: there are too many
    /// ranges, and nothing was done.
    pub fn add(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) -> bool {
        if start >= end {
            return true;
        }
        // Ranges that overlap or touch it.
        let first = self.of.partition_point(|r| r.1 < start);
        let behind = first + self.of[first..].partition_point(|r| r.0 <= end);
        if first == behind {
            if self.of.len() >= MOST_RANGES {
                return false;
            }
            self.of.insert(first, (start, end));
            self.bytes += end - start;
            fresh(start, end);
            return true;
        }
        let mut at = start;
        for &(s, e) in &self.of[first..behind] {
            if at < s {
                self.bytes += s - at;
                fresh(at, s);
            }
            at = at.max(e);
        }
        if at < end {
            self.bytes += end - at;
            fresh(at, end);
        }
        self.of[first] = (start.min(self.of[first].0), end.max(self.of[behind - 1].1));
        self.of.drain(first + 1..behind);
        true
    }

    /// Forgets what is below `una`.
    pub fn forget_below(&mut self, una: u64) {
        let gone = self.of.partition_point(|r| r.1 <= una);
        for r in self.of.drain(..gone) {
            self.bytes -= r.1 - r.0;
        }
        if let Some(r) = self.of.first_mut().filter(|r| r.0 < una) {
            self.bytes -= una - r.0;
            r.0 = una;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_reported() {
        let mut ranges = Ranges::default();
        let mut add = |s, e| {
            let mut parts = Vec::new();
            assert!(ranges.add(s, e, |a, b| parts.push((a, b))));
            parts
        };
        assert_eq!(add(10, 20), [(10, 20)]);
        assert_eq!(add(30, 40), [(30, 40)]);
        assert_eq!(add(5, 45), [(5, 10), (20, 30), (40, 45)]);
        assert_eq!(add(5, 45), []);
        assert_eq!(add(45, 50), [(45, 50)]);
        assert_eq!((ranges.of.as_slice(), ranges.bytes()), ([(5, 50)].as_slice(), 45));
        ranges.forget_below(7);
        assert_eq!((ranges.bytes(), ranges.end()), (43, 50));
    }

    #[test]
    fn there_are_never_more_than_the_cap() {
        let mut ranges = Ranges::default();
        let taken = (0..5000u64).filter(|i| ranges.add(i * 10, i * 10 + 5, |_, _| {})).count();
        assert_eq!((taken, ranges.bytes()), (MOST_RANGES, 5 * MOST_RANGES as u64));
    }
}
