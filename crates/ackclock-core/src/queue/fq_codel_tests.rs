//! FQ-CoDel: who goes first, shares, and what is dropped when there is no room.

use super::super::Kept;
use super::super::registry::{Site, build};
use super::*;
use crate::packet::Ecn;
use crate::params::Value;
use crate::rng::Stream;
use crate::time::Span;

const MS: u64 = 1_000_000;
const BUSY: Backlog = Backlog { packets: 1, bytes: 1500 };

fn site(packets: u64) -> Site {
    Site {
        limits: Limits { packets, bytes: u64::MAX, includes_service: false },
        rate_bps: 10_000_000,
        delay: Span::ZERO,
        packet: 1514,
        weights: Vec::new(),
        rng: Stream::named(1, 0, "queue"),
    }
}

fn queue(given: &[(&str, Value)], site: Site) -> Box<dyn Queue> {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    build("fq_codel", &given, site).unwrap()
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn parcel(id: u32, flow: u32, len: u32, at: u64) -> Parcel {
    Parcel { id, flow, len, arrived: Time(at), ..Parcel::default() }
}

/// Plays arrivals (time in ns, flow, bytes) over a link of 10 Mbit/s; returns when each packet's transmission began.
fn play(q: &mut dyn Queue, arrivals: &[(u64, u32, u32)], kept: &mut Kept) -> Vec<(u64, Parcel)> {
    let (mut begun, mut free, mut in_service) = (Vec::new(), 0u64, Backlog::default());
    let mut arrivals = arrivals.iter().enumerate().peekable();
    loop {
        let at = arrivals.peek().map_or(u64::MAX, |(_, a)| a.0);
        if in_service.packets == 1 && free <= at || at == u64::MAX {
            match q.dequeue(Time(free), kept) {
                Some(p) => {
                    begun.push((free, p));
                    in_service = Backlog { packets: 1, bytes: u64::from(p.len) };
                    free += u64::from(p.len) * 800;
                }
                None if at == u64::MAX => return begun,
                None => in_service = Backlog::default(),
            }
        } else if let Some((id, &(_, flow, len))) = arrivals.next() {
            q.enqueue(Time(at), parcel(id as u32, flow, len, at), in_service, kept);
            if in_service.packets == 0 {
                in_service.packets = 1;
                free = at;
            }
        }
    }
}

#[test]
fn a_sparse_flow_waits_for_one_packet_at_most() {
    // Two flows of 1514 bytes with more than the link takes; a third of 300 bytes at random times, 3 ms apart or more.
    // Among the others, a turn of each takes 2 x 1.2112 ms.
    let mut rng = Stream::named(3, 0, "arrivals");
    for bulk in [1u64, 2] {
        let mut arrivals: Vec<(u64, u32, u32)> =
            (0..2000 * bulk).map(|k| (k / bulk * 1_200_000, (k % bulk) as u32, 1514)).collect();
        let mut at = 10 * MS;
        while at < 2000 * MS {
            arrivals.push((at, 7, 300));
            at += 3 * MS + rng.below(10 * MS);
        }
        arrivals.sort_by_key(|a| a.0);
        let mut kept = Kept::default();
        let begun = play(&mut *queue(&[], site(10_240)), &arrivals, &mut kept);
        let mut worst = 0;
        for (k, (start, p)) in begun.iter().enumerate() {
            if p.flow != 7 {
                continue;
            }
            // What was in transmission when it arrived, then at most one packet of 1514 bytes.
            let before = begun[..k].iter().filter(|(t, _)| *t >= p.arrived.0).count();
            assert!(before <= 1, "{before} packets first, bulk {bulk}");
            assert!(start - p.arrived.0 <= 2 * 1514 * 800, "{}", start - p.arrived.0);
            worst = worst.max(start - p.arrived.0);
        }
        assert!(worst > 0 && kept.dropped.iter().all(|d| d.1.flow != 7));
    }
}

#[test]
fn backlogged_flows_share_bytes_whatever_the_size_of_their_packets() {
    // Turns of a quantum q: the service of two backlogged flows differs by less than q and a packet.
    for quantum in [300u64, 1514, 6000] {
        let mut q = queue(&[("quantum", Value::Int(quantum))], site(u64::MAX));
        let mut kept = Kept::default();
        let sizes = [1514u32, 300, 900, 40];
        for k in 0..40_000u32 {
            let flow = k % 4;
            q.enqueue(Time::ZERO, parcel(k, flow, sizes[flow as usize], 0), BUSY, &mut kept);
        }
        let mut served = [0u64; 4];
        for _ in 0..10_000 {
            let p = q.dequeue(Time::ZERO, &mut kept).unwrap();
            served[p.flow as usize] += u64::from(p.len);
            let (min, max) = (served.iter().min().unwrap(), served.iter().max().unwrap());
            assert!(max - min < quantum + 1514, "{quantum}: {served:?}");
        }
        assert!(served[3] > 200_000 && kept.dropped.is_empty(), "{served:?}");
    }
}

#[test]
fn new_queues_go_first_once() {
    let mut q = queue(&[], site(100));
    let mut kept = Kept::default();
    // Flow 0 is busy with packets of 1000 bytes: a turn of 1514 takes two.
    (0..6).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0, 1000, 0), BUSY, &mut kept));
    let mut next = |q: &mut dyn Queue| q.dequeue(Time(1), &mut kept).map(|p| p.id);
    assert_eq!((next(&mut *q), next(&mut *q), next(&mut *q)), (Some(0), Some(1), Some(2)));
    let mut sink = Kept::default();
    (10..13).for_each(|id| q.enqueue(Time(1), parcel(id, 1, 800, 1), BUSY, &mut sink));
    // Flow 1 is new: two packets of 800 (its quantum and what the last takes too much), then it is flow 0's turn: its
    // credits are 1514 - 2000 + 1514 - 1000 = 28, so one packet; then flow 1, refilled with 1514 - 86, sends its last.
    let order: Vec<u32> = std::iter::from_fn(|| next(&mut *q)).collect();
    assert_eq!(order, [10, 11, 3, 12, 4, 5]);
}

#[test]
fn a_flow_that_returns_at_once_is_not_new_again() {
    let mut q = queue(&[], site(100));
    let mut kept = Kept::default();
    (0..4).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0, 1514, 0), BUSY, &mut kept));
    q.enqueue(Time::ZERO, parcel(10, 1, 100, 0), BUSY, &mut kept);
    let mut order = Vec::new();
    for id in 11..15 {
        order.push(q.dequeue(Time::ZERO, &mut kept).unwrap().id);
        if *order.last().unwrap() >= 10 {
            // It empties and refills its queue each time.
            q.enqueue(Time::ZERO, parcel(id, 1, 1514, 0), BUSY, &mut kept);
        }
    }
    // Both began new, in this order. Flow 1's second packet follows with the credits of its first turn, its third only
    // after flow 0.
    assert_eq!(order, [0, 10, 12, 1]);
}

#[test]
fn no_room_costs_the_longest_queue_half_its_bytes() {
    // 20 packets of 100 bytes, 10 of 1500, and a last one of 100: 31 in 30 places.
    let mut q = queue(&[], site(30));
    let mut kept = Kept::default();
    (0..20).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0, 100, 0), BUSY, &mut kept));
    (20..31).for_each(|id| q.enqueue(Time::ZERO, parcel(id, u32::from(id < 30), 1500, 0), BUSY, &mut kept));
    // Half of 15000 bytes: five packets from the head.
    let drops: Vec<u32> = kept.dropped.iter().map(|d| d.1.id).collect();
    assert_eq!(drops, [20, 21, 22, 23, 24]);
    assert!(kept.dropped.iter().all(|d| d.2 == Reason::Full));
    assert_eq!(q.backlog(), Backlog { packets: 26, bytes: 2000 + 1500 * 6 });

    // At most a batch.
    for (batch, drops) in [(64, 64), (7, 7)] {
        let mut q = queue(&[("drop_batch", Value::Int(batch))], site(200));
        let mut kept = Kept::default();
        (0..201).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0, 1000, 0), BUSY, &mut kept));
        assert_eq!(kept.dropped.len(), drops);
    }
}

#[test]
fn limits_in_bytes_hold() {
    let limits = Limits { packets: u64::MAX, bytes: 3000, includes_service: true };
    let mut q = queue(&[], Site { limits, ..site(0) });
    let mut kept = Kept::default();
    (0..20).for_each(|id| {
        q.enqueue(Time::ZERO, parcel(id, id % 3, 100 + 70 * id, 0), BUSY, &mut kept);
        assert!(q.backlog().bytes + BUSY.bytes <= 3000);
    });
    // One that is larger than the room goes itself, with whatever else it takes.
    q.enqueue(Time::ZERO, parcel(99, 5, 4000, 0), BUSY, &mut kept);
    assert!(q.backlog().bytes + BUSY.bytes <= 3000 && kept.dropped.iter().any(|d| d.1.id == 99));
}

#[test]
fn the_stochastic_hash_is_fixed_by_its_perturbation_and_even() {
    let (a, b) = (11, 0x5eed_0000_1234);
    let of = |perturbation| {
        (0..1000).map(|f| Classify::Stochastic { queues: 64, perturbation }.queue(f)).collect::<Vec<usize>>()
    };
    assert_eq!(of(a), of(a));
    assert_ne!(of(a), of(b));
    let mut filled = [0u32; 64];
    of(b).iter().for_each(|&i| filled[i] += 1);
    // 15.6 expected in each, standard deviation 3.9.
    assert!(filled.iter().all(|&n| (1..=35).contains(&n)), "{filled:?}");

    // With one queue all share it: first in, first out.
    let mut q = queue(&[("hash", text("stochastic")), ("queues", Value::Int(1))], site(100));
    let mut kept = Kept::default();
    (0..30).for_each(|id| q.enqueue(Time::ZERO, parcel(id, id % 7, 1000, 0), BUSY, &mut kept));
    let order: Vec<u32> = std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut kept)).map(|p| p.id).collect();
    assert_eq!(order, (0..30).collect::<Vec<_>>());
}

/// Two flows whose packets all wait for long: 0 with thousands of them, 1 with three of 300 bytes; returns drops of each.
fn few_and_many(variant: &str) -> [usize; 2] {
    let mut q = queue(&[("variant", text(variant))], site(u64::MAX));
    let mut kept = Kept::default();
    (0..5000).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 0, 1500, 0), BUSY, &mut kept));
    (0..3).for_each(|id| q.enqueue(Time::ZERO, parcel(id, 1, 300, 0), BUSY, &mut kept));
    let mut gone = 0;
    for k in 0..1000u64 {
        let now = MS * (1000 + k);
        let sent = q.dequeue(Time(now), &mut kept).is_some_and(|p| p.flow == 1);
        let lost = kept.dropped.iter().filter(|d| d.1.flow == 1).count();
        (0..lost - gone + usize::from(sent)).for_each(|_| {
            q.enqueue(Time(now), parcel(9999, 1, 300, now - 500 * MS), BUSY, &mut kept);
        });
        gone = lost;
    }
    [0, 1].map(|flow| kept.dropped.iter().filter(|d| d.1.flow == flow).count())
}

#[test]
fn linux_looks_at_the_bytes_of_all_queues_before_it_spares_a_packet() {
    let (rfc, linux) = (few_and_many("rfc"), few_and_many("linux"));
    assert!(rfc[0] > 10 && linux[0] > 10, "{rfc:?} {linux:?}");
    // 900 bytes in a queue are less than a full packet: the RFC's CoDel spares them.
    assert!(rfc[1] == 0 && linux[1] > 10, "{rfc:?} {linux:?}");
}

#[test]
fn packets_that_understand_ecn_are_marked() {
    let mut q = queue(&[], site(u64::MAX));
    let mut kept = Kept::default();
    for id in 0..2000 {
        q.enqueue(Time::ZERO, Parcel { ecn: Ecn::Ect0, ..parcel(id, id % 2, 1500, 0) }, BUSY, &mut kept);
    }
    (1..1500u64).for_each(|k| assert!(q.dequeue(Time(k * MS), &mut kept).is_some()));
    assert!(kept.dropped.is_empty());
    let of = |flow| kept.marked.iter().filter(|m| m.1.flow == flow).count();
    // CoDel watches each by itself: the same number of marks, alternately served.
    assert!(of(0) > 30 && of(0).abs_diff(of(1)) <= 1, "{} {}", of(0), of(1));
}

#[test]
fn places_are_used_again() {
    let limits = Limits { packets: 50, bytes: u64::MAX, includes_service: false };
    let p = Params::new(PARAMS, &[]).unwrap();
    let mut q = FqCodel::new(&p, Site { limits, ..site(50) }).unwrap();
    let mut kept = Kept::default();
    for k in 0..10_000u32 {
        q.enqueue(Time(u64::from(k)), parcel(k, k % 5, 1000, u64::from(k)), BUSY, &mut kept);
        if k % 3 == 0 {
            q.dequeue(Time(u64::from(k)), &mut kept);
        }
    }
    assert!(q.store.places.len() <= 51, "{}", q.store.places.len());
}
