//! As many connections as it takes to fill the path in their first round trip, and one where the path is full already.
//!
//! **What the path holds.** The first flight of the main object comes as a train of packets: bytes behind its first byte over
//! the time that they took are the rate that the path gives this client now, others beside it included. Times the shortest
//! handshake so far that is a bandwidth-delay product, and the number of connections is how many initial windows it has:
//! each brings one in its first round trip, in which a new connection cannot send more (RFC 6928). Half a window is looked
//! at: a whole one may not be the server's, and its last segment would come a round trip later.
//!
//! **Whether the path is full.** A handshake that takes twice as long as the shortest one says that a queue of more than a
//! round trip is standing: the link is busy anyway, and further connections would only lengthen the queue and lose packets.
//!
//! A connection that fails halves their number. Sizes that have not come are not known to a client and play no part.

use super::{Policy, View};
use crate::time::{Span, Time};

/// Initial window, bytes: ten segments of 1460 (RFC 6928).
const WINDOW: u64 = 14_600;
/// Connections while a queue is standing.
const CROWDED: u32 = 1;

/// The policy.
#[derive(Clone, Debug)]
pub struct Adaptive {
    most: u32,
    window: u64,
    /// The shortest handshake so far, and the first of this page.
    rtt: Option<Span>,
    handshake: Option<Span>,
    /// What it decided for this page.
    allowed: u32,
}

impl Adaptive {
    /// At most so many connections; the initial window, 0: [`WINDOW`].
    pub fn new(most: u32, window: u64) -> Adaptive {
        let window = if window == 0 { WINDOW } else { window };
        Adaptive { most: most.max(1), window, rtt: None, handshake: None, allowed: 1 }
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
        let most = if self.crowded() { CROWDED } else { self.most };
        self.allowed = windows.clamp(1, u64::from(most)) as u32;
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

    fn allowed(policy: &mut Adaptive) -> u32 {
        policy.connections(&View { now: Time(0), open: 1, under_way: 0, waiting: 9 })
    }

    /// A page whose first handshake takes so long, and whose train of 5000 bytes comes in `took` milliseconds.
    fn page(policy: &mut Adaptive, handshake_ms: u64, took: f64) -> u32 {
        policy.begin(Time(0));
        policy.connected(Span(handshake_ms * MS));
        assert_eq!(allowed(policy), 1, "nothing is known yet");
        policy.came(5000, Span((took * MS as f64) as u64));
        allowed(policy)
    }

    #[test]
    fn as_many_initial_windows_as_the_path_holds() {
        // 1 kB/ms * 10 ms = 10 kB, less than a window; 100 kB: 6.8 windows; 1.25 kB/ms * 40 ms = 50 kB: 3.4.
        for (kilobytes_per_ms, rtt_ms, expected) in [(1.0, 10, 1), (1.0, 100, 7), (1.25, 40, 4), (100.0, 100, 8)] {
            let mut policy = Adaptive::new(8, 0);
            assert_eq!(page(&mut policy, rtt_ms, 5.0 / kilobytes_per_ms), expected, "{kilobytes_per_ms}, {rtt_ms} ms");
        }
        assert_eq!(page(&mut Adaptive::new(8, 0), 1, 0.0), 8);
        assert_eq!(page(&mut Adaptive::new(8, 50_000), 100, 5.0), 2, "windows of 50 kB");
        assert_eq!(Adaptive::new(8, 0).train(), 7300);
    }

    #[test]
    fn a_standing_queue_leaves_one_and_a_failure_half() {
        let mut policy = Adaptive::new(8, 0);
        assert_eq!(page(&mut policy, 20, 0.1), 8);
        policy.failed();
        assert_eq!(allowed(&mut policy), 4);
        assert_eq!(page(&mut policy, 39, 0.1), 8, "the round trip is still 20 ms");
        assert_eq!(page(&mut policy, 40, 0.1), 1);
        policy.failed();
        assert_eq!(allowed(&mut policy), 1);
        // Later connections of a page meet the queue that it makes itself.
        policy.begin(Time(0));
        policy.connected(Span(20 * MS));
        policy.connected(Span(60 * MS));
        policy.came(5000, Span(MS));
        assert_eq!(allowed(&mut policy), 7);
    }
}
