//! When a controller's window is in force.

use super::recovery::{after, numbers, sack, windows};
use super::*;
use crate::cc::{Ack, Avoidance, Control, Cx, Needs, Phase, Restart, Signal, Undo, Window, WindowBased};
use crate::tcp::segment::SackBlock;
use std::sync::{Arc, Mutex};

/// A window of four segments that two events change.
#[derive(Clone, Copy, Default)]
struct Changing {
    cwnd: u64,
    /// From the first acknowledgment on, as [`CongestionControl::observe`] sees it.
    observed: Option<u64>,
    /// When duplicates arrive, and when they are explained.
    disorder: Option<u64>,
    open: Option<u64>,
}

impl Changing {
    fn endpoint(self) -> Endpoint {
        let cc = Box::new(Changing { cwnd: 4, ..self });
        let mut e = connected(Endpoint::new(&Config::profile(Profile::Rfc), MSS, cc, Stream::named(1, 0, "test")));
        e.tx.write(u64::MAX);
        assert_eq!(numbers(&mut e, 100), [1, 2, 3, 4]);
        e
    }
}

impl CongestionControl for Changing {
    fn start(&mut self, _cx: &mut Cx<'_>, _initial_window: u64) {}
    fn observe(&mut self, _cx: &mut Cx<'_>, _ack: &Ack) {
        self.cwnd = self.observed.unwrap_or(self.cwnd);
    }
    fn on_ack(&mut self, _cx: &mut Cx<'_>, _ack: &Ack) {}
    fn on_congestion(&mut self, _cx: &mut Cx<'_>, _signal: Signal) {}
    fn on_phase(&mut self, cx: &mut Cx<'_>) {
        let told = match cx.phase {
            Phase::Disorder => self.disorder,
            Phase::Open => self.open,
            _ => None,
        };
        self.cwnd = told.unwrap_or(self.cwnd);
    }
    fn on_recovered(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}
    fn set_window(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}
    fn on_undo(&mut self, _cx: &mut Cx<'_>, _undo: Undo) {}
    fn on_restart(&mut self, _cx: &mut Cx<'_>, _restart: Restart) {}
    fn control(&self) -> Control {
        Control::window(1000 * self.cwnd, 2000)
    }
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }
}

/// On the predicted path and on the general one.
fn both(cc: Changing, test: impl Fn(Endpoint)) {
    for predicting in [true, false] {
        let mut e = cc.endpoint();
        if !predicting {
            e.predict_nothing();
        }
        test(e);
    }
}

#[test]
fn a_window_raised_in_observe_lets_more_out_at_once() {
    both(Changing { observed: Some(9), ..Changing::default() }, |mut e| {
        assert_eq!(after(&mut e, 200, &sack(2, &[])), [5, 6, 7, 8, 9, 10]);
        assert_eq!(windows(&e).0, 9.0);
    });
}

#[test]
fn a_window_lowered_in_observe_holds_the_sender_back_at_once() {
    both(Changing { observed: Some(2), ..Changing::default() }, |mut e| {
        assert!(after(&mut e, 200, &sack(3, &[])).is_empty());
        assert_eq!(windows(&e).0, 2.0);
        assert_eq!(after(&mut e, 210, &sack(4, &[])), [5]);
    });
}

/// A segment beyond a hole (RFC 3042 lets one more out), then the hole itself, which was only late.
#[test]
fn a_window_set_on_a_change_of_phase_is_in_force_at_once() {
    let mut e = Changing { disorder: Some(6), open: Some(10), ..Changing::default() }.endpoint();
    assert_eq!(after(&mut e, 200, &sack(1, &[(2, 2)])), [5, 6, 7]);
    assert_eq!((e.tx.phase(), windows(&e).0), (Phase::Open, 6.0));
    assert_eq!(after(&mut e, 201, &sack(3, &[])).len(), 10 - 5);
    assert_eq!(windows(&e).0, 10.0);
}

/// While losses are repaired, the window is the endpoint's (RFC 9937): what is observed meanwhile waits.
#[test]
fn during_recovery_a_window_set_in_observe_waits() {
    let mut e = Changing { observed: Some(50), ..Changing::default() }.endpoint();
    after(&mut e, 200, &sack(1, &[(2, 4)]));
    assert_eq!(e.tx.phase(), Phase::Recovery);
    after(&mut e, 201, &sack(1, &[(2, 5)]));
    assert!(windows(&e).0 < 10.0, "{}", windows(&e).0);
    after(&mut e, 300, &sack(60, &[]));
    let end = e.tx.positions().1;
    after(&mut e, 301, &Segment { ack: end as u32, ..ack(1) });
    assert_eq!((e.tx.phase(), windows(&e).0), (Phase::Open, 50.0));
}

/// A law whose estimator moves the window, in the frame of all laws.
struct Estimating;

impl Avoidance for Estimating {
    fn grow(&mut self, _cx: &Cx<'_>, _ack: &Ack, _w: &mut Window, _acked: f64) {}
    fn reduce(&mut self, _cx: &Cx<'_>, _signal: Signal, w: &Window) -> f64 {
        w.cwnd
    }
    fn needs(&self) -> Needs {
        Needs { observe: true, ..Needs::default() }
    }
    fn observe(&mut self, _cx: &Cx<'_>, _ack: &Ack, w: &mut Window) {
        (w.cwnd, w.ssthresh) = (7.0, 7.0);
    }
    fn phase(&mut self, cx: &Cx<'_>, w: &mut Window) {
        if cx.phase == Phase::Disorder {
            (w.cwnd, w.ssthresh) = (12.0, 12.0);
        }
    }
}

#[test]
fn so_is_the_window_of_a_law() {
    let start = slowstart::build("standard", &[]).unwrap();
    let cc = Box::new(WindowBased::new(Box::new(Estimating), start, false));
    let mut e = connected(Endpoint::new(&Config::profile(Profile::Rfc), MSS, cc, Stream::named(1, 0, "test")));
    e.tx.write(u64::MAX);
    numbers(&mut e, 100);
    after(&mut e, 200, &sack(2, &[]));
    assert_eq!(windows(&e), (7.0, 7.0));
    after(&mut e, 201, &sack(2, &[(3, 3)]));
    assert_eq!(windows(&e), (12.0, 12.0));
}

/// Bytes acknowledged, segments, and whether Linux's header prediction would have known it.
type Seen = (u64, u64, bool);

/// Writes down what it observes.
struct Observing {
    idle: bool,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl CongestionControl for Observing {
    fn start(&mut self, _cx: &mut Cx<'_>, _initial_window: u64) {}
    fn observe(&mut self, cx: &mut Cx<'_>, ack: &Ack) {
        assert!(ack.una + cx.in_flight <= ack.nxt, "what it delivers is not in flight any more");
        self.seen.lock().unwrap().push((ack.acked, ack.segments, ack.plain));
    }
    fn on_ack(&mut self, _cx: &mut Cx<'_>, _ack: &Ack) {}
    fn on_congestion(&mut self, _cx: &mut Cx<'_>, _signal: Signal) {}
    fn on_recovered(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}
    fn set_window(&mut self, _cx: &mut Cx<'_>, _cwnd: u64) {}
    fn on_undo(&mut self, _cx: &mut Cx<'_>, _undo: Undo) {}
    fn on_restart(&mut self, _cx: &mut Cx<'_>, _restart: Restart) {}
    fn control(&self) -> Control {
        Control::window(4000, u64::MAX)
    }
    fn needs(&self) -> Needs {
        Needs { observe: true, observe_idle: self.idle, ..Needs::default() }
    }
}

/// Two segments and their acknowledgment; then data, a duplicate, a wider window and an old acknowledgment arrive.
#[test]
fn what_comes_while_nothing_is_outstanding_is_observed_where_it_is_asked_for() {
    for (idle, predicting) in [(true, true), (true, false), (false, true), (false, false)] {
        let seen = Arc::default();
        let cc = Box::new(Observing { idle, seen: Arc::clone(&seen) });
        let mut e = connected(Endpoint::new(&Config::profile(Profile::Rfc), MSS, cc, Stream::named(1, 0, "test")));
        if !predicting {
            e.predict_nothing();
        }
        e.tx.write(2000);
        assert_eq!(numbers(&mut e, 100), [1, 2]);
        let say = |ack, window| Segment { seq: THEIRS + 801, window, ..super::ack(ack) };
        // With a smaller window its right edge stays where it was at first.
        give(&mut e, 200, &Segment { window: 63_535, ..ack(2001) });
        give(&mut e, 300, &Segment { ack: 2001, window: 63_535, ..data(1, 800) });
        give(&mut e, 310, &say(2001, 63_535));
        give(&mut e, 320, &say(2001, 65_535));
        give(&mut e, 330, &say(1001, 65_535));
        let all = [(2000, 2, false), (0, 0, false), (0, 0, true), (0, 0, false)];
        assert_eq!(*seen.lock().unwrap(), if idle { &all[..] } else { &all[..1] });
    }
}

/// Linux's `pkts_acked`: packets as they were sent, those that were SACKed before too, of a part none.
#[test]
fn segments_are_counted_as_they_were_sent() {
    for predicting in [true, false] {
        let seen = Arc::default();
        let cc = Box::new(Observing { idle: false, seen: Arc::clone(&seen) });
        let mut e = connected(Endpoint::new(&Config::profile(Profile::Rfc), MSS, cc, Stream::named(1, 0, "test")));
        if !predicting {
            e.predict_nothing();
        }
        // Segments of 200 bytes, then full ones.
        for _ in 0..6 {
            e.tx.write(200);
            assert_eq!(payload(&mut e, 100).len(), 1);
        }
        e.tx.write(2000);
        assert_eq!(payload(&mut e, 100).len(), 2);
        give(&mut e, 200, &ack(401));
        // A part of the next, then its end.
        give(&mut e, 210, &ack(501));
        give(&mut e, 211, &ack(601));
        let mut report = ack(601);
        report.push_sack(SackBlock { start: 801, end: 1201 });
        give(&mut e, 220, &report);
        give(&mut e, 230, &ack(1201));
        give(&mut e, 240, &ack(3201));
        let counted: Vec<_> = seen.lock().unwrap().iter().map(|(acked, segments, _)| (*acked, *segments)).collect();
        assert_eq!(counted, [(400, 2), (100, 0), (100, 1), (0, 0), (600, 3), (2000, 2)], "{predicting}");
    }
}
