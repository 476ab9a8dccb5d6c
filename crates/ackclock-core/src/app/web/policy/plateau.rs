//! One more connection as long as pages come faster with it. There for comparison.
//!
//! A page's rate is its bytes over the time from its beginning to its last byte. With a rate that is a tenth above the one with one
//! connection fewer there is one more for the next page; otherwise one fewer, for [`HOLD`] pages. Then it is tried again.

use super::{Policy, Received, View};
use crate::time::Time;

/// Pages before a number that did not help is tried again.
const HOLD: u32 = 8;

/// The policy.
#[derive(Clone, Debug)]
pub struct Plateau {
    most: u32,
    /// For this page.
    allowed: u32,
    /// Rate of the last page with one connection fewer, bytes per second.
    below: Option<u64>,
    /// Pages until more are tried.
    hold: u32,
    /// Of this page: its beginning, its bytes so far, and when the last of them came.
    began: Time,
    bytes: u64,
    last: Time,
}

impl Plateau {
    /// At most so many connections; it begins with one.
    pub fn new(most: u32) -> Plateau {
        let zero = Time::ZERO;
        Plateau { most: most.max(1), allowed: 1, below: None, hold: 0, began: zero, bytes: 0, last: zero }
    }

    /// Rate of the page that is over, if it had any.
    fn rate(&self) -> Option<u64> {
        let took = self.last.since(self.began).0;
        let rate = u128::from(self.bytes) * 1_000_000_000 / u128::from(took.max(1));
        (self.bytes > 0).then_some(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

impl Policy for Plateau {
    fn begin(&mut self, now: Time) {
        if let Some(rate) = self.rate() {
            if self.hold > 0 {
                self.hold -= 1;
            }
            let helped = self.below.is_none_or(|below| u128::from(rate) * 10 >= u128::from(below) * 11);
            if !helped {
                (self.allowed, self.below, self.hold) = ((self.allowed - 1).max(1), None, HOLD);
            } else if self.hold == 0 && self.allowed < self.most {
                (self.allowed, self.below) = (self.allowed + 1, Some(rate));
            } else {
                self.below = None;
            }
        }
        (self.began, self.bytes, self.last) = (now, 0, now);
    }

    fn connections(&mut self, _: &View) -> u32 {
        self.allowed
    }

    fn received(&mut self, object: &Received) {
        self.bytes += object.bytes;
        self.last = object.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of so many bytes in a second each; with how many connections each was loaded.
    fn pages<const N: usize>(policy: &mut Plateau, bytes: [u64; N]) -> [u32; N] {
        let mut now = 0;
        bytes.map(|bytes| {
            policy.begin(Time(now));
            let allowed = policy.connections(&View {
                now: Time(now),
                open: 0,
                connected: 0,
                under_way: 0,
                waiting: 9,
                received: 0,
            });
            let (requested, first_byte) = (Time(now), Time(now + 1));
            now += 1_000_000_000;
            let object = Received { now: Time(now), bytes, requested, first_byte, out_of_order: 0, under_way: 0 };
            policy.received(&object);
            now += 5_000_000_000;
            allowed
        })
    }

    #[test]
    fn it_goes_on_while_a_page_is_a_tenth_faster_and_then_rests() {
        let mut policy = Plateau::new(4);
        assert_eq!(pages(&mut policy, [100, 110, 121, 200, 200]), [1, 2, 3, 4, 4]);
        let mut policy = Plateau::new(4);
        assert_eq!(pages(&mut policy, [100, 110, 120, 100, 100]), [1, 2, 3, 2, 2], "120 is not a tenth above 110");
        assert_eq!(pages(&mut policy, [100; 9]), [2, 2, 2, 2, 2, 2, 3, 2, 2], "eight pages later");
    }
}
