//! The clock of a source that sends packets of one size at a given rate, always or by turns.

use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::variate::Variate;

/// Lengths of the times on and off, with a stream each.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Lengths of the times on and off, nanoseconds.
    pub times: [Variate; 2],
    /// What they are drawn from.
    pub rng: [Stream; 2],
}

impl Turns {
    fn draw(&mut self, which: usize) -> Span {
        Span(self.times[which].draw_whole(&mut self.rng[which], 0))
    }
}

/// When the next packet leaves. While on, packets are a gap apart, without drift; a gap that the end of a time on
/// interrupts goes on in the next, so that the rate while on is exact.
#[derive(Clone, Debug)]
pub struct Pulse {
    /// The gap is `bits * 1e9 / rate` ns: its whole part, and the remainder in units of `1 / rate` ns.
    whole: u64,
    part: u64,
    rate: u64,
    carry: u64,
    phase: Span,
    jitter: Option<Stream>,
    turns: Option<Turns>,
    /// End of the present time on.
    until: Time,
    /// When the next packet leaves.
    pub next: Time,
}

impl Pulse {
    /// A packet of `bytes` payload whenever `rate` bit/s make one. The first comes after `phase`, or after a share of a
    /// gap drawn from `rng`. With `jitter` every gap is drawn from half to one and a half of its length.
    pub fn new(
        bytes: u32,
        rate: u64,
        phase: Option<u64>,
        mut rng: Stream,
        jitter: Option<Stream>,
        turns: Option<Turns>,
    ) -> Pulse {
        let bits = u64::from(bytes) * 8 * 1_000_000_000;
        let (whole, part) = (bits / rate.max(1), bits % rate.max(1));
        let drawn = (rng.uniform() * whole as f64) as u64;
        let phase = Span(phase.unwrap_or(drawn.max(1)));
        Pulse { whole, part, rate, carry: 0, phase, jitter, turns, until: Time::NEVER, next: Time::NEVER }
    }

    /// Whole nanoseconds from one packet to the next.
    pub fn gap(&self) -> u64 {
        self.whole
    }

    /// The source becomes active at `now`.
    pub fn begin(&mut self, now: Time) {
        self.carry = 0;
        self.next = now;
        if let Some(turns) = &mut self.turns {
            self.until = now + turns.draw(0);
        }
        self.pass(self.phase.0);
    }

    /// The packet due has left.
    pub fn advance(&mut self) {
        let mut gap = self.whole;
        self.carry += self.part;
        if self.carry >= self.rate {
            self.carry -= self.rate;
            gap += 1;
        }
        if let Some(rng) = &mut self.jitter {
            gap = (gap as f64 * (0.5 + rng.uniform()) + 0.5) as u64;
        }
        self.pass(gap.max(1));
    }

    /// Lets `left` nanoseconds of time on pass.
    fn pass(&mut self, mut left: u64) {
        let Some(turns) = &mut self.turns else {
            self.next += Span(left);
            return;
        };
        loop {
            let on = self.until.since(self.next).0;
            if left <= on || !self.until.is_set() {
                self.next += Span(left);
                return;
            }
            left -= on;
            self.next = self.until + turns.draw(1);
            self.until = self.next + turns.draw(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::named(1, 0, "pulse")
    }

    #[test]
    fn packets_do_not_drift() {
        // 1000 B at 3 Mbit/s: 2666666.67 ns.
        let mut p = Pulse::new(1000, 3_000_000, Some(5), stream(), None, None);
        p.begin(Time(100));
        for n in 0..10_000u64 {
            assert_eq!(p.next, Time(105 + n * 8_000_000_000_000 / 3_000_000));
            p.advance();
        }
    }

    #[test]
    fn the_phase_is_a_share_of_the_gap() {
        let phases = (0..1000).map(|i| {
            let mut p = Pulse::new(1000, 1_000_000, None, Stream::named(1, i, "pulse"), None, None);
            p.begin(Time(0));
            p.next.0
        });
        let phases: Vec<u64> = phases.collect();
        assert!(phases.iter().all(|p| *p > 0 && *p < 8_000_000));
        let mean = phases.iter().sum::<u64>() / 1000;
        assert!(mean.abs_diff(4_000_000) < 300_000, "{mean}");
    }

    #[test]
    fn jitter_keeps_the_mean() {
        let mut p = Pulse::new(1000, 8_000_000, Some(0), stream(), Some(stream()), None);
        p.begin(Time(0));
        let mut last = p.next;
        for _ in 0..100_000 {
            p.advance();
            let gap = p.next.since(last).0;
            assert!((500_000..=1_500_000).contains(&gap));
            last = p.next;
        }
        assert!((last.0 as f64 / 1e5 / 1e6 - 1.0).abs() < 0.004, "{last:?}");
    }

    #[test]
    fn a_gap_goes_on_in_the_next_turn() {
        let times = [Variate::Constant(2_500_000.0), Variate::Constant(10_000_000.0)];
        let turns = Turns { times, rng: [stream(), stream()] };
        let mut p = Pulse::new(1000, 8_000_000, Some(1_000_000), stream(), None, Some(turns));
        p.begin(Time(0));
        let times: Vec<u64> = (0..7)
            .map(|_| {
                let t = p.next.0 / 100_000;
                p.advance();
                t
            })
            .collect();
        // On from 0 to 2.5, 12.5 to 15, 25 to 27.5 ms.
        assert_eq!(times, [10, 20, 130, 140, 150, 260, 270]);
    }
}
