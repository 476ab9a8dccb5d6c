//! What holds for every element of a path: nothing is lost or invented, nothing comes out before it went in, what keeps order
//! keeps it, and `next_due` is neither late nor early. Random elements under random traffic.
#![allow(clippy::unwrap_used)]

use ackclock_core::cell::hspa::HspaParams;
use ackclock_core::cell::{
    CellParams, Discipline, Errors, Fading, Mode, PowerControl, Profile, Promotion, Rlc, Thresholds, UserParams,
};
use ackclock_core::impair::{Reorder, ScriptedDrop};
use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::path::registry::{self, ELEMENTS};
use ackclock_core::path::{Bucket, DelayLine, Element, Event, JitterParams, LinkParams, LossParams, Out, Pace, Port};
use ackclock_core::path::{Setting, Store};
use ackclock_core::queue::registry::DISCIPLINES;
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
/// Flows of the traffic; each has a class and an ECN field of its own.
const FLOWS: u64 = 4;
/// After this time nothing arrives any more.
const UNTIL: u64 = 400 * MS;

fn cases() -> u64 {
    crate::random_cases::cases(2000)
}

fn pick<'a, T>(rng: &mut Stream, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}

/// A link with any pace, discipline and medium.
fn random_link(rng: &mut Stream) -> LinkParams {
    let bucket = |rng: &mut Stream| Bucket {
        rate_bps: 500_000 + rng.below(5_000_000),
        burst_bytes: 3000 + rng.below(20_000) as u32,
    };
    let rate = 800_000 + rng.below(20_000_000);
    let pace = match rng.below(5) {
        0 | 1 => Pace::Constant(rate),
        2 => Pace::Shaped(bucket(rng), rate),
        3 => {
            let steps = vec![(Time(0), rate), (Time(30 * MS), 0), (Time(50 * MS), rate / 2 + 1)];
            Pace::Schedule(steps, Some(Span(80 * MS)))
        }
        _ => Pace::Trace(
            (0..20)
                .scan(0, |at, _| {
                    *at += rng.below(6);
                    Some(*at)
                })
                .chain([120])
                .collect(),
            700 + rng.below(1000) as u32,
        ),
    };
    let mut link = LinkParams::new("test", pace, Span(*pick(rng, &[0, 1, 700_000, 10 * MS])));
    link.overhead = *pick(rng, &[0, 14]);
    link.queue.kind = pick(rng, DISCIPLINES).name.to_owned();
    link.queue.limits.packets = 2 + rng.below(60);
    link.queue.limits.includes_service = rng.below(2) == 0;
    link.queue.weights = vec![1.0, 2.5];
    link.policer = (rng.below(6) == 0).then(|| bucket(rng));
    link.loss = match rng.below(6) {
        0 => LossParams::Bernoulli(0.1),
        1 => LossParams::GilbertElliott([0.05, 0.3, 0.0, 1.0]),
        2 => LossParams::BitErrors(1e-5),
        3 => LossParams::Every(7),
        4 => LossParams::Scripted(vec![ScriptedDrop { flow: 1, nth: 3 }]),
        _ => LossParams::None,
    };
    if rng.below(2) == 0 {
        return link;
    }
    link.jitter = JitterParams::Exponential(Span(1 + rng.below(5 * MS)));
    link.preserve_order = rng.below(2) == 0;
    link.duplicate = *pick(rng, &[0.0, 0.1]);
    link.reorder = Reorder { probability: *pick(rng, &[0.0, 0.1]), extra: Span(3 * MS) };
    let later = link.delay + Span(2 * MS);
    link.events = vec![Event { at: Time(100 * MS), delay: Some(later), duplicate: Some(0.3), ..Event::default() }];
    link
}

/// A cell with any scheduler, errors and RLC, in which everybody can be heard.
fn random_cell(rng: &mut Stream) -> CellParams {
    let mut user = || match rng.below(3) {
        0 => UserParams::with_snr(-7.0 + rng.below(30) as f64, 5.0 + rng.below(40) as f64),
        _ => UserParams::at(rng.below(350) as f64),
    };
    let users = vec![user(), user(), user()];
    let mut cell = CellParams::new("test", users);
    cell.bandwidth_mhz = *pick(rng, &[1.4, 3.0, 5.0, 10.0, 20.0]);
    cell.scheduler = *pick(rng, &Discipline::ALL);
    cell.fit = rng.below(3) > 0;
    cell.thresholds = *pick(rng, &Thresholds::ALL);
    cell.rlc = Rlc::of(*pick(rng, &[Mode::Unacknowledged, Mode::Acknowledged]));
    cell.rlc.reordering = Span(*pick(rng, &[1, 10, 35, 100]) * MS);
    cell.errors = *pick(rng, &[Errors::None, Errors::Bler, Errors::Geometric(0.1, 0.01), Errors::Geometric(0.5, 0.5)]);
    cell.max_retransmissions = rng.below(4) as u8;
    cell.shadowing_db = *pick(rng, &[0.0, 3.0]);
    if rng.below(3) == 0 {
        cell.fading = Some(Fading { profile: *pick(rng, &Profile::ALL), speed_kmh: *pick(rng, &[0.0, 3.0, 60.0]) });
        cell.cqi_subband = rng.below(2) == 0;
        cell.cqi_period = Span(*pick(rng, &[1, 5]) * MS);
    }
    cell.power_control = (rng.below(4) == 0).then_some(PowerControl { alpha: 0.8, p0_dbm: -80.0 });
    cell.down_delay = Span((1 + rng.below(6)) * MS);
    cell.up_delay = Span((1 + rng.below(6)) * MS);
    cell.grant_delay = Span((1 + rng.below(6)) * MS);
    cell.sr_period = Span(*pick(rng, &[0, 1, 10, 40]) * MS);
    cell.promotion = (rng.below(4) == 0).then_some(Promotion { after: Span(20 * MS), delay: Span(30 * MS) });
    (cell.down_background, cell.up_background) = (*pick(rng, &[0.0, 0.5]), *pick(rng, &[0.0, 0.3]));
    cell.series = (rng.below(3) == 0).then_some(Span(7 * MS));
    if rng.below(2) == 0 {
        cell.down_queue.kind = pick(rng, DISCIPLINES).name.to_owned();
        cell.down_queue.params.clear();
        cell.down_queue.limits.packets = 2 + rng.below(60);
        cell.down_queue.weights = vec![1.0, 2.5];
        cell.users[0].down_queue = Some(cell.up_queue.clone());
        cell.up_queue = cell.down_queue.clone();
    }
    cell
}

/// Visits in vain per packet: the begin and the end of a transmission at most.
const VISITS: u64 = 2;
/// In a cell a packet may take many TTIs, and every few of them somebody has to look: 1500 bytes in blocks of 19, the smallest of the
/// narrowest band, which it shares with others.
const VISITS_OF_A_CELL: u64 = 40;

fn random_element(rng: &mut Stream) -> (String, Box<dyn Element>) {
    let setting = Setting { seed: rng.below(1000), run: 0, from: Time(50 * MS), to: Time(UNTIL) };
    match rng.below(10) {
        8 | 9 => {
            if rng.below(4) == 0 {
                let mut hspa = HspaParams::new("test", 2);
                hspa.down_queue.kind = pick(rng, DISCIPLINES).name.to_owned();
                hspa.down_queue.limits.packets = 2 + rng.below(60);
                hspa.jitter = Span(*pick(rng, &[0, 1, 10 * MS]));
                let made = hspa.build(&setting).unwrap_or_else(|e| panic!("{e}: {hspa:?}"));
                return (format!("{hspa:?}"), Box::new(made));
            }
            let cell = random_cell(rng);
            let made = cell.build(&setting).unwrap_or_else(|e| panic!("{e}: {cell:?}"));
            (format!("{cell:?}"), Box::new(made))
        }
        0 => ("delay line".into(), Box::new(DelayLine::<Parcel>::new(Span(rng.below(20 * MS))))),
        1 | 2 => {
            let kind = pick(rng, ELEMENTS);
            (kind.name.into(), registry::build(kind.name, &[]).unwrap())
        }
        _ => {
            let link = random_link(rng);
            let made = link.build(&setting).unwrap_or_else(|e| panic!("{e}: {link:?}"));
            (format!("{link:?}"), Box::new(made))
        }
    }
}

/// Arrivals in bursts, with pauses: when, at which port, what.
fn traffic(rng: &mut Stream, ports: Port) -> Vec<(Time, Port, Parcel)> {
    let mut now = 0;
    let mut all = Vec::new();
    while now < UNTIL {
        now += *pick(rng, &[0, 0, 1, 50_000, 400_000, 3 * MS, 60 * MS]);
        for _ in 0..1 + rng.below(6) {
            let flow = rng.below(FLOWS) as u32;
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::NotEct][flow as usize];
            let (id, len) = (all.len() as u32, 40 + rng.below(1461) as u32);
            let parcel = Parcel { id, len, flow, class: (flow / 2) as u8, ecn, data: len > 60, ..Parcel::default() };
            all.push((Time(now), rng.below(u64::from(ports)) as Port, parcel));
        }
    }
    all
}

/// What becomes of every packet, by its name.
#[derive(Default)]
struct Fates {
    /// Of each packet that is inside: the one that it is or that it was made of, and whether it was marked.
    inside: BTreeMap<u32, (u32, bool)>,
    dropped: u64,
    copied: u64,
    named: u32,
}

impl Store for Fates {
    fn drop(&mut self, id: u32) {
        assert!(self.inside.remove(&id).is_some(), "{id} is dropped that was not there");
        self.dropped += 1;
    }

    fn mark(&mut self, id: u32) {
        let packet = self.inside.get_mut(&id).unwrap();
        assert!(!packet.1, "{id} is marked twice");
        packet.1 = true;
    }

    fn duplicate(&mut self, id: u32) -> Option<u32> {
        let packet = self.inside[&id];
        if self.copied % 5 == 4 {
            // There is not always room for another.
            self.copied += 1;
            return None;
        }
        (self.copied, self.named) = (self.copied + 1, self.named + 1);
        self.inside.insert(self.named, packet);
        Some(self.named)
    }
}

struct Played {
    out: Vec<Out>,
    fates: Fates,
    /// Visits at which nothing came out.
    in_vain: u64,
}

/// Plays `traffic` through `element`, which is asked when it is due and, `curious`, at other times as well.
fn play(element: &mut dyn Element, traffic: &[(Time, Port, Parcel)], mut curious: Option<Stream>) -> Played {
    let mut fates = Fates { named: 1 << 20, ..Fates::default() };
    let (mut out, mut in_vain) = (Vec::new(), 0);
    let mut last = Time::ZERO;
    let end = (Time(UNTIL * 1000), 0, Parcel::default());
    for (now, port, parcel) in traffic.iter().chain([&end]) {
        loop {
            let due = element.next_due();
            assert!(due >= last, "due at {due:?}, before the last visit at {last:?}");
            if due >= *now {
                break;
            }
            if let Some(rng) = &mut curious {
                // Before it is due nothing is out, and asking changes nothing.
                let early = Time(last.0 + rng.below(due.0 - last.0 + 1)).max(last);
                if early < due {
                    assert_eq!(element.pull(early, &mut fates), None, "due at {due:?}, but out at {early:?}");
                    assert!(element.next_due() >= due, "asking made it due earlier");
                }
                if element.next_due() != due {
                    continue;
                }
            }
            let before = out.len();
            while let Some(o) = element.pull(due, &mut fates) {
                assert_eq!(o.at, due, "it is late");
                out.push(o);
            }
            assert!(out.len() > before || element.next_due() > due, "visited in vain, and again at {due:?}");
            in_vain += u64::from(out.len() == before);
            last = due;
        }
        last = last.max(Time(now.0.saturating_sub(1)));
        if parcel.len > 0 {
            fates.inside.insert(parcel.id, (parcel.id, false));
            element.push(*now, *port, *parcel, &mut fates);
        }
    }
    Played { out, fates, in_vain }
}

/// What must be true of everything that came out.
fn check(name: &str, element: &dyn Element, traffic: &[(Time, Port, Parcel)], played: &mut Played) {
    let mut last: BTreeMap<(Port, u32), u32> = BTreeMap::new();
    let mut came = Time::ZERO;
    for o in &played.out {
        let (of, marked) =
            played.fates.inside.remove(&o.parcel.id).unwrap_or_else(|| panic!("{name}: {o:?} came twice"));
        let (sent, port, parcel) = traffic[of as usize];
        assert!(o.at >= sent && o.at >= came, "{name}: {o:?} of {sent:?}");
        came = o.at;
        let ecn = if marked { Ecn::Ce } else { parcel.ecn };
        assert!(!marked || parcel.ecn != Ecn::NotEct, "{name}: {o:?} is marked and cannot be");
        let expected = (parcel.len, parcel.flow, parcel.class, parcel.data, ecn);
        assert_eq!((o.parcel.len, o.parcel.flow, o.parcel.class, o.parcel.data, o.parcel.ecn), expected, "{name}");
        assert!(o.port < element.ports() && (element.ports() == 1 || o.port == port), "{name}: {o:?}");
        if element.keeps_order() {
            // A flow may be reordered against others, never in itself.
            let before = last.insert((port, parcel.flow), of).unwrap_or(0);
            assert!(before <= of, "{name}: {of} behind {before}");
        }
    }
    assert!(!element.next_due().is_set(), "{name}: due for ever");
    assert_eq!(played.fates.inside.len(), 0, "{name}: {:?} neither came out nor were dropped", played.fates.inside);
}

#[test]
fn every_element_conserves_keeps_order_and_is_due_when_something_happens() {
    let (mut packets, mut dropped, mut copied, mut marked) = (0, 0, 0, 0);
    for seed in 0..cases() {
        let make = || random_element(&mut Stream::named(seed, 0, "element"));
        let (name, mut element) = make();
        let traffic = traffic(&mut Stream::named(seed, 0, "traffic"), element.ports());
        let mut played = play(element.as_mut(), &traffic, None);
        check(&name, element.as_ref(), &traffic, &mut played);
        let (_, mut again) = make();
        let asked = play(again.as_mut(), &traffic, Some(Stream::named(seed, 0, "curious")));
        // Copies are named in the order in which they are made, which asking does not change either.
        assert!(asked.out == played.out, "seed {seed}: asking changed what came out of {name}");
        let visits =
            if name.starts_with("CellParams") || name.starts_with("HspaParams") { VISITS_OF_A_CELL } else { VISITS };
        assert!(played.in_vain <= visits * traffic.len() as u64, "{name}: {} visits in vain", played.in_vain);
        packets += traffic.len() as u64;
        dropped += played.fates.dropped;
        copied += played.fates.copied;
        marked += played.out.iter().filter(|o| o.parcel.ecn == Ecn::Ce).count();
    }
    assert!(
        packets > 50_000 && dropped > 5000 && copied > 500 && marked > 50,
        "{packets}, {dropped}, {copied}, {marked}"
    );
}

#[test]
fn a_link_of_constant_rate_is_never_visited_in_vain() {
    for seed in 0..cases() / 4 {
        let mut rng = Stream::named(seed, 0, "plain");
        let mut link =
            LinkParams::new("plain", Pace::Constant(1_000_000 + rng.below(20_000_000)), Span(rng.below(10 * MS)));
        link.queue.kind = pick(&mut rng, &["droptail", "red", "pie", "drr", "scfq"]).to_string();
        link.queue.limits.packets = 50;
        let setting = Setting { seed, run: 0, from: Time::ZERO, to: Time(UNTIL) };
        let traffic = traffic(&mut rng, 1);
        let played = play(&mut link.build(&setting).unwrap(), &traffic, None);
        assert_eq!(played.in_vain, 0, "{link:?}");
    }
}
