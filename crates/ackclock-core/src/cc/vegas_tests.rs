//! Vectors of Vegas, and its laws round by round.

use super::*;
use crate::cc::testing;
use crate::params::Value;
use crate::slowstart;

fn vegas(given: &[(&str, Value)]) -> Vegas {
    let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
    Vegas::new(&Params::new(PARAMS, &given).unwrap())
}

fn form(name: &str) -> (&str, Value) {
    ("variant", Value::Text(name.into()))
}

/// The window after a round of four samples of `rtt_us` that began with `w`, the base being `base_us`.
fn after_round(law: &mut Vegas, w: Window, base_us: u64, rtt_us: u64) -> Window {
    let mut w = w;
    let mut opening = slowstart::build("standard", &[("abc_limit".into(), Value::Int(0))]).unwrap();
    testing::with_cx(1000, |cx| {
        law.rounds.sample(if law.form == Form::Linux { base_us } else { base_us * 1000 });
        law.rounds.begin(0);
        for k in 1..=4 {
            let rtt = Some(Span::from_micros(rtt_us - u64::from(law.form == Form::Linux)));
            let ack = Ack { rtt, una: if k < 4 { 0 } else { 1 }, nxt: 10, ..testing::ack(1.0) };
            law.observe(cx, &ack, &mut w);
            if k < 4 {
                continue;
            }
            if w.in_slow_start() {
                law.slow_start(cx, &ack, &mut w, 1.0, opening.as_mut());
            } else {
                law.grow(cx, &ack, &mut w, 1.0);
            }
        }
    });
    w
}

const AVOIDING: Window = Window { cwnd: 20.0, ssthresh: 10.0 };

#[test]
fn diff_vectors() {
    // w 20, base 100 ms: original's and Linux's difference.
    let (paper, linux) = (vegas(&[]), vegas(&[form("linux")]));
    for (rtt, theirs, kernel) in [(110.0, 1.818, 2.0), (125.0, 4.0, 5.0), (130.0, 4.615, 6.0)] {
        assert!((paper.diff(20.0, 100.0, rtt) - theirs).abs() < 1e-3);
        assert_eq!(linux.diff(20.0, 100.0, rtt), kernel);
    }
    assert_eq!(vegas(&[form("ns3")]).diff(20.0, 100.0, 110.0), 2.0);
    assert_eq!(vegas(&[form("ns2")]).diff(20.0, 100.0, 110.0), 2.0);
}

#[test]
fn one_segment_per_round() {
    // alpha 1, beta 3.
    for (rtt, cwnd) in [(110_000, 20.0), (125_000, 19.0), (100_000, 21.0)] {
        assert_eq!(after_round(&mut vegas(&[]), AVOIDING, 100_000, rtt).cwnd, cwnd);
    }
    // alpha 2, beta 4: diffs 2, 5, 0.
    for (rtt, cwnd) in [(110_000, 20.0), (125_000, 19.0), (100_000, 21.0)] {
        assert_eq!(after_round(&mut vegas(&[form("linux")]), AVOIDING, 100_000, rtt).cwnd, cwnd);
    }
    let eager = &[("alpha", Value::Float(5.0)), ("beta", Value::Float(7.0))];
    assert_eq!(after_round(&mut vegas(eager), AVOIDING, 100_000, 125_000).cwnd, 21.0);
}

#[test]
fn slow_start_ends_at_the_actual_rate() {
    // Targets 18.18 at 110 ms, 16 at 125 ms: less the fraction, plus one.
    let opening = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
    let w = after_round(&mut vegas(&[form("linux")]), opening, 100_000, 125_000);
    assert_eq!(w, Window { cwnd: 17.0, ssthresh: 17.0 });
    let w = after_round(&mut vegas(&[form("ns3")]), opening, 100_000, 125_000);
    assert_eq!(w, Window { cwnd: 17.0, ssthresh: 16.0 });
    let w = after_round(&mut vegas(&[form("ns2")]), opening, 100_000, 125_000);
    assert_eq!(w, Window { cwnd: 17.5, ssthresh: 2.0 });
    // A difference of 1.0 is not above gamma.
    let w = after_round(&mut vegas(&[form("linux")]), opening, 100_000, 109_900);
    assert_eq!(w, Window { cwnd: 21.0, ssthresh: f64::INFINITY });
}

#[test]
fn the_original_doubles_every_other_round() {
    let opening = Window { cwnd: 20.0, ssthresh: f64::INFINITY };
    let mut law = vegas(&[]);
    let grown: Vec<f64> = (0..4).map(|_| after_round(&mut law, opening, 100_000, 100_000).cwnd).collect();
    assert_eq!(grown, [21.0, 20.0, 21.0, 20.0]);
    // A comparison counts when the round before held the window.
    assert_eq!(after_round(&mut law, opening, 100_000, 125_000).cwnd, 17.0);
}

#[test]
fn few_samples_mean_reno() {
    let mut law = vegas(&[("min_samples", Value::Int(5)), form("linux")]);
    assert_eq!(after_round(&mut law, AVOIDING, 100_000, 200_000).cwnd, 20.0);
    assert_eq!(*law.reno.count(), 1);
}

#[test]
fn reductions() {
    let w = |cwnd| Window { cwnd, ssthresh: 12.0 };
    let (loss, timeout) = (Signal::Loss { flight: 0 }, Signal::Timeout { flight: 0, repeated: false });
    testing::with_cx(1000, |cx| {
        let reduced = |name: &str, signal, cwnd| {
            let mut law = vegas(&[form(name), ("base", Value::Text("cwnd".into()))]);
            law.reduce(cx, signal, &w(cwnd))
        };
        assert_eq!([reduced("paper", loss, 20.0), reduced("paper", loss, 3.0)], [15.0, 2.0]);
        assert_eq!([reduced("paper", timeout, 20.0), reduced("linux", loss, 21.0)], [10.0, 10.0]);
        assert_eq!([reduced("ns3", loss, 20.0), reduced("ns3", loss, 8.0)], [12.0, 7.0]);
    });
}

#[test]
fn linux_forgets_the_base_when_idle() {
    for (name, base) in [("linux", u64::MAX), ("paper", 100_000_000)] {
        let mut law = vegas(&[form(name)]);
        law.rounds.sample(if name == "linux" { 100_000 } else { 100_000_000 });
        testing::with_cx(1000, |cx| law.resume(cx, Span::from_secs(5)));
        assert_eq!((law.rounds.base(), law.rounds.count()), (base, 0));
    }
}
