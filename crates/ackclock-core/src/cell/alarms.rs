//! When something is to be done for users: who is due is found without looking at the others.

use super::rlc::NEVER;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// TTIs in which users are due, the earliest first and in each the lowest number first.
#[derive(Clone, Debug, Default)]
pub struct Alarms {
    heap: BinaryHeap<Reverse<(u64, u16)>>,
}

impl Alarms {
    /// User `i` is due in TTI number `tick`, also if it is in others.
    #[inline]
    pub fn set(&mut self, tick: u64, i: usize) {
        self.heap.push(Reverse((tick, i as u16)));
    }

    /// The first TTI in which somebody is due; [`NEVER`] when nobody is.
    #[inline]
    pub fn first(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |Reverse((tick, _))| *tick)
    }

    /// Who is due in TTI number `tick` or was before, one after the other.
    #[inline]
    pub fn due(&mut self, tick: u64) -> Option<usize> {
        if self.first() > tick {
            return None;
        }
        self.heap.pop().map(|Reverse((_, i))| usize::from(i))
    }

    /// Forgets what is due first as long as it is not `valid`.
    pub fn forget(&mut self, valid: impl Fn(u64, usize) -> bool) {
        while self.heap.peek().is_some_and(|Reverse((tick, i))| !valid(*tick, usize::from(*i))) {
            self.heap.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_due_comes_in_the_order_of_time_and_number() {
        let mut alarms = Alarms::default();
        assert_eq!((alarms.first(), alarms.due(NEVER - 1)), (NEVER, None));
        for (tick, i) in [(7, 3), (5, 9), (7, 1), (5, 2), (8, 0)] {
            alarms.set(tick, i);
        }
        assert_eq!((alarms.first(), alarms.due(4)), (5, None));
        let due: Vec<usize> = std::iter::from_fn(|| alarms.due(7)).collect();
        assert_eq!(due, [2, 9, 1, 3]);
        assert_eq!(alarms.first(), 8);
        alarms.set(9, 4);
        alarms.forget(|tick, i| (tick, i) == (9, 4));
        assert_eq!(alarms.first(), 9);
    }
}
