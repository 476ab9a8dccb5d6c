//! The path: elements that packets pass, one after the other.
//!
//! An element is a value driven from outside. It is given parcels with the time at which they reach it, says when the next
//! thing happens, and gives them back with the time at which they leave. It knows no header: who owns the packets keeps them
//! in a [`Store`] and carries out what elements decide. So the same element stands in a simulator, whose store holds headers
//! and whose clock jumps, and in an emulator, whose store holds bytes and whose clock runs.
//!
//! * [`Element`], [`Store`]: the contract; how an element is written is told in `docs/path.md`
//! * [`Link`]: a link with any queue, any pace and any medium; [`LinkParams`]: its description as plain data
//! * [`DelayLine`]: propagation alone; [`registry`]: further elements by name
//! * [`LinkStats`]: what is measured at a link
//!
//! At the same instant a link first ends the transmission and then takes the arrival: who arrives just then still finds the
//! packet that leaves in its place, as in Linux, ns-3 and ns-2. Acknowledgments come back at the pace of the link, so this
//! happens for hundreds of packets in a row, not by accident.

mod aggregate;
mod delay;
mod flight;
mod half_duplex;
mod link;
mod params;
pub mod registry;
mod stats;
#[cfg(test)]
mod testing;

use crate::packet::Parcel;
use crate::queue::Reason;
use crate::time::Time;

pub use delay::DelayLine;
pub use flight::Flight;
pub use link::{Common, Link, Parts};
pub use params::{Bucket, Event, JitterParams, LinkParams, LossParams, Pace, QueueParams, Refusal, Setting};
pub use stats::{LinkStats, REASONS};

/// One of the ways into or out of an element, counted from 0. A link has one; a cell has one for each user and direction.
pub type Port = u16;

/// Who owns the packets.
pub trait Store {
    /// Packet `id` was dropped or lost: no element will name it again.
    fn drop(&mut self, id: u32);
    /// As [`Store::drop`], by a decision with a reason: for owners who keep it.
    fn dropped(&mut self, id: u32, reason: Reason) {
        let _ = reason;
        self.drop(id);
    }
    /// Packet `id` is marked: its ECN field becomes CE. It is asked for ECN-capable packets only.
    fn mark(&mut self, id: u32);
    /// Makes a second packet like `id` and names it; none when there is no room for another.
    fn duplicate(&mut self, id: u32) -> Option<u32>;
}

/// A parcel that has come out of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Out {
    /// When, exactly: it reaches what comes next at this time, however late the driver asks.
    pub at: Time,
    /// By which way.
    pub port: Port,
    /// What. Its length has no framing, its ECN field is as it left, `arrived` means nothing.
    pub parcel: Parcel,
}

/// A part of a path.
///
/// A driver calls with times that do not run back, each of them at most [`Element::next_due`] as long as that lies ahead:
/// it pulls what is due before it goes on. Every parcel pushed is pulled once or dropped, but for what is still inside, and
/// comes out as often again as it was duplicated (conservation); none comes out before it went in (causality).
pub trait Element: Send {
    /// How many ways in and out there are.
    fn ports(&self) -> Port {
        1
    }

    /// Whether parcels that go in and out by the same ports come out in the order in which they went in.
    fn keeps_order(&self) -> bool {
        true
    }

    /// A parcel arrives at `port`, which is below [`Element::ports`]. Its `arrived` is set by the element.
    fn push(&mut self, now: Time, port: Port, parcel: Parcel, store: &mut dyn Store);

    /// The next parcel that is out at `now` or was before; none: nothing is.
    fn pull(&mut self, now: Time, store: &mut dyn Store) -> Option<Out>;

    /// When [`Element::pull`] is to be asked next; [`Time::NEVER`] while nothing can come out.
    ///
    /// Never late: at this time nothing is overdue. Never early: a parcel is out exactly then, or, where that hangs on a
    /// decision that nobody could make before (which of the waiting goes next on a link that opens, of a queue that may drop
    /// them all), the decision falls then and the time moves on.
    fn next_due(&self) -> Time;
}

/// The last instant before `now`.
#[inline]
pub fn just_before(now: Time) -> Time {
    Time(now.0.saturating_sub(1))
}
