//! A serialiser: how long packets occupy a link, to the last fraction of a nanosecond.

use crate::time::Time;

/// A byte, in bit/s times nanoseconds.
pub(super) const BIT_NANOS: u64 = 8_000_000_000;

/// Transmits packets one after the other at a constant rate. The remainder of every division is carried, so a busy
/// link of 1 Gbit/s carries exactly 10^9 bits per second.
#[derive(Clone, Debug)]
pub struct Serializer {
    rate: u64,
    /// End of the last transmission: `short / rate` of a nanosecond before `free`, the whole one that everybody sees.
    free: u64,
    short: u64,
    /// Division of the last packet size, which is nearly always that of the next: the time rounded up, and by how much.
    last_len: u32,
    last_ns: u64,
    last_short: u64,
}

impl Serializer {
    /// At `rate` bit/s, at least 1.
    pub fn new(rate: u64) -> Serializer {
        Serializer { rate: rate.max(1), free: 0, short: 0, last_len: 0, last_ns: 0, last_short: 0 }
    }

    /// Its rate, bit/s.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// The first whole nanosecond at which the link is free.
    #[inline]
    pub fn free_at(&self) -> Time {
        Time(self.free)
    }

    /// Transmits `len` bytes that are ready at `now`, after what is under way. Returns start and end, rounded up to
    /// whole nanoseconds.
    #[inline]
    pub fn transmit(&mut self, now: Time, len: u32) -> (Time, Time) {
        if len != self.last_len {
            self.divide(len);
        }
        // At the very nanosecond in which the last transmission ends the link is busy until then: a caller that waits
        // for the end of each transmission must get the same remainder as one that asks for all of them at once.
        let (start, before) = if now.0 > self.free { (now.0, 0) } else { (self.free, self.short) };
        let mut end = start.saturating_add(self.last_ns);
        let mut short = before + self.last_short;
        if short >= self.rate {
            short -= self.rate;
            end -= 1;
        }
        (self.free, self.short) = (end, short);
        (Time(start), Time(end))
    }

    /// How long `len` bytes take.
    #[inline(never)]
    fn divide(&mut self, len: u32) {
        let (bits, rate) = (u128::from(len) * u128::from(BIT_NANOS), u128::from(self.rate));
        self.last_len = len;
        let ns = bits.div_ceil(rate);
        self.last_ns = ns as u64;
        self.last_short = (ns * rate - bits) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_link_carries_exactly_its_rate() {
        for (rate, len) in [(1_000_000_000u64, 1514u32), (7_777_777, 66), (3, 1)] {
            let mut s = Serializer::new(rate);
            let n = 10_000u64;
            let mut end = Time::ZERO;
            for _ in 0..n {
                end = s.transmit(Time::ZERO, len).1;
            }
            let exact = u128::from(n) * u128::from(len) * u128::from(BIT_NANOS);
            assert_eq!(u128::from(end.0), exact.div_ceil(u128::from(rate)));
        }
    }

    #[test]
    fn the_remainder_is_carried_whether_packets_are_given_ahead_or_one_by_one() {
        let (mut ahead, mut one_by_one) = (Serializer::new(7_777_777), Serializer::new(7_777_777));
        let mut free = Time::ZERO;
        for len in [1514u32, 66, 98, 1514, 40].into_iter().cycle().take(10_000) {
            let (start, end) = one_by_one.transmit(free, len);
            assert_eq!(ahead.transmit(Time::ZERO, len), (start, end));
            free = end;
        }
    }

    #[test]
    fn an_idle_link_starts_at_once() {
        let mut s = Serializer::new(8_000_000_000);
        assert_eq!(s.transmit(Time(5), 10), (Time(5), Time(15)));
        assert_eq!(s.transmit(Time(7), 10), (Time(15), Time(25)));
        assert_eq!(s.transmit(Time(25), 10), (Time(25), Time(35)));
    }
}
