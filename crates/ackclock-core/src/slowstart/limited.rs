//! Limited slow start for large windows (RFC 3742).

use super::standard::{ABC_LIMIT, Standard};
use super::{SlowStart, SlowStartEntry, grow_to_ssthresh};
use crate::cc::{Ack, Cx, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};

/// Above `max_ssthresh` the window grows by at most half of it per round-trip time.
#[derive(Clone, Debug)]
pub struct Limited {
    max_ssthresh: f64,
    standard: Standard,
}

pub(super) const ENTRY: SlowStartEntry = SlowStartEntry {
    name: "limited",
    source: "RFC 3742",
    summary: "standard up to max_ssthresh, then at most max_ssthresh/2 segments per round-trip time",
    params: &[
        ParamSpec {
            name: "max_ssthresh",
            kind: Kind::Segments,
            default: Default::Int(100),
            range: Some((1.0, 1e9)),
            doc: "window above which growth is limited (RFC 3742 §2)",
        },
        ABC_LIMIT,
    ],
    check: |_| Ok(()),
    build: |p| Box::new(Limited::new(p)),
};

impl Limited {
    /// With `max_ssthresh` and `abc_limit`.
    pub fn new(p: &Params) -> Limited {
        Limited { max_ssthresh: p.float("max_ssthresh"), standard: Standard::new(p) }
    }

    /// Growth per segment acknowledged at window `w` (RFC 3742 §2): 1 up to max_ssthresh, then 1/K with
    /// K = int(w / (0.5 max_ssthresh)).
    //= RFC 3742 §2 limit
    pub fn increment(&self, w: f64) -> f64 {
        if w <= self.max_ssthresh { 1.0 } else { 1.0 / (w / (0.5 * self.max_ssthresh)).floor() }
    }
}

impl SlowStart for Limited {
    fn on_ack(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) -> f64 {
        if !ack.window_limited {
            return 0.0;
        }
        let rate = self.increment(w.cwnd);
        grow_to_ssthresh(w, self.standard.grant(acked) * rate) / rate
    }

    fn on_congestion(&mut self, cx: &Cx<'_>, signal: Signal) {
        self.standard.on_congestion(cx, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;

    fn limited() -> Limited {
        Limited::new(&Params::new(ENTRY.params, &[]).unwrap())
    }

    #[test]
    //= test: RFC 3742 §2 limit
    fn increments_of_rfc_3742() {
        let l = limited();
        let table = [
            (50., 1.),
            (100., 1.),
            (101., 2.),
            (149., 2.),
            (150., 3.),
            (199., 3.),
            (200., 4.),
            (250., 5.),
            (1000., 20.),
        ];
        for (w, k) in table {
            assert_eq!(l.increment(w), 1.0 / k, "w = {w}");
        }
    }

    #[test]
    //= test: RFC 3742 §2 limit
    fn a_large_window_takes_the_published_number_of_rounds() {
        // Rounds to reach w: log2(max) + (w - max)/(max/2); for 83,000 segments 6.64 + 1658 (RFC 3742's formula).
        let mut l = limited();
        let mut w = Window { cwnd: 1.0, ssthresh: f64::INFINITY };
        let mut rounds = 0.0;
        testing::with_cx(1000, |cx| {
            while w.cwnd < 83_000.0 {
                let acks = w.cwnd.floor();
                for _ in 0..acks as u64 {
                    l.on_ack(cx, &testing::ack(1.0), &mut w, 1.0);
                }
                rounds += 1.0;
            }
        });
        assert!((rounds - 1664.6f64).abs() < 17.0, "{rounds}");
    }
}
