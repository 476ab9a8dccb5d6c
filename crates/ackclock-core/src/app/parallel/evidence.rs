//! What windows of a download say: rates and how far they scatter, and what held the connections back.

use super::Window;
use crate::math::{float, ln};

/// Gain that is worth more connections: a tenth.
pub const WORTH: f64 = 1.10;
/// Gain below which connections were added for nothing.
pub const NOTHING: f64 = 1.03;
/// Round trips of so many of the shortest one are a queue that limits (mean of a window).
pub const QUEUE: f64 = 1.5;
/// Up to so many a loss is not a queue's.
pub const LOW: f64 = 1.25;
/// Up to so many there is no queue at all.
pub const EMPTY: f64 = 1.1;

/// Windows of a trial after which it is looked at. With the looks on the way [back](BACK) there are nine, each with a ninth of the
/// error of 5 % (Bonferroni).
pub const LOOKS: [usize; 6] = [2, 3, 4, 6, 9, 15];
/// Windows before a trial, with those of the way back, after which it is looked at again; the last is [`ENOUGH`].
pub const BACK: [usize; 3] = [4, 6, ENOUGH];

/// Windows of either number that a gain of less than a tenth takes, unless the line is [quiet](Gain::quiet): neighbouring windows
/// of a radio resemble each other, so that a few say less than the test takes them for.
pub const ENOUGH: usize = 9;

/// Student's t that is exceeded with a probability of 0.05 / 9, for 1 to 30 degrees of freedom
/// (`scipy.stats.t.ppf(1 - 0.05 / 9, df)`), and beyond them the last.
const STUDENT: [f64; 30] = [
    57.290, 9.408, 5.625, 4.466, 3.926, 3.619, 3.422, 3.285, 3.184, 3.107, 3.047, 2.998, 2.957, 2.924, 2.895, 2.870,
    2.848, 2.829, 2.813, 2.798, 2.784, 2.772, 2.761, 2.751, 2.742, 2.734, 2.726, 2.719, 2.713, 2.706,
];
/// The same of the normal distribution.
const NORMAL: f64 = 2.539;

/// Standard deviation, as a share, that a line's rates in windows are not taken to exceed: few windows tell so little of it that
/// a doubling would take minutes to be told from a tenth.
const SCATTER: f64 = 0.18;

/// Rates that differ by less are the same: what a window's edges do to a rate (a part of a packet train, a clock's tick).
const GRAIN: f64 = 0.005;
/// Rates of a quiet line scatter by no more than this around the mean of their number of connections.
const QUIET: f64 = 0.01;

/// What windows with the same number of connections said.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Logarithms of rates.
    rates: Vec<f64>,
    segments: f64,
    losses: f64,
    low_losses: f64,
    counted: bool,
    inflation: Vec<f64>,
    window_limited: Vec<f64>,
}

/// What holds the connections back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A queue: more connections would take from others.
    Queue,
    /// The receive windows.
    Window,
    /// Losses without a queue.
    Loss,
    /// Nothing on the path: its queue is empty. The other end, or something unseen before the path.
    Elsewhere,
    /// Nothing can be seen of the path, so that only the gain counts.
    Unseen,
    /// It was seen, and explains nothing.
    Unexplained,
}

impl Sample {
    /// Of one window.
    pub fn of(window: &Window) -> Sample {
        let mut sample = Sample::default();
        sample.add(window);
        sample
    }

    /// One window more.
    pub fn add(&mut self, window: &Window) {
        self.rates.push(ln(window.rate().max(1.0)));
        if let (Some(segments), Some(losses)) = (window.segments, window.losses) {
            self.segments += float(segments);
            self.losses += float(losses);
            self.low_losses += float(window.low_losses.min(losses));
            self.counted = true;
        }
        self.inflation.extend(window.inflation);
        self.window_limited.extend(window.window_limited);
    }

    /// How many windows.
    pub fn count(&self) -> usize {
        self.rates.len()
    }

    /// Mean of the logarithms of the rates.
    pub fn level(&self) -> f64 {
        mean(&self.rates)
    }

    /// Sum of squares around the mean.
    fn scatter(&self) -> f64 {
        let level = self.level();
        self.rates.iter().map(|rate| (rate - level) * (rate - level)).sum()
    }

    /// Whether the level is known well enough to be compared with: to a twentieth, or after six windows as it is. Two are enough
    /// where it is `explained` why more will help: time with too few connections is what a download pays with.
    pub fn known(&self, explained: bool) -> bool {
        let n = float(self.count() as u64);
        self.count() >= 6
            || (explained && self.count() >= LOOKS[0])
            || (self.count() >= 3 && self.scatter() <= 0.05 * 0.05 * n * (n - 1.0))
    }

    /// Whether something that was seen says that more connections will help.
    pub fn explains(&self) -> bool {
        matches!(self.limit(), Limit::Window | Limit::Loss)
    }

    /// What held them back.
    pub fn limit(&self) -> Limit {
        if self.inflation.is_empty() && self.window_limited.is_empty() && !self.counted {
            return Limit::Unseen;
        }
        let high = self.inflation.iter().copied().fold(1.0, f64::max);
        if mean(&self.inflation) > QUEUE || (self.losses > 0.0 && self.low_losses * 2.0 < self.losses) {
            Limit::Queue
        } else if mean(&self.window_limited) > 0.5 {
            Limit::Window
        } else if self.losses > 0.0 {
            Limit::Loss
        } else if !self.inflation.is_empty() && high <= EMPTY {
            Limit::Elsewhere
        } else {
            Limit::Unexplained
        }
    }

    /// Whether far more is sent again than in `before`: twice the share, beyond what chance does to counts.
    pub fn doubled(&self, before: &Sample) -> bool {
        if !(self.counted && before.counted && before.segments > 0.0 && self.segments > 0.0) {
            return false;
        }
        // Counts of rare events scatter as their root (Poisson); one more each stands for none that was seen.
        let expected = 2.0 * (before.losses + 1.0) * self.segments / before.segments;
        let scatter = expected * (1.0 + 2.0 * self.segments / before.segments);
        self.losses > expected + NORMAL * scatter.sqrt()
    }
}

/// The gain of one sample over another, as logarithms: what it is, and how far it may be off to each side.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// As measured.
    pub measured: f64,
    /// Half the interval's width.
    pub off: f64,
    /// The same of a line whose rates scatter by [`SCATTER`].
    off_at_most: f64,
    /// Standard deviation of both samples, each around its own mean.
    scatter: f64,
    /// Its degrees of freedom.
    freedom: usize,
}

impl Gain {
    /// Of `after` over `before`. The scatter is taken from both: it is the line's, not one number's.
    pub fn of(before: &Sample, after: &Sample) -> Gain {
        let (n, m) = (before.count(), after.count());
        let freedom = (n + m).saturating_sub(2).max(1);
        let scatter = ((before.scatter() + after.scatter()) / float(freedom as u64)).sqrt();
        let share = (1.0 / float(n.max(1) as u64) + 1.0 / float(m.max(1) as u64)).sqrt();
        let off = STUDENT[freedom.min(STUDENT.len()) - 1] * scatter.max(GRAIN) * share;
        let off_at_most = NORMAL * SCATTER * share;
        Gain { measured: after.level() - before.level(), off, off_at_most, scatter, freedom }
    }

    /// Whether the line changes so little that a few windows tell.
    pub fn quiet(&self) -> bool {
        self.freedom >= 3 && self.scatter <= QUIET
    }

    /// Whether it is worth more connections: certainly more than [`WORTH`].
    pub fn worth(&self) -> bool {
        self.measured - self.off.min(self.off_at_most) > ln(WORTH)
    }

    /// Certainly more than a factor.
    pub fn above(&self, factor: f64) -> bool {
        self.measured - self.off > ln(factor)
    }

    /// Certainly less than a factor.
    pub fn below(&self, factor: f64) -> bool {
        self.measured + self.off < ln(factor)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len().max(1) as u64)
}
