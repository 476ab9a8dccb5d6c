//! Delay lines: pure propagation.

use super::{Element, Out, Port, Store};
use crate::packet::Parcel;
use crate::ring::Ring;
use crate::time::{Span, Time};

/// A FIFO in which everything takes the same time: parcels, or whatever a driver that knows its packets otherwise keeps of
/// one.
#[derive(Clone, Debug)]
pub struct DelayLine<T = Parcel> {
    delay: Span,
    ring: Ring<(Time, T)>,
}

impl<T: Copy + Default> DelayLine<T> {
    /// With this delay.
    pub fn new(delay: Span) -> DelayLine<T> {
        DelayLine { delay, ring: Ring::default() }
    }

    /// Something enters.
    #[inline]
    pub fn enter(&mut self, now: Time, what: T) {
        self.ring.push((now + self.delay, what));
    }

    /// When the next is out.
    #[inline]
    pub fn due(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |e| e.0)
    }

    /// The next that is out at `now`, and since when.
    #[inline]
    pub fn leave(&mut self, now: Time) -> Option<(Time, T)> {
        if self.ring.front()?.0 > now {
            return None;
        }
        self.ring.pop()
    }
}

impl Element for DelayLine {
    fn push(&mut self, now: Time, _port: Port, parcel: Parcel, _store: &mut dyn Store) {
        self.enter(now, parcel);
    }

    fn pull(&mut self, now: Time, _store: &mut dyn Store) -> Option<Out> {
        self.leave(now).map(|(at, parcel)| Out { at, port: 0, parcel })
    }

    fn next_due(&self) -> Time {
        self.due()
    }
}
