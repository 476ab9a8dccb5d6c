//! A link whose rate changes at known instants: steps, cycles, on and off.

use super::serializer::{BIT_NANOS, Serializer};
use crate::time::{Span, Time};
use std::fmt;

/// What is wrong with a schedule of rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// No step at all.
    Empty,
    /// The first step does not begin at 0, so that the rate before it is unknown.
    LateStart,
    /// A step (counted from 1) does not begin after the one before it.
    NotAscending(usize),
    /// The period ends before, or as, the last step begins.
    ShortPeriod,
    /// No step has a rate above 0: the link would never transmit.
    AlwaysOff,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Empty => write!(f, "a rate schedule needs at least one step"),
            ScheduleError::LateStart => write!(f, "the first step must begin at 0: the rate before it is unknown"),
            ScheduleError::NotAscending(n) => write!(f, "step {n} must begin after step {}", n - 1),
            ScheduleError::ShortPeriod => write!(f, "the period must be longer than the beginning of the last step"),
            ScheduleError::AlwaysOff => write!(f, "at least one rate must be above 0, or the link never transmits"),
        }
    }
}

impl std::error::Error for ScheduleError {}

/// A stretch of constant rate, in absolute nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Piece {
    begin: u64,
    end: u64,
    rate: u64,
    index: usize,
    /// Where its cycle began.
    cycle: u64,
}

/// Transmits packets one after the other at a piecewise constant rate known ahead.
///
/// A packet's bits are integrated over the steps exactly: what a transmission leaves of its last nanosecond is the next
/// one's, as in [`Serializer`], whose times a constant schedule gives to the nanosecond. A rate of 0 holds a
/// transmission under way, and none begins during it.
#[derive(Clone, Debug)]
pub struct RateSchedule {
    /// Beginnings of the steps within a cycle, nanoseconds, the first 0.
    begins: Box<[u64]>,
    /// Their rates, bit/s.
    rates: Box<[u64]>,
    /// Length of a cycle, nanoseconds; `u64::MAX` without repetition.
    period: u64,
    /// What a cycle carries, bit/s times nanoseconds.
    cycle_work: u128,
    /// End of the last transmission: whole nanoseconds, and `free_rem / rate` of the next one.
    free_ns: u64,
    free_rem: u64,
    /// The stretch in which the last transmission ended.
    piece: Piece,
    /// Division of the last packet size by the last rate.
    last: (u32, u64),
    last_ns: u64,
    last_rem: u64,
}

impl RateSchedule {
    /// From steps (beginning, bit/s), the first at 0; 0 bit/s is off. With `period` the steps repeat for ever,
    /// otherwise the last rate stays; if that is 0, the link is off for good and what it transmits then never ends.
    ///
    /// # Errors
    /// [`ScheduleError`] tells.
    pub fn new(steps: &[(Time, u64)], period: Option<Span>) -> Result<RateSchedule, ScheduleError> {
        let first = steps.first().ok_or(ScheduleError::Empty)?;
        if first.0 != Time::ZERO {
            return Err(ScheduleError::LateStart);
        }
        if let Some(i) = steps.windows(2).position(|w| w[1].0 <= w[0].0) {
            return Err(ScheduleError::NotAscending(i + 2));
        }
        let period = period.map_or(u64::MAX, |p| p.0);
        if steps.last().is_some_and(|s| s.0.0 >= period) {
            return Err(ScheduleError::ShortPeriod);
        }
        if steps.iter().all(|s| s.1 == 0) {
            return Err(ScheduleError::AlwaysOff);
        }
        let mut schedule = RateSchedule {
            begins: steps.iter().map(|s| s.0.0).collect(),
            rates: steps.iter().map(|s| s.1).collect(),
            period,
            cycle_work: 0,
            free_ns: 0,
            free_rem: 0,
            piece: Piece { begin: 0, end: 0, rate: 0, index: 0, cycle: 0 },
            last: (0, 0),
            last_ns: 0,
            last_rem: 0,
        };
        schedule.cycle_work = schedule.work_within(period);
        schedule.piece = schedule.nth(0, 0);
        Ok(schedule)
    }

    fn nth(&self, index: usize, cycle: u64) -> Piece {
        let within = self.begins.get(index + 1).copied().unwrap_or(self.period);
        let begin = cycle.saturating_add(self.begins[index]);
        Piece { begin, end: cycle.saturating_add(within), rate: self.rates[index], index, cycle }
    }

    /// The stretch at `t`, which is not the end of time.
    #[inline]
    fn find(&self, t: u64) -> Piece {
        if self.piece.begin <= t && t < self.piece.end {
            return self.piece;
        }
        let within = t % self.period;
        self.nth(self.begins.partition_point(|&b| b <= within) - 1, t - within)
    }

    /// The stretch after `p`, which does not last for ever.
    fn after(&self, p: Piece) -> Piece {
        if p.index + 1 < self.begins.len() { self.nth(p.index + 1, p.cycle) } else { self.nth(0, p.end) }
    }

    fn free_at(&self) -> u64 {
        self.free_ns.saturating_add(u64::from(self.free_rem > 0))
    }

    /// The earliest instant from `now` at which a transmission may begin: the one under way is over and the link is on.
    #[inline]
    pub fn opens(&self, now: Time) -> Time {
        let t = now.0.max(self.free_at());
        if t == u64::MAX {
            return Time::NEVER;
        }
        let mut piece = self.find(t);
        if piece.rate > 0 {
            return Time(t);
        }
        while piece.rate == 0 {
            if piece.end == u64::MAX {
                return Time::NEVER;
            }
            piece = self.after(piece);
        }
        Time(piece.begin)
    }

    /// Transmits `len` bytes that are ready at `now`, after what is under way. Returns start and end, rounded up to
    /// whole nanoseconds; [`Time::NEVER`] is an instant that does not come because the link stays off.
    #[inline]
    pub fn transmit(&mut self, now: Time, len: u32) -> (Time, Time) {
        let start = self.opens(now);
        if start == Time::NEVER {
            return (start, start);
        }
        if start.0 > self.free_at() {
            self.free_ns = start.0;
            self.free_rem = 0;
        }
        self.piece = self.find(self.free_ns);
        let rate = self.piece.rate;
        if self.last != (len, rate) {
            let work = u128::from(len) * u128::from(BIT_NANOS);
            self.last = (len, rate);
            self.last_ns = u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX);
            self.last_rem = (work % u128::from(rate)) as u64;
        }
        let rem = u128::from(self.free_rem) + u128::from(self.last_rem);
        let (carry, rem) = if rem >= u128::from(rate) { (1, rem - u128::from(rate)) } else { (0, rem) };
        let end = self.free_ns.saturating_add(self.last_ns).saturating_add(carry);
        if end < self.piece.end || (end == self.piece.end && rem == 0) {
            self.free_ns = end;
            self.free_rem = rem as u64;
        } else {
            self.cross(u128::from(len) * u128::from(BIT_NANOS) + u128::from(self.free_rem));
        }
        (start, Time(self.free_at()))
    }

    /// Spends `work` from the whole nanosecond `free_ns` on, over as many steps as it takes.
    fn cross(&mut self, mut work: u128) {
        let (mut t, mut piece) = (self.free_ns, self.piece);
        loop {
            let room = u128::from(piece.rate) * u128::from(piece.end - t);
            if work <= room && piece.rate > 0 {
                self.free_ns = t + (work / u128::from(piece.rate)) as u64;
                self.free_rem = (work % u128::from(piece.rate)) as u64;
                self.piece = piece;
                return;
            }
            if piece.end == u64::MAX {
                self.free_ns = u64::MAX;
                self.free_rem = 0;
                return;
            }
            work -= room;
            t = piece.end;
            piece = self.after(piece);
            if piece.index == 0 && work > self.cycle_work {
                // Whole cycles at once; what is left ends within the last one.
                let cycles = (work - 1) / self.cycle_work;
                work -= cycles * self.cycle_work;
                let skip = u64::try_from(cycles).unwrap_or(u64::MAX).saturating_mul(self.period);
                t = t.saturating_add(skip);
                piece = self.nth(0, t);
            }
        }
    }

    /// What the first `ns` nanoseconds of a cycle carry.
    fn work_within(&self, ns: u64) -> u128 {
        let mut work = 0;
        for (i, &begin) in self.begins.iter().enumerate() {
            let end = self.begins.get(i + 1).copied().unwrap_or(self.period).min(ns);
            work += u128::from(self.rates[i]) * u128::from(end.saturating_sub(begin));
        }
        work
    }

    /// Bits the link could carry between two instants.
    pub fn bits_between(&self, from: Time, to: Time) -> f64 {
        let until = |t: Time| u128::from(t.0 / self.period) * self.cycle_work + self.work_within(t.0 % self.period);
        until(to).saturating_sub(until(from)) as f64 / 1e9
    }

    /// The long-run mean in bit/s: over a period, or the rate that stays at the end; if that is 0, the mean until then.
    pub fn mean_rate_bps(&self) -> f64 {
        let (last, rate) = (self.begins.len() - 1, self.rates[self.rates.len() - 1]);
        if self.period < u64::MAX {
            self.cycle_work as f64 / self.period as f64
        } else if rate > 0 {
            rate as f64
        } else {
            self.work_within(self.begins[last]) as f64 / self.begins[last] as f64
        }
    }
}

impl From<&Serializer> for RateSchedule {
    /// The same rate for ever.
    fn from(s: &Serializer) -> RateSchedule {
        let mut schedule = RateSchedule {
            begins: Box::new([0]),
            rates: Box::new([s.rate()]),
            period: u64::MAX,
            cycle_work: 0,
            free_ns: 0,
            free_rem: 0,
            piece: Piece { begin: 0, end: u64::MAX, rate: s.rate(), index: 0, cycle: 0 },
            last: (0, 0),
            last_ns: 0,
            last_rem: 0,
        };
        schedule.cycle_work = schedule.work_within(u64::MAX);
        schedule
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
