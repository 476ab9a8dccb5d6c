//! Queues: what waits for a link, who goes next, and what is dropped or marked.
//!
//! A queue is a value driven from outside: it is told the time with every call, and draws from a stream of its own. What
//! an algorithm does periodically (PIE's probability, adaptive RED's `max_p`) is caught up at the next call, which is
//! exact, because between two calls nothing in a queue changes. Times never run back.

mod codel;
#[cfg(test)]
mod codel_linux_tests;
mod departure_rate;
mod droptail;
mod dualpi2;
mod fair;
mod fattest;
mod fq_codel;
mod pie;
mod priority;
mod red;
pub mod registry;

use crate::packet::{Ecn, Parcel};
use crate::time::Time;

pub use droptail::{DropTail, Limits, Step};

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Reason {
    /// The queue had no room.
    Full,
    /// The queue exceeded a threshold (a step, or a RED average beyond its maximum).
    Threshold,
    /// An early decision by probability (RED, PIE, DualPI2).
    Early,
    /// It had waited too long for too long (CoDel), or for longer than a ramp allows (DualPI2).
    Delay,
    /// It was older than the age limit.
    Age,
    /// It exceeded the rate of a policer.
    Policed,
}

impl Reason {
    /// Every reason, in the order of the tables.
    pub const ALL: [Reason; 6] =
        [Reason::Full, Reason::Threshold, Reason::Early, Reason::Delay, Reason::Age, Reason::Policed];

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Full => "full",
            Reason::Threshold => "threshold",
            Reason::Early => "early",
            Reason::Delay => "delay",
            Reason::Age => "age",
            Reason::Policed => "policed",
        }
    }
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Who is told what a queue did.
pub trait Sink {
    /// `parcel` will not come out: it left at `at`, which is now or, for a packet that grew too old, before.
    fn dropped(&mut self, at: Time, parcel: Parcel, reason: Reason);
    /// `parcel` was marked: its ECN field is CE from here on.
    fn marked(&mut self, at: Time, parcel: &Parcel, reason: Reason);
}

/// A queueing discipline.
///
/// Every parcel given to [`Queue::enqueue`] comes out of [`Queue::dequeue`] once or goes to the sink as dropped, then or
/// later; none does both, and none is lost (conservation). A queue never holds back what it could give: it returns
/// `None` only when it is empty (work conservation).
pub trait Queue: Send {
    /// A parcel arrives while `in_service` is being transmitted. `parcel.arrived` is `now`.
    fn enqueue(&mut self, now: Time, parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink);
    /// The link is free: the next parcel to transmit.
    fn dequeue(&mut self, now: Time, sink: &mut dyn Sink) -> Option<Parcel>;
    /// What waits, without the parcel in transmission.
    fn backlog(&self) -> Backlog;
    /// Of a discipline with a queue for low latency: whether the parcel that came out last was in that one.
    fn low_latency(&self) -> Option<bool> {
        None
    }
}

/// Marks `parcel` if its transport understands ECN, and says whether it did. A packet that already carries CE counts as
/// marked, but is not reported again.
pub fn mark(now: Time, parcel: &mut Parcel, reason: Reason, sink: &mut dyn Sink) -> bool {
    match parcel.ecn {
        Ecn::NotEct => false,
        Ecn::Ce => true,
        Ecn::Ect0 | Ecn::Ect1 => {
            parcel.ecn = Ecn::Ce;
            sink.marked(now, parcel, reason);
            true
        }
    }
}

/// A sink that keeps everything, for tests.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Drops: when, what, why.
    pub dropped: Vec<(Time, Parcel, Reason)>,
    /// Marks: when, what, why.
    pub marked: Vec<(Time, Parcel, Reason)>,
}

impl Sink for Kept {
    fn dropped(&mut self, at: Time, parcel: Parcel, reason: Reason) {
        self.dropped.push((at, parcel, reason));
    }

    fn marked(&mut self, at: Time, parcel: &Parcel, reason: Reason) {
        self.marked.push((at, *parcel, reason));
    }
}
