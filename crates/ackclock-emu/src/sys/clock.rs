//! The clock of a run: nanoseconds since its begin, by CLOCK_MONOTONIC.

use ackclock_core::time::{Span, Time};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const SECOND: u64 = 1_000_000_000;

/// A clock that begins at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: u64,
    /// Work takes no time by it, as in a kernel whose time travels: it need not be read twice.
    stands_still: bool,
    /// Who waits by it does not wake up again sooner than this.
    spacing: u64,
}

fn monotonic() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * SECOND + t.tv_nsec as u64
}

/// A time span as the system has it.
pub fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as _ }
}

impl Clock {
    /// Whose zero lies `ahead` nanoseconds ahead; where time stands still at the next whole second after that. What came before
    /// has taken some microseconds then, how many hangs on what a loader looks for on this processor, and a kernel's ticks are
    /// at multiples of theirs: runs are the same on every computer only if they begin the same.
    pub fn ahead(ahead: u64, stands_still: bool) -> Clock {
        let soonest = monotonic() + ahead;
        let origin = if stands_still { soonest.next_multiple_of(SECOND) } else { soonest };
        Clock { origin, stands_still, spacing: 0 }
    }

    /// With a spacing between two times that somebody who waits by it wakes up: waking up costs more than a packet does, and what
    /// comes within it is done together, as network cards do it that interrupt no sooner after the last time.
    pub fn spaced(self, spacing: Span) -> Clock {
        Clock { spacing: spacing.0, ..self }
    }

    /// Sleeps until so long after `woke`, unless that was so long ago. The time then; where there is no spacing nobody looks at the
    /// clock, and it is `now`.
    pub fn space_out(&self, woke: Time, now: Time) -> Time {
        if self.spacing == 0 {
            return now;
        }
        let then = woke.0.saturating_add(self.spacing);
        if self.now().0 < then {
            let at = timespec(self.origin.saturating_add(then));
            // A signal ends it sooner, which does no harm.
            let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
        }
        self.now()
    }

    /// The time; before the begin it is 0.
    pub fn now(&self) -> Time {
        Time(monotonic().saturating_sub(self.origin))
    }

    /// The time after some work, before which it was `then`.
    pub fn after_work(&self, then: Time) -> Time {
        if self.stands_still { then } else { self.now() }
    }

    /// Whether work takes no time by it.
    pub fn stands_still(&self) -> bool {
        self.stands_still
    }

    /// Sleeps until the begin.
    pub fn await_begin(&self) {
        let begin = timespec(self.origin);
        while clock_nanosleep_absolute(ClockId::Monotonic, &begin).is_err() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_time_stands_still_a_run_begins_at_a_whole_second() {
        let (exact, soon) = (Clock::ahead(20_000_000, true), Clock::ahead(20_000_000, false));
        assert_eq!(exact.origin % SECOND, 0);
        assert!(exact.origin + 1_000_000_000 > soon.origin && soon.origin < monotonic() + 20_000_000);
    }
}
