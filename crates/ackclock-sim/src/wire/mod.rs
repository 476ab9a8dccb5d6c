//! Links in virtual time: those of [`ackclock_core::path`], and a shortcut.
//!
//! A DropTail link is solved when a packet arrives: first-in-first-out at a constant rate leaves nothing to decide
//! later, so its departure is known at once and costs no event ([`fused`]). Any other queue runs through the general
//! link of the core, which makes up for departures when something arrives or comes out. Both give the same packets at the
//! same nanoseconds; a test compares them.

pub mod fused;

pub use fused::FusedLink;

use crate::slab::Slab;
use ackclock_core::packet::Ecn;
use ackclock_core::path::{self, LinkStats, Store};
use ackclock_core::queue::Reason;
use ackclock_core::time::Time;

/// A packet on a wire: due at its far end at `exit`. The rest of what a [`Parcel`](ackclock_core::packet::Parcel) says is
/// in its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlight {
    /// When it comes out.
    pub exit: Time,
    /// Its slot, or [`crate::slab::NONE`] if it was lost.
    pub id: u32,
    /// Its bytes, link framing not included.
    pub len: u32,
}

/// What became of a packet given to a fused link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It will come out.
    Taken,
    /// It will come out; the queue marked it.
    Marked,
    /// It occupies the link but will not come out.
    Lost,
    /// The queue had no room.
    Dropped,
}

/// One link.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // the usual link stays in place: a box would cost every packet a detour
pub enum Link {
    /// DropTail or unlimited, solved on arrival.
    Fused(FusedLink),
    /// Any queue.
    General(Box<path::Link>),
}

impl Link {
    /// A packet of `len` bytes arrives, its header in slot `id`; if it will not come out its slot is freed. Returns
    /// [`Link::next_due`] if that may have changed.
    #[inline(always)]
    pub fn push(&mut self, now: Time, id: u32, len: u32, slab: &mut Slab) -> Option<Time> {
        match self {
            Link::Fused(l) => {
                match l.push(now, id, len, slab) {
                    Outcome::Taken => {}
                    Outcome::Marked => slab.get_mut(id).packet.set_ecn(Ecn::Ce),
                    Outcome::Lost => slab.drop(id),
                    Outcome::Dropped => slab.dropped(id, Reason::Full),
                }
                // What is behind others comes out after them.
                (l.in_flight() == 1).then(|| l.next_due())
            }
            Link::General(l) => {
                let sure = l.is_sure();
                l.push(now, slab.parcel(id, len), slab);
                (!sure).then(|| l.next_due())
            }
        }
    }

    /// When something is to be done.
    #[inline]
    pub fn next_due(&self) -> Time {
        match self {
            Link::Fused(l) => l.next_due(),
            Link::General(l) => l.next_due(),
        }
    }

    /// The next packet that is out at `now`, and [`Link::next_due`] after it if nothing that arrives now can change that,
    /// otherwise never; lost ones have no slot.
    #[inline]
    pub fn pull(&mut self, now: Time, slab: &mut Slab) -> Option<(InFlight, Time)> {
        match self {
            Link::Fused(l) => l.pull(now, slab),
            Link::General(l) => {
                let (exit, parcel) = l.pull(now, slab)?;
                Some((InFlight { exit, id: parcel.id, len: parcel.len }, l.sure_due()))
            }
        }
    }

    /// Settles everything due up to `now`.
    pub fn settle(&mut self, now: Time, slab: &mut Slab) {
        match self {
            Link::Fused(l) => l.settle(now),
            Link::General(l) => l.settle(now, slab),
        }
    }

    /// Packets and bytes in the queue as its limit counts them, after [`Link::settle`].
    pub fn backlog(&self) -> (u64, u64) {
        match self {
            Link::Fused(l) => l.backlog(),
            Link::General(l) => l.backlog(),
        }
    }

    /// See [`path::Link::varying_capacity`].
    pub fn varying_capacity(&self, from: Time, to: Time) -> Option<(f64, f64)> {
        match self {
            Link::Fused(_) => None,
            Link::General(l) => l.varying_capacity(from, to),
        }
    }

    /// Measurements.
    pub fn stats(&self) -> &LinkStats {
        match self {
            Link::Fused(l) => &l.common.stats,
            Link::General(l) => &l.common.stats,
        }
    }

    /// Measurements.
    pub fn stats_mut(&mut self) -> &mut LinkStats {
        match self {
            Link::Fused(l) => &mut l.common.stats,
            Link::General(l) => &mut l.common.stats,
        }
    }

    /// The run ends at `now`: packets still waiting are accounted for.
    pub fn finish(&mut self, now: Time, slab: &mut Slab) {
        self.settle(now, slab);
        if let Link::General(l) = self {
            l.finish(now);
        }
    }
}
