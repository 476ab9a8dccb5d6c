//! Applications: what the sources of flows do, and when.
//!
//! * [`pulse`]: packets at a given rate, always or by turns
//! * [`make`]: from the resolved run to an application
//! * [`files`]: transfers, each over a connection of its own
//! * [`drive`]: what an application does when it is due, and when data has come
//! * [`rows`]: what is reported of datagrams and transfers

pub mod drive;
pub mod files;
pub mod make;
pub mod pulse;
pub mod rows;

use crate::histogram::Histogram;
use ackclock_core::packet::{Datagram, Ecn};
use ackclock_core::rng::Stream;
use ackclock_core::time::Time;
use ackclock_core::variate::Variate;
use files::Files;
use pulse::Pulse;

/// The application of a flow.
pub enum App {
    /// Sends as fast as the transport allows: this much, or for ever.
    Bulk(Option<u64>),
    /// Writes so many bytes at every pulse.
    Writes(u64, Box<Pulse>),
    /// Sends datagrams.
    Datagrams(Box<Datagrams>),
    /// Transfers with connections of their own.
    Files(Box<Files>),
    /// Requests and answers.
    Requests(Box<Requests>),
}

/// Intervals in which a source is active.
#[derive(Clone, Debug)]
pub struct Periods {
    list: Box<[(Time, Time)]>,
    at: usize,
    active: bool,
}

impl Periods {
    /// These intervals, which come one after another.
    pub fn new(list: Vec<(Time, Time)>) -> Periods {
        Periods { list: list.into(), at: 0, active: false }
    }

    /// All of them.
    pub fn all(&self) -> &[(Time, Time)] {
        &self.list
    }

    /// When the present one ends or the next begins.
    #[inline]
    pub fn due(&self) -> Time {
        self.list.get(self.at).map_or(Time::NEVER, |p| if self.active { p.1 } else { p.0 })
    }

    /// Whether one is going on.
    #[inline]
    pub fn active(&self) -> bool {
        self.active
    }

    /// Whether nothing comes any more.
    pub fn over(&self) -> bool {
        self.at >= self.list.len()
    }

    /// What is due happens. True when an interval begins.
    fn turn(&mut self) -> bool {
        self.at += usize::from(self.active);
        self.active = !self.active;
        self.active
    }
}

/// A source and a sink of datagrams.
pub struct Datagrams {
    pub(crate) pulse: Pulse,
    pub(crate) payload: u32,
    /// Bytes of a datagram, headers included.
    pub(crate) wire: u32,
    pub(crate) ecn: Ecn,
    /// Number of the next, modulo 2^32.
    pub(crate) next: u32,
    /// Begin of the measurement.
    pub(crate) from: Time,
    /// Payload sent and received since the start, for series.
    pub(crate) total_sent: u64,
    pub(crate) total_received: u64,
    /// Packets sent within the measurement.
    pub(crate) sent: u64,
    /// Packets that arrived within it.
    pub(crate) received: u64,
    /// When the last one did.
    pub(crate) last: Time,
    /// Packets sent within it that arrived.
    pub(crate) of_sent: u64,
    /// Packets that arrived marked within it.
    pub(crate) marked: u64,
    /// Their one-way delays.
    pub(crate) delay: Histogram,
    /// Packets sent within the measurement that were under way at the end of the run.
    pub(crate) in_flight: u64,
}

impl Datagrams {
    /// The next datagram, which leaves at `now`.
    fn next_packet(&mut self, now: Time) -> Datagram {
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        self.total_sent += u64::from(self.payload);
        self.sent += u64::from(now >= self.from);
        Datagram::new(now, sequence, self.payload, self.ecn)
    }

    /// A datagram arrived; not a copy that a medium made, those count for nothing.
    fn arrived(&mut self, now: Time, packet: &Datagram) {
        self.total_received += u64::from(packet.len);
        if now < self.from {
            return;
        }
        self.received += 1;
        self.last = now;
        self.of_sent += u64::from(packet.sent() >= self.from);
        self.marked += u64::from(packet.ecn == Ecn::Ce);
        self.delay.record(now.since(packet.sent()).0);
    }

    /// A datagram, not a copy, is still under way as the run ends.
    pub(crate) fn under_way(&mut self, packet: &Datagram) {
        self.in_flight += u64::from(packet.sent() >= self.from);
    }
}

/// Requests and answers over one connection. Side 0 answers, side 1 asks: the answers take the forward route.
pub struct Requests {
    /// Bytes of a request, bytes of its answer, nanoseconds of thinking; with a stream each.
    pub(crate) draws: [(Variate, Stream); 3],
    /// Requests still to make.
    pub(crate) left: u64,
    /// Bytes asked and answered by all so far, the present one included.
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    /// The answer's size.
    pub(crate) size: u64,
    /// When the present request began; none while there is none.
    pub(crate) begun: Option<Time>,
    /// When the next is due.
    pub(crate) next: Time,
    /// Begin, end and size of those that are done.
    pub(crate) done: Vec<(Time, Time, u64)>,
}

impl Requests {
    fn draw(&mut self, which: usize, least: u64) -> u64 {
        let (variate, rng) = &mut self.draws[which];
        variate.draw_whole(rng, least)
    }
}
