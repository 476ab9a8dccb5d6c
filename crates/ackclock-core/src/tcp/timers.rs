//! The endpoint's timers: a fixed table, no heap.

use crate::time::Time;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Timer {
    /// Retransmission, of data, SYN or FIN.
    Rto,
    /// Delayed acknowledgment.
    DelayedAck,
    /// Zero-window probe.
    Persist,
    /// RFC 8985 reordering window.
    Reorder,
    /// The application frees room of the receive buffer.
    WindowUpdate,
}

const COUNT: usize = 5;

/// One deadline per [`Timer`].
#[derive(Clone, Debug)]
pub(super) struct Timers {
    at: [Time; COUNT],
    /// Not later than any deadline. A deadline that moves later leaves it alone: whoever waits for it wakes early,
    /// finds nothing due and asks again, which is cheaper than looking at every deadline on every segment.
    bound: Time,
}

impl Timers {
    pub fn new() -> Timers {
        Timers { at: [Time::NEVER; COUNT], bound: Time::NEVER }
    }

    #[inline]
    pub fn set(&mut self, t: Timer, at: Time) {
        self.at[t as usize] = at;
        self.bound = self.bound.min(at);
    }

    /// Sets timer `t` to `at` unless it is due before.
    #[inline]
    pub fn set_earlier(&mut self, t: Timer, at: Time) {
        let slot = &mut self.at[t as usize];
        *slot = at.min(*slot);
        self.bound = self.bound.min(at);
    }

    #[inline]
    pub fn clear(&mut self, t: Timer) {
        self.at[t as usize] = Time::NEVER;
    }

    #[inline]
    pub fn is_set(&self, t: Timer) -> bool {
        self.at[t as usize].is_set()
    }

    /// A time not later than the earliest deadline.
    #[inline]
    pub fn bound(&self) -> Time {
        self.bound
    }

    /// The earliest deadline.
    #[inline]
    pub fn next(&self) -> Time {
        self.at.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// Makes the bound exact again.
    pub fn tighten(&mut self) {
        self.bound = self.next();
    }

    /// Clears timer `t` and says whether it was due.
    pub fn take_due(&mut self, t: Timer, now: Time) -> bool {
        let due = self.at[t as usize] <= now;
        if due {
            self.clear(t);
        }
        due
    }

    pub fn clear_all(&mut self) {
        *self = Timers::new();
    }
}
