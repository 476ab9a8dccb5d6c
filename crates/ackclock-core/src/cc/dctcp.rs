//! DCTCP: the window shrinks in proportion to the share of marked bytes.
//!
//! M. Alizadeh et al., Data center TCP (DCTCP), SIGCOMM 2010; RFC 8257. Once per window of data the share `M` of marked
//! bytes goes into an average, `alpha = (1 - g) alpha + g M`; a window in which a mark is reported is reduced to
//! `(1 - alpha / 2) w`. Losses and growth are Reno's. The endpoint negotiates ECN by itself for this controller.
//!
//! RFC 8257 §3.3 weighs bytes; so does the form of Linux, of which the profile `linux` counts every packet as a full one,
//! as Linux does.
//!
//! Known deviation: none known.

use super::additive::Additive;
use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, Cx, EcnUse, Needs, Signal, Window};
use crate::params::{Default, Kind, ParamSpec, Params, flag};

const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "shift_g",
        kind: Kind::Count,
        default: Default::Int(4),
        range: Some((0.0, 10.0)),
        doc: "weight of the newest window in alpha: g = 2^-shift_g (RFC 8257 §4.2; dctcp_shift_g of Linux)",
    },
    ParamSpec {
        name: "alpha_on_init",
        kind: Kind::Float,
        default: Default::Float(1.0),
        range: Some((0.0, 1.0)),
        doc: "alpha at the start (RFC 8257 §3.3; dctcp_alpha_on_init of Linux)",
    },
    flag("ect1", false, "ECT(1) in place of ECT(0): the low-latency queue of dualpi2 serves it (RFC 9331 §4.1)"),
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["rfc", "linux"]),
        default: Default::Text("rfc"),
        range: None,
        doc: "linux: alpha in 1024ths, rounded as Linux does, taken before the acknowledgment that ends the window is \
              counted; whole segments. Profile linux: linux",
    },
    ParamSpec {
        doc: "what a loss halves: the bytes outstanding (RFC 5681), the window (Linux) or what is in the network; \
              marks reduce the window. Profile linux: cwnd",
        ..BASE
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "dctcp",
    family: "marks",
    source: "RFC 8257",
    summary: "Reno that shrinks in proportion to the share of marked bytes",
    differences: "Linux keeps alpha in 1024ths and reduces for a mark with proportional rate reduction",
    params: PARAMS,
    builder: Builder::Law(|p| Box::new(Dctcp::new(p))),
};

/// Linux's unit of alpha.
const ONE: u64 = 1024;

/// The estimator and its reactions.
pub struct Dctcp {
    base: Base,
    ect1: bool,
    linux: bool,
    shift_g: u32,
    /// Share of marked bytes: a fraction, or 1024ths for Linux.
    alpha: f64,
    scaled: u64,
    /// The observation window ends when this position is acknowledged (DCTCP.WindowEnd).
    end: u64,
    acked: u64,
    marked: u64,
    growth: Additive,
}

impl Dctcp {
    /// From its parameters.
    pub fn new(p: &Params) -> Dctcp {
        let alpha = p.float("alpha_on_init");
        let linux = p.text("variant") == "linux";
        Dctcp {
            base: Base::new(p),
            ect1: p.bool("ect1"),
            linux,
            shift_g: p.int("shift_g").min(10) as u32,
            alpha,
            scaled: (alpha * ONE as f64) as u64,
            end: 0,
            acked: 0,
            marked: 0,
            growth: Additive::new(linux),
        }
    }

    /// The present estimate, a fraction of one.
    pub fn alpha(&self) -> f64 {
        if self.linux { self.scaled as f64 / ONE as f64 } else { self.alpha }
    }

    fn count(&mut self, ack: &Ack) {
        self.acked += ack.delivered;
        self.marked += ack.marked;
    }

    /// An observation window has ended: its share of marks goes into alpha.
    //= RFC 8257 §3.3 alpha
    fn update(&mut self, nxt: u64) {
        if self.linux {
            // What is too small for a share of it falls to zero at once.
            let fall = match self.scaled >> self.shift_g {
                0 => self.scaled,
                share => share,
            };
            self.scaled -= fall;
            if self.marked > 0 {
                let part = (u128::from(self.marked) << (10 - self.shift_g)) / u128::from(self.acked.max(1));
                self.scaled = (self.scaled + part as u64).min(ONE);
            }
        } else {
            let share = if self.acked > 0 { self.marked as f64 / self.acked as f64 } else { 0.0 };
            let g = 1.0 / f64::from(1u32 << self.shift_g);
            self.alpha = (1.0 - g) * self.alpha + g * share.min(1.0);
        }
        (self.acked, self.marked, self.end) = (0, 0, nxt);
    }
}

impl Avoidance for Dctcp {
    fn needs(&self) -> Needs {
        // Linux ends a window with every acknowledgment at its end, of nothing too; RFC 8257 §3.3 with those beyond it.
        Needs { observe: true, observe_idle: self.linux, ecn: EcnUse::Dctcp, ect1: self.ect1, ..Needs::default() }
    }

    fn observe(&mut self, _cx: &Cx<'_>, ack: &Ack, _w: &mut Window) {
        if self.linux {
            // Linux looks at the end of the window before it counts what the acknowledgment delivers.
            if ack.una >= self.end {
                self.update(ack.nxt);
            }
            self.count(ack);
            return;
        }
        self.count(ack);
        if ack.una > self.end {
            self.update(ack.nxt);
        }
    }

    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        self.growth.add_reno(w, acked);
    }

    //= RFC 8257 §3.3 reduction
    //= RFC 8257 §3.4 loss
    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        self.growth.reset();
        let marked = matches!(signal, Signal::Ecn { .. });
        match (marked, self.linux) {
            (true, true) => {
                let cwnd = w.cwnd as u64;
                (cwnd - ((cwnd * self.scaled) >> 11).min(cwnd)) as f64
            }
            (true, false) => w.cwnd * (1.0 - self.alpha / 2.0),
            (false, true) => (w.cwnd / 2.0).floor(),
            (false, false) => self.base.window(cx, signal, w) / 2.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::params::Value;

    fn dctcp(given: &[(&str, Value)]) -> Dctcp {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        Dctcp::new(&Params::new(PARAMS, &given).unwrap())
    }

    fn linux() -> (&'static str, Value) {
        ("variant", Value::Text("linux".into()))
    }

    /// Alpha after windows of ten segments with these numbers of marked ones, each acknowledged by one.
    fn alphas(mut law: Dctcp, marked: &[u64]) -> Vec<f64> {
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        let after = marked.iter().zip(1..).map(|(m, n)| {
            let una = n * 10_000;
            let ack = Ack { delivered: 10_000, marked: m * 1000, una, nxt: una, ..Ack::default() };
            testing::with_cx(1000, |cx| law.observe(cx, &ack, &mut w));
            law.alpha()
        });
        after.collect()
    }

    fn reduced(law: &mut Dctcp, signal: Signal) -> f64 {
        let w = Window { cwnd: 100.0, ssthresh: 2.0 };
        testing::with_cx(1000, |cx| law.reduce(cx, signal, &w))
    }

    #[test]
    //= test: RFC 8257 §3.3 alpha
    fn alpha_is_the_average_of_the_shares() {
        // RFC 8257 §3.3 from alpha 1: M = 0, 0, 0, 0.5, 1.
        let expected = [0.9375, 0.878_906_25, 0.823_974_609_375, 0.803_726_196, 0.815_993_309];
        for (alpha, expected) in alphas(dctcp(&[]), &[0, 0, 0, 5, 10]).into_iter().zip(expected) {
            assert!((alpha - expected).abs() < 1e-9, "{alpha} {expected}");
        }
        let g = [("shift_g", Value::Int(1)), ("alpha_on_init", Value::Float(0.0))];
        assert_eq!(alphas(dctcp(&g), &[10, 10, 0]), [0.5, 0.75, 0.375]);
    }

    #[test]
    fn linux_counts_in_1024ths_and_a_window_late() {
        // The acknowledgment that ends a window counts for the next: the first update sees nothing. Then
        // 960 - 60, 900 - 56, 844 - 52 + 64 * 5 / 10, 824 - 51 + 64 * 10 / 10.
        let expected = [960.0, 900.0, 844.0, 824.0, 837.0].map(|a| a / 1024.0);
        assert_eq!(alphas(dctcp(&[linux()]), &[0, 0, 5, 10, 0]), expected);
        // Below 16 units it falls to zero.
        let law = || dctcp(&[linux(), ("alpha_on_init", Value::Float(2.0 / 1024.0))]);
        assert_eq!(alphas(law(), &[0, 0, 0]), [0.0, 0.0, 0.0]);
        let law = || dctcp(&[linux(), ("alpha_on_init", Value::Float(17.0 / 1024.0))]);
        assert_eq!(alphas(law(), &[0, 0, 0]), [16.0, 15.0, 0.0].map(|a| a / 1024.0));
    }

    #[test]
    //= test: RFC 8257 §3.3 reduction
    //= test: RFC 8257 §3.4 loss
    fn a_mark_takes_half_of_alpha_and_a_loss_takes_half() {
        let (mark, loss) = (Signal::Ecn { flight: 90_000 }, Signal::Loss { flight: 90_000 });
        let timeout = Signal::Timeout { flight: 90_000, repeated: false };
        let half = ("alpha_on_init", Value::Float(0.5));
        for variant in ["rfc", "linux"] {
            let given = [half.clone(), ("variant", Value::Text(variant.into()))];
            assert_eq!(reduced(&mut dctcp(&given), mark), 75.0);
        }
        // 100 - (100 * 300 >> 11) is 100 - 14.
        let alpha = ("alpha_on_init", Value::Float(300.0 / 1024.0));
        assert_eq!(reduced(&mut dctcp(&[linux(), alpha]), mark), 86.0);
        assert_eq!([loss, timeout].map(|s| reduced(&mut dctcp(&[]), s)), [45.0; 2]);
        assert_eq!([loss, timeout].map(|s| reduced(&mut dctcp(&[linux()]), s)), [50.0; 2]);
    }
}
