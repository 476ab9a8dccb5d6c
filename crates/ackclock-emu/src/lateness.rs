//! How late things were, and whether a run can be used in spite of it.

use ackclock_core::histogram::Histogram;
use ackclock_core::time::{Span, Time};
use serde::Serialize;

/// Most time between two wake-ups in which others are not looked for, seconds: as network cards wait between interrupts.
const SPACING_S: f64 = 50e-6;

/// Times by which something was late.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    histogram: Histogram,
    buckets: Vec<u64>,
    worst: u64,
}

/// A summary of them, seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// Their mean; none if there are none.
    pub mean_s: Option<f64>,
    /// Nearest-rank percentiles, as exact as the histogram's buckets.
    pub p50_s: Option<f64>,
    /// See `p50_s`.
    pub p99_s: Option<f64>,
    /// See `p50_s`.
    pub p999_s: Option<f64>,
    /// The largest.
    pub worst_s: f64,
    /// All of them, by powers of two: how many are below so many nanoseconds and not below half of that, in ascending order, without
    /// those of which there are none. Those of less than a nanosecond are below 1.
    pub histogram: Vec<(u64, u64)>,
}

impl Lateness {
    /// Something that was due at `due` happened at `now`.
    pub fn note(&mut self, due: Time, now: Time) {
        self.took(now.since(due));
    }

    /// Something took so long.
    pub fn took(&mut self, span: Span) {
        self.histogram.record(span.0);
        let bucket = (u64::BITS - span.0.leading_zeros()) as usize;
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.worst = self.worst.max(span.0);
    }

    /// What they come to.
    pub fn summary(&self) -> Summary {
        let seconds = |p: f64| self.histogram.percentile(p).map(|ns| ns * 1e-9);
        Summary {
            count: self.histogram.count(),
            mean_s: self.histogram.mean().map(|ns| ns * 1e-9),
            p50_s: seconds(0.5),
            p99_s: seconds(0.99),
            p999_s: seconds(0.999),
            worst_s: self.worst as f64 * 1e-9,
            histogram: self.histogram_by_twos(),
        }
    }
}

impl Lateness {
    fn histogram_by_twos(&self) -> Vec<(u64, u64)> {
        let all = self.buckets.iter().zip(0..).filter(|(count, _)| **count > 0);
        all.map(|(count, bucket)| (1u64.checked_shl(bucket).unwrap_or(u64::MAX), *count)).collect()
    }
}

/// What a run tolerates, from its own rates and round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// The 99th percentile of the lateness: one full packet at the rate of the bottleneck (of several the fastest), or 2 % of
    /// the smallest round-trip time, whichever is more.
    pub p99_s: f64,
    /// Any lateness, and any time in which arrivals were not looked for: 10 % of the smallest round-trip time, and not less
    /// than `p99_s`.
    pub worst_s: f64,
}

impl Tolerance {
    /// Of the smallest propagation there and back and the time of a full packet at the bottleneck, seconds.
    pub fn new(rtt: f64, packet: f64) -> Tolerance {
        let p99_s = packet.max(0.02 * rtt);
        Tolerance { p99_s, worst_s: p99_s.max(0.1 * rtt) }
    }

    /// How long the path and the applications need not wake up again after they did: a small part of what may be late.
    pub fn spacing(&self) -> Span {
        Span::from_secs_f64((self.p99_s / 8.0).min(SPACING_S))
    }

    /// What of `late`, packets late at `place`, is not tolerated, in words.
    pub fn late(&self, place: &str, late: &Summary) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(p99) = late.p99_s.filter(|p99| *p99 > self.p99_s) {
            let limit = micros(self.p99_s);
            problems.push(format!(
                "packets of {place} were late: the 99th percentile is {}, more than {limit}",
                micros(p99)
            ));
        }
        if late.worst_s > self.worst_s {
            let (worst, limit) = (micros(late.worst_s), micros(self.worst_s));
            problems.push(format!("a packet of {place} was {worst} late, more than {limit}"));
        }
        problems
    }

    /// What of `gaps`, times in which arrivals were not looked for, is not tolerated, in words.
    pub fn gaps(&self, gaps: &Summary) -> Option<String> {
        let (worst, limit) = (micros(gaps.worst_s), micros(self.worst_s));
        (gaps.worst_s > self.worst_s).then(|| format!("arrivals were not looked for in {worst}, more than {limit}"))
    }
}

fn micros(seconds: f64) -> String {
    format!("{:.0} us", seconds * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(of: &[u64]) -> Summary {
        let mut lateness = Lateness::default();
        of.iter().for_each(|us| lateness.note(Time(1000), Time(1000 + us * 1000)));
        lateness.summary()
    }

    #[test]
    fn every_one_is_in_the_histogram() {
        let mut lateness = Lateness::default();
        [0, 1, 2, 3, 1000, 1024, u64::MAX].into_iter().for_each(|ns| lateness.took(Span(ns)));
        let expected = vec![(1, 1), (2, 1), (4, 2), (1024, 1), (2048, 1), (u64::MAX, 1)];
        assert_eq!(lateness.summary().histogram, expected);
    }

    #[test]
    fn what_is_tolerated_follows_rate_and_round_trip() {
        // 12 ms a packet: a slow line forgives; 20 ms of round trip at a fast one: 400 us, and 2 ms at most.
        assert_eq!(Tolerance::new(0.02, 0.012), Tolerance { p99_s: 0.012, worst_s: 0.012 });
        let fast = Tolerance::new(0.02, 12e-6);
        assert_eq!(fast, Tolerance { p99_s: 0.0004, worst_s: 0.002 });
        let mut values = vec![50; 199];
        values.push(1900);
        assert!(fast.late("link a", &summary(&values)).is_empty());
        values[0] = 2500;
        assert_eq!(fast.late("link a", &summary(&values)).len(), 1, "one of two hundred is beyond what any may be");
        assert_eq!(fast.late("link a", &summary(&[1000; 50])).len(), 1);
        assert_eq!(fast.late("link a", &summary(&[])).len(), 0);
        assert!(fast.gaps(&summary(&[1999])).is_none() && fast.gaps(&summary(&[2001])).is_some());
    }
}
