//! HighSpeed TCP (S. Floyd, RFC 3649, 2003): a response function for large windows.
//!
//! Known deviations: a(w) is evaluated when the window reaches another whole segment, not for every acknowledgment;
//! beyond High_Window b(w) keeps falling, but not below 0.01. In the form of Linux a table takes the place of the curve.

use super::registry::{Builder, Controller};
use super::reno::{BASE, Base};
use super::{Ack, Avoidance, Cx, Phase, Signal, Window};
use crate::math::{exp, ln};
use crate::params::{Default, Kind, ParamSpec, Params};
use crate::slowstart::SlowStart;

/// Parameters of `highspeed`.
pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec {
        name: "variant",
        kind: Kind::Choice(&["rfc3649", "linux"]),
        default: Default::Text("rfc3649"),
        range: None,
        doc: "rfc3649: the formulas of §5 with the curve `response`; linux: whole segments, a and b from the table of \
              appendix B, growth per acknowledgment. Profile linux: linux",
    },
    ParamSpec {
        name: "response",
        kind: Kind::Choice(&["rfc3649", "rfc3649_table", "belogaev2016", "ns2"]),
        default: Default::Text("rfc3649"),
        range: None,
        doc: "the published curves, 1 to 4 % apart: rfc3649 (§5, through both ends), rfc3649_table (appendix B, \
              p = 0.078 / w^1.2), belogaev2016 (High_Window 83333), ns2 (a(38) is exactly 1). Profile ns2: ns2",
    },
    BASE,
    ParamSpec {
        name: "low_window",
        kind: Kind::Float,
        default: Default::Float(38.0),
        range: Some((1.0, 1e6)),
        doc: "Low_Window: up to it the law is Reno's, segments (RFC 3649 §5)",
    },
    ParamSpec {
        name: "high_window",
        kind: Kind::Float,
        default: Default::Float(0.0),
        range: Some((0.0, 1e9)),
        doc: "High_Window, segments; 0 is the response's own: 83000, belogaev2016 83333",
    },
    ParamSpec {
        name: "low_p",
        kind: Kind::Float,
        default: Default::Float(0.0),
        range: Some((0.0, 1.0)),
        doc: "Low_P, the loss rate at Low_Window; 0 is the response's own: 0.001, ns2 1.5 / low_window^2",
    },
    ParamSpec {
        name: "high_p",
        kind: Kind::Float,
        default: Default::Float(1e-7),
        range: Some((1e-12, 1.0)),
        doc: "High_P, the loss rate at High_Window",
    },
    ParamSpec {
        name: "high_decrease",
        kind: Kind::Float,
        default: Default::Float(0.1),
        range: Some((0.01, 0.5)),
        doc: "High_Decrease, the part of the window given up at High_Window",
    },
];

pub(super) const ENTRY: Controller = Controller {
    name: "highspeed",
    family: "loss",
    source: "RFC 3649",
    summary: "Reno up to 38 segments; beyond, faster growth and smaller cuts as the window rises",
    differences: "Linux takes a and b from the table of appendix B, counts acknowledgments, not segments, and looks the \
        row up in congestion avoidance only: the first loss halves the window, however large it is",
    params: PARAMS,
    builder: Builder::Law(|p| match p.text("variant") {
        "linux" => Box::<HighSpeedTable>::default(),
        _ => Box::new(HighSpeed::new(p)),
    }),
};

/// A response function: loss rate, growth and reduction of a window.
#[derive(Clone, Debug)]
struct Response {
    low_window: f64,
    ln_low: f64,
    /// p(w) = scale w^exponent.
    ln_scale: f64,
    exponent: f64,
    /// b falls from a half by this much per unit of ln w.
    decrease_slope: f64,
}

impl Response {
    fn new(p: &Params) -> Response {
        let own = |given: f64, own: f64| if given > 0.0 { given } else { own };
        let form = p.text("response");
        let low_window = p.float("low_window");
        let high_window = own(p.float("high_window"), if form == "belogaev2016" { 83_333.0 } else { 83_000.0 });
        let low_p = own(p.float("low_p"), if form == "ns2" { 1.5 / (low_window * low_window) } else { 1e-3 });
        let ln_low = ln(low_window);
        let span = (ln(high_window) - ln_low).max(0.01);
        let (ln_scale, exponent) = if form == "rfc3649_table" {
            // Appendix B prints the response as 0.078 / w^1.2, which is 1 / (12.8 w^1.2).
            (-ln(12.8), -1.2)
        } else {
            let s = (ln(p.float("high_p")) - ln(low_p)) / span;
            (ln(low_p) - s * ln_low, s)
        };
        Response { low_window, ln_low, ln_scale, exponent, decrease_slope: (0.5 - p.float("high_decrease")) / span }
    }

    /// b(w): the part of the window given up on congestion (§5).
    //= RFC 3649 §5 response
    fn decrease(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 0.5;
        }
        (0.5 - self.decrease_slope * (ln(w) - self.ln_low)).max(0.01)
    }

    /// a(w): segments of growth per round-trip time (§5).
    //= RFC 3649 §5 response
    fn increase(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let b = self.decrease(w);
        // w^2 p(w), in logarithms.
        let w2p = exp((2.0 + self.exponent) * ln(w) + self.ln_scale);
        // Finite whatever the parameters.
        (2.0 * w2p * b / (2.0 - b)).clamp(1.0, 1e9)
    }
}

/// The law of RFC 3649.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    response: Response,
    base: Base,
    /// The whole segments of the window that `increase` belongs to.
    segments: u64,
    increase: f64,
}

impl HighSpeed {
    /// From its parameters.
    pub fn new(p: &Params) -> HighSpeed {
        HighSpeed { response: Response::new(p), base: Base::new(p), segments: 0, increase: 1.0 }
    }
}

impl Avoidance for HighSpeed {
    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, acked: f64) {
        let segments = w.cwnd as u64;
        if segments != self.segments {
            self.segments = segments;
            self.increase = self.response.increase(w.cwnd);
        }
        w.cwnd += self.increase * acked / w.cwnd;
    }

    fn reduce(&mut self, cx: &Cx<'_>, signal: Signal, w: &Window) -> f64 {
        (1.0 - self.response.decrease(w.cwnd)) * self.base.window(cx, signal, w)
    }
}

/// The table of RFC 3649 appendix B: the largest window of each row, and b of the row in 1/256 as Linux has it.
#[rustfmt::skip]
const ROWS: [(u32, u16); 72] = [
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83), (1284, 81), (1529,
    78), (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68), (3778, 66), (4177, 65), (4596,
    64), (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58), (7558, 57), (8130, 56), (8726, 55), (9346,
    54), (9991, 53), (10661, 52), (11358, 52), (12082, 51), (12834, 50), (13614, 49), (14424, 48), (15265, 48),
    (16137, 47), (17042, 46), (17981, 45), (18955, 45), (19965, 44), (21013, 43), (22101, 43), (23230, 42),
    (24402, 41), (25618, 41), (26881, 40), (28193, 39), (29557, 39), (30975, 38), (32450, 38), (33986, 37),
    (35586, 36), (37253, 36), (38992, 35), (40808, 35), (42707, 34), (44694, 33), (46776, 33), (48961, 32),
    (51258, 32), (53677, 31), (56230, 30), (58932, 30), (61799, 29), (64851, 28), (68113, 28), (71617, 27),
    (75401, 26), (79517, 26), (84035, 25), (89053, 24)
];

/// The law as Linux 6.12 has it.
#[derive(Clone, Debug, Default)]
pub struct HighSpeedTable {
    /// Index into [`ROWS`]; a(w) is one more. Kept from loss to loss.
    row: usize,
    count: u64,
}

impl HighSpeedTable {
    /// Moves to the first row whose window is not below `w`.
    #[inline]
    fn look_up(&mut self, w: u64) {
        while self.row + 1 < ROWS.len() && w > u64::from(ROWS[self.row].0) {
            self.row += 1;
        }
        while self.row > 0 && w <= u64::from(ROWS[self.row - 1].0) {
            self.row -= 1;
        }
    }
}

impl Avoidance for HighSpeedTable {
    fn slow_start(&mut self, cx: &Cx<'_>, ack: &Ack, w: &mut Window, acked: f64, opening: &mut dyn SlowStart) -> f64 {
        // What slow start leaves of its last acknowledgment is not used.
        opening.on_ack(cx, ack, w, acked);
        0.0
    }

    #[inline]
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window, _acked: f64) {
        let cwnd = w.cwnd as u64;
        self.look_up(cwnd);
        // Every acknowledgment counts once, however much it covers.
        self.count += self.row as u64 + 1;
        if self.count >= cwnd {
            self.count -= cwnd;
            w.cwnd += 1.0;
        }
    }

    fn reduce(&mut self, _cx: &Cx<'_>, _signal: Signal, w: &Window) -> f64 {
        self.count = 0;
        let cwnd = w.cwnd as u64;
        let cut = (u128::from(cwnd) * u128::from(ROWS[self.row].1)) >> 8;
        (cwnd - cut as u64) as f64
    }

    fn phase(&mut self, cx: &Cx<'_>, _w: &mut Window) {
        if cx.phase == Phase::Loss {
            self.count = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing;
    use crate::params::Value;

    fn given(response: &str) -> Params {
        Params::new(PARAMS, &[("response".into(), Value::Text(response.into()))]).unwrap()
    }

    fn curve(response: &str) -> Response {
        Response::new(&given(response))
    }

    #[test]
    //= test: RFC 3649 §5 response
    fn response_vectors() {
        // w, b, then a of each curve before it is raised to 1.
        let vectors = [
            (118.0, 0.44105, [2.0293, 2.0276, 2.0091, 2.0945]),
            (347.0, 0.38494, [4.0642, 4.0579, 4.0113, 4.1693]),
            (1000.0, 0.32988, [7.8785, 7.8599, 7.7522, 8.0337]),
            (1058.0, 0.32695, [8.1557, 8.1361, 8.0238, 8.3137]),
            (10_000.0, 0.21009, [29.7440, 29.6166, 29.0670, 29.9283]),
            (83_000.0, 0.1, [73.024, 72.5158, 70.8482, 72.5158]),
        ];
        for (i, name) in ["belogaev2016", "rfc3649", "rfc3649_table", "ns2"].into_iter().enumerate() {
            let c = curve(name);
            assert_eq!((c.increase(38.0), c.decrease(38.0)), (1.0, 0.5));
            for (w, b, a) in vectors {
                assert!((c.increase(w) - a[i]).abs() < 1e-3, "{name} a({w}) = {}", c.increase(w));
                // High_Window of belogaev2016 is a little larger, and so b.
                assert!((c.decrease(w) - b).abs() < if i == 0 { 3e-4 } else { 1e-5 }, "{name} b({w})");
            }
        }
        let c = curve("belogaev2016");
        assert!((c.exponent + 1.197_234).abs() < 1e-6 && (curve("rfc3649").exponent + 1.197_858).abs() < 1e-6);
        assert!((c.decrease(1000.0) - 0.329_97).abs() < 1e-5 && (c.decrease(83_000.0) - 0.100_21).abs() < 1e-5);
    }

    /// b as appendix B prints it, hundredths.
    #[rustfmt::skip]
    const PRINTED_B: [u32; 73] = [
        50, 44, 41, 38, 37, 35, 34, 33, 32, 31, 30, 29, 28, 28, 27, 27, 26, 26, 25, 25, 24, 24, 23,
        23, 22, 22, 22, 21, 21, 21, 20, 20, 20, 19, 19, 19, 19, 18, 18, 18, 17, 17, 17, 17, 16, 16,
        16, 16, 15, 15, 15, 15, 14, 14, 14, 14, 13, 13, 13, 13, 13, 12, 12, 12, 12, 11, 11, 11, 10,
        10, 10, 10, 9,
    ];

    /// RFC 3649 appendix B: a row wherever a(w) has grown by one since the row before; window, a, b.
    fn appendix_b() -> Vec<(u32, u32, f64)> {
        let c = curve("rfc3649_table");
        let mut last = 1.0;
        let mut rows = vec![(38, 1, 0.5)];
        for w in 38..95_000 {
            let a = c.increase(f64::from(w));
            if a > last + 1.0 {
                last = a;
                rows.push((w, a as u32, c.decrease(f64::from(w))));
            }
        }
        rows
    }

    #[test]
    //= test: RFC 3649 §5 response
    fn the_table_of_appendix_b_follows_from_the_curve() {
        let rows = appendix_b();
        assert_eq!(rows.len(), 73);
        assert_eq!((rows[72].0, rows[72].1), (94_717, 73));
        for (row, printed) in rows.iter().zip(PRINTED_B) {
            assert_eq!((row.2 * 100.0).round() as u32, printed, "{}", row.0);
        }
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!(*row, (rows[i].0, (256.0 * rows[i].2) as u16));
            assert_eq!(rows[i].1, i as u32 + 1);
        }
    }

    #[test]
    fn a_window_of_acknowledgments_adds_a() {
        let mut law = HighSpeed::new(&given("rfc3649"));
        testing::with_cx(1000, |cx| {
            let mut w = Window { cwnd: 1000.0, ssthresh: 2.0 };
            law.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            assert!((w.cwnd - 1_000.007_859_9).abs() < 1e-6, "{}", w.cwnd);
            for _ in 1..1000 {
                law.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            }
            assert!((w.cwnd - 1007.86).abs() < 0.05, "{}", w.cwnd);
            let w = Window { cwnd: 1000.0, ssthresh: 2.0 };
            assert!((law.reduce(cx, Signal::Loss { flight: 1_000_000 }, &w) - 670.12).abs() < 0.01);
        });
    }

    #[test]
    fn linux_looks_rows_up_in_congestion_avoidance_only() {
        let mut law = HighSpeedTable::default();
        testing::with_cx(1448, |cx| {
            let mut w = Window { cwnd: 1000.0, ssthresh: 2.0 };
            let signal = Signal::Loss { flight: 0 };
            assert_eq!(law.reduce(cx, signal, &w), 500.0);
            // Row 1058: 8 per acknowledgment, 125 of them for a segment.
            for _ in 0..125 {
                law.grow(cx, &testing::ack(2.0), &mut w, 2.0);
            }
            assert_eq!((w.cwnd, law.row), (1001.0, 7));
            assert_eq!(law.reduce(cx, signal, &w), f64::from(1001 - ((1001 * 83) >> 8)));
            for (cwnd, row) in [(30.0, 0), (38.0, 0), (39.0, 1), (118.0, 1), (119.0, 2), (1e6, 71), (89_053.0, 71)] {
                law.grow(cx, &testing::ack(1.0), &mut Window { cwnd, ssthresh: 2.0 }, 1.0);
                assert_eq!(law.row, row, "{cwnd}");
            }
        });
    }
}
