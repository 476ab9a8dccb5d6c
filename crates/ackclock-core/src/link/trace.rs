//! A link that follows a recorded trace of transmission opportunities, in the format of mahimahi.
//!
//! Source: R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015; the traces go back to
//! K. Winstein, A. Sivaraman and H. Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over
//! Cellular Networks" (Sprout), NSDI 2013. Each line is a whole number of milliseconds, and stands for one opportunity
//! to carry a fixed number of bytes at that instant; equal lines are several opportunities. After the last line the
//! trace begins again, shifted by the last line's time.

use crate::time::Time;
use std::fmt;

/// Bytes an opportunity carries: the largest packet of an Ethernet.
pub const OPPORTUNITY: u32 = 1500;

/// What is wrong with a trace. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// No line at all.
    Empty,
    /// A line that is not a whole number of milliseconds (it may be empty).
    NotANumber {
        /// Which line.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A line earlier than the one before it.
    Decreasing {
        /// Which line.
        line: usize,
    },
    /// The last line is 0: the trace would repeat without taking time.
    NoPeriod {
        /// Which line.
        line: usize,
    },
    /// A line beyond what virtual time can hold.
    TooLate {
        /// Which line.
        line: usize,
    },
    /// Opportunities of 0 bytes.
    NoBytes,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Empty => write!(f, "the trace is empty: one whole number of milliseconds per line"),
            TraceError::NotANumber { line, text } => {
                write!(f, "line {line}: '{text}' is not a whole number of milliseconds")
            }
            TraceError::Decreasing { line } => {
                write!(f, "line {line} is earlier than line {}: times must not decrease", line - 1)
            }
            TraceError::NoPeriod { line } => {
                write!(f, "line {line}, the last, is 0: the trace repeats after that time, so it must be above 0")
            }
            TraceError::TooLate { line } => write!(f, "line {line} is more than {} ms", MAX_MS),
            TraceError::NoBytes => write!(f, "an opportunity must carry at least 1 byte (1500 is usual)"),
        }
    }
}

impl std::error::Error for TraceError {}

/// Longest trace: 31 years, so that a sum of two stays within virtual time.
const MAX_MS: u64 = 1_000_000_000_000;

/// The opportunities of one period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Nanoseconds, not decreasing, the last the period.
    times: Box<[u64]>,
}

impl Trace {
    /// Reads a trace. Empty lines at its end are ignored.
    ///
    /// # Errors
    /// [`TraceError`] names the line.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut ms = Vec::new();
        for (i, line) in text.trim_end().lines().enumerate() {
            let line = line.trim();
            let bad = || TraceError::NotANumber { line: i + 1, text: line.to_owned() };
            if line.is_empty() || !line.bytes().all(|b| b.is_ascii_digit()) {
                return Err(bad());
            }
            ms.push(line.parse().map_err(|_| TraceError::TooLate { line: i + 1 })?);
        }
        Trace::new(&ms)
    }

    /// From milliseconds.
    ///
    /// # Errors
    /// [`TraceError`], whose lines are places in the list from 1.
    pub fn new(ms: &[u64]) -> Result<Trace, TraceError> {
        let last = *ms.last().ok_or(TraceError::Empty)?;
        if let Some(i) = ms.windows(2).position(|w| w[1] < w[0]) {
            return Err(TraceError::Decreasing { line: i + 2 });
        }
        if last == 0 {
            return Err(TraceError::NoPeriod { line: ms.len() });
        }
        if let Some(i) = ms.iter().position(|&t| t > MAX_MS) {
            return Err(TraceError::TooLate { line: i + 1 });
        }
        Ok(Trace { times: ms.iter().map(|t| t * 1_000_000).collect() })
    }

    /// A trace of `ms` milliseconds (at least 1) whose opportunities of `bytes` come as those of a link of `rate`
    /// bit/s: each in the first whole millisecond in which its last bit is through. If the last falls before `ms`, the
    /// trace is that much shorter and its mean rate, on repetition, higher; a rate below one opportunity in `ms` gives
    /// one at its end.
    pub fn of_rate(rate: u64, ms: u64, bytes: u32) -> Trace {
        let opportunity = u128::from(bytes.max(1)) * 8_000;
        let rate = u128::from(rate);
        let n = u128::from(ms) * rate / opportunity;
        let mut times: Vec<u64> = (1..=n).map(|k| (k * opportunity).div_ceil(rate) as u64 * 1_000_000).collect();
        if times.is_empty() {
            times.push(ms.clamp(1, MAX_MS) * 1_000_000);
        }
        Trace { times: times.into() }
    }

    /// The trace as text, one line per opportunity.
    pub fn text(&self) -> String {
        self.times.iter().map(|t| format!("{}\n", t / 1_000_000)).collect()
    }

    /// Opportunities in a period.
    pub fn opportunities(&self) -> usize {
        self.times.len()
    }

    fn period(&self) -> u64 {
        self.times[self.times.len() - 1]
    }

    /// When the `index`-th opportunity comes, counted from 0 through all repetitions.
    #[inline]
    fn at(&self, index: u64) -> u64 {
        let n = self.times.len() as u64;
        if index < n {
            return self.times[index as usize];
        }
        (index / n).saturating_mul(self.period()).saturating_add(self.times[(index % n) as usize])
    }

    /// How many opportunities come before `t`.
    fn before(&self, t: u64) -> u64 {
        // An opportunity at the end of one period and one at time 0 of the next coincide: t at the boundary belongs to
        // the period that ends, all of whose opportunities are before those of the next.
        let cycle = t.saturating_sub(1) / self.period();
        let within = t - cycle * self.period();
        cycle * self.times.len() as u64 + self.times.partition_point(|&x| x < within) as u64
    }
}

/// Transmits packets at the opportunities of a [`Trace`].
///
/// A packet leaves at the opportunity that carries its last byte; what that has left goes to the packets that wait at
/// this instant. An opportunity, or the rest of one, that finds nothing waiting is lost. A packet that arrives at the very
/// nanosecond of an opportunity still uses what is left of it.
#[derive(Clone, Debug)]
pub struct TraceLink {
    trace: Trace,
    bytes: u32,
    /// The opportunity in use or next, through all repetitions, when it comes, and its bytes still free (at least 1).
    index: u64,
    time: u64,
    left: u32,
}

impl TraceLink {
    /// A link at the beginning of `trace`, `bytes` per opportunity: [`OPPORTUNITY`], or 1504 as mahimahi counts, whose
    /// packets carry 4 bytes of the tunnel device.
    ///
    /// # Errors
    /// [`TraceError::NoBytes`] for 0 bytes.
    pub fn new(trace: Trace, bytes: u32) -> Result<TraceLink, TraceError> {
        if bytes == 0 {
            return Err(TraceError::NoBytes);
        }
        let time = trace.at(0);
        Ok(TraceLink { trace, bytes, index: 0, time, left: bytes })
    }

    /// Opportunity at or after `now` with bytes left: its number, time and bytes.
    #[inline]
    fn next(&self, now: Time) -> (u64, u64, u32) {
        if self.time >= now.0 {
            return (self.index, self.time, self.left);
        }
        let following = self.trace.at(self.index + 1);
        let index = if following >= now.0 { self.index + 1 } else { self.trace.before(now.0) };
        (index, self.trace.at(index), self.bytes)
    }

    /// The next opportunity with bytes left, at or after `now`.
    #[inline]
    pub fn opens(&self, now: Time) -> Time {
        Time(self.next(now).1)
    }

    /// Transmits `len` bytes that are ready at `now`: the opportunities of the first and of the last byte.
    #[inline]
    pub fn transmit(&mut self, now: Time, len: u32) -> (Time, Time) {
        let (index, start, left) = self.next(now);
        if len < left {
            (self.index, self.time, self.left) = (index, start, left - len);
            return (Time(start), Time(start));
        }
        let beyond = len - left;
        // The opportunity of the last byte; if it is used up, the state is the one after it.
        let end = self.trace.at(index + u64::from(beyond.div_ceil(self.bytes)));
        self.index = index + 1 + u64::from(beyond / self.bytes);
        self.time = self.trace.at(self.index);
        self.left = self.bytes - beyond % self.bytes;
        (Time(start), Time(end))
    }

    /// Bits of the opportunities after `from` and up to `to`.
    pub fn bits_between(&self, from: Time, to: Time) -> f64 {
        let until = |t: Time| self.trace.before(t.0.saturating_add(1));
        until(to).saturating_sub(until(from)) as f64 * f64::from(self.bytes) * 8.0
    }

    /// Bit/s over a period.
    pub fn mean_rate_bps(&self) -> f64 {
        self.trace.opportunities() as f64 * f64::from(self.bytes) * 8e9 / self.trace.period() as f64
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
