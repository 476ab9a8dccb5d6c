//! CoDel and PIE beside second implementations, written down from the pseudocode of RFC 8289 and RFC 8033: the same fate of
//! every packet over thousands of random arrivals. PIE draws from a stream of its own; both are given the same one.
//!
//! The draws are the same in every run. `ACKCLOCK_CASES` sets how many cases are played, `ACKCLOCK_SEED` draws others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::params::Value;
use ackclock_core::queue::registry::{Site, build};
use ackclock_core::queue::{Backlog, Kept, Limits};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use std::collections::VecDeque;

/// Cases of a test.
fn cases() -> u64 {
    crate::random_cases::cases(3000)
}

const MS: u64 = 1_000_000;

/// Drops, marks and the packet that leaves, by number.
#[derive(Debug, Default, PartialEq)]
struct Fate {
    dropped: Vec<u32>,
    marked: Vec<u32>,
    out: Option<u32>,
}

impl Fate {
    /// Marks a packet if that is possible, else drops it; whether it stays.
    fn mark_or_drop(&mut self, packet: &mut Parcel, ecn: bool) -> bool {
        match packet.ecn {
            Ecn::Ce if ecn => {}
            Ecn::Ect0 | Ecn::Ect1 if ecn => {
                packet.ecn = Ecn::Ce;
                self.marked.push(packet.id);
            }
            _ => {
                self.dropped.push(packet.id);
                return false;
            }
        }
        true
    }
}

/// An implementation to compare with.
trait Reference {
    fn enqueue(&mut self, now: u64, packet: Parcel, fate: &mut Fate);
    fn dequeue(&mut self, now: u64, fate: &mut Fate) -> Option<Parcel>;
}

/// RFC 8289; times in nanoseconds, 0 for none.
struct Codel {
    target: u64,
    interval: u64,
    mtu: u64,
    ecn: bool,
    queue: VecDeque<Parcel>,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Codel {
    fn control_law(&self, t: u64) -> u64 {
        t + (self.interval as f64 / f64::from(self.count).sqrt()).round() as u64
    }

    fn dodequeue(&mut self, now: u64) -> (Option<Parcel>, bool) {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let bytes: u64 = self.queue.iter().map(|p| u64::from(p.len)).sum();
        if now - packet.arrived.0 < self.target || bytes <= self.mtu {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            return (Some(packet), true);
        }
        (Some(packet), false)
    }
}

impl Reference for Codel {
    fn enqueue(&mut self, _now: u64, packet: Parcel, _fate: &mut Fate) {
        self.queue.push_back(packet);
    }

    fn dequeue(&mut self, now: u64, fate: &mut Fate) -> Option<Parcel> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if fate.mark_or_drop(packet.as_mut().unwrap(), self.ecn) {
                    self.drop_next = self.control_law(self.drop_next);
                    break;
                }
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            if !fate.mark_or_drop(packet.as_mut().unwrap(), self.ecn) {
                (packet, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            // Times begin at 10 s here, so that a queue that never dropped did not do so lately.
            self.count = if delta > 1 && now - self.drop_next < 16 * self.interval { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        packet
    }
}

/// RFC 8033 with its optional parts; times in seconds but for `next`. Above 250 ms Linux's 0.02 comes on top.
struct Pie {
    qdelay_ref: f64,
    t_update: u64,
    derandomize: bool,
    ecn: bool,
    queue: VecDeque<Parcel>,
    drop_prob: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    accu_prob: f64,
    next: u64,
    rng: Stream,
}

impl Pie {
    fn calculate_drop_prob(&mut self, now: u64) {
        let qdelay = self.queue.front().map_or(0.0, |head| (now - head.arrived.0) as f64 / 1e9);
        let mut p = 0.125 * (qdelay - self.qdelay_ref) + 1.25 * (qdelay - self.qdelay_old);
        let steps = [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
        if let Some((_, divisor)) = steps.iter().find(|(below, _)| self.drop_prob < *below) {
            p /= divisor;
        }
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        if qdelay > 0.25 {
            p += 0.02;
        }
        let calm = qdelay < self.qdelay_ref / 2.0 && self.qdelay_old < self.qdelay_ref / 2.0;
        self.drop_prob += p;
        if qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
        self.burst_allowance = (self.burst_allowance - self.t_update as f64 / 1e9).max(0.0);
        if self.burst_allowance < 1e-9 {
            self.burst_allowance = 0.0;
        }
        if self.drop_prob == 0.0 && calm {
            self.burst_allowance = 0.150;
        }
    }

    fn until(&mut self, now: u64) {
        while self.next <= now {
            self.calculate_drop_prob(self.next);
            self.next += self.t_update;
        }
    }

    fn drop_early(&mut self) -> bool {
        let bytes: u64 = self.queue.iter().map(|p| u64::from(p.len)).sum();
        if self.burst_allowance > 0.0
            || (self.qdelay_old < self.qdelay_ref / 2.0 && self.drop_prob < 0.2)
            || bytes <= 2 * 1500
        {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
            return false;
        }
        if self.derandomize {
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        self.rng.uniform() < self.drop_prob
    }
}

impl Reference for Pie {
    fn enqueue(&mut self, now: u64, mut packet: Parcel, fate: &mut Fate) {
        self.until(now);
        if self.drop_early() {
            self.accu_prob = 0.0;
            if !fate.mark_or_drop(&mut packet, self.ecn && self.drop_prob < 0.1) {
                return;
            }
        }
        self.queue.push_back(packet);
    }

    fn dequeue(&mut self, now: u64, _fate: &mut Fate) -> Option<Parcel> {
        self.until(now);
        self.queue.pop_front()
    }
}

/// What happened in a case.
#[derive(Debug, Default)]
struct Met {
    dropped: usize,
    marked: usize,
}

/// Both over the same traffic: 10 Mbit/s, a load that changes, packets of all sizes.
fn compare(kind: &str, given: Vec<(&str, Value)>, site: Site, theirs: &mut dyn Reference, rng: &mut Stream) -> Met {
    let given: Vec<_> = given.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    let (mut ours, mut met) = (build(kind, &given, site).unwrap(), Met::default());
    let (mut at, mut free, mut load) = (10_000 * MS, None::<u64>, 100);
    let mut both = |now: u64, arrival: Option<Parcel>| {
        let (mut kept, mut fate) = (Kept::default(), Fate::default());
        let out = match arrival {
            Some(packet) => {
                ours.enqueue(Time(now), packet, Backlog::default(), &mut kept);
                theirs.enqueue(now, packet, &mut fate);
                None
            }
            None => {
                let (out, other) = (ours.dequeue(Time(now), &mut kept), theirs.dequeue(now, &mut fate));
                assert_eq!(out, other, "{kind} {given:?} at {now}");
                out
            }
        };
        fate.out = out.map(|p| p.id);
        let dropped: Vec<u32> = kept.dropped.iter().map(|(_, p, _)| p.id).collect();
        let marked: Vec<u32> = kept.marked.iter().map(|(_, p, _)| p.id).collect();
        met.dropped += dropped.len();
        met.marked += marked.len();
        assert_eq!(Fate { dropped, marked, out: fate.out }, fate, "{kind} {given:?} at {now}");
        out.map(|p| now + u64::from(p.len) * 800)
    };
    for id in 0..1000 {
        if rng.below(150) == 0 {
            load = [40, 90, 105, 120, 200][rng.below(5) as usize];
        }
        at += rng.below(2 * 1_000_000 * 100 / load);
        while let Some(now) = free.filter(|free| *free <= at) {
            free = both(now, None);
        }
        let len = [1500, 1500, 40 + rng.below(1461) as u32][rng.below(3) as usize];
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][rng.below(4) as usize];
        both(at, Some(Parcel { id, len, ecn, arrived: Time(at), ..Parcel::default() }));
        free = free.or_else(|| both(at, None));
    }
    met
}

fn site(rng: &Stream) -> Site {
    Site {
        limits: Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: false },
        rate_bps: 10_000_000,
        delay: Span::ZERO,
        packet: 1500,
        weights: vec![],
        rng: rng.clone(),
    }
}

fn play(name: &str, mut one: impl FnMut(&mut Stream) -> Met) {
    let (mut dropped, mut marked) = (0, 0);
    for case in 0..cases() {
        let met = one(&mut Stream::named(crate::random_cases::seed(), case, name));
        dropped += met.dropped;
        marked += met.marked;
    }
    let enough = dropped as u64 > 2 * cases() && marked as u64 > cases();
    assert!(cases() < 500 || enough, "{name}: {dropped} dropped, {marked} marked");
}

#[test]
fn codel_treats_every_packet_as_its_rfc() {
    play("codel rfc", |rng| {
        let mut pick = |list: [u64; 3]| list[rng.below(3) as usize];
        let (target, interval, mtu) = (pick([5, 5, 1]) * MS, pick([100, 20, 50]) * MS, pick([1500, 1500, 200]));
        let ecn = pick([0, 0, 1]) == 1;
        let time = |ns: u64| Value::Duration(Span(ns));
        let given = vec![
            ("target", time(target)),
            ("interval", time(interval)),
            ("mtu", Value::Int(mtu)),
            ("ecn", Value::Bool(ecn)),
        ];
        let mut theirs = Codel {
            target,
            interval,
            mtu,
            ecn,
            queue: VecDeque::new(),
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
        };
        compare("codel", given, site(rng), &mut theirs, rng)
    });
}

#[test]
fn pie_treats_every_packet_as_its_rfc() {
    play("pie rfc", |rng| {
        let mut pick = |list: [u64; 3]| list[rng.below(3) as usize];
        let (target, t_update) = (pick([15, 15, 5]) * MS, pick([15, 15, 30]) * MS);
        let (derandomize, ecn) = (pick([1, 1, 0]) == 1, pick([0, 1, 1]) == 1);
        let given = vec![
            ("target", Value::Duration(Span(target))),
            ("update", Value::Duration(Span(t_update))),
            ("derandomize", Value::Bool(derandomize)),
            ("ecn", Value::Bool(ecn)),
        ];
        let draws = Stream::named(rng.next_u64(), 0, "pie");
        let mut theirs = Pie {
            qdelay_ref: target as f64 / 1e9,
            t_update,
            derandomize,
            ecn,
            queue: VecDeque::new(),
            drop_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: 0.150,
            accu_prob: 0.0,
            next: t_update,
            rng: draws.clone(),
        };
        compare("pie", given, site(&draws), &mut theirs, rng)
    });
}
