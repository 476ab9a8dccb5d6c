//! As many connections as a download of `ackclock get` would have: the same code ([`Parallel`]) decides, from page to page.
//!
//! It is told of windows of loading: time in which all connections that are wanted were at work and objects waited for
//! them, and what came meanwhile. The time in which a page has too little to do, or connections are being opened, says
//! nothing about their number and does not count, so that a window may be put together from several pages. A client sees
//! neither the sender's window nor the round trips of its connections: for these stand the waits for first bytes, over
//! the shortest handshake.

use super::{Policy, Received, View};
use crate::app::parallel::{Parallel, Window, evidence::LOW, length};
use crate::math::float;
use crate::time::{Span, Time};

/// Payload of a segment, bytes.
const SEGMENT: u64 = 1448;

/// The policy.
#[derive(Clone, Debug)]
pub struct Download {
    decides: Parallel,
    /// The shortest handshake so far.
    rtt: Option<Span>,
    /// When and at how many bytes the last look was, if everything was at work from then on.
    since: Option<(Time, u64)>,
    /// Connections at work at the last look.
    at_work: u32,
    window: Sums,
}

/// What a window has so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    took: Span,
    bytes: u64,
    losses: u64,
    low_losses: u64,
    /// Sum of waits over the shortest handshake, and of how many objects.
    inflation: (f64, u64),
}

impl Download {
    /// At most so many connections.
    pub fn new(most: u32) -> Download {
        Download { decides: Parallel::new(most), rtt: None, since: None, at_work: 0, window: Sums::default() }
    }

    fn close_window(&mut self) {
        let sums = std::mem::take(&mut self.window);
        self.decides.window(&Window {
            took: sums.took,
            bytes: sums.bytes,
            connections: self.decides.decision().connections,
            segments: Some(sums.bytes / SEGMENT),
            losses: Some(sums.losses),
            low_losses: sums.low_losses,
            inflation: (sums.inflation.1 > 0).then(|| sums.inflation.0 / float(sums.inflation.1)),
            window_limited: None,
            held_back: false,
        });
    }
}

impl Policy for Download {
    fn begin(&mut self, _: Time) {
        (self.since, self.at_work) = (None, 0);
    }

    fn connections(&mut self, view: &View) -> u32 {
        if let Some((then, bytes)) = self.since {
            self.window.took = self.window.took + view.now.since(then);
            self.window.bytes += view.received.saturating_sub(bytes);
            if self.window.took >= length(self.rtt) {
                self.close_window();
            }
        }
        let wanted = self.decides.decision().connections;
        self.at_work = view.connected.min(view.under_way + view.waiting).min(wanted);
        self.since = (view.waiting > 0 && self.at_work == wanted).then_some((view.now, view.received));
        wanted
    }

    fn received(&mut self, object: &Received) {
        let (Some(rtt), true) = (self.rtt, self.since.is_some()) else { return };
        let waited = float(object.first_byte.since(object.requested).0) / float(rtt.0.max(1));
        self.window.inflation = (self.window.inflation.0 + waited.max(1.0), self.window.inflation.1 + 1);
        if object.out_of_order > 0 {
            self.window.losses += 1;
            self.window.low_losses += u64::from(waited <= LOW);
        }
    }

    fn connected(&mut self, took: Span) {
        self.rtt = Some(self.rtt.map_or(took, |least| least.min(took)));
    }

    fn failed(&mut self) {
        self.since = None;
        let others = self.at_work.saturating_sub(1);
        if others > 0 {
            self.decides.refused(others);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::parallel::Why;

    const MS: u64 = 1_000_000;

    /// A path of 20 ms on which `rate` tells what so many connections get, bytes per millisecond.
    struct Path {
        policy: Download,
        now: u64,
        received: u64,
        waited: u64,
    }

    impl Path {
        fn new(most: u32) -> Path {
            let mut policy = Download::new(most);
            policy.connected(Span(20 * MS));
            Path { policy, now: 0, received: 0, waited: 20 }
        }

        fn look(&mut self, waiting: u32, connected: u32) -> u32 {
            let now = Time(self.now * MS);
            let view = View { now, open: connected, connected, under_way: 0, waiting, received: self.received };
            self.policy.connections(&view)
        }

        /// A page that loads for `ms` milliseconds at the `rate` of its number of connections; how many it ends with.
        fn page(&mut self, ms: u64, rate: impl Fn(u32) -> u64) -> u32 {
            self.policy.begin(Time(self.now * MS));
            // The main object, and the handshakes of the others.
            let mut wanted = self.look(0, 1);
            self.now += 100;
            self.look(99, 1);
            self.now += 20;
            for _ in 0..ms / 10 {
                wanted = self.look(99, wanted);
                self.now += 10;
                self.received += 10 * rate(wanted);
                let (first_byte, requested) = (Time(self.now * MS), Time((self.now - self.waited) * MS));
                let (bytes, now) = (10 * rate(wanted), Time(self.now * MS));
                self.policy.received(&Received { now, bytes, requested, first_byte, out_of_order: 0, under_way: 0 });
            }
            self.look(0, wanted)
        }
    }

    #[test]
    fn connections_double_from_page_to_page_while_each_brings_its_own_rate() {
        let mut path = Path::new(8);
        let mut last = 0;
        // Four are all that the path has.
        let ends: Vec<u32> = (0..60).map(|_| path.page(700, |n| 1000 * u64::from(n.min(4)))).collect();
        assert_eq!(ends[0], 1);
        for end in &ends {
            assert!(*end == last || *end == 2 * last || *end == last / 2 || last == 0, "{ends:?}");
            last = *end;
        }
        assert!(ends.contains(&8), "tried: {ends:?}");
        assert_eq!((last, path.policy.decides.decision().why), (4, Why::NoGain));
    }

    #[test]
    fn where_requests_wait_there_is_one() {
        let mut path = Path::new(8);
        path.waited = 31;
        assert!((0..60).all(|_| path.page(700, |n| 1000 * u64::from(n)) == 1));
        assert_eq!(path.policy.decides.decision().why, Why::Queue);
    }

    #[test]
    fn time_with_nothing_to_wait_for_does_not_count_and_failures_say_how_many_there_are() {
        let mut path = Path::new(8);
        for _ in 0..100 {
            path.policy.begin(Time(path.now * MS));
            path.look(0, 1);
            path.now += 5000;
            path.received += 10;
        }
        assert_eq!(path.policy.decides.decision().why, Why::Start);
        while path.page(700, |n| 1000 * u64::from(n)) < 4 {}
        path.look(99, 4);
        path.policy.failed();
        assert_eq!((path.look(99, 3), path.policy.decides.decision().why), (3, Why::Refused));
    }
}
