//! Segments in the order of their times, as far as they are no farther from it than so many packets.

use crate::analysis::Segment;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A segment that waits; the earliest is the greatest.
struct Waiting(Segment);

impl Waiting {
    fn key(&self) -> (i64, u64) {
        (self.0.time, self.0.number)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Keeps some segments back and gives the earliest.
#[derive(Default)]
pub struct Order {
    waiting: BinaryHeap<Waiting>,
    most: usize,
}

impl Order {
    /// Which keeps `most` back.
    pub fn new(most: usize) -> Order {
        Order { waiting: BinaryHeap::new(), most }
    }

    /// Takes a segment; gives the earliest if there are too many.
    pub fn take(&mut self, s: Segment) -> Option<Segment> {
        self.waiting.push(Waiting(s));
        if self.waiting.len() > self.most { self.earliest() } else { None }
    }

    /// The earliest.
    pub fn earliest(&mut self) -> Option<Segment> {
        self.waiting.pop().map(|waiting| waiting.0)
    }
}
