//! A rate that all connections together do not exceed.

use std::time::{Duration, Instant};

/// Time for which what was not used may be made up for.
const SLACK: Duration = Duration::from_millis(50);

/// Says when the next bytes may be read.
#[derive(Debug)]
pub struct Bucket {
    rate: f64,
    next: Instant,
}

impl Bucket {
    /// Bytes per second.
    pub fn new(rate: u64, now: Instant) -> Bucket {
        Bucket { rate: rate.max(1) as f64, next: now }
    }

    /// So many bytes were read: when the next may be.
    pub fn took(&mut self, bytes: u64, now: Instant) -> Instant {
        let earliest = now.checked_sub(SLACK).unwrap_or(now);
        self.next = self.next.max(earliest) + Duration::from_secs_f64(bytes as f64 / self.rate);
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_their_time() {
        let start = Instant::now();
        let mut bucket = Bucket::new(1000, start);
        let mut now = start;
        for _ in 0..10 {
            now = bucket.took(500, now);
        }
        assert_eq!(now.duration_since(start).as_millis(), 5000);
        // What was not used for a minute is not made up for.
        let later = now + Duration::from_secs(60);
        assert!(bucket.took(1000, later).duration_since(later) >= Duration::from_millis(900));
    }
}
