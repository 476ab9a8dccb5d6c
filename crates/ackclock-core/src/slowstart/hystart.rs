//! HyStart: leaves slow start before the queue overflows, by acknowledgment trains and delay increase
//! (Ha and Rhee 2011, in the form Linux gives it for CUBIC).

use super::standard::{ABC_LIMIT, Standard};
use super::{SlowStart, SlowStartEntry, grow_to_ssthresh};
use crate::cc::{Ack, Cx, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::time::{Span, Time};

/// Round-trip samples of a round before its minimum counts.
const MIN_SAMPLES: u32 = 8;
/// Least delay increase that ends slow start.
const DELAY_MIN: Span = Span::from_millis(4);

/// Whose thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Half of the minimum RTT for a train, all of it where segments are paced; an eighth of it, 16 ms at most, for the delay.
    Linux,
    /// The minimum RTT for both; for the delay 1 s at most.
    Ns3,
}

impl Form {
    /// The time that its clock shows: Linux's has microseconds. What comes out of a radio comes at whole milliseconds, but for the
    /// time that a packet took elsewhere, so that much is just as long as a threshold or some nanoseconds longer.
    fn clock(self, now: Time) -> Time {
        match self {
            Form::Linux => Time(whole(now.0)),
            Form::Ns3 => now,
        }
    }

    /// The round trip that ends `now`, by that clock.
    fn round_trip(self, now: Time, rtt: Span) -> Span {
        self.clock(now).since(self.clock(Time(now.0.saturating_sub(rtt.0))))
    }

    /// How far the round's minimum must rise above the connection's.
    pub fn delay_threshold(self, min_rtt: Span) -> Span {
        match self {
            Form::Linux => Span(whole(min_rtt.0 / 8)).clamp(DELAY_MIN, Span::from_millis(16)),
            Form::Ns3 => min_rtt.clamp(DELAY_MIN, Span::from_secs(1)),
        }
    }
}

/// In nanoseconds.
const MICROSECOND: u64 = 1000;

/// Without what is less than a microsecond.
fn whole(ns: u64) -> u64 {
    ns - ns % MICROSECOND
}

/// Standard slow start with two ways out.
#[derive(Clone, Debug)]
pub struct HyStart {
    form: Form,
    low_window: f64,
    ack_delta: Span,
    ack_delay_max: Span,
    burst_bytes: f64,
    standard: Standard,
    paced: bool,
    found: bool,
    round: Option<u64>,
    round_start: Time,
    last_ack: Time,
    /// Smallest sample of the round and of the connection.
    round_rtt: Span,
    min_rtt: Span,
    samples: u32,
}

pub(super) const ENTRY: SlowStartEntry = SlowStartEntry {
    name: "hystart",
    source: "Ha and Rhee 2011; Linux 6.12",
    summary: "standard, ended by an acknowledgment train of half the minimum RTT or by a delay increase",
    params: &[
        ParamSpec {
            name: "variant",
            kind: Kind::Choice(&["linux", "ns3"]),
            default: Default::Text("linux"),
            range: None,
            doc: "linux: a train of half of the minimum RTT, of all of it where segments are paced, a delay of an eighth of it within 4 and 16 ms, in whole microseconds; ns3: the minimum RTT for \
                  both, the delay within 4 ms and 1 s",
        },
        ParamSpec {
            name: "low_window",
            kind: Kind::Segments,
            default: Default::Int(16),
            range: Some((1.0, 1e9)),
            doc: "window below which slow start is not ended",
        },
        ParamSpec {
            name: "ack_delta",
            kind: Kind::Duration,
            default: Default::Duration(Span::from_millis(2)),
            range: Some((0.0, 1.0)),
            doc: "largest gap between acknowledgments of one train",
        },
        ParamSpec {
            name: "ack_delay_max",
            kind: Kind::Duration,
            default: Default::Duration(Span::from_millis(1)),
            range: Some((0.0, 1.0)),
            doc: "most that is added to the train threshold for segmentation offload",
        },
        ParamSpec {
            name: "offload_burst",
            kind: Kind::Bytes,
            default: Default::Int(65_536),
            range: Some((0.0, 1e9)),
            doc: "largest offload burst; the train threshold grows by the time of four of them at the sending rate",
        },
        ABC_LIMIT,
    ],
    check: |_| Ok(()),
    build: |p| Box::new(HyStart::new(p)),
};

impl HyStart {
    /// From its parameters.
    pub fn new(p: &Params) -> HyStart {
        HyStart {
            form: if p.text("variant") == "ns3" { Form::Ns3 } else { Form::Linux },
            low_window: p.float("low_window"),
            ack_delta: p.duration("ack_delta"),
            ack_delay_max: p.duration("ack_delay_max"),
            burst_bytes: p.float("offload_burst"),
            standard: Standard::new(p),
            paced: false,
            found: false,
            round: None,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            round_rtt: Span::MAX,
            min_rtt: Span::MAX,
            samples: 0,
        }
    }

    /// How long a train of acknowledgments must last.
    fn train_threshold(&self, cx: &Cx<'_>, w: &Window) -> Span {
        if self.form == Form::Ns3 {
            return self.min_rtt;
        }
        // Linux's pacing rate in slow start is twice the window per smoothed RTT, whether paced or not.
        let rate = 2.0 * w.cwnd * f64::from(cx.mss) / cx.rtt.smoothed.as_secs_f64().max(1e-9);
        let offload = Span::from_secs_f64(4.0 * self.burst_bytes / rate).min(self.ack_delay_max);
        // Acknowledgments of what left in a burst span half of the round when the pipe is full; pacing in slow start, at
        // twice the window per round trip, spreads a burst over half of one already.
        let span = self.min_rtt + Span(whole(offload.0));
        if self.paced { span } else { Span(whole(span.0 / 2)) }
    }

    /// Whether the pipe looks full on this acknowledgment.
    fn full(&mut self, cx: &Cx<'_>, ack: &Ack, w: &Window) -> bool {
        let now = self.form.clock(cx.now);
        if self.round != Some(ack.round) {
            self.round = Some(ack.round);
            self.round_start = now;
            self.last_ack = now;
            self.round_rtt = Span::MAX;
            self.samples = 0;
        }
        if w.cwnd < self.low_window {
            return false;
        }
        let mut full = false;
        if now.since(self.last_ack) <= self.ack_delta {
            self.last_ack = now;
            full = now.since(self.round_start) > self.train_threshold(cx, w);
        }
        if let Some(rtt) = ack.rtt {
            let rtt = self.form.round_trip(cx.now, rtt);
            self.round_rtt = self.round_rtt.min(rtt);
            if self.samples < MIN_SAMPLES {
                self.samples += 1;
            } else if self.round_rtt > self.min_rtt + self.form.delay_threshold(self.min_rtt) {
                full = true;
            }
        }
        full
    }
}

impl SlowStart for HyStart {
    fn observes(&self) -> bool {
        true
    }

    fn on_paced(&mut self) {
        self.paced = true;
    }

    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window) {
        // The sample is judged with the window that was in force when it was taken, before this growth.
        if let Some(rtt) = ack.rtt {
            // By a clock of microseconds a round trip is less than one of them shorter, so that most need not be reckoned.
            if rtt.0 < self.min_rtt.0.saturating_add(MICROSECOND) {
                self.min_rtt = self.min_rtt.min(self.form.round_trip(cx.now, rtt));
            }
            if !self.found && self.full(cx, ack, w) {
                self.found = true;
                w.ssthresh = w.cwnd.max(2.0);
            }
        }
    }

    fn on_ack(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) -> f64 {
        if ack.window_limited { grow_to_ssthresh(w, self.standard.grant(acked)) } else { 0.0 }
    }

    fn on_congestion(&mut self, cx: &Cx<'_>, signal: Signal) {
        self.standard.on_congestion(cx, signal);
        if matches!(signal, Signal::Timeout { .. }) {
            self.found = false;
            self.round = None;
            self.min_rtt = Span::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_thresholds() {
        let table = [(3, 4, 4), (10, 4, 10), (32, 4, 32), (80, 10, 80), (200, 16, 200), (2000, 16, 1000)];
        for (rtt, linux, ns3) in
            table.map(|(r, l, n)| (Span::from_millis(r), Span::from_millis(l), Span::from_millis(n)))
        {
            assert_eq!([Form::Linux, Form::Ns3].map(|f| f.delay_threshold(rtt)), [linux, ns3]);
        }
        assert_eq!(Form::Linux.delay_threshold(Span::from_millis(100)), Span::from_micros(12_500));
    }

    /// Acknowledgments of one round come every millisecond, 100 ms after what they acknowledge; nothing is queued. Linux:
    /// (100 ms + min(1 ms, 4 * 64 KiB / rate)) / 2, not halved where segments are paced. The 256 KiB take longer than 1 ms.
    #[test]
    fn a_train_lasts_half_of_the_minimum_unless_paced() {
        for (variant, paced, last) in
            [("linux", false, 51), ("linux", true, 102), ("ns3", false, 101), ("ns3", true, 101)]
        {
            let given = [("variant".to_owned(), crate::params::Value::Text(variant.to_owned()))];
            let mut h = HyStart::new(&Params::new(ENTRY.params, &given).unwrap());
            if paced {
                h.on_paced();
            }
            let ends = crate::cc::testing::with_cx(1000, |cx| {
                cx.rtt.smoothed = Span::from_millis(100);
                let mut w = Window { cwnd: 200.0, ssthresh: f64::INFINITY };
                let ack = Ack { rtt: Some(Span::from_millis(100)), ..crate::cc::testing::ack(1.0) };
                (0..150u64).find(|&ms| {
                    cx.now = Time(1_000_000_000 + ms * 1_000_000);
                    h.observe(cx, &ack, &mut w);
                    w.ssthresh.is_finite()
                })
            });
            assert_eq!(ends, Some(last), "{variant}, paced: {paced}");
        }
    }

    /// hystart_update of Linux 6.12 reckons in microseconds: of round trips of 100 ms and then 112.5 ms, at the threshold of 12.5 ms,
    /// 900 ns more do not exceed it, and a microsecond does.
    #[test]
    fn linux_knows_of_no_nanoseconds() {
        for (more, ends) in [(900, false), (1900, true)] {
            let mut h = HyStart::new(&Params::new(ENTRY.params, &[]).unwrap());
            crate::cc::testing::with_cx(1000, |cx| {
                let mut w = Window { cwnd: 200.0, ssthresh: f64::INFINITY };
                let mut at = |h: &mut HyStart, ns: u64, rtt: u64, round: u64| {
                    cx.now = Time(1_000_000_000 + ns);
                    let ack = Ack { rtt: Some(Span(rtt)), round, ..crate::cc::testing::ack(1.0) };
                    h.observe(cx, &ack, &mut w);
                };
                at(&mut h, 0, 100_000_000, 1);
                // Further apart than a train's are.
                (1..=9).for_each(|n| at(&mut h, n * 10_000_000 + more, 112_500_000 + more, 2));
                assert_eq!(w.ssthresh.is_finite(), ends, "{more} ns");
            });
        }
    }

    /// Two milliseconds apart but for some nanoseconds they are one train.
    #[test]
    fn a_train_of_linux_may_be_some_nanoseconds_slower() {
        for (variant, ends) in [("linux", true), ("ns3", false)] {
            let given = [("variant".to_owned(), crate::params::Value::Text(variant.to_owned()))];
            let mut h = HyStart::new(&Params::new(ENTRY.params, &given).unwrap());
            crate::cc::testing::with_cx(1000, |cx| {
                let mut w = Window { cwnd: 200.0, ssthresh: f64::INFINITY };
                let ack = Ack { rtt: Some(Span::from_millis(20)), ..crate::cc::testing::ack(1.0) };
                for n in 0..30 {
                    cx.now = Time(1_000_000_000 + n * 2_000_042);
                    h.observe(cx, &ack, &mut w);
                }
                assert_eq!(w.ssthresh.is_finite(), ends, "{variant}");
            });
        }
    }
}
