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
}

impl Timers {
    pub fn new() -> Timers {
        Timers { at: [Time::NEVER; COUNT] }
    }

    #[inline]
    pub fn set(&mut self, t: Timer, at: Time) {
        self.at[t as usize] = at;
    }

    /// Sets timer `t` to `at` unless it is due before.
    #[inline]
    pub fn set_earlier(&mut self, t: Timer, at: Time) {
        let slot = &mut self.at[t as usize];
        *slot = at.min(*slot);
    }

    #[inline]
    pub fn clear(&mut self, t: Timer) {
        self.at[t as usize] = Time::NEVER;
    }

    #[inline]
    pub fn is_set(&self, t: Timer) -> bool {
        self.at[t as usize].is_set()
    }

    /// The earliest deadline.
    #[inline]
    pub fn next(&self) -> Time {
        self.at.iter().copied().fold(Time::NEVER, Time::min)
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
        self.at = [Time::NEVER; COUNT];
    }
}
