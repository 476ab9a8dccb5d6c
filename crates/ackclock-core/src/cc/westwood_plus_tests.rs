//! Westwood+ in all its forms: filters, samples and what they leave out.

use super::*;
use crate::cc::testing;
use crate::params::Value;

fn params(variant: &str) -> Params {
    Params::new(PARAMS, &[("variant".to_owned(), Value::Text(variant.to_owned()))]).unwrap()
}

#[test]
fn filter_vectors() {
    for (variant, want) in [("paper", [100.0, 190.0, 271.0, 343.9, 409.51]), ("ns3", [50.0, 145.0, 230.5, 0.0, 0.0])] {
        let mut law = WestwoodPlus::new(&params(variant));
        for want in want.into_iter().filter(|w| *w > 0.0) {
            law.filter(1000.0);
            assert!((law.rate - want).abs() < 1e-9, "{variant} {} {want}", law.rate);
        }
    }
    // 15.625, 42.969, 78.857, 120.728, 166.523 of Linux's filter in whole numbers, without the first sample's rule;
    // a thousand times the rate keeps three digits.
    let mut law = WestwoodPlusInteger::new(&params("linux"));
    for want in [15_625, 42_969, 78_857, 120_728, 166_523] {
        law.smooth(1_000_000);
        assert!(law.twice.abs_diff(want) <= 4, "{} {want}", law.twice);
    }
    let mut law = WestwoodPlusInteger::new(&params("linux"));
    law.filter(1000);
    assert_eq!((law.once, law.twice), (1000, 1000));
}

#[test]
fn product_vector() {
    // 10 Mbit/s, 100 ms, 1250 bytes.
    testing::with_cx(1250, |cx| {
        cx.rtt.min = Span::from_millis(100);
        let mut law = WestwoodPlus::new(&params("paper"));
        law.rate = 1_250_000.0;
        let w = Window { cwnd: 150.0, ssthresh: 2.0 };
        assert_eq!(law.reduce(cx, Signal::Loss { flight: 0 }, &w), 100.0);
        let mut law = WestwoodPlusInteger::new(&params("linux"));
        (law.twice, law.rtt_min) = (1250, 100);
        let mut w = Window { cwnd: 151.0, ssthresh: 2.0 };
        assert_eq!(law.reduce(cx, Signal::Loss { flight: 0 }, &w), 75.0);
        law.recovered(cx, &mut w);
        assert_eq!(w, Window { cwnd: 100.0, ssthresh: 100.0 });
        assert_eq!(law.reduce(cx, Signal::Timeout { flight: 0, repeated: false }, &w), 100.0);
        assert!(law.renew);
    });
}

/// Linux 6.12.117's order: the round trip first. After a timeout the smallest one is that of the next acknowledgment
/// and not of the one before, which waited in the full queue.
#[test]
fn the_round_trip_counts_with_its_acknowledgment() {
    testing::with_cx(1000, |cx| {
        let mut law = WestwoodPlusInteger::new(&params("linux"));
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        law.start(cx, &mut w);
        let mut answer = |law: &mut WestwoodPlusInteger, at: u64, rtt: u64| {
            cx.now = Time(at * 1_000_000);
            let rtt = Some(Span::from_millis(rtt));
            law.observe(cx, &Ack { acked: 1000, delivered: 1000, rtt, plain: true, ..Ack::default() }, &mut w);
        };
        answer(&mut law, 60, 55);
        // 60 ticks are more than the 55 of this very acknowledgment: the first sample ends.
        assert_eq!((law.rtt_min, law.begin), (55, 60));
        answer(&mut law, 112, 51);
        assert_eq!((law.rtt_min, law.begin), (51, 112));
        answer(&mut law, 120, 90);
        law.renew = true;
        answer(&mut law, 130, 60);
        assert_eq!(law.rtt_min, 60);
    });
}

/// Segments of 1000 bytes acknowledged every 2 ms, RTT 20 ms, for a second.
fn fed(law: &mut dyn Avoidance) {
    testing::with_cx(1000, |cx| {
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        law.start(cx, &mut w);
        for k in 1..=500 {
            cx.now = Time(k * 2_000_000);
            let rtt = Some(Span::from_millis(20));
            law.observe(cx, &Ack { acked: 1000, delivered: 1000, rtt, plain: true, ..Ack::default() }, &mut w);
        }
    });
}

#[test]
fn samples_cover_a_round_trip() {
    let mut law = WestwoodPlus::new(&params("paper"));
    fed(&mut law);
    // 50 samples of 500 kB/s.
    assert!((law.rate / 500_000.0 - 1.0).abs() < 0.01, "{}", law.rate);
    let mut law = WestwoodPlus::new(&params("ns3"));
    fed(&mut law);
    // Its timer's time holds ten acknowledgments, one after its begin and one at its end on either side.
    assert!((law.rate / 500_000.0 - 1.0).abs() < 0.03, "{}", law.rate);
    // Samples of 52 ms, the first of which misses an acknowledgment: 25 segments in 52 ticks are 480.
    let mut law = WestwoodPlusInteger::new(&params("linux"));
    fed(&mut law);
    assert!((470..=500).contains(&law.twice), "{}", law.twice);
    assert_eq!(law.rtt_min, 20);
}

/// A request comes after a pause, with nothing outstanding: Linux takes it for a duplicate of one segment and ends
/// the sample there, so that the pause is not in the first sample of the answer.
#[test]
fn a_request_ends_the_sample_in_which_nothing_was_outstanding() {
    let mut law = WestwoodPlusInteger::new(&params("linux"));
    assert!(law.needs().observe_idle);
    testing::with_cx(1000, |cx| {
        cx.rtt.min = Span::from_millis(40);
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        let mut at = |law: &mut WestwoodPlusInteger, ms: u64, acked: u64, plain: bool| {
            cx.now = Time(ms * 1_000_000);
            let rtt = (acked > 0).then_some(Span::from_millis(40));
            law.observe(cx, &Ack { acked, rtt, plain, ..Ack::default() }, &mut w);
        };
        // 1000 bytes a millisecond, of which the first are not counted: 49 000 in the 51 ms of the first sample.
        (1..=52).for_each(|ms| at(&mut law, ms, 1000, true));
        assert_eq!((law.once, law.twice, law.begin, law.bytes), (960, 960, 51, 2000));
        // 190 ms after the last acknowledgment: 2000 bytes in 191 ms are 10 a millisecond. One segment counts anew.
        at(&mut law, 242, 0, false);
        assert_eq!((law.once, law.twice, law.begin, law.bytes), (841, 945, 242, 1000));
        // A pure duplicate only ends a sample.
        at(&mut law, 243, 0, true);
        assert_eq!((law.begin, law.bytes), (242, 1000));
    });
}
