//! Pacing: segments spread over time at the rate the controller asks for.

use super::config::{Config, PacingRule};
use crate::cc::{Control, Pacing};
use crate::time::{Span, Time};

/// When the next segment may leave.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    rule: PacingRule,
    credit: bool,
    /// Segments with payload that leave unpaced at the start.
    unpaced: u64,
    next: Time,
}

impl Pacer {
    pub fn new(config: &Config) -> Pacer {
        Pacer { rule: config.pacing, credit: config.pacing_credit, unpaced: config.unpaced_segments, next: Time::ZERO }
    }

    /// When the next segment may leave; in the past when it may leave now.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Nothing leaves before `until`.
    pub fn hold(&mut self, until: Time) {
        self.next = self.next.max(until);
    }

    /// Whether a rate can be in force.
    #[inline]
    pub fn acts(&self, control: &Control) -> bool {
        self.rule == PacingRule::Window || control.pacing != Pacing::Off
    }

    /// The rate in payload bytes per second; `None` is unpaced.
    pub fn rate(&self, control: &Control, outstanding: u64, srtt: Span) -> Option<f64> {
        let percent = match (self.rule, control.pacing) {
            (PacingRule::Off, _) | (PacingRule::Controller, Pacing::Off) => return None,
            (_, Pacing::Rate(rate)) => return (rate > 0).then_some(rate as f64),
            (_, Pacing::ByWindow { percent }) => percent,
            // Linux's default: twice the window per round trip while slow start is far from its end.
            (PacingRule::Window, Pacing::Off) if control.cwnd < control.ssthresh / 2 => 200,
            (PacingRule::Window, Pacing::Off) => 120,
        };
        if srtt == Span::ZERO {
            return None;
        }
        let window = control.cwnd.max(outstanding) as f64;
        Some(window * f64::from(percent) * 1e7 / srtt.0 as f64)
    }

    /// `len` payload bytes leave at `now`, after `number` segments of the connection.
    #[inline]
    pub fn sent(&mut self, now: Time, len: u32, number: u64, rate: Option<f64>) {
        let late = now.since(self.next);
        self.next = self.next.max(now);
        let Some(rate) = rate else { return };
        // The gap after the last unpaced segment is the first.
        if number + 1 < self.unpaced {
            return;
        }
        let mut gap = (f64::from(len) * 1e9 / rate) as u64;
        if self.credit {
            // A late segment shortens the wait of the next one, to half at most (Linux).
            gap -= late.0.min(gap / 2);
        }
        self.next += Span(gap);
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
        Pacer::new(&config)
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
        p.sent(at(0), 1250, 0, Some(125_000.0));
        assert_eq!(p.next(), at(0), "unpaced");
        p.sent(at(0), 1250, 1, Some(125_000.0));
        assert_eq!(p.next(), at(10_000));
        p.sent(at(12_000), 1250, 2, Some(125_000.0));
        assert_eq!(p.next(), at(20_000), "two milliseconds of credit");
        p.sent(at(40_000), 1250, 3, Some(125_000.0));
        assert_eq!(p.next(), at(45_000), "at most half");
    }
}
