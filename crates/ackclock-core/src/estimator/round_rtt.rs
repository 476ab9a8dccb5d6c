//! Round-trip times of one round and of the connection: what delay-based controllers compare (Brakmo and Peterson 1995).
//!
//! Times are whole numbers of any unit; ratios of them do not depend on it.

/// Smallest and largest samples of the connection; smallest, sum and number of those of the present round.
#[derive(Clone, Debug)]
pub struct RoundRtt {
    base: u64,
    max: u64,
    min: u64,
    sum: u64,
    count: u32,
    end: u64,
}

impl RoundRtt {
    /// No samples; the first round ends with the first acknowledgment.
    pub fn new() -> RoundRtt {
        RoundRtt { base: u64::MAX, max: 0, min: u64::MAX, sum: 0, count: 0, end: 0 }
    }

    /// Takes a sample.
    #[inline]
    pub fn sample(&mut self, rtt: u64) {
        let rtt = rtt.max(1);
        self.base = self.base.min(rtt);
        self.max = self.max.max(rtt);
        self.min = self.min.min(rtt);
        self.sum = self.sum.saturating_add(rtt);
        self.count = self.count.saturating_add(1);
    }

    /// Smallest sample of the connection, `u64::MAX` before the first.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Largest sample of the connection.
    #[inline]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Smallest sample of the round, `u64::MAX` before the first.
    #[inline]
    pub fn min(&self) -> u64 {
        self.min
    }

    /// Sum of the round's samples.
    #[inline]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Mean of the round's samples; zero without any.
    pub fn mean(&self) -> f64 {
        match self.count {
            0 => 0.0,
            n => self.sum as f64 / f64::from(n),
        }
    }

    /// Number of samples of the round.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether something sent after the round's begin is acknowledged, `una` being the first outstanding position.
    #[inline]
    pub fn over(&self, una: u64) -> bool {
        una > self.end
    }

    /// Begins a round that ends when something from `nxt` on is acknowledged.
    pub fn begin(&mut self, nxt: u64) {
        self.end = nxt;
        self.min = u64::MAX;
        self.sum = 0;
        self.count = 0;
    }

    /// Forgets the connection's extremes: the path may be another one.
    pub fn forget(&mut self) {
        self.base = u64::MAX;
        self.max = 0;
    }
}

impl Default for RoundRtt {
    fn default() -> Self {
        RoundRtt::new()
    }
}

#[cfg(test)]
mod tests {
    use super::RoundRtt;

    #[test]
    fn rounds_end_with_what_was_sent_in_them() {
        let mut r = RoundRtt::new();
        assert!(r.over(1));
        r.begin(5);
        assert!(!r.over(5) && r.over(6));
    }

    #[test]
    fn the_connection_remembers_what_a_round_forgets() {
        let mut r = RoundRtt::new();
        for rtt in [120, 100, 140] {
            r.sample(rtt);
        }
        assert_eq!((r.base(), r.max(), r.min(), r.mean(), r.count()), (100, 140, 100, 120.0, 3));
        r.begin(1);
        r.sample(130);
        assert_eq!((r.base(), r.max(), r.min(), r.mean(), r.count()), (100, 140, 130, 130.0, 1));
        r.forget();
        assert_eq!((r.base(), r.max(), r.min()), (u64::MAX, 0, 130));
    }
}
