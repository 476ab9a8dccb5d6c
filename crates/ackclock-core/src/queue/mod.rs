//! Queues: what waits for a link.

mod droptail;

use crate::packet::Parcel;
use crate::time::Time;

pub use droptail::{DropTail, Limits, Step};

/// Why a packet did not come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The queue had no room.
    Full,
}

/// What became of a parcel that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It waits.
    Taken,
    /// It waits, and was marked (CE) as it came.
    Marked,
    /// It found no room.
    Dropped,
}

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A queueing discipline. Parcels that are dropped, on arrival or later, go to the sink.
pub trait Queue: Send {
    /// A parcel arrives while `in_service` is being transmitted.
    fn enqueue(
        &mut self,
        now: Time,
        parcel: Parcel,
        in_service: Backlog,
        sink: &mut dyn FnMut(Parcel, Reason),
    ) -> Verdict;
    /// The link is free: the next parcel to transmit.
    fn dequeue(&mut self, now: Time, sink: &mut dyn FnMut(Parcel, Reason)) -> Option<Parcel>;
    /// What waits, without the parcel in transmission.
    fn backlog(&self) -> Backlog;
}
