//! The endpoint's timers: a fixed table, no heap.

use crate::time::{Span, Time};

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Timer {
    /// Retransmission, of data, SYN or FIN.
    Rto,
    /// Delayed acknowledgment.
    DelayedAck,
    /// Linux's compressed acknowledgment, and that of what has been read.
    CompressedAck,
    /// RFC 8985 tail loss probe.
    Probe,
    /// RFC 8985 reordering window.
    Reorder,
    /// Zero-window probe.
    Persist,
    /// The application frees room of the receive buffer.
    WindowUpdate,
    /// The controller asked to be woken.
    Wake,
}

const COUNT: usize = 8;
/// Linux's timers up to this many ticks are exact to a tick; an eighth of the resolution for each eightfold length.
const EXACT_TICKS: u64 = 63;

/// One deadline per [`Timer`], and that of the pacer. What a segment touches is in the first 64 bytes.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Timers {
    /// Not later than any deadline of a [`Timer`]. A deadline that moves later leaves it alone: whoever waits for it
    /// wakes early, finds nothing due and asks again, which is cheaper than looking at every deadline on every segment.
    bound: Time,
    /// When the pacer lets the next segment out. It is no [`Timer`]: a paced sender is woken for it again and again,
    /// long before anything else is due, and then looks at nothing else.
    departure: Time,
    tick: u64,
    at: [Time; COUNT],
    /// When a timer was set that still has to be rounded up to a tick.
    rounded_from: [Time; COUNT],
}

impl Timers {
    /// Timers that expire on ticks of length `tick`; zero: exactly.
    pub fn new(tick: Span) -> Timers {
        let never = [Time::NEVER; COUNT];
        Timers { at: never, rounded_from: never, tick: tick.0, bound: Time::NEVER, departure: Time::NEVER }
    }

    /// Sets timer `t` to `at`, exactly.
    #[inline]
    pub fn set(&mut self, t: Timer, at: Time) {
        self.at[t as usize] = at;
        if self.tick > 0 {
            self.rounded_from[t as usize] = Time::NEVER;
        }
        self.bound = self.bound.min(at);
    }

    /// Sets timer `t` to expire `after` from now, or on the tick that follows.
    #[inline]
    pub fn set_after(&mut self, t: Timer, now: Time, after: Span) {
        let at = now + after;
        self.at[t as usize] = at;
        if self.tick > 0 {
            self.rounded_from[t as usize] = now;
        }
        self.bound = self.bound.min(at);
    }

    /// Sets timer `t` to expire `after` from now unless it is due before.
    #[inline]
    pub fn set_earlier(&mut self, t: Timer, now: Time, after: Span) {
        if now + after < self.at[t as usize] {
            self.set_after(t, now, after);
        }
    }

    /// When Linux's timer wheel gets to a timer of length `length` set at `from`: on a tick and never early.
    fn on_tick(&self, from: Time, length: Span) -> Time {
        let ticks = length.0.div_ceil(self.tick);
        let expiry = from.0 / self.tick + ticks;
        let mut step = 1;
        while ticks >= EXACT_TICKS.saturating_mul(step) {
            step *= 8;
        }
        Time((expiry / step + 1).saturating_mul(step).saturating_mul(self.tick))
    }

    #[inline]
    pub fn clear(&mut self, t: Timer) {
        self.at[t as usize] = Time::NEVER;
    }

    #[inline]
    pub fn is_set(&self, t: Timer) -> bool {
        self.at[t as usize].is_set()
    }

    /// When timer `t` expires, but for the rounding to a tick.
    #[inline]
    pub fn at(&self, t: Timer) -> Time {
        self.at[t as usize]
    }

    /// A time not later than the earliest deadline of a timer.
    #[inline]
    pub fn bound(&self) -> Time {
        self.bound
    }

    /// When the pacer lets the next segment out, if one waits for it.
    #[inline]
    pub fn departure(&self) -> Time {
        self.departure
    }

    /// The next segment leaves at `at`.
    #[inline]
    pub fn set_departure(&mut self, at: Time) {
        self.departure = at;
    }

    /// The pacer has let the next segment out if it had to by `now`: whoever polls after this finds the gate open.
    #[inline]
    pub fn pass_departure(&mut self, now: Time) {
        if self.departure <= now {
            self.departure = Time::NEVER;
        }
    }

    /// The earliest deadline of a timer, departures left out.
    pub fn earliest(&self) -> Time {
        self.at.iter().copied().fold(Time::NEVER, Time::min)
    }

    /// The earliest deadline of a timer or departure.
    #[inline]
    pub fn next(&self) -> Time {
        self.earliest().min(self.departure)
    }

    /// Makes the bound exact again.
    pub fn tighten(&mut self) {
        self.bound = self.earliest();
    }

    /// Whether a timer is due at `now`. Makes the bound exact if it was too early.
    #[inline]
    pub fn is_due(&mut self, now: Time) -> bool {
        if self.bound > now {
            return false;
        }
        self.tighten();
        self.bound <= now
    }

    /// Clears timer `t` and says whether it was due.
    pub fn take_due(&mut self, t: Timer, now: Time) -> bool {
        let at = self.at[t as usize];
        if at > now {
            return false;
        }
        // Few timers live long enough to expire: only these are rounded.
        let from = self.rounded_from[t as usize];
        if from.is_set() {
            self.set(t, self.on_tick(from, at.since(from)));
            if self.at[t as usize] > now {
                return false;
            }
        }
        self.clear(t);
        true
    }

    pub fn clear_all(&mut self) {
        *self = Timers::new(Span(self.tick));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_get_coarser_with_the_length() {
        let t = Timers::new(Span::from_millis(1));
        let ms = |from: u64, length: u64| t.on_tick(Time(from * 1000), Span(length * 1000)).0 / 1_000_000;
        assert_eq!(ms(10_300, 40_000), 51);
        assert_eq!(ms(10_300, 39_100), 51);
        assert_eq!(ms(0, 62_000), 63);
        assert_eq!(ms(0, 63_000), 64);
        assert_eq!(ms(5_000, 200_000), 208);
        assert_eq!(ms(3_000, 205_000), 216);
        assert_eq!(ms(0, 1_000_000), 1024);
    }

    #[test]
    fn a_timer_waits_for_its_tick() {
        let mut t = Timers::new(Span::from_millis(1));
        t.set_after(Timer::Rto, Time(300_000), Span::from_millis(10));
        assert!(!t.take_due(Timer::Rto, Time(10_299_999)) && !t.take_due(Timer::Rto, Time(10_300_000)));
        assert_eq!(t.next(), Time(11_000_000));
        assert!(t.take_due(Timer::Rto, Time(11_000_000)) && !t.is_set(Timer::Rto));
        t.set(Timer::CompressedAck, Time(5));
        assert!(t.take_due(Timer::CompressedAck, Time(5)));
    }
}
