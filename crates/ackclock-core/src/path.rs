//! What the elements of a path have in common.

use crate::packet::Parcel;
use crate::time::Time;

/// Why a packet did not come through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The queue had no room.
    Full,
    /// The medium lost it.
    Loss,
}

/// An element of a path: packets go in, and come out at a time the element names.
///
/// Invariants of every element: conservation (every parcel comes out or is reported to the sink once), order (first
/// in, first out, unless the element is declared to reorder), causality (nothing leaves before it came).
pub trait Element {
    /// A parcel arrives at `now`. Parcels that will not come out are handed to `sink`.
    fn push(&mut self, now: Time, parcel: Parcel, sink: &mut dyn FnMut(Parcel, Reason));
    /// The next parcel that leaves at or before `now`, with its exact time.
    fn pull(&mut self, now: Time, sink: &mut dyn FnMut(Parcel, Reason)) -> Option<(Time, Parcel)>;
    /// When [`Element::pull`] has something to do: never early, never late.
    fn next_due(&self) -> Time;
}
