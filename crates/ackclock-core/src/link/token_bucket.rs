//! Token buckets: a policer that refuses, a shaper that waits.
//!
//! A bucket of `b` bytes fills at rate `r` and starts full; a packet of `len` bytes needs as many tokens (RFC 2697,
//! RFC 3290 §5.1.3; Linux `tbf`). All arithmetic is in whole units of bit/s times nanoseconds, so that nothing drifts.

use super::serializer::{BIT_NANOS, Serializer};
use crate::time::{Span, Time};
use std::fmt;

/// What is wrong with a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketError {
    /// A rate of 0: an empty bucket would stay empty.
    NoRate,
    /// A burst of 0 bytes: no packet would ever pass.
    NoBurst,
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BucketError::NoRate => write!(f, "a token bucket needs a rate above 0"),
            BucketError::NoBurst => write!(f, "a token bucket needs a burst of at least one packet's bytes"),
        }
    }
}

impl std::error::Error for BucketError {}

/// The bucket itself.
#[derive(Clone, Debug)]
struct Bucket {
    rate: u64,
    /// Capacity and contents, bit/s times nanoseconds.
    capacity: u128,
    tokens: u128,
    filled: Time,
}

impl Bucket {
    fn new(rate: u64, burst: u32) -> Result<Bucket, BucketError> {
        if rate == 0 {
            return Err(BucketError::NoRate);
        }
        if burst == 0 {
            return Err(BucketError::NoBurst);
        }
        let capacity = u128::from(burst) * u128::from(BIT_NANOS);
        Ok(Bucket { rate, capacity, tokens: capacity, filled: Time::ZERO })
    }

    #[inline]
    fn need(len: u32) -> u128 {
        u128::from(len) * u128::from(BIT_NANOS)
    }

    #[inline]
    fn fits(&self, len: u32) -> bool {
        Bucket::need(len) <= self.capacity
    }

    /// Fills up to `now`; a time before the last one changes nothing.
    #[inline]
    fn fill(&mut self, now: Time) {
        let added = u128::from(self.rate) * u128::from(now.since(self.filled).0);
        self.tokens = (self.tokens + added).min(self.capacity.max(self.tokens));
        self.filled = self.filled.max(now);
    }
}

/// Lets packets pass as long as there are tokens for them.
#[derive(Clone, Debug)]
pub struct Policer {
    bucket: Bucket,
}

impl Policer {
    /// At `rate` bit/s with a bucket of `burst` bytes, which is full at time 0.
    ///
    /// # Errors
    /// A rate or burst of 0.
    pub fn new(rate: u64, burst: u32) -> Result<Policer, BucketError> {
        Ok(Policer { bucket: Bucket::new(rate, burst)? })
    }

    /// Whether a packet of `len` bytes could ever pass.
    pub fn fits(&self, len: u32) -> bool {
        self.bucket.fits(len)
    }

    /// Whether a packet of `len` bytes passes at `now`; if so, its tokens are spent.
    #[inline]
    pub fn conforms(&mut self, now: Time, len: u32) -> bool {
        self.bucket.fill(now);
        let need = Bucket::need(len);
        let passes = self.bucket.tokens >= need;
        if passes {
            self.bucket.tokens -= need;
        }
        passes
    }
}

/// A token bucket in front of a line: each packet waits until there are tokens for all of it, then goes at the line's
/// rate. First in, first out.
#[derive(Clone, Debug)]
pub struct Shaper {
    bucket: Bucket,
    line: Serializer,
}

impl Shaper {
    /// At `rate` bit/s with a bucket of `burst` bytes, full at time 0, before a line of `line` bit/s.
    ///
    /// # Errors
    /// A rate or burst of 0.
    pub fn new(rate: u64, burst: u32, line: u64) -> Result<Shaper, BucketError> {
        Ok(Shaper { bucket: Bucket::new(rate, burst)?, line: Serializer::new(line) })
    }

    /// Whether a packet of `len` bytes can pass: one longer than the bucket never does, and must be refused before.
    #[inline]
    pub fn fits(&self, len: u32) -> bool {
        self.bucket.fits(len)
    }

    /// The earliest instant from `now` at which the line is free; the tokens depend on the packet, which
    /// [`Shaper::transmit`] holds back until it has them.
    #[inline]
    pub fn opens(&self, now: Time) -> Time {
        now.max(self.line.free_at())
    }

    /// Transmits `len` bytes that are ready at `now`, as soon as the line is free and there are tokens. Returns start and
    /// end, rounded up to whole nanoseconds. A packet that does not fit never starts, and changes nothing.
    #[inline]
    pub fn transmit(&mut self, now: Time, len: u32) -> (Time, Time) {
        let bucket = &mut self.bucket;
        if !bucket.fits(len) {
            return (Time::NEVER, Time::NEVER);
        }
        let mut start = now.max(self.line.free_at()).max(bucket.filled);
        bucket.fill(start);
        let need = Bucket::need(len);
        if bucket.tokens < need {
            // Started within this nanosecond: what comes in during the rest of it is kept even where the bucket would
            // have been full at its beginning, or packets as long as the bucket would lose a fraction each time.
            let wait = (need - bucket.tokens).div_ceil(u128::from(bucket.rate));
            let wait = u64::try_from(wait).unwrap_or(u64::MAX);
            start += Span(wait);
            bucket.tokens += u128::from(bucket.rate) * u128::from(wait);
            bucket.filled = start;
        }
        bucket.tokens = bucket.tokens.saturating_sub(need);
        self.line.transmit(start, len)
    }

    /// The lower of the two rates, bit/s.
    pub fn mean_rate_bps(&self) -> f64 {
        self.bucket.rate.min(self.line.rate()) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_policer_passes_its_burst_and_then_its_rate() {
        // 8 Mbit/s, 15000 B: of twenty packets of 1500 B ten pass; tokens for one more need 1.5 ms.
        let mut p = Policer::new(8_000_000, 15_000).unwrap();
        assert_eq!((0..20).filter(|_| p.conforms(Time::ZERO, 1500)).count(), 10);
        assert!(!p.conforms(Time(1_500_000 - 1), 1500));
        assert!(p.conforms(Time(1_500_000), 1500));
        assert!(!p.conforms(Time(1_500_000), 1));
        // A second later the bucket is full, not fuller.
        assert_eq!((0..20).filter(|_| p.conforms(Time(1000 * MS), 1500)).count(), 10);
    }

    #[test]
    fn a_policer_passes_exactly_burst_and_rate_in_the_long_run() {
        // One byte every 7 ns at 1/3 of that rate: no nanosecond's fraction may be lost.
        let rate = 1_000_000_000 * 8 / 21;
        let mut p = Policer::new(rate, 100).unwrap();
        let n = 3_000_000u64;
        let passed = (0..n).filter(|k| p.conforms(Time(k * 7), 1)).count() as u64;
        let exact = 100 + u128::from(rate) * u128::from((n - 1) * 7) / u128::from(BIT_NANOS);
        assert_eq!(u128::from(passed), exact);
    }

    #[test]
    fn a_shaper_sends_its_burst_at_line_rate_and_the_rest_at_its_own() {
        // 8 Mbit/s, 15000 B before 80 Mbit/s: the line takes .15 ms per packet. After k packets at line rate tokens are
        // 15000 + 1000 k * .15 - 1500 k >= 0 up to k = 11; the twelfth lacks 1500 * 12 - 15000 - 1000 t = 0: t = 3 ms.
        let mut s = Shaper::new(8_000_000, 15_000, 80_000_000).unwrap();
        for k in 0..11 {
            assert_eq!(s.opens(Time::ZERO), Time(k * 150_000));
            assert_eq!(s.transmit(Time::ZERO, 1500), (Time(k * 150_000), Time((k + 1) * 150_000)));
        }
        for k in 0..1000 {
            let start = 3 * MS + k * 1_500_000;
            assert_eq!(s.transmit(Time::ZERO, 1500), (Time(start), Time(start + 150_000)));
        }
    }

    #[test]
    fn packets_as_long_as_the_bucket_keep_the_rate() {
        // 7 Mbit/s: 1500 B take 1714285.714... ns, whose fraction must not be lost.
        let mut s = Shaper::new(7_000_000, 1500, 1_000_000_000).unwrap();
        let mut start = Time::ZERO;
        let n = 70_001u64;
        for _ in 0..n {
            start = s.transmit(s.opens(start), 1500).0;
        }
        let exact = (u128::from(n - 1) * 1500 * u128::from(BIT_NANOS)).div_ceil(7_000_000);
        assert_eq!(u128::from(start.0), exact);
    }

    #[test]
    fn idle_time_fills_the_bucket_to_its_brim() {
        let mut s = Shaper::new(1_000_000, 3000, 1_000_000_000).unwrap();
        for now in [0, 1000 * MS, 9000 * MS] {
            let starts: Vec<u64> = (0..3).map(|_| s.transmit(Time(now), 1500).0.0 - now).collect();
            // Two at once, 12 us apart by the line; the third waits until 4500 B have come in less the 3000.
            assert_eq!(starts, [0, 12_000, 12 * MS]);
        }
    }

    #[test]
    fn a_packet_longer_than_the_bucket_never_passes() {
        let mut s = Shaper::new(1_000_000, 1000, 1_000_000_000).unwrap();
        assert!(s.fits(1000) && !s.fits(1001));
        assert_eq!(s.transmit(Time(5), 1001), (Time::NEVER, Time::NEVER));
        assert_eq!(s.transmit(Time(5), 1000), (Time(5), Time(8005)));
    }

    #[test]
    fn buckets_without_rate_or_burst_are_refused() {
        assert_eq!(Policer::new(0, 1).unwrap_err(), BucketError::NoRate);
        assert_eq!(Shaper::new(1, 0, 1).unwrap_err(), BucketError::NoBurst);
    }
}
