//! Every form of CUBIC: time in which nothing is in flight is none of the epoch (RFC 9438 §4.2 and §5.8).

use super::*;
use crate::cc::testing;
use crate::params::Value;

const LOSS: Signal = Signal::Loss { flight: 1_000_000 };
const FORMS: [&str; 5] = ["rfc9438", "rfc8312", "cubic_2007", "linux", "ns3"];

fn law(variant: &str) -> Box<dyn Avoidance> {
    let given = [("variant".to_owned(), Value::Text(variant.to_owned()))];
    match (ENTRY.builder, Params::new(PARAMS, &given).unwrap()) {
        (Builder::Law(build), p) => build(&p),
        _ => unreachable!(),
    }
}

/// A window of 1000 segments is lost. Then come `rounds` of an acknowledgment of ten segments every millisecond for a
/// tenth of a second, of which `limited` find the window used, and `pause` after each in which nothing is in flight.
/// The windows at the ends of the rounds.
fn after(form: &str, rounds: u64, limited: u64, pause: Span) -> Vec<f64> {
    let mut law = law(form);
    testing::with_cx(1000, |cx| {
        cx.now = Time(5_000_000_000);
        cx.rtt.smoothed = Span::from_millis(100);
        let mut w = Window { cwnd: 1000.0, ssthresh: 1000.0 };
        w.cwnd = law.reduce(cx, LOSS, &w);
        w.ssthresh = w.cwnd;
        (0..rounds)
            .map(|_| {
                law.transmit_start(cx, pause);
                for n in 0..100 {
                    cx.now += Span::from_millis(1);
                    let ack = Ack { window_limited: n < limited, ..testing::ack(10.0) };
                    if ack.window_limited || law.validates_itself() {
                        law.grow(cx, &ack, &mut w, 10.0);
                    }
                }
                cx.now += pause;
                w.cwnd
            })
            .collect()
    })
}

#[test]
//= test: RFC 9438 §5.8 idle
fn a_pause_is_no_time_of_the_epoch() {
    for form in FORMS {
        let busy = after(form, 40, 100, Span::ZERO);
        assert!(busy[39] > busy[0] + 50.0, "{form}: {busy:?}");
        for ms in [190, 5000, 300_000] {
            // Linux looks at its clock every 31 ms, but for a pause; its window is whole.
            let most = if form == "linux" { 2.0 } else { 1e-6 };
            let paused = after(form, 40, 100, Span::from_millis(ms));
            for (round, (a, b)) in busy.iter().zip(&paused).enumerate() {
                assert!((a - b).abs() <= most, "{form}, pauses of {ms} ms: {b} instead of {a} in round {round}");
            }
        }
    }
}

/// RFC 9438 §5.8: nor is time in which the application held the sender back, even if something was always in flight.
#[test]
//= test: RFC 9438 §5.8 idle
fn use_of_a_part_of_the_window_is_no_time_of_the_epoch() {
    for form in &FORMS[..3] {
        let (all, half) = (after(form, 20, 100, Span::ZERO), after(form, 40, 50, Span::ZERO));
        for (a, b) in (0..20).map(|n| (all[n], half[2 * n + 1])) {
            assert!((a / b - 1.0).abs() < 0.005, "{form}: {b} instead of {a}");
        }
    }
}

#[test]
fn the_epoch_does_not_begin_in_the_future() {
    for form in FORMS {
        let mut law = law(form);
        testing::with_cx(1000, |cx| {
            cx.now = Time(5_000_000_000);
            let mut w = Window { cwnd: 1000.0, ssthresh: 1000.0 };
            w.cwnd = law.reduce(cx, LOSS, &w);
            law.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            // Nothing had left for longer than the epoch has lasted.
            for _ in 0..3 {
                law.transmit_start(cx, Span::from_secs(1));
            }
            cx.now += Span::from_millis(40);
            let before = w.cwnd;
            law.grow(cx, &testing::ack(1.0), &mut w, 1.0);
            assert!(w.cwnd - before <= 1.0, "{form}");
        });
    }
}
