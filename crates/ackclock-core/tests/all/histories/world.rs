//! The endpoint's side of a history: what a controller is told, in the order of the contract.

use ackclock_core::cc::{Ack, CongestionControl, Control, Cx, Lost, Needs, PacketPair, Phase, RateSample, RecoveryBy};
use ackclock_core::cc::{Restart, RttView, Signal, Undo};
use ackclock_core::rng::Stream;
use ackclock_core::time::{Span, Time};
use proptest::prelude::*;

/// An acknowledgment of so many segments after so many microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    pub segments: u64,
    gap_us: u64,
    /// None: ambiguous.
    rtt_us: Option<u64>,
    /// The window was what held the sender back.
    pub limited: bool,
    marked: bool,
}

impl Acked {
    /// With a round trip that is always the same, and soon after the one before.
    pub fn make_even(&mut self) {
        (self.rtt_us, self.gap_us) = (Some(40_000), self.gap_us.min(20_000));
    }
}

/// How a recovery ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Repaired,
    /// Nothing was lost.
    Unfounded,
    /// By a timeout; true: the segment that timed out had been sent again before.
    TimedOut(bool),
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Ack(Acked),
    /// So many duplicates, but nothing was lost.
    Disorder(u64),
    /// Losses: so many duplicates, then partial acknowledgments.
    Loss {
        duplicates: u64,
        acks: u64,
        end: End,
    },
    Mark {
        acks: u64,
    },
    /// So many timeouts in a row.
    Timeout {
        times: u64,
        unfounded: bool,
    },
    /// Nothing to send, for less than a timeout: no idle rule acts.
    Pause {
        ms: u64,
    },
    Idle {
        ms: u64,
        window: u64,
        /// The threshold is held at three quarters of the window.
        floor: bool,
    },
}

pub fn acked() -> impl Strategy<Value = Acked> {
    let segments = prop_oneof![20 => 1..5u64, 1 => 1..100_000u64];
    let gap_us = prop_oneof![1 => Just(0u64), 20 => 1..20_000u64, 1 => 1..5_000_000u64];
    let rtt_us = prop_oneof![
        30 => (40_000..190_000u64).prop_map(Some),
        1 => (1..1000u64).prop_map(Some),
        1 => (1_000_000..60_000_000u64).prop_map(Some),
        1 => Just(None),
    ];
    (segments, gap_us, rtt_us, prop::bool::weighted(0.9), prop::bool::weighted(0.1))
        .prop_map(|(segments, gap_us, rtt_us, limited, marked)| Acked { segments, gap_us, rtt_us, limited, marked })
}

/// Any step, mostly an acknowledgment.
pub fn step() -> impl Strategy<Value = Step> {
    let end =
        prop_oneof![6 => Just(End::Repaired), 2 => Just(End::Unfounded), 1 => any::<bool>().prop_map(End::TimedOut)];
    prop_oneof![
        60 => acked().prop_map(Step::Ack),
        2 => (1..5u64).prop_map(Step::Disorder),
        3 => (0..20u64, 0..20u64, end).prop_map(|(duplicates, acks, end)| Step::Loss { duplicates, acks, end }),
        1 => (0..5u64).prop_map(|acks| Step::Mark { acks }),
        1 => (1..6u64, any::<bool>()).prop_map(|(times, unfounded)| Step::Timeout { times, unfounded }),
        1 => (1..1000u64).prop_map(|ms| Step::Pause { ms }),
        1 => (200..1_000_000u64, 1..50u64, any::<bool>()).prop_map(|(ms, window, floor)| Step::Idle { ms, window, floor }),
    ]
}

/// A controller and what it has been told so far.
pub struct World {
    cc: Box<dyn CongestionControl>,
    needs: Needs,
    rng: Stream,
    mss: u64,
    /// Segments at most in flight, so that a history stays short.
    most: u64,
    now: Time,
    una: u64,
    nxt: u64,
    /// When something left last.
    sent: Time,
    delivered: u64,
    lost: u64,
    rtt: RttView,
    phase: Phase,
    /// A timeout's repair ends here.
    recover: u64,
    round: u64,
    round_end: u64,
    /// Every decision.
    pub controls: Vec<Control>,
    /// Bytes in flight at every signal of congestion.
    pub flights: Vec<u64>,
}

impl World {
    /// Begins with a window of `iw` segments of `mss` bytes.
    pub fn new(cc: Box<dyn CongestionControl>, mss: u64, iw: u64, most: u64) -> World {
        let mut world = World {
            needs: cc.needs(),
            cc,
            rng: Stream::named(1, 0, "history"),
            mss,
            most,
            now: Time(100_000_000_000),
            una: 1,
            nxt: 1,
            sent: Time(100_000_000_000),
            delivered: 0,
            lost: 0,
            rtt: RttView { smoothed: Span::from_millis(40), min: Span::from_millis(40) },
            phase: Phase::Open,
            recover: 1,
            round: 0,
            round_end: 1,
            controls: vec![],
            flights: vec![],
        };
        world.call(|cc, cx| cc.start(cx, iw * mss));
        world
    }

    /// The present decision.
    pub fn control(&self) -> Control {
        self.cc.control()
    }

    /// Bytes in flight when the next step begins.
    pub fn outstanding(&mut self) -> u64 {
        self.fill();
        self.nxt - self.una
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut dyn CongestionControl, &mut Cx<'_>) -> R) -> R {
        let mut cx = Cx {
            now: self.now,
            mss: self.mss as u32,
            in_flight: self.nxt - self.una,
            nxt: self.nxt,
            rtt: self.rtt,
            delivered: self.delivered,
            lost: self.lost,
            phase: self.phase,
            rng: &mut self.rng,
        };
        let answer = f(self.cc.as_mut(), &mut cx);
        self.controls.push(self.cc.control());
        answer
    }

    fn enter(&mut self, phase: Phase) {
        if self.phase != phase || phase == Phase::Loss {
            self.phase = phase;
            self.call(|cc, cx| cc.on_phase(cx));
        }
    }

    /// The window is filled.
    fn fill(&mut self) {
        if self.nxt == self.una {
            let idle = self.now.since(self.sent);
            self.call(|cc, cx| cc.on_transmit_start(cx, idle));
            if self.needs.rate {
                self.call(|cc, cx| cc.on_limited_start(cx));
            }
        }
        let window = self.cc.control().cwnd.min(self.most * self.mss) / self.mss * self.mss;
        let nxt = self.una + window.max(self.mss);
        if nxt > self.nxt {
            (self.nxt, self.sent) = (nxt, self.now);
        }
    }

    /// Everything is in order again.
    fn settle(&mut self) {
        self.enter(Phase::Open);
        self.fill();
    }

    /// `sacked`: a duplicate that delivers a segment beyond a hole.
    fn acknowledge(&mut self, a: Acked, sacked: bool) {
        let in_flight_before = self.nxt - self.una;
        let bytes = if sacked { self.mss } else { a.segments * self.mss }.min(in_flight_before);
        self.now += Span::from_micros(a.gap_us);
        self.una += if sacked { 0 } else { bytes };
        self.delivered += bytes;
        let rtt = a.rtt_us.map(Span::from_micros);
        if let Some(rtt) = rtt {
            self.rtt.smoothed = Span((7 * self.rtt.smoothed.0 + rtt.0) / 8);
            self.rtt.min = self.rtt.min.min(rtt);
        }
        if self.una > self.round_end {
            self.round += 1;
            self.round_end = self.nxt;
        }
        let grow = matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Loss);
        let rate = rtt.map(|interval| RateSample {
            delivered: in_flight_before,
            interval,
            prior_delivered: self.delivered.saturating_sub(in_flight_before),
            tx_in_flight: in_flight_before,
            prior_lost: self.lost,
            app_limited: !a.limited,
        });
        let ack = Ack {
            delivered: bytes,
            acked: if sacked { 0 } else { bytes },
            segments: if sacked { 0 } else { bytes.div_ceil(self.mss) },
            marked: if a.marked { bytes } else { 0 },
            ece: a.marked,
            duplicate: sacked,
            rtt,
            one_way: rtt.map(|rtt| Span(rtt.0 / 2)),
            rate: rate.filter(|_| self.needs.rate),
            departs: self.now,
            in_flight_before,
            una: self.una,
            nxt: self.nxt,
            round: self.round,
            plain: !sacked,
            window_limited: a.limited,
            grow,
            ..Ack::default()
        };
        if self.needs.observe {
            self.call(|cc, cx| cc.observe(cx, &ack));
        }
        if self.phase == Phase::Loss && self.una >= self.recover {
            self.enter(Phase::Open);
        }
        if grow || self.needs.recovery == RecoveryBy::Controller {
            self.call(|cc, cx| cc.on_ack(cx, &ack));
        }
    }

    /// So many acknowledgments while something is repaired.
    fn repair(&mut self, acks: u64, sacked: bool) {
        for _ in 0..acks {
            let one = Acked { segments: 1, gap_us: 1000, rtt_us: Some(70_000), limited: true, marked: false };
            self.acknowledge(one, sacked);
            self.fill();
        }
    }

    fn congestion(&mut self, signal: Signal) {
        self.flights.push(signal.flight());
        self.call(|cc, cx| cc.on_congestion(cx, signal));
    }

    fn lose(&mut self, bytes: u64) {
        self.lost += bytes;
        if self.needs.rate {
            let tx_in_flight = self.nxt - self.una;
            let lost = Lost { pos: self.una, len: self.mss, tx_in_flight, lost: bytes, app_limited: false };
            self.call(|cc, cx| cc.on_lost(cx, &lost));
        }
    }

    fn undo(&mut self, before: Control) {
        self.call(|cc, cx| cc.on_undo(cx, Undo { cwnd: before.cwnd, ssthresh: before.ssthresh }));
        self.enter(Phase::Open);
    }

    fn recovered(&mut self) {
        let ssthresh = self.cc.control().ssthresh;
        self.call(|cc, cx| cc.on_recovered(cx, ssthresh));
        self.enter(Phase::Open);
    }

    fn time_out(&mut self, repeated: bool) {
        let flight = self.nxt - self.una;
        self.congestion(Signal::Timeout { flight, repeated });
        self.lose(if repeated { self.mss } else { flight });
        self.recover = self.nxt;
        let one = self.mss;
        self.call(|cc, cx| cc.set_window(cx, one));
        self.enter(Phase::Loss);
    }

    /// Two segments that left together, where the controller asks for them.
    fn pair(&mut self, gap_us: u64) {
        if let Some(bytes) = self.call(|cc, cx| cc.packet_pair(cx)) {
            let rtt = [self.rtt.smoothed, self.rtt.smoothed + Span::from_micros(gap_us)];
            self.call(|cc, cx| cc.on_packet_pair(cx, &PacketPair { bytes, rtt }));
        }
    }

    /// What is outstanding arrives, with acknowledgments of a full window or not. Then nothing is sent for a while.
    pub fn pause(&mut self, ms: u64, limited: bool) {
        let all = Acked { segments: u64::MAX / self.mss, gap_us: 1, rtt_us: None, limited, marked: false };
        self.acknowledge(all, false);
        self.enter(Phase::Open);
        self.now += Span::from_millis(ms);
    }

    /// What is to happen next happens.
    pub fn play(&mut self, step: Step) {
        self.fill();
        match step {
            Step::Ack(a) => {
                if self.needs.pairs && a.marked {
                    self.pair(a.gap_us);
                }
                self.acknowledge(a, false);
            }
            Step::Disorder(duplicates) => {
                self.settle();
                self.enter(Phase::Disorder);
                let limited = Acked { segments: 1, gap_us: 500, rtt_us: None, limited: false, marked: false };
                for _ in 0..duplicates {
                    self.acknowledge(limited, true);
                }
                self.enter(Phase::Open);
            }
            Step::Loss { duplicates, acks, end } => {
                self.settle();
                let before = self.cc.control();
                self.lose(self.mss);
                self.congestion(Signal::Loss { flight: self.nxt - self.una });
                let collapses = self.needs.recovery == RecoveryBy::SlowStart;
                self.enter(if collapses { Phase::Loss } else { Phase::Recovery });
                self.recover = self.nxt;
                self.repair(duplicates, true);
                self.repair(acks, false);
                match end {
                    End::Unfounded => self.undo(before),
                    End::TimedOut(repeated) => self.time_out(repeated),
                    End::Repaired if collapses => self.enter(Phase::Open),
                    End::Repaired => self.recovered(),
                }
            }
            Step::Mark { acks } => {
                self.settle();
                self.congestion(Signal::Ecn { flight: self.nxt - self.una });
                self.enter(Phase::Reduction);
                self.repair(acks, false);
                self.recovered();
            }
            Step::Timeout { times, unfounded } => {
                let before = self.cc.control();
                for n in 0..times {
                    self.now += Span::from_millis(300 << n);
                    self.time_out(n > 0);
                }
                if unfounded {
                    self.undo(before);
                }
            }
            Step::Pause { ms } => self.pause(ms, false),
            Step::Idle { ms, window, floor } => {
                self.pause(ms, false);
                let ssthresh_floor = if floor { self.cc.control().cwnd / 4 * 3 } else { 0 };
                // The last data left before it was acknowledged.
                let idle = Span::from_millis(ms) + self.rtt.smoothed;
                let restart = Restart { idle, window: window * self.mss, ssthresh_floor };
                self.call(|cc, cx| cc.on_restart(cx, restart));
            }
        }
    }
}
