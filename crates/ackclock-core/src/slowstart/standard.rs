//! Standard slow start (RFC 5681 §3.1) with appropriate byte counting (RFC 3465).

use super::{SlowStart, SlowStartEntry, grow_to_ssthresh};
use crate::cc::{Ack, Cx, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};

/// The window grows by the segments acknowledged, at most `L` per acknowledgment.
#[derive(Clone, Debug)]
pub struct Standard {
    /// RFC 3465's limit `L`, segments per acknowledgment; infinite: no limit (Linux).
    limit: f64,
    after_timeout: bool,
}

pub(super) const ABC_LIMIT: ParamSpec = ParamSpec {
    name: "abc_limit",
    kind: Kind::Segments,
    default: Default::Int(1),
    range: Some((0.0, 1e6)),
    doc: "most segments of growth per acknowledgment, L of RFC 3465; 1 is RFC 5681, 0 is no limit (Linux). \
          After a timeout a limit above 1 counts as 1 (RFC 3465 §2.3). Profile linux: 0",
};

pub(super) const ENTRY: SlowStartEntry = SlowStartEntry {
    name: "standard",
    source: "RFC 5681 §3.1, RFC 3465",
    summary: "one segment per segment acknowledged, at most L per acknowledgment",
    params: &[ABC_LIMIT],
    check: |_| Ok(()),
    build: |p| Box::new(Standard::new(p)),
};

impl Standard {
    /// With `abc_limit`.
    pub fn new(p: &Params) -> Standard {
        let limit = match p.int("abc_limit") {
            0 => f64::INFINITY,
            l => l as f64,
        };
        Standard { limit, after_timeout: false }
    }

    /// Segments that an acknowledgment of `acked` segments may add.
    pub(super) fn grant(&self, acked: f64) -> f64 {
        let limit = if self.after_timeout && self.limit.is_finite() { 1.0 } else { self.limit };
        acked.min(limit)
    }
}

impl SlowStart for Standard {
    //= RFC 5681 §3.1 slow-start
    fn on_ack(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) -> f64 {
        if ack.window_limited { grow_to_ssthresh(w, self.grant(acked)) } else { 0.0 }
    }

    fn on_congestion(&mut self, _cx: &Cx<'_>, signal: Signal) {
        self.after_timeout = matches!(signal, Signal::Timeout { .. });
    }
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use crate::cc::{Signal, Window, testing};
    use crate::params::Value;

    fn grow(l: u64, w: f64, acked: f64, after_timeout: bool) -> (f64, f64) {
        let mut s = build("standard", &[("abc_limit".into(), Value::Int(l))]).unwrap();
        testing::with_cx(1000, |cx| {
            if after_timeout {
                s.on_congestion(cx, Signal::Timeout { flight: 0, repeated: false });
            }
            let mut w = Window { cwnd: w, ssthresh: 64.0 };
            let left = s.on_ack(cx, &testing::ack(acked), &mut w, acked);
            (w.cwnd, left)
        })
    }

    #[test]
    //= test: RFC 5681 §3.1 slow-start
    fn byte_counting_vectors() {
        // RFC 3465: W = 4 segments, one acknowledgment covering 3.
        assert_eq!(grow(2, 4.0, 3.0, false).0, 6.0);
        assert_eq!(grow(1, 4.0, 3.0, false).0, 5.0);
        assert_eq!(grow(0, 4.0, 3.0, false).0, 7.0);
        assert_eq!(grow(2, 4.0, 3.0, true).0, 5.0);
        assert_eq!(grow(0, 4.0, 3.0, true).0, 7.0);
    }

    #[test]
    //= test: RFC 5681 §3.1 slow-start
    fn growth_stops_at_ssthresh_and_the_rest_is_handed_on() {
        assert_eq!(grow(0, 62.5, 3.0, false), (64.0, 1.5));
    }
}
