//! An adversarial network in virtual time: two endpoints, a path each way, and a check of every step.
//!
//! Segments carry no payload, so each packet travels with the truth about itself: the 64-bit stream position of its
//! first byte and of its acknowledgment. What an endpoint makes of the 32-bit numbers is compared with it.
//!
//! [`path`] is what the network does, [`case`] what is drawn, [`sender`] and [`receiver`] what must hold.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code)]

pub mod case;
pub mod path;
mod receiver;
mod sender;
pub mod spans;
mod view;

use ackclock_core::cc::{EcnUse, Signal};
use ackclock_core::packet::Ecn;
use ackclock_core::rng::Stream;
use ackclock_core::tcp::config::RtoRule;
use ackclock_core::tcp::endpoint::State;
use ackclock_core::tcp::segment::flags;
use ackclock_core::tcp::{Endpoint, Segment};
use ackclock_core::time::Time;
use case::{Action, Case};
use path::Path;
use receiver::ReceiverCheck;
use sender::SenderCheck;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use view::{Check, Spy, View, holds};

/// What is true of a packet, whatever its header says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truth {
    pub pos: u64,
    pub ack: u64,
    /// Right edge it advertises.
    pub edge: u64,
    pub blocks: [(u64, u64); 4],
    /// Ticks of the sender's timestamp clock.
    pub tsval: u64,
}

/// What a transfer went through, to show that a test did meet what it tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub packets: u64,
    pub retransmissions: u64,
    pub recoveries: u64,
    pub timeouts: u64,
    pub speculative: u64,
    /// Tail loss probes, and reactions and timeouts taken back.
    pub probes: u64,
    pub undos: u64,
    pub spurious: u64,
    /// Segments sent while a proportional reduction was checked.
    pub reductions: u64,
    pub duplicate_acks: u64,
    pub window_probes: u64,
    pub wraps: u64,
    pub reordered: u64,
    /// Packets marked (CE), and reductions of the window for them.
    pub marks: u64,
    pub ecn_reductions: u64,
    /// Hash of every packet and its time.
    pub trace: u64,
    pub end: u64,
}

impl Report {
    /// Adds up what several transfers went through.
    pub fn add(&mut self, r: &Report) {
        self.packets += r.packets;
        self.retransmissions += r.retransmissions;
        self.recoveries += r.recoveries;
        self.timeouts += r.timeouts;
        self.speculative += r.speculative;
        self.probes += r.probes;
        self.undos += r.undos;
        self.spurious += r.spurious;
        self.reductions += r.reductions;
        self.duplicate_acks += r.duplicate_acks;
        self.window_probes += r.window_probes;
        self.wraps += r.wraps;
        self.reordered += r.reordered;
        self.marks += r.marks;
        self.ecn_reductions += r.ecn_reductions;
    }
}

struct Packet {
    to: usize,
    segment: Segment,
    truth: Truth,
}

fn blocks(p: &Packet) -> &[(u64, u64)] {
    &p.truth.blocks[..p.segment.sack().len()]
}

/// A transfer with more events than this will never end.
const MOST_EVENTS: u64 = 400_000;
/// An endpoint that sends more than this at one instant never stops.
const LONGEST_BURST: u64 = 100_000;

/// Two endpoints and what is between them.
pub struct Net {
    now: Time,
    ends: [Endpoint; 2],
    apps: [VecDeque<(u64, Action)>; 2],
    paths: [Path; 2],
    wire: BTreeMap<(Time, u64), Packet>,
    sent: u64,
    delivered: u64,
    handed: [u64; 2],
    last_delivered: [u64; 2],
    signals: [Arc<Mutex<Vec<Signal>>>; 2],
    /// The controller makes the receiver tell every change of marking.
    dctcp: [bool; 2],
    senders: [SenderCheck; 2],
    receivers: [ReceiverCheck; 2],
    iss: [u32; 2],
    scales: [u32; 2],
    ticks: [u64; 2],
    /// What an RTT sample may lack: Linux rounds those from timestamps down to ticks.
    rounded: [u64; 2],
    written: [u64; 2],
    report: Report,
    log: Option<Vec<String>>,
}

/// The last steps of a transfer that fails, for its message.
pub fn last_steps(case: &Case) -> String {
    let mut net = Net::new(case);
    net.log = Some(Vec::new());
    let _ = net.play();
    let log = net.log.unwrap_or_default();
    log[log.len().saturating_sub(40)..].join("\n")
}

impl Net {
    pub fn new(case: &Case) -> Net {
        let configs = [0, 1].map(|i| case.ends[i].config());
        let signals: [Arc<Mutex<Vec<Signal>>>; 2] = Default::default();
        let controllers = [0, 1].map(|i| case.ends[i].controller());
        let repairs = [0, 1].map(|i| controllers[i].needs().recovery);
        let dctcp = [0, 1].map(|i| controllers[i].needs().ecn == EcnUse::Dctcp);
        let scalable = [0, 1].map(|i| controllers[i].needs().ecn != EcnUse::Classic);
        let mut i = 0;
        let mut ends = controllers.map(|inner| {
            let rng = Stream::named(case.seed, i as u64, "endpoint");
            let spy = Box::new(Spy { inner, signals: signals[i].clone() });
            i += 1;
            Endpoint::new(&configs[i - 1], case.ends[i - 1].mss, spy, rng)
        });
        // What a peer offers counts as 48 bytes at least.
        let least = if case.handshake { 48 } else { 0 };
        let mss = [0, 1].map(|i| case.ends[i].mss.min(case.ends[1 - i].mss.max(least)));
        let sack = configs.iter().all(|c| c.offers_sack());
        let timestamps = configs.iter().all(|c| c.timestamps);
        let shortest = case.paths[0].delay + case.paths[1].delay;
        let mut senders = [0, 1].map(|i| SenderCheck::new(&configs[i], mss[i], sack, repairs[i], shortest));
        senders.iter_mut().zip(scalable).for_each(|(s, d)| s.scalable = d);
        for (s, end) in senders.iter_mut().zip(&case.ends) {
            s.own_threshold |= end.controller.0 == "westwood+";
        }
        let scales = [0, 1].map(|i| u32::from(ends[i].rx.scale()));
        let window = |i: usize| configs[i].receive_buffer.min(configs[i].initial_receive_window);
        let edge = |i: usize| 1 + window(i).min(65_535 << scales[i]);
        let receivers = [0, 1].map(|i| ReceiverCheck::new(timestamps, if case.handshake { 0 } else { edge(i) }));
        if case.handshake {
            ends[1].listen();
            ends[0].connect();
        } else {
            ends[1].assume_established(Time::ZERO);
            ends[0].assume_established(Time::ZERO);
        }
        Net {
            now: Time::ZERO,
            ends,
            apps: [0, 1].map(|i| case.ends[i].app.iter().copied().collect()),
            paths: [0, 1].map(|i| Path::new(&case.paths[i], Stream::named(case.seed, i as u64, "path"))),
            wire: BTreeMap::new(),
            sent: 0,
            delivered: 0,
            handed: [0; 2],
            last_delivered: [0; 2],
            signals,
            dctcp,
            senders,
            receivers,
            iss: [0, 1].map(|i| configs[i].iss as u32),
            scales,
            ticks: [0, 1].map(|i| configs[i].timestamp_tick.0),
            rounded: [0, 1].map(|i| if configs[i].rto == RtoRule::Linux { configs[i].timestamp_tick.0 } else { 0 }),
            written: [0, 1].map(|i| case.ends[i].written()),
            report: Report::default(),
            log: None,
        }
    }

    fn say(&mut self, text: impl FnOnce(&Net) -> String) {
        if self.log.is_some() {
            let line = format!("{:.6} {}", self.now.as_secs_f64(), text(self));
            self.log.get_or_insert_default().push(line);
        }
    }

    /// Every segment takes the general way through the endpoints, expected or not.
    pub fn without_prediction(mut self) -> Net {
        self.ends.iter_mut().for_each(Endpoint::predict_nothing);
        self
    }

    /// Plays the transfer until nothing is left to happen.
    ///
    /// # Errors
    /// The invariant that was violated.
    pub fn run(mut self) -> Result<Report, String> {
        self.play()?;
        self.at_end()
    }

    fn play(&mut self) -> Check {
        let mut events = 0;
        self.transmit(0)?;
        self.transmit(1)?;
        loop {
            let arrival = self.wire.first_key_value().map_or(Time::NEVER, |(k, _)| k.0);
            let acts = [0, 1].map(|i| self.apps[i].front().map_or(Time::NEVER, |a| Time(a.0)));
            let timers = [0, 1].map(|i| self.ends[i].next_deadline());
            let next = acts.into_iter().chain(timers).fold(arrival, Time::min);
            if !next.is_set() {
                break;
            }
            events += 1;
            holds!(2, events < MOST_EVENTS, "the transfer does not end; now {next:?}");
            self.now = next;
            if arrival == next {
                self.deliver()?;
            } else if let Some(i) = [0, 1].into_iter().find(|i| acts[*i] == next) {
                self.act(i)?;
            } else if let Some(i) = [0, 1].into_iter().find(|i| timers[*i] == next) {
                self.expire(i)?;
            }
        }
        Ok(())
    }

    fn act(&mut self, i: usize) -> Check {
        match self.apps[i].pop_front() {
            Some((_, Action::Write(n))) => self.ends[i].tx.write(n),
            Some((_, Action::Close)) => self.ends[i].close(),
            None => {}
        }
        self.transmit(i)
    }

    fn expire(&mut self, i: usize) -> Check {
        self.say(|_| format!("{i} timer"));
        let before = View::of(&self.ends[i]);
        self.ends[i].on_timer(self.now);
        self.after_event(i, &before)?;
        self.transmit(i)?;
        holds!(6, self.ends[i].next_deadline() > self.now, "a timer expires for ever at {:?}", self.now);
        Ok(())
    }

    fn after_event(&mut self, i: usize, before: &View) -> Check {
        let after = View::of(&self.ends[i]);
        let signals = std::mem::take(&mut *self.signals[i].lock().unwrap());
        self.senders[i].on_event();
        if before.state == State::Established {
            self.senders[i].after_event(before, &after, &signals, &mut self.report)?;
        }
        self.audit(i)
    }

    fn audit(&self, i: usize) -> Check {
        self.ends[i].audit().map_err(|e| format!("invariants 6, 8: {e}"))?;
        let (mut at, _, _) = self.ends[i].tx.positions();
        while let Some(k) = self.ends[i].known(at) {
            let came = self.receivers[1 - i].has(k.span);
            holds!(8, !k.sacked || came, "{:?} is believed delivered and did not come", k.span);
            at = k.span.1;
        }
        Ok(())
    }

    /// The true positions of what endpoint `i` says, given its state before it said so.
    fn truth(&self, i: usize, before: &View, s: &Segment) -> Result<Truth, String> {
        // A segment starts at most one position below SND.UNA, and less than 2^31 above it.
        let low = before.una.saturating_sub(1);
        let pos = low + u64::from(s.seq.wrapping_sub(self.iss[i].wrapping_add(low as u32)));
        let mut t = Truth { pos, tsval: self.now.0 / self.ticks[i], ..Truth::default() };
        if !s.has(flags::ACK) {
            t.edge = 1 + u64::from(s.window);
            return Ok(t);
        }
        t.ack = if s.has(flags::SYN) { 1 } else { self.ends[i].rx.nxt() };
        let wire = self.iss[1 - i].wrapping_add(t.ack as u32);
        // What came before a change of marking is acknowledged apart (RFC 8257 §3.2).
        let apart = s.len == 0 && self.dctcp[i];
        let behind = if apart { u64::from(wire.wrapping_sub(s.ack)) } else { 0 };
        holds!(2, s.ack == wire || (behind > 0 && behind < t.ack), "acknowledgment {} of {} is {wire}", s.ack, t.ack);
        t.ack -= behind;
        t.edge = t.ack + (u64::from(s.window) << if s.has(flags::SYN) { 0 } else { self.scales[i] });
        for (block, b) in t.blocks.iter_mut().zip(s.sack()) {
            let near = |x: u32| t.ack.saturating_add_signed(i64::from(x.wrapping_sub(s.ack) as i32));
            *block = (near(b.start), near(b.end));
        }
        if s.has_timestamps() {
            let clock = (self.now.0 / self.ticks[1 - i]) as u32;
            let future = clock.wrapping_sub(s.tsecr()) as i32;
            holds!(12, s.tsval() == t.tsval as u32, "TSval {} at {}", s.tsval(), t.tsval);
            holds!(12, future >= 0, "TSecr {} is in the future of {clock}", s.tsecr());
        }
        Ok(t)
    }

    fn transmit(&mut self, i: usize) -> Check {
        let mut burst = 0;
        loop {
            let before = View::of(&self.ends[i]);
            let Some(segment) = self.ends[i].poll_transmit(self.now) else { break };
            burst += 1;
            holds!(1, burst < LONGEST_BURST, "it never stops sending at {:?}", self.now);
            let after = View::of(&self.ends[i]);
            let truth = self.truth(i, &before, &segment)?;
            let edge = self.receivers[1 - i].edge;
            let (now, end) = (self.now, &self.ends[i]);
            self.senders[i].on_transmit(now, (&before, &after), end, (&segment, &truth), edge, &mut self.report)?;
            if segment.has(flags::ACK) || segment.has(flags::SYN) {
                self.receivers[i].on_acknowledgment(&segment, &truth)?;
            }
            self.audit(i)?;
            self.send(i, segment, truth);
        }
        self.signals[i].lock().unwrap().clear();
        Ok(())
    }

    fn send(&mut self, i: usize, mut segment: Segment, truth: Truth) {
        segment.ecn = self.paths[i].mark(segment.ecn);
        self.report.marks += u64::from(segment.ecn == Ecn::Ce);
        self.sent += 1;
        self.say(|n| {
            let (v, t) = (View::of(&n.ends[i]), truth);
            let state = format!("{:?} una {} nxt {} pipe {} cwnd {}", v.phase, v.una, v.nxt, v.pipe, v.cwnd);
            format!("{i} -> {}..+{} ack {} edge {}   {state}", t.pos, segment.len, t.ack, t.edge)
        });
        self.note(&segment, i);
        self.report.packets += 1;
        self.report.window_probes += u64::from(segment.seq_len() == 0 && truth.pos < self.ends[i].tx.positions().1);
        self.report.wraps += u64::from(segment.seq.checked_add(segment.len).is_none());
        let number = self.sent << 1;
        let bytes = self.ends[i].wire_bytes(&segment);
        for (copy, at) in self.paths[i].send(self.now, number, bytes).into_iter().enumerate() {
            self.wire.insert((at, number + copy as u64), Packet { to: 1 - i, segment, truth });
        }
    }

    /// Adds a packet to the trace.
    fn note(&mut self, s: &Segment, i: usize) {
        let mut words = vec![self.now.0, i as u64, u64::from(s.seq), u64::from(s.ack), u64::from(s.len)];
        words.extend([u64::from(s.window), u64::from(s.flags), s.ecn as u64, u64::from(s.mss)]);
        if s.has_timestamps() {
            words.extend([u64::from(s.tsval()), u64::from(s.tsecr())]);
        }
        words.extend(s.sack().iter().map(|b| u64::from(b.start) << 32 | u64::from(b.end)));
        for w in words {
            self.report.trace = (self.report.trace ^ w).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
    }

    fn deliver(&mut self) -> Check {
        let Some(((_, number), p)) = self.wire.pop_first() else { return Ok(()) };
        let i = p.to;
        self.say(|_| format!("{i} <- {}..+{} ack {} {:?}", p.truth.pos, p.segment.len, p.truth.ack, blocks(&p)));
        self.delivered += 1;
        self.report.reordered += u64::from(number < self.last_delivered[i]);
        self.last_delivered[i] = number.max(self.last_delivered[i]);
        if let Some(held) = self.paths[1 - i].came_out(number) {
            let key = self.wire.keys().find(|k| k.1 == held).copied();
            if let Some(packet) = key.and_then(|k| self.wire.remove(&k)) {
                self.wire.insert((self.now, held), packet);
            }
        }
        let before = View::of(&self.ends[i]);
        self.ends[i].on_segment(self.now, &p.segment);
        let after = View::of(&self.ends[i]);
        self.handed[i] += u64::from(p.segment.len);
        self.receivers[i].on_arrival(&before, &after, &p.segment, &p.truth)?;
        if p.segment.has(flags::ACK) && !p.segment.has(flags::SYN) {
            // An old timestamp excuses an acknowledgment that is not taken.
            let prompt = !p.segment.has_timestamps();
            let count = p.segment.sack().len();
            self.senders[i].on_acknowledgment(&before, &after, &p.truth, count, prompt)?;
            self.report.duplicate_acks += after.stats.dup_acks - before.stats.dup_acks;
        }
        self.after_event(i, &before)?;
        self.transmit(i)
    }

    fn at_end(mut self) -> Result<Report, String> {
        self.report.end = self.now.0;
        for i in [0, 1] {
            let (end, view) = (&self.ends[i], View::of(&self.ends[i]));
            holds!(2, end.finished(), "endpoint {i} is not finished: {:?} {view:?}", end.failure());
            holds!(2, view.delivered == self.written[1 - i], "{} of {}", view.delivered, self.written[1 - i]);
            self.receivers[i].at_end(&view, end.rx.stats.duplicate, self.handed[i])?;
            holds!(4, self.senders[i].sent == view.stats.sent_bytes, "{} sent", self.senders[i].sent);
            let fresh = view.stats.sent_bytes - view.stats.retransmitted_bytes;
            holds!(4, fresh == self.written[i], "{fresh} bytes sent for the first time");
            self.report.ecn_reductions += view.stats.ecn_reductions;
            // Every sample is at least the time that light takes.
            let (rtt, shortest) = (end.tx.rtt(), self.senders[i].shortest().saturating_sub(self.rounded[i]));
            holds!(12, rtt.totals().1 == 0 || rtt.min().0 >= shortest, "RTT {:?} below {shortest}", rtt.min());
        }
        let copies: u64 = self.paths.iter().map(|p| p.copies).sum();
        let lost: u64 = self.paths.iter().map(|p| p.lost).sum();
        holds!(4, self.sent + copies == self.delivered + lost, "{} sent, {} came", self.sent, self.delivered);
        Ok(self.report)
    }
}
