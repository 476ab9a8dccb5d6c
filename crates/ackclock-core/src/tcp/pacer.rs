//! Pacing: segments spread over time at the rate the controller asks for.

use super::config::{Config, PacingQuantum, PacingRule};
use crate::cc::{Control, Pacing};
use crate::time::{Span, Time};

/// When the next segment may leave.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Pacer {
    /// When the next segment may leave.
    gate: Time,
    /// The option `pacing`: never at all, or also where the controller does not ask for it.
    off: bool,
    always: bool,
    credit: bool,
    /// Whether a controller may ask for bursts.
    bursts: bool,
    mss: u32,
    /// Segments with payload that leave unpaced at the start.
    unpaced: u64,
    /// When it would leave were every segment sent alone; later than the gate within a burst.
    next: Time,
    /// Bytes that the burst under way still has.
    left: i64,
    /// The last gap, and what it came from: between two acknowledgments nothing of that changes.
    gap_of: Basis,
    gap: u64,
}

/// What a gap is reckoned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Basis {
    /// Bytes in a smoothed round-trip time at 100 per cent, or, where that is zero, bytes per second.
    bytes: u64,
    srtt: u64,
    percent: u32,
    /// Payload of the segment before the gap.
    len: u32,
}

impl Basis {
    /// The rate in payload bytes per second.
    #[inline]
    fn rate(&self) -> f64 {
        let bytes = as_float(self.bytes);
        if self.srtt == 0 { bytes } else { bytes * f64::from(self.percent) * 1e7 / as_float(self.srtt) }
    }
}

/// `n` as a float, in one instruction for all that a signed integer holds.
#[inline]
fn as_float(n: u64) -> f64 {
    i64::try_from(n).map_or(n as f64, |n| n as f64)
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    /// Payload bytes.
    pub len: u32,
    /// Segments with payload of the connection before it.
    pub number: u64,
}

impl Pacer {
    pub fn new(config: &Config, mss: u32) -> Pacer {
        Pacer {
            off: config.pacing == PacingRule::Off,
            always: config.pacing == PacingRule::Window,
            credit: config.pacing_credit,
            bursts: config.pacing_quantum == PacingQuantum::Controller,
            mss,
            unpaced: config.unpaced_segments,
            gate: Time::ZERO,
            next: Time::ZERO,
            left: 0,
            gap_of: Basis::default(),
            gap: 0,
        }
    }

    /// When the next segment may leave; in the past when it may leave now.
    #[inline]
    pub fn gate(&self) -> Time {
        self.gate
    }

    /// Nothing leaves before `until`.
    pub fn hold(&mut self, until: Time) {
        self.gate = self.gate.max(until);
        self.next = self.next.max(until);
    }

    /// Whether a rate can be in force.
    #[inline]
    pub fn acts(&self, control: &Control) -> bool {
        self.always || (!self.off && control.pacing != Pacing::Off)
    }

    /// The rate in payload bytes per second; `None` is unpaced.
    pub fn rate(&self, control: &Control, outstanding: u64, srtt: Span) -> Option<f64> {
        self.basis(0, control, outstanding, srtt).map(|basis| basis.rate())
    }

    /// What the gap behind `len` bytes is reckoned from; `None` is unpaced.
    #[inline(always)]
    fn basis(&self, len: u32, control: &Control, outstanding: u64, srtt: Span) -> Option<Basis> {
        let percent = match control.pacing {
            _ if !self.acts(control) => return None,
            Pacing::Rate(rate) => return (rate > 0).then_some(Basis { bytes: rate, srtt: 0, percent: 0, len }),
            Pacing::ByWindow { percent } => percent,
            // Linux's default: twice the window per round trip while slow start is far from its end.
            Pacing::Off if control.cwnd < control.ssthresh / 2 => 200,
            Pacing::Off => 120,
        };
        (srtt > Span::ZERO).then_some(Basis { bytes: control.cwnd.max(outstanding), srtt: srtt.0, percent, len })
    }

    /// The time that `len` bytes take at the rate in force; `None` unpaced.
    #[inline(always)]
    fn gap(&mut self, len: u32, control: &Control, outstanding: u64, srtt: Span) -> Option<u64> {
        let basis = self.basis(len, control, outstanding, srtt)?;
        if self.gap_of != basis {
            self.gap_of = basis;
            self.gap = (f64::from(len) * 1e9 / basis.rate()) as u64;
        }
        Some(self.gap)
    }

    /// Another rate is in force from `now` on: what waits for the gate waits for one segment at it at most.
    #[cold]
    pub fn renew(&mut self, now: Time, control: &Control, outstanding: u64, srtt: Span) {
        let gap = if self.acts(control) { self.gap(self.mss, control, outstanding, srtt) } else { None };
        let at = now + Span(gap.unwrap_or(0));
        if self.gate > at {
            (self.gate, self.next, self.left) = (at, at, 0);
        }
    }

    /// A segment leaves at `now` while `outstanding` bytes are unacknowledged; only where the pacer [acts](Pacer::acts).
    #[inline(always)]
    pub fn sent(&mut self, now: Time, s: Leaving, control: &Control, outstanding: u64, srtt: Span) {
        let late = now.since(self.next);
        if now >= self.next {
            (self.next, self.left) = (now, 0);
        }
        // The gap after the last unpaced segment is the first.
        if s.number + 1 < self.unpaced {
            return;
        }
        let Some(mut gap) = self.gap(s.len, control, outstanding, srtt) else { return };
        if self.credit {
            // A late segment shortens the wait of the next one, to half at most (Linux).
            gap -= late.0.min(gap / 2);
        }
        self.next += Span(gap);
        if self.left == 0 {
            if control.burst == 0 || !self.bursts {
                self.gate = self.next;
                return;
            }
            self.left = i64::from(control.burst);
        }
        self.left -= i64::from(s.len);
        // What is left must hold a whole segment: a burst is never more than its quantum.
        if self.left < i64::from(self.mss) {
            (self.gate, self.left) = (self.next, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    fn pacer(rule: PacingRule) -> Pacer {
        let mut config = Config::profile(Profile::Linux);
        config.pacing = rule;
        config.unpaced_segments = 2;
        config.pacing_quantum = PacingQuantum::Controller;
        Pacer::new(&config, 1250)
    }

    /// A segment of 1250 bytes leaves at `rate`, bytes per second, of which `burst` may leave together.
    fn send(p: &mut Pacer, now: Time, number: u64, rate: u64, burst: u32) {
        let control = Control { pacing: Pacing::Rate(rate), burst, ..Control::window(20_000, 80_000) };
        p.sent(now, Leaving { len: 1250, number }, &control, 0, Span::ZERO);
    }

    fn control(pacing: Pacing) -> Control {
        Control { pacing, ..Control::window(20_000, 80_000) }
    }

    #[test]
    fn rates() {
        let srtt = Span::from_millis(40);
        let rate = |rule, pacing| pacer(rule).rate(&control(pacing), 10_000, srtt);
        assert_eq!(rate(PacingRule::Controller, Pacing::Off), None);
        assert_eq!(rate(PacingRule::Off, Pacing::Rate(5)), None);
        assert_eq!(rate(PacingRule::Controller, Pacing::Rate(125_000)), Some(125_000.0));
        assert_eq!(rate(PacingRule::Controller, Pacing::ByWindow { percent: 150 }), Some(750_000.0));
        assert_eq!(rate(PacingRule::Window, Pacing::Off), Some(1_000_000.0));
        let avoidance = Control::window(20_000, 30_000);
        assert_eq!(pacer(PacingRule::Window).rate(&avoidance, 10_000, srtt), Some(600_000.0));
    }

    #[test]
    fn gaps_follow_the_rate_and_lateness_is_credited() {
        let mut p = pacer(PacingRule::Controller);
        let at = |us: u64| Time(us * 1000);
        send(&mut p, at(0), 0, 125_000, 0);
        assert_eq!(p.gate(), at(0), "unpaced");
        send(&mut p, at(0), 1, 125_000, 0);
        assert_eq!(p.gate(), at(10_000));
        send(&mut p, at(12_000), 2, 125_000, 0);
        assert_eq!(p.gate(), at(20_000), "two milliseconds of credit");
        send(&mut p, at(40_000), 3, 125_000, 0);
        assert_eq!(p.gate(), at(45_000), "at most half");
    }

    #[test]
    fn a_burst_cut_short_goes_on_and_the_rate_is_kept() {
        let mut p = Pacer::new(&Config::profile(Profile::Rfc), 1250);
        let (rate, burst) = (12_500_000, 12_500);
        for n in 0..4 {
            send(&mut p, Time::ZERO, n, rate, burst);
        }
        let later = Time(50_000);
        assert!(p.gate() <= later, "the window ended the burst, not the pacer");
        for n in 4..10 {
            assert!(p.gate() <= later);
            send(&mut p, later, n, rate, burst);
        }
        assert_eq!(p.gate(), Time(1_000_000), "ten segments are a millisecond");
    }

    #[test]
    fn a_burst_never_exceeds_what_was_asked_for_and_can_be_forbidden() {
        let leaves = |quantum, burst| {
            let mut config = Config::profile(Profile::Rfc);
            config.pacing_quantum = quantum;
            let mut p = Pacer::new(&config, 1250);
            let mut count = 0;
            while p.gate() <= Time::ZERO {
                send(&mut p, Time::ZERO, count, 1_250_000, burst);
                count += 1;
            }
            (count, p.gate())
        };
        assert_eq!(leaves(PacingQuantum::Controller, 0), (1, Time(1_000_000)));
        assert_eq!(leaves(PacingQuantum::Controller, 2500), (2, Time(2_000_000)));
        assert_eq!(leaves(PacingQuantum::Controller, 4000), (3, Time(3_000_000)), "whole segments");
        assert_eq!(leaves(PacingQuantum::Segment, 4000), (1, Time(1_000_000)));
    }
}
