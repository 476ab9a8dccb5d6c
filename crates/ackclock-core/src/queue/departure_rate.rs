//! How fast packets leave a queue, measured while enough of them wait to keep the link busy (RFC 8033 §5).

use crate::time::{Span, Time};

/// An estimator of the time a byte takes to leave.
///
/// A measurement begins with a departure that leaves at least a threshold of bytes behind, and counts from the next one,
/// so that its bytes and its time belong together. It ends when a threshold of bytes has left.
#[derive(Clone, Debug)]
pub(super) struct DepartureRate {
    threshold: u64,
    weight: f64,
    per_byte: f64,
    /// When the measurement began, and the bytes that left since.
    begun: Option<(Time, u64)>,
}

impl DepartureRate {
    /// Measures over `threshold` bytes and averages with `weight` for the newest measurement.
    pub(super) fn new(threshold: u64, weight: f64) -> DepartureRate {
        DepartureRate { threshold, weight, per_byte: 0.0, begun: None }
    }

    /// Mean time per byte, s; 0 before the first measurement.
    #[inline]
    pub(super) fn per_byte(&self) -> f64 {
        self.per_byte
    }

    /// Begins anew.
    pub(super) fn forget(&mut self) {
        self.per_byte = 0.0;
        self.begun = None;
    }

    /// A packet of `len` bytes left, `waiting` bytes stay.
    pub(super) fn left(&mut self, now: Time, len: u32, waiting: u64) {
        if let Some((since, bytes)) = &mut self.begun {
            *bytes += u64::from(len);
            let took = now.since(*since);
            if *bytes >= self.threshold && took > Span::ZERO {
                let sample = took.as_secs_f64() / *bytes as f64;
                let weight = if self.per_byte == 0.0 { 1.0 } else { self.weight };
                self.per_byte += weight * (sample - self.per_byte);
                self.begun = None;
            }
        }
        if self.begun.is_none() && waiting >= self.threshold {
            self.begun = Some((now, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes leave every `ms` milliseconds from `start` on, `n` times.
    fn leave(rate: &mut DepartureRate, start: u64, ms: u64, n: u64, waiting: u64) -> u64 {
        (0..n).for_each(|i| rate.left(Time((start + i * ms) * 1_000_000), 1000, waiting));
        start + n * ms
    }

    #[test]
    fn bytes_and_time_of_a_measurement_belong_together() {
        let mut rate = DepartureRate::new(10_000, 0.25);
        // Ten packets after the first, 1 ms apart: 1 us per byte, without the error of one packet.
        let t = leave(&mut rate, 0, 1, 10, 10_000);
        assert_eq!(rate.per_byte(), 0.0);
        let t = leave(&mut rate, t, 1, 1, 10_000);
        assert!((rate.per_byte() - 1e-6).abs() < 1e-15);
        // The next measurement began at once; twice as slow: 0.75 * 1 + 0.25 * 2, the first gap being 1 ms.
        leave(&mut rate, t, 2, 10, 10_000);
        assert!((rate.per_byte() - (0.75 + 0.25 * 1.9) * 1e-6).abs() < 1e-15, "{}", rate.per_byte());
    }

    #[test]
    fn nothing_is_measured_while_little_waits() {
        let mut rate = DepartureRate::new(10_000, 0.25);
        leave(&mut rate, 0, 1, 100, 9_999);
        assert_eq!(rate.per_byte(), 0.0);
        leave(&mut rate, 100, 1, 11, 10_000);
        assert!(rate.per_byte() > 0.0);
        rate.forget();
        assert_eq!(rate.per_byte(), 0.0);
    }
}
