//! Times of activity of a source.

use crate::spec::{self, SpecError};
use ackclock_core::time::Time;

/// Intervals in which a source is active.
#[derive(Clone, Debug)]
pub struct Periods {
    list: Box<[(Time, Time)]>,
    at: usize,
    active: bool,
}

impl Periods {
    /// Those of `f`, which starts at `start`.
    ///
    /// # Errors
    /// Intervals that overlap or are empty.
    pub fn of(f: &spec::Flow, start: Time, path: &str) -> Result<Periods, SpecError> {
        // A source told to stop before it starts does so at once: time never runs back.
        let stop = f.stop_ns.map_or(Time::NEVER, |ns| Time(ns).max(start));
        let Some(schedule) = &f.schedule else { return Ok(Periods::new(vec![(start, stop)])) };
        let at = || format!("{path}.schedule");
        let mut list: Vec<(Time, Time)> = Vec::with_capacity(schedule.len());
        let mut last = Time::ZERO;
        for &(from, to) in schedule {
            let (from, to) = (Time(from), to.map_or(Time::NEVER, Time));
            if from >= to || from < last {
                return Err(SpecError::new(at(), "intervals follow one another, and each ends after it begins"));
            }
            last = to;
            let cut = (from.max(start), to.min(stop));
            if cut.0 < cut.1 {
                list.push(cut);
            }
        }
        if list.is_empty() {
            list.push((start, start));
        }
        Ok(Periods::new(list))
    }

    /// These intervals, which come one after another.
    pub fn new(list: Vec<(Time, Time)>) -> Periods {
        Periods { list: list.into(), at: 0, active: false }
    }

    /// All of them.
    pub fn all(&self) -> &[(Time, Time)] {
        &self.list
    }

    /// When the present one ends or the next begins.
    #[inline]
    pub fn due(&self) -> Time {
        self.list.get(self.at).map_or(Time::NEVER, |p| if self.active { p.1 } else { p.0 })
    }

    /// Whether the source is active.
    pub fn active(&self) -> bool {
        self.active
    }

    /// Whether nothing comes any more.
    pub fn over(&self) -> bool {
        self.at >= self.list.len()
    }

    /// What is due happens. True when an interval begins.
    pub fn turn(&mut self) -> bool {
        self.at += usize::from(self.active);
        self.active = !self.active;
        self.active
    }
}
