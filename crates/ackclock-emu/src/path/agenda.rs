//! When which element is due next.

use ackclock_core::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The due times of elements. At the same instant the one with the smaller number comes first, as in the simulator.
#[derive(Debug)]
pub struct Agenda {
    due: Vec<Time>,
    /// Entries that are not the present due time of their element are old.
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Agenda {
    /// For so many elements, none of which is due.
    pub fn new(elements: usize) -> Agenda {
        Agenda { due: vec![Time::NEVER; elements], heap: BinaryHeap::with_capacity(4 * elements) }
    }

    /// `element` is due at `at`, whatever was said before.
    pub fn set(&mut self, element: u32, at: Time) {
        let due = &mut self.due[element as usize];
        if *due != at {
            *due = at;
            if at.is_set() {
                self.heap.push(Reverse((at, element)));
            }
        }
    }

    /// Who is due first, and when.
    pub fn first(&mut self) -> Option<(Time, u32)> {
        while let Some(Reverse((at, element))) = self.heap.peek().copied() {
            if self.due[element as usize] == at {
                return Some((at, element));
            }
            self.heap.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_the_earliest_and_of_those_the_one_with_the_smallest_number() {
        let mut agenda = Agenda::new(3);
        assert_eq!(agenda.first(), None);
        agenda.set(2, Time(5));
        agenda.set(1, Time(5));
        agenda.set(0, Time(9));
        assert_eq!(agenda.first(), Some((Time(5), 1)));
        agenda.set(1, Time(10));
        assert_eq!(agenda.first(), Some((Time(5), 2)));
        agenda.set(2, Time::NEVER);
        agenda.set(1, Time(5));
        assert_eq!(agenda.first(), Some((Time(5), 1)));
        agenda.set(1, Time::NEVER);
        assert_eq!(agenda.first(), Some((Time(9), 0)));
    }
}
