//! Connections and their applications.

use crate::host::{Blueprint, Datagrams};
use crate::routes::Route;
use crate::slab::Stamp;
use ackclock_core::app::Application;
use ackclock_core::app::relay::Relay;
use ackclock_core::tcp::Endpoint;
use ackclock_core::tcp::sender::SenderStats;
use ackclock_core::time::Time;
pub use ackclock_run::check::MAX_FLOWS;
use ackclock_run::periods::Periods;
pub use ackclock_run::ways::{MAX_HOPS, Path};

/// One side of a connection and the route of what it sends, within one cache line.
#[repr(align(32))]
pub struct Side {
    /// The endpoint; none for datagrams, and where there is no connection now.
    pub endpoint: Option<Box<Endpoint>>,
    /// The elements that its packets pass.
    pub route: Route,
    /// Marks its packets: a place is used again, and a packet of the connection that had it before is not of this one.
    pub stamp: Stamp,
    /// Number of its flow.
    pub flow: u32,
    /// The application is called when so many bytes have been delivered here.
    pub watch: u64,
}

/// Counters at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// Payload delivered in order at the receiver.
    pub delivered: u64,
    /// Segments that arrived marked there.
    pub marked_segments: u64,
    /// Payload acknowledged, cumulatively or selectively; the end of a stream (FIN) counts as one byte.
    pub acknowledged: u64,
    /// Payload declared lost.
    pub lost: u64,
    /// The sender's counters.
    pub sender: SenderStats,
    /// Sum and number of RTT samples.
    pub rtt: (u128, u64),
    /// Smallest and largest of them, nanoseconds; without samples the first is above the second.
    pub extremes: (u64, u64),
}

impl Default for Snapshot {
    fn default() -> Snapshot {
        let sender = SenderStats::default();
        Snapshot {
            delivered: 0,
            marked_segments: 0,
            acknowledged: 0,
            lost: 0,
            sender,
            rtt: (0, 0),
            extremes: (u64::MAX, 0),
        }
    }
}

impl Snapshot {
    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &Snapshot) {
        // Every field by name: one that is new must not be forgotten.
        let SenderStats {
            sent_bytes,
            sent_segments,
            retransmitted_bytes,
            retransmitted_segments,
            timeouts,
            recoveries,
            acks,
            dup_acks,
            dsacks,
            tlp_probes,
            tlp_recoveries,
            spurious_timeouts,
            undos,
            ecn_reductions,
            marked_bytes,
        } = other.sender;
        self.delivered += other.delivered;
        self.marked_segments += other.marked_segments;
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.rtt = (self.rtt.0 + other.rtt.0, self.rtt.1 + other.rtt.1);
        self.extremes = (self.extremes.0.min(other.extremes.0), self.extremes.1.max(other.extremes.1));
        let s = &mut self.sender;
        s.sent_bytes += sent_bytes;
        s.sent_segments += sent_segments;
        s.retransmitted_bytes += retransmitted_bytes;
        s.retransmitted_segments += retransmitted_segments;
        s.timeouts += timeouts;
        s.recoveries += recoveries;
        s.acks += acks;
        s.dup_acks += dup_acks;
        s.dsacks += dsacks;
        s.tlp_probes += tlp_probes;
        s.tlp_recoveries += tlp_recoveries;
        s.spurious_timeouts += spurious_timeouts;
        s.undos += undos;
        s.ecn_reductions += ecn_reductions;
        s.marked_bytes += marked_bytes;
    }
}

/// A flow of the document: two applications and what they are known by. The place of its own connection, or of its
/// datagrams, has the number of the flow; those of further connections come after all flows.
pub struct Flow {
    /// Name.
    pub id: String,
    /// Controller's name.
    pub cc: String,
    /// Its application's.
    pub kind: &'static str,
    /// When the source becomes active first.
    pub start: Time,
    /// When it is active.
    pub periods: Periods,
    /// The applications at its two ends; none while it is called.
    pub apps: [Option<Box<dyn Application>>; 2],
    /// Which of them opens connections and is told of the periods.
    pub opens: usize,
    /// It has become active.
    pub began: bool,
    /// It has connections as it needs them, none of its own.
    pub many: bool,
    /// It consists of transfers.
    pub in_transfers: bool,
    /// What its connections are made from; none for one that has its own alone.
    pub blueprint: Option<Box<Blueprint>>,
    /// Places of its connections.
    pub open: Vec<u32>,
    /// How many it has opened.
    pub opened: u64,
    /// Counters of those that are over, if any are, and the integral of their windows.
    pub ended: Option<Box<Snapshot>>,
    /// See [`Conn::cwnd_area`].
    pub ended_area: u128,
    /// Of those that are over and failed: number of the first, why, and how many.
    pub failed: Option<(u64, &'static str, usize)>,
    /// What its applications reported.
    pub transfers: Vec<Transfer>,
    /// When they reported that everything is done.
    pub completed: Option<Time>,
    /// Datagrams, if it sends such.
    pub datagrams: Option<Box<Datagrams>>,
    /// Whether its connections are opened by a handshake.
    pub handshake: bool,
    /// What the way would take at best.
    pub path: Path,
    /// Counters at the begin of the measurement, if it begins after the run.
    pub baseline: Option<Box<Snapshot>>,
    /// Its part in a split flow; most have none.
    pub split: Option<Box<Split>>,
}

/// The part of a flow in one that a relay splits.
pub enum Split {
    /// It is split: the numbers of its legs, the relay but while that is called, and the number of its node.
    Whole([u32; 2], Option<Relay>, u32),
    /// It is a leg, number 0 or 1, of this flow, whose relay has so many bytes of buffer.
    Leg(u32, usize, u64),
}

impl Flow {
    /// Counters of its connections that are over.
    pub fn ended(&self) -> Snapshot {
        self.ended.as_deref().copied().unwrap_or_default()
    }

    /// Counters at the begin of the measurement.
    pub fn baseline(&self) -> Snapshot {
        self.baseline.as_deref().copied().unwrap_or_default()
    }

    /// The next thing that happens at its ends by itself.
    pub fn due(&self) -> Time {
        let app = |end: usize| self.apps[end].as_ref().map_or(Time::NEVER, |a| a.due());
        self.periods.due().min(app(0)).min(app(1))
    }
}

/// A transfer as the applications reported it.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// When it began.
    pub start: Time,
    /// When its last byte was delivered.
    pub end: Option<Time>,
    /// Its payload.
    pub bytes: u64,
}

/// A connection, or a source of datagrams, in a cache line of its own.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Conn {
    /// The flow it belongs to.
    pub flow: u32,
    /// Its number among those of the flow.
    pub number: u64,
    /// At the place that has the number of a flow: the next thing that happens at the flow's ends by itself.
    pub due: Time,
    /// When the last byte was delivered and the stream closed; never, if it is not.
    pub completed: Time,
    /// Integral of the window over the measurement, byte-nanoseconds, up to `cwnd_at`.
    pub cwnd_area: u128,
    /// Last change of the window.
    pub cwnd_at: Time,
    /// Who steps the run has woken or changed its controller since the sender was visited.
    pub decided: bool,
    /// The window since then.
    pub cwnd: u64,
}

const _: () = assert!(std::mem::size_of::<Conn>() == 64 && std::mem::size_of::<Side>() == 32);

impl Conn {
    /// One of flow number `flow` that begins at `start`.
    pub fn new(flow: usize, number: u64, start: Time) -> Conn {
        Conn {
            flow: flow as u32,
            number,
            due: Time::NEVER,
            completed: Time::NEVER,
            cwnd_area: 0,
            cwnd_at: start,
            decided: false,
            cwnd: 0,
        }
    }

    /// The last byte is delivered, and the stream closed.
    pub fn complete(&mut self, now: Time) {
        self.completed = self.completed.min(now);
    }

    /// The window is `cwnd` bytes from `now` on. What it was is accounted for from `from` on.
    #[inline]
    pub fn note_window(&mut self, now: Time, cwnd: u64, from: Time) {
        if cwnd != self.cwnd {
            self.account_window(now, from);
            self.cwnd = cwnd;
        }
    }

    /// Accounts for the window from `from` up to `now`, or up to the flow's completion.
    pub fn account_window(&mut self, now: Time, from: Time) {
        let (a, b) = (self.cwnd_at.max(from), self.completed.min(now));
        if b > a {
            self.cwnd_area += u128::from(b.0 - a.0) * u128::from(self.cwnd);
        }
        self.cwnd_at = now;
    }
}

/// Counters of a connection: `client` sends, `server` receives.
pub fn snapshot(client: &Endpoint, server: &Endpoint) -> Snapshot {
    let rx = server.rx.stats;
    let rtt = client.tx.rtt();
    Snapshot {
        delivered: rx.delivered,
        marked_segments: rx.ce_segments,
        acknowledged: client.tx.delivered(),
        lost: client.tx.lost(),
        sender: *client.tx.stats(),
        rtt: rtt.totals(),
        extremes: if rtt.max().0 > 0 { (rtt.least().0, rtt.max().0) } else { (u64::MAX, 0) },
    }
}
