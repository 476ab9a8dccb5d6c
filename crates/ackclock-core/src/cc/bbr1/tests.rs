//! Vectors of BBRv1.

use super::settings::GAIN_UNIT;
use super::*;
use crate::cc::testing::with_cx;
use crate::cc::{RateSample, RttView};
use crate::params::Value;
use crate::time::Span;

const MSS: u64 = 1250;
/// 10 Mbit/s, bytes per second.
const RATE: u64 = 1_250_000;

fn bbr(given: &[(&str, Value)]) -> Bbr1 {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    Bbr1::new(&Params::new(PARAMS, &given).unwrap())
}

fn linux() -> Bbr1 {
    bbr(&[("variant", Value::Text("linux".into()))])
}

/// A flow of which each acknowledgment delivers two segments, at `rate` bytes per second, over an RTT of 40 ms.
struct Flow {
    delivered: u64,
    lost: u64,
    rate: u64,
    rtt: Span,
    app_limited: bool,
}

impl Flow {
    fn new() -> Flow {
        Flow { delivered: 0, lost: 0, rate: RATE, rtt: Span::from_millis(40), app_limited: false }
    }

    fn start(&mut self, b: &mut Bbr1, cx: &mut Cx<'_>) {
        cx.rtt = RttView { smoothed: self.rtt, min: self.rtt };
        b.start(cx, 10 * MSS);
    }

    /// One acknowledgment `step` after the last, with as much in flight as the window allows.
    fn ack(&mut self, b: &mut Bbr1, cx: &mut Cx<'_>, step: Span, lost: u64) {
        cx.now += step;
        self.delivered += 2 * MSS;
        self.lost += lost;
        (cx.delivered, cx.lost) = (self.delivered, self.lost);
        let volume = (self.rate as f64 * self.rtt.as_secs_f64()) as u64;
        // A gain below one drains the queue, another fills the window.
        let window = b.control().cwnd;
        cx.in_flight = if b.pacing_gain < GAIN_UNIT { volume.min(window) } else { window }.saturating_sub(2 * MSS);
        let rate = RateSample {
            delivered: volume,
            interval: self.rtt,
            prior_delivered: self.delivered.saturating_sub(volume),
            app_limited: self.app_limited,
            ..RateSample::default()
        };
        let ack = Ack {
            delivered: 2 * MSS,
            acked: 2 * MSS,
            lost,
            rtt: Some(self.rtt),
            rate: (volume <= self.delivered).then_some(rate),
            in_flight_before: cx.in_flight + 2 * MSS,
            departs: cx.now,
            ..Ack::default()
        };
        b.on_ack(cx, &ack);
    }

    fn acks(&mut self, b: &mut Bbr1, cx: &mut Cx<'_>, n: u64) {
        // Two segments per two serialisation times.
        (0..n).for_each(|_| self.ack(b, cx, Span(2 * MSS * 1_000_000_000 / self.rate), 0));
    }
}

fn rate_of(b: &Bbr1) -> u64 {
    match b.control().pacing {
        Pacing::Rate(rate) => rate,
        other => panic!("{other:?}"),
    }
}

/// IW 12500 bytes in 40 ms, times 2.885: 7.2125 Mbit/s; with the margin 7.1404.
#[test]
fn first_rate() {
    let margin = bbr(&[("pacing_margin", Value::Float(0.01))]);
    let seen: Vec<u64> = [bbr(&[]), margin, linux()]
        .into_iter()
        .map(|mut b| {
            with_cx(MSS as u32, |cx| Flow::new().start(&mut b, cx));
            8 * rate_of(&b)
        })
        .collect();
    // Fixed-point numbers: 1e-5 of the rate, with Linux's bandwidth in segments 1e-4. Its gain is 739/256.
    assert!(seen[0].abs_diff(7_212_500) < 100 && seen[1].abs_diff(7_140_375) < 100, "{seen:?}");
    assert!(seen[2].abs_diff(7_144_629) < 700, "{seen:?}");
}

#[test]
fn without_a_round_trip_time_the_first_rate_is_that_of_a_millisecond() {
    let mut b = bbr(&[]);
    with_cx(MSS as u32, |cx| b.start(cx, 10 * MSS));
    assert!((rate_of(&b) as f64 / (2.885 * 12_500.0 * 1000.0) - 1.0).abs() < 1e-4);
    assert_eq!(b.path.bdp(5, GAIN_UNIT), 12_500);
}

/// 10 Mbit/s and 40 ms: 50000 bytes, 40 segments; in PROBE_BW twice that and three quanta of two segments, in the
/// probing phase of Linux two more; the rate is 12.5 Mbit/s then, 12.375 with the margin.
#[test]
fn steady_state() {
    let variant = ("variant", Value::Text("linux".into()));
    let linux = bbr(&[variant, ("ack_aggregation", Value::Text("off".into()))]);
    for (mut b, windows, probe) in [(bbr(&[]), [86, 86], 12_500_000), (linux, [88, 86], 12_375_000)] {
        with_cx(MSS as u32, |cx| {
            let mut f = Flow::new();
            f.start(&mut b, cx);
            f.acks(&mut b, cx, 400);
            assert_eq!(b.path.bdp(b.path.bw(), GAIN_UNIT) * b.path.unit, 50_000);
            assert_eq!(b.mode, Mode::ProbeBw);
            let mut seen = vec![];
            for _ in 0..400 {
                f.acks(&mut b, cx, 1);
                let segments = b.control().cwnd / MSS;
                if !seen.contains(&(b.cycle, segments, rate_of(&b) * 8 / 1000)) {
                    seen.push((b.cycle, segments, rate_of(&b) * 8 / 1000));
                }
            }
            let probing: Vec<_> = seen.iter().filter(|s| s.0 == 0 && s.1 == windows[0]).collect();
            assert!(!probing.is_empty() && probing.iter().all(|s| s.2.abs_diff(probe / 1000) <= 2), "{seen:?}");
            assert!(seen.iter().any(|s| s.0 == 4 && s.1 == windows[1]), "{seen:?}");
        });
    }
}

/// Three rounds without a quarter more bandwidth say that the pipe is full; DRAIN paces at 1/2.885.
#[test]
fn startup_ends_with_the_growth() {
    let mut b = bbr(&[]);
    with_cx(MSS as u32, |cx| {
        let mut f = Flow::new();
        f.start(&mut b, cx);
        let mut full_after = None;
        while full_after.is_none() && b.rounds < 50 {
            f.acks(&mut b, cx, 1);
            if b.mode != Mode::Startup {
                full_after = Some((b.mode, b.rounds, rate_of(&b) * 8));
            }
        }
        // The first valid round sets the baseline; three more do not raise it.
        let (mode, rounds, rate) = full_after.unwrap();
        assert_eq!((mode, rounds), (Mode::Drain, 4));
        assert!(rate.abs_diff(3_466_204) < 500, "{rate}");
    });
}

#[test]
fn application_limited_rounds_do_not_fill_the_pipe() {
    let mut b = bbr(&[]);
    with_cx(MSS as u32, |cx| {
        let mut f = Flow { app_limited: true, ..Flow::new() };
        f.start(&mut b, cx);
        f.acks(&mut b, cx, 400);
        assert_eq!((b.mode, b.full), (Mode::Startup, false));
        f.rate = RATE / 2;
        f.acks(&mut b, cx, 400);
        assert_eq!(b.path.bw(), bandwidth(50_000, 40_000), "lower samples are no estimate");
    });
}

#[test]
fn recovery_conserves_packets_then_restores_the_window() {
    let mut b = linux();
    with_cx(MSS as u32, |cx| {
        let mut f = Flow::new();
        f.start(&mut b, cx);
        f.acks(&mut b, cx, 300);
        let before = b.control().cwnd;
        b.on_congestion(cx, Signal::Loss { flight: before });
        cx.phase = Phase::Recovery;
        b.on_phase(cx);
        f.ack(&mut b, cx, Span::from_millis(2), MSS);
        assert_eq!(b.control().cwnd, cx.in_flight + 2 * MSS, "what is delivered may be sent");
        cx.phase = Phase::Open;
        f.ack(&mut b, cx, Span::from_millis(2), 0);
        assert!(b.control().cwnd >= before, "{} {before}", b.control().cwnd);
    });
}

#[test]
fn timeout_leaves_one_segment_and_the_model() {
    let mut b = bbr(&[]);
    with_cx(MSS as u32, |cx| {
        let mut f = Flow::new();
        f.start(&mut b, cx);
        f.acks(&mut b, cx, 300);
        let bw = b.path.bw();
        b.on_congestion(cx, Signal::Timeout { flight: 0, repeated: false });
        assert_eq!((b.control().cwnd, b.path.bw()), (MSS, bw));
    });
}

/// PROBE_RTT: ten seconds after the smallest RTT, four segments, for 200 ms at least.
#[test]
fn probe_rtt_empties_the_path() {
    let mut b = linux();
    with_cx(MSS as u32, |cx| {
        let mut f = Flow::new();
        f.start(&mut b, cx);
        f.rtt = Span::from_millis(50);
        let (mut begin, mut end) = (None, None);
        while cx.now < Time::ZERO + Span::from_secs(11) {
            f.acks(&mut b, cx, 1);
            if b.mode == Mode::ProbeRtt {
                assert!(b.limits_itself() && b.control().cwnd <= 4 * MSS);
                begin = begin.or(Some(cx.now));
            } else if begin.is_some() {
                end = end.or(Some(cx.now));
            }
        }
        let ms = |t: Option<Time>| t.unwrap().0 / 1_000_000;
        assert!((10_001..10_010).contains(&ms(begin)), "{begin:?}");
        assert!((201..250).contains(&(ms(end) - ms(begin))), "{begin:?} {end:?}");
        assert_eq!(b.path.min_rtt_us, 50_000, "the old minimum is forgotten");
    });
}

/// Twice four rounds with a quarter of the data lost at the same rate: a policer. Its rate is in force for 48 rounds.
#[test]
fn policers_are_found() {
    let mut b = linux();
    with_cx(MSS as u32, |cx| {
        let mut f = Flow::new();
        f.start(&mut b, cx);
        f.acks(&mut b, cx, 300);
        let mut rounds = vec![];
        for i in 0..4000 {
            let lost = if i % 4 == 0 && b.path.policed_bw.is_none() { 2 * MSS } else { 0 };
            let before = b.path.policed_bw;
            f.ack(&mut b, cx, Span(2 * MSS * 1_000_000_000 / RATE), lost);
            if b.path.policed_bw.is_some() != before.is_some() {
                rounds.push(b.rounds);
            }
        }
        assert!(rounds.len() >= 2, "{rounds:?}");
        assert_eq!(rounds[1] - rounds[0], 48);
    });
}

/// A silence and then everything at once: the excess over the expected is added to the window.
#[test]
fn aggregated_acknowledgments_widen_the_window() {
    let s = linux().s;
    let mut a = path::Aggregation::default();
    let bw = bandwidth(1001, 1_000_000);
    // One segment per millisecond is expected; four come together every four milliseconds.
    for n in 1..40u64 {
        a.on_ack(&s, 4000 * n, n % 10 == 0, 4, bw, 100);
    }
    assert_eq!(a.excess(), 4);
}
