//! Whether the applications of a run had a processor when they needed one.
//!
//! A packet is late if the path had none. If the applications had none no packet is late, and yet the flow is slower: while a thread
//! that holds a socket is put aside, the kernel leaves what comes for that socket until it runs again. The system adds up how long
//! a thread waited, and does so when the wait is over. So it is asked in short stretches: of many short waits, behind the path
//! on the same processor, a stretch has no more than its length, and what is more was one long wait. While nothing passes the path
//! that is asked less often, but not so seldom that the short waits of seconds add up to what is no single one. Programs of relays
//! are asked like the applications: they hold sockets, too.

use crate::driver::Beside;
use crate::lateness::{Lateness, Summary, Tolerance};
use crate::path::Network;
use crate::sys::waits::Waits;
use ackclock_core::time::{Span, Time};
use serde::Serialize;

/// Longest stretch.
const LONGEST: Span = Span::from_millis(1);
/// Shortest: asking takes time itself.
const SHORTEST: Span = Span::from_micros(100);
/// Longest where nothing passes the path.
const IDLE: Span = Span::from_millis(10);
/// Share of the time that may be spent in waits longer than a stretch.
const SHARE: f64 = 0.02;

/// Watches.
#[derive(Debug)]
pub struct Starved {
    every: Span,
    last: Time,
    begun: bool,
    watched: Vec<Waits>,
    waited: Lateness,
    long: u64,
}

/// What was found of the applications' threads.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// How long a stretch is, seconds.
    pub every_s: f64,
    /// How long the one that waited longest waited for a processor in each stretch.
    pub waited: Summary,
    /// Share of the run in waits that were longer than a stretch.
    pub share: f64,
}

impl Starved {
    /// Watches `applications`, threads of this program and of others, in a run that tolerates this much.
    pub fn new(applications: Vec<Waits>, tolerance: &Tolerance) -> Starved {
        let half = Span::from_secs_f64(tolerance.worst_s / 2.0);
        let every = half.clamp(SHORTEST, LONGEST);
        Starved { every, last: Time::ZERO, begun: false, watched: applications, waited: Lateness::default(), long: 0 }
    }

    /// It is over at `end`.
    pub fn found(&self, end: Time) -> Found {
        Found {
            every_s: self.every.as_secs_f64(),
            waited: self.waited.summary(),
            share: self.long as f64 / (end.0.max(1)) as f64,
        }
    }

    fn waited(&mut self, stretch: Span, waited: Span) {
        self.waited.took(waited);
        if waited > stretch.max(self.every) {
            self.long = self.long.saturating_add(waited.0);
        }
    }
}

impl Found {
    /// What of it `tolerance` does not have, in words.
    pub fn problems(&self, tolerance: &Tolerance) -> Vec<String> {
        let mut problems = Vec::new();
        let (worst, limit) = (self.waited.worst_s * 1e6, (tolerance.worst_s * 1e6).max(2.0 * self.every_s * 1e6));
        if worst > limit {
            problems.push(format!("the applications waited {worst:.0} us for a processor, more than {limit:.0} us"));
        }
        if self.share > SHARE {
            let (share, most) = (self.share * 100.0, SHARE * 100.0);
            problems
                .push(format!("the applications waited for a processor {share:.1} % of the time, more than {most} %"));
        }
        problems
    }
}

impl Beside for Starved {
    fn next(&self) -> Time {
        if self.watched.is_empty() { Time::NEVER } else { self.last + IDLE }
    }

    fn done(&mut self, _network: &mut Network, now: Time) {
        let stretch = now.since(self.last);
        if self.begun && stretch < self.every {
            return;
        }
        self.last = now;
        // Who is gone waits no more.
        let Some(waited) = self.watched.iter_mut().filter_map(Waits::since).max() else { return };
        // What was before the begin is of no interest.
        if self.begun {
            self.waited(stretch, waited);
        }
        self.begun = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(waits: &[(u64, u64)]) -> (Found, Tolerance) {
        let tolerance = Tolerance::new(0.02, 12e-6);
        let mut starved = Starved::new(Vec::new(), &tolerance);
        for (stretch, waited) in waits {
            starved.waited(Span::from_micros(*stretch), Span::from_micros(*waited));
        }
        let end: u64 = waits.iter().map(|w| w.0).sum();
        (starved.found(Time(end * 1000)), tolerance)
    }

    #[test]
    fn short_waits_are_tolerated_and_long_ones_are_not() {
        let (short, tolerance) = found(&[(1000, 400); 1000]);
        assert_eq!((short.problems(&tolerance), short.share), (vec![], 0.0));
        // 2 ms is a tenth of the round trip.
        let (once, _) = found(&[[(1000, 0); 999].as_slice(), &[(1000, 2100)]].concat());
        assert_eq!(once.problems(&tolerance), ["the applications waited 2100 us for a processor, more than 2000 us"]);
        // 1.5 ms every 50 ms: each is tolerated, all of them are 3 %.
        let often = [[(1000, 0); 48].as_slice(), &[(2000, 0)], &[(1000, 1500)]].concat().repeat(20);
        let (often, _) = found(&often);
        let text = "the applications waited for a processor 2.9 % of the time, more than 2 %";
        assert_eq!(often.problems(&tolerance), [text]);
    }
}
