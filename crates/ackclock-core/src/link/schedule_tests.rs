//! Tests of links whose rate changes.

use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn schedule(steps: &[(u64, u64)], period: Option<u64>) -> RateSchedule {
    let steps: Vec<(Time, u64)> = steps.iter().map(|&(t, r)| (Time(t), r)).collect();
    RateSchedule::new(&steps, period.map(Span)).unwrap()
}

#[test]
fn a_packet_is_integrated_over_the_steps() {
    // 8 Gbit/s is a byte per nanosecond. 10 bytes at it, then half of it, off from 30 to 100, then full.
    let mut s = schedule(&[(0, 8 * SECOND), (10, 4 * SECOND), (30, 0), (100, 8 * SECOND)], None);
    assert_eq!(s.transmit(Time::ZERO, 6), (Time(0), Time(6)));
    // 4 bytes in the first step, 3 in 6 ns of the second.
    assert_eq!(s.transmit(Time(6), 7), (Time(6), Time(16)));
    // 14 ns carry 7; the other 3 wait for the link to come back.
    assert_eq!(s.transmit(Time(16), 10), (Time(16), Time(103)));
    assert_eq!((s.bits_between(Time(0), Time(50)), s.bits_between(Time(20), Time(110))), (160.0, 120.0));
}

#[test]
fn nothing_begins_while_the_link_is_off() {
    // Every 100 ns: 40 on, 60 off.
    let mut s = schedule(&[(0, 8 * SECOND), (40, 0)], Some(100));
    assert_eq!(s.opens(Time(39)), Time(39));
    assert_eq!(s.opens(Time(40)), Time(100));
    assert_eq!(s.opens(Time(1_000_000_000_000_041)), Time(1_000_000_000_000_100));
    assert_eq!(s.transmit(Time(50), 10), (Time(100), Time(110)));
    // Exactly to the end of the step, and no wait for the next.
    assert_eq!(s.transmit(Time(110), 30), (Time(110), Time(140)));
    assert_eq!((s.opens(Time(140)), s.mean_rate_bps()), (Time(200), 3.2e9));
    // Beginning off.
    let s = schedule(&[(0, 0), (70, 5)], None);
    assert_eq!((s.opens(Time(3)), s.mean_rate_bps()), (Time(70), 5.0));
}

#[test]
fn a_transmission_of_many_cycles_is_not_walked() {
    // 1000 bit/s for a millisecond per second is a bit per cycle: a byte ends with the first millisecond of the eighth.
    let steps = [(0, 1000), (SECOND / 1000, 0)];
    let mut s = schedule(&steps, Some(SECOND));
    assert_eq!(s.transmit(Time::ZERO, 1), (Time::ZERO, Time(7 * SECOND + SECOND / 1000)));
    assert_eq!(s.transmit(Time::ZERO, 100_000_000).1, Time((7 + 800_000_000) * SECOND + SECOND / 1000));
    // A bit per hour: 12 million hours are more than virtual time has.
    assert_eq!(schedule(&steps, Some(3_600 * SECOND)).transmit(Time::ZERO, 1_500_000), (Time::ZERO, Time::NEVER));
}

#[test]
fn a_link_that_stays_off_never_finishes() {
    let mut s = schedule(&[(0, 8 * SECOND), (10, 0)], None);
    assert_eq!(s.mean_rate_bps(), 8e9);
    assert_eq!(s.transmit(Time(5), 6), (Time(5), Time::NEVER));
    assert_eq!((s.opens(Time(6)), s.transmit(Time(6), 1)), (Time::NEVER, (Time::NEVER, Time::NEVER)));
}

#[test]
fn impossible_schedules_are_refused() {
    let build = |steps: &[(u64, u64)], period: Option<u64>| {
        let steps: Vec<(Time, u64)> = steps.iter().map(|&(t, r)| (Time(t), r)).collect();
        RateSchedule::new(&steps, period.map(Span)).unwrap_err()
    };
    assert_eq!(build(&[], None), ScheduleError::Empty);
    assert_eq!(build(&[(1, 5)], None), ScheduleError::LateStart);
    assert_eq!(build(&[(0, 5), (3, 6), (3, 7)], None), ScheduleError::NotAscending(3));
    assert_eq!(build(&[(0, 5), (3, 6)], Some(3)), ScheduleError::ShortPeriod);
    assert_eq!(build(&[(0, 0), (3, 0)], Some(9)), ScheduleError::AlwaysOff);
    assert_eq!(build(&[(0, 5), (3, 6), (2, 7)], None).to_string(), "step 3 must begin after step 2");
}

/// Walks a schedule nanosecond by nanosecond, with fractions of one as work left over.
struct Naive {
    steps: Vec<(u64, u64)>,
    period: Option<u64>,
    /// The nanosecond in use and what is left of it, bit/s times nanoseconds.
    at: u64,
    left: u64,
}

impl Naive {
    fn rate(&self, t: u64) -> u64 {
        let t = self.period.map_or(t, |p| t % p);
        self.steps.iter().rev().find(|s| s.0 <= t).unwrap().1
    }

    fn transmit(&mut self, now: u64, len: u32) -> (u64, u64) {
        let fresh = |n: &Naive| n.left == n.rate(n.at);
        let free = self.at + u64::from(!fresh(self));
        let mut start = now.max(free);
        while self.rate(start) == 0 {
            start += 1;
        }
        if start > free || fresh(self) {
            self.at = start;
            self.left = self.rate(start);
        }
        let mut work = u64::from(len) * BIT_NANOS;
        while work > 0 {
            if self.left == 0 {
                self.at += 1;
                self.left = self.rate(self.at);
            }
            let done = work.min(self.left);
            work -= done;
            self.left -= done;
        }
        if self.left == 0 {
            self.at += 1;
            self.left = self.rate(self.at);
            return (start, self.at);
        }
        (start, self.at + u64::from(!fresh(self)))
    }
}

proptest! {
    /// A constant schedule, whole or cut into steps, repeating or not, is the serialiser to the nanosecond.
    #[test]
    fn a_constant_schedule_is_a_serializer(
        rate in prop_oneof![Just(1_000_000_000u64), 1_000u64..10_000_000_000],
        cuts in prop::collection::btree_set(1u64..100_000, 0..5),
        repeats in any::<bool>(),
        packets in prop::collection::vec((0u64..30_000, 0u32..3000), 1..100),
    ) {
        let steps: Vec<(u64, u64)> = std::iter::once(0).chain(cuts).map(|t| (t, rate)).collect();
        let mut cut = schedule(&steps, repeats.then_some(123_456));
        let mut plain = Serializer::new(rate);
        let mut from = RateSchedule::from(&plain);
        let mut now = 0;
        for (gap, len) in packets {
            now += gap;
            let expected = plain.transmit(Time(now), len);
            prop_assert_eq!(cut.opens(Time(now)), expected.0);
            prop_assert_eq!(cut.transmit(Time(now), len), expected);
            prop_assert_eq!(from.transmit(Time(now), len), expected);
            if now % 3 == 0 {
                now = expected.1.0;
            }
        }
        prop_assert_eq!(cut.mean_rate_bps(), rate as f64);
    }

    /// Any schedule is the walk over its nanoseconds, whether packets are given ahead or one by one.
    #[test]
    fn steps_are_integrated_exactly(
        steps in prop::collection::btree_map(1u64..200, prop_oneof![Just(0u64), 1_000_000_000u64..90_000_000_000], 0..6),
        first in prop_oneof![Just(0u64), Just(7_777_777_777u64)],
        packets in prop::collection::vec((0u64..60, 1u32..300), 1..40),
        repeats in any::<bool>(),
    ) {
        // The last rate is above 0, so that the walk ends.
        let mut steps: Vec<(u64, u64)> = std::iter::once((0, first)).chain(steps).collect();
        steps.push((200, 3_333_333_333));
        let period = repeats.then_some(230);
        let mut ahead = schedule(&steps, period);
        let mut naive = Naive { left: steps[0].1, steps, period, at: 0 };
        let mut one_by_one = ahead.clone();
        let (mut now, mut free) = (0, Time::ZERO);
        for (gap, len) in packets {
            now += gap;
            let expected = naive.transmit(now, len);
            let got = ahead.transmit(Time(now), len);
            prop_assert_eq!((got.0.0, got.1.0), expected);
            let opens = one_by_one.opens(Time(now).max(free));
            prop_assert_eq!(opens, got.0);
            prop_assert_eq!(one_by_one.transmit(opens, len), got);
            free = got.1;
        }
    }

    /// What a busy link carries between two instants is what it says it could.
    #[test]
    fn a_busy_link_carries_its_capacity(from in 0u64..2000, to in 0u64..2000) {
        let s = schedule(&[(0, 0), (50, 8 * SECOND), (80, 0), (90, 16 * SECOND)], Some(100));
        let rate = |t: u64| [0.0, 8.0, 0.0, 16.0][[50, 80, 90].iter().filter(|&&b| b <= t % 100).count()];
        let walked: f64 = (from..to).map(rate).sum();
        prop_assert_eq!(s.bits_between(Time(from), Time(to)), walked);
    }
}
