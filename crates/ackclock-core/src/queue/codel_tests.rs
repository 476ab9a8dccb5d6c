//! CoDel's control law, state machine and behaviour under overload.

use super::super::registry::{Site, build};
use super::super::{Backlog, Kept, Limits};
use super::*;
use crate::packet::Ecn;
use crate::params::Value;
use crate::rng::Stream;

const MS: u64 = 1_000_000;
const BUSY: Backlog = Backlog { packets: 1, bytes: 1500 };

fn site() -> Site {
    Site {
        limits: Limits { packets: u64::MAX, bytes: u64::MAX, includes_service: false },
        rate_bps: 100_000_000,
        delay: Span::ZERO,
        packet: 1500,
        weights: Vec::new(),
        rng: Stream::named(1, 0, "queue"),
    }
}

fn given(text: &[(&str, Value)]) -> Vec<(String, Value)> {
    text.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect()
}

fn law(text: &[(&str, Value)]) -> Law {
    Law::new(&Params::new(PARAMS, &given(text)).unwrap(), &site()).unwrap()
}

fn linux() -> (&'static str, Value) {
    ("variant", Value::Text("linux".into()))
}

/// A state and its law, fed with packets whose waiting time the test chooses.
struct Fed {
    law: Law,
    state: CodelState,
    kept: Kept,
}

impl Fed {
    fn new(law: Law) -> Fed {
        Fed { law, state: CodelState::default(), kept: Kept::default() }
    }

    /// One call at `ms` to a queue that holds 100 packets, all of which have waited for `waited_ms`; returns the drops.
    fn at(&mut self, ms: f64, waited_ms: f64, ecn: Ecn) -> usize {
        let before = self.kept.dropped.len();
        let now = Time((ms * 1e6) as u64);
        let arrived = now - Span((waited_ms * 1e6) as u64);
        let parcel = Parcel { len: 1500, ecn, arrived, ..Parcel::default() };
        let mut left = 150_000;
        let next = || {
            left -= 1500;
            Some((parcel, left))
        };
        assert!(self.state.dequeue(&self.law, now, next, &mut self.kept).is_some());
        self.kept.dropped.len() - before
    }
}

#[test]
fn drops_are_an_interval_over_the_root_of_their_number_apart() {
    let law = law(&[]);
    let mut state = CodelState::default();
    for (count, ms) in [(1, 100.0), (2, 70.7107), (3, 57.7350), (4, 50.0), (10, 31.6228), (100, 10.0)] {
        state.set_count(&law, count);
        assert!((state.spacing as f64 / 1e6 - ms).abs() < 5e-5, "{count}: {}", state.spacing);
    }
}

#[test]
fn linux_takes_one_newton_step_per_drop() {
    let law = law(&[linux()]);
    let mut state = CodelState::default();
    state.set_count(&law, 1);
    // 100 ms are 97656 ticks of 1024 ns; 1 is 65535/65536.
    assert_eq!((law.interval, state.spacing), (97_656, 97_654));
    let mut x = 1.0f64;
    for count in 2..200u32 {
        x = x * (3.0 - f64::from(count) * x * x) / 2.0;
        state.set_count(&law, count);
        let linux = f64::from(state.inverse) / 65536.0;
        assert!((linux - x).abs() < 4e-5, "{count}: {linux} {x}");
    }
    assert!((f64::from(state.inverse) / 65536.0 * 199f64.sqrt() - 1.0).abs() < 2e-3);
    // From 1 the step for count 2 leads to 1/2, not 0.707.
    assert_eq!(newton(u16::MAX, 2), 0x8001);
    // A count that jumped far leads nowhere: 3 - 66 wraps. By hand in 64-bit arithmetic; and 0 stays 0.
    assert_eq!((newton(u16::MAX, 66), newton(0, 64)), (WRAPPED, 0));
}

const WRAPPED: u16 = 32_865;

#[test]
fn nothing_is_dropped_before_an_interval_above_the_target() {
    let mut q = Fed::new(law(&[]));
    // Just below the target for ever; then an interval that one short wait interrupts.
    assert_eq!((0..50).map(|k| q.at(f64::from(k) * 10.0, 4.999, Ecn::NotEct)).sum::<usize>(), 0);
    assert_eq!(q.at(500.0, 5.0, Ecn::NotEct), 0);
    assert_eq!(q.at(599.0, 5.0, Ecn::NotEct), 0);
    assert_eq!(q.at(599.5, 4.0, Ecn::NotEct), 0);
    assert_eq!(q.at(600.0, 5.0, Ecn::NotEct), 0);
    assert_eq!(q.at(699.999, 5.0, Ecn::NotEct), 0);
    // The RFC drops when the interval is over, Linux one tick later.
    assert_eq!(q.at(700.0, 5.0, Ecn::NotEct), 1);
    let mut q = Fed::new(law(&[linux()]));
    let tick = |n: u64| n as f64 * 1.024e-3;
    assert_eq!(q.at(tick(500_000), 6.0, Ecn::NotEct), 0);
    assert_eq!(q.at(tick(597_656), 6.0, Ecn::NotEct), 0);
    assert_eq!(q.at(tick(597_657) + 1e-4, 6.0, Ecn::NotEct), 1);
}

#[test]
fn a_packet_with_no_more_than_a_packet_behind_it_is_not_dropped() {
    for (mtu, left, drops) in [(0, 1500, false), (0, 1501, true), (3000, 3000, false), (3000, 3001, true)] {
        let mut q = Fed::new(law(&[("mtu", Value::Int(mtu))]));
        for ms in 0..300 {
            let parcel = Parcel { len: 1500, ..Parcel::default() };
            let now = Time((1000 + ms) * MS);
            q.state.dequeue(&q.law, now, || Some((parcel, left)), &mut q.kept);
        }
        assert_eq!(!q.kept.dropped.is_empty(), drops, "{mtu} {left}");
    }
}

/// Drives a state into dropping at 100 ms and lets it drop until `count` is 5.
fn five_drops(q: &mut Fed) -> f64 {
    assert_eq!(q.at(0.0 + 1000.0, 50.0, Ecn::NotEct), 0);
    assert_eq!(q.at(1100.0, 50.0, Ecn::NotEct), 1);
    // 100 + 70.7107 + 57.7350 + 50 = 278.4457 ms after the first.
    assert_eq!(q.at(1378.4, 50.0, Ecn::NotEct), 3);
    assert_eq!(q.at(1378.5, 50.0, Ecn::NotEct), 1);
    assert_eq!(q.state.count, 5);
    1378.5
}

#[test]
fn dropping_resumes_at_the_rate_at_which_it_ended() {
    let mut q = Fed::new(law(&[]));
    let t = five_drops(&mut q);
    assert_eq!(q.at(t + 1.0, 1.0, Ecn::NotEct), 0);
    assert!(!q.state.dropping);
    assert_eq!(q.at(t + 2.0, 50.0, Ecn::NotEct), 0);
    assert_eq!(q.at(t + 102.0, 50.0, Ecn::NotEct), 1);
    // Four drops were added while dropping: resumed with 4, 50 ms apart.
    assert_eq!((q.state.count, q.state.spacing), (4, 50 * MS));
    // None added since: the next time begins anew.
    q.at(t + 103.0, 1.0, Ecn::NotEct);
    q.at(t + 104.0, 50.0, Ecn::NotEct);
    assert_eq!(q.at(t + 204.0, 50.0, Ecn::NotEct), 1);
    assert_eq!(q.state.count, 1);
}

#[test]
fn after_sixteen_intervals_dropping_begins_anew() {
    // The next drop had been due 100/sqrt(5) = 44.7 ms after 1378.4457 ms, thus at 1423.1671 ms; 1600 ms later is
    // 3023.1671 ms.
    for (ms, count) in [(3023.1, 4), (3023.2, 1)] {
        let mut q = Fed::new(law(&[]));
        let t = five_drops(&mut q);
        q.at(t + 1.0, 1.0, Ecn::NotEct);
        q.at(t + 2.0, 50.0, Ecn::NotEct);
        assert_eq!(q.at(ms, 50.0, Ecn::NotEct), 1);
        assert_eq!(q.state.count, count, "{ms}");
    }
}

#[test]
fn what_understands_ecn_is_marked_one_at_a_time() {
    let mut q = Fed::new(law(&[("ecn", Value::Bool(true))]));
    q.at(1000.0, 50.0, Ecn::Ect0);
    assert_eq!(q.at(1100.0, 50.0, Ecn::Ect0), 0);
    assert_eq!((q.kept.marked.len(), q.state.count), (1, 1));
    // Two are due, one packet leaves: the other is marked with the next.
    assert_eq!(q.at(1275.0, 50.0, Ecn::Ect1), 0);
    assert_eq!((q.kept.marked.len(), q.state.count), (2, 2));
    assert_eq!(q.at(1275.1, 50.0, Ecn::Ce), 0);
    // Already marked counts as marked, and is not reported.
    assert_eq!((q.kept.marked.len(), q.state.count), (2, 3));
    // What does not understand it is dropped.
    assert_eq!(q.at(1330.0, 50.0, Ecn::NotEct), 1);
    assert!(q.kept.marked.iter().all(|m| m.2 == Reason::Delay && m.1.ecn == Ecn::Ce));
    let mut off = Fed::new(law(&[]));
    off.at(1000.0, 50.0, Ecn::Ect0);
    assert_eq!(off.at(1100.0, 50.0, Ecn::Ect0), 1);
}

#[test]
fn the_threshold_marks_whatever_the_state() {
    let mut q = Fed::new(law(&[("ce_threshold", Value::Duration(Span(MS)))]));
    q.at(10.0, 1.0, Ecn::Ect1);
    assert!(q.kept.marked.is_empty());
    q.at(11.0, 1.001, Ecn::Ect1);
    q.at(12.0, 3.0, Ecn::NotEct);
    assert_eq!(q.kept.marked.len(), 1);
    assert_eq!(q.kept.marked[0].2, Reason::Threshold);
}

#[test]
fn constant_overload_is_dropped_at_the_times_of_the_control_law() {
    // 100 Mbit/s send a packet of 1250 bytes in 0.1 ms; one arrives every 0.08 ms.
    let (service, gap) = (MS / 10, MS * 8 / 100);
    for linux_form in [false, true] {
        let extra = if linux_form { vec![linux()] } else { vec![] };
        let mut q = build("codel", &given(&extra), site()).unwrap();
        let mut kept = Kept::default();
        let (mut arrival, mut first_above) = (0, None);
        for k in 1..20_000u64 {
            let now = k * service;
            while arrival <= now {
                let parcel = Parcel { len: 1250, arrived: Time(arrival), ..Parcel::default() };
                q.enqueue(Time(arrival), parcel, BUSY, &mut kept);
                arrival += gap;
            }
            let out = q.dequeue(Time(now), &mut kept).unwrap();
            if first_above.is_none() && now - out.arrived.0 >= 5 * MS {
                first_above = Some(now);
            }
        }
        // The first after an interval above the target; the spacing of the next is that of the number so far.
        let mut due = first_above.unwrap() as f64 / 1e6 + 100.0;
        let mut inverse = 1.0f64;
        assert!(kept.dropped.len() > 60, "{}", kept.dropped.len());
        for (n, (at, parcel, reason)) in kept.dropped.iter().enumerate() {
            let ms = at.0 as f64 / 1e6;
            // Decisions fall on ends of transmissions, and Linux's ticks are a thousandth of a millisecond.
            assert!(ms >= due - 0.11 && ms < due + 0.2, "{n}: {ms} {due}");
            assert!(*reason == Reason::Delay && parcel.len == 1250);
            let count = (n + 1) as f64;
            if linux_form {
                inverse = if n == 0 { 1.0 } else { inverse * (3.0 - count * inverse * inverse) / 2.0 };
            } else {
                inverse = 1.0 / count.sqrt();
            }
            due += 100.0 * inverse;
        }
    }
}

#[test]
fn contradicting_parameters_are_refused() {
    let text = given(&[("target", Value::Duration(Span(100 * MS)))]);
    let err = build("codel", &text, site()).map(|_| ()).unwrap_err().to_string();
    assert_eq!(err, "'target': must be shorter than 'interval'; RFC 8289 recommends 5 to 10 % of it");
}

#[test]
fn a_full_queue_drops_what_arrives() {
    let limits = Limits { packets: 3, bytes: u64::MAX, includes_service: false };
    let mut q = build("codel", &[], Site { limits, ..site() }).unwrap();
    let mut kept = Kept::default();
    for id in 0..5 {
        q.enqueue(Time::ZERO, Parcel { id, len: 1500, ..Parcel::default() }, BUSY, &mut kept);
    }
    assert_eq!(kept.dropped.iter().map(|d| (d.1.id, d.2)).collect::<Vec<_>>(), [(3, Reason::Full), (4, Reason::Full)]);
    let out = std::iter::from_fn(|| q.dequeue(Time(1), &mut kept)).map(|p| p.id).collect::<Vec<_>>();
    assert_eq!((out, q.backlog()), (vec![0, 1, 2], Backlog::default()));
}
