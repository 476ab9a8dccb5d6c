//! Controllers under random but valid histories of events, without an endpoint: what must hold for every one of them,
//! and Reno against a model of ten lines.
//!
//! A history is what an endpoint could have told: acknowledgments while the window is open, losses with the recovery
//! that follows, marks, timeouts in a row, unfounded reactions taken back, idle times. `ACKCLOCK_CASES` plays more.

#![allow(clippy::unwrap_used)]

use ackclock_core::cc::registry::{self, Builder, CONTROLLERS};
use ackclock_core::cc::{Ack, CongestionControl, Control, Cx, Pacing, Phase, RateSample, RecoveryBy, Restart, RttView};
use ackclock_core::cc::{Signal, Undo};
use ackclock_core::params::{Kind, Value};
use ackclock_core::rng::Stream;
use ackclock_core::slowstart::{self, SLOW_STARTS};
use ackclock_core::time::{Span, Time};
use proptest::prelude::*;

const MSS: u64 = 1000;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many segments are acknowledged after so many microseconds; the queueing delay is a further number of them.
    Ack {
        segments: u64,
        gap_us: u64,
        queue_us: u64,
        limited: bool,
    },
    /// Losses, repaired after so many acknowledgments; true: they were not losses.
    Loss {
        acks: u64,
        unfounded: bool,
    },
    Mark,
    /// So many timeouts in a row.
    Timeout {
        times: u64,
    },
    Idle {
        ms: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let ack = (1..5u64, 1..20_000u64, 0..150_000u64, prop::bool::weighted(0.9))
        .prop_map(|(s, g, q, limited)| Step::Ack { segments: s, gap_us: g, queue_us: q, limited });
    prop_oneof![
        60 => ack,
        3 => (1..30u64, prop::bool::weighted(0.2)).prop_map(|(acks, unfounded)| Step::Loss { acks, unfounded }),
        1 => Just(Step::Mark),
        1 => (1..4u64).prop_map(|times| Step::Timeout { times }),
        1 => (200..5000u64).prop_map(|ms| Step::Idle { ms }),
    ]
}

/// The endpoint's side of a history.
struct World {
    cc: Box<dyn CongestionControl>,
    rng: Stream,
    now: Time,
    una: u64,
    nxt: u64,
    delivered: u64,
    lost: u64,
    rtt: RttView,
    phase: Phase,
    round: u64,
    round_end: u64,
    /// The window in force when recovery runs it.
    controls: Vec<Control>,
}

impl World {
    fn new(mut cc: Box<dyn CongestionControl>, window: u64) -> World {
        let mut rng = Stream::named(1, 0, "history");
        let rtt = RttView { smoothed: Span::from_millis(40), min: Span::from_millis(40) };
        let now = Time(50_000_000);
        cc.start(
            &mut Cx {
                now,
                mss: MSS as u32,
                in_flight: 0,
                nxt: 1,
                rtt,
                delivered: 0,
                lost: 0,
                phase: Phase::Open,
                rng: &mut rng,
            },
            window,
        );
        let controls = vec![cc.control()];
        World {
            cc,
            rng,
            now,
            una: 1,
            nxt: 1,
            delivered: 0,
            lost: 0,
            rtt,
            phase: Phase::Open,
            round: 0,
            round_end: 1,
            controls,
        }
    }

    fn call(&mut self, f: impl FnOnce(&mut dyn CongestionControl, &mut Cx<'_>)) -> Control {
        let mut cx = Cx {
            now: self.now,
            mss: MSS as u32,
            in_flight: self.nxt - self.una,
            nxt: self.nxt,
            rtt: self.rtt,
            delivered: self.delivered,
            lost: self.lost,
            phase: self.phase,
            rng: &mut self.rng,
        };
        f(self.cc.as_mut(), &mut cx);
        let control = self.cc.control();
        self.controls.push(control);
        control
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.call(|cc, cx| cc.on_phase(cx));
    }

    /// The window is filled, at most to 2000 segments so that a history stays short.
    fn fill(&mut self) {
        let window = self.cc.control().cwnd.min(2000 * MSS) / MSS * MSS;
        if self.nxt == self.una {
            self.call(|cc, cx| cc.on_transmit_start(cx));
        }
        self.nxt = self.nxt.max(self.una + window.max(MSS));
    }

    fn acknowledge(&mut self, segments: u64, gap_us: u64, queue_us: u64, limited: bool) {
        self.fill();
        let in_flight_before = self.nxt - self.una;
        let bytes = (segments * MSS).min(in_flight_before);
        self.now += Span::from_micros(gap_us);
        self.una += bytes;
        self.delivered += bytes;
        let rtt = Span::from_micros(40_000 + queue_us);
        self.rtt.smoothed = Span((7 * self.rtt.smoothed.0 + rtt.0) / 8);
        if self.una > self.round_end {
            self.round += 1;
            self.round_end = self.nxt;
        }
        let grow = matches!(self.phase, Phase::Open | Phase::Loss);
        let rate = RateSample {
            delivered: in_flight_before,
            interval: rtt,
            prior_delivered: self.delivered.saturating_sub(in_flight_before),
            tx_in_flight: in_flight_before,
            prior_lost: self.lost,
            app_limited: !limited,
        };
        let ack = Ack {
            delivered: bytes,
            acked: bytes,
            rtt: Some(rtt),
            one_way: Some(Span(rtt.0 / 2)),
            rate: self.cc.needs().rate.then_some(rate),
            in_flight_before,
            una: self.una,
            nxt: self.nxt,
            round: self.round,
            window_limited: limited,
            grow,
            ..Ack::default()
        };
        if self.cc.needs().observe {
            self.call(|cc, cx| cc.observe(cx, &ack));
        }
        if grow || self.cc.needs().recovery == RecoveryBy::Controller {
            self.call(|cc, cx| cc.on_ack(cx, &ack));
        }
        if self.phase == Phase::Loss && limited {
            self.enter(Phase::Open);
        }
    }

    fn lose(&mut self, acks: u64, unfounded: bool) {
        self.fill();
        let flight = self.nxt - self.una;
        let before = self.cc.control();
        self.lost += MSS;
        self.call(|cc, cx| cc.on_congestion(cx, Signal::Loss { flight }));
        self.enter(if self.cc.needs().recovery == RecoveryBy::SlowStart { Phase::Loss } else { Phase::Recovery });
        for _ in 0..acks {
            self.acknowledge(1, 1000, 30_000, true);
        }
        if unfounded {
            self.call(|cc, cx| cc.on_undo(cx, Undo { cwnd: before.cwnd, ssthresh: before.ssthresh }));
        } else if self.phase == Phase::Recovery {
            let ssthresh = self.cc.control().ssthresh;
            self.call(|cc, cx| cc.on_recovered(cx, ssthresh));
        }
        self.enter(Phase::Open);
    }

    fn play(&mut self, step: Step) {
        match step {
            Step::Ack { segments, gap_us, queue_us, limited } => self.acknowledge(segments, gap_us, queue_us, limited),
            Step::Loss { acks, unfounded } => self.lose(acks, unfounded),
            Step::Mark => {
                self.fill();
                let flight = self.nxt - self.una;
                self.call(|cc, cx| cc.on_congestion(cx, Signal::Ecn { flight }));
                self.enter(Phase::Reduction);
                let ssthresh = self.cc.control().ssthresh;
                self.call(|cc, cx| cc.on_recovered(cx, ssthresh));
                self.enter(Phase::Open);
            }
            Step::Timeout { times } => {
                self.fill();
                let flight = self.nxt - self.una;
                for n in 0..times {
                    self.now += Span::from_millis(300 << n);
                    self.call(|cc, cx| cc.on_congestion(cx, Signal::Timeout { flight, repeated: n > 0 }));
                    self.lost += if n == 0 { flight } else { 0 };
                    self.call(|cc, cx| cc.set_window(cx, MSS));
                    self.enter(Phase::Loss);
                }
            }
            Step::Idle { ms } => {
                self.delivered += self.nxt - self.una;
                self.una = self.nxt;
                self.now += Span::from_millis(ms);
                let restart = Restart { idle: Span::from_millis(ms), window: 10 * MSS, ssthresh_floor: 0 };
                self.call(|cc, cx| cc.on_restart(cx, restart));
            }
        }
    }
}

/// A controller, its parameters and its slow start.
type Choice = (String, Vec<(String, Value)>, &'static str);

/// Every controller, each of its variants, with a slow start where it takes one.
fn controllers() -> Vec<Choice> {
    let mut all = Vec::new();
    for entry in CONTROLLERS {
        let variant = entry.params.iter().find(|p| p.name == "variant");
        let words = match variant.map(|p| p.kind) {
            Some(Kind::Choice(words)) => words,
            _ => &[],
        };
        let text = |w: &&str| vec![("variant".to_owned(), Value::Text((*w).to_owned()))];
        let mut given: Vec<Vec<(String, Value)>> = words.iter().map(text).collect();
        if given.is_empty() {
            given.push(vec![]);
        }
        let starts = if matches!(entry.builder, Builder::Law(_)) { SLOW_STARTS.len() } else { 1 };
        for g in given {
            for start in &SLOW_STARTS[..starts] {
                all.push((entry.name.to_owned(), g.clone(), start.name));
            }
        }
    }
    all
}

fn build(name: &str, given: &[(String, Value)], start: &str) -> Box<dyn CongestionControl> {
    let slow_start = slowstart::build(start, &[]).unwrap();
    registry::build(name, given, slow_start).unwrap()
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("ACKCLOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn check(name: &str, controls: &[Control]) -> Result<(), TestCaseError> {
    for c in controls {
        prop_assert!(c.cwnd >= MSS, "{name}: a window of {} bytes", c.cwnd);
        prop_assert!(c.cwnd < 1 << 50, "{name}: a window of {} bytes", c.cwnd);
        prop_assert!(c.ssthresh >= 2 * MSS, "{name}: ssthresh of {} bytes", c.ssthresh);
        prop_assert!(c.pacing != Pacing::Rate(0), "{name}: a rate of zero");
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_holds_for_every_controller(
        which in 0..10_000usize,
        iw in 1..40u64,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let all = controllers();
        let (name, given, start) = &all[which % all.len()];
        let label = format!("{name} {given:?} {start}");
        let whole = matches!(registry::find(name).unwrap().builder, Builder::Whole(_));
        let mut worlds = [0, 1].map(|_| World::new(build(name, given, start), iw * MSS));
        for s in &steps {
            let before = worlds[0].cc.control();
            let at = worlds[0].controls.len();
            for w in &mut worlds {
                w.play(*s);
            }
            let after = worlds[0].cc.control();
            check(&label, &worlds[0].controls[at..])?;
            prop_assert_eq!(&worlds[0].controls[at..], &worlds[1].controls[at..], "{} is not a function of its history", label);
            match s {
                Step::Loss { unfounded: true, .. } if !whole && worlds[0].cc.needs().recovery == RecoveryBy::Endpoint => {
                    prop_assert!(after.cwnd + 1 >= before.cwnd, "{label}: {before:?} is not restored: {after:?}");
                    prop_assert!(after.ssthresh >= before.ssthresh.min(after.cwnd), "{label}: {before:?} {after:?}");
                }
                Step::Timeout { .. } => {
                    prop_assert_eq!(after.cwnd / MSS, 1, "{}: more than a segment after a timeout", label);
                    prop_assert!(whole || after.ssthresh < u64::MAX, "{label}: no threshold after a timeout");
                }
                Step::Ack { limited: false, .. } if registry::find(name).unwrap().family == "loss" && before.cwnd < after.cwnd => {
                    prop_assert!(*name == "hybla", "{label} grows by {} unused bytes", after.cwnd - before.cwnd);
                }
                _ => {}
            }
        }
    }

    /// RFC 5681 and RFC 3465 with L = 1, in segments.
    #[test]
    fn reno_against_a_model(iw in 1..40u64, steps in prop::collection::vec(step(), 1..300)) {
        let mut world = World::new(build("reno", &[], "standard"), iw * MSS);
        let (mut w, mut ssthresh) = (iw as f64, f64::INFINITY);
        for s in &steps {
            world.fill();
            let flight = (world.nxt - world.una) as f64 / MSS as f64;
            match *s {
                Step::Ack { segments, limited, .. } => {
                    let mut acked = (segments as f64).min(flight);
                    if limited && w < ssthresh {
                        // Past the threshold, the part of the acknowledgment that is left counts for avoidance.
                        let room = ssthresh - w;
                        let grant = acked.min(1.0);
                        (w, acked) = if grant < room { (w + grant, 0.0) } else { (ssthresh, grant - room) };
                    }
                    if limited && w >= ssthresh {
                        w += acked / w;
                    }
                }
                Step::Loss { unfounded, .. } => {
                    let half = (flight.min(w) / 2.0).max(2.0);
                    if !unfounded {
                        (w, ssthresh) = (half, half);
                    }
                    if unfounded && ssthresh.is_finite() {
                        ssthresh = ((ssthresh * MSS as f64 + 1e-6).floor() / MSS as f64).max(half);
                    }
                    // What was before is told in whole bytes.
                    let bytes = |x: f64| (x * MSS as f64 + 1e-6).floor() / MSS as f64;
                    w = if unfounded { bytes(w).max(half) } else { w };
                }
                Step::Mark => {
                    ssthresh = (flight.min(w) / 2.0).max(2.0);
                    w = ssthresh;
                }
                Step::Timeout { .. } => {
                    ssthresh = (flight.min(w) / 2.0).max(2.0);
                    w = 1.0;
                }
                Step::Idle { .. } => w = w.min(10.0),
            }
            world.play(*s);
            let c = world.cc.control();
            let close = |bytes: u64, segments: f64| (bytes as f64 - segments * MSS as f64).abs() <= 1.0;
            prop_assert!(close(c.cwnd, w), "after {s:?}: window {} instead of {w}", c.cwnd);
            prop_assert!(ssthresh.is_infinite() || close(c.ssthresh, ssthresh), "after {s:?}: {} {ssthresh}", c.ssthresh);
        }
    }
}
