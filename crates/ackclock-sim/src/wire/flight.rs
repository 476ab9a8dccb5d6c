//! Packets on a wire: in order, or in any order where jitter or reordering lets them overtake.

use super::InFlight;
use ackclock_core::ring::Ring;
use ackclock_core::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Packets between a transmitter and the far end.
#[derive(Debug)]
pub enum Flight {
    /// They come out as they went in.
    InOrder(Ring<InFlight>),
    /// By the time they are due; of two at the same instant the one that went in first.
    Any {
        /// Time, number of entry, slot and bytes.
        heap: BinaryHeap<Reverse<(Time, u64, u32, u32)>>,
        /// Entries so far.
        entered: u64,
    },
}

impl Flight {
    /// Nothing on the way.
    pub fn new(in_order: bool) -> Flight {
        if in_order {
            Flight::InOrder(Ring::default())
        } else {
            Flight::Any { heap: BinaryHeap::new(), entered: 0 }
        }
    }

    /// A packet enters.
    #[inline]
    pub fn push(&mut self, p: InFlight) {
        match self {
            Flight::InOrder(ring) => {
                ring.push(p);
            }
            Flight::Any { heap, entered } => {
                heap.push(Reverse((p.exit, *entered, p.id, p.len)));
                *entered += 1;
            }
        }
    }

    /// When the next packet is out.
    #[inline]
    pub fn next_due(&self) -> Time {
        match self {
            Flight::InOrder(ring) => ring.front().map_or(Time::NEVER, |e| e.exit),
            Flight::Any { heap, .. } => heap.peek().map_or(Time::NEVER, |e| e.0 .0),
        }
    }

    /// The next packet that is out at `now`.
    #[inline]
    pub fn pull(&mut self, now: Time) -> Option<InFlight> {
        if self.next_due() > now {
            return None;
        }
        match self {
            Flight::InOrder(ring) => ring.pop(),
            Flight::Any { heap, .. } => heap.pop().map(|Reverse((exit, _, id, len))| InFlight { exit, id, len }),
        }
    }
}
