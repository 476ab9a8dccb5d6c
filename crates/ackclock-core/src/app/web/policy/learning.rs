//! One more connection with every page that went well, half as many after one that did not: what controls windows, applied to
//! connections. There for comparison.
//!
//! What "well" means is one of two signs that a client can see: [`Sign::Loss`], no segment came out of order (`tcpi_rcv_ooopack` of
//! Linux), and [`Sign::Delay`], no object's first byte took more than twice the shortest handshake so far.

use super::{Policy, Received, View};
use crate::time::{Span, Time};

/// What tells that there were too many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Segments that came out of order.
    Loss,
    /// Requests that waited.
    Delay,
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Learning {
    sign: Sign,
    most: u32,
    /// For this page.
    allowed: u32,
    /// The shortest handshake so far.
    rtt: Option<Span>,
    /// Objects of the page came, and the sign was seen.
    came: bool,
    seen: bool,
}

impl Learning {
    /// By this sign, at most so many connections; it begins with one.
    pub fn new(sign: Sign, most: u32) -> Learning {
        Learning { sign, most: most.max(1), allowed: 1, rtt: None, came: false, seen: false }
    }
}

impl Policy for Learning {
    fn begin(&mut self, _: Time) {
        if self.seen {
            self.allowed = (self.allowed / 2).max(1);
        } else if self.came {
            self.allowed = (self.allowed + 1).min(self.most);
        }
        (self.came, self.seen) = (false, false);
    }

    fn connections(&mut self, _: &View) -> u32 {
        self.allowed
    }

    fn received(&mut self, object: &Received) {
        self.came = true;
        self.seen |= match self.sign {
            Sign::Loss => object.out_of_order > 0,
            Sign::Delay => self.rtt.is_some_and(|rtt| object.first_byte.since(object.requested).0 > 2 * rtt.0),
        };
    }

    fn connected(&mut self, took: Span) {
        self.rtt = Some(self.rtt.map_or(took, |least| least.min(took)));
    }

    fn failed(&mut self) {
        self.seen = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: View = View { now: Time(0), open: 0, connected: 0, under_way: 0, waiting: 9, received: 0 };

    /// A page with an object that waited so long and so many segments out of order; how many connections it had.
    fn page(policy: &mut Learning, waited: u64, out_of_order: u64) -> u32 {
        policy.begin(Time(0));
        policy.connected(Span(50));
        let first_byte = Time(100 + waited);
        let object =
            Received { now: first_byte, bytes: 1, requested: Time(100), first_byte, out_of_order, under_way: 0 };
        policy.received(&object);
        policy.connections(&VIEW)
    }

    #[test]
    fn one_more_after_a_page_without_the_sign_and_half_after_one_with_it() {
        let mut loss = Learning::new(Sign::Loss, 4);
        assert_eq!([0, 0, 0, 0, 1, 0, 2].map(|n| page(&mut loss, 900, n)), [1, 2, 3, 4, 4, 2, 3]);
        loss.begin(Time(0));
        assert_eq!(loss.connections(&VIEW), 1);
        loss.begin(Time(0));
        assert_eq!(loss.connections(&VIEW), 1, "nothing came");
        let mut delay = Learning::new(Sign::Delay, 4);
        assert_eq!([100, 100, 101, 50].map(|ms| page(&mut delay, ms, 7)), [1, 2, 3, 1]);
        delay.failed();
        delay.begin(Time(0));
        assert_eq!(delay.connections(&VIEW), 1);
    }
}
