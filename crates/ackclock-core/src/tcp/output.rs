//! The sending half: what may leave now.

use super::config::{AppLimitedRule, IdleRule, NagleRule};
use super::pacer::Leaving;
use super::scoreboard::Hole;
use super::sender::Sender;
use super::timers::{Timer, Timers};
use crate::cc::Restart;
use crate::time::Time;

/// What the sender puts on the wire next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Stream position of the first payload byte.
    pub pos: u64,
    /// Payload bytes.
    pub len: u32,
    /// The stream ends behind them.
    pub fin: bool,
    /// The application's data was pushed here.
    pub push: bool,
}

impl Sender {
    /// True when there is nothing to send, now or later, until the application or the peer does something.
    #[inline]
    pub(super) fn quiet(&self) -> bool {
        let board = &self.tcb.board;
        board.outstanding() == 0 && self.stream.exhausted(board.nxt()) && !self.peer.probe_due()
    }

    /// The next segment allowed to leave at `now`, if any.
    pub(super) fn poll(&mut self, now: Time, timers: &mut Timers) -> Option<Output> {
        // A tail loss probe, or the first retransmission, whatever the window (RFC 8985 §7.3, RFC 6675 §5).
        if self.recovery.take_forced() {
            if self.recovery.take_probe() {
                return self.send_probe(now, timers);
            }
            if let Some(hole) = self.tcb.board.next_lost() {
                return Some(self.resend(hole, now, timers));
            }
        }
        if self.tcb.congestion.needs().pairs {
            if let Some(out) = self.pair_segment(now, timers) {
                return Some(out);
            }
        }
        let pipe = self.tcb.board.pipe();
        if self.pacer.gate() > now {
            self.wait_longer_for_pacing(now, pipe, timers);
            return None;
        }
        // Repairs go before new data: nothing else leaves while one is waiting for the window.
        if self.tcb.board.pending() > 0 && self.recovery.may_repair() {
            let hole = self.tcb.board.next_lost()?;
            if pipe + self.tcb.board.count(hole.len) <= self.room() {
                return Some(self.resend(hole, now, timers));
            }
            self.tcb.note_usage(pipe, !self.exhausted());
            return None;
        }
        if let Some(out) = self.new_data(now, pipe, timers) {
            return Some(out);
        }
        if self.recovery.end_frto_step(self.tcb.board.nxt()) {
            return self.poll(now, timers);
        }
        // RFC 6675 `NextSeg` rules 3 and 4.
        if self.recovery.is_recovering() {
            if let Some(hole) = self.recovery.speculative(pipe, &mut self.tcb) {
                return Some(self.resend(hole, now, timers));
            }
        }
        if self.tcb.congestion.needs().rate && pipe < self.tcb.window() && self.exhausted() {
            self.note_exhausted();
        }
        self.rest(now, pipe, timers);
        // A window probe (RFC 9293 §3.8.6.1): just below the window, which no receiver takes for new (Linux).
        if self.peer.take_probe() {
            return Some(Output { pos: self.tcb.board.nxt() - 1, len: 0, fin: false, push: false });
        }
        None
    }

    /// Data has run out with room in the window.
    fn note_exhausted(&mut self) {
        if self.tcb.config.app_limited == AppLimitedRule::Exhausted {
            self.tcb.board.note_app_limited(self.tcb.congestion.delivered());
        }
    }

    /// Nothing leaves now, with `pipe` bytes in the network.
    #[inline]
    fn rest(&mut self, now: Time, pipe: u64, timers: &mut Timers) -> Option<Output> {
        self.tcb.note_usage(pipe, !self.exhausted());
        self.recovery.renew_probe(now, &self.tcb, timers);
        None
    }

    /// Bytes that may be in the network.
    #[inline]
    fn room(&self) -> u64 {
        self.tcb.window() + self.recovery.room_for_duplicates(&self.tcb)
    }

    /// Payload bytes ready to send, and whether a FIN follows them.
    #[inline]
    fn available(&self) -> (u32, bool) {
        self.stream.available(self.tcb.board.nxt(), self.tcb.mss)
    }

    /// Nothing new is ready to send.
    #[inline]
    fn exhausted(&self) -> bool {
        self.stream.exhausted(self.tcb.board.nxt())
    }

    /// When the pacer lets the next segment out; in the past when it may leave now.
    #[inline]
    pub(super) fn gate(&self) -> Time {
        self.pacer.gate()
    }

    /// What [`Sender::poll`] does when the gate of the pacer is closed. False, and nothing is done: something leaves even
    /// so, or there is nothing to send.
    #[inline]
    pub(super) fn waits_for_pacing(&mut self, now: Time, timers: &mut Timers) -> bool {
        if self.quiet() || self.recovery.forces() || self.tcb.congestion.needs().pairs {
            return false;
        }
        self.wait_for_pacing(now, self.tcb.board.pipe(), timers);
        true
    }

    /// The gate of the pacer is closed. A segment that waits for nothing else is due when it opens: no use waking for
    /// what the window holds back.
    #[inline(always)]
    fn wait_for_pacing(&mut self, now: Time, pipe: u64, timers: &mut Timers) {
        let (len, _) = self.available();
        if len == 0 || self.tcb.board.pending() > 0 || pipe + self.tcb.board.count(len) <= self.room() {
            timers.set_departure(self.pacer.gate());
        }
        self.rest(now, pipe, timers);
    }

    /// [`Sender::wait_for_pacing`], where it is seldom called.
    #[inline(never)]
    fn wait_longer_for_pacing(&mut self, now: Time, pipe: u64, timers: &mut Timers) {
        self.wait_for_pacing(now, pipe, timers);
    }

    #[inline]
    fn new_data(&mut self, now: Time, pipe: u64, timers: &mut Timers) -> Option<Output> {
        let (mut len, mut fin) = self.available();
        if len == 0 && !fin {
            return None;
        }
        let nxt = self.tcb.board.nxt();
        let outstanding = self.tcb.board.outstanding();
        if nxt + u64::from(len) > self.peer.edge() {
            (len, fin) = (self.part_for_window(now, timers)?, false);
        }
        if outstanding == 0 {
            self.resume_from_idle(now);
        }
        let duplicates = self.recovery.on_duplicates();
        let (used, room) = if duplicates && !self.recovery.transmits_limited() {
            (self.tcb.board.occupied(), self.tcb.window())
        } else {
            (pipe, self.room())
        };
        if used + self.tcb.board.count(len) > room {
            return None;
        }
        // Nagle and silly window avoidance: a short segment only ends the stream or finds nothing outstanding.
        //= RFC 9293 §3.8.6.2.1 sws-sender
        let short = len < self.tcb.mss && outstanding > 0 && !fin;
        if short && (!self.stream.ends_at(nxt + u64::from(len)) || self.holds_short()) {
            return None;
        }
        if duplicates {
            self.recovery.sent_limited(self.tcb.board.count(len));
        }
        Some(self.emit(now, (len, fin), pipe, timers))
    }

    /// Nagle's algorithm holds the end of the stream, which is less than a segment, behind what is outstanding.
    //= RFC 9293 §3.7.4 nagle
    fn holds_short(&self) -> bool {
        let rule = self.tcb.config.nagle_rule;
        //= RFC 9293 §3.7.4 nagle-off
        let waits = rule == NagleRule::Rfc896 || self.stream.short_is_outstanding(self.tcb.board.una());
        self.tcb.config.nagle && waits
    }

    /// The next `len` bytes, and a FIN behind them, leave for the first time, with `pipe` bytes in the network before.
    #[inline(always)]
    pub(super) fn emit(&mut self, now: Time, (len, fin): (u32, bool), pipe: u64, timers: &mut Timers) -> Output {
        let nxt = self.tcb.board.nxt();
        if pipe == 0 {
            self.starts(now, nxt + u64::from(len) + u64::from(fin));
        }
        self.tcb.board.sent(len + u32::from(fin), now);
        let counted = self.tcb.board.count(len);
        if self.tcb.board.is_measured() {
            self.tcb.board.note_sent(now, self.tcb.board.pipe(), self.tcb.totals());
        }
        if self.pacer.acts(self.tcb.congestion.control()) {
            self.pace(now, len, nxt - self.tcb.board.una());
        }
        self.recovery.probe_waits_for_new_data();
        self.recovery.sent(counted);
        self.tcb.stats.sent_bytes += u64::from(len);
        self.tcb.stats.sent_segments += u64::from(len > 0);
        //= RFC 6298 §5 5.1-start
        if !timers.is_set(Timer::Rto) {
            timers.set_after(Timer::Rto, now, self.tcb.rtt.rto());
        }
        let short = len < self.tcb.mss;
        Output { pos: nxt, len, fin, push: self.stream.leaves(now, nxt + u64::from(len), fin, short) }
    }

    /// The next segment does not fit the peer's window: the part of it to send, if any.
    #[inline(never)]
    fn part_for_window(&mut self, now: Time, timers: &mut Timers) -> Option<u32> {
        if self.tcb.board.outstanding() > 0 {
            return None;
        }
        let part = self.peer.part(self.tcb.board.nxt());
        if part.is_none() && !timers.is_set(Timer::Persist) {
            let wait = self.peer.persist_interval(self.tcb.rtt.rto(), self.tcb.config.max_rto);
            timers.set_after(Timer::Persist, now, wait);
        }
        part
    }

    /// The persist timer expired: probe the peer's closed window (RFC 9293 §3.8.6.1).
    //= RFC 9293 §3.8.6.1 probe
    pub(super) fn on_persist(&mut self, now: Time, timers: &mut Timers) {
        if self.tcb.board.outstanding() == 0 && !self.exhausted() {
            self.peer.persist(now, self.tcb.rtt.rto(), self.tcb.config.max_rto, timers);
        }
    }

    /// The tail loss probe (RFC 8985 §7.3): a new segment if there is one and the peer's window has room, else the last
    /// one again.
    #[cold]
    #[inline(never)]
    //= RFC 8985 §7.3 content
    fn send_probe(&mut self, now: Time, timers: &mut Timers) -> Option<Output> {
        let (len, fin) = self.available();
        let fits = self.tcb.board.nxt() + u64::from(len) <= self.peer.edge();
        let new = (len > 0 || fin) && fits;
        let out = if new {
            self.emit(now, (len, fin), self.tcb.board.pipe(), timers)
        } else {
            let hole = self.tcb.board.last_undelivered()?;
            self.leaves_again(now, hole.len);
            self.tcb.board.probed(hole.number, now, self.tcb.totals());
            self.recovery.probed_again();
            self.repeat(hole, now)
        };
        self.recovery.probed(!new, &mut self.tcb);
        timers.clear(Timer::Probe);
        Some(out)
    }

    /// `len` payload bytes are about to leave again.
    fn leaves_again(&mut self, now: Time, len: u32) {
        if self.tcb.board.pipe() == 0 {
            self.starts(now, self.tcb.board.nxt());
        }
        if self.pacer.acts(self.tcb.congestion.control()) {
            self.pace(now, len, self.tcb.board.outstanding());
        }
    }

    /// Data, up to position `end` if it is new, is about to leave while nothing is in flight.
    #[cold]
    fn starts(&mut self, now: Time, end: u64) {
        let idle = self.stream.idle(now);
        self.tcb.decide(now, |cc, cx| cc.on_transmit_start(cx, idle));
        if self.tcb.board.app_limited() {
            self.tcb.decide(now, |cc, cx| cc.on_limited_start(cx));
        }
        if self.tcb.board.outstanding() == 0 {
            self.tcb.board.note_start(now);
            self.tcb.alone_end = end;
        }
    }

    /// A segment of a paced sender leaves, with `outstanding` bytes unacknowledged before it.
    #[inline]
    fn pace(&mut self, now: Time, len: u32, outstanding: u64) {
        let leaving = Leaving { len, number: self.tcb.stats.sent_segments };
        let control = self.tcb.congestion.control();
        self.pacer.sent(now, leaving, control, outstanding, self.tcb.rtt.smoothed());
    }

    #[inline(never)]
    fn resend(&mut self, hole: Hole, now: Time, timers: &mut Timers) -> Output {
        if self.tcb.congestion.needs().pairs {
            self.pair.resent(hole.seq);
        }
        self.leaves_again(now, hole.len);
        self.tcb.board.retransmitted(hole.number, now, self.tcb.totals());
        self.recovery.resent(now);
        self.recovery.rearm(now, hole, &self.tcb, timers);
        self.repeat(hole, now)
    }

    /// The counters of a segment that leaves again.
    fn repeat(&mut self, hole: Hole, now: Time) -> Output {
        let end = hole.seq + u64::from(hole.len);
        let fin = self.stream.fin_sent() && end == self.tcb.board.nxt();
        let len = hole.len - u32::from(fin);
        self.recovery.sent(self.tcb.board.count(len));
        let stats = &mut self.tcb.stats;
        stats.sent_bytes += u64::from(len);
        stats.sent_segments += u64::from(len > 0);
        stats.retransmitted_bytes += u64::from(len);
        stats.retransmitted_segments += u64::from(len > 0);
        Output { pos: hole.seq, len, fin, push: self.stream.leaves_again(now, end) }
    }

    /// RFC 5681 §4.1: after an idle time the window no longer describes the path.
    #[inline(never)]
    //= RFC 5681 §4.1 idle-restart
    pub(super) fn resume_from_idle(&mut self, now: Time) {
        let (idle, rto) = (self.stream.idle(now), self.tcb.rtt.rto());
        // Linux counts both in whole ticks.
        let ticks = self.stream.idle_ticks(now, self.tcb.config.timer_tick);
        let per_rto = rto.0.div_ceil(self.tcb.config.timer_tick.0.max(1)).max(1);
        let passed = if self.tcb.config.idle == IdleRule::Linux { ticks > per_rto } else { idle > rto };
        if !passed || self.tcb.stats.sent_segments == 0 {
            return;
        }
        let iw = self.tcb.config.initial_window(self.tcb.mss);
        let cwnd = self.tcb.window();
        let restart = match self.tcb.config.idle {
            IdleRule::None => return,
            IdleRule::Rfc7661 => return self.tcb.resume_validated(now, idle),
            IdleRule::Rfc5681 => Restart { idle, window: iw, ssthresh_floor: 0 },
            IdleRule::Linux => {
                // Whole packets, and only timeouts that are over.
                let (halvings, mss) = ((ticks - 1) / per_rto, u64::from(self.tcb.mss));
                let packets = cwnd / mss;
                let window = if halvings < 63 { (packets >> halvings) * mss } else { 0 };
                let ssthresh_floor = ((packets >> 1) + (packets >> 2)) * mss;
                Restart { idle, window: window.max(iw.min(cwnd)), ssthresh_floor }
            }
        };
        self.tcb.restart(now, restart);
        self.stream.resume(now);
    }
}
