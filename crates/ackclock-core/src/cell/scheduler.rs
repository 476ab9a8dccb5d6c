//! Who is served: proportional fairness, round robin, and whoever has the best channel.
//!
//! F. P. Kelly, A. Maulloo and D. Tan, J. Oper. Res. Soc. 49 (1998); A. Jalali, R. Padovani and R. Pankaj, Data throughput of CDMA-HDR,
//! VTC 2000. Proportional fairness serves who has the largest `r / R`: the rate that it would have now over what it had on average.
//!
//! The average of every user decays in every TTI, with or without data. All of them by the same factor, which is kept once
//! and cancels when users are compared: a TTI costs nothing for users that are not served, and a pause nothing at all.

use crate::math::powu;

/// Who is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// The largest ratio of the rate now to the average rate.
    #[default]
    ProportionalFair,
    /// The same number of resource blocks in turn.
    RoundRobin,
    /// The largest rate.
    MaxRate,
}

impl Discipline {
    /// Every discipline.
    pub const ALL: [Discipline; 3] = [Discipline::ProportionalFair, Discipline::RoundRobin, Discipline::MaxRate];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Discipline::ProportionalFair => "pf",
            Discipline::RoundRobin => "rr",
            Discipline::MaxRate => "max_rate",
        }
    }
}

/// An average of everybody at the start: one byte per second, in bits per TTI of a millisecond.
const FIRST: f64 = 0.008;
/// Below this the common factor is taken into the averages.
const SMALL: f64 = 1e-100;
/// No average becomes smaller than this in doing so: it stays above zero.
const LEAST: f64 = 1e-200;

/// Averages of what users got, bits per TTI: `R <- (1 - 1/T) R + served/T` in every TTI.
#[derive(Clone, Debug)]
pub struct Averages {
    gain: f64,
    kept: f64,
    /// The factor that all have in common.
    scale: f64,
    tick: u64,
    /// The inverse of the average over the factor.
    inverse: Vec<f64>,
}

impl Averages {
    /// Of so many users over `ttis` TTIs.
    pub fn new(users: usize, ttis: f64) -> Averages {
        let gain = 1.0 / ttis;
        Averages { gain, kept: 1.0 - gain, scale: 1.0, tick: 0, inverse: vec![1.0 / FIRST; users] }
    }

    /// It is TTI number `tick` now. Says whether the ratios of all have changed, though only in their last digits.
    #[inline]
    pub fn advance(&mut self, tick: u64) -> bool {
        let passed = tick - self.tick;
        if passed == 0 {
            return false;
        }
        self.tick = tick;
        self.scale *= if passed == 1 { self.kept } else { powu(self.kept, passed) };
        let small = self.scale < SMALL;
        if small {
            self.settle();
        }
        small
    }

    #[cold]
    fn settle(&mut self) {
        for inverse in &mut self.inverse {
            *inverse = 1.0 / (self.scale / *inverse).max(LEAST);
        }
        self.scale = 1.0;
    }

    /// `user` is served `bits` in this TTI, which count from the next on.
    #[inline]
    pub fn serve(&mut self, user: usize, bits: f64) {
        let average = 1.0 / self.inverse[user] + self.gain * bits / (self.scale * self.kept);
        self.inverse[user] = 1.0 / average;
    }

    /// `rate` over the average of `user`, up to a factor that is the same for all.
    #[inline]
    pub fn ratio(&self, user: usize, rate: f64) -> f64 {
        rate * self.inverse[user]
    }

    /// The average of `user` in bits per TTI.
    pub fn average(&self, user: usize) -> f64 {
        self.scale / self.inverse[user]
    }
}

/// What decides between two users, as numbers of which the larger goes first: the bits of the merit, which is not negative, then how long ago
/// the user was served and how low its number is.
pub type Rank = (u64, u64);

/// What decides between users.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Who is served.
    pub discipline: Discipline,
    averages: Averages,
    /// The TTI after that in which each was served last.
    last: Vec<u64>,
}

impl Scheduler {
    /// For so many users; averages over `ttis` TTIs.
    pub fn new(discipline: Discipline, users: usize, ttis: f64) -> Scheduler {
        Scheduler { discipline, averages: Averages::new(users, ttis), last: vec![0; users] }
    }

    /// It is TTI number `tick` now. Says whether ranks are others than before.
    #[inline]
    pub fn advance(&mut self, tick: u64) -> bool {
        self.discipline == Discipline::ProportionalFair && self.averages.advance(tick)
    }

    /// How much `user`, whose rate would be `rate`, deserves to be served.
    #[inline]
    pub fn merit(&self, user: usize, rate: f64) -> f64 {
        match self.discipline {
            Discipline::ProportionalFair => self.averages.ratio(user, rate),
            Discipline::RoundRobin => 0.0,
            Discipline::MaxRate => rate,
        }
    }

    /// Whether `a` with its merit goes before `b` with its own: of two equals who was served longer ago, then the lower number.
    #[inline]
    pub fn before(&self, a: (usize, f64), b: (usize, f64)) -> bool {
        if a.1 != b.1 {
            return a.1 > b.1;
        }
        (self.last[a.0], a.0) < (self.last[b.0], b.0)
    }

    /// Where `user`, whose rate would be `rate`, stands: who has the larger rank goes [before](Scheduler::before).
    #[inline]
    pub fn rank(&self, user: usize, rate: f64) -> Rank {
        (self.merit(user, rate).to_bits(), !(self.last[user] << 16 | user as u64))
    }

    /// `user` is served `bits` in TTI `tick`.
    #[inline]
    pub fn serve(&mut self, user: usize, tick: u64, bits: u32) {
        self.last[user] = tick + 1;
        if self.discipline == Discipline::ProportionalFair {
            self.averages.serve(user, f64::from(bits));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits that users who always have data get when the best takes the whole TTI, and the TTIs of each.
    fn saturated(discipline: Discipline, rates: &[f64], ticks: u64) -> (Vec<f64>, Vec<f64>) {
        let mut s = Scheduler::new(discipline, rates.len(), 99.0);
        let (mut bits, mut turns) = (vec![0.0; rates.len()], vec![0.0; rates.len()]);
        for tick in 0..ticks {
            s.advance(tick);
            let mut best = (0, s.merit(0, rates[0]));
            for (i, r) in rates.iter().enumerate().skip(1) {
                let other = (i, s.merit(i, *r));
                if s.before(other, best) {
                    best = other;
                }
            }
            s.serve(best.0, tick, rates[best.0] as u32);
            bits[best.0] += rates[best.0];
            turns[best.0] += 1.0;
        }
        (bits, turns)
    }

    #[test]
    fn proportional_fairness_shares_time_equally() {
        // Two users of 10 and 2 Mbit/s: half the time each, 5 and 1 Mbit/s.
        let ticks = 100_000;
        let (bits, turns) = saturated(Discipline::ProportionalFair, &[10_000.0, 2000.0], ticks);
        for (i, mbps) in [5.0, 1.0].into_iter().enumerate() {
            assert!((turns[i] / ticks as f64 - 0.5).abs() < 0.005, "{turns:?}");
            assert!((bits[i] / (ticks as f64 * 1000.0) - mbps).abs() < 0.01 * mbps, "{bits:?}");
        }
    }

    #[test]
    fn round_robin_takes_turns_and_the_best_channel_takes_all() {
        assert_eq!(saturated(Discipline::RoundRobin, &[1.0, 5.0, 3.0], 30).1, [10.0, 10.0, 10.0]);
        assert_eq!(saturated(Discipline::MaxRate, &[1.0, 5.0, 3.0], 30).1, [0.0, 30.0, 0.0]);
        assert_eq!(saturated(Discipline::MaxRate, &[5.0, 5.0], 30).1, [15.0, 15.0], "of equals who waited longer");
    }

    #[test]
    fn averages_are_those_of_the_plain_recursion() {
        let (mut a, mut plain) = (Averages::new(3, 99.0), [FIRST; 3]);
        for tick in 0..60_000u64 {
            a.advance(tick);
            // Long pauses for the second, none for the first, and the third is never served.
            let served = [(tick % 7) as f64 * 100.0, if tick % 20_000 < 50 { 5000.0 } else { 0.0 }, 0.0];
            for (i, bits) in served.into_iter().enumerate() {
                if i < 2 {
                    assert!((a.average(i) / plain[i] - 1.0).abs() < 1e-9, "{tick} {i}");
                }
                if bits > 0.0 {
                    a.serve(i, bits);
                }
                plain[i] = plain[i] * (1.0 - 1.0 / 99.0) + bits / 99.0;
            }
        }
        // Years without anybody: ratios stay numbers, and one TTI of service decides again.
        a.advance(1 << 50);
        assert!(a.ratio(0, 1.0).is_finite());
        a.serve(1, 1000.0);
        assert!(a.ratio(0, 1.0) > a.ratio(1, 1.0));
    }
}
