//! As many connections as it takes to fill the path, as long as throughput rises with them.
//!
//! **What it needs at first.** The main object's first flight comes as a train of packets: bytes behind its first byte over the
//! time they took are the rate that the path gives this client. With the shortest handshake so far that is a
//! bandwidth-delay product, and the number of connections is how many initial windows it has: each connection brings one in
//! its first round trip, in which a new connection cannot do more (RFC 6928).
//!
//! **While the page comes.** Per round, in which as many objects come as connections are allowed, and two at least, the
//! throughput is taken, and after it one connection more is allowed. After two rounds that were not a tenth above the best
//! one before them it has reached a plateau, and stays.
//!
//! **When the path is full already.** A handshake that takes twice as long as the shortest one says that a queue is
//! standing: then there is no more than one connection besides the first.

use super::{Policy, Received, View};
use crate::time::{Span, Time};

/// Initial window, bytes: ten segments of 1460 (RFC 6928).
const WINDOW: u64 = 14_600;
/// Rounds without a rise after which it adds nothing.
const PATIENCE: u32 = 2;
/// By so much a rise is one.
const RISE: f64 = 1.1;
/// Connections while a queue is standing.
const CROWDED: u32 = 2;

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
    /// Bytes of the round, objects still to come in it, and its begin.
    round: (u64, u32, Time),
    /// Throughput of the best round, bytes per nanosecond, and rounds since that were not better.
    best: f64,
    flat: u32,
}

impl Adaptive {
    /// At most so many connections; the initial window, 0: [`WINDOW`].
    pub fn new(most: u32, window: u64) -> Adaptive {
        let window = if window == 0 { WINDOW } else { window };
        Adaptive {
            most: most.max(1),
            window,
            rtt: None,
            handshake: None,
            allowed: 1,
            round: (0, 0, Time::ZERO),
            best: 0.0,
            flat: 0,
        }
    }

    /// A queue is standing.
    fn crowded(&self) -> bool {
        matches!((self.handshake, self.rtt), (Some(now), Some(least)) if now.0 >= 2 * least.0)
    }

    fn bound(&self, n: u32) -> u32 {
        n.clamp(1, if self.crowded() { CROWDED.min(self.most) } else { self.most })
    }
}

impl Policy for Adaptive {
    fn begin(&mut self, now: Time) {
        (self.handshake, self.allowed, self.round, self.best, self.flat) = (None, 1, (0, 0, now), 0.0, 0);
    }

    fn connections(&mut self, _: &View) -> u32 {
        self.allowed
    }

    fn train(&self) -> u64 {
        self.window
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
        self.allowed = self.bound(u32::try_from(windows).unwrap_or(u32::MAX));
    }

    fn connected(&mut self, took: Span) {
        self.rtt = Some(self.rtt.map_or(took, |least| least.min(took)));
        self.handshake.get_or_insert(took);
    }

    fn received(&mut self, object: &Received) {
        let (bytes, left, since) = self.round;
        if left > 1 {
            self.round = (bytes + object.bytes, left - 1, since);
            return;
        }
        let took = object.now.since(since).0;
        // The first round is the main object alone.
        if bytes > 0 && took > 0 {
            let rate = (bytes + object.bytes) as f64 / took as f64;
            if rate > RISE * self.best {
                (self.best, self.flat) = (rate, 0);
            } else {
                self.flat += 1;
            }
            if self.flat < PATIENCE {
                self.allowed = self.bound(self.allowed + 1);
            }
        }
        self.round = (0, self.allowed.max(2), object.now);
    }

    fn failed(&mut self) {
        self.allowed = self.bound(self.allowed / 2);
        self.flat = PATIENCE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn view() -> View {
        View { now: Time(0), open: 1, under_way: 0, waiting: 9 }
    }

    fn object(ms: u64, bytes: u64) -> Received {
        let now = Time(ms * MS);
        Received { now, bytes, requested: Time(0), first_byte: Time(0), under_way: 0 }
    }

    #[test]
    fn as_many_initial_windows_as_the_path_holds() {
        for (kilobytes_per_ms, rtt_ms, expected) in [(1.0, 10, 1), (1.0, 100, 7), (1.25, 40, 4), (100.0, 100, 8)] {
            let mut policy = Adaptive::new(8, 0);
            policy.begin(Time(0));
            policy.connected(Span(rtt_ms * MS));
            policy.came(10_000, Span((10.0 / kilobytes_per_ms * MS as f64) as u64));
            // 1 kB/ms * 10 ms = 10 kB, less than a window; 100 kB: 6.8 windows; 50 kB: 3.4.
            assert_eq!(policy.connections(&view()), expected, "{kilobytes_per_ms} kB/ms, {rtt_ms} ms");
        }
    }

    #[test]
    fn it_adds_while_throughput_rises_and_stops_on_a_plateau() {
        let mut policy = Adaptive::new(8, 0);
        policy.begin(Time(0));
        policy.connected(Span(10 * MS));
        policy.came(10_000, Span(10 * MS));
        policy.received(&object(50, 20_000));
        assert_eq!(policy.connections(&view()), 1);
        // Rounds of two objects, then as many as there are connections; 1, 2 and 2 kB/ms, then no more.
        let mut now = 50;
        let mut allowed = Vec::new();
        for (objects, kb_per_ms) in [(2, 1), (2, 2), (3, 2), (4, 2), (4, 2), (4, 2)] {
            for _ in 0..objects {
                now += 100 / objects;
                policy.received(&object(now, kb_per_ms * 100_000 / objects));
            }
            allowed.push(policy.connections(&view()));
        }
        assert_eq!(allowed, [2, 3, 4, 4, 4, 4]);
    }

    #[test]
    fn a_standing_queue_or_a_failure_takes_them_back() {
        let mut policy = Adaptive::new(8, 0);
        policy.begin(Time(0));
        policy.connected(Span(20 * MS));
        policy.came(10_000, Span(MS));
        assert_eq!(policy.connections(&view()), 8);
        policy.failed();
        assert_eq!(policy.connections(&view()), 4);
        // The next page: its handshake took 40 ms.
        policy.begin(Time(0));
        policy.connected(Span(40 * MS));
        policy.came(10_000, Span(MS));
        assert_eq!(policy.connections(&view()), 2);
    }
}
