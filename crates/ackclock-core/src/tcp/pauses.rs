//! What a paced sender does between its segments: when one has left, and until the next may.

use super::pacer::Leaving;
use super::sender::Sender;
use super::timers::{Timer, Timers};
use crate::time::Time;

impl Sender {
    /// A segment of `len` bytes of a paced sender left while everything up to position `from` was outstanding.
    #[inline(never)]
    pub(super) fn paced_left(&mut self, now: Time, len: u32, from: u64) {
        let leaving = Leaving { len, number: self.tcb.stats.sent_segments };
        let (outstanding, srtt) = (from - self.tcb.board.una(), self.tcb.rtt.smoothed());
        self.pacer.sent(now, leaving, self.tcb.congestion.control(), outstanding, srtt);
    }

    /// When the pacer lets the next segment out.
    #[inline]
    pub(super) fn gate(&self) -> Time {
        self.pacer.gate()
    }

    /// When the controller wants to be woken.
    #[inline]
    pub(super) fn wakes_at(&self) -> Time {
        self.tcb.congestion.control().wake_at
    }

    /// Behind a segment that has just left, [`Sender::poll`] for little where the pacer holds back the next. False, and
    /// nothing is done: it is to be asked.
    #[inline(always)]
    pub(super) fn pauses(&mut self, now: Time, timers: &mut Timers) -> bool {
        if self.tcb.board.outstanding() == 0 || self.recovery.is_forced() || self.tcb.congestion.needs().pairs {
            return false;
        }
        self.pause(now, self.tcb.board.pipe(), timers);
        true
    }

    /// Nothing leaves before the pacer lets it out.
    #[inline(never)]
    pub(super) fn wait_for_pacing(&mut self, now: Time, pipe: u64, timers: &mut Timers) {
        self.pause(now, pipe, timers);
    }

    /// Sets the timer for when the pacer lets something out, if that is what is waited for: no use waking for what the
    /// window holds back.
    #[inline(always)]
    fn pause(&mut self, now: Time, pipe: u64, timers: &mut Timers) {
        let gate = self.pacer.gate();
        if timers.at(Timer::Pace) != gate {
            let (len, _) = self.available();
            if len == 0 || self.tcb.board.pending() > 0 || pipe + self.tcb.board.count(len) <= self.room() {
                timers.set(Timer::Pace, gate);
            }
        }
        self.rest(now, pipe, timers);
    }

    /// See [`Endpoint::departs_next`](super::Endpoint::departs_next). In the good order that this asks for, only the last
    /// stop of a train counts for the use of the window, so that the others need not be noted.
    #[inline]
    pub(super) fn departs_next(&mut self, now: Time, timers: &mut Timers) -> bool {
        let Sender { tcb, recovery, peer, stream, .. } = self;
        let mss = u64::from(tcb.mss);
        let room = tcb.board.pipe() + tcb.board.count(tcb.mss) <= tcb.window() && tcb.board.nxt() + mss <= peer.edge();
        let sure = stream.written() == u64::MAX && !timers.is_set(Timer::Pace) && tcb.board.outstanding() > 0;
        if !room || !sure || recovery.is_forced() || tcb.congestion.needs().pairs || !self.is_undisturbed() {
            return false;
        }
        self.recovery.renew_probe(now, &self.tcb, timers);
        timers.bound() > self.pacer.gate()
    }
}
