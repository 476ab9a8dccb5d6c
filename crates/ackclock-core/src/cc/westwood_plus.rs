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
    differences:
        "Linux (module westwood) samples over at least 50 ms, filters twice, halves the window in recovery and \
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
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn params(variant: &str) -> Params {
        Params::new(PARAMS, &[("variant".to_owned(), Value::Text(variant.to_owned()))]).unwrap()
    }

    #[test]
    fn filter_vectors() {
        for (variant, want) in
            [("paper", [100.0, 190.0, 271.0, 343.9, 409.51]), ("ns3", [50.0, 145.0, 230.5, 0.0, 0.0])]
        {
            let mut law = WestwoodPlus::new(&params(variant));
            for want in want.into_iter().filter(|w| *w > 0.0) {
                law.filter(1000.0);
                assert!((law.rate - want).abs() < 1e-9, "{variant} {} {want}", law.rate);
            }
        }
        // 15.625, 42.969, 78.857, 120.728, 166.523 of Linux's filter in whole numbers, without the first sample's rule;
        // a thousand times the rate keeps three digits.
        let mut law = WestwoodPlusInteger::new(&params("linux"));
        for want in [15_625, 42_969, 78_857, 120_728, 166_523] {
            law.smooth(1_000_000);
            assert!(law.twice.abs_diff(want) <= 4, "{} {want}", law.twice);
        }
        let mut law = WestwoodPlusInteger::new(&params("linux"));
        law.filter(1000);
        assert_eq!((law.once, law.twice), (1000, 1000));
    }

    #[test]
    fn product_vector() {
        // 10 Mbit/s, 100 ms, 1250 bytes.
        testing::with_cx(1250, |cx| {
            cx.rtt.min = Span::from_millis(100);
            let mut law = WestwoodPlus::new(&params("paper"));
            law.rate = 1_250_000.0;
            let w = Window { cwnd: 150.0, ssthresh: 2.0 };
            assert_eq!(law.reduce(cx, Signal::Loss { flight: 0 }, &w), 100.0);
            let mut law = WestwoodPlusInteger::new(&params("linux"));
            (law.twice, law.rtt_min) = (1250, 100);
            let mut w = Window { cwnd: 151.0, ssthresh: 2.0 };
            assert_eq!(law.reduce(cx, Signal::Loss { flight: 0 }, &w), 75.0);
            law.recovered(cx, &mut w);
            assert_eq!(w, Window { cwnd: 100.0, ssthresh: 100.0 });
            assert_eq!(law.reduce(cx, Signal::Timeout { flight: 0, repeated: false }, &w), 100.0);
            assert!(law.renew);
        });
    }

    /// Linux 6.12.117's order: the round trip first. After a timeout the smallest one is that of the next acknowledgment
    /// and not of the one before, which waited in the full queue.
    #[test]
    fn the_round_trip_counts_with_its_acknowledgment() {
        testing::with_cx(1000, |cx| {
            let mut law = WestwoodPlusInteger::new(&params("linux"));
            let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
            law.start(cx, &mut w);
            let mut answer = |law: &mut WestwoodPlusInteger, at: u64, rtt: u64| {
                cx.now = Time(at * 1_000_000);
                let rtt = Some(Span::from_millis(rtt));
                law.observe(cx, &Ack { acked: 1000, delivered: 1000, rtt, plain: true, ..Ack::default() }, &mut w);
            };
            answer(&mut law, 60, 55);
            // 60 ticks are more than the 55 of this very acknowledgment: the first sample ends.
            assert_eq!((law.rtt_min, law.begin), (55, 60));
            answer(&mut law, 112, 51);
            assert_eq!((law.rtt_min, law.begin), (51, 112));
            answer(&mut law, 120, 90);
            law.renew = true;
            answer(&mut law, 130, 60);
            assert_eq!(law.rtt_min, 60);
        });
    }

    /// Segments of 1000 bytes acknowledged every 2 ms, RTT 20 ms, for a second.
    fn fed(law: &mut dyn Avoidance) {
        testing::with_cx(1000, |cx| {
            let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
            law.start(cx, &mut w);
            for k in 1..=500 {
                cx.now = Time(k * 2_000_000);
                let rtt = Some(Span::from_millis(20));
                law.observe(cx, &Ack { acked: 1000, delivered: 1000, rtt, plain: true, ..Ack::default() }, &mut w);
            }
        });
    }

    #[test]
    fn samples_cover_a_round_trip() {
        let mut law = WestwoodPlus::new(&params("paper"));
        fed(&mut law);
        // 50 samples of 500 kB/s.
        assert!((law.rate / 500_000.0 - 1.0).abs() < 0.01, "{}", law.rate);
        let mut law = WestwoodPlus::new(&params("ns3"));
        fed(&mut law);
        // Its timer's time holds ten acknowledgments, one after its begin and one at its end on either side.
        assert!((law.rate / 500_000.0 - 1.0).abs() < 0.03, "{}", law.rate);
        // Samples of 52 ms, the first of which misses an acknowledgment: 25 segments in 52 ticks are 480.
        let mut law = WestwoodPlusInteger::new(&params("linux"));
        fed(&mut law);
        assert!((470..=500).contains(&law.twice), "{}", law.twice);
        assert_eq!(law.rtt_min, 20);
    }

    /// A request comes after a pause, with nothing outstanding: Linux takes it for a duplicate of one segment and ends
    /// the sample there, so that the pause is not in the first sample of the answer.
    #[test]
    fn a_request_ends_the_sample_in_which_nothing_was_outstanding() {
        let mut law = WestwoodPlusInteger::new(&params("linux"));
        assert!(law.needs().observe_idle);
        testing::with_cx(1000, |cx| {
            cx.rtt.min = Span::from_millis(40);
            let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
            let mut at = |law: &mut WestwoodPlusInteger, ms: u64, acked: u64, plain: bool| {
                cx.now = Time(ms * 1_000_000);
                let rtt = (acked > 0).then_some(Span::from_millis(40));
                law.observe(cx, &Ack { acked, rtt, plain, ..Ack::default() }, &mut w);
            };
            // 1000 bytes a millisecond, of which the first are not counted: 49 000 in the 51 ms of the first sample.
            (1..=52).for_each(|ms| at(&mut law, ms, 1000, true));
            assert_eq!((law.once, law.twice, law.begin, law.bytes), (960, 960, 51, 2000));
            // 190 ms after the last acknowledgment: 2000 bytes in 191 ms are 10 a millisecond. One segment counts anew.
            at(&mut law, 242, 0, false);
            assert_eq!((law.once, law.twice, law.begin, law.bytes), (841, 945, 242, 1000));
            // A pure duplicate only ends a sample.
            at(&mut law, 243, 0, true);
            assert_eq!((law.begin, law.bytes), (242, 1000));
        });
    }
}
