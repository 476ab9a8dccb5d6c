//! Parcels on a wire: in order, or in any order where jitter or reordering lets them overtake.

use crate::packet::Parcel;
use crate::ring::Ring;
use crate::time::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Parcels between a transmitter and the far end.
#[derive(Clone, Debug)]
pub enum Flight {
    /// They come out as they went in.
    InOrder(Ring<(Time, Parcel)>),
    /// By the time they are due; of two at the same instant the one that went in first.
    Any {
        /// Those on the way.
        heap: BinaryHeap<Reverse<Entry>>,
        /// How many have entered so far.
        entered: u64,
    },
}

/// One on the way, ordered by when it is due and then by its number.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    exit: Time,
    number: u64,
    parcel: Parcel,
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.exit, self.number).cmp(&(other.exit, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl Flight {
    /// Nothing on the way.
    pub fn new(in_order: bool) -> Flight {
        if in_order { Flight::InOrder(Ring::default()) } else { Flight::Any { heap: BinaryHeap::new(), entered: 0 } }
    }

    /// Whether they come out as they went in.
    pub fn in_order(&self) -> bool {
        matches!(self, Flight::InOrder(_))
    }

    /// A parcel enters that is due at `exit`.
    #[inline]
    pub fn push(&mut self, exit: Time, parcel: Parcel) {
        match self {
            Flight::InOrder(ring) => {
                ring.push((exit, parcel));
            }
            Flight::Any { heap, entered } => {
                heap.push(Reverse(Entry { exit, number: *entered, parcel }));
                *entered += 1;
            }
        }
    }

    /// Nothing is on the way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            Flight::InOrder(ring) => ring.is_empty(),
            Flight::Any { heap, .. } => heap.is_empty(),
        }
    }

    /// When the next parcel is out.
    #[inline]
    pub fn next_due(&self) -> Time {
        match self {
            Flight::InOrder(ring) => ring.front().map_or(Time::NEVER, |e| e.0),
            Flight::Any { heap, .. } => heap.peek().map_or(Time::NEVER, |e| e.0.exit),
        }
    }

    /// The next parcel that is out at `now`, and since when.
    #[inline]
    pub fn pull(&mut self, now: Time) -> Option<(Time, Parcel)> {
        match self {
            Flight::InOrder(ring) => {
                let first = *ring.front()?;
                if first.0 > now {
                    return None;
                }
                ring.skip();
                Some(first)
            }
            Flight::Any { heap, .. } => {
                if heap.peek()?.0.exit > now {
                    return None;
                }
                heap.pop().map(|Reverse(e)| (e.exit, e.parcel))
            }
        }
    }
}
