//! HyStart++ (RFC 9406): leaves slow start on a delay increase, by way of a conservative slow start that can turn back.
//!
//! Known deviations: none. It acts in the first slow start only (RFC 9406 §4.3); later ones are standard.

use super::standard::{ABC_LIMIT, Standard};
use super::{SlowStart, SlowStartEntry, grow_to_ssthresh};
use crate::cc::{Ack, Cx, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::time::Span;

pub(super) const ENTRY: SlowStartEntry = SlowStartEntry {
    name: "hystart++",
    source: "RFC 9406",
    summary: "standard until the RTT rises, then a few rounds at a quarter of the growth, unless it falls again",
    params: &[
        ParamSpec {
            name: "min_rtt_thresh",
            kind: Kind::Duration,
            default: Default::Duration(Span::from_millis(4)),
            range: Some((0.0, 10.0)),
            doc: "MIN_RTT_THRESH, least rise of the RTT that counts",
        },
        ParamSpec {
            name: "max_rtt_thresh",
            kind: Kind::Duration,
            default: Default::Duration(Span::from_millis(16)),
            range: Some((0.0, 10.0)),
            doc: "MAX_RTT_THRESH, rise of the RTT that always counts",
        },
        ParamSpec {
            name: "min_rtt_divisor",
            kind: Kind::Count,
            default: Default::Int(8),
            range: Some((1.0, 1e6)),
            doc: "MIN_RTT_DIVISOR, fraction of the RTT that a rise must reach within these bounds",
        },
        ParamSpec {
            name: "n_rtt_sample",
            kind: Kind::Count,
            default: Default::Int(8),
            range: Some((1.0, 1e6)),
            doc: "N_RTT_SAMPLE, samples of a round before its smallest counts",
        },
        ParamSpec {
            name: "css_growth_divisor",
            kind: Kind::Count,
            default: Default::Int(4),
            range: Some((2.0, 1e6)),
            doc: "CSS_GROWTH_DIVISOR, by which conservative slow start grows less",
        },
        ParamSpec {
            name: "css_rounds",
            kind: Kind::Count,
            default: Default::Int(5),
            range: Some((1.0, 1e6)),
            doc: "CSS_ROUNDS, rounds of conservative slow start, the one it begins in included",
        },
        ParamSpec {
            name: "l",
            kind: Kind::Segments,
            default: Default::Int(8),
            range: Some((0.0, 1e6)),
            doc: "L, most segments of growth per acknowledgment in the first slow start; 0 is no limit, for a paced sender",
        },
        ABC_LIMIT,
    ],
    check: |_| Ok(()),
    build: |p| Box::new(HyStartPp::new(p)),
};

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// Smallest RTT of the round that it began in.
    baseline: Span,
    /// Rounds ended.
    rounds: u64,
}

/// Standard slow start, watched for a rise of the RTT.
#[derive(Clone, Debug)]
pub struct HyStartPp {
    min_thresh: Span,
    max_thresh: Span,
    divisor: u64,
    enough: u64,
    css_divisor: f64,
    css_rounds: u64,
    limit: f64,
    /// Later slow starts.
    standard: Standard,
    first: bool,
    css: Option<Css>,
    round: u64,
    /// Smallest sample of the last round and of this one; `Span::MAX` is none.
    last_min: Span,
    round_min: Span,
    samples: u64,
}

impl HyStartPp {
    /// From its parameters.
    pub fn new(p: &Params) -> HyStartPp {
        let limit = match p.int("l") {
            0 => f64::INFINITY,
            l => l as f64,
        };
        HyStartPp {
            min_thresh: p.duration("min_rtt_thresh"),
            max_thresh: p.duration("max_rtt_thresh"),
            divisor: p.int("min_rtt_divisor").max(1),
            enough: p.int("n_rtt_sample"),
            css_divisor: p.float("css_growth_divisor").max(1.0),
            css_rounds: p.int("css_rounds"),
            limit,
            standard: Standard::new(p),
            first: true,
            css: None,
            round: 0,
            last_min: Span::MAX,
            round_min: Span::MAX,
            samples: 0,
        }
    }

    /// RttThresh: the rise above the last round's smallest RTT that counts (RFC 9406 §4.2).
    //= RFC 9406 §4.2 threshold
    fn threshold(&self) -> Span {
        self.min_thresh.max(Span(self.last_min.0 / self.divisor).min(self.max_thresh))
    }

    /// A new round. True when conservative slow start has had its rounds.
    //= RFC 9406 §4.2 css
    fn next_round(&mut self, round: u64) -> bool {
        self.round = round;
        self.last_min = self.round_min;
        self.round_min = Span::MAX;
        self.samples = 0;
        self.css.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= self.css_rounds
        })
    }

    fn sample(&mut self, rtt: Span) {
        self.round_min = self.round_min.min(rtt);
        self.samples += 1;
        if self.samples < self.enough {
            return;
        }
        match self.css {
            //= RFC 9406 §4.2 css-back
            Some(css) if self.round_min < css.baseline => self.css = None,
            None if self.last_min != Span::MAX && self.round_min >= self.last_min + self.threshold() => {
                self.css = Some(Css { baseline: self.round_min, rounds: 0 });
            }
            _ => {}
        }
    }
}

impl SlowStart for HyStartPp {
    fn on_ack(&mut self, _cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) -> f64 {
        if self.first && ack.round != self.round && self.next_round(ack.round) {
            // At least two segments, as every threshold.
            w.ssthresh = w.cwnd.max(2.0);
            self.first = false;
            return acked;
        }
        let grant = match self.css {
            _ if !self.first => self.standard.grant(acked),
            Some(_) => acked.min(self.limit) / self.css_divisor,
            None => acked.min(self.limit),
        };
        let left = if ack.window_limited { grow_to_ssthresh(w, grant) } else { 0.0 };
        if let (true, Some(rtt)) = (self.first, ack.rtt) {
            self.sample(rtt);
        }
        left
    }

    fn on_congestion(&mut self, cx: &Cx<'_>, signal: Signal) {
        //= RFC 9406 §4.3 first-only
        self.standard.on_congestion(cx, signal);
        self.first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn hystart(given: &[(&str, u64)]) -> HyStartPp {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), Value::Int(*v))).collect();
        HyStartPp::new(&Params::new(ENTRY.params, &given).unwrap())
    }

    /// One round of `n` acknowledgments of one segment with this RTT.
    fn round(h: &mut HyStartPp, w: &mut Window, round: u64, n: u64, rtt_us: u64) {
        testing::with_cx(1000, |cx| {
            for _ in 0..n {
                let ack = Ack { round, rtt: Some(Span::from_micros(rtt_us)), ..testing::ack(1.0) };
                h.on_ack(cx, &ack, w, 1.0);
            }
        });
    }

    #[test]
    //= test: RFC 9406 §4.2 threshold
    fn thresholds() {
        // The smallest RTT of the last round in ms, and the RTT in us from which slow start is conservative.
        for (last, from) in [(20, 24_000), (64, 72_000), (100, 112_500), (300, 316_000)] {
            for (rtt, conservative) in [(from - 1, false), (from, true)] {
                let mut h = hystart(&[]);
                let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
                round(&mut h, &mut w, 1, 8, last * 1000);
                round(&mut h, &mut w, 2, 7, rtt);
                assert!(h.css.is_none(), "seven samples are too few");
                round(&mut h, &mut w, 2, 1, rtt);
                assert_eq!(h.css.is_some(), conservative, "{last} ms, {rtt} us");
            }
        }
    }

    /// A slow start that has become conservative in round 2, at an RTT of 30 ms instead of 20.
    fn conservative() -> HyStartPp {
        let mut h = hystart(&[]);
        let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        round(&mut h, &mut w, 1, 8, 20_000);
        round(&mut h, &mut w, 2, 8, 30_000);
        assert!(h.css.is_some());
        h
    }

    #[test]
    //= test: RFC 9406 §4.2 css
    fn conservative_slow_start_grows_by_a_quarter() {
        let mut h = conservative();
        let mut w = Window { cwnd: 100.0, ssthresh: f64::INFINITY };
        round(&mut h, &mut w, 2, 8, 30_000);
        assert_eq!(w.cwnd, 102.0);
    }

    #[test]
    //= test: RFC 9406 §4.2 css
    fn it_ends_after_five_rounds_with_the_first() {
        let mut h = conservative();
        let mut w = Window { cwnd: 100.0, ssthresh: f64::INFINITY };
        for n in 3..=6 {
            round(&mut h, &mut w, n, 8, 30_000);
            assert!(w.in_slow_start(), "round {n}");
        }
        let reached = w.cwnd;
        round(&mut h, &mut w, 7, 1, 30_000);
        assert_eq!((w.cwnd, w.ssthresh, reached), (reached, reached, 108.0));
    }

    #[test]
    //= test: RFC 9406 §4.2 css-back
    fn it_turns_back_when_the_rtt_falls_below_where_it_began() {
        let mut h = conservative();
        let mut w = Window { cwnd: 100.0, ssthresh: f64::INFINITY };
        round(&mut h, &mut w, 3, 8, 29_999);
        assert!(h.css.is_none());
        round(&mut h, &mut w, 3, 1, 29_999);
        assert_eq!(w.cwnd, 103.0);
    }

    #[test]
    fn growth_per_acknowledgment_is_limited() {
        for (l, cwnd) in [(8, 18.0), (0, 30.0)] {
            let mut h = hystart(&[("l", l)]);
            let mut w = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
            testing::with_cx(1000, |cx| h.on_ack(cx, &testing::ack(20.0), &mut w, 20.0));
            assert_eq!(w.cwnd, cwnd);
        }
    }

    #[test]
    //= test: RFC 9406 §4.3 first-only
    fn a_loss_ends_it_for_good() {
        let mut h = conservative();
        let mut w = Window { cwnd: 10.0, ssthresh: 50.0 };
        testing::with_cx(1000, |cx| h.on_congestion(cx, Signal::Timeout { flight: 0, repeated: false }));
        round(&mut h, &mut w, 9, 8, 20_000);
        round(&mut h, &mut w, 10, 8, 90_000);
        assert_eq!(w.cwnd, 26.0);
    }
}
