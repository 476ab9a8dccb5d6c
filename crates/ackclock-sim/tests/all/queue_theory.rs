//! Links against queueing theory: the elements themselves, fed with Poisson arrivals.
//!
//! Every case runs on both forms of a link, which must agree to the nanosecond. Means are compared with the formulas
//! of M/D/1, M/M/1 and their finite versions (L. Kleinrock, *Queueing Systems*, volume 1, 1975) within four standard
//! errors, estimated from the means of batches that are long against the memory of the queue.

#![allow(clippy::unwrap_used)]

use ackclock_core::impair::{Loss, Medium};
use ackclock_core::link::{Serializer, Server};
use ackclock_core::path::{self, Common, LinkStats, Parts};
use ackclock_core::queue::{DropTail, Limits, Step};
use ackclock_core::rng::Stream;
use ackclock_core::time::Time;
use ackclock_sim::slab::Slab;
use ackclock_sim::wire::{FusedLink, Link};

/// A link of 100 Mbit/s serves 1000 packets of this mean size per second.
const RATE: u64 = 100_000_000;
const SIZE: f64 = 12_500.0;
const MU: f64 = 1000.0;
const BATCHES: usize = 50;
const UNLIMITED: Limits = Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: true };

/// How long packets are.
#[derive(Clone, Copy)]
enum Service {
    Constant,
    Exponential,
}

/// What became of each packet: arrival and departure in nanoseconds, if it was taken.
type Journey = (u64, Option<u64>);

struct Played {
    journeys: Vec<Journey>,
    sizes: Vec<u32>,
    stats: LinkStats,
}

fn exponential(rng: &mut Stream, mean: f64) -> f64 {
    -mean * (1.0 - rng.uniform()).ln()
}

/// Arrival times and sizes of `n` packets at `rho` times the link's capacity.
fn traffic(rho: f64, service: Service, n: usize, seed: u64) -> Vec<(Time, u32)> {
    let mut gaps = Stream::named(seed, 0, "gaps");
    let mut sizes = Stream::named(seed, 0, "sizes");
    let mut now = 0.0;
    let size = |rng: &mut Stream| match service {
        Service::Constant => SIZE,
        Service::Exponential => exponential(rng, SIZE).round().max(1.0),
    };
    (0..n)
        .map(|_| {
            now += exponential(&mut gaps, 1e9 / (rho * MU));
            (Time(now as u64), size(&mut sizes) as u32)
        })
        .collect()
}

fn link(general: bool, limits: Limits, delay: u64, end: Time) -> Link {
    let stats = LinkStats::new(Time::ZERO, end, limits.includes_service);
    let common = Common { delay, overhead: 0, stats };
    if general {
        Link::General(Box::new(path::Link::new(Parts {
            common,
            server: Server::Constant(Serializer::new(RATE)),
            policer: None,
            queue: Box::new(DropTail::new(limits, Step::NEVER)),
            includes_service: limits.includes_service,
            medium: Medium::new(1, 0, "link"),
        })))
    } else {
        Link::Fused(FusedLink::new(common, Loss::None, Some(RATE), limits, Step::NEVER))
    }
}

/// Takes what is out of the link up to `now`, in order of time as the engine does.
fn collect(link: &mut Link, slab: &mut Slab, now: Time, delay: u64, out: &mut Vec<u64>) {
    while link.next_due() <= now {
        let due = link.next_due();
        while let Some((p, next)) = link.pull(due, slab) {
            slab.remove(p.id);
            assert_eq!(p.exit, due, "a packet is taken when it is out");
            assert!(next == link.next_due() || !next.is_set(), "what is said of the next is true");
            out.push(due.0 - delay);
        }
    }
}

fn play(general: bool, limits: Limits, delay: u64, packets: &[(Time, u32)]) -> Played {
    let end = Time(packets.last().unwrap().0.0 + 1_000_000_000_000);
    let mut link = link(general, limits, delay, end);
    let mut slab = Slab::default();
    let (mut taken, mut exits) = (Vec::with_capacity(packets.len()), Vec::with_capacity(packets.len()));
    for &(now, len) in packets {
        collect(&mut link, &mut slab, now, delay, &mut exits);
        let (id, inside) = (slab.reserve(), slab.live());
        link.push(now, id, len, &mut slab);
        taken.push(slab.live() == inside);
    }
    collect(&mut link, &mut slab, end, delay, &mut exits);
    link.finish(end, &mut slab);
    assert_eq!(link.backlog(), (0, 0));
    let mut exit = exits.iter();
    let journeys = packets.iter().zip(taken).map(|(p, t)| (p.0.0, t.then(|| *exit.next().unwrap()))).collect();
    assert_eq!(exit.next(), None, "nothing comes out that did not go in");
    Played { journeys, sizes: packets.iter().map(|p| p.1).collect(), stats: link.stats().clone() }
}

/// Plays the packets on both forms of the link, compares the two, and checks what holds for any queue.
fn both(limits: Limits, packets: &[(Time, u32)]) -> Played {
    let fused = play(false, limits, 5_000_000, packets);
    let general = play(true, limits, 5_000_000, packets);
    assert!(fused.journeys == general.journeys, "the two forms of a link differ");
    assert_eq!(format!("{:?}", fused.stats), format!("{:?}", general.stats));
    conserved(&fused);
    fused
}

/// Nothing is lost or made, the order is kept, and the link never idles while a packet waits.
fn conserved(p: &Played) {
    let lost = p.journeys.iter().filter(|j| j.1.is_none()).count() as u64;
    let drops: u64 = p.stats.drops.iter().sum();
    assert_eq!((p.stats.arrived, drops), (p.journeys.len() as u64, lost));
    assert_eq!(p.stats.arrived, p.stats.sent + drops);
    let (mut bytes, mut free) = (0, 0);
    for (&(arrived, left), &size) in p.journeys.iter().zip(&p.sizes) {
        let Some(left) = left else { continue };
        bytes += u64::from(size);
        let service = (u64::from(size) * 8_000_000_000).div_ceil(RATE);
        // Times are rounded up to whole nanoseconds, the work is not: one nanosecond of difference at most.
        let expected = arrived.max(free) + service;
        assert!(left <= expected && left + 1 >= expected, "left at {left}, not {expected}");
        free = left;
    }
    assert_eq!(p.stats.sent_bytes, bytes);
    let busy = bytes as f64 * 8e9 / RATE as f64;
    let window = p.journeys.last().unwrap().0 as f64 + 1e12;
    assert!((p.stats.utilisation() * window - busy).abs() < 2.0 * p.stats.sent as f64);
}

/// Mean of `values` and its standard error from the means of batches.
fn estimate(values: &[f64]) -> (f64, f64) {
    let size = values.len() / BATCHES;
    let means: Vec<f64> = values.chunks_exact(size).map(|b| b.iter().sum::<f64>() / size as f64).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let variance = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (means.len() - 1) as f64;
    (mean, (variance / means.len() as f64).sqrt())
}

/// Compares with the formula; `power` is the largest relative standard error with which that means something.
fn agrees(what: &str, values: &[f64], formula: f64, power: f64) {
    let (mean, error) = estimate(values);
    assert!(error < power * formula, "{what}: {mean} ± {error} says nothing about {formula}");
    assert!((mean - formula).abs() < 4.0 * error, "{what}: {mean} ± {error}, by the formula {formula}");
}

/// Waiting times in seconds.
fn waits(p: &Played) -> Vec<f64> {
    let wait = |(&(arrived, left), &size): (&Journey, &u32)| {
        left.map(|l| (l - arrived) as f64 * 1e-9 - f64::from(size) * 8.0 / RATE as f64)
    };
    p.journeys.iter().zip(&p.sizes).filter_map(wait).collect()
}

fn blocked(p: &Played) -> Vec<f64> {
    p.journeys.iter().map(|j| f64::from(u8::from(j.1.is_none()))).collect()
}

#[test]
fn mean_wait_of_md1() {
    for (rho, n, power) in [(0.5, 400_000, 0.01), (0.8, 1_000_000, 0.01), (0.95, 4_000_000, 0.03)] {
        let p = both(UNLIMITED, &traffic(rho, Service::Constant, n, 11));
        let formula = rho / (2.0 * MU * (1.0 - rho));
        agrees(&format!("M/D/1 at {rho}"), &waits(&p), formula, power);
        // What the link reports is the mean of the same waits, and by Little's law its mean length.
        let (mean, _) = estimate(&waits(&p));
        assert!((p.stats.wait.mean().unwrap() * 1e-9 / mean - 1.0).abs() < 1e-4);
        let rate = n as f64 / (p.journeys.last().unwrap().0 as f64 * 1e-9 + 1000.0);
        assert!((p.stats.mean_packets() / (rate * (mean + 1.0 / MU)) - 1.0).abs() < 1e-4);
    }
}

#[test]
fn wait_of_mm1() {
    for (rho, n, power) in [(0.5, 400_000, 0.02), (0.8, 2_000_000, 0.02)] {
        let p = both(UNLIMITED, &traffic(rho, Service::Exponential, n, 12));
        agrees(&format!("M/M/1 at {rho}"), &waits(&p), rho / (MU * (1.0 - rho)), power);
        // P(wait > t) = rho exp(-mu (1 - rho) t).
        let p95 = (rho / 0.05f64).ln() / (MU * (1.0 - rho));
        let beyond: Vec<f64> = waits(&p).iter().map(|w| f64::from(u8::from(*w > p95))).collect();
        agrees(&format!("share of M/M/1 waits beyond p95 at {rho}"), &beyond, 0.05, 0.05);
        let reported = p.stats.wait.percentile(0.95).unwrap() * 1e-9;
        assert!((reported / p95 - 1.0).abs() < 0.05, "p95 {reported}, by the formula {p95}");
    }
}

/// Blocking of M/M/1/K: K packets in the system.
fn mm1k(rho: f64, k: i32) -> f64 {
    (1.0 - rho) * rho.powi(k) / (1.0 - rho.powi(k + 1))
}

/// Blocking of M/D/1/K from the Markov chain of what departures leave behind.
fn md1k(rho: f64, k: usize) -> f64 {
    let mut arrivals = vec![(-rho).exp()];
    for n in 1..=k {
        arrivals.push(arrivals[n - 1] * rho / n as f64);
    }
    let mut left = vec![1.0];
    for n in 0..k - 1 {
        let seen: f64 = (1..=n).map(|j| left[j] * arrivals[n - j + 1]).sum();
        left.push((left[n] - left[0] * arrivals[n] - seen) / arrivals[0]);
    }
    let empty = left[0] / left.iter().sum::<f64>();
    1.0 - 1.0 / (empty + rho)
}

#[test]
fn blocking_of_finite_queues() {
    for (rho, k) in [(0.8, 5), (0.95, 20), (1.2, 10)] {
        let packets = u64::from(k as u8);
        let limits = Limits { packets, ..UNLIMITED };
        let constant = traffic(rho, Service::Constant, 1_000_000, 13);
        let p = both(limits, &constant);
        agrees(&format!("M/D/1/{k} at {rho}"), &blocked(&p), md1k(rho, k as usize), 0.05);
        assert_eq!(p.stats.max_packets, packets);
        let exponential = traffic(rho, Service::Exponential, 1_000_000, 14);
        agrees(&format!("M/M/1/{k} at {rho}"), &blocked(&both(limits, &exponential)), mm1k(rho, k), 0.05);
        // The same system with a limit that does not count the packet in transmission.
        let waiting = Limits { packets: packets - 1, includes_service: false, ..UNLIMITED };
        assert!(both(waiting, &constant).journeys == p.journeys);
    }
}

#[test]
fn limits_in_bytes_hold() {
    let limits = Limits { bytes: 60_000, ..UNLIMITED };
    let p = both(limits, &traffic(0.9, Service::Exponential, 200_000, 15));
    assert!(p.stats.drops[0] > 1000 && p.stats.max_bytes <= 60_000, "{:?}", p.stats.max_bytes);
}

#[test]
fn a_transmission_that_ends_at_an_arrival_still_counts() {
    let service = 1_000_000;
    for limits in [Limits { packets: 1, ..UNLIMITED }, Limits { bytes: 12_500, ..UNLIMITED }] {
        for (late, taken) in [(0, false), (1, true)] {
            let p = both(limits, &[(Time(5), 12_500), (Time(5 + service + late), 12_500)]);
            assert_eq!(p.journeys[1].1.is_some(), taken);
        }
    }
    // Back to back, the second starts when the first ends.
    let p = both(UNLIMITED, &[(Time(5), 12_500), (Time(5 + service), 12_500)]);
    assert_eq!(p.journeys[1].1, Some(5 + 2 * service));
}

#[test]
fn a_link_without_propagation_is_the_same_in_both_forms() {
    // Arrivals in steps of half a transmission: every second one meets the end of a transmission.
    let packets: Vec<_> = (0..2000).map(|n| (Time(n * 500_000), 12_500)).collect();
    let limits = Limits { packets: 7, ..UNLIMITED };
    let (fused, general) = (play(false, limits, 0, &packets), play(true, limits, 0, &packets));
    assert!(fused.journeys == general.journeys);
    assert_eq!(format!("{:?}", fused.stats), format!("{:?}", general.stats));
    conserved(&fused);
    assert!(fused.stats.drops[0] > 900);
}
