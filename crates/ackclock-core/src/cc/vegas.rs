//! Vegas: the window follows the number of its own segments that queue (Brakmo and Peterson, *TCP Vegas: End to End
//! Congestion Avoidance on a Global Internet*, IEEE JSAC 13(8), 1995), in the original's form and in those of Linux,
//! ns-3 and ns-2.
//!
//! Known deviation from the paper: its retransmission on the first duplicate, by a finer clock, is the endpoint's
//! matter and not done.

use super::additive::Additive;
use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, Cx, Needs, Phase, Signal, Window};
use crate::estimator::round_rtt::RoundRtt;
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::slowstart::SlowStart;
use crate::time::Span;

/// Round-trip times measured in a round below which nothing is concluded from them.
pub(super) const MIN_SAMPLES: ParamSpec = ParamSpec {
    name: "min_samples",
    kind: Kind::Count,
    default: Default::Int(3),
    range: Some((1.0, 1e6)),
    doc: "round-trip times that a round must have given; with fewer the window grows as Reno's",
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["paper", "linux", "ns3", "ns2"]),
        default: Default::Text("paper"),
        range: None,
        doc: "paper; linux: whole segments, smallest RTT of the round, diff against the base RTT; ns3: smallest RTT, \
              whole segments of diff; ns2: diff rounded, growth spread over the round. Profiles linux, ns3, ns2: that \
              name",
    },
    ParamSpec {
        name: "alpha",
        kind: Kind::Float,
        default: Default::Float(0.0),
        range: Some((0.0, 1e6)),
        doc: "fewer queued segments let the window grow; 0 is the variant's own: 1, linux and ns3 2",
    },
    ParamSpec {
        name: "beta",
        kind: Kind::Float,
        default: Default::Float(0.0),
        range: Some((0.0, 1e6)),
        doc: "more queued segments make the window shrink; 0 is the variant's own: 3, linux and ns3 4",
    },
    ParamSpec {
        name: "gamma",
        kind: Kind::Float,
        default: Default::Float(1.0),
        range: Some((0.0, 1e6)),
        doc: "more queued segments end slow start",
    },
    ParamSpec {
        name: "slow_start_rounds",
        kind: Kind::Count,
        default: Default::Int(0),
        range: Some((0.0, 100.0)),
        doc: "rounds per doubling in slow start; 0 is the variant's own: 2, linux and ns3 1",
    },
    MIN_SAMPLES,
    BASE,
];

pub(super) const ENTRY: Controller = Controller {
    name: "vegas",
    family: "delay",
    source: "Brakmo and Peterson 1995",
    summary: "keeps between alpha and beta of its own segments queued",
    differences: "Linux and ns-3 compare the smallest RTT of a round, double every round in slow start, halve on loss \
        (ns-3: less one segment) and use alpha 2, beta 4; Linux divides by the base RTT and forgets it when idle",
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Vegas::new(p))),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Paper,
    Linux,
    Ns3,
    Ns2,
}

/// One segment more or less per round, by the number queued.
#[derive(Clone, Debug)]
pub struct Vegas {
    form: Form,
    base: Base,
    alpha: f64,
    beta: f64,
    gamma: f64,
    rounds_per_doubling: u64,
    min_samples: u64,
    rounds: RoundRtt,
    /// Rounds so far, for those that slow start leaves out.
    round: u64,
    /// Outside [`Phase::Open`] the window grows as Reno's.
    enabled: bool,
    reno: Additive,
    /// ns-2: growth per acknowledgment in the present round.
    step: f64,
}

impl Vegas {
    /// From its parameters.
    pub fn new(p: &Params) -> Vegas {
        let form = match p.text("variant") {
            "linux" => Form::Linux,
            "ns3" => Form::Ns3,
            "ns2" => Form::Ns2,
            _ => Form::Paper,
        };
        let kernel = matches!(form, Form::Linux | Form::Ns3);
        let or = |name: &str, own: f64| if p.float(name) > 0.0 { p.float(name) } else { own };
        let rounds_per_doubling = match p.int("slow_start_rounds") {
            0 => 2 - u64::from(kernel),
            n => n,
        };
        Vegas {
            form,
            base: Base::new(p),
            alpha: or("alpha", if kernel { 2.0 } else { 1.0 }),
            beta: or("beta", if kernel { 4.0 } else { 3.0 }),
            gamma: p.float("gamma"),
            rounds_per_doubling,
            min_samples: p.int("min_samples"),
            rounds: RoundRtt::new(),
            round: rounds_per_doubling - 1,
            enabled: true,
            reno: Additive::new(form == Form::Linux),
            step: 0.0,
        }
    }

    /// Segments queued, as this form computes them.
    fn diff(&self, w: f64, base: f64, rtt: f64) -> f64 {
        match self.form {
            Form::Paper => w * (rtt - base) / rtt,
            Form::Linux => (w * (rtt - base) / base).floor(),
            Form::Ns3 => w - (w * base / rtt).floor(),
            // Half up, as a conversion of the sum to an integer does.
            Form::Ns2 => (w * (rtt - base) / rtt + 0.5).floor(),
        }
    }

    /// A round is over and has enough samples. Returns whether slow start goes on.
    fn adjust(&mut self, w: &mut Window) -> bool {
        let rtt = match self.form {
            Form::Linux | Form::Ns3 => self.rounds.min() as f64,
            Form::Paper | Form::Ns2 => self.rounds.mean(),
        };
        let base = self.rounds.base() as f64;
        let now = match self.form {
            Form::Linux | Form::Ns3 => w.cwnd.floor(),
            Form::Paper | Form::Ns2 => w.cwnd,
        };
        let diff = self.diff(now, base, rtt);
        self.step = 0.0;
        if w.in_slow_start() {
            // The original compares only in rounds that held the window.
            let held = self.form != Form::Paper || self.rounds_per_doubling < 2 || !self.doubling(self.round - 1);
            if diff <= self.gamma || !held {
                return true;
            }
            if self.form == Form::Ns2 {
                w.cwnd = (now - now / 8.0).max(2.0);
                w.ssthresh = 2.0;
            } else {
                w.cwnd = now.min((now * base / rtt).floor() + 1.0).max(2.0);
                self.lower_threshold(w);
            }
        } else if diff > self.beta {
            w.cwnd = (now - 1.0).max(2.0);
            self.lower_threshold(w);
        } else if diff < self.alpha {
            match self.form {
                Form::Ns2 => self.step = 1.0 / now,
                _ => w.cwnd = now + 1.0,
            }
        }
        false
    }

    /// A smaller window is not to be won back by slow start.
    fn lower_threshold(&self, w: &mut Window) {
        w.ssthresh = match self.form {
            Form::Ns3 => w.ssthresh.min(w.cwnd - 1.0).max(2.0),
            _ => w.ssthresh.min(w.cwnd),
        };
    }

    /// Linux and ns-3 raise the threshold after every round.
    fn raise_threshold(&self, w: &mut Window) {
        match self.form {
            Form::Linux => w.ssthresh = w.ssthresh.max((w.cwnd / 2.0).floor() + (w.cwnd / 4.0).floor()),
            Form::Ns3 => w.ssthresh = w.ssthresh.max(0.75 * w.cwnd),
            Form::Paper | Form::Ns2 => {}
        }
    }

    /// Whether slow start grows the window in `round`.
    fn doubling(&self, round: u64) -> bool {
        round % self.rounds_per_doubling == 0
    }

    fn on_ack(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: Option<&mut dyn SlowStart>) {
        if !self.enabled {
            self.as_reno(cx, ack, w, acked, opening);
            return;
        }
        let mut opening = opening;
        if self.rounds.over(ack.una) {
            self.round += 1;
            if u64::from(self.rounds.count()) < self.min_samples {
                self.step = 0.0;
                self.as_reno(cx, ack, w, acked, opening.take());
            } else {
                if !self.adjust(w) {
                    opening = None;
                }
                self.open(cx, ack, w, acked, opening.take());
                self.raise_threshold(w);
            }
            self.rounds.begin(ack.nxt);
        } else {
            self.open(cx, ack, w, acked, opening.take());
        }
        if self.step > 0.0 && !w.in_slow_start() {
            w.cwnd += self.step * acked.min(1.0);
        }
    }

    /// Slow start in the rounds that have it; the law does not ask whether the window was used.
    fn open(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: Option<&mut dyn SlowStart>) {
        if let Some(opening) = opening.filter(|_| self.doubling(self.round)) {
            opening.on_ack(cx, &Ack { window_limited: true, ..*ack }, w, acked);
        }
    }

    fn as_reno(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: Option<&mut dyn SlowStart>) {
        let left = match opening {
            Some(opening) => opening.on_ack(cx, ack, w, acked),
            None => acked,
        };
        if left > 0.0 && ack.window_limited {
            self.reno.add_reno(w, left);
        }
    }

    fn begin(&mut self, nxt: u64) {
        self.enabled = true;
        self.step = 0.0;
        self.rounds.begin(nxt);
    }
}

impl Avoidance for Vegas {
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }

    #[inline]
    fn observe(&mut self, _cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.rounds.sample(if self.form == Form::Linux { rtt.0 / 1000 + 1 } else { rtt.0 });
        }
    }

    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        self.on_ack(cx, ack, w, acked, Some(opening));
        0.0
    }

    #[inline]
    fn grow(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64) {
        self.on_ack(cx, ack, w, acked, None);
    }

    fn validates_itself(&self) -> bool {
        true
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.reno.reset();
        let timeout = matches!(signal, Signal::Timeout { .. });
        match self.form {
            Form::Linux => (w.cwnd / 2.0).floor(),
            Form::Ns3 => w.ssthresh.min(w.cwnd - 1.0),
            _ if timeout => self.base.window(cx, signal, w) / 2.0,
            Form::Paper | Form::Ns2 => match self.base.window(cx, signal, w) {
                now if now <= 3.0 => 2.0,
                now => 0.75 * now,
            },
        }
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Open {
            self.begin(cx.nxt);
        } else {
            self.enabled = false;
            self.step = 0.0;
        }
        if cx.phase == Phase::Loss {
            self.reno.reset();
        }
    }

    fn resume(&mut self, cx: &Cx<'_>, idle: Span) {
        self.transmit_start(cx, idle);
    }

    fn transmit_start(&mut self, cx: &Cx<'_>, _idle: Span) {
        if self.form == Form::Linux {
            self.rounds.forget();
            self.begin(cx.nxt);
        } else if self.enabled {
            self.begin(cx.nxt);
        }
    }
}

#[cfg(test)]
#[path = "vegas_tests.rs"]
mod tests;
