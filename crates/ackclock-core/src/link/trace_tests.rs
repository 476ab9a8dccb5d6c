//! Tests of trace-driven links.

use super::*;
use crate::random_cases::{cases, seed};
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

fn link(ms: &[u64], bytes: u32) -> TraceLink {
    TraceLink::new(Trace::new(ms).unwrap(), bytes).unwrap()
}

#[test]
fn rates_of_known_traces() {
    assert_eq!(link(&[1], 1500).mean_rate_bps(), 12e6);
    assert_eq!(link(&[1, 1, 2, 2, 3, 3], 1500).mean_rate_bps(), 24e6);
    assert_eq!(link(&[1], 1504).mean_rate_bps(), 12.032e6);
}

#[test]
fn a_packet_leaves_with_its_last_byte() {
    let ms = |t: u64| Time(t * MS);
    let mut l = link(&[1, 3, 3, 10], 1500);
    assert_eq!(l.opens(Time::ZERO), ms(1));
    // Half an opportunity; the next packet takes the other half and more.
    assert_eq!(l.transmit(Time::ZERO, 750), (ms(1), ms(1)));
    assert_eq!(l.opens(ms(1)), ms(1));
    assert_eq!(l.transmit(ms(1), 1500), (ms(1), ms(3)));
    // What is left of the first at 3, and the second at 3.
    assert_eq!(l.transmit(ms(3), 2250), (ms(3), ms(3)));
    assert_eq!(l.opens(ms(3)), ms(10));
    // Idle at 10: lost; and the period begins again.
    assert_eq!(l.opens(Time(10 * MS + 1)), ms(11));
    assert_eq!(l.transmit(Time(10 * MS + 1), 6000), (ms(11), ms(20)));
    assert_eq!(l.opens(ms(20)), ms(21));
    // Jumbo: 1000 cycles of four at once.
    assert_eq!(l.transmit(ms(20), 6_000_000), (ms(21), ms(20 + 10_000)));
}

#[test]
fn the_rest_of_an_opportunity_is_lost_when_nothing_waits() {
    let mut l = link(&[5], 1500);
    assert_eq!(l.transmit(Time::ZERO, 100).1, Time(5 * MS));
    assert_eq!(l.transmit(Time(5 * MS), 100).1, Time(5 * MS));
    assert_eq!(l.transmit(Time(5 * MS + 1), 1500).1, Time(10 * MS));
    // A thousand years of idle opportunities are not walked.
    let far = 500_000_000_000 * MS / 20;
    assert_eq!(l.opens(Time(far + 1)), Time(far + 5 * MS));
}

#[test]
fn an_opportunity_at_zero_coincides_with_the_end_of_the_period_before() {
    let mut l = link(&[0, 4], 1000);
    assert_eq!(l.transmit(Time::ZERO, 1000), (Time(0), Time(0)));
    assert_eq!(l.transmit(Time::ZERO, 2000), (Time(4 * MS), Time(4 * MS)));
    assert_eq!(l.opens(Time(4 * MS)), Time(8 * MS));
    let mut idle = link(&[0, 4], 1000);
    assert_eq!(idle.transmit(Time(4 * MS), 3000), (Time(4 * MS), Time(8 * MS)));
    assert_eq!(idle.bits_between(Time(0), Time(8 * MS)), 32_000.0);
}

#[test]
fn wrong_traces_are_refused_with_their_line() {
    let error = |text: &str| Trace::parse(text).unwrap_err().to_string();
    assert_eq!(error(""), "the trace is empty: one whole number of milliseconds per line");
    assert_eq!(error("1\n2.5\n"), "line 2: '2.5' is not a whole number of milliseconds");
    assert_eq!(error("1\n\n3\n"), "line 2: '' is not a whole number of milliseconds");
    assert_eq!(error("1\n-2"), "line 2: '-2' is not a whole number of milliseconds");
    assert_eq!(error("1\n5\n3\n"), "line 3 is earlier than line 2: times must not decrease");
    assert_eq!(Trace::parse("0\n0\n"), Err(TraceError::NoPeriod { line: 2 }));
    assert_eq!(Trace::parse("1\n99999999999999999999"), Err(TraceError::TooLate { line: 2 }));
    assert_eq!(TraceLink::new(Trace::parse("1").unwrap(), 0).unwrap_err(), TraceError::NoBytes);
    // Windows line ends and empty lines at the end do no harm.
    assert_eq!(Trace::parse("1\r\n2\r\n\r\n"), Trace::new(&[1, 2]));
}

#[test]
fn a_trace_of_a_rate_has_that_rate() {
    assert_eq!(Trace::of_rate(12_000_000, 3, 1500).text(), "1\n2\n3\n");
    assert_eq!(Trace::of_rate(24_000_000, 2, 1500).text(), "1\n1\n2\n2\n");
    assert_eq!(Trace::of_rate(5_000_000, 12, 1500).text(), "3\n5\n8\n10\n12\n");
    assert_eq!(Trace::of_rate(1, 7, 1500).text(), "7\n");
    let t = Trace::of_rate(123_456_789, 10_000, 1500);
    assert_eq!(Trace::parse(&t.text()), Ok(t.clone()));
    assert!((TraceLink::new(t, 1500).unwrap().mean_rate_bps() / 123_456_789.0 - 1.0).abs() < 1e-3);
}

/// Opportunity by opportunity: each goes to what has arrived by then, in order, and what is over is lost.
fn naive(ms: &[u64], bytes: u32, packets: &[(u64, u32)]) -> Vec<u64> {
    let mut waiting: VecDeque<(u64, u32)> = packets.iter().copied().collect();
    let mut out = Vec::new();
    for cycle in 0.. {
        for t in ms {
            let now = (cycle * ms[ms.len() - 1] + t) * MS;
            let mut budget = bytes;
            while let Some((arrived, left)) = waiting.front_mut() {
                if *arrived > now || budget == 0 {
                    break;
                }
                let part = budget.min(*left);
                budget -= part;
                *left -= part;
                if *left == 0 {
                    out.push(now);
                    waiting.pop_front();
                }
            }
            if waiting.is_empty() {
                return out;
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(3000) as u32,
        rng_seed: proptest::test_runner::RngSeed::Fixed(seed()),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn packets_leave_as_in_a_walk_over_the_opportunities(
        steps in prop::collection::vec(0u64..6, 1..30),
        bytes in prop_oneof![Just(1500u32), Just(1504), 1u32..4000],
        arrivals in prop::collection::vec((prop_oneof![Just(0u64), 0u64..12_000_000, Just(MS)], 1u32..5000), 1..80),
    ) {
        let mut ms: Vec<u64> = steps.iter().scan(0, |t, s| { *t += s; Some(*t) }).collect();
        if ms[ms.len() - 1] == 0 {
            ms.push(1);
        }
        let packets: Vec<(u64, u32)> =
            arrivals.iter().scan(0, |t, &(gap, len)| { *t += gap; Some((*t, len)) }).collect();
        let mut l = link(&ms, bytes);
        let mut free = Time::ZERO;
        let mut got = Vec::new();
        let mut carried = 0.0;
        for &(arrived, len) in &packets {
            let opens = l.opens(free.max(Time(arrived)));
            let (start, end) = l.transmit(opens, len);
            prop_assert_eq!(start, opens);
            prop_assert!(end >= start);
            free = end;
            got.push(end.0);
            carried += f64::from(len) * 8.0;
        }
        // All bytes fit into the opportunities up to the last departure; those at time 0 are in no interval.
        let first = ms.iter().filter(|&&t| t == 0).count() as f64 * f64::from(bytes) * 8.0;
        prop_assert!(carried <= l.bits_between(Time::ZERO, free) + first);
        prop_assert_eq!(got, naive(&ms, bytes, &packets));
    }
}

/// mahimahi's emulator as it is described: it has a clock of milliseconds and is woken by arrivals. It goes through the
/// opportunities that have come since, each with a budget of bytes for the packet in transit and those behind it; then the
/// arrival joins the queue. At its end the schedule begins again, its base moved by its last time.
struct Emulator<'a> {
    schedule: &'a [u64],
    base: u64,
    next: usize,
    bytes: u32,
    queue: VecDeque<(usize, u32)>,
    in_transit: Option<(usize, u32)>,
    /// When each packet has left, in milliseconds.
    left: Vec<Option<u64>>,
}

impl Emulator<'_> {
    fn go_on_until(&mut self, now: u64) {
        while self.base + self.schedule[self.next] <= now {
            let time = self.base + self.schedule[self.next];
            self.next += 1;
            if self.next == self.schedule.len() {
                (self.next, self.base) = (0, self.base + self.schedule[self.next - 1]);
            }
            let mut budget = self.bytes;
            while budget > 0 {
                let Some((packet, rest)) = self.in_transit.take().or_else(|| self.queue.pop_front()) else { break };
                let part = budget.min(rest);
                budget -= part;
                if part == rest {
                    self.left[packet] = Some(time);
                } else {
                    self.in_transit = Some((packet, rest - part));
                }
            }
        }
    }

    fn arrive(&mut self, now: u64, packet: usize, len: u32) {
        self.go_on_until(now);
        self.queue.push_back((packet, len));
        self.left.push(None);
    }
}

/// Arrivals lie between milliseconds: on one of them mahimahi's answer depends on who is woken first.
#[test]
fn packets_leave_as_from_mahimahi() {
    use crate::rng::Stream;
    let (mut carried, mut wrapped) = (0, 0);
    let cases = cases(5000);
    for case in 0..cases {
        let mut rng = Stream::named(seed(), case, "mahimahi");
        // Dense, sparse and bursty; some begin at 0.
        let (gap, mut ms, mut t) = ([1, 2, 30][rng.below(3) as usize], Vec::new(), 0);
        for _ in 0..=rng.below(60) {
            t += rng.below(2) * rng.below(gap + 1);
            ms.push(t);
        }
        ms.extend((t == 0).then_some(1 + rng.below(5)));
        let bytes = [1500, 1504, 1 + rng.below(4000) as u32][rng.below(3) as usize];
        let mut link = link(&ms, bytes);
        let mut theirs =
            Emulator { schedule: &ms, base: 0, next: 0, bytes, queue: VecDeque::new(), in_transit: None, left: vec![] };
        let (mut now, mut free, mut ours) = (rng.below(3), Time::ZERO, Vec::new());
        for packet in 0..100 {
            now += [0, 0, rng.below(3), rng.below(40), rng.below(2000) * rng.below(2)][rng.below(5) as usize];
            let len = [1500, 40, 40 + rng.below(1461) as u32, 9000][rng.below(4) as usize];
            theirs.arrive(now, packet, len);
            let (start, end) = link.transmit(free.max(Time(now * MS + MS / 2)), len);
            carried += u64::from(start < end);
            free = end;
            ours.push(Some(end.0 / MS));
        }
        theirs.go_on_until(free.0 / MS);
        wrapped += u64::from(theirs.base > 0);
        assert_eq!(ours, theirs.left, "{case}: {bytes} bytes at {ms:?}");
    }
    assert!(cases < 1000 || (carried > 10 * cases && wrapped > cases / 2), "{carried} {wrapped}");
}
