//! Tests of the loss processes.

use super::*;

fn parcel(flow: u32, data: bool, len: u32) -> Parcel {
    Parcel { flow, data, len, ..Parcel::default() }
}

#[test]
fn bernoulli_loses_its_share() {
    let mut l = Loss::Bernoulli { p: 0.05, rng: Stream::named(1, 0, "loss") };
    let n = 200_000;
    let lost = (0..n).filter(|_| l.strikes(&parcel(0, true, 1500))).count() as f64;
    // Four standard deviations of a binomial with p = 0.05.
    assert!((lost / f64::from(n) - 0.05).abs() < 4.0 * (0.05f64 * 0.95 / f64::from(n)).sqrt());
}

#[test]
fn every_nth_is_lost() {
    let mut l = Loss::Every { n: 3, count: 0 };
    let lost: Vec<bool> = (0..7).map(|_| l.strikes(&parcel(0, true, 1500))).collect();
    assert_eq!(lost, [false, false, true, false, false, true, false]);
}

#[test]
fn scripts_count_data_segments_of_their_flow() {
    let mut l = Loss::scripted(vec![ScriptedDrop { flow: 1, nth: 2 }]);
    let packets = [(1, false), (0, true), (1, true), (0, true), (1, true), (1, true)];
    let lost: Vec<bool> = packets.iter().map(|&(f, d)| l.strikes(&parcel(f, d, 1500))).collect();
    assert_eq!(lost, [false, false, false, false, true, false]);
}

const MANY: u32 = 400_000;

fn gilbert(p: f64, r: f64, h: f64, k: f64, name: &str) -> Loss {
    Loss::gilbert_elliott(p, r, h, k, Stream::named(5, 0, name)).unwrap()
}

/// Standard error of the mean of `n` steps of a chain with bad share `b` and second eigenvalue `1 - p - r`.
fn chain_error(p: f64, r: f64, n: u32) -> f64 {
    let (b, eigenvalue) = (p / (p + r), 1.0 - p - r);
    (b * (1.0 - b) * (1.0 + eigenvalue) / (1.0 - eigenvalue) / f64::from(n)).sqrt()
}

#[test]
fn gilbert_elliott_loses_its_share_in_bursts() {
    // p .01, r .3, all lost in the bad state, none in the good one: loss .0322581, mean burst 3.3333.
    let (p, r) = (0.01, 0.3);
    let mut l = gilbert(p, r, 0.0, 1.0, "loss");
    let lost: Vec<bool> = (0..MANY).map(|_| l.strikes(&parcel(0, true, 1500))).collect();
    let share = lost.iter().filter(|&&x| x).count() as f64 / f64::from(MANY);
    assert!((share - 0.032_258_1).abs() < 4.0 * chain_error(p, r, MANY), "{share}");
    let bursts: Vec<usize> = lost.split(|&x| !x).map(<[bool]>::len).filter(|&n| n > 0).collect();
    let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
    // Geometric lengths: variance (1 - r) / r^2.
    let error = ((1.0 - r) / (r * r) / bursts.len() as f64).sqrt();
    assert!((mean - 1.0 / r).abs() < 4.0 * error, "{mean}");
    let Loss::GilbertElliott(channel) = l else { panic!() };
    assert!((channel.rate() - 0.032_258_064_516).abs() < 1e-11);
}

#[test]
fn gilbert_elliott_loses_in_both_states() {
    let (p, r, h, k) = (0.2, 0.1, 0.5, 0.9);
    let mut l = gilbert(p, r, h, k, "both");
    let share = (0..MANY).filter(|_| l.strikes(&parcel(0, true, 1500))).count() as f64 / f64::from(MANY);
    let expected = (1.0 - k) * r / (p + r) + (1.0 - h) * p / (p + r);
    // The noise of the chain, scaled by the difference between the states, and that of the draws.
    let error = (0.4 * chain_error(p, r, MANY)).hypot((expected * (1.0 - expected) / f64::from(MANY)).sqrt());
    assert!((share - expected).abs() < 4.0 * error, "{share} {expected}");
}

#[test]
fn the_first_state_is_stationary() {
    let (n, b) = (20_000u32, 0.25);
    let bad = |k: u32| gilbert(0.01, 0.03, 0.0, 1.0, &format!("start {k}")).strikes(&parcel(0, true, 1500));
    let share = (0..n).filter(|&k| bad(k)).count() as f64 / f64::from(n);
    assert!((share - b).abs() < 4.0 * (b * (1.0 - b) / f64::from(n)).sqrt(), "{share}");
    // A chain that never moves stays in its first state, the good one.
    assert!((0..1000).all(|_| !gilbert(0.0, 0.0, 0.0, 1.0, "still").strikes(&parcel(0, true, 1500))));
}

#[test]
fn bit_errors_lose_long_packets_more_often() {
    let ber = 1e-5;
    let mut l = Loss::bit_errors(ber, Stream::named(1, 0, "bits")).unwrap();
    let mut lost = [0u32; 2];
    for _ in 0..MANY {
        lost[0] += u32::from(l.strikes(&parcel(0, true, 1500)));
        lost[1] += u32::from(l.strikes(&parcel(0, true, 40)));
    }
    for (lost, bits) in lost.into_iter().zip([12_000, 320]) {
        let p = 1.0 - (1.0f64 - ber).powi(bits);
        let error = (p * (1.0 - p) / f64::from(MANY)).sqrt();
        assert!((f64::from(lost) / f64::from(MANY) - p).abs() < 4.0 * error, "{bits} bits: {lost}");
    }
    let mut all = Loss::bit_errors(1.0, Stream::named(1, 0, "bits")).unwrap();
    let mut none = Loss::bit_errors(0.0, Stream::named(1, 0, "bits")).unwrap();
    assert!((1..1000).all(|n| all.strikes(&parcel(0, true, n)) && !none.strikes(&parcel(0, true, n))));
}

#[test]
fn impossible_probabilities_are_refused() {
    let rng = || Stream::named(1, 0, "loss");
    let error = Loss::bernoulli(1.5, rng()).unwrap_err().to_string();
    assert_eq!(error, "'p' is 1.5, outside 0..1");
    assert!(Loss::bit_errors(f64::NAN, rng()).is_err());
    for bad in [(-0.1, 0.5, 0.0, 1.0), (0.5, 1.1, 0.0, 1.0), (0.5, 0.5, 2.0, 1.0), (0.5, 0.5, 0.0, f64::NAN)] {
        assert!(Loss::gilbert_elliott(bad.0, bad.1, bad.2, bad.3, rng()).is_err());
    }
}
