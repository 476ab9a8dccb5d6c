//! The moments between the segments of a paced sender: what [`Endpoint::poll_into`] and [`Endpoint::on_timer`] do there, for
//! less.

use super::{Endpoint, State};
use crate::time::Time;

impl Endpoint {
    /// Behind a segment that [`Endpoint::poll_into`] wrote, whether the pacer holds back what would be next at `now`.
    #[inline(always)]
    pub fn holds_back(&self, now: Time) -> bool {
        self.tx.gate() > now
    }

    /// Where the pacer [holds back](Endpoint::holds_back) what would be next: whether [`Endpoint::poll_into`] would find
    /// nothing else either. If so, what it does then is done.
    #[inline]
    pub fn pauses(&mut self, now: Time) -> bool {
        let other = self.state != State::Established || self.bare_ack_due || self.rx.wants_ack_now();
        if other || !self.tx.pauses(now, &mut self.timers) {
            return false;
        }
        self.mind_wake(now);
        true
    }

    /// When the pacer lets out what is next; in the past when it does now.
    #[inline]
    pub fn gate(&self) -> Time {
        self.tx.gate()
    }

    /// Where the pacer [holds back](Endpoint::holds_back) what would be next: whether it is sure that
    /// [`Endpoint::poll_into`] writes a segment at the [gate](Endpoint::gate), unless something arrives or is asked for before,
    /// and no timer expires up to it. Who takes that up need neither poll now nor wait for a timer.
    #[inline]
    pub fn departs_next(&mut self, now: Time) -> bool {
        let other = self.bare_ack_due || self.rx.wants_ack_now() || self.tx.wakes_at() != self.wake_at;
        !other && self.state == State::Established && self.tx.departs_next(now, &mut self.timers)
    }

    /// Whether the pacer, and no other timer, is due at `now`: then its timer is done with.
    #[inline]
    pub fn departs_alone(&mut self, now: Time) -> bool {
        self.state == State::Established && self.timers.is_pacing_due(now) && self.timers.only_pacing_due(now)
    }
}
