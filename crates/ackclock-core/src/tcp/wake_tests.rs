//! Controllers that ask to be woken, and decisions from outside.

use super::recovery::{NONE, after, numbers, sack, sender, windows};
use super::*;
use crate::cc::{Ack, Control, Cx, Decision, Needs, Pacing, Phase, RecoveryBy, Restart, Signal, Undo};
use std::sync::{Arc, Mutex};

/// A controller with a window of `cwnd` segments that is woken at the times it is given, one after another, and adds a
/// segment each time.
struct Alarm {
    cwnd: u64,
    times: Vec<u64>,
    woken: Arc<Mutex<Vec<u64>>>,
    recovery: RecoveryBy,
}

impl Alarm {
    fn endpoint(times: &[u64], recovery: RecoveryBy) -> (Endpoint, Arc<Mutex<Vec<u64>>>) {
        let woken = Arc::default();
        let cc = Alarm { cwnd: 4, times: times.to_vec(), woken: Arc::clone(&woken), recovery };
        let config = Config::profile(Profile::Rfc);
        let mut e = connected(Endpoint::new(&config, MSS, Box::new(cc), Stream::named(1, 0, "test")));
        e.tx.write(u64::MAX);
        (e, woken)
    }
}

impl CongestionControl for Alarm {
    fn start(&mut self, _cx: &mut Cx<'_>, _initial_window: u64) {}
    fn on_ack(&mut self, _cx: &mut Cx<'_>, _ack: &Ack) {}
    fn on_congestion(&mut self, _cx: &mut Cx<'_>, _signal: Signal) {}
    fn on_recovered(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}
    fn set_window(&mut self, _cx: &mut Cx<'_>, cwnd: u64) {
        self.cwnd = cwnd / 1000;
    }
    fn on_undo(&mut self, _cx: &mut Cx<'_>, _undo: Undo) {}
    fn on_restart(&mut self, _cx: &mut Cx<'_>, _restart: Restart) {}
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.woken.lock().unwrap().push(cx.now.0 / 1_000_000);
        if self.times.len() > 1 {
            self.times.remove(0);
        }
        self.cwnd += 1;
    }
    fn control(&self) -> Control {
        Control { wake_at: at(self.times[0]), ..Control::window(1000 * self.cwnd, 2000) }
    }
    fn needs(&self) -> Needs {
        Needs { recovery: self.recovery, ..Needs::default() }
    }
}

/// What leaves when the endpoint is next due, and when that is.
fn due(e: &mut Endpoint) -> (u64, Vec<u32>) {
    let now = expire(e);
    (now, numbers(e, now))
}

#[test]
fn a_controller_is_woken_when_it_asks_and_its_window_is_in_force_at_once() {
    let (mut e, woken) = Alarm::endpoint(&[150, 170, 170], RecoveryBy::Endpoint);
    assert_eq!(numbers(&mut e, 100), [1, 2, 3, 4]);
    assert_eq!(due(&mut e), (150, vec![5]));
    assert_eq!(due(&mut e), (170, vec![6]));
    assert_eq!(*woken.lock().unwrap(), [150, 170], "a time that has been is not minded again");
    assert_eq!(windows(&e).0, 6.0);
    assert!(e.next_deadline() > at(1000), "only the retransmission timer is left");
}

#[test]
fn a_time_that_has_passed_means_at_once() {
    let (mut e, woken) = Alarm::endpoint(&[50, 60, 400], RecoveryBy::Endpoint);
    numbers(&mut e, 100);
    assert_eq!((expire(&mut e), expire(&mut e)), (100, 100));
    assert_eq!(e.next_deadline(), at(400));
    assert_eq!(*woken.lock().unwrap(), [100, 100]);
}

#[test]
fn during_recovery_the_window_is_the_endpoints_unless_the_controller_has_it() {
    for (recovery, change) in [(RecoveryBy::Endpoint, 0.0), (RecoveryBy::Controller, 1.0)] {
        let (mut e, _) = Alarm::endpoint(&[300], recovery);
        numbers(&mut e, 100);
        for n in 2..=4 {
            after(&mut e, 200 + u64::from(n), &sack(1, &[(2, n)]));
        }
        assert_eq!(e.tx.phase(), Phase::Recovery);
        let before = windows(&e).0;
        assert_eq!(expire(&mut e), 300);
        assert_eq!(windows(&e).0, before + change);
    }
}

#[test]
fn a_wake_can_be_taken_apart_from_the_other_timers() {
    let (mut e, woken) = Alarm::endpoint(&[150, 500], RecoveryBy::Endpoint);
    numbers(&mut e, 100);
    assert!(!e.wake(at(149)) && e.wake(at(150)) && !e.wake(at(150)));
    assert_eq!(*woken.lock().unwrap(), [150]);
    e.on_timer(at(150));
    assert_eq!((woken.lock().unwrap().len(), e.next_deadline()), (1, at(500)));
}

#[test]
fn nobody_is_woken_when_everything_is_closed() {
    let (mut e, woken) = Alarm::endpoint(&[5000, 6000], RecoveryBy::Endpoint);
    e.tx.stop();
    e.close();
    sent(&mut e, 110);
    let fin = Segment { flags: flags::ACK | flags::FIN, ..ack(2) };
    give(&mut e, 200, &fin);
    assert!(e.finished());
    e.on_timer(at(5000));
    assert!(woken.lock().unwrap().is_empty() && !e.next_deadline().is_set());
}

#[test]
fn a_failed_connection_wakes_nobody() {
    let (mut e, woken) = Alarm::endpoint(&[150, 500], RecoveryBy::Endpoint);
    e.on_segment(at(120), &Segment { flags: flags::RST, ..ack(1) });
    assert_eq!((e.state(), e.next_deadline()), (State::Failed, Time::NEVER));
    assert!(!e.decide(at(130), &Decision { cwnd: Some(1), ..Decision::default() }));
    e.on_timer(at(600));
    assert!(woken.lock().unwrap().is_empty());
}

#[test]
fn a_window_from_outside_lets_more_out_at_once() {
    let mut e = sender(2, 100_000, &[]);
    assert_eq!(numbers(&mut e, 200), [1, 2]);
    assert!(e.decide(at(210), &Decision { cwnd: Some(5000), ..Decision::default() }));
    assert_eq!((windows(&e).0, numbers(&mut e, 210)), (5.0, vec![3, 4, 5]));
    // Reno goes on from there: slow start adds what is acknowledged.
    after(&mut e, 300, &sack(2, &[]));
    assert_eq!(windows(&e).0, 6.0);
    let pace = Decision { pacing: Some(Pacing::Rate(1)), ..Decision::default() };
    assert!(!e.decide(at(310), &pace), "what it decides itself");
    assert_eq!(windows(&e).0, 6.0);
}

/// The controller for agents, with a first window of `iw` segments.
fn external(iw: u64, params: &[(&str, Value)]) -> Endpoint {
    let options = [("iw", Value::Int(iw)), ("iw_bound", Value::Text("none".to_owned()))];
    let mut e = connected(with(Profile::Rfc, &options, "external", params));
    e.tx.write(u64::MAX);
    e
}

#[test]
fn an_agents_window_survives_losses_and_begins_anew_after_a_timeout() {
    let mut e = external(8, &[]);
    numbers(&mut e, 100);
    for n in 2..=4 {
        after(&mut e, 200 + u64::from(n), &sack(1, &[(2, n)]));
    }
    assert_eq!((e.tx.phase(), windows(&e).0), (Phase::Recovery, 8.0));
    let rto = loop {
        let now = expire(&mut e);
        numbers(&mut e, now);
        if e.tx.stats().timeouts > 0 {
            break now;
        }
    };
    assert_eq!(windows(&e).0, 1.0);
    after(&mut e, rto + 50, &sack(4, &[]));
    let begun = windows(&e).0;
    assert!(begun > 1.0 && begun < 8.0, "{begun}");
    after(&mut e, rto + 100, &sack(9, &[]));
    assert_eq!(windows(&e).0, begun + 4.0, "a segment for each that was not delivered before");
    after(&mut e, rto + 200, &sack(13, &[]));
    assert_eq!(windows(&e).0, 8.0, "no more than was told");
}

#[test]
fn an_interval_holds_what_came_within_it() {
    let mut e = external(4, &[("interval", Value::Duration(Span::from_millis(200)))]);
    assert_eq!(numbers(&mut e, 100), [1, 2, 3, 4]);
    // Round-trip times of 100, 110 and 130 ms at 200, 210 and 230 ms, of segments that left together.
    after(&mut e, 200, &sack(2, &[]));
    after(&mut e, 210, &sack(3, &[]));
    after(&mut e, 230, &sack(4, &[]));
    while e.tx.interval().is_none() {
        let now = expire(&mut e);
        numbers(&mut e, now);
    }
    let i = e.tx.interval().unwrap();
    assert_eq!((i.at, i.span), (at(300), Span::from_millis(200)));
    assert_eq!((i.delivered, i.lost, i.sent, i.in_flight), (3000, 0, 7000, 4000));
    assert_eq!((i.acks, i.samples, i.cwnd, i.mss, i.index), (3, 3, 4000, 1000, 0));
    assert!((i.rtt - 340e6 / 3.0).abs() < 1.0 && (i.rtt_gradient - 1.0).abs() < 1e-9, "{i:?}");
    assert_eq!(i.min_rtt, Span::from_millis(100));
}

#[test]
fn an_idle_time_does_not_end_in_a_burst() {
    let mut e = external(10, &[("interval", Value::Duration(Span::from_secs(3600)))]);
    e.tx.stop();
    assert_eq!(numbers(&mut e, 100), NONE);
    e.decide(at(100), &Decision { cwnd: Some(100_000), ..Decision::default() });
    e.tx.write(1000);
    assert_eq!(numbers(&mut e, 110), [1]);
    after(&mut e, 210, &sack(2, &[]));
    assert_eq!(windows(&e).0, 100.0);
    e.tx.write(1_000_000);
    assert_eq!(numbers(&mut e, 60_000).len(), 10, "the initial window (RFC 5681 §4.1)");
}
