//! As many connections as it takes to fill the path in their first round trip, fewer where requests begin to wait, and one
//! where the path is full already.
//!
//! **What the path holds.** The first flight of the main object comes as a train of packets: bytes behind its first byte over
//! the time that they took are the rate that the path gives this client now, others beside it included. Times the shortest
//! handshake so far that is a bandwidth-delay product, and the number of connections is how many initial windows it has:
//! each brings one in its first round trip, in which a new connection cannot send more (RFC 6928). Half a window is looked
//! at: a whole one may not be the server's, and its last segment would come a round trip later. It is never less than
//! [`Limits::least`]: while one connection waits for what it requested, others use the path.
//!
//! **Whether requests wait.** When the first byte of an object comes more than three of the shortest handshakes after its
//! request, the connections of this page have filled a queue in one of the directions, that of their acknowledgments
//! included. One fewer is used from then on, down to the least: objects that wait go to connections whose windows are open
//! already, which fill the path with fewer.
//!
//! **Whether the path is full.** A first handshake that takes twice as long as the shortest one says that a queue of more
//! than a round trip is standing, and nothing of this page is in it: further connections would only lengthen it. It stays at one.
//!
//! A connection that fails halves their number. Sizes that have not come are not known to a client and play no part.

use super::{Policy, Received, View};
use crate::time::{Span, Time};

/// Initial window, bytes: ten segments of 1460 (RFC 6928).
const WINDOW: u64 = 14_600;
/// Connections while a queue of others is standing.
const CROWDED: u32 = 1;
/// Handshakes after which a request has waited.
const PATIENCE: u64 = 3;

/// Between how many connections it chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// As many where the path is not full at the start of the page.
    pub least: u32,
    /// At most so many; it wins where it is below the least.
    pub most: u32,
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Adaptive {
    limits: Limits,
    window: u64,
    /// The shortest handshake so far, and the first of this page.
    rtt: Option<Span>,
    handshake: Option<Span>,
    /// What it decided for this page.
    allowed: u32,
}

impl Adaptive {
    /// So many connections; the initial window, 0: [`WINDOW`].
    pub fn new(limits: Limits, window: u64) -> Adaptive {
        let window = if window == 0 { WINDOW } else { window };
        let most = limits.most.max(1);
        let limits = Limits { least: limits.least.clamp(1, most), most };
        Adaptive { limits, window, rtt: None, handshake: None, allowed: 1 }
    }

    /// A queue is standing.
    fn crowded(&self) -> bool {
        matches!((self.handshake, self.rtt), (Some(now), Some(least)) if now.0 >= 2 * least.0)
    }
}

impl Policy for Adaptive {
    fn begin(&mut self, _: Time) {
        (self.handshake, self.allowed) = (None, 1);
    }

    fn connections(&mut self, _: &View) -> u32 {
        self.allowed
    }

    fn train(&self) -> u64 {
        self.window / 2
    }

    fn came(&mut self, bytes: u64, took: Span) {
        let Some(rtt) = self.rtt else { return };
        // What came at once came faster than a clock can tell: there is room for anything.
        let windows = if took.0 == 0 {
            u64::MAX
        } else {
            let bdp = u128::from(bytes) * u128::from(rtt.0) / u128::from(took.0);
            u64::try_from(bdp.div_ceil(u128::from(self.window))).unwrap_or(u64::MAX)
        };
        let Limits { least, most } = self.limits;
        self.allowed = if self.crowded() { CROWDED } else { windows.clamp(u64::from(least), u64::from(most)) as u32 };
    }

    fn received(&mut self, object: &Received) {
        let Some(rtt) = self.rtt else { return };
        let waited = object.first_byte.since(object.requested);
        // One that is allowed fewer, as after a failure or in a crowd, is not given more.
        if waited.0 > PATIENCE * rtt.0 && self.allowed > self.limits.least {
            self.allowed -= 1;
        }
    }

    fn connected(&mut self, took: Span) {
        self.rtt = Some(self.rtt.map_or(took, |least| least.min(took)));
        self.handshake.get_or_insert(took);
    }

    fn failed(&mut self) {
        self.allowed = (self.allowed / 2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn new(least: u32, most: u32, window: u64) -> Adaptive {
        Adaptive::new(Limits { least, most }, window)
    }

    fn allowed(policy: &mut Adaptive) -> u32 {
        policy.connections(&View { now: Time(0), open: 1, connected: 1, under_way: 0, waiting: 9, received: 0 })
    }

    /// A page whose first handshake takes so long, and whose train of 5000 bytes comes in `took` milliseconds.
    fn page(policy: &mut Adaptive, handshake_ms: u64, took: f64) -> u32 {
        policy.begin(Time(0));
        policy.connected(Span(handshake_ms * MS));
        assert_eq!(allowed(policy), 1, "nothing is known yet");
        policy.came(5000, Span((took * MS as f64) as u64));
        allowed(policy)
    }

    /// An object comes whose first byte took so long.
    fn object(policy: &mut Adaptive, waited_ms: u64) -> u32 {
        let (requested, first_byte) = (Time(7 * MS), Time((7 + waited_ms) * MS));
        let now = Time(10_000 * MS);
        policy.received(&Received { now, bytes: 1, requested, first_byte, out_of_order: 0, under_way: 0 });
        allowed(policy)
    }

    #[test]
    fn as_many_initial_windows_as_the_path_holds() {
        // 1 kB/ms * 10 ms = 10 kB, less than a window; 100 kB: 6.8 windows; 1.25 kB/ms * 40 ms = 50 kB: 3.4.
        for (kilobytes_per_ms, rtt_ms, expected) in [(1.0, 10, 1), (1.0, 100, 7), (1.25, 40, 4), (100.0, 100, 8)] {
            let mut policy = new(1, 8, 0);
            assert_eq!(page(&mut policy, rtt_ms, 5.0 / kilobytes_per_ms), expected, "{kilobytes_per_ms}, {rtt_ms} ms");
            assert_eq!(page(&mut new(3, 8, 0), rtt_ms, 5.0 / kilobytes_per_ms), expected.max(3));
        }
        assert_eq!(page(&mut new(1, 8, 0), 1, 0.0), 8);
        assert_eq!(page(&mut new(1, 8, 50_000), 100, 5.0), 2, "windows of 50 kB");
        assert_eq!(page(&mut new(3, 2, 0), 1, 0.0), 2, "the most wins");
        assert_eq!(new(1, 8, 0).train(), 7300);
    }

    #[test]
    fn a_standing_queue_leaves_one_and_a_failure_half() {
        let mut policy = new(3, 8, 0);
        assert_eq!(page(&mut policy, 20, 0.1), 8);
        policy.failed();
        assert_eq!(allowed(&mut policy), 4);
        assert_eq!(page(&mut policy, 39, 0.1), 8, "the round trip is still 20 ms");
        assert_eq!(page(&mut policy, 40, 0.1), 1);
        assert_eq!(object(&mut policy, 500), 1);
        policy.failed();
        assert_eq!(allowed(&mut policy), 1);
        // Later connections of a page meet the queue that it makes itself.
        policy.begin(Time(0));
        policy.connected(Span(20 * MS));
        policy.connected(Span(60 * MS));
        policy.came(5000, Span(MS));
        assert_eq!(allowed(&mut policy), 7);
    }

    #[test]
    fn requests_that_wait_for_three_round_trips_take_one_away_each() {
        let mut policy = new(3, 6, 0);
        assert_eq!(page(&mut policy, 20, 0.1), 6);
        let waits = [60, 61, 60, 900, 20, 61, 61];
        assert_eq!(waits.map(|ms| object(&mut policy, ms)), [6, 5, 5, 4, 4, 3, 3]);
        assert_eq!(page(&mut policy, 20, 0.1), 6, "the next page begins anew");
    }
}
