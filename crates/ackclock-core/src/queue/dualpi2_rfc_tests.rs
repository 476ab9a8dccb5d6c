//! DualPI2 beside a second implementation, written down from RFC 9332, Appendix A: its steps one by one, each update at its
//! time, two plain lists. Over random arrivals and parameters both must agree about every probability and every packet.
//!
//! `ACKCLOCK_CASES` sets how many cases are played, `ACKCLOCK_SEED` draws others.

use super::super::Kept;
use super::*;
use crate::params::Value;
use crate::random_cases::{cases, seed};
use std::collections::VecDeque;

/// What a probability is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    MarkLow,
    DropLow,
    Classic,
}

/// The RFC's variables; times in seconds.
#[derive(Debug)]
struct Rfc {
    target: f64,
    alpha: f64,
    beta: f64,
    k: f64,
    min_th: f64,
    range: f64,
    th_len: usize,
    t_shift: f64,
    overload: &'static str,
    p: f64,
    p_c: f64,
    p_cl: f64,
    prevq: f64,
    lq: VecDeque<Parcel>,
    cq: VecDeque<Parcel>,
}

fn seconds(now: Time, queue: &VecDeque<Parcel>) -> f64 {
    queue.front().map_or(0.0, |head| (now.0 - head.arrived.0) as f64 / 1e9)
}

impl Rfc {
    /// `dualpi2_update`.
    fn update(&mut self, now: Time) {
        let curq = seconds(now, &self.cq).max(seconds(now, &self.lq));
        self.p += self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        let most = if self.overload == "overflow" { (1.0 / self.k).min(1.0) } else { 1.0 };
        self.p = self.p.max(0.0).min(most);
        self.p_cl = (self.k * self.p).min(1.0);
        self.p_c = self.p * self.p;
        if self.overload == "cap" && self.k * self.k * self.p_c > 1.0 {
            self.p_c = 1.0 / (self.k * self.k);
        }
        self.prevq = curq;
    }

    /// `laqm`: the ramp.
    fn native(&self, qdelay: f64, others: usize) -> f64 {
        if others < self.th_len {
            return 0.0;
        }
        ((qdelay - self.min_th) / self.range).clamp(0.0, 1.0)
    }

    /// `dualpi2_dequeue`: what is dropped, and what leaves with its final mark. `decide` says yes with a probability.
    fn dequeue(&mut self, now: Time, decide: &mut dyn FnMut(What, f64, &Parcel) -> bool) -> (Vec<u32>, Option<Parcel>) {
        let mut dropped = vec![];
        while !(self.lq.is_empty() && self.cq.is_empty()) {
            let saturated = self.overload != "overflow" && self.p_cl >= 1.0;
            let low = match (self.lq.is_empty(), self.cq.is_empty()) {
                (false, false) => seconds(now, &self.lq) + self.t_shift >= seconds(now, &self.cq),
                (empty, _) => !empty,
            };
            if low {
                let mut packet = self.lq.pop_front().unwrap();
                let waited = (now.0 - packet.arrived.0) as f64 / 1e9;
                if saturated && decide(What::DropLow, self.p_c, &packet) {
                    dropped.push(packet.id);
                    continue;
                }
                let p_l = self.native(waited, self.lq.len()).max(self.p_cl);
                if saturated || decide(What::MarkLow, p_l, &packet) {
                    packet.ecn = Ecn::Ce;
                }
                return (dropped, Some(packet));
            }
            let mut packet = self.cq.pop_front().unwrap();
            if decide(What::Classic, self.p_c, &packet) {
                if packet.ecn == Ecn::NotEct || saturated {
                    dropped.push(packet.id);
                    continue;
                }
                packet.ecn = Ecn::Ce;
            }
            return (dropped, Some(packet));
        }
        (dropped, None)
    }
}

/// Decisions that were taken: how many said yes, how many should have, and the variance of that.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    yes: f64,
    expected: f64,
    variance: f64,
}

/// Both, and the time of the next update.
struct Both {
    ours: DualPi2,
    rfc: Rfc,
    sink: Kept,
    next: Time,
    random: bool,
    /// `recur`: for each kind of decision, its sum.
    counts: [f64; 3],
    tallies: [Tally; 3],
}

impl Both {
    fn new(rng: &mut Stream, random: bool) -> Both {
        let mut pick = |list: &[f64]| list[rng.below(list.len() as u64) as usize];
        let (target, update) = (pick(&[5e-3, 15e-3, 15e-3, 40e-3]), pick(&[4e-3, 16e-3, 16e-3, 33e-3]));
        let (alpha, beta, k) = (pick(&[0.16, 0.16, 2.0]), pick(&[3.2, 3.2, 0.3]), pick(&[2.0, 2.0, 1.5, 4.0, 0.7]));
        let (from, to, th_len) = (pick(&[0.8e-3, 0.0, 3e-3]), pick(&[1.2e-3, 1.2e-3, 10e-3]), pick(&[0.0, 1.0, 3.0]));
        let to = if to > from { to } else { from + 1e-3 };
        let (shift, overload) = (pick(&[2.0, 2.0, 0.0, 0.5]), pick(&[0.0, 0.0, 1.0, 2.0]) as usize);
        let overload = ["drop", "cap", "overflow"][overload];
        let time = |seconds: f64| Value::Duration(Span::from_secs_f64(seconds));
        let text = |word: &str| Value::Text(word.to_owned());
        let given = [
            ("target", time(target)),
            ("update", time(update)),
            ("alpha", Value::Float(alpha)),
            ("beta", Value::Float(beta)),
            ("k", Value::Float(k)),
            ("ramp_from", time(from)),
            ("ramp_to", time(to)),
            ("native_floor", Value::Int(th_len as u64)),
            ("shift", Value::Float(shift)),
            ("overload", text(overload)),
            ("decision", text(if random { "random" } else { "recur" })),
        ];
        let given: Vec<_> = given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let site = Site {
            limits: Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: false },
            rate_bps: 10_000_000,
            delay: Span::ZERO,
            packet: 1500,
            weights: Vec::new(),
            rng: Stream::named(rng.next_u64(), 0, "dualpi2"),
        };
        Both {
            ours: DualPi2::new(&Params::new(PARAMS, &given).unwrap(), site).unwrap(),
            rfc: Rfc {
                target,
                alpha,
                beta,
                k,
                min_th: from,
                range: to - from,
                th_len: th_len as usize,
                t_shift: shift * target,
                overload,
                p: 0.0,
                p_c: 0.0,
                p_cl: 0.0,
                prevq: 0.0,
                lq: VecDeque::new(),
                cq: VecDeque::new(),
            },
            sink: Kept::default(),
            next: Time::ZERO + Span::from_secs_f64(update),
            random,
            counts: [0.0; 3],
            tallies: [Tally::default(); 3],
        }
    }

    fn until(&mut self, now: Time) {
        while self.next <= now {
            self.rfc.update(self.next);
            self.next += self.ours.update;
        }
    }

    /// The three probabilities are the same, and follow from p' by the closed forms.
    fn compare(&self, at: Time) {
        let (base, rfc) = (&self.ours.base, &self.rfc);
        for (ours, theirs) in [(base.p, rfc.p), (base.classic, rfc.p_c), (base.coupled, rfc.p_cl)] {
            assert!((ours - theirs).abs() < 1e-12, "{at:?}: {base:?}\n{rfc:?}");
        }
        assert!((base.coupled - (base.k * base.p).min(1.0)).abs() < 1e-12);
        // p_C = (p_CL/k)^2 as long as the coupled probability can grow.
        assert!(base.coupled == 1.0 || (base.classic - (base.coupled / base.k).powi(2)).abs() < 1e-12);
    }

    fn enqueue(&mut self, parcel: Parcel) {
        self.until(parcel.arrived);
        self.ours.enqueue(parcel.arrived, parcel, Backlog::default(), &mut self.sink);
        let low = matches!(parcel.ecn, Ecn::Ect1 | Ecn::Ce);
        if low { &mut self.rfc.lq } else { &mut self.rfc.cq }.push_back(parcel);
        self.compare(parcel.arrived);
    }

    /// The bytes that leave.
    fn dequeue(&mut self, now: Time) -> Option<u32> {
        self.until(now);
        let out = self.ours.dequeue(now, &mut self.sink);
        let lost: Vec<u32> = self.sink.dropped.drain(..).map(|(_, p, _)| p.id).collect();
        let marked: Vec<u32> = self.sink.marked.drain(..).map(|(_, p, _)| p.id).collect();
        let (random, counts, tallies) = (self.random, &mut self.counts, &mut self.tallies);
        let mut decide = |what: What, p: f64, packet: &Parcel| {
            if random {
                let yes = lost.contains(&packet.id) || (what != What::DropLow && marked.contains(&packet.id));
                // Whether a packet that had a mark was to be marked nobody sees.
                if packet.ecn != Ecn::Ce || what == What::DropLow {
                    assert!(if yes { p > 0.0 } else { p < 1.0 }, "{what:?} {p} {yes}");
                    let tally = &mut tallies[what as usize];
                    tally.yes += f64::from(u8::from(yes));
                    tally.expected += p;
                    tally.variance += p * (1.0 - p);
                }
                return yes;
            }
            let count = &mut counts[what as usize];
            *count += p;
            let yes = *count >= 1.0;
            *count -= f64::from(u8::from(yes));
            yes
        };
        let (dropped, left) = self.rfc.dequeue(now, &mut decide);
        assert_eq!((dropped, left), (lost, out), "{now:?}");
        self.compare(now);
        out.map(|p| p.len)
    }

    /// Plays traffic of changing load for some seconds over a link of 10 Mbit/s; how often p_CL was at its end.
    fn play(&mut self, rng: &mut Stream, packets: u32) -> usize {
        let (mut at, mut free, mut saturated) = (0u64, None::<u64>, 0);
        let (mut load, mut low) = (100, 2);
        for id in 0..packets {
            if rng.below(60) == 0 {
                (load, low) = ([50, 90, 105, 120, 250][rng.below(5) as usize], rng.below(5));
            }
            at += rng.below(2 * 616_000 * 100 / load);
            while let Some(now) = free.filter(|free| *free <= at) {
                free = self.dequeue(Time(now)).map(|len| now + u64::from(len) * 800);
            }
            let ecn = match (rng.below(4) < low, rng.below(4)) {
                (true, 0) => Ecn::Ce,
                (true, _) => Ecn::Ect1,
                (false, n) => [Ecn::NotEct, Ecn::Ect0][n as usize % 2],
            };
            let len = [40, 1500, 40 + rng.below(1461) as u32][rng.below(3) as usize];
            self.enqueue(Parcel { id, len, ecn, arrived: Time(at), ..Parcel::default() });
            free = free.or_else(|| self.dequeue(Time(at)).map(|len| at + u64::from(len) * 800));
            saturated += usize::from(self.rfc.p_cl >= 1.0);
        }
        saturated
    }
}

#[test]
fn every_probability_and_every_packet_is_that_of_the_rfc() {
    let (mut saturated, mut packets) = (0, 0);
    for case in 0..cases(4000) {
        let mut rng = Stream::named(seed(), case, "dualpi2 rfc");
        let mut both = Both::new(&mut rng, false);
        saturated += both.play(&mut rng, 600);
        packets += 600;
    }
    // Not all of it beyond saturation, and not all below.
    assert!(packets < 600_000 || (packets / 50..packets / 2).contains(&saturated), "{saturated} of {packets}");
}

#[test]
fn draws_mark_and_drop_as_often_as_the_probabilities_say() {
    let mut sums = [Tally::default(); 3];
    for case in 0..cases(4000) {
        let mut rng = Stream::named(seed(), case, "dualpi2 draws");
        let mut both = Both::new(&mut rng, true);
        both.play(&mut rng, 600);
        for (sum, tally) in sums.iter_mut().zip(both.tallies) {
            sum.yes += tally.yes;
            sum.expected += tally.expected;
            sum.variance += tally.variance;
        }
    }
    for sum in sums {
        // Five standard deviations: by chance once in two million.
        assert!(sum.expected > 1000.0 || cases(4000) < 500, "{sum:?}");
        assert!((sum.yes - sum.expected).abs() <= 5.0 * sum.variance.sqrt() + 1e-9, "{sum:?}");
    }
}
