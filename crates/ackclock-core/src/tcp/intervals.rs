//! A set of stream positions as sorted, disjoint, non-touching intervals.
//!
//! Intervals enter near the end (new data) and leave or merge near the front (repairs), so a double-ended array with
//! binary search moves few entries; nothing walks the whole set.

use std::collections::VecDeque;

/// Sorted, disjoint, non-touching half-open intervals.
#[derive(Clone, Debug, Default)]
pub struct IntervalSet {
    spans: VecDeque<(u64, u64)>,
}

impl IntervalSet {
    /// True when nothing is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Number of intervals.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Interval number `i` from the front.
    #[inline]
    pub fn get(&self, i: usize) -> Option<(u64, u64)> {
        self.spans.get(i).copied()
    }

    /// The last interval.
    #[inline]
    pub fn last(&self) -> Option<(u64, u64)> {
        self.spans.back().copied()
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.spans.clear();
    }

    /// Index of the first interval that ends at or after `x`.
    #[inline]
    fn first_ending_at(&self, x: u64) -> usize {
        let n = self.spans.len();
        // Most calls concern the last interval or what lies behind it.
        match self.spans.back() {
            None => return 0,
            Some(&(_, end)) if end < x => return n,
            Some(&(start, _)) if start <= x => return n - 1,
            _ => {}
        }
        self.spans.partition_point(|s| s.1 < x)
    }

    /// Number of the interval that contains position `x`.
    pub fn find(&self, x: u64) -> Option<usize> {
        let i = self.first_ending_at(x + 1);
        self.spans.get(i).is_some_and(|s| s.0 <= x && x < s.1).then_some(i)
    }

    /// True when all of `start..end` is in the set.
    #[inline]
    pub fn covers(&self, start: u64, end: u64) -> bool {
        self.spans.get(self.first_ending_at(end)).is_some_and(|s| s.0 <= start && end <= s.1)
    }

    /// Adds `start..end`, calls `gap` for each part that was not there before, and returns the interval that now
    /// contains it.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64, mut gap: impl FnMut(u64, u64)) -> (u64, u64) {
        let first = self.first_ending_at(start);
        let mut i = first;
        let mut at = start;
        let mut merged = (start, end);
        while let Some(&(s, e)) = self.spans.get(i) {
            if s > end {
                break;
            }
            if at < s {
                gap(at, s);
            }
            at = at.max(e);
            merged = (merged.0.min(s), merged.1.max(e));
            i += 1;
        }
        if at < end {
            gap(at, end);
        }
        if i == first {
            self.spans.insert(first, merged);
        } else {
            self.spans[first] = merged;
            if i > first + 1 {
                self.spans.drain(first + 1..i);
            }
        }
        merged
    }

    /// Removes everything below `x`.
    #[inline]
    pub fn trim_below(&mut self, x: u64) {
        while let Some(front) = self.spans.front_mut() {
            if front.1 <= x {
                self.spans.pop_front();
            } else {
                front.0 = front.0.max(x);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_as_a_set_of_positions(ops in prop::collection::vec((0u64..120, 1u64..20), 1..60)) {
            let mut set = IntervalSet::default();
            let mut model = std::collections::BTreeSet::new();
            for (start, len) in ops {
                let mut new = Vec::new();
                let merged = set.insert(start, start + len, |a, b| new.extend(a..b));
                let expected: Vec<u64> = (start..start + len).filter(|x| model.insert(*x)).collect();
                prop_assert_eq!(new, expected);
                prop_assert!(merged.0 <= start && merged.1 >= start + len);
                let spans: Vec<_> = set.spans.iter().copied().collect();
                prop_assert!(spans.windows(2).all(|w| w[0].1 < w[1].0));
                prop_assert_eq!(spans.iter().map(|s| s.1 - s.0).sum::<u64>(), model.len() as u64);
                for x in 0..140 {
                    prop_assert_eq!(set.find(x).is_some(), model.contains(&x));
                    prop_assert_eq!(set.covers(x, x + 2), model.contains(&x) && model.contains(&(x + 1)));
                }
            }
            set.trim_below(50);
            prop_assert!((0..50).all(|x| set.find(x).is_none()));
            prop_assert!((50..140).all(|x| set.find(x).is_some() == model.contains(&x)));
        }
    }
}
