//! Connections and their applications.

use ackclock_core::rng::Stream;
use ackclock_core::tcp::sender::SenderStats;
use ackclock_core::tcp::Endpoint;
use ackclock_core::time::Time;

/// Bits of a routing tag that name the side: connection number and direction.
pub const SIDE_MASK: u32 = (1 << 25) - 1;
/// One hop in a routing tag.
pub const HOP: u32 = 1 << 25;
/// Most hops of a route.
pub const MAX_HOPS: usize = 127;
/// Most connections of a run.
pub const MAX_FLOWS: usize = 1 << 24;

/// The tag in [`Segment::flow`](ackclock_core::tcp::Segment): hop in the upper 7 bits, connection in the next 24,
/// direction in the last (0 from the client).
pub fn tag(flow: usize, server: bool) -> u32 {
    ((flow as u32) << 1) | u32::from(server)
}

/// One side of a connection and the route of what it sends.
pub struct Side {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Elements its segments pass.
    pub route: Box<[u32]>,
    /// The first of them.
    pub first_hop: u32,
}

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Payload delivered in order at the receiver.
    pub delivered: u64,
    /// Segments that arrived marked there.
    pub marked_segments: u64,
    /// The sender's counters.
    pub sender: SenderStats,
    /// Sum and number of RTT samples.
    pub rtt: (u128, u64),
}

/// A connection as its application sees it.
pub struct Flow {
    /// Name.
    pub id: String,
    /// Controller's name.
    pub cc: String,
    /// When the client connects.
    pub start: Time,
    /// When the source stops.
    pub stop: Time,
    /// Payload to send; none: unbounded.
    pub bytes: Option<u64>,
    /// Whether the connection is opened by a handshake.
    pub handshake: bool,
    /// The client has connected.
    pub opened: bool,
    /// The source has stopped.
    pub stopped: bool,
    /// When the last byte was delivered and the stream closed.
    pub completed: Option<Time>,
    /// Counters at the begin of the measurement.
    pub baseline: Snapshot,
    /// Integral of the window over the measurement, byte-nanoseconds, up to `cwnd_at`.
    pub cwnd_area: u128,
    /// Last change of the window.
    pub cwnd_at: Time,
    /// The window since then.
    pub cwnd: u64,
}

impl Flow {
    /// The next thing the application does.
    #[inline]
    pub fn next_action(&self) -> Time {
        if !self.opened {
            self.start
        } else if !self.stopped {
            self.stop
        } else {
            Time::NEVER
        }
    }

    /// Draws a start time uniformly from `[a, b]` nanoseconds.
    pub fn draw_start(rng: &mut Stream, a: u64, b: u64) -> Time {
        Time(a + rng.below(b.saturating_sub(a).saturating_add(1)))
    }

    /// Accounts for the window from `from` up to `now`, or up to the flow's completion, and notes its new value.
    #[inline]
    pub fn note_window(&mut self, now: Time, cwnd: u64, from: Time) {
        if now != self.cwnd_at {
            let (a, b) = (self.cwnd_at.max(from), self.completed.map_or(now, |t| t.min(now)));
            if b > a {
                self.cwnd_area += u128::from(b.0 - a.0) * u128::from(self.cwnd);
            }
            self.cwnd_at = now;
        }
        self.cwnd = cwnd;
    }
}

/// Counters of a connection: `client` sends, `server` receives.
pub fn snapshot(client: &Endpoint, server: &Endpoint) -> Snapshot {
    let rx = server.rx.stats;
    Snapshot {
        delivered: rx.delivered,
        marked_segments: rx.ce_segments,
        sender: client.tx.stats,
        rtt: client.tx.rtt().totals(),
    }
}
