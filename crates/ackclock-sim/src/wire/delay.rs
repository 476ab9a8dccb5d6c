//! Delay lines: pure propagation, shared by every hop of the same delay.

use super::InFlight;
use ackclock_core::ring::Ring;
use ackclock_core::time::{Span, Time};

/// A FIFO whose packets all take the same time.
#[derive(Clone, Debug)]
pub struct DelayLine {
    delay: Span,
    ring: Ring<InFlight>,
}

impl DelayLine {
    /// With this delay.
    pub fn new(delay: Span) -> DelayLine {
        DelayLine { delay, ring: Ring::default() }
    }

    /// A packet enters.
    #[inline]
    pub fn push(&mut self, now: Time, id: u32, len: u32) {
        self.ring.push(InFlight { exit: now + self.delay, id, len });
    }

    /// When the next packet is out.
    #[inline]
    pub fn next_due(&self) -> Time {
        self.ring.front().map_or(Time::NEVER, |e| e.exit)
    }

    /// The next packet that is out at `now`.
    #[inline]
    pub fn pull(&mut self, now: Time) -> Option<InFlight> {
        if self.ring.front()?.exit > now {
            return None;
        }
        self.ring.pop()
    }
}
