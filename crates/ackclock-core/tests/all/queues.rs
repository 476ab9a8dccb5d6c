//! The contract of queues, for every discipline of the registry: random parameters, random arrivals, a link that serves
//! at a fixed rate.
//!
//! The draws are the same in every run. `ACKCLOCK_CASES` sets how many cases each discipline plays, `ACKCLOCK_SEED` draws
//! others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::random_cases::{self, seed};
use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::params::{Kind, ParamSpec, Params, Value};
use ackclock_core::queue::registry::{DISCIPLINES, Discipline, Site};
use ackclock_core::queue::{Backlog, Limits, Queue, Reason, Sink};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A packet on its way: time since the one before (in thousandths of the transmission of 1500 bytes), bytes, flow, class,
/// ECN.
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
    /// How busy the senders are, in percent: what their gaps are stretched to.
    stretch: u64,
    packets: Vec<Sent>,
}

fn packets() -> impl Strategy<Value = Vec<Sent>> {
    let gap = prop_oneof![
        80 => Just(0u64),
        80 => 0..1_500u64,
        20 => 0..10_000u64,
        1 => 0..1_000_000u64,
    ];
    let len = prop_oneof![Just(40u32), Just(1500u32), 40..=1500u32];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    prop::collection::vec((gap, len, 0..6u32, 0..4u8, ecn), 1..800)
}

fn cases() -> impl Strategy<Value = Case> {
    let rate = prop_oneof![Just(1_000_000u64), Just(10_000_000), 300_000..100_000_000u64];
    let told = prop_oneof![4 => Just(100u64), 1 => Just(50u64), 1 => Just(200u64)];
    let packets_limit = prop_oneof![4 => 1..100u64, 1 => Just(u64::MAX)];
    let bytes_limit = prop_oneof![1 => 1_500..100_000u64, 2 => Just(u64::MAX)];
    let weights = prop::collection::vec(prop_oneof![Just(1.0), Just(0.3), 0.1..8.0f64], 0..5);
    let draws = prop::collection::vec((0..8u8, 0.0..1.0f64), 40);
    let stretch = prop_oneof![Just(20u64), Just(60), Just(150)];
    let site = (rate, told, packets_limit, bytes_limit, any::<bool>(), weights);
    (site, draws, stretch, packets()).prop_map(
        |((rate_bps, told, packets, bytes, includes_service, weights), draws, stretch, sent)| Case {
            rate_bps,
            told,
            limits: Limits { packets, bytes, includes_service },
            weights,
            draws,
            stretch,
            packets: sent,
        },
    )
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
    let x = match (how, spec.kind) {
        (0..=3, Kind::Bool | Kind::Choice(_)) if how > 1 => draw,
        (0..=3, _) => return None,
        // Near the default, at an end of the range, or anywhere: durations and counts are tried in the short, where
        // these arrivals can tell.
        (4 | 5, _) => default * (0.1 + 3.0 * draw),
        (6, _) => [range.0, range.1][pick(2)],
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

/// Parameters that are not left at their defaults.
type Given = Vec<(String, Value)>;

/// The queue of a case, unless it refuses the parameters.
fn build(discipline: &Discipline, case: &Case) -> Option<(Given, Box<dyn Queue>)> {
    let given: Given = (discipline.params.iter())
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
    bytes: u64,
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
        self.bytes -= u64::from(arrived.len);
        let expected = Parcel { ecn: if marked { Ecn::Ce } else { arrived.ecn }, ..arrived };
        self.check(*parcel == expected, || format!("{how} as {parcel:?}, but it was {expected:?}"));
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.inside.len() as u64, bytes: self.bytes }
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
        let parcel = Parcel { id, len, flow, class, ecn, arrived: now, ..Parcel::default() };
        self.ledger.inside.insert(id, (parcel, false));
        self.ledger.bytes += u64::from(len);
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
            arrival += Span(sent.0 * self.case.stretch * 120_000_000 / self.case.rate_bps);
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

/// What happened, or what was wrong.
fn play(name: &'static str, case: &Case, queue: Box<dyn Queue>) -> Result<Vec<Event>, String> {
    let ledger = Ledger::default();
    let (busy_until, in_service, last) = (None, Backlog::default(), BTreeMap::new());
    Link { name, case, queue, ledger, busy_until, in_service, last }.play()
}

/// What a discipline went through.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    played: usize,
    dropped: usize,
    marked: usize,
}

/// Plays `case` twice, if the discipline takes these parameters.
fn contract(discipline: &Discipline, case: &Case, met: &mut Met) -> Result<(), String> {
    let (Some((_, queue)), Some((_, other))) = (build(discipline, case), build(discipline, case)) else {
        return Ok(());
    };
    let events = play(discipline.name, case, queue)?;
    if play(discipline.name, case, other).as_ref() != Ok(&events) {
        return Err("another time it does something else".to_owned());
    }
    met.played += 1;
    met.dropped += events.iter().filter(|e| matches!(e, Event::Dropped(..))).count();
    met.marked += events.iter().filter(|e| matches!(e, Event::Marked(..))).count();
    Ok(())
}

#[test]
fn every_discipline_keeps_the_contract() {
    let config = Config {
        cases: random_cases::cases(3000) as u32,
        rng_seed: RngSeed::Fixed(seed()),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let count = config.cases as usize;
    let met = RefCell::new(vec![Met::default(); DISCIPLINES.len()]);
    let outcome = TestRunner::new(config).run(&cases(), |case| {
        for (discipline, met) in DISCIPLINES.iter().zip(met.borrow_mut().iter_mut()) {
            let fail = |why| TestCaseError::fail(format!("{}: {why}", discipline.name));
            contract(discipline, &case, met).map_err(fail)?;
        }
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => {
            let name = why.message().split(':').next().unwrap_or_default();
            let discipline = DISCIPLINES.iter().find(|d| d.name == name);
            let given = discipline.and_then(|d| build(d, &case)).map(|(given, _)| given);
            panic!("{why}\n{given:?}\n{case:?}")
        }
        Err(e) => panic!("{e}"),
    }
    // Those with an ECN field to set.
    const MARKING: [&str; 5] = ["red", "codel", "fq_codel", "pie", "dualpi2"];
    for (discipline, met) in DISCIPLINES.iter().zip(met.into_inner()) {
        // The others have parameters that the discipline refuses.
        assert!(met.played > count / 3 * 2, "{}: {met:?}", discipline.name);
        assert!(count < 500 || met.dropped > 5 * count, "{}: {met:?}", discipline.name);
        assert!(count < 500 || met.marked > 0 || !MARKING.contains(&discipline.name), "{}: {met:?}", discipline.name);
    }
}

/// A FIFO that does something wrong with every fifth packet.
struct Faulty {
    fault: &'static str,
    fifo: Vec<Parcel>,
    limits: Limits,
}

impl Queue for Faulty {
    fn enqueue(&mut self, now: Time, mut parcel: Parcel, in_service: Backlog, sink: &mut dyn Sink) {
        let fault = if parcel.id % 5 == 0 { self.fault } else { "" };
        if fault != "no limit" && !self.limits.admit(self.backlog(), in_service, parcel.len) {
            return sink.dropped(now, parcel, Reason::Full);
        }
        match fault {
            "loses" => return,
            "drops and keeps" => sink.dropped(now, parcel, Reason::Early),
            "drops in future" => return sink.dropped(now + Span(1), parcel, Reason::Early),
            "drops in past" => return sink.dropped(Time(now.0.saturating_sub(1)), parcel, Reason::Early),
            "marks what is not capable" => {
                parcel.ecn = Ecn::Ce;
                sink.marked(now, &parcel, Reason::Early);
            }
            "does not say that it marks" => parcel.ecn = Ecn::Ce,
            "overtakes" => return self.fifo.insert(0, parcel),
            _ => {}
        }
        self.fifo.push(parcel);
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn Sink) -> Option<Parcel> {
        let first = self.fifo.first()?;
        (self.fault != "idles" || first.id % 5 != 0).then(|| self.fifo.remove(0))
    }

    fn backlog(&self) -> Backlog {
        let fault = u64::from(self.fault == "miscounts");
        let bytes: u64 = self.fifo.iter().map(|p| u64::from(p.len)).sum();
        Backlog { packets: self.fifo.len() as u64, bytes: bytes + fault }
    }
}

#[test]
fn what_breaks_the_contract_is_found() {
    // 100 packets of 1000 bytes at once, at a link with room for ten.
    let limits = Limits { packets: 10, bytes: u64::MAX, includes_service: false };
    let sent = |i: u64| (if i % 20 == 0 { 10_000 } else { 0 }, 1000, 0, 0, Ecn::NotEct);
    let (draws, packets) = (Vec::new(), (0..100).map(sent).collect());
    let case = Case { rate_bps: 1_000_000, told: 100, limits, weights: Vec::new(), draws, stretch: 100, packets };
    let outcome = |fault| play("droptail", &case, Box::new(Faulty { fault, fifo: Vec::new(), limits }));
    assert!(outcome("").is_ok());
    for (fault, found) in [
        ("loses", "says"),
        ("drops and keeps", "out, but not inside"),
        ("drops in future", "dropped at"),
        ("drops in past", "dropped at"),
        ("marks what is not capable", "marked, but it was"),
        ("does not say that it marks", "out as"),
        ("overtakes", "overtaken by"),
        ("no limit", "packets: 11, bytes: 11000 } in"),
        ("idles", "idle with a backlog"),
        ("miscounts", "says"),
    ] {
        let error = outcome(fault).expect_err(fault);
        assert!(error.contains(found), "{fault}: {error}");
    }
}
