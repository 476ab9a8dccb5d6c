//! The deadlines of a few elements that are visited all the time, in order.

use super::{Key, NOTHING, key};
use ackclock_core::time::Time;

/// Most elements whose deadlines are kept in order one by one.
pub(super) const FEW: usize = 20;

/// One entry for each of the elements `0..count`, due or not, the earliest in front. A link that was visited is due again
/// soon: its entry passes few others.
#[derive(Clone, Debug)]
pub(super) struct Few {
    /// Sorted; behind the entries stands [`NOTHING`], which none passes.
    order: [Key; FEW + 1],
    /// When each is due. A power of two: no place need be checked.
    due: [Time; DUE],
    count: usize,
}

const DUE: usize = FEW.next_power_of_two();

impl Few {
    /// For `count` elements, at most [`FEW`], none of which is due.
    pub fn new(count: usize) -> Few {
        let mut order = [NOTHING; FEW + 1];
        for (element, k) in order.iter_mut().take(count.min(FEW)).enumerate() {
            *k = key(Time::NEVER, element as u32);
        }
        Few { order, due: [Time::NEVER; DUE], count }
    }

    /// When `element`, which is one of them, is due.
    #[inline]
    pub fn due(&self, element: u32) -> Time {
        self.due[element as usize % DUE]
    }

    /// Whether `element` is one of them.
    #[inline]
    pub fn has(&self, element: u32) -> bool {
        (element as usize) < self.count
    }

    /// The earliest entry; of two at the same time that of the lower number.
    #[inline]
    pub fn first(&self) -> Key {
        self.order[0]
    }

    /// `element`, which was in front, is due again at `at`.
    #[inline(always)]
    pub fn put_back(&mut self, element: u32, at: Time) {
        if self.order[0] as u32 == element {
            self.due[element as usize % DUE] = at;
            self.pass_earlier(0, key(at, element));
        } else {
            // The visit made another one due at once.
            self.set(element, at);
        }
    }

    /// `element` is due at `at`.
    #[inline(never)]
    pub fn set(&mut self, element: u32, at: Time) {
        self.due[element as usize % DUE] = at;
        let k = key(at, element);
        let mut i = 0;
        while self.order[i] as u32 != k as u32 {
            i += 1;
        }
        while i > 0 && self.order[i - 1] > k {
            self.order[i] = self.order[i - 1];
            i -= 1;
        }
        self.pass_earlier(i, k);
    }

    /// Writes `k` into place `i` or, past the entries that come before it, behind that.
    #[inline(always)]
    fn pass_earlier(&mut self, mut i: usize, k: Key) {
        while i < FEW && self.order[i + 1] < k {
            self.order[i] = self.order[i + 1];
            i += 1;
        }
        self.order[i] = k;
        debug_assert!(self.order[self.count] == NOTHING);
    }
}
