//! Slow start by bandwidth estimation (Li et al. 2003): a packet pair after the handshake measures the path, and slow
//! start ends at what it can carry.
//!
//! Known deviations: ssthresh is at least 2 segments, as everywhere here; the paper's least is 1. The RTT that the
//! estimate is multiplied with is that of the second packet of the pair, or the smoothed one; the paper's is that of a
//! packet of one MSS.

use super::standard::{ABC_LIMIT, Standard};
use super::{SlowStart, SlowStartEntry, grow_to_ssthresh};
use crate::cc::{Ack, Cx, PacketPair, Signal, StartEstimate, Window};
use crate::params::{Default, Kind, ParamError, ParamSpec, Params};
use crate::time::Span;

/// Largest payload of a packet of a pair, bytes.
const MOST: f64 = 65_000.0;
/// Least L2 / L1 (the paper).
const RATIO: f64 = 5.0;

pub(super) const ENTRY: SlowStartEntry = SlowStartEntry {
    name: "blbe",
    source: "Li et al. 2003",
    summary: "standard, up to the bandwidth-delay product that a packet pair measures",
    params: &[
        ParamSpec {
            name: "l1",
            kind: Kind::Bytes,
            default: Default::Int(200),
            range: Some((1.0, MOST / RATIO)),
            doc: "L1, payload of the first packet of a pair; the paper's is 1600 bit",
        },
        ParamSpec {
            name: "l2",
            kind: Kind::Bytes,
            default: Default::Int(1000),
            range: Some((2.0, MOST)),
            doc: "L2, payload of the second packet; the paper's is 8000 bit, and five times L1 at least. Never above the MTU",
        },
        ParamSpec {
            name: "allow_probe_larger_than_mss",
            kind: Kind::Bool,
            default: Default::Bool(true),
            range: None,
            doc: "L2 may exceed the MSS, as in the paper; false: L2 is the MSS at most, and L1 a fifth of L2",
        },
        ParamSpec {
            name: "rtt",
            kind: Kind::Choice(&["rtt2", "srtt"]),
            default: Default::Text("rtt2"),
            range: None,
            doc: "round-trip time that the estimate is multiplied with: that of the second packet, or the smoothed one",
        },
        ABC_LIMIT,
    ],
    check: spread,
    build: |p| Box::new(Blbe::new(p)),
};

/// Refuses a pair that could not measure. Within the MSS, L1 is made to fit L2 instead.
fn spread(p: &Params) -> Result<(), ParamError> {
    let (value, least) = (p.float("l2"), RATIO * p.float("l1"));
    if value >= least || !p.bool("allow_probe_larger_than_mss") {
        return Ok(());
    }
    Err(ParamError::OutOfRange { name: "l2".into(), value, range: (least, MOST) })
}

/// Standard slow start with a threshold that is measured.
#[derive(Clone, Debug)]
pub struct Blbe {
    bytes: [u32; 2],
    larger_than_mss: bool,
    smoothed: bool,
    standard: Standard,
    /// It has measured, or a loss other than a timeout has ended slow start.
    over: bool,
    /// A timeout came before it measured: the pair is due again, although the threshold is next to nothing now.
    due: bool,
    estimate: Option<StartEstimate>,
}

impl Blbe {
    /// From its parameters.
    pub fn new(p: &Params) -> Blbe {
        Blbe {
            bytes: ["l1", "l2"].map(|l| p.int(l) as u32),
            larger_than_mss: p.bool("allow_probe_larger_than_mss"),
            smoothed: p.text("rtt") == "srtt",
            standard: Standard::new(p),
            over: false,
            due: false,
            estimate: None,
        }
    }

    /// A measurement is wanted: slow start goes on, or would without the loss of the pair.
    fn asks(&self, w: &Window) -> bool {
        !self.over && (self.due || w.in_slow_start())
    }
}

/// B_eq, bit/s: (L2 - L1) / (RTT2 - RTT1). None when the second packet took no longer than the first.
pub fn equivalent_rate(pair: &PacketPair) -> Option<f64> {
    let bits = 8.0 * (f64::from(pair.bytes[1]) - f64::from(pair.bytes[0]));
    (pair.rtt[1] > pair.rtt[0] && bits > 0.0).then(|| bits / (pair.rtt[1].saturating_sub(pair.rtt[0])).as_secs_f64())
}

/// The threshold, whole segments of `mss` bytes, to the nearest.
pub fn threshold(rate_bps: f64, rtt: Span, mss: u32) -> f64 {
    (rate_bps * rtt.as_secs_f64() / (8.0 * f64::from(mss))).round()
}

impl SlowStart for Blbe {
    fn on_ack(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) -> f64 {
        if ack.window_limited { grow_to_ssthresh(w, self.standard.grant(acked)) } else { 0.0 }
    }

    fn pairs(&self) -> bool {
        true
    }

    fn packet_pair(&mut self, cx: &Cx<'_>, w: &Window) -> Option<[u32; 2]> {
        let [l1, l2] = self.bytes;
        let lengths = if self.larger_than_mss { [l1, l2] } else { [l1.min(l2.min(cx.mss) / 5), l2.min(cx.mss)] };
        self.asks(w).then_some(lengths)
    }

    fn on_packet_pair(&mut self, cx: &Cx<'_>, pair: &PacketPair, w: &mut Window) {
        let Some(rate) = equivalent_rate(pair).filter(|_| self.asks(w)) else { return };
        let rtt = if self.smoothed { cx.rtt.smoothed } else { pair.rtt[1] };
        self.over = true;
        w.ssthresh = threshold(rate, rtt, cx.mss).max(2.0);
        let ssthresh = (w.ssthresh * f64::from(cx.mss)) as u64;
        self.estimate = Some(StartEstimate { rate_bps: rate, ssthresh });
    }

    fn estimate(&self) -> Option<StartEstimate> {
        self.estimate
    }

    fn on_congestion(&mut self, cx: &Cx<'_>, signal: Signal) {
        self.standard.on_congestion(cx, signal);
        self.due = matches!(signal, Signal::Timeout { .. });
        self.over |= !self.due;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn blbe(given: &[(&str, Value)]) -> Blbe {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        Blbe::new(&Params::new(ENTRY.params, &given).unwrap())
    }

    /// RTT1 and RTT2 of packets of 200 and 1000 bytes.
    fn pair(rtt1: u64, rtt2: u64) -> PacketPair {
        PacketPair { bytes: [200, 1000], rtt: [Span(rtt1), Span(rtt2)] }
    }

    /// What a packet takes over links of these rates (kbit/s) at least, per bit: the inverse of B_eq, kbit/s.
    fn equivalent(rates: &[f64]) -> f64 {
        1.0 / rates.iter().map(|r| 1.0 / r).sum::<f64>()
    }

    #[test]
    fn the_equivalent_rate_is_that_of_the_links_in_a_row() {
        let links = [100e3, 10e3, 1.5e3, 10e3, 100e3];
        assert!((equivalent(&links) - 1127.82).abs() < 0.005);
        // Eight flows share the slowest link fairly.
        let shared = [100e3, 10e3, 1.5e3 / 8.0, 10e3, 100e3];
        assert!((equivalent(&shared) - 180.072).abs() < 0.0005);
    }

    #[test]
    fn a_pair_that_queues_behind_itself_is_estimated_low() {
        // The packets arrive 1.418667 and 7.456 ms after they left, without propagation.
        let rate = equivalent_rate(&pair(1_418_667, 7_456_000)).unwrap();
        assert!((rate - 1_060_070.7).abs() < 0.1, "{rate}");
        assert_eq!(equivalent_rate(&pair(7_000_000, 7_000_000)), None);
    }

    #[test]
    fn thresholds_of_the_paper() {
        // B_eq in kbit/s, RTT in ms, segments of 1600 bit.
        for (rate, rtt, segments) in
            [(1060., 149, 99.), (1128., 149, 105.), (693., 152, 66.), (148., 151, 14.), (180., 151, 17.)]
        {
            assert_eq!(threshold(rate * 1e3, Span::from_millis(rtt), 200), segments, "{rate} kbit/s");
        }
    }

    #[test]
    fn it_asks_until_a_pair_measures() {
        let mut b = blbe(&[]);
        let mut w = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
        testing::with_cx(200, |cx| {
            assert_eq!(b.packet_pair(cx, &w), Some([200, 1000]));
            b.on_packet_pair(cx, &pair(150_000_000, 149_000_000), &mut w);
            assert_eq!((b.packet_pair(cx, &w), w.ssthresh), (Some([200, 1000]), f64::INFINITY));
            b.on_packet_pair(cx, &pair(142_962_667, 149_000_000), &mut w);
            assert_eq!((b.packet_pair(cx, &w), w.ssthresh), (None, 99.0));
            assert_eq!(b.estimate().map(|e| e.ssthresh), Some(99 * 200));
        });
    }

    #[test]
    fn slow_start_goes_on_after_a_timeout_but_not_after_a_loss() {
        let timeout = Signal::Timeout { flight: 0, repeated: false };
        for (signal, asks) in [(Signal::Loss { flight: 0 }, false), (timeout, true)] {
            let mut b = blbe(&[]);
            testing::with_cx(200, |cx| {
                b.on_congestion(cx, signal);
                let mut w = Window { cwnd: 2.0, ssthresh: 2.0 };
                assert_eq!(b.packet_pair(cx, &w).is_some(), asks);
                b.on_packet_pair(cx, &pair(142_962_667, 149_000_000), &mut w);
                assert_eq!(w.ssthresh, if asks { 99.0 } else { 2.0 });
            });
        }
        // Slow start has come to its end by itself.
        testing::with_cx(200, |cx| {
            let w = Window { cwnd: 20.0, ssthresh: 20.0 };
            assert_eq!(blbe(&[]).packet_pair(cx, &w), None);
        });
    }

    #[test]
    fn a_second_packet_that_is_too_short_is_refused() {
        let build = |l1, l2, larger| {
            let given =
                [("l1", Value::Int(l1)), ("l2", Value::Int(l2)), ("allow_probe_larger_than_mss", Value::Bool(larger))];
            let given = given.map(|(name, v)| (name.to_owned(), v));
            crate::slowstart::build("blbe", &given).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(
            [build(200, 1000, true), build(13_000, 65_000, true), build(400, 300, false)],
            [Ok(()), Ok(()), Ok(())]
        );
        assert_eq!(build(200, 999, true), Err("'l2' is 999, outside 1000..65000".into()));
        assert_eq!(build(400, 300, true), Err("'l2' is 300, outside 2000..65000".into()));
        assert_eq!(build(20_000, 65_000, true), Err("'l1' is 20000, outside 1..13000".into()));
    }

    #[test]
    fn probes_within_the_mss() {
        let mut b = blbe(&[("allow_probe_larger_than_mss", Value::Bool(false))]);
        let w = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
        testing::with_cx(500, |cx| assert_eq!(b.packet_pair(cx, &w), Some([100, 500])));
        testing::with_cx(1448, |cx| assert_eq!(b.packet_pair(cx, &w), Some([200, 1000])));
    }
}
