//! How many connections a long download uses: as many as make it faster without taking from others.
//!
//! Parallel connections help where something holds a single one back that is not the line: its receive window, losses that
//! are nobody's queue, a limit at the other end. Where a queue limits, they only take from others. [`Parallel`] is told what
//! windows of the download said ([`Window`]) and answers with a number of connections and the reason ([`Decision`]). It has
//! neither a clock nor sockets: who drives it measures, in virtual time or in real time.
//!
//! * It starts with one, and waits until its rate does not grow by itself any more.
//! * It doubles while the doubling before was worth it: the rate rose by more than a tenth, by a sequential test whose error is
//!   5 % ([`evidence`]). It goes back where the gain is less than 3 %, or where it is not worth it and retransmissions more
//!   than doubled.
//! * A smaller gain is told from the line's own changes by more windows, and by going back: half as many before and after.
//! * What can be seen of the path has to explain why more should help ([`Limit`]): receive windows, losses at a low queue, or a
//!   queue that stays empty. It adds none while round trips are more than 1.5 times the shortest one.
//! * It looks again every 30 s, and when the rate halves.

pub mod evidence;
#[cfg(test)]
mod tests;

use crate::math::{exp, float, ln};
use crate::time::Span;
use evidence::{BACK, ENOUGH, LOOKS, NOTHING, WORTH};
pub use evidence::{Gain, Limit, Sample};

/// How long a decision holds.
pub const HOLD: Span = Span::from_secs(30);
/// Least length of a window.
pub const WINDOW: Span = Span::from_secs(1);
/// Round trips that a window has at least.
pub const ROUND_TRIPS: u64 = 8;
/// Windows after which it waits no longer for an explanation.
const PATIENCE: usize = 8;
/// Windows after which a rate that still grows or falls by itself is taken as it is.
const RAMP: usize = 5;
/// Factor by which a rate that falls from one window to the next, before that, falls by itself.
const FALL: f64 = 1.5;
/// Windows in which connections that are wanted may be missing.
const MISSING: usize = 5;

/// What happened in one window of a download, all connections together. What cannot be known is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// How long it was: [`length`].
    pub took: Span,
    /// Bytes that came.
    pub bytes: u64,
    /// Fewest connections at a time that were at work.
    pub connections: u32,
    /// Segments that were sent, or at a receiver came.
    pub segments: Option<u64>,
    /// Of them retransmissions; at a receiver, which does not see them, how often segments were missing.
    pub losses: Option<u64>,
    /// Of the losses those at round trips of at most 1.25 times the shortest one.
    pub low_losses: u64,
    /// Mean round trip over the shortest one.
    pub inflation: Option<f64>,
    /// Share of the time in which receive windows limited.
    pub window_limited: Option<f64>,
    /// The download itself held back: a rate it was told not to exceed, a disk.
    pub held_back: bool,
}

impl Window {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        float(self.bytes) * 1e9 / float(self.took.0.max(1))
    }
}

/// How long the next window has to be: a second or eight round trips.
pub fn length(round_trip: Option<Span>) -> Span {
    Span(round_trip.map_or(0, |of| of.0.saturating_mul(ROUND_TRIPS)).max(WINDOW.0))
}

/// Why there are as many connections as there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It begins.
    Start,
    /// The rate does not tell yet.
    Measuring,
    /// More are tried, for this reason.
    Trial(Limit),
    /// The ones before were worth it, and there are as many as there may be.
    Most,
    /// The gain was some, but not enough for more.
    SomeGain,
    /// Back: nothing was gained.
    NoGain,
    /// Back: far more was sent again.
    Retransmissions,
    /// A queue limits.
    Queue,
    /// Nothing that was seen says that more would help.
    Unexplained,
    /// The download holds itself back.
    HeldBack,
    /// The other end gives no more.
    Refused,
}

impl Why {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Why::Start => "start",
            Why::Measuring => "measuring",
            Why::Trial(Limit::Window) => "try more: receive windows limit",
            Why::Trial(Limit::Loss) => "try more: losses without a queue",
            Why::Trial(Limit::Elsewhere) => "try more: the queue is empty",
            Why::Trial(_) => "try more",
            Why::Most => "most",
            Why::SomeGain => "some gain, not enough for more",
            Why::NoGain => "no gain",
            Why::Retransmissions => "more retransmissions",
            Why::Queue => "a queue limits",
            Why::Unexplained => "more are not likely to help",
            Why::HeldBack => "held back by the download itself",
            Why::Refused => "the other end gives no more",
        }
    }
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Connections.
    pub connections: u32,
    /// The reason.
    pub why: Why,
}

#[derive(Clone, Debug)]
enum Phase {
    /// Windows with the present number, from the rate's last growth on; of how many windows, the newest rate, and whether any of
    /// them [explained](Sample::explains) why more would help.
    Measuring { sample: Sample, seen: usize, last: f64, explained: bool },
    /// Twice as many as in `before`; the first window is `young`, in which connections still grow.
    Trial { trial: Trial, young: bool },
    /// Back at as many as before it, whose sample goes on, for a fair comparison; in the first window (`young`) some may still end.
    Back { trial: Trial, young: bool },
    /// As decided, since then; the sum of the rates since, and of how many windows.
    Holding { since: Span, sum: f64, windows: u64 },
}

/// A comparison of two numbers of connections.
#[derive(Clone, Debug)]
struct Trial {
    few: u32,
    many: u32,
    before: Sample,
    after: Sample,
}

impl Trial {
    fn gain(&self) -> Gain {
        Gain::of(&self.before, &self.after)
    }

    /// Whether there are windows enough of both numbers to tell a small gain.
    fn told(&self) -> bool {
        self.before.count().min(self.after.count()) >= ENOUGH
    }
}

impl Phase {
    fn fresh() -> Phase {
        Phase::Measuring { sample: Sample::default(), seen: 0, last: 0.0, explained: false }
    }
}

/// The policy.
#[derive(Clone, Debug)]
pub struct Parallel {
    most: u32,
    now: Decision,
    phase: Phase,
    missing: usize,
}

impl Parallel {
    /// At most so many connections.
    pub fn new(most: u32) -> Parallel {
        let now = Decision { connections: 1, why: Why::Start };
        Parallel { most: most.max(1), now, phase: Phase::fresh(), missing: 0 }
    }

    /// What is wanted now.
    pub fn decision(&self) -> Decision {
        self.now
    }

    /// A window is over.
    pub fn window(&mut self, window: &Window) -> Decision {
        if window.connections < self.now.connections {
            // Some are missing: such a window says nothing about their number, unless they never come.
            self.missing += 1;
            if self.missing >= MISSING {
                self.refused(window.connections.max(1));
            }
            return self.now;
        }
        self.missing = 0;
        if window.held_back {
            return self.hold(self.now.connections, Why::HeldBack);
        }
        match std::mem::replace(&mut self.phase, Phase::fresh()) {
            Phase::Measuring { sample, seen, last, explained } => self.measured(window, sample, seen, last, explained),
            Phase::Trial { trial, young } => self.tried(window, trial, young),
            Phase::Back { trial, young } => self.back(window, trial, young),
            Phase::Holding { since, sum, windows } => self.held(window, since, sum, windows),
        }
        self.now
    }

    /// The other end gives no more than so many.
    pub fn refused(&mut self, there_are: u32) -> Decision {
        self.missing = 0;
        self.most = there_are.clamp(1, self.most);
        self.hold(self.most, Why::Refused)
    }

    fn measured(&mut self, window: &Window, mut sample: Sample, seen: usize, last: f64, explained: bool) {
        let rate = window.rate();
        let explained = explained || (seen > 0 && Sample::of(window).explains());
        // A rate that grows by itself would be taken for the gain of what is added now; where losses or receive windows limit, it only
        // scatters. One that falls from what slow start had before the first loss would hide that gain.
        let grows = rate > last * WORTH && !explained;
        if seen > 0 && seen < RAMP && (grows || rate * FALL < last) {
            sample = Sample::default();
        }
        // In the first window the connection begins, or its slow start ends.
        if seen > 0 {
            sample.add(window);
        }
        let enough = sample.known(explained);
        let why = match sample.limit() {
            Limit::Queue => Some(Why::Queue),
            Limit::Unexplained if sample.count() < PATIENCE => None,
            Limit::Unexplained => Some(Why::Unexplained),
            _ if self.now.connections >= self.most => Some(Why::Most),
            limit => Some(Why::Trial(limit)),
        };
        match why {
            Some(Why::Trial(limit)) if enough => self.try_more(sample, limit),
            Some(why) if enough => {
                self.hold(self.now.connections, why);
            }
            _ => self.phase = Phase::Measuring { sample, seen: seen + 1, last: rate, explained },
        }
    }

    fn try_more(&mut self, before: Sample, limit: Limit) {
        let few = self.now.connections;
        let many = (few * 2).min(self.most);
        self.now = Decision { connections: many, why: Why::Trial(limit) };
        self.phase = Phase::Trial { trial: Trial { few, many, before, after: Sample::default() }, young: true };
    }

    fn tried(&mut self, window: &Window, mut trial: Trial, young: bool) {
        if young {
            self.phase = Phase::Trial { trial, young: false };
            return;
        }
        trial.after.add(window);
        let (gain, seen) = (trial.gain(), trial.after.count());
        if LOOKS.contains(&seen) {
            if gain.worth() {
                return self.worth(trial.after);
            }
            if trial.after.doubled(&trial.before) {
                self.hold(trial.few, Why::Retransmissions);
                return;
            }
            if gain.quiet() || trial.told() {
                if gain.below(NOTHING) {
                    self.hold(trial.few, Why::NoGain);
                    return;
                }
                if gain.above(NOTHING) && gain.below(WORTH) {
                    self.hold(trial.many, Why::SomeGain);
                    return;
                }
            } else if seen >= ENOUGH {
                self.now = Decision { connections: trial.few, why: Why::Measuring };
                self.phase = Phase::Back { trial, young: true };
                return;
            }
        }
        if seen >= LOOKS[LOOKS.len() - 1] {
            self.settle(&trial);
        } else {
            self.phase = Phase::Trial { trial, young: false };
        }
    }

    fn back(&mut self, window: &Window, mut trial: Trial, young: bool) {
        if !young {
            trial.before.add(window);
        }
        if BACK.contains(&trial.before.count()) && trial.gain().worth() {
            self.now.connections = trial.many;
            self.worth(trial.after);
        } else if trial.told() {
            self.settle(&trial);
        } else {
            self.phase = Phase::Back { trial, young: false };
        }
    }

    /// A gain that is not told by the test, or not worth more: to go back from one that is there costs more than to stay for none.
    fn settle(&mut self, trial: &Trial) {
        let some = trial.gain().measured > ln(NOTHING);
        let connections = if some { trial.many } else { trial.few };
        self.hold(connections, if some { Why::SomeGain } else { Why::NoGain });
    }

    /// The ones that were added are worth it: more, if anything says that they would help.
    fn worth(&mut self, sample: Sample) {
        let now = self.now.connections;
        match sample.limit() {
            _ if now >= self.most => drop(self.hold(now, Why::Most)),
            Limit::Queue => drop(self.hold(now, Why::Queue)),
            Limit::Unexplained => {
                let last = exp(sample.level());
                self.now.why = Why::Measuring;
                self.phase = Phase::Measuring { seen: sample.count(), sample, last, explained: false };
            }
            limit => self.try_more(sample, limit),
        }
    }

    fn held(&mut self, window: &Window, since: Span, sum: f64, windows: u64) {
        let since = Span(since.0 + window.took.0);
        let rate = window.rate();
        if since >= HOLD || rate * 2.0 * float(windows) < sum {
            self.now.why = Why::Measuring;
            self.phase = Phase::fresh();
        } else if since > window.took {
            self.phase = Phase::Holding { since, sum: sum + rate, windows: windows + 1 };
        } else {
            // In the first window connections may have ended or begun.
            self.phase = Phase::Holding { since, sum, windows };
        }
    }

    fn hold(&mut self, connections: u32, why: Why) -> Decision {
        self.now = Decision { connections, why };
        self.phase = Phase::Holding { since: Span::ZERO, sum: 0.0, windows: 0 };
        self.now
    }
}
