//! LEDBAT (RFC 6817): a transport for the background, which keeps its own queueing delay at a target and yields to
//! others.
//!
//! Known deviation: without the timestamp option there is no one-way delay, and the round-trip time takes its place.

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, Cx, Needs, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::slowstart::SlowStart;
use crate::time::{Span, Time};

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "target",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_millis(100)),
        range: Some((0.001, 10.0)),
        doc: "TARGET, the queueing delay that it adds; RFC 6817 §3.3 allows 100 ms at most",
    },
    ParamSpec {
        name: "gain",
        kind: Kind::Float,
        default: Default::Float(1.0),
        range: Some((0.001, 100.0)),
        doc: "GAIN, segments of growth per round-trip time without queueing delay; RFC 6817 allows 1 at most",
    },
    ParamSpec {
        name: "allowed_increase",
        kind: Kind::Segments,
        default: Default::Int(1),
        range: Some((0.0, 1e6)),
        doc: "ALLOWED_INCREASE, how far the window may be above what was in flight",
    },
    ParamSpec {
        name: "min_cwnd",
        kind: Kind::Segments,
        default: Default::Int(2),
        range: Some((1.0, 1e6)),
        doc: "MIN_CWND, least window",
    },
    ParamSpec {
        name: "init_cwnd",
        kind: Kind::Segments,
        default: Default::Int(2),
        range: Some((0.0, 1e6)),
        doc: "INIT_CWND, window at the begin; 0 is the endpoint's initial window",
    },
    ParamSpec {
        name: "base_history",
        kind: Kind::Count,
        default: Default::Int(10),
        range: Some((1.0, 1000.0)),
        doc: "BASE_HISTORY, intervals whose smallest delay counts for the base delay",
    },
    ParamSpec {
        name: "base_interval",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_secs(60)),
        range: Some((0.001, 1e5)),
        doc: "length of such an interval",
    },
    ParamSpec {
        name: "current_filter",
        kind: Kind::Count,
        default: Default::Int(4),
        range: Some((1.0, 1000.0)),
        doc: "CURRENT_FILTER, delay samples whose smallest is the current delay; RFC 6817 leaves the number open, ns-3 takes 4",
    },
    ParamSpec {
        name: "slow_start",
        kind: Kind::Bool,
        default: Default::Bool(false),
        range: None,
        doc: "begin with slow start, until the queueing delay reaches the target (ns-3: until the first loss)",
    },
    // RFC 6817 §2.4.2 halves the window.
    ParamSpec { default: Default::Text("cwnd"), ..BASE },
];

pub(super) const ENTRY: Controller = Controller {
    name: "ledbat",
    family: "delay",
    source: "RFC 6817",
    summary: "holds its queueing delay at 100 ms one way, yields to others; half on loss",
    differences: "Linux has no LEDBAT; ns-3's begins with slow start (parameter slow_start)",
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Ledbat::new(p))),
};

/// The smallest of the last values, at most as many as there are slots.
#[derive(Clone, Debug)]
struct Least {
    values: Box<[u64]>,
    at: usize,
}

impl Least {
    fn new(slots: u64) -> Least {
        Least { values: vec![u64::MAX; slots.max(1) as usize].into(), at: 0 }
    }

    /// Replaces the oldest value.
    #[inline]
    fn push(&mut self, value: u64) {
        self.at += 1;
        if self.at == self.values.len() {
            self.at = 0;
        }
        self.values[self.at] = value;
    }

    /// Lowers the newest value.
    #[inline]
    fn lower(&mut self, value: u64) {
        let newest = &mut self.values[self.at];
        *newest = value.min(*newest);
    }

    #[inline]
    fn min(&self) -> u64 {
        self.values.iter().copied().fold(u64::MAX, u64::min)
    }
}

/// Controls the window by the distance of the one-way queueing delay from a target.
#[derive(Clone, Debug)]
pub struct Ledbat {
    base: Base,
    target: f64,
    gain: f64,
    allowed_increase: f64,
    min_cwnd: f64,
    init_cwnd: f64,
    slow_start: bool,
    interval: Span,
    /// When the interval of the newest base delay ends.
    rollover: Time,
    history: Least,
    base_delay: u64,
    current: Least,
    /// When the last reduction was taken back.
    undone: Time,
}

impl Ledbat {
    /// From its parameters.
    pub fn new(p: &Params) -> Ledbat {
        Ledbat {
            base: Base::new(p),
            target: p.duration("target").0 as f64,
            gain: p.float("gain"),
            allowed_increase: p.float("allowed_increase"),
            min_cwnd: p.float("min_cwnd"),
            init_cwnd: p.float("init_cwnd"),
            slow_start: p.bool("slow_start"),
            interval: p.duration("base_interval"),
            rollover: Time::ZERO,
            history: Least::new(p.int("base_history")),
            base_delay: u64::MAX,
            current: Least::new(p.int("current_filter")),
            undone: Time::NEVER,
        }
    }

    /// Takes a sample of the delay (RFC 6817 §2.4.2, update_base_delay and update_current_delay).
    #[inline]
    fn sample(&mut self, now: Time, delay: Span) {
        if now >= self.rollover {
            let interval = self.interval.0.max(1);
            self.rollover = Time((now.0 / interval + 1).saturating_mul(interval));
            self.history.push(delay.0);
            self.base_delay = self.history.min();
        } else {
            self.history.lower(delay.0);
            self.base_delay = self.base_delay.min(delay.0);
        }
        self.current.push(delay.0);
    }

    /// Queueing delay, ns; none before the first sample.
    fn queueing(&self) -> Option<f64> {
        let current = self.current.min();
        (current != u64::MAX).then(|| current.saturating_sub(self.base_delay) as f64)
    }
}

impl Avoidance for Ledbat {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    fn start(&mut self, _cx: &Cx<'_>, w: &mut Window) {
        if self.init_cwnd > 0.0 {
            w.cwnd = self.init_cwnd;
        }
    }

    #[inline]
    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if let Some(delay) = ack.one_way.or(ack.rtt) {
            self.sample(cx.now, delay);
        }
    }

    /// What was in flight bounds the window.
    fn validates_itself(&self) -> bool {
        true
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        if !self.slow_start {
            self.grow(cx, ack, w, acked);
            return 0.0;
        }
        // A threshold is not lowered by the acknowledgment that has restored it.
        let may_end = w.cwnd >= 2.0 && cx.now != self.undone;
        if may_end && self.queueing().is_some_and(|q| q >= self.target) {
            w.ssthresh = w.cwnd;
            return acked;
        }
        opening.on_ack(cx, ack, w, acked)
    }

    fn undo(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.undone = cx.now;
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        let off_target = 1.0 - self.queueing().unwrap_or(0.0) / self.target;
        let most = ack.in_flight_before as f64 / f64::from(cx.mss) + self.allowed_increase;
        w.cwnd = (w.cwnd + self.gain * off_target * acked / w.cwnd).min(most).max(self.min_cwnd);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        (self.base.window(cx, signal, w) / 2.0).max(self.min_cwnd).min(w.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::params::Value;

    fn ledbat(given: &[(&str, u64)]) -> Ledbat {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), Value::Int(*v))).collect();
        Ledbat::new(&Params::new(PARAMS, &given).unwrap())
    }

    /// The window in bytes after one segment is acknowledged at a window of 10 and this queueing delay.
    fn after(queueing_ms: u64) -> f64 {
        let mut law = ledbat(&[]);
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        law.sample(Time::ZERO, Span::from_millis(30));
        (0..4).for_each(|_| law.sample(Time::ZERO, Span::from_millis(30 + queueing_ms)));
        let ack = Ack { in_flight_before: 10_000, ..testing::ack(1.0) };
        testing::with_cx(1000, |cx| law.grow(cx, &ack, &mut w, 1.0));
        w.cwnd * 1000.0
    }

    #[test]
    fn window_vectors() {
        for (queueing, bytes) in [(0, 10_100.0), (50, 10_050.0), (100, 10_000.0), (150, 9_950.0), (300, 9_800.0)] {
            assert!((after(queueing) - bytes).abs() < 1e-6, "{queueing} ms: {}", after(queueing));
        }
    }

    #[test]
    fn the_window_follows_what_was_in_flight_and_has_a_floor() {
        let mut law = ledbat(&[]);
        testing::with_cx(1000, |cx| {
            let mut grown = |cwnd: f64, in_flight_before: u64| {
                let mut w = Window { cwnd, ssthresh: f64::INFINITY };
                law.grow(cx, &Ack { in_flight_before, ..testing::ack(1.0) }, &mut w, 1.0);
                w.cwnd
            };
            assert_eq!(grown(10.0, 6_000), 7.0);
            assert_eq!(grown(1.0, 0), 2.0);
        });
    }

    #[test]
    fn loss_halves_down_to_the_least_window() {
        let mut law = ledbat(&[]);
        testing::with_cx(1000, |cx| {
            let mut lost = |cwnd: f64, flight: u64| {
                let w = Window { cwnd, ssthresh: f64::INFINITY };
                law.reduce(cx, Signal::Loss { flight }, &w)
            };
            assert_eq!([lost(10.0, 10_000), lost(3.0, 3_000)], [5.0, 2.0]);
        });
    }

    #[test]
    fn the_current_delay_is_the_least_of_four_and_the_base_that_of_ten_minutes() {
        let mut law = ledbat(&[]);
        let minute = |n: u64| Time(n * 60_000_000_000);
        let ms = Span::from_millis;
        law.sample(minute(0), ms(20));
        (1..=9).for_each(|n| law.sample(minute(n), ms(50)));
        assert_eq!((law.base_delay, law.queueing()), (ms(20).0, Some(30e6)));
        [70, 60, 90, 80].into_iter().for_each(|d| law.sample(minute(9), ms(d)));
        assert_eq!(law.queueing(), Some(40e6));
        law.sample(minute(10), ms(70));
        assert_eq!((law.base_delay, law.queueing()), (ms(50).0, Some(10e6)), "the first minute is forgotten");
    }

    #[test]
    fn it_begins_with_two_segments_and_without_slow_start() {
        let mut law = ledbat(&[]);
        let mut opening = crate::slowstart::build("standard", &[]).unwrap();
        testing::with_cx(1000, |cx| {
            let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
            law.start(cx, &mut w);
            let ack = Ack { in_flight_before: 2_000, ..testing::ack(1.0) };
            assert_eq!(law.slow_start(cx, &ack, &mut w, 1.0, opening.as_mut()), 0.0);
            assert_eq!(w.cwnd, 2.5);
        });
    }
}
