//! Westwood+: Westwood with one bandwidth sample per round trip, which compressed acknowledgments do not inflate
//! (Ferorelli, Grieco, Mascolo, Piscitelli, Camarda, *Live Internet Measurements Using Westwood+ TCP Congestion
//! Control*, GLOBECOM 2002; Grieco and Mascolo, *Performance Evaluation and Comparison of Westwood+, New Reno and
//! Vegas TCP Congestion Control*, ACM CCR 34(2), 2004), and the forms of Linux and ns-3.
//!
//! Known deviation: none known. A sample that would contain an idle time is left out, except in Linux's form.

use super::additive::Additive;
use super::registry::{Builder, Controller};
use super::westwood::product;
use super::{Ack, Avoidance, Cx, Needs, Signal, Window};
use crate::estimator::bandwidth::AckedCount;
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::time::{Span, Time};

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux", "ns3"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux: whole segments and clock ticks, two filters of 7/8, windows halved until recovery ends; \
              ns3: mean of two samples filtered, duplicates not counted. Profiles linux, ns3: that name",
    },
    ParamSpec {
        name: "filter",
        kind: Kind::Float,
        default: Default::Float(0.9),
        range: Some((0.0, 0.9999)),
        doc: "weight of the old bandwidth estimate; linux has 7/8 twice",
    },
    ParamSpec {
        name: "min_sample",
        kind: Kind::Duration,
        default: Default::Duration(Span::from_millis(50)),
        range: Some((0.0, 10.0)),
        doc: "shortest time of a bandwidth sample of the linux variant",
    },
    ParamSpec {
        name: "hz",
        kind: Kind::Count,
        default: Default::Int(1000),
        range: Some((1.0, 1e6)),
        doc: "clock ticks per second of the linux variant",
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "westwood+",
    family: "loss",
    source: "Ferorelli et al. 2002",
    summary: "Reno's growth; after a loss the bandwidth-delay product measured, a sample per round trip",
    differences: "Linux (module westwood) samples over at least 50 ms, filters twice, halves the window in recovery and \
        sets it to the product afterwards; ns-3 samples by a timer of one RTT and averages two samples",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "linux" => Box::new(WestwoodPlusInteger::new(p)),
        _ => Box::new(WestwoodPlus::new(p)),
    }),
};

/// The paper's form and ns-3's.
#[derive(Clone, Debug)]
pub struct WestwoodPlus {
    ns3: bool,
    weight: f64,
    acked: AckedCount,
    reno: Additive,
    /// When the present sample began; `None`: with the next acknowledgment.
    begin: Option<Time>,
    /// Length of the present sample (ns-3), the last RTT (paper).
    rtt: Span,
    bytes: u64,
    rate: f64,
    last_sample: f64,
}

impl WestwoodPlus {
    /// From its parameters.
    pub fn new(p: &Params) -> WestwoodPlus {
        WestwoodPlus {
            ns3: p.text("variant") == "ns3",
            weight: p.float("filter"),
            acked: AckedCount::default(),
            reno: Additive::new(false),
            begin: None,
            rtt: Span::ZERO,
            bytes: 0,
            rate: 0.0,
            last_sample: 0.0,
        }
    }

    fn filter(&mut self, sample: f64) {
        let input = if self.ns3 { (sample + self.last_sample) / 2.0 } else { sample };
        self.rate = self.weight * self.rate + (1.0 - self.weight) * input;
        self.last_sample = sample;
    }

    /// Ends the sample if its time is over.
    fn close(&mut self, now: Time) {
        let Some(begin) = self.begin else { return };
        let elapsed = now.since(begin);
        if self.rtt == Span::ZERO || elapsed < self.rtt {
            return;
        }
        // ns-3's timer expires one RTT after the begin; the paper's sample lasts until an acknowledgment ends it.
        let length = if self.ns3 { self.rtt } else { elapsed };
        self.filter(self.bytes as f64 / length.as_secs_f64());
        self.bytes = 0;
        self.begin = if self.ns3 { None } else { Some(now) };
    }
}

impl Avoidance for WestwoodPlus {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    fn start(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.begin = (!self.ns3).then_some(cx.now);
    }

    #[inline]
    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if self.ns3 {
            self.close(cx.now);
            self.bytes += ack.acked;
            if let (None, Some(rtt)) = (self.begin, ack.rtt) {
                self.begin = Some(cx.now);
                self.rtt = rtt;
            }
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt;
        }
        if ack.acked > 0 || ack.duplicate || ack.delivered > 0 {
            self.bytes += self.acked.take(ack.acked, u64::from(cx.mss));
        }
        self.close(cx.now);
    }

    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        self.reno.add_reno(w, acked);
    }

    fn reduce(&mut self, cx: &Cx<'_>, _signal: Signal, w: &Window) -> f64 {
        if self.ns3 {
            self.close(cx.now);
        }
        product(cx, self.rate, w)
    }

    fn resume(&mut self, cx: &Cx<'_>, _idle: Span) {
        self.begin = (!self.ns3).then_some(cx.now);
        self.bytes = 0;
    }
}

/// Linux's form: whole segments, bytes per clock tick.
#[derive(Clone, Debug)]
pub struct WestwoodPlusInteger {
    tick: u64,
    min_ticks: u64,
    acked: AckedCount,
    reno: Additive,
    /// Bytes of the present sample.
    bytes: u64,
    /// Tick of the sample's begin.
    begin: u64,
    /// Bytes per tick, filtered once and twice.
    once: u64,
    twice: u64,
    /// Last and smallest RTT, ticks.
    rtt: u64,
    rtt_min: u64,
    /// The smallest RTT begins anew with the next acknowledgment.
    renew: bool,
    /// The first acknowledgment is not counted.
    first: bool,
}

/// Linux's RTT before the first sample, seconds.
const INITIAL_RTT: u64 = 20;

impl WestwoodPlusInteger {
    /// From its parameters.
    pub fn new(p: &Params) -> WestwoodPlusInteger {
        let hz = p.int("hz").max(1);
        let tick = 1_000_000_000 / hz;
        WestwoodPlusInteger {
            tick,
            min_ticks: p.duration("min_sample").0 / tick,
            acked: AckedCount::default(),
            reno: Additive::new(true),
            bytes: 0,
            begin: 0,
            once: 0,
            twice: 0,
            rtt: INITIAL_RTT * hz,
            rtt_min: INITIAL_RTT * hz,
            renew: true,
            first: true,
        }
    }

    fn filter(&mut self, sample: u64) {
        if self.once == 0 && self.twice == 0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.smooth(sample);
        }
    }

    fn smooth(&mut self, sample: u64) {
        self.once = (7 * self.once + sample) >> 3;
        self.twice = (7 * self.twice + self.once) >> 3;
    }

    /// Bandwidth times smallest RTT, whole segments.
    fn product(&self, mss: u32) -> f64 {
        (self.twice.saturating_mul(self.rtt_min) / u64::from(mss.max(1))).max(2) as f64
    }
}

impl Avoidance for WestwoodPlusInteger {
    fn needs(&self) -> Needs {
        Needs { observe: true, observe_idle: true, ..Needs::default() }
    }

    fn start(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.begin = cx.now.0 / self.tick;
    }

    #[inline]
    fn observe(&mut self, cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        // Linux 6.12.117 tells its modules of the round trip first and of the acknowledgment then; older kernels did it
        // the other way round, and the round trip counted from the next acknowledgment on.
        if let Some(rtt) = ack.rtt.filter(|r| r.0 >= 1000) {
            // Whole microseconds, rounded up to ticks.
            self.rtt = (rtt.0 / 1000 * 1000).div_ceil(self.tick);
        }
        let now = cx.now.0 / self.tick;
        let elapsed = now - self.begin;
        if self.rtt > 0 && elapsed > self.rtt.max(self.min_ticks) {
            self.filter(self.bytes / elapsed);
            self.bytes = 0;
            self.begin = now;
        }
        let advance = if std::mem::take(&mut self.first) { 0 } else { ack.acked };
        self.bytes += match ack.plain && !ack.ece {
            true => advance,
            false => self.acked.take(advance, u64::from(cx.mss)),
        };
        self.rtt_min = if std::mem::take(&mut self.renew) { self.rtt } else { self.rtt_min.min(self.rtt) };
    }

    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        self.reno.add_reno(w, acked);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.reno.reset();
        if matches!(signal, Signal::Timeout { .. }) {
            self.renew = true;
            self.product(cx.mss)
        } else {
            (w.cwnd / 2.0).floor()
        }
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == super::Phase::Loss {
            self.reno.reset();
        }
    }

    fn recovered(&mut self, cx: &Cx<'_>, w: &mut Window) {
        w.ssthresh = self.product(cx.mss);
        w.cwnd = w.ssthresh;
    }
}

#[cfg(test)]
#[path = "westwood_plus_tests.rs"]
mod tests;
