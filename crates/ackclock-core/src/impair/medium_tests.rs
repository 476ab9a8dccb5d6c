//! Tests of the medium.

use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn data(len: u32) -> Parcel {
    Parcel { data: true, len, ..Parcel::default() }
}

fn medium() -> Medium {
    Medium::new(11, 0, "link test")
}

fn loss(p: f64) -> Loss {
    Loss::bernoulli(p, Stream::named(11, 0, "link test loss")).unwrap()
}

fn exponential(ms: u64) -> Jitter {
    Jitter::exponential(Span::from_millis(ms))
}

fn reorder(probability: f64, ms: u64) -> Reorder {
    Reorder { probability, extra: Span::from_millis(ms) }
}

/// Fates of `n` packets, one per 100 us.
fn fates(mut m: Medium, n: u64) -> Vec<Fate> {
    (0..n).map(|k| m.fate(&data(1500), Time(k * 100_000))).collect()
}

/// When packets of [`fates`] come out.
fn exits(fates: &[Fate]) -> Vec<u64> {
    fates.iter().enumerate().map(|(k, f)| k as u64 * 100_000 + f.extra.0).collect()
}

#[test]
fn an_ideal_medium_does_nothing() {
    assert!(medium().is_ideal() && medium().keeps_order());
    assert!(fates(medium(), 100).iter().all(|f| *f == Fate::default()));
}

#[test]
fn switching_one_on_does_not_change_the_others() {
    let n = 5000;
    let all = medium().with_loss(loss(0.1)).with_jitter(exponential(3), true);
    let all = fates(all.with_reorder(reorder(0.05, 20)).unwrap().with_duplicate(0.2).unwrap(), n);
    let only_loss = fates(medium().with_loss(loss(0.1)), n);
    let only_jitter = fates(medium().with_jitter(exponential(3), true), n);
    let only_reorder = fates(medium().with_reorder(reorder(0.05, 20)).unwrap(), n);
    let only_twice = fates(medium().with_duplicate(0.2).unwrap(), n);
    for k in 0..n as usize {
        assert_eq!(all[k].lost, only_loss[k].lost);
        assert_eq!(all[k].extra, only_jitter[k].extra + only_reorder[k].extra);
        assert_eq!(all[k].duplicate, only_twice[k].duplicate && !only_loss[k].lost);
    }
    for (list, share) in [(&only_loss, 0.1), (&only_reorder, 0.05), (&only_twice, 0.2)] {
        let hit = list.iter().filter(|f| **f != Fate::default()).count() as f64 / n as f64;
        assert!((hit - share).abs() < 4.0 * (share * (1.0 - share) / n as f64).sqrt(), "{hit} {share}");
    }
}

#[test]
fn jitter_reorders_unless_told_not_to() {
    let n = 2000;
    let loose = fates(medium().with_jitter(exponential(3), false), n);
    let ordered = fates(medium().with_jitter(exponential(3), true), n);
    assert!(exits(&loose).windows(2).any(|w| w[0] > w[1]));
    // Held back no longer than the latest before it: the running maximum.
    let mut latest = 0;
    for (got, free) in exits(&ordered).into_iter().zip(exits(&loose)) {
        latest = latest.max(free);
        assert_eq!(got, latest);
    }
}

#[test]
fn whether_order_is_kept_is_known_ahead() {
    let jitter = || exponential(1);
    assert!(medium().with_jitter(jitter(), true).keeps_order());
    assert!(!medium().with_jitter(jitter(), false).keeps_order());
    assert!(!medium().with_reorder(reorder(0.1, 1)).unwrap().keeps_order());
    let later = |c: Change| medium().with_events(vec![(Time(5), c)]).unwrap();
    assert!(later(Change::Jitter(jitter())).keeps_order() && later(Change::Delay(Span(3))).keeps_order());
    assert!(!later(Change::Reorder(reorder(0.1, 1))).keeps_order() && !later(Change::Loss(loss(0.1))).is_ideal());
    let loose = medium().with_jitter(Jitter::none(), false);
    assert!(loose.keeps_order() && !loose.with_events(vec![(Time(5), Change::Delay(Span(3)))]).unwrap().keeps_order());
}

#[test]
fn changes_apply_from_their_instant_on() {
    let events = vec![
        (Time(3 * MS), Change::Delay(Span(7))),
        (Time(MS), Change::Loss(Loss::Every { n: 1, count: 0 })),
        (Time(2 * MS), Change::Loss(Loss::None)),
        (Time(2 * MS), Change::Delay(Span(9))),
        (Time(2 * MS), Change::Delay(Span(5))),
        (Time(4 * MS), Change::Duplicate(1.0)),
        (Time(4 * MS), Change::Jitter(Jitter::uniform(Span(40), Span(40)).unwrap())),
        (Time(4 * MS), Change::Reorder(reorder(1.0, 1))),
    ];
    let mut m = medium().with_events(events).unwrap();
    let mut at = |t: u64| m.fate(&data(1500), Time(t));
    let fate = |lost, extra, duplicate| Fate { lost, extra: Span(extra), duplicate };
    assert_eq!(at(MS - 1), fate(false, 0, false));
    assert_eq!(at(MS), fate(true, 0, false));
    assert_eq!(at(2 * MS), fate(false, 5, false));
    // Several at once after a long pause.
    assert_eq!(at(9 * MS), fate(false, 47 + MS, true));
}

#[test]
fn a_shorter_delay_does_not_let_packets_overtake() {
    let events = vec![(Time(5), Change::Delay(Span(2)))];
    let mut m = medium().with_delay(Span(100)).with_events(events).unwrap();
    let exits: Vec<u64> = [0, 4, 5, 50, 103].iter().map(|&t| t + m.fate(&data(1), Time(t)).extra.0).collect();
    assert_eq!(exits, [100, 104, 104, 104, 105]);
}

#[test]
fn impossible_probabilities_are_refused() {
    assert!(medium().with_reorder(reorder(1.5, 1)).is_err());
    assert!(medium().with_duplicate(-0.1).is_err() && medium().with_duplicate(f64::NAN).is_err());
    assert!(medium().with_events(vec![(Time(1), Change::Duplicate(2.0))]).is_err());
    assert!(medium().with_events(vec![(Time(1), Change::Reorder(reorder(-1.0, 1)))]).is_err());
}

proptest! {
    /// Whatever the jitter, delay changes, losses and gaps: in order stays in order.
    #[test]
    fn order_is_kept(
        seed in 0u64..1000,
        gaps in prop::collection::vec(0u64..5_000_000, 1..200),
        changes in prop::collection::vec((0u64..300_000_000, 0u64..20), 0..5),
    ) {
        let events = changes.iter().enumerate().map(|(i, &(t, ms))| (Time(t), match i % 2 {
            0 => Change::Delay(Span::from_millis(ms)),
            _ => Change::Jitter(Jitter::normal(Span::from_millis(ms), Span::from_millis(ms))),
        }));
        let jitter = Jitter::pareto(Span::from_micros(100), 1.2).unwrap();
        let lossy = Loss::bernoulli(0.1, Stream::named(seed, 0, "loss")).unwrap();
        let m = Medium::new(seed, 0, "link").with_loss(lossy).with_jitter(jitter, true);
        let mut m = m.with_duplicate(0.1).unwrap().with_events(events.collect()).unwrap();
        prop_assert!(m.keeps_order());
        let (mut now, mut last) = (0, Time::ZERO);
        for gap in gaps {
            now += gap;
            let exit = Time(now) + m.fate(&data(1500), Time(now)).extra;
            prop_assert!(exit >= last && exit >= Time(now));
            last = exit;
        }
    }
}
