//! The order of WFQ, WF2Q and SCFQ, decided by exact fractions.
//!
//! WFQ and WF2Q are checked against the fluid system itself: the flows that have something left share the link by their
//! weights, step by step from one arrival or departure to the next. Virtual time does not occur, so its bookkeeping is
//! under test. SCFQ has tags by definition.

use super::world::{Case, Sent, cases, streams};
use std::cmp::Ordering;

/// A fraction in lowest terms, the denominator above 0. Overflow panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(n: i128, d: i128) -> Ratio {
        let (mut a, mut b) = (n.abs(), d);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Ratio(n / a.max(1), d / a.max(1))
    }

    fn whole(n: u64) -> Ratio {
        Ratio(i128::from(n), 1)
    }

    fn plus(self, other: Ratio) -> Ratio {
        let product = |a: i128, b: i128| a.checked_mul(b).expect("cases must be smaller");
        let sum = product(self.0, other.1).checked_add(product(other.0, self.1)).expect("cases must be smaller");
        Ratio::new(sum, product(self.1, other.1))
    }

    fn minus(self, other: Ratio) -> Ratio {
        self.plus(Ratio(-other.0, other.1))
    }

    /// Times `n` over `d`.
    fn times(self, n: u32, d: u32) -> Ratio {
        // What they have in common goes first, so that less overflows.
        let (a, b) = (Ratio::new(self.0, i128::from(d)), Ratio::new(i128::from(n), self.1));
        Ratio::new(a.0.checked_mul(b.0).expect("cases must be smaller"), a.1.checked_mul(b.1).expect("smaller"))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        self.minus(*other).0.cmp(&0)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// When each packet begins and ends in the fluid system.
fn fluid(case: &Case) -> Vec<(Ratio, Ratio)> {
    let never = Ratio(i128::from(u32::MAX), 1);
    let mut times = vec![(never, never); case.packets.len()];
    let mut queues: Vec<Vec<(usize, Ratio)>> = vec![Vec::new(); case.weights.len()];
    let (mut now, mut next) = (Ratio(0, 1), 0);
    loop {
        let sum: u32 = case.weights.iter().zip(&queues).filter(|(_, q)| !q.is_empty()).map(|(w, _)| *w).sum();
        let ends = case.weights.iter().zip(&queues).filter_map(|(w, q)| Some(now.plus(q.first()?.1.times(sum, *w))));
        let arrival = case.packets.get(next).map(|p| Ratio::whole(p.at));
        let Some(then) = ends.chain(arrival).min() else { return times };
        for (w, queue) in case.weights.iter().zip(&mut queues) {
            let Some((id, left)) = queue.first_mut() else { continue };
            *left = left.minus(then.minus(now).times(*w, sum));
            if left.0 == 0 {
                times[*id].1 = then;
                queue.remove(0);
                if let Some((id, _)) = queue.first() {
                    times[*id].0 = then;
                }
            }
        }
        now = then;
        while let Some(Sent { flow, len, .. }) = case.packets.get(next).filter(|p| Ratio::whole(p.at) <= now) {
            if queues[*flow].is_empty() {
                times[next].0 = now;
            }
            queues[*flow].push((next, Ratio::whole(*len)));
            next += 1;
        }
    }
}

/// Few packets of few flows: fractions stay small, and all that matters happens: joining, leaving, bursts, idle times.
fn small(rng: &mut ackclock_core::rng::Stream) -> Case {
    let flows = 2 + rng.below(3) as usize;
    let weights = (0..flows).map(|_| 1 + rng.below(3) as u32).collect();
    let (mut at, mut packets) = (0, Vec::new());
    for _ in 0..13 {
        at += [0, rng.below(200), rng.below(1500)][rng.below(3) as usize];
        let len = [100 * (1 + rng.below(5)), 40 + rng.below(1461)][rng.below(2) as usize];
        packets.push(Sent { at, flow: rng.below(flows as u64) as usize, len });
    }
    Case { weights, unit: [1.0, 0.05, 2.5][rng.below(3) as usize], packets }
}

/// A choice of a scheduler.
struct Choice {
    now: u64,
    chosen: usize,
    /// The first packets of the flows that wait.
    first: Vec<usize>,
    /// Whether the link was idle, so that all that arrives now is there.
    idle: bool,
}

impl Choice {
    /// Whether a packet that arrives at `at` is there.
    fn sees(&self, at: u64) -> bool {
        at < self.now || (self.idle && at == self.now)
    }
}

/// What a scheduler chose from.
fn choices(case: &Case, kind: &str) -> Vec<Choice> {
    let mut waiting: Vec<bool> = vec![true; case.packets.len()];
    let mut list = Vec::new();
    for served in case.play(kind, &[]) {
        let waits = |id: usize| waiting[id] && case.packets[id].at < served.begin;
        let mut choice = Choice { now: served.begin, chosen: served.id, first: Vec::new(), idle: false };
        choice.idle = !(0..case.packets.len()).any(waits);
        let mut first: Vec<Option<usize>> = vec![None; case.weights.len()];
        for (id, p) in case.packets.iter().enumerate().filter(|(id, p)| waiting[*id] && choice.sees(p.at)) {
            first[p.flow] = first[p.flow].or(Some(id));
        }
        choice.first = first.into_iter().flatten().collect();
        waiting[served.id] = false;
        list.push(choice);
    }
    list
}

/// Virtual time is kept to a millionth of a byte; times closer than a thousandth count as equal.
fn before(a: Ratio, b: Ratio) -> bool {
    a < b.minus(Ratio(1, 1000))
}

#[test]
fn wfq_and_wf2q_choose_as_the_fluid_says() {
    for kind in ["wfq", "wf2q"] {
        let (mut clear, mut all) = (0, 0);
        for (number, mut rng) in streams("exact") {
            let case = small(&mut rng);
            let times = fluid(&case);
            for Choice { now, chosen, first, .. } in choices(&case, kind) {
                assert!(first.contains(&chosen), "{kind} {number}: {chosen} at {now} is not first\n{case:?}");
                let (begin, now) = (now, Ratio::whole(now));
                let begun = |id: &&usize| kind == "wfq" || !before(now, times[**id].0);
                let surely = |id: &&usize| kind == "wfq" || before(times[**id].0, now);
                let right =
                    begun(&&chosen) && first.iter().filter(surely).all(|id| !before(times[*id].1, times[chosen].1));
                assert!(right, "{kind} {number}: {chosen} at {begin} of {first:?}\n{case:?}\n{times:?}");
                if first.len() > 1 {
                    all += 1;
                    let others = first.iter().filter(|id| **id != chosen && begun(id));
                    let tied = others.clone().any(|id| !before(times[chosen].1, times[*id].1));
                    clear += usize::from(!tied && first.iter().all(|id| surely(&id) == begun(&id)));
                }
            }
        }
        // Most choices are between packets that the fluid tells apart.
        assert!(cases() < 500 || clear * 10 > all * 7, "{kind}: {clear} of {all}");
    }
}

#[test]
fn scfq_chooses_by_its_tags() {
    for (number, mut rng) in streams("exact scfq") {
        let case = small(&mut rng);
        let mut tags: Vec<Ratio> = vec![Ratio(0, 1); case.packets.len()];
        let mut last: Vec<Ratio> = vec![Ratio(0, 1); case.weights.len()];
        let (mut v, mut next) = (Ratio(0, 1), 0);
        for choice in choices(&case, "scfq") {
            if choice.idle {
                // A busy period begins: virtual time is 0 again.
                v = Ratio(0, 1);
                last.fill(v);
            }
            while let Some(p) = case.packets.get(next).filter(|p| choice.sees(p.at)) {
                last[p.flow] = last[p.flow].max(v).plus(Ratio::whole(p.len).times(1, case.weights[p.flow]));
                tags[next] = last[p.flow];
                next += 1;
            }
            let Choice { now, chosen, first, .. } = choice;
            let least = first.iter().min_by_key(|id| (tags[**id], case.packets[**id].flow));
            assert_eq!(least, Some(&chosen), "{number}: at {now} of {first:?}\n{case:?}\n{tags:?}");
            v = tags[chosen];
        }
    }
}
