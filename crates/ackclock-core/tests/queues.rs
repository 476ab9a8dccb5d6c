//! The contract of queues, for every discipline of the registry: random parameters, random arrivals, a link that serves
//! at a fixed rate.
//!
//! The draws are the same in every run. `ACKCLOCK_CASES` sets how many cases each discipline plays, `ACKCLOCK_SEED` draws
//! others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::params::{Kind, ParamSpec, Params, Value};
use ackclock_core::queue::registry::{Discipline, Site, DISCIPLINES};
use ackclock_core::queue::{Backlog, Limits, Queue, Reason, Sink};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |v| v.parse().expect(variable))
}

/// A packet on its way: time since the one before (ns), bytes, flow, class, ECN.
type Sent = (u64, u32, u32, u8, Ecn);

#[derive(Clone, Debug)]
struct Case {
    /// Bytes per second are an eighth of it.
    rate_bps: u64,
    /// The rate the queue is told, in percent of that: a link may vary.
    told: u64,
    limits: Limits,
    weights: Vec<f64>,
    /// What becomes of each parameter: how it is drawn, and a draw.
    draws: Vec<(u8, f64)>,
    packets: Vec<Sent>,
}

fn packets() -> impl Strategy<Value = Vec<Sent>> {
    let gap = prop_oneof![
        8 => Just(0u64),
        4 => 0..300_000u64,
        4 => 0..3_000_000u64,
        1 => 0..400_000_000u64,
    ];
    let len = prop_oneof![Just(40u32), Just(1500u32), 40..=1500u32];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    prop::collection::vec((gap, len, 0..6u32, 0..4u8, ecn), 1..400)
}

fn cases() -> impl Strategy<Value = Case> {
    let rate = prop_oneof![Just(1_000_000u64), Just(10_000_000), 300_000..100_000_000u64];
    let told = prop_oneof![4 => Just(100u64), 1 => Just(50u64), 1 => Just(200u64)];
    let packets_limit = prop_oneof![4 => 1..100u64, 1 => Just(u64::MAX)];
    let bytes_limit = prop_oneof![1 => 1_500..100_000u64, 2 => Just(u64::MAX)];
    let weights = prop::collection::vec(prop_oneof![Just(1.0), Just(0.3), 0.1..8.0f64], 0..5);
    let draws = prop::collection::vec((0..8u8, 0.0..1.0f64), 40);
    let site = (rate, told, packets_limit, bytes_limit, any::<bool>(), weights);
    (site, draws, packets()).prop_map(|((rate_bps, told, packets, bytes, includes_service, weights), draws, sent)| Case {
        rate_bps,
        told,
        limits: Limits { packets, bytes, includes_service },
        weights,
        draws,
        packets: sent,
    })
}

/// The value of a parameter: none for its default.
fn value(spec: &ParamSpec, how: u8, draw: f64) -> Option<Value> {
    let pick = |n: usize| ((draw * n as f64) as usize).min(n - 1);
    let range = spec.range.unwrap_or((0.0, 1.0));
    let default = match Value::from(spec.default) {
        Value::Int(n) => n as f64,
        Value::Float(x) => x,
        Value::Duration(s) => s.as_secs_f64(),
        _ => 0.0,
    };
    let x = match how {
        0..=3 => return None,
        // Near the default, at an end of the range, or anywhere: durations and counts are tried in the short, where
        // these arrivals can tell.
        4 | 5 => default * (0.1 + 3.0 * draw),
        6 => [range.0, range.1][pick(2)],
        _ => range.0 + draw * draw * draw * (range.1.min(range.0 + 100.0) - range.0),
    };
    let x = x.clamp(range.0, range.1);
    Some(match spec.kind {
        Kind::Bool => Value::Bool(draw < 0.5),
        Kind::Choice(words) => Value::Text(words[pick(words.len())].to_owned()),
        Kind::Count | Kind::Bytes | Kind::Segments => Value::Int(x.round() as u64),
        Kind::Duration => Value::Duration(Span::from_secs_f64(x)),
        Kind::Float => Value::Float(x),
    })
}

fn build(discipline: &Discipline, case: &Case) -> Option<(Vec<(String, Value)>, Box<dyn Queue>)> {
    let given: Vec<(String, Value)> = (discipline.params.iter())
        .zip(&case.draws)
        .filter_map(|(spec, (how, draw))| Some((spec.name.to_owned(), value(spec, *how, *draw)?)))
        .collect();
    let site = Site {
        limits: case.limits,
        rate_bps: case.rate_bps * case.told / 100,
        delay: Span::from_millis(10),
        packet: 1500,
        weights: case.weights.clone(),
        rng: Stream::named(1, 0, "queue"),
    };
    let params = Params::new(discipline.params, &given).expect("a drawn value is in range");
    Some((given, (discipline.build)(&params, site).ok()?))
}

/// What a queue did, in order.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Out(Time, Parcel),
    Dropped(Time, Parcel, Reason),
    Marked(Time, u32, Reason),
}

/// Who keeps the accounts.
#[derive(Default)]
struct Ledger {
    now: Time,
    /// What must be inside: as it arrived, and whether it was marked since.
    inside: BTreeMap<u32, (Parcel, bool)>,
    events: Vec<Event>,
    wrong: Option<String>,
}

impl Ledger {
    fn check(&mut self, right: bool, what: impl FnOnce() -> String) {
        if !right && self.wrong.is_none() {
            self.wrong = Some(format!("{:?}: {}", self.now, what()));
        }
    }

    /// `parcel` left one way or the other.
    fn leaves(&mut self, parcel: &Parcel, how: &str) {
        let Some((arrived, marked)) = self.inside.remove(&parcel.id) else {
            return self.check(false, || format!("{how}, but not inside: {parcel:?}"));
        };
        let expected = Parcel { ecn: if marked { Ecn::Ce } else { arrived.ecn }, ..arrived };
        self.check(*parcel == expected, || format!("{how} as {parcel:?}, but it was {expected:?}"));
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.inside.values().map(|(p, _)| u64::from(p.len)).sum();
        Backlog { packets: self.inside.len() as u64, bytes }
    }
}

impl Sink for Ledger {
    fn dropped(&mut self, at: Time, parcel: Parcel, reason: Reason) {
        let possible = parcel.arrived <= at && at <= self.now;
        self.check(possible, || format!("dropped at {at:?}: {parcel:?}"));
        self.leaves(&parcel, "dropped");
        self.events.push(Event::Dropped(at, parcel, reason));
    }

    fn marked(&mut self, at: Time, parcel: &Parcel, reason: Reason) {
        let possible = parcel.arrived <= at && at <= self.now && parcel.ecn == Ecn::Ce;
        self.check(possible, || format!("marked at {at:?}: {parcel:?}"));
        match self.inside.get_mut(&parcel.id) {
            Some((arrived, marked)) if !*marked && matches!(arrived.ecn, Ecn::Ect0 | Ecn::Ect1) => *marked = true,
            other => {
                let other = format!("{other:?}");
                self.check(false, || format!("marked, but it was {other}: {parcel:?}"));
            }
        }
        self.events.push(Event::Marked(at, parcel.id, reason));
    }
}

/// Packets that leave in the order of their arrival: all of them, or those of the same flow, class or queue.
fn lane(discipline: &str, parcel: &Parcel) -> (u32, u8) {
    match discipline {
        "droptail" | "red" | "codel" | "pie" => (0, 0),
        "priority" => (0, parcel.class),
        "dualpi2" => (0, u8::from(matches!(parcel.ecn, Ecn::Ect1 | Ecn::Ce))),
        _ => (parcel.flow, 0),
    }
}

/// The link: it takes the next packet when it is free, and at once when it is idle.
struct Link<'a> {
    name: &'static str,
    case: &'a Case,
    queue: Box<dyn Queue>,
    ledger: Ledger,
    busy_until: Option<Time>,
    in_service: Backlog,
    last: BTreeMap<(u32, u8), u32>,
}

impl Link<'_> {
    fn take(&mut self) {
        let now = self.ledger.now;
        (self.busy_until, self.in_service) = (None, Backlog::default());
        let Some(parcel) = self.queue.dequeue(now, &mut self.ledger) else {
            return self.ledger.check(self.queue.backlog().packets == 0, || "idle with a backlog".to_owned());
        };
        if let Some((arrived, _)) = self.ledger.inside.get(&parcel.id) {
            let last = self.last.insert(lane(self.name, arrived), parcel.id);
            self.ledger.check(last < Some(parcel.id), || format!("{} overtaken by {last:?}", parcel.id));
        }
        self.ledger.leaves(&parcel, "out");
        self.ledger.events.push(Event::Out(now, parcel));
        let ns = (u128::from(parcel.len) * 8_000_000_000).div_ceil(u128::from(self.case.rate_bps));
        self.busy_until = Some(now + Span(ns as u64));
        self.in_service = Backlog { packets: 1, bytes: u64::from(parcel.len) };
        self.check_backlog();
    }

    fn arrive(&mut self, id: u32, (_, len, flow, class, ecn): Sent) {
        let now = self.ledger.now;
        let parcel = Parcel { id, len, flow, class, ecn, arrived: now };
        self.ledger.inside.insert(id, (parcel, false));
        self.queue.enqueue(now, parcel, self.in_service, &mut self.ledger);
        match self.busy_until {
            None => self.take(),
            Some(_) => self.check_backlog(),
        }
    }

    fn check_backlog(&mut self) {
        let (says, has) = (self.queue.backlog(), self.ledger.backlog());
        self.ledger.check(says == has, || format!("says {says:?}, has {has:?}"));
        let (limits, counted) = (self.case.limits, self.case.limits.counted(has, self.in_service));
        // With an idle link that does not count its packet, one may be larger than the limit: it never waits.
        let within = counted.packets <= limits.packets && counted.bytes <= limits.bytes;
        self.ledger.check(within, || format!("{counted:?} in {limits:?}"));
    }

    /// Plays everything; what happened, or what was wrong.
    fn play(mut self) -> Result<Vec<Event>, String> {
        let mut arrival = Time::ZERO;
        for (id, sent) in self.case.packets.iter().enumerate() {
            arrival += Span(sent.0);
            while let Some(free) = self.busy_until.filter(|t| *t <= arrival) {
                self.ledger.now = free;
                self.take();
            }
            self.ledger.now = arrival;
            self.arrive(id as u32, *sent);
            if let Some(wrong) = self.ledger.wrong {
                return Err(wrong);
            }
        }
        while let Some(free) = self.busy_until {
            self.ledger.now = free;
            self.take();
        }
        let (says, has) = (self.queue.backlog(), self.ledger.backlog());
        self.ledger.check(says == Backlog::default() && says == has, || format!("at the end {says:?}, {has:?}"));
        self.ledger.wrong.map_or(Ok(self.ledger.events), Err)
    }
}

fn play(discipline: &Discipline, case: &Case) -> Option<(Vec<(String, Value)>, Result<Vec<Event>, String>)> {
    let (given, queue) = build(discipline, case)?;
    let link = Link {
        name: discipline.name,
        case,
        queue,
        ledger: Ledger::default(),
        busy_until: None,
        in_service: Backlog::default(),
        last: BTreeMap::new(),
    };
    Some((given, link.play()))
}

/// What the cases of a discipline went through.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    played: u32,
    refused: u32,
    dropped: usize,
    marked: usize,
}

fn contract(discipline: &Discipline) -> Met {
    let cases_each = number("ACKCLOCK_CASES", 300) as u32;
    let config = Config {
        cases: cases_each,
        rng_seed: RngSeed::Fixed(number("ACKCLOCK_SEED", 1)),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let met = RefCell::new(Met::default());
    let outcome = TestRunner::new(config).run(&cases(), |case| {
        let mut met = met.borrow_mut();
        let Some((_, result)) = play(discipline, &case) else {
            met.refused += 1;
            return Ok(());
        };
        let events = result.map_err(TestCaseError::fail)?;
        let again = play(discipline, &case).map(|(_, events)| events);
        prop_assert!(again == Some(Ok(events.clone())), "another time it does something else");
        met.played += 1;
        met.dropped += events.iter().filter(|e| matches!(e, Event::Dropped(..))).count();
        met.marked += events.iter().filter(|e| matches!(e, Event::Marked(..))).count();
        Ok(())
    });
    let met = met.into_inner();
    match outcome {
        Ok(()) => met,
        Err(TestError::Fail(why, case)) => {
            let given = build(discipline, &case).map(|(given, _)| given);
            panic!("{}: {why}\n{given:?}\n{case:?}", discipline.name)
        }
        Err(e) => panic!("{}: {e}", discipline.name),
    }
}

#[test]
fn every_discipline_keeps_the_contract() {
    // Which of them can mark at all.
    const MARKING: [&str; 5] = ["red", "codel", "fq_codel", "pie", "dualpi2"];
    for discipline in DISCIPLINES {
        let met = contract(discipline);
        assert!(met.played > met.refused / 9 && met.played > 10, "{}: {met:?}", discipline.name);
        assert!(met.dropped > 1000 || number("ACKCLOCK_CASES", 300) < 100, "{}: {met:?}", discipline.name);
        assert!(met.marked > 0 || !MARKING.contains(&discipline.name), "{}: {met:?}", discipline.name);
    }
}
