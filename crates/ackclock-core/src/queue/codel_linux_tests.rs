//! The `linux` variants against what the functions of Linux 6.12 decide: its `codel_dequeue` and the enqueueing and
//! dequeueing of `sch_fq_codel.c`, compiled outside the kernel and given the same packets. Only their answers are here.

use super::registry::{Site, build};
use super::{Backlog, Limits, Reason, Sink};
use crate::packet::{Ecn, Parcel};
use crate::params::Value;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// A packet arrives, or the link is free.
enum Event {
    Arrival(Parcel),
    Free(Time),
}

/// 20 s of overload and rest: packets of six sizes of eight flows, from 100 s on, so that Linux's clock, which begins at
/// the start of the machine, has run for more than 16 intervals.
fn events() -> Vec<Event> {
    let mut rng = Stream::named(8, 0, "events");
    let (mut arrival, mut free, start) = (100_000_000_000u64, 100_000_000_000u64, 100_000_000_000u64);
    let mut events = Vec::new();
    let mut id = 0;
    while free < start + 20_000_000_000 {
        if arrival <= free {
            let len = [64, 300, 576, 1500, 1500, 1514][rng.below(6) as usize];
            let flow = rng.below(1 + rng.clone().below(8)) as u32;
            let ecn = [Ecn::NotEct, Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][rng.below(5) as usize];
            let at = Time(arrival);
            events.push(Event::Arrival(Parcel { id, flow, len, ecn, arrived: at, ..Parcel::default() }));
            id += 1;
            // Four seconds of 1.4 packets per transmission, then one of 0.5.
            let mean = if (arrival - start) % 5_000_000_000 < 4_000_000_000 { 700_000 } else { 2_000_000 };
            arrival += rng.below(2 * mean);
        } else {
            events.push(Event::Free(Time(free)));
            free += 500_000 + rng.below(1_000_000);
        }
    }
    events
}

/// Counts of what happened, and a hash (FNV-1a) of the times and numbers of all that left, in their order.
#[derive(Debug, PartialEq)]
struct Answers {
    sent: usize,
    full: usize,
    delay: usize,
    hash: u64,
}

impl Answers {
    fn note(&mut self, what: u64, at: Time, id: u32, ecn: u64) {
        for word in [what, at.0, u64::from(id), ecn] {
            self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Sink for Answers {
    fn dropped(&mut self, at: Time, parcel: Parcel, reason: Reason) {
        let full = reason == Reason::Full;
        *(if full { &mut self.full } else { &mut self.delay }) += 1;
        self.note(if full { 1 } else { 2 }, at, parcel.id, 0);
    }

    fn marked(&mut self, _: Time, _: &Parcel, _: Reason) {}
}

fn answers(name: &str, packets: u64, given: &[(&str, Value)]) -> Answers {
    let mut given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    given.push(("variant".to_owned(), Value::Text("linux".to_owned())));
    let site = Site {
        limits: Limits { packets, bytes: u64::MAX, includes_service: false },
        rate_bps: 10_000_000,
        delay: Span::ZERO,
        packet: 1514,
        weights: Vec::new(),
        rng: Stream::named(1, 0, "queue"),
    };
    let mut q = build(name, &given, site).unwrap();
    let mut answers = Answers { sent: 0, full: 0, delay: 0, hash: 0xcbf2_9ce4_8422_2325 };
    for event in events() {
        match event {
            Event::Arrival(p) => q.enqueue(p.arrived, p, Backlog { packets: 1, bytes: 1500 }, &mut answers),
            Event::Free(now) => {
                if let Some(p) = q.dequeue(now, &mut answers) {
                    answers.sent += 1;
                    answers.note(3, now, p.id, p.ecn as u64);
                }
            }
        }
    }
    answers
}

#[test]
fn codel_decides_as_linux() {
    let got = answers("codel", 1000, &[]);
    assert_eq!(got, Answers { sent: 19276, full: 317, delay: 5312, hash: 0x9247_49d5_e232_8832 });
    let ms = |ms| Value::Duration(Span::from_millis(ms));
    let got = answers(
        "codel",
        100,
        &[("ecn", Value::Bool(true)), ("target", ms(1)), ("interval", ms(20)), ("ce_threshold", ms(2))],
    );
    assert_eq!(got, Answers { sent: 18034, full: 555, delay: 6316, hash: 0x3a17_5653_0b1b_a184 });
}

#[test]
fn fq_codel_decides_as_linux() {
    let got = answers("fq_codel", 10_240, &[("ecn", Value::Bool(false))]);
    assert_eq!(got, Answers { sent: 18908, full: 0, delay: 5997, hash: 0x16b1_e548_83a1_6757 });
    let got = answers("fq_codel", 40, &[("quantum", Value::Int(300)), ("drop_batch", Value::Int(7))]);
    assert_eq!(got, Answers { sent: 18084, full: 4502, delay: 2319, hash: 0xc502_88cf_fd42_bde4 });
}
