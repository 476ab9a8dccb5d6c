//! Windowed maximum and minimum in constant space (Kathleen Nichols' algorithm, as Linux and QUIC use it).
//!
//! The best, second best and third best samples are kept, each later than the one before it. When the best leaves the
//! window the second takes its place. The result can be short of the true extreme of the window, never beyond it.

/// A running extreme over a window of time or of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Windowed<const MAX: bool> {
    /// Time and value, best first.
    best: [(u64, u64); 3],
}

/// The largest value of the window.
pub type WindowedMax = Windowed<true>;
/// The smallest value of the window.
pub type WindowedMin = Windowed<false>;

impl<const MAX: bool> Windowed<MAX> {
    /// A filter whose only sample is `value` at `at`.
    pub fn new(at: u64, value: u64) -> Self {
        Windowed { best: [(at, value); 3] }
    }

    /// Forgets everything but `value` at `at`.
    #[inline]
    pub fn reset(&mut self, at: u64, value: u64) {
        *self = Self::new(at, value);
    }

    /// The extreme.
    #[inline]
    pub fn get(&self) -> u64 {
        self.best[0].1
    }

    #[inline]
    fn reaches(value: u64, other: u64) -> bool {
        if MAX { value >= other } else { value <= other }
    }

    /// Takes `value` at `at`, not before the samples already taken, with a window of length `window`.
    #[inline]
    pub fn update(&mut self, window: u64, at: u64, value: u64) -> u64 {
        if Self::reaches(value, self.best[0].1) || at - self.best[2].0 > window {
            self.reset(at, value);
            return value;
        }
        let sample = (at, value);
        if Self::reaches(value, self.best[1].1) {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if Self::reaches(value, self.best[2].1) {
            self.best[2] = sample;
        }
        self.age(window, sample);
        self.best[0].1
    }

    /// Lets samples leave the window, and takes spare ones from its later parts.
    fn age(&mut self, window: u64, sample: (u64, u64)) {
        let age = sample.0 - self.best[0].0;
        if age > window {
            // The third best is within the window: at most two leave it.
            for _ in 0..2 {
                if sample.0 - self.best[0].0 > window {
                    self.best = [self.best[1], self.best[2], sample];
                }
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

impl WindowedMin {
    /// A value above the first of these changes nothing before the time that is the second, with a window of length
    /// `window`.
    pub fn settled(&self, window: u64) -> (u64, u64) {
        let [best, second, third] = self.best;
        let age = match () {
            () if second.0 == best.0 => window / 4,
            () if third.0 == second.0 => window / 2,
            () => window,
        };
        (third.1, best.0.saturating_add(age).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn a_maximum_leaves_with_its_window() {
        let mut f = WindowedMax::new(0, 0);
        let taken = [(1, 50), (2, 80), (5, 60), (9, 40), (12, 30), (13, 20), (16, 10)];
        let seen: Vec<u64> = taken.iter().map(|&(t, v)| f.update(10, t, v)).collect();
        // 80 of round 2 is in force up to round 12; then 60 of round 5, then 40 of round 9.
        assert_eq!(seen, [50, 80, 80, 80, 80, 60, 40]);
    }

    #[test]
    fn silence_longer_than_the_window_forgets_everything() {
        let mut f = WindowedMin::new(0, 7);
        assert_eq!(f.update(10, 5, 9), 7);
        assert_eq!(f.update(10, 40, 30), 30);
    }

    /// Never beyond the extreme of the window, and never a sample from outside it.
    #[test]
    fn stays_within_the_window() {
        let mut rng = Stream::named(3, 0, "windowed");
        let mut all: Vec<(u64, u64)> = vec![(0, 500)];
        let (mut max, mut min) = (WindowedMax::new(0, 500), WindowedMin::new(0, 500));
        let mut t = 0;
        for _ in 0..5000 {
            t += rng.below(4);
            let v = rng.below(1000);
            all.push((t, v));
            let (hi, lo) = (max.update(25, t, v), min.update(25, t, v));
            let inside = || all.iter().filter(|s| t - s.0 <= 25).map(|s| s.1);
            assert!(inside().any(|v| v == hi) && hi <= inside().max().unwrap());
            assert!(inside().any(|v| v == lo) && lo >= inside().min().unwrap());
        }
    }

    /// Asked only for values that are not above, or not before, what is settled, it answers as when asked for all.
    #[test]
    fn what_is_settled_changes_nothing() {
        let mut rng = Stream::named(4, 0, "settled");
        let (mut all, mut some) = (WindowedMin::new(0, 500), WindowedMin::new(0, 500));
        let ((mut above, mut due), mut asked, mut t) = (some.settled(1000), 0, 0);
        for _ in 0..20_000 {
            t += rng.below(4);
            let v = 400 + rng.below(600) * (t / 700 % 3);
            all.update(1000, t, v);
            if v <= above || t >= due {
                asked += 1;
                some.update(1000, t, v);
                (above, due) = some.settled(1000);
            }
            assert_eq!(some.best, all.best);
        }
        assert!(asked > 100 && asked < 15_000, "{asked}");
    }
}
