use super::super::registry::{self, Site};
use super::super::{Backlog, Kept, Limits};
use super::testing::{Sent, build, order, play, site, text};
use crate::packet::Parcel;
use crate::params::Value;
use crate::rng::Stream;
use crate::time::Time;

const ALL: [&str; 5] = ["scfq", "wfq", "wf2q", "fq", "drr"];

/// `n` packets of `len` bytes of `flow` at `at`.
fn burst(at: u64, flow: u32, len: u32, n: usize) -> Vec<Sent> {
    vec![(at, flow, len); n]
}

fn served(name: &str, given: &[(&str, Value)], weights: &[f64], packets: &[Sent]) -> Vec<u32> {
    let mut q = build(name, given, Site { weights: weights.to_vec(), ..site(1000) });
    let (out, kept) = play(&mut *q, packets);
    assert!(kept.dropped.is_empty() && out.len() == packets.len() && q.backlog() == Backlog::default());
    order(&out)
}

#[test]
fn a_short_packet_overtakes_a_long_queue() {
    // A1 is in service (SCFQ: V = 1000), A2 has F = 2000; B1 has F = 1000 + 500 (SCFQ), 100 + 500 (WFQ).
    let packets = [(0, 0, 1000), (0, 0, 1000), (100, 1, 500)];
    for name in ALL {
        assert_eq!(served(name, &[], &[], &packets), [0, 1, 0], "{name}");
    }
}

#[test]
fn what_a_deficit_pays_for() {
    let packets = [(0, 0, 600), (0, 0, 600), (0, 1, 1000)];
    // A1 leaves 400 to A; B1; 1400 pay for A2. With 1200 the first turn pays for both of A.
    let of = |quantum| served("drr", &[("quantum", Value::Int(quantum))], &[], &packets);
    assert_eq!(of(1000), [0, 1, 0]);
    assert_eq!(of(1200), [0, 0, 1]);
    // ns-2's 250: A1 at A's third turn (150 left), B1 at B's fourth, A2 at A's fifth (650).
    assert_eq!(of(250), [0, 1, 0]);
    // What a flow did not use is lost when it has nothing left: with the 900 it had after its first packet B could pay
    // 1500 at its turn before C's.
    let packets = [(0, 1, 100), (2000, 0, 1000), (2000, 0, 1000), (2500, 1, 1500), (2500, 2, 1000)];
    assert_eq!(served("drr", &[("quantum", Value::Int(1000))], &[], &packets), [1, 0, 2, 0, 1]);
}

#[test]
fn wf2q_does_not_run_ahead_of_the_fluid() {
    // Bennett and Zhang 1996, figures 2 and 3: a flow with half the link sends 11 packets, ten with a twentieth one each.
    let weights: Vec<f64> = (0..11).map(|flow| if flow == 0 { 0.5 } else { 0.05 }).collect();
    let mut packets = burst(0, 0, 100, 11);
    (1..11).for_each(|flow| packets.extend(burst(0, flow, 100, 1)));
    let wfq: Vec<u32> = [vec![0; 10], (1..11).collect(), vec![0]].concat();
    assert_eq!(served("wfq", &[], &weights, &packets), wfq);
    let wf2q: Vec<u32> = (1..11).flat_map(|flow| [0, flow]).chain([0]).collect();
    assert_eq!(served("wf2q", &[], &weights, &packets), wf2q);
}

#[test]
fn the_fq_of_ns2_counts_the_flows_that_wait() {
    // Flows 0 and 1 have many packets of 1000 B; flow 2 sends 1200 B at 3500 us, served from 4000 us or later.
    // FQ, at 4000 us with three flows: 0 and 1 finish at 4000 + 3000, flow 2 at 3500 + 3600.
    // WFQ: 0 and 1 finish their third packets at V = 3000, flow 2 at V(3500) + 1200 = 2950.
    let mut packets = [burst(0, 0, 1000, 4), burst(0, 1, 1000, 4)].concat();
    packets.push((3500, 2, 1200));
    assert_eq!(served("fq", &[], &[], &packets), [0, 1, 0, 1, 0, 1, 2, 0, 1]);
    assert_eq!(served("wfq", &[], &[], &packets), [0, 1, 0, 1, 2, 0, 1, 0, 1]);
}

#[test]
fn a_flow_alone_has_the_whole_link() {
    let mut rng = Stream::named(1, 0, "alone");
    let packets: Vec<Sent> = (0..200).map(|i| (i * 300, 3, 40 + rng.below(1461) as u32)).collect();
    for name in ALL {
        let mut q = build(name, &[("per_flow_limit", Value::Int(0))], site(1000));
        let (out, _) = play(&mut *q, &packets);
        assert!(out.windows(2).all(|w| w[1].0 == w[0].1.max(packets[w[1].3 as usize].0)), "{name}");
        assert!(out.iter().enumerate().all(|(i, p)| p.3 as usize == i), "{name}");
    }
}

/// Fills a queue behind a packet in service; what it drops, by number.
fn drops(name: &str, given: &[(&str, Value)], limits: Limits, packets: &[(u32, u32)]) -> Vec<u32> {
    let mut q = build(name, given, Site { limits, ..site(0) });
    let (mut sink, service) = (Kept::default(), Backlog { packets: 1, bytes: 1000 });
    for (id, (flow, len)) in packets.iter().enumerate() {
        let parcel = Parcel { id: id as u32, flow: *flow, len: *len, ..Parcel::default() };
        q.enqueue(Time::ZERO, parcel, service, &mut sink);
    }
    let dropped: Vec<u32> = sink.dropped.iter().map(|(_, p, _)| p.id).collect();
    // The rest comes out, each flow in order.
    let left: Vec<Parcel> = std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut sink)).collect();
    assert_eq!(left.len() + dropped.len(), packets.len());
    for (i, later) in left.iter().enumerate() {
        assert!(left[..i].iter().all(|p| p.flow != later.flow || p.id < later.id));
    }
    dropped
}

#[test]
fn the_longest_queue_loses() {
    let four = Limits { packets: 4, bytes: u64::MAX, includes_service: false };
    let bytes = Limits { packets: u64::MAX, bytes: 4000, includes_service: false };
    let (head, tail) = ([("drop_end", text("head"))], [("drop", text("tail"))]);
    let of = |given: &[(&str, Value)], limits, packets: &[(u32, u32)]| {
        let all = ALL.map(|name| drops(name, given, limits, packets));
        assert!(all.iter().all(|d| *d == all[0]));
        all[0].clone()
    };
    let unequal = [(0, 900), (0, 900), (0, 900), (1, 500), (1, 500)];
    assert_eq!(of(&[], four, &unequal), [2]);
    assert_eq!(of(&head, four, &unequal), [0]);
    assert_eq!(of(&tail, four, &unequal), [4]);
    // The arriving packet counts: its own flow is the longest with it.
    let own = [(0, 900), (0, 900), (1, 500), (1, 500), (0, 40)];
    assert_eq!(of(&[], four, &own), [4]);
    assert_eq!(of(&head, four, &own), [0]);
    // A large packet drives out as many small ones as it needs, and none if it cannot fit at all.
    let small = [(0, 1000), (0, 1000), (0, 1000), (0, 1000), (1, 1500)];
    assert_eq!(of(&[], bytes, &small), [3, 2]);
    assert_eq!(of(&[], bytes, &[(0, 1000), (0, 1000), (1, 4001)]), [2]);
    // Limits of a flow.
    let limit = [("per_flow_limit", Value::Int(2))];
    assert_eq!(of(&limit, bytes, &[(0, 40), (0, 40), (0, 40), (1, 40), (0, 40)]), [2, 4]);
    assert_eq!(of(&[limit, head].concat(), bytes, &[(0, 40), (0, 40), (0, 40), (1, 40), (0, 40)]), [0, 1]);
}

#[test]
fn a_flow_that_loses_packets_keeps_its_share() {
    // Flow 0 sends 4 times its share, flow 1 just above its own: both get half, from whichever end the losses come.
    let mut packets = Vec::new();
    for t in 0..2000u64 {
        packets.extend(burst(t * 1000, 0, 1000, 2));
        packets.extend(burst(t * 1000, 1, 550, 1));
    }
    for name in ALL {
        for end in ["tail", "head"] {
            let mut q = build(name, &[("drop_end", text(end))], site(20));
            let (out, _) = play(&mut *q, &packets);
            let share = |f: u32| out.iter().filter(|p| p.2 == f).map(|p| p.1 - p.0).sum::<u64>() as f64;
            let ratio = share(0) / share(1);
            assert!((0.95..1.05).contains(&ratio), "{name} {end}: {ratio}");
        }
    }
}

#[test]
fn contradictions_are_refused() {
    let error = |name, given: &[(&str, Value)], site| {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        registry::build(name, &given, site).err().map(|e| e.to_string()).unwrap_or_default()
    };
    for name in ALL {
        let both = [("drop", text("tail")), ("drop_end", text("head"))];
        assert!(error(name, &both, site(10)).starts_with("'drop_end': 'head' contradicts drop = 'tail'"));
        assert!(
            error(name, &[], Site { weights: vec![0.0], ..site(10) }).starts_with("'weights': the weight of class 0")
        );
        let needs = error(name, &[], Site { rate_bps: 0, ..site(10) }).starts_with("'rate': this scheduler needs");
        assert_eq!(needs, !["scfq", "drr"].contains(&name));
    }
}
