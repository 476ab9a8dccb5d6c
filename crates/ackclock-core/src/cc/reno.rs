//! Reno and NewReno congestion avoidance (RFC 5681, RFC 6582). The two differ in recovery, which the endpoint runs.

use super::registry::{Builder, Controller};
use super::{Ack, Avoidance, Cx, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};

/// What the reduction starts from.
pub(super) const BASE: ParamSpec = ParamSpec {
    name: "base",
    kind: Kind::Choice(&["flight", "cwnd", "pipe"]),
    default: Default::Text("flight"),
    range: None,
    doc: "what congestion reduces: the bytes outstanding (RFC 5681 eq. 4), at most the window; the window (Linux, ns-2), or the outstanding \
          bytes that are neither delivered nor lost (ns-3). Profiles linux, ns2: cwnd; ns3: pipe",
};

/// RFC 8511, alternative backoff with ECN.
pub(super) const ABE: ParamSpec = ParamSpec {
    name: "abe",
    kind: Kind::Float,
    default: Default::Float(0.0),
    range: Some((0.0, 0.99)),
    doc: "kept fraction of the window on a congestion mark; 0: a mark reduces as a loss does (RFC 3168). \
          RFC 8511 (ABE): 0.8 for Reno, 0.85 for CUBIC",
};

/// The fraction that congestion leaves of the window: `beta`, or on a mark what [`ABE`] says.
pub(super) fn kept(signal: Signal, beta: f64, abe: f64) -> f64 {
    if abe > 0.0 && matches!(signal, Signal::Ecn { .. }) { abe } else { beta }
}

/// Parameters of `reno` and `newreno`.
pub(super) const PARAMS: &[ParamSpec] = &[
    BASE,
    ABE,
    ParamSpec {
        name: "counting",
        kind: Kind::Choice(&["bytes", "acks"]),
        default: Default::Text("bytes"),
        range: None,
        doc: "growth per window of bytes acknowledged (RFC 3465) or per acknowledgment (RFC 5681 eq. 3). \
              Profiles ns3, ns2: acks",
    },
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["rfc", "linux", "ns3", "ns2"]),
        default: Default::Text("rfc"),
        range: None,
        doc: "linux: whole segments, counted as Linux counts them; ns3: whole bytes, the growth of each acknowledgment \
              rounded down (counting acks, its TcpNewReno) or in steps of a segment (counting bytes, its TcpLinuxReno); \
              ns2: slow start after a loss ends at a whole segment. Profiles linux, ns3, ns2: that name",
    },
];

const DIFFERENCES: &str = "Linux counts whole segments and halves the window, not the flight; ns-3 rounds the window \
    to whole bytes; ns-2 grows per acknowledgment";

pub(super) const ENTRY: Controller = Controller {
    name: "reno",
    family: "loss",
    source: "RFC 5681",
    summary: "one segment per window; half on loss",
    differences: DIFFERENCES,
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Reno::new(p))),
};

pub(super) const NEWRENO: Controller = Controller {
    name: "newreno",
    source: "RFC 5681, RFC 6582",
    summary: "Reno with partial-acknowledgment recovery where SACK is off",
    ..ENTRY
};

/// What a reduction starts from: values of [`BASE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Flight,
    Window,
    Pipe,
}

impl Base {
    /// As the parameters say.
    pub(super) fn new(p: &Params) -> Base {
        match p.text("base") {
            "cwnd" => Base::Window,
            "pipe" => Base::Pipe,
            _ => Base::Flight,
        }
    }

    /// The window that `signal` finds, segments.
    //= RFC 5681 §3.1 ssthresh
    pub(super) fn window(self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        let mss = f64::from(cx.mss);
        match self {
            Base::Window => w.cwnd,
            // FlightSize counts what is SACKed or lost, too: when one loss follows the other it can be far above the
            // window, and a share of it would be no reduction.
            Base::Flight => (signal.flight() as f64 / mss).min(w.cwnd),
            Base::Pipe => cx.in_flight as f64 / mss,
        }
    }
}

/// Adds one segment to a whole window per `per` segments acknowledged, carrying the rest in `count`.
pub(super) fn add_per(w: &mut Window, count: &mut u64, per: u64, acked: f64) {
    let per = per.max(1);
    // A count left over from a larger divisor is worth one segment, not more.
    if *count >= per {
        *count = 0;
        w.cwnd += 1.0;
    }
    *count += acked.round() as u64;
    if *count >= per {
        w.cwnd += (*count / per) as f64;
        *count %= per;
    }
}

/// What the window is rounded down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Nothing,
    Segments,
    Bytes,
    /// Only the end of a slow start is.
    SlowStartEnd,
}

/// One segment per window acknowledged; half on congestion.
#[derive(Clone, Debug)]
pub struct Reno {
    base: Base,
    abe: f64,
    count_acks: bool,
    whole: Whole,
    /// Grows by a whole segment at a time.
    steps: bool,
    /// Slow start follows every loss.
    restarts: bool,
    count: u64,
}

impl Reno {
    /// From its parameters.
    pub fn new(p: &Params) -> Reno {
        let count_acks = p.text("counting") == "acks";
        let whole = match p.text("variant") {
            "linux" => Whole::Segments,
            "ns3" => Whole::Bytes,
            "ns2" => Whole::SlowStartEnd,
            _ => Whole::Nothing,
        };
        let steps = whole == Whole::Segments || (whole == Whole::Bytes && !count_acks);
        Reno { base: Base::new(p), abe: p.float("abe"), count_acks, whole, steps, restarts: false, count: 0 }
    }

    /// The same law for a controller that restarts slow start after every loss.
    pub(super) fn restarting(self) -> Reno {
        Reno { restarts: true, ..self }
    }
}

impl Avoidance for Reno {
    #[inline]
    //= RFC 5681 §3.1 avoidance
    fn grow(&mut self, cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        if self.steps {
            add_per(w, &mut self.count, w.cwnd as u64, acked);
            return;
        }
        let acked = if self.count_acks { acked.min(1.0) } else { acked };
        let growth = acked / w.cwnd;
        w.cwnd += if self.whole == Whole::Bytes {
            let mss = f64::from(cx.mss);
            // A byte at least (RFC 5681 §3.1).
            (growth * mss).floor().max(1.0) / mss
        } else {
            growth
        };
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.count = 0;
        let half = self.base.window(cx, signal, w) * kept(signal, 0.5, self.abe);
        let restarts = self.restarts || matches!(signal, Signal::Timeout { .. });
        match self.whole {
            Whole::Segments => half.floor(),
            Whole::SlowStartEnd if restarts => half.floor(),
            _ => half,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::params::Value;

    fn reno(given: &[(&str, &str)]) -> Reno {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))).collect();
        Reno::new(&Params::new(PARAMS, &given).unwrap())
    }

    /// The window after each of `acks`, segments of 1448 bytes acknowledged, from `cwnd`.
    fn grown(given: &[(&str, &str)], cwnd: f64, acks: &[f64]) -> Vec<f64> {
        let mut law = reno(given);
        let mut w = Window { cwnd, ssthresh: 2.0 };
        testing::with_cx(1448, |cx| {
            acks.iter()
                .map(|&acked| {
                    law.grow(cx, &testing::ack(acked), &mut w, acked);
                    w.cwnd
                })
                .collect()
        })
    }

    fn reduced(base: &str) -> f64 {
        let mut law = reno(&[("base", base)]);
        testing::with_cx(1000, |cx| {
            cx.in_flight = 16_000;
            let w = Window { cwnd: 22.0, ssthresh: 2.0 };
            law.reduce(cx, Signal::Loss { flight: 20_000 }, &w)
        })
    }

    #[test]
    //= test: RFC 5681 §3.1 avoidance
    fn one_segment_per_window() {
        assert_eq!(grown(&[], 10.0, &[1.0, 2.0]), [10.1, 10.1 + 2.0 / 10.1]);
        assert_eq!(grown(&[("counting", "acks")], 10.0, &[1.0, 2.0]), [10.1, 10.1 + 1.0 / 10.1]);
    }

    #[test]
    fn linux_and_ns3_round_down() {
        let linux = [("variant", "linux")];
        assert_eq!(grown(&linux, 4.0, &[2.0, 2.0, 2.0, 3.0]), [4.0, 5.0, 5.0, 6.0]);
        // 1448 / 100 = 14.48 bytes per acknowledgment, however much it covers; one byte at least.
        let acks = [("variant", "ns3"), ("counting", "acks")];
        assert_eq!(grown(&acks, 100.0, &[2.0]), [100.0 + 14.0 / 1448.0]);
        assert_eq!(grown(&acks, 3000.0, &[2.0]), [3000.0 + 1.0 / 1448.0]);
        assert_eq!(grown(&[("variant", "ns3")], 4.5, &[2.0, 2.0]), [4.5, 5.5]);
    }

    #[test]
    fn ns2_rounds_the_end_of_a_slow_start() {
        let given = [("variant", "ns2"), ("base", "cwnd")];
        let w = Window { cwnd: 67.5, ssthresh: 2.0 };
        let (loss, timeout) = (Signal::Loss { flight: 0 }, Signal::Timeout { flight: 0, repeated: false });
        testing::with_cx(1000, |cx| {
            assert_eq!([loss, timeout].map(|s| reno(&given).reduce(cx, s, &w)), [33.75, 33.0]);
            assert_eq!(reno(&given).restarting().reduce(cx, loss, &w), 33.0);
        });
    }

    #[test]
    fn a_mark_may_take_less_than_a_loss() {
        // RFC 8511 §3.1.
        let given = [("abe".to_owned(), Value::Float(0.8))];
        let mut law = Reno::new(&Params::new(PARAMS, &given).unwrap());
        let w = Window { cwnd: 20.0, ssthresh: 2.0 };
        testing::with_cx(1000, |cx| {
            assert_eq!(law.reduce(cx, Signal::Ecn { flight: 20_000 }, &w), 16.0);
            assert_eq!(law.reduce(cx, Signal::Loss { flight: 20_000 }, &w), 10.0);
            assert_eq!(reno(&[]).reduce(cx, Signal::Ecn { flight: 20_000 }, &w), 10.0);
        });
    }

    #[test]
    //= test: RFC 5681 §3.1 ssthresh
    fn the_base_of_a_reduction() {
        assert_eq!([reduced("flight"), reduced("cwnd"), reduced("pipe")], [10.0, 11.0, 8.0]);
    }
}
