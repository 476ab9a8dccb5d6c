//! The whole endpoint: handshake, options, both halves, timers.

mod abort;
mod acceptable;
mod application;
mod audit;
mod handshake;
mod held;
mod marks;
mod state;
mod wire_size;

use super::config::{AckPolicy, Config};
use super::output::Output;
use super::prediction::Reading;
use super::receiver::{AckWait, Receiver};
use super::segment::{OLDEST_ECHO, Segment, flags, seq_before, unwrap_seq};
use super::sender::Sender;
use super::timers::{Timer, Timers};
use crate::cc::CongestionControl;
use crate::packet::Ecn;
use crate::rng::Stream;
use crate::time::{Span, Time};
use held::Held;
pub use state::{Failure, State};
use std::sync::Arc;
use wire_size::WireSize;

/// One side of a connection.
///
/// Simulators have thousands, so the fields stand in memory as they stand here: what every segment touches together, in
/// whole cache lines (ADR 0019).
#[repr(C, align(64))]
pub struct Endpoint {
    state: State,
    sack: bool,
    pub(super) timestamps: bool,
    scaled: bool,
    /// The acknowledgment that ends the handshake leaves before any data.
    bare_ack_due: bool,
    peer_closed: bool,
    pub(super) reading: Reading,
    /// It was established or failed, and nobody has looked since.
    news: bool,
    wire: WireSize,
    pub(super) ts_recent: u32,
    pub(super) ts_recent_at: Time,
    /// The timestamp clock: its tick in ns, what it shows, when it will show the next.
    ts_tick: u64,
    ts_now: u64,
    ts_next: Time,
    /// The waking that the timers know of.
    pub(super) wake_at: Time,

    pub(super) timers: Timers,
    /// The receiving half.
    pub rx: Receiver,
    /// The sending half.
    pub tx: Sender,

    failure: Option<Failure>,
    syn_due: bool,
    /// A reset is to be sent with this sequence number.
    reset_due: Option<u32>,
    mss: u32,
    /// The timestamp of the first SYN.
    first_syn_stamp: u32,
    syn_sent_at: Time,
    /// SYN segments sent, for whatever reason: after the first their round-trip time is ambiguous.
    syns_sent: u64,
    syn_retries: u64,
    /// When a segment that is not acceptable was answered last.
    challenged_at: Option<Time>,
    held: Held,
}

const _: () = assert!(std::mem::offset_of!(Endpoint, timers) == 64);

impl Endpoint {
    /// An endpoint that sends segments of up to `mss` payload bytes, controlled by `cc`.
    pub fn new(config: &Config, mss: u32, cc: Box<dyn CongestionControl>, rng: Stream) -> Endpoint {
        Endpoint::with_shared(&Arc::new(config.clone()), mss, cc, rng)
    }

    /// As [`Endpoint::new`], with options that many endpoints share.
    pub fn with_shared(config: &Arc<Config>, mss: u32, cc: Box<dyn CongestionControl>, rng: Stream) -> Endpoint {
        Endpoint {
            state: State::Closed,
            failure: None,
            mss,
            wire: WireSize::new(config),
            tx: Sender::new(config, mss, cc, rng),
            rx: Receiver::new(config, mss),
            timers: Timers::new(config.timer_tick),
            wake_at: Time::NEVER,
            sack: false,
            timestamps: false,
            scaled: false,
            reading: Reading::Predicting,
            ts_recent: 0,
            ts_recent_at: Time::ZERO,
            ts_tick: config.timestamp_tick.0,
            ts_now: 0,
            ts_next: Time::ZERO,
            syn_due: false,
            bare_ack_due: false,
            syn_sent_at: Time::ZERO,
            first_syn_stamp: 0,
            syns_sent: 0,
            syn_retries: 0,
            challenged_at: None,
            held: Held::Not,
            peer_closed: false,
            news: false,
            reset_due: None,
        }
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// Bytes of `seg` on the wire, IP header included, link framing not.
    #[inline]
    pub fn wire_bytes(&self, seg: &Segment) -> u32 {
        self.wire.of(seg)
    }

    /// The earliest time at which [`Endpoint::on_timer`] has something to do.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.timers.next()
    }

    /// A time not later than that of any timer, for little: good enough to be woken by. Pacing has no timer: see
    /// [`Endpoint::departure`].
    #[inline]
    pub fn deadline_bound(&self) -> Time {
        self.timers.bound()
    }

    /// When pacing lets the next segment out, if one waits for it.
    #[inline]
    pub fn departure(&self) -> Time {
        self.timers.departure()
    }

    /// What [`Endpoint::on_timer`] does at the time of [`Endpoint::departure`] while no timer is due.
    #[inline]
    pub fn on_departure(&mut self, now: Time) {
        self.timers.pass_departure(now);
    }

    /// Takes a segment from the network. Segments to send are then waiting in [`Endpoint::poll_transmit`].
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, seg: &Segment) {
        if self.state != State::Established || !self.take_predicted(now, seg) {
            self.on_unpredicted(now, seg);
        }
    }

    #[inline(never)]
    fn on_unpredicted(&mut self, now: Time, seg: &Segment) {
        let state = self.state;
        match state {
            State::Established => self.on_established(now, seg),
            State::Closed => {}
            State::Failed => self.on_segment_when_over(seg),
            _ if seg.has(flags::RST) => self.on_reset_in_handshake(seg),
            State::Listen | State::SynSent if self.keeps(seg) => {}
            State::Listen if seg.has(flags::SYN) => self.on_request(now, seg),
            //= RFC 9293 §3.5 three-way
            State::SynSent if seg.has(flags::SYN | flags::ACK) && seg.ack == self.tx.tcb.iss.wrapping_add(1) => {
                self.take_syn(now, seg);
                self.handshake_done(now, seg);
                self.rx.request_ack();
                self.bare_ack_due = self.tx.config().handshake_ack;
            }
            //= RFC 9293 §3.5 simultaneous-open
            State::SynSent if seg.has(flags::SYN) && !seg.has(flags::ACK) && !self.is_held() => {
                self.on_request(now, seg)
            }
            State::SynReceived if self.answers_both_syns(seg) => {
                self.handshake_done(now, seg);
                self.rx.request_ack();
            }
            State::SynReceived if seg.has(flags::SYN) => self.syn_due = true,
            State::SynReceived if seg.has(flags::ACK) && seg.ack == self.tx.tcb.iss.wrapping_add(1) => {
                self.handshake_done(now, seg);
                self.on_established(now, seg);
            }
            _ => {}
        }
    }

    fn on_established(&mut self, now: Time, seg: &Segment) {
        let pos = unwrap_seq(seg.seq, self.rx.origin(), self.rx.nxt());
        if seg.has(flags::RST) {
            //= RFC 5961 §3.2 rst
            // Only an exact match aborts; one elsewhere in the window is answered (RFC 5961 §3.2).
            if pos == self.rx.nxt() {
                self.fail(Failure::Reset);
            } else if pos > self.rx.nxt() && pos < self.rx.edge() {
                self.challenge(now);
            }
            return;
        }
        //= RFC 5961 §4.2 syn
        if seg.has(flags::SYN) {
            self.challenge(now);
            return;
        }
        //= RFC 9293 §3.10.7.4 no-ack-flag
        if !seg.has(flags::ACK) {
            return;
        }
        let stamped = self.timestamps && seg.has_timestamps();
        //= RFC 7323 §3.2 missing
        if self.timestamps && !stamped && self.tx.config().ack_policy != AckPolicy::Linux {
            // Without the option that both sides agreed on (RFC 7323 §3.2); Linux takes it.
            return;
        }
        let old = stamped && seq_before(seg.tsval(), self.ts_recent);
        //= RFC 7323 §5.3 paws
        if old && now.since(self.ts_recent_at) <= self.paws_lifetime() {
            // An old duplicate (RFC 7323 §5, PAWS).
            self.rx.on_old_timestamp(pos, u64::from(seg.seq_len()));
            return;
        }
        if !self.is_in_window(pos, seg) {
            self.on_out_of_window(now, pos, seg);
            return;
        }
        // Data out of order, at a receiver that sends nothing.
        let has_news = seg.sack_count > 0 || !self.tx.is_old_news(seg);
        if has_news && !self.tx.on_ack(now, seg, &mut self.timers) {
            return self.on_unacceptable_ack(now, seg);
        }
        //= RFC 7323 §4.3 ts-recent
        if stamped && pos <= self.rx.last_ack_sent() {
            (self.ts_recent, self.ts_recent_at) = (seg.tsval(), now);
        }
        self.mind_wake(now);
        let fin = seg.has(flags::FIN);
        if seg.len > 0 || fin {
            self.on_data_header(now, seg);
            if self.reading == Reading::ForMarks {
                self.on_marking(pos, seg);
            }
            self.rx.on_data(now, pos, seg.len, fin);
            self.peer_closed = self.rx.finished();
            self.arm_receiver(now);
        } else {
            if self.reading == Reading::ForMarks {
                self.on_marking(pos, seg);
            }
            if pos < self.rx.nxt() {
                // A window probe or keep-alive: say where we are. Only below the window: two sides that both miss data
                // would answer each other's acknowledgments for ever.
                self.rx.request_ack();
            }
        }
    }

    /// How long a timestamp can be compared with: 24 days of a clock in milliseconds (RFC 7323 §5.5).
    //= RFC 7323 §5.5 outdated
    fn paws_lifetime(&self) -> Span {
        self.tx.config().timestamp_tick * (24 * 86_400 * 1000)
    }

    #[inline]
    pub(super) fn arm_receiver(&mut self, now: Time) {
        match self.rx.ack_wait() {
            None => {}
            // Not on a tick: Linux compresses with a timer of high resolution.
            Some(AckWait::Compressed(wait)) => self.timers.set(Timer::CompressedAck, now + wait),
            Some(AckWait::Delayed(wait)) if self.rx.keeps_timer() => {
                self.timers.set_after(Timer::DelayedAck, now, wait)
            }
            Some(AckWait::Delayed(wait)) => self.timers.set_earlier(Timer::DelayedAck, now, wait),
        }
        if let Some(at) = self.rx.window_update_due(now) {
            self.timers.set(Timer::WindowUpdate, at);
        }
    }

    fn fail(&mut self, why: Failure) {
        self.state = State::Failed;
        self.failure = Some(why);
        self.news = true;
        self.timers.clear_all();
    }

    /// Does what the expired timers ask for. Returns false when none has expired.
    pub fn on_timer(&mut self, now: Time) -> bool {
        self.timers.pass_departure(now);
        if !self.timers.is_due(now) {
            return false;
        }
        self.wake(now);
        if self.timers.take_due(Timer::CompressedAck, now) {
            self.rx.request_ack();
        }
        if self.timers.take_due(Timer::DelayedAck, now) {
            self.rx.on_delay_expired();
        }
        if self.timers.take_due(Timer::WindowUpdate, now) {
            match self.rx.window_update_due(now) {
                Some(at) if at > now => self.timers.set(Timer::WindowUpdate, at),
                Some(_) => self.rx.request_ack(),
                None => {}
            }
        }
        if self.timers.take_due(Timer::Reorder, now) {
            self.tx.on_reorder_timer(now, &mut self.timers);
        }
        if self.timers.take_due(Timer::Probe, now) {
            self.tx.on_probe_timer(now, &mut self.timers);
        }
        if self.timers.take_due(Timer::Persist, now) {
            self.tx.on_persist(now, &mut self.timers);
        }
        if self.timers.take_due(Timer::Rto, now) {
            match self.state {
                State::Established if !self.tx.on_timeout(now, &mut self.timers) => self.fail(Failure::Timeout),
                State::SynSent | State::SynReceived => self.on_syn_timeout(),
                _ => {}
            }
        }
        if self.rx.wants_ack_now() {
            // What it will clear must not set the bound.
            self.clear_ack_timers();
        }
        self.mind_wake(now);
        self.timers.tighten();
        true
    }

    /// The next segment to send at `now`; call until it is `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).then_some(segment)
    }

    /// False when [`Endpoint::poll_transmit`] has nothing, for little.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        self.rx.wants_ack_now() || !self.tx.quiet() || self.state != State::Established
    }

    /// Writes the next segment to send at `now` into `segment`; call until it is false. `segment` may hold any old
    /// header: nothing of it is kept.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.state != State::Established {
            return self.poll_unestablished(now, segment);
        }
        let held = self.bare_ack_due || (self.tx.gate() > now && self.waits_for_pacing(now));
        if !held && !self.tx.quiet() {
            if let Some(out) = self.tx.poll(now, &mut self.timers) {
                self.write(now, out, segment);
                return true;
            }
            self.mind_wake(now);
        }
        if self.rx.wants_ack_now() {
            self.bare_ack_due = false;
            self.write(now, Output { pos: self.tx.tcb.board.nxt(), len: 0, fin: false, push: false }, segment);
            return true;
        }
        false
    }

    /// The gate of the pacer is closed: does what [`Sender::poll`] does then, which needs little of it. False, and nothing
    /// is done: something may leave even so.
    #[inline(never)]
    fn waits_for_pacing(&mut self, now: Time) -> bool {
        let waits = self.tx.waits_for_pacing(now, &mut self.timers);
        if waits {
            self.mind_wake(now);
        }
        waits
    }

    #[inline(never)]
    fn poll_unestablished(&mut self, now: Time, segment: &mut Segment) -> bool {
        match self.state {
            State::SynSent | State::SynReceived if self.syn_due => {
                *segment = self.syn(now);
                true
            }
            State::Failed => self.reset(segment),
            _ => false,
        }
    }

    /// The timestamp clock. Time never runs backwards, so a tick is divided out once.
    #[inline]
    fn timestamp(&mut self, now: Time) -> u32 {
        if now >= self.ts_next {
            let tick = self.ts_tick.max(1);
            self.ts_now = now.0 / tick;
            self.ts_next = Time((self.ts_now + 1) * tick);
        }
        self.ts_now as u32
    }

    /// How long ago the timestamp `echo` was sent; none if that cannot be.
    #[inline]
    pub(super) fn age(&mut self, now: Time, echo: u32) -> Option<Span> {
        let age = Span(u64::from(self.timestamp(now).wrapping_sub(echo)).saturating_mul(self.ts_tick));
        (age <= OLDEST_ECHO).then_some(age)
    }

    #[inline]
    fn write(&mut self, now: Time, out: Output, seg: &mut Segment) {
        seg.seq = self.tx.tcb.iss.wrapping_add(out.pos as u32);
        seg.len = out.len;
        seg.mss = 0;
        seg.flags = flags::ACK | if out.fin { flags::FIN } else { 0 } | if out.push { flags::PSH } else { 0 };
        seg.options = 0;
        seg.sack_count = 0;
        seg.ecn = Ecn::NotEct;
        if self.timestamps {
            let tsval = self.timestamp(now);
            seg.set_timestamps(tsval, self.ts_recent);
        }
        if self.reading == Reading::ForMarks && self.write_marks(out, seg) {
            return;
        }
        self.rx.acknowledge(now, seg, self.sack, self.scaled);
        self.clear_ack_timers();
    }

    /// An acknowledgment leaves.
    #[inline]
    fn clear_ack_timers(&mut self) {
        self.timers.clear(Timer::CompressedAck);
        if !self.rx.keeps_timer() {
            self.timers.clear(Timer::DelayedAck);
        }
    }

    /// Smallest span between a segment and the retransmission it can cause, for tests: the present timeout.
    pub fn rto(&self) -> Span {
        self.tx.tcb.rtt.rto()
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
