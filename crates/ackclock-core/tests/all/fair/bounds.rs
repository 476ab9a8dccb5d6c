//! What the authors of the schedulers proved, with each flow's own largest packet where they have it.
//!
//! A flow is backlogged while packets of it wait; what it was served is counted when a transmission begins.

use super::world::{Case, Served, backlogged, cases, come_and_go, streams};
use ackclock_core::params::Value;
use ackclock_core::rng::Stream;
use ackclock_core::time::Span;
use std::collections::VecDeque;

/// The fluid system in floating point: the service of each flow at each arrival and departure, and when each packet
/// begins and ends.
struct Fluid {
    service: Vec<(f64, Vec<f64>)>,
    times: Vec<(f64, f64)>,
}

impl Fluid {
    fn of(case: &Case) -> Fluid {
        let flows = case.weights.len();
        let mut fluid = Fluid { service: Vec::new(), times: vec![(f64::NAN, f64::NAN); case.packets.len()] };
        let mut queues: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); flows];
        let (mut now, mut next, mut done) = (0.0f64, 0, vec![0.0f64; flows]);
        loop {
            let weight = |flow: usize| f64::from(case.weights[flow]);
            let sum: f64 = (0..flows).filter(|f| !queues[*f].is_empty()).map(weight).sum();
            let arrival = case.packets.get(next).map_or(f64::INFINITY, |p| p.at as f64);
            let end = |f: usize| queues[f].front().map_or(f64::INFINITY, |(_, left)| now + left * sum / weight(f));
            let then = (0..flows).map(end).fold(arrival, f64::min);
            if then == f64::INFINITY {
                return fluid;
            }
            for flow in 0..flows {
                let Some((id, left)) = queues[flow].front_mut() else { continue };
                let part = ((then - now) * weight(flow) / sum).min(*left);
                *left -= part;
                done[flow] += part;
                if *left < 1e-6 {
                    fluid.times[*id].1 = then;
                    queues[flow].pop_front();
                    if let Some((id, _)) = queues[flow].front() {
                        fluid.times[*id].0 = then;
                    }
                }
            }
            now = then;
            while let Some(p) = case.packets.get(next).filter(|p| p.at as f64 <= now) {
                if queues[p.flow].is_empty() {
                    fluid.times[next].0 = now;
                }
                queues[p.flow].push_back((next, p.len as f64));
                next += 1;
            }
            fluid.service.push((now, done.clone()));
        }
    }

    /// The bytes of `flow` served until `at`, for times that ascend; `place` is where the last call looked.
    fn until(&self, at: f64, flow: usize, place: &mut usize) -> f64 {
        while self.service.get(*place + 1).is_some_and(|(t, _)| *t <= at) {
            *place += 1;
        }
        let (t, done) = &self.service[*place];
        match self.service.get(*place + 1) {
            Some((later, then)) if *later > *t => {
                done[flow] + (then[flow] - done[flow]) * ((at - t) / (later - t)).clamp(0.0, 1.0)
            }
            _ => done[flow],
        }
    }
}

/// How far a scheduler is from the fluid system, as a share of what is allowed.
#[derive(Clone, Copy, Debug, Default)]
struct Distance {
    /// A packet ends after it does in the fluid, of Lmax/C (Parekh and Gallager 1993, theorem 1).
    late: f64,
    /// A flow has less than in the fluid, of Lmax (theorem 2 there).
    behind: f64,
    /// A packet begins before it does in the fluid, in microseconds (Bennett and Zhang 1996).
    early: f64,
    /// A flow has more than in the fluid, of (1 - its share) of its largest packet (there too).
    ahead: f64,
}

fn distance(case: &Case, kind: &str) -> Distance {
    let (fluid, largest) = (Fluid::of(case), case.largest());
    let most = *largest.iter().max().unwrap() as f64;
    let all: f64 = case.weights.iter().map(|w| f64::from(*w)).sum();
    let mut found = Distance::default();
    let (mut done, mut places) = (vec![0.0; largest.len()], (0, 0));
    for served in case.play(kind, &[]) {
        let (p, (first, last)) = (case.packets[served.id], fluid.times[served.id]);
        let (begin, end) = (served.begin as f64, (served.begin + p.len) as f64);
        found.late = found.late.max((end - last) / most);
        found.early = found.early.max(first - begin);
        found.behind = found.behind.max((fluid.until(begin, p.flow, &mut places.0) - done[p.flow]) / most);
        done[p.flow] += p.len as f64;
        let allowed = (1.0 - f64::from(case.weights[p.flow]) / all) * largest[p.flow] as f64;
        found.ahead = found.ahead.max((done[p.flow] - fluid.until(end, p.flow, &mut places.1)) / allowed);
    }
    found
}

impl Distance {
    fn worst(self, other: Distance) -> Distance {
        Distance {
            late: self.late.max(other.late),
            behind: self.behind.max(other.behind),
            early: self.early.max(other.early),
            ahead: self.ahead.max(other.ahead),
        }
    }
}

fn fluid_cases(rng: &mut Stream) -> Case {
    let flows = 2 + rng.below(6) as usize;
    let unit = [1.0, 0.05][rng.below(2) as usize];
    Case { unit, ..come_and_go(rng, flows, &[1, 2, 10, 80], 200) }
}

#[test]
fn wfq_and_wf2q_stay_near_the_fluid() {
    let [mut wfq, mut wf2q, mut fifo] = [Distance::default(); 3];
    for (number, mut rng) in streams("fluid") {
        let case = fluid_cases(&mut rng);
        for (kind, worst) in [("wfq", &mut wfq), ("wf2q", &mut wf2q)] {
            let found = distance(&case, kind);
            let near = found.late <= 1.0 + 1e-6 && found.behind <= 1.0 + 1e-6;
            assert!(near, "{kind} {number}: {found:?}\n{case:?}");
            if kind == "wf2q" {
                assert!(found.early <= 1e-3 && found.ahead <= 1.0 + 1e-6, "{kind} {number}: {found:?}\n{case:?}");
            }
            *worst = worst.worst(found);
        }
        fifo = fifo.worst(distance(&case, "droptail"));
    }
    if cases() < 500 {
        return;
    }
    // The bounds are reached, WFQ runs ahead, and a FIFO keeps none of them.
    assert!(wfq.late > 0.9 && wfq.behind > 0.9 && wf2q.late > 0.9 && wf2q.ahead > 0.9);
    assert!(wfq.ahead > 2.0 && wfq.early > 1000.0);
    assert!(fifo.late > 2.0 && fifo.behind > 2.0 && fifo.early > 1000.0 && fifo.ahead > 2.0);
}

/// The difference of two flows' service per weight over any interval in which both are backlogged, as a share of the
/// bound for these two; the largest of what was `served`, among the first `flows`.
fn spread(case: &Case, flows: usize, served: &[Served], bound: impl Fn(usize, usize) -> f64) -> f64 {
    let pairs: Vec<(usize, usize)> = (0..flows).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
    let (mut waits, mut got, mut next, mut worst) =
        (vec![0u32; case.weights.len()], vec![0.0; case.weights.len()], 0, 0.0f64);
    // For each pair the least and the most difference since both are backlogged.
    let mut ranges: Vec<Option<(f64, f64)>> = vec![None; pairs.len()];
    for served in served {
        let p = case.packets[served.id];
        // Of what arrives at this instant only what must have been there is counted: that shortens intervals.
        while let Some(new) = case.packets.get(next).filter(|new| new.at < served.begin || waits[p.flow] == 0) {
            waits[new.flow] += 1;
            next += 1;
        }
        for (range, (i, j)) in ranges.iter_mut().zip(&pairs) {
            if range.is_none() && waits[*i] > 0 && waits[*j] > 0 {
                *range = Some((got[*i] - got[*j], got[*i] - got[*j]));
            }
        }
        got[p.flow] += p.len as f64 / f64::from(case.weights[p.flow]);
        waits[p.flow] -= 1;
        for (range, (i, j)) in ranges.iter_mut().zip(&pairs) {
            let both = waits[*i] > 0 && waits[*j] > 0;
            *range = range.filter(|_| both).map(|(least, most)| {
                let difference = got[*i] - got[*j];
                (least.min(difference), most.max(difference))
            });
            worst = range.map_or(worst, |(least, most)| worst.max((most - least) / bound(*i, *j)));
        }
    }
    worst
}

/// What is served before one of the flows has nothing left.
fn while_all_wait(case: &Case, mut served: Vec<Served>) -> Vec<Served> {
    let mut left = vec![0; case.weights.len()];
    case.packets.iter().for_each(|p| left[p.flow] += 1);
    let last = served.iter().position(|s| {
        left[case.packets[s.id].flow] -= 1;
        left[case.packets[s.id].flow] == 0
    });
    served.truncate(last.unwrap_or(0));
    served
}

/// The largest packets of two flows, per weight.
fn packets(case: &Case) -> impl Fn(usize, usize) -> f64 {
    let per: Vec<f64> = case.largest().iter().zip(&case.weights).map(|(l, w)| *l as f64 / f64::from(*w)).collect();
    move |i, j| per[i] + per[j]
}

/// Golestani 1994: |S_i/w_i - S_j/w_j| <= L_i/w_i + L_j/w_j. For the others where the tags of a flow follow each
/// other, that is among flows that have waited from the beginning.
#[test]
fn tags_keep_two_backlogged_flows_together() {
    let mut worst = [0.0f64; 5];
    for (number, mut rng) in streams("tags") {
        let flows = 2 + rng.below(5) as usize;
        let (moving, staying) = (come_and_go(&mut rng, flows, &[1, 2, 3, 6], 150), backlogged(&mut rng, flows, 3));
        let lighter = |i: usize, j: usize| f64::from(staying.weights[i].min(staying.weights[j]));
        let alone = backlogged(&mut rng, flows, 0);
        let in_rounds = alone.play("fq", &[("per_flow_limit", Value::Int(0))]);
        let found = [
            spread(&moving, flows, &moving.play("scfq", &[]), packets(&moving)),
            spread(&staying, flows, &staying.play("wfq", &[]), packets(&staying)),
            // A flow that is not eligible is ahead by a packet of the other at most, one that is by one of its own.
            spread(&staying, flows, &staying.play("wf2q", &[]), |i, j| 2.0 * 1500.0 / lighter(i, j)),
            // ns-2's law is fair while the same flows wait.
            spread(&alone, flows, &while_all_wait(&alone, in_rounds), packets(&alone)),
        ];
        assert!(found.iter().all(|f| *f <= 1.0 + 1e-9), "{number}: {found:?}\n{moving:?}");
        found.iter().zip(&mut worst).for_each(|(f, w)| *w = w.max(*f));
        worst[4] = worst[4].max(spread(&moving, flows, &moving.play("droptail", &[]), packets(&moving)));
    }
    assert!(cases() < 500 || (worst[..4].iter().all(|w| *w > 0.8) && worst[4] > 2.0), "{worst:?}");
}

/// Shreedhar and Varghese 1995: by at most a quantum and two packets, whatever the quantum.
#[test]
fn drr_keeps_two_backlogged_flows_together() {
    let (mut worst, mut fifo) = (0.0f64, 0.0f64);
    for (number, mut rng) in streams("drr") {
        let flows = 2 + rng.below(5) as usize;
        let case = come_and_go(&mut rng, flows, &[1, 2, 3, 6], 150);
        let quantum = [250, 700, 1500, 4000][rng.below(4) as usize];
        let two = packets(&case);
        let bound = |i, j| quantum as f64 + two(i, j);
        let found = spread(&case, flows, &case.play("drr", &[("quantum", Value::Int(quantum))]), bound);
        assert!(found <= 1.0, "{number}: {found}, quantum {quantum}\n{case:?}");
        worst = worst.max(found);
        fifo = fifo.max(spread(&case, flows, &case.play("droptail", &[]), bound));
    }
    assert!(cases() < 500 || (worst > 0.8 && fifo > 1.5), "{worst} {fifo}");
}

/// FQ-CoDel's queues have DRR's turns, with credits that fall below zero in place of deficits: a quantum and two packets
/// among flows that have waited from the beginning. A queue that was empty, but is still in the list of the old ones, goes
/// on with the credits that it had left (RFC 8290 §4.2): its first turn can be short, by a quantum at most.
#[test]
fn fq_codel_keeps_two_backlogged_flows_together() {
    let seconds = |s: u64| Value::Duration(Span::from_millis(1000 * s));
    let mut worst = [0.0f64; 3];
    for (number, mut rng) in streams("fq_codel") {
        let flows = 2 + rng.below(5) as usize;
        let quantum = [300, 700, 1514, 4000][rng.below(4) as usize];
        // No drops by CoDel.
        let given = [("quantum", Value::Int(quantum)), ("target", seconds(5)), ("interval", seconds(10))];
        let (moving, mut staying) = (come_and_go(&mut rng, flows, &[1], 150), backlogged(&mut rng, flows, 3));
        staying.weights.fill(1);
        let bound = |case, quanta: u64| {
            let two = packets(case);
            move |i, j| (quanta * quantum) as f64 + two(i, j)
        };
        let found = [
            spread(&staying, flows, &staying.play("fq_codel", &given), bound(&staying, 1)),
            spread(&moving, flows, &moving.play("fq_codel", &given), bound(&moving, 2)),
        ];
        assert!(found.iter().all(|f| *f <= 1.0), "{number}: {found:?}, quantum {quantum}\n{moving:?}\n{staying:?}");
        found.iter().zip(&mut worst).for_each(|(f, w)| *w = w.max(*f));
        worst[2] = worst[2].max(spread(&moving, flows, &moving.play("droptail", &[]), bound(&moving, 2)));
    }
    assert!(cases() < 500 || (worst[0] > 0.8 && worst[1] > 0.8 && worst[2] > 1.5), "{worst:?}");
}
