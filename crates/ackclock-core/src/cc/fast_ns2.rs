//! FAST as the ns-2 module has it (T. Cui and L. Andrew, FAST TCP simulator module for ns-2, version 1.1, 2005).
//!
//! Known deviations: the module starts its mean RTT at the time of the first acknowledgment since the begin of the
//! simulation, which keeps a flow that starts late out of the exponential growth for hundreds of acknowledgments; here
//! the first sample is taken. The window after a timeout is 1 segment, in the module 2. Recovery is the endpoint's.

use super::fast::{Estimate, target};
use super::{Ack, Avoidance, Cx, Signal, Window};
use crate::params::Params;
use crate::ring::Ring;
use crate::slowstart::SlowStart;
use crate::time::{Span, Time};

/// Updates at fixed intervals; exponential growth while the queueing delay is small, whatever ssthresh says.
#[derive(Clone, Debug)]
pub struct FastNs2 {
    e: Estimate,
    beta: f64,
    interval: Span,
    pacing_rtt: f64,
    updated: Time,
    /// What was in flight when the segments from a position on were sent, and for the segment acknowledged last.
    sent: Ring<(u64, f64)>,
    w_old: f64,
    /// Acknowledgments of this and the last round-trip time.
    round_start: Time,
    acks: u64,
    acks_before: u64,
    /// Segments still to be added, one every `spacing` acknowledgments; `since` the last one.
    rest: u64,
    spacing: u64,
    since: u64,
}

impl FastNs2 {
    /// From its parameters.
    pub fn new(p: &Params) -> FastNs2 {
        FastNs2 {
            e: Estimate::new(p, 100.0, 1.0 / 256.0),
            beta: p.float("beta"),
            interval: p.duration("update_interval"),
            pacing_rtt: p.duration("pacing_rtt").as_secs_f64(),
            updated: Time::ZERO,
            sent: Ring::default(),
            w_old: 1.0,
            round_start: Time::ZERO,
            acks: 0,
            acks_before: 0,
            rest: 0,
            spacing: 0,
            since: 0,
        }
    }

    /// Takes the samples of an acknowledgment.
    fn estimate(&mut self, cx: &Cx<'_>, ack: &Ack) {
        while self.sent.front().is_some_and(|s| s.0 < ack.una) {
            self.w_old = self.sent.pop().map_or(self.w_old, |s| s.1);
        }
        let flight = cx.in_flight as f64 / f64::from(cx.mss) + 1.0;
        self.sent.push((ack.nxt, flight));
        if let Some(rtt) = ack.rtt {
            self.e.sample(rtt, flight);
        }
        if cx.now.since(self.round_start) > ack.rtt.unwrap_or(cx.rtt.smoothed) {
            self.round_start = cx.now;
            self.acks_before = std::mem::take(&mut self.acks);
        }
        self.acks += 1;
    }

    /// The window that the law asks for; unchanged between alpha and beta packets in queues.
    fn wanted(&self, cx: &Cx<'_>, w: f64) -> f64 {
        let alpha = self.e.alpha(cx, w);
        let queued = self.w_old * (1.0 - self.e.ratio());
        if queued >= alpha && queued < self.beta {
            return w;
        }
        target(w, self.w_old, self.e.ratio(), alpha, self.e.gamma).max(2.0)
    }

    /// Adds a segment when its turn has come, after setting out to add `more`.
    fn pace(&mut self, w: &mut Window, more: u64) {
        if more > 0 {
            self.rest += more;
            let per_interval = self.acks_before as f64 * self.interval.as_secs_f64() / self.e.mean_rtt.max(1e-9);
            self.spacing = (per_interval / self.rest as f64) as u64;
            self.since = 0;
        }
        self.since += 1;
        if self.rest == 0 {
            return;
        }
        if w.cwnd <= 4.0 {
            let step = self.rest.min(w.cwnd as u64);
            w.cwnd += step as f64;
            self.rest -= step;
            self.since = 0;
        } else if self.since >= self.spacing {
            w.cwnd += 1.0;
            self.rest -= 1;
            self.since = 0;
        }
    }

    fn control(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window) {
        self.estimate(cx, ack);
        if self.e.queueing() < self.e.mi_threshold {
            w.cwnd += 1.0;
            self.updated = cx.now;
            return;
        }
        let paced = self.e.base_rtt >= self.pacing_rtt;
        if cx.now.since(self.updated) < self.interval {
            if paced {
                self.pace(w, 0);
            }
            return;
        }
        self.updated = cx.now;
        self.rest = 0;
        let wanted = self.wanted(cx, w.cwnd);
        if wanted >= w.cwnd && paced {
            self.pace(w, (wanted - w.cwnd) as u64);
        } else {
            w.cwnd = wanted;
        }
    }
}

impl Avoidance for FastNs2 {
    fn validates_itself(&self) -> bool {
        true
    }

    /// There is no slow start; ssthresh is not looked at.
    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, _acked: f64, _: &mut dyn SlowStart) -> f64 {
        self.control(cx, ack, w);
        0.0
    }

    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, _acked: f64) {
        self.control(cx, ack, w);
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.rest = 0;
        self.updated = cx.now;
        self.e.base.window(cx, signal, w) / 2.0
    }

    fn recovered(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        self.updated = cx.now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{fast, testing};
    use super::*;
    use crate::params::Value;

    fn law(given: &[(&str, u64)]) -> FastNs2 {
        let mut all = vec![("variant".to_owned(), Value::Text("ns2".into()))];
        all.extend(given.iter().map(|(k, v)| ((*k).to_owned(), Value::Int(*v))));
        FastNs2::new(&Params::new(fast::PARAMS, &all).unwrap())
    }

    /// A law in the middle of a transfer of 1000 segments per 100 ms, 20 ms of which are queueing.
    fn running(given: &[(&str, u64)]) -> FastNs2 {
        let mut l = law(given);
        (l.e.base_rtt, l.e.mean_rtt, l.acks_before, l.w_old) = (0.08, 0.1, 1000, 1000.0);
        l
    }

    #[test]
    fn the_window_doubles_per_round_while_nothing_waits() {
        let mut l = law(&[]);
        let mut w = Window { cwnd: 2.0, ssthresh: f64::INFINITY };
        testing::with_cx(1000, |cx| {
            for _ in 0..2 {
                let ack = Ack { rtt: Some(Span::from_millis(100)), ..testing::ack(1.0) };
                l.control(cx, &ack, &mut w);
            }
        });
        assert_eq!(w.cwnd, 4.0);
    }

    #[test]
    fn between_alpha_and_beta_the_window_stays() {
        // 1000 (1 - 0.8) = 200 packets wait.
        testing::with_cx(1000, |cx| {
            assert_eq!(running(&[("alpha", 150), ("beta", 250)]).wanted(cx, 1000.0), 1000.0);
            assert_eq!(running(&[("alpha", 150), ("beta", 180)]).wanted(cx, 1000.0), 975.0);
            assert_eq!(running(&[("alpha", 300), ("beta", 400)]).wanted(cx, 1000.0), 1050.0);
            assert_eq!(running(&[("alpha", 100)]).wanted(cx, 1000.0), 950.0);
        });
    }

    #[test]
    fn an_increase_is_spread_over_the_acknowledgments_of_an_interval() {
        // 1000 acknowledgments per 100 ms are 100 per interval of 10 ms: 50 segments come one every second one.
        let mut l = running(&[("alpha", 300)]);
        let mut w = Window { cwnd: 1000.0, ssthresh: 2.0 };
        l.pace(&mut w, 50);
        assert_eq!((w.cwnd, l.spacing), (1000.0, 2));
        (0..99).for_each(|_| l.pace(&mut w, 0));
        assert_eq!((w.cwnd, l.rest), (1050.0, 0));
        (0..99).for_each(|_| l.pace(&mut w, 0));
        assert_eq!(w.cwnd, 1050.0);
    }

    #[test]
    fn a_small_window_at_most_doubles_at_once() {
        let mut l = running(&[]);
        let mut w = Window { cwnd: 3.0, ssthresh: 2.0 };
        l.pace(&mut w, 5);
        assert_eq!((w.cwnd, l.rest), (6.0, 2));
    }

    #[test]
    fn the_old_window_is_that_of_the_segment_acknowledged() {
        let mut l = law(&[]);
        testing::with_cx(1000, |cx| {
            let mut ack = |l: &mut FastNs2, una: u64, flight: u64| {
                cx.in_flight = flight * 1000;
                l.estimate(cx, &Ack { una, nxt: una + flight * 1000, ..Ack::default() });
                l.w_old
            };
            // The segments from 11,000 on leave with 10 in flight, those from 13,000 on with 11.
            assert_eq!(ack(&mut l, 1000, 10), 1.0);
            assert_eq!(ack(&mut l, 2000, 11), 1.0);
            assert_eq!(ack(&mut l, 11_000, 20), 1.0);
            assert_eq!(ack(&mut l, 12_000, 20), 11.0);
            assert_eq!(ack(&mut l, 13_001, 20), 12.0);
        });
    }
}
