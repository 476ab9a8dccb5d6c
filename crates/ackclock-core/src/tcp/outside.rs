//! What reaches a controller otherwise than by acknowledgments and losses: the time it asked for, and decisions from
//! outside.

use super::endpoint::{Endpoint, State};
use super::sender::Sender;
use super::timers::Timer;
use crate::cc::{Control, Decision, Interval, Pacing};
use crate::time::{Span, Time};

impl Sender {
    fn on_wake(&mut self, now: Time) {
        let pacing = self.control().pacing;
        self.tcb.decide(now, |cc, cx| cc.on_wake(cx));
        self.renew_pacing(now, pacing);
    }

    fn decide(&mut self, now: Time, decision: &Decision) -> bool {
        let pacing = self.control().pacing;
        let taken = self.tcb.decide(now, |cc, cx| cc.on_decision(cx, decision));
        self.renew_pacing(now, pacing);
        taken
    }

    /// The controller decided at a time of its own or another's; `before` it paced like this.
    fn renew_pacing(&mut self, now: Time, before: Pacing) {
        let tcb = &self.tcb;
        let control = tcb.congestion.control();
        if control.pacing != before {
            self.pacer.renew(now, control, tcb.board.outstanding(), tcb.rtt.smoothed());
        }
    }

    #[inline]
    fn control(&self) -> &Control {
        self.tcb.congestion.control()
    }

    /// What the controller measured up to its last waking, if it measures for somebody outside.
    pub fn interval(&self) -> Option<&Interval> {
        self.tcb.congestion.interval()
    }

    /// Payload bytes acknowledged so far, selectively or cumulatively.
    pub fn delivered(&self) -> u64 {
        self.tcb.board.payload_of(self.tcb.congestion.delivered())
    }

    /// Payload bytes declared lost so far.
    pub fn lost(&self) -> u64 {
        self.tcb.board.lost_payload()
    }
}

impl Endpoint {
    /// Sees to it that the controller is woken when it asks for it. Costs a comparison as long as it does not.
    #[inline(always)]
    pub(super) fn mind_wake(&mut self, now: Time) {
        if self.tx.control().wake_at != self.wake_at {
            self.set_wake(now);
        }
    }

    #[cold]
    fn set_wake(&mut self, now: Time) {
        self.wake_at = self.tx.control().wake_at;
        if self.wake_at.is_set() && self.state() == State::Established {
            // One that has passed would otherwise be due before now.
            self.timers.set(Timer::Wake, self.wake_at.max(now + Span(1)));
        } else {
            self.timers.clear(Timer::Wake);
        }
    }

    /// Whether the controller is to be woken at `now`.
    #[inline]
    pub fn wakes(&self, now: Time) -> bool {
        self.timers.at(Timer::Wake) <= now
    }

    /// Whether the connection is established.
    pub fn is_established(&self) -> bool {
        self.state() == State::Established
    }

    /// Wakes the controller if it asked for this time. [`Endpoint::on_timer`] does so before all else: whoever calls this
    /// before that may let somebody outside decide in between.
    #[inline]
    pub fn wake(&mut self, now: Time) -> bool {
        self.wakes(now) && self.wake_controller(now)
    }

    #[cold]
    fn wake_controller(&mut self, now: Time) -> bool {
        self.timers.clear(Timer::Wake);
        // Nothing is left to decide when everything is closed and acknowledged.
        if self.state() != State::Established || self.finished() {
            return false;
        }
        self.tx.on_wake(now);
        self.mind_wake(now);
        true
    }

    /// Wakes the controller before the time it asked for.
    pub fn wake_early(&mut self, now: Time) {
        self.tx.on_wake(now);
        self.mind_wake(now);
    }

    /// Lets somebody outside decide for the controller at `now`; what may leave by it is then waiting in
    /// [`Endpoint::poll_transmit`]. False when the controller decides some of it itself, and while the connection is not
    /// established.
    pub fn decide(&mut self, now: Time, decision: &Decision) -> bool {
        let taken = self.state() == State::Established && self.tx.decide(now, decision);
        self.mind_wake(now);
        taken
    }
}
