//! Reno and NewReno congestion avoidance (RFC 5681, RFC 6582). The two differ in recovery, which the endpoint runs.

use super::{Ack, Avoidance, Cx, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};

/// What the reduction starts from.
pub(super) const BASE: ParamSpec = ParamSpec {
    name: "base",
    kind: Kind::Choice(&["flight", "cwnd"]),
    default: Default::Text("flight"),
    range: None,
    doc: "what congestion reduces: the bytes in flight (RFC 5681 eq. 4) or the window (Linux). Profile linux: cwnd",
};

/// Parameters of `reno` and `newreno`.
pub(super) const PARAMS: &[ParamSpec] = &[
    BASE,
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
        kind: Kind::Choice(&["rfc", "linux"]),
        default: Default::Text("rfc"),
        range: None,
        doc: "linux: whole segments, counted as Linux counts them. Profile linux: linux",
    },
];

/// The window that `signal` finds, segments.
pub(super) fn reduced_from(cx: &Cx<'_>, signal: Signal, w: &Window, from_window: bool) -> f64 {
    if from_window {
        w.cwnd
    } else {
        signal.flight() as f64 / f64::from(cx.mss)
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

/// One segment per window acknowledged; half on congestion.
#[derive(Clone, Debug)]
pub struct Reno {
    from_window: bool,
    count_acks: bool,
    whole: bool,
    count: u64,
}

impl Reno {
    /// From its parameters.
    pub fn new(p: &Params) -> Reno {
        Reno {
            from_window: p.text("base") == "cwnd",
            count_acks: p.text("counting") == "acks",
            whole: p.text("variant") == "linux",
            count: 0,
        }
    }
}

impl Avoidance for Reno {
    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        if self.whole {
            add_per(w, &mut self.count, w.cwnd as u64, acked);
        } else {
            let acked = if self.count_acks { acked.min(1.0) } else { acked };
            w.cwnd += acked / w.cwnd;
        }
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.count = 0;
        let half = reduced_from(cx, signal, w, self.from_window) / 2.0;
        if self.whole {
            half.floor()
        } else {
            half
        }
    }
}
