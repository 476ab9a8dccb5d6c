//! The sending half: what may leave now.

use super::config::{IdleRule, LossDetection, RearmRule, RtoRule};
use super::pacer::Leaving;
use super::recovery::probe::Stale;
use super::recovery::Repair;
use super::scoreboard::Hole;
use super::sender::{Phase, Sender};
use super::timers::{Timer, Timers};
use crate::cc::Restart;
use crate::estimator::delivery_rate::Totals;
use crate::time::{Span, Time};

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
        let closed = self.fin_sent || !self.closing;
        self.board.outstanding() == 0 && self.stream_end <= self.board.nxt() && closed && !self.probe
    }

    /// The next segment allowed to leave at `now`, if any.
    pub(super) fn poll(&mut self, now: Time, timers: &mut Timers) -> Option<Output> {
        if self.force {
            self.force = false;
            if self.tail.due {
                return self.send_probe(now, timers);
            }
            if let Some(hole) = self.board.next_lost() {
                return Some(self.resend(hole, now, timers));
            }
        }
        if self.needs.pairs {
            if let Some(out) = self.pair_segment(now, timers) {
                return Some(out);
            }
        }
        let pipe = self.board.pipe();
        if self.pacer.gate() > now {
            if self.could_leave(pipe) {
                timers.set(Timer::Pace, self.pacer.gate());
            }
            self.note_usage(pipe);
            if self.tail.stale != Stale::No {
                self.renew_probe(now, timers);
            }
            return None;
        }
        if self.board.pending() > 0 && !self.hold {
            // Repairs go before new data: nothing else leaves while one is waiting for the window.
            let hole = self.board.next_lost()?;
            if pipe + u64::from(hole.len) <= self.window + self.room_for_duplicates() {
                return Some(self.resend(hole, now, timers));
            }
            self.note_usage(pipe);
            return None;
        }
        if let Some(out) = self.new_data(now, pipe, timers) {
            return Some(out);
        }
        if self.end_hold() {
            return self.poll(now, timers);
        }
        if let Some(out) = self.speculative(now, pipe, timers) {
            return Some(out);
        }
        self.note_usage(pipe);
        if self.tail.stale != Stale::No {
            self.renew_probe(now, timers);
        }
        if self.needs.rate && pipe < self.window && self.available() == (0, false) {
            self.board.note_app_limited(self.delivered);
        }
        if self.probe {
            self.probe = false;
            return Some(Output { pos: self.board.nxt() - 1, len: 0, fin: false, push: false });
        }
        None
    }

    /// Whether something could leave but for pacing: no use waking for what the window holds back.
    #[inline]
    fn could_leave(&self, pipe: u64) -> bool {
        let (len, _) = self.available();
        len == 0 || self.board.pending() > 0 || pipe + u64::from(len) <= self.window + self.room_for_duplicates()
    }

    /// RFC 3042: each of the first two duplicates lets one segment out.
    #[inline]
    fn room_for_duplicates(&self) -> u64 {
        let without_sack = matches!(self.repair, Repair::Tahoe | Repair::Reno | Repair::NewReno);
        if self.dup_acks == 0 || !without_sack || !self.config.limited_transmit {
            return 0;
        }
        match self.phase {
            Phase::Open => {}
            Phase::Loss if self.config.limited_transmit_after_timeout && self.dup_acks < self.config.dupthresh => {}
            _ => return 0,
        }
        self.dup_acks.min(2) * u64::from(self.mss)
    }

    /// Payload positions ready to send, and whether a FIN follows them.
    #[inline]
    pub(super) fn available(&self) -> (u32, bool) {
        let nxt = self.board.nxt();
        let left = self.stream_end.saturating_sub(nxt);
        let len = left.min(u64::from(self.mss)) as u32;
        let fin = self.stream_end != u64::MAX && left == u64::from(len) && self.closing && !self.fin_sent;
        (len, fin)
    }

    #[inline]
    fn new_data(&mut self, now: Time, pipe: u64, timers: &mut Timers) -> Option<Output> {
        let (mut len, mut fin) = self.available();
        if len == 0 && !fin {
            return None;
        }
        let nxt = self.board.nxt();
        let outstanding = self.board.outstanding();
        if nxt + u64::from(len) > self.peer_edge {
            (len, fin) = (self.part_for_window(now, timers)?, false);
        }
        if outstanding == 0 {
            self.resume_from_idle(now);
        }
        let mss = u64::from(self.mss);
        let duplicates = self.phase == Phase::Open && self.dup_acks > 0;
        let (used, room) = if duplicates && !self.config.limited_transmit {
            (outstanding, self.window)
        } else {
            (pipe, self.window + self.room_for_duplicates())
        };
        if used + u64::from(len) > room {
            return None;
        }
        // Nagle and silly window avoidance: a short segment only ends the stream or finds nothing outstanding.
        let ends = self.stream_end != u64::MAX && nxt + u64::from(len) == self.stream_end;
        if u64::from(len) < mss && outstanding > 0 && !fin && (self.config.nagle || !ends) {
            return None;
        }
        if duplicates {
            self.limited_sent += u64::from(len);
        }
        Some(self.emit(now, len, fin, timers))
    }

    /// The next `len` bytes, and a FIN behind them, leave for the first time.
    #[inline(always)]
    pub(super) fn emit(&mut self, now: Time, len: u32, fin: bool, timers: &mut Timers) -> Output {
        let nxt = self.board.nxt();
        let pipe = self.board.pipe();
        if pipe == 0 {
            self.starts(now);
        }
        self.board.sent(len + u32::from(fin), now);
        if self.needs.rate || self.pacer.acts(&self.control) {
            self.measured_left(now, len, nxt, pipe + u64::from(len) + u64::from(fin));
        }
        self.fin_sent |= fin;
        if self.tail.on {
            self.tail.stale = Stale::Sent;
        }
        if self.phase == Phase::Recovery || self.marks.reducing {
            self.prr.sent(u64::from(len));
        }
        self.stats.sent_bytes += u64::from(len);
        self.stats.sent_segments += u64::from(len > 0);
        self.last_sent = now;
        if !timers.is_set(Timer::Rto) {
            timers.set_after(Timer::Rto, now, self.rtt.rto());
        }
        Output { pos: nxt, len, fin, push: self.pushes.take(nxt + u64::from(len)) }
    }

    /// The next segment does not fit the peer's window: the part of it to send, if any. A window smaller than a segment
    /// is filled when it is half of the largest ever or the persist timer overrides (RFC 9293 §3.8.6.2.1).
    fn part_for_window(&mut self, now: Time, timers: &mut Timers) -> Option<u32> {
        if self.board.outstanding() > 0 {
            return None;
        }
        let open = self.peer_edge.saturating_sub(self.board.nxt());
        if open > 0 && (self.probe || 2 * open >= self.largest_window) {
            self.probe = false;
            return Some(open as u32);
        }
        if !timers.is_set(Timer::Persist) {
            timers.set_after(Timer::Persist, now, self.persist_interval());
        }
        None
    }

    /// RFC 6675 `NextSeg` rules 3 and 4: with nothing known to be lost and nothing new to send, a hole or the tail is
    /// sent again, so that acknowledgments keep coming.
    fn speculative(&mut self, now: Time, pipe: u64, timers: &mut Timers) -> Option<Output> {
        let by_count = self.config.loss_detection == LossDetection::Dupack;
        if self.phase != Phase::Recovery || self.hold || !by_count || !matches!(self.repair, Repair::Sack | Repair::Prr)
        {
            return None;
        }
        if pipe + u64::from(self.mss) > self.window {
            return None;
        }
        let (hole, rescue) = match self.board.next_hole() {
            Some(hole) => (hole, false),
            None if self.rescued => return None,
            None => (self.board.last_undelivered()?, true),
        };
        // The second segment of a packet pair may be larger than an MSS.
        if pipe + u64::from(hole.len) > self.window {
            return None;
        }
        self.rescued |= rescue;
        Some(self.resend(hole, now, timers))
    }

    /// `len` payload bytes are about to leave again.
    pub(super) fn leaves_again(&mut self, now: Time, len: u32) {
        if self.board.pipe() == 0 {
            self.starts(now);
        }
        self.pace(now, len, self.board.outstanding());
    }

    /// Data is about to leave while nothing is in flight.
    #[cold]
    fn starts(&mut self, now: Time) {
        self.with_cc(now, |cc, cx| cc.on_transmit_start(cx));
        if self.board.app_limited() {
            self.with_cc(now, |cc, cx| cc.on_limited_start(cx));
        }
        if self.board.outstanding() == 0 {
            self.board.note_start(now);
        }
    }

    /// A new segment of a paced or measured sender left from position `from` on; with it `pipe` bytes are in flight.
    #[inline(never)]
    fn measured_left(&mut self, now: Time, len: u32, from: u64, pipe: u64) {
        self.board.note_sent(now, pipe, self.totals());
        self.pace(now, len, from - self.board.una());
    }

    #[inline]
    fn pace(&mut self, now: Time, len: u32, outstanding: u64) {
        if self.pacer.acts(&self.control) {
            let leaving = Leaving { len, number: self.stats.sent_segments };
            self.pacer.sent(now, leaving, &self.control, outstanding, self.rtt.smoothed());
        }
    }

    /// What delivery-rate samples remember of the connection.
    #[inline]
    pub(super) fn totals(&self) -> Totals {
        Totals { delivered: self.delivered, lost: self.lost }
    }

    fn resend(&mut self, hole: Hole, now: Time, timers: &mut Timers) -> Output {
        if self.needs.pairs {
            self.pair.resent(hole.seq);
        }
        self.leaves_again(now, hole.len);
        self.board.retransmitted(hole.number, now, self.totals());
        self.episode.resent(now);
        // RFC 6298 §5.1 starts the timer only if it is not running; Linux restarts it for the head.
        let head = hole.seq == self.board.una();
        let linux = self.config.rto == RtoRule::Linux && head && !timers.is_set(Timer::Reorder);
        let careful = self.rearms();
        if linux || careful || !timers.is_set(Timer::Rto) {
            timers.set_after(Timer::Rto, now, self.rtt.rto());
            timers.clear(Timer::Probe);
        }
        self.repeat(hole, now)
    }

    /// Whether the retransmission that leaves restarts the timer because of the recovery that it is part of.
    fn rearms(&mut self) -> bool {
        let first = self.repaired_last != self.stats.recoveries;
        let in_recovery = self.phase == Phase::Recovery;
        if in_recovery {
            self.repaired_last = self.stats.recoveries;
        }
        in_recovery
            && match self.config.rearm_rto {
                RearmRule::Never => false,
                RearmRule::First => first,
                RearmRule::Every => true,
            }
    }

    /// The counters of a segment that leaves again.
    pub(super) fn repeat(&mut self, hole: Hole, now: Time) -> Output {
        let fin = self.fin_sent && hole.seq + u64::from(hole.len) == self.board.nxt();
        let len = hole.len - u32::from(fin);
        if self.phase == Phase::Recovery || self.marks.reducing {
            self.prr.sent(u64::from(len));
        }
        self.stats.sent_bytes += u64::from(len);
        self.stats.sent_segments += u64::from(len > 0);
        self.stats.retransmitted_bytes += u64::from(len);
        self.stats.retransmitted_segments += u64::from(len > 0);
        self.last_sent = now;
        Output { pos: hole.seq, len, fin, push: self.pushes.is(hole.seq + u64::from(len)) }
    }

    /// Remembers whether the window was used up, for the decision to let it grow.
    #[inline]
    fn note_usage(&mut self, pipe: u64) {
        let limited = pipe + u64::from(self.mss) > self.window;
        let outstanding = self.board.outstanding();
        if limited || self.board.una() >= self.usage_end || (!self.limited && outstanding > self.max_outstanding) {
            self.limited = limited;
            self.max_outstanding = outstanding;
            self.usage_end = self.board.nxt();
        }
    }

    /// RFC 5681 §4.1: after an idle time the window no longer describes the path.
    pub(super) fn resume_from_idle(&mut self, now: Time) {
        let idle = now.since(self.last_sent);
        let rto = self.rtt.rto();
        if idle <= rto || self.stats.sent_segments == 0 {
            return;
        }
        let iw = self.config.initial_window(self.mss);
        let cwnd = self.window;
        let restart = match self.config.idle {
            IdleRule::None => return,
            IdleRule::Rfc7661 => return self.resume_validated(now, idle),
            IdleRule::Rfc5681 => Restart { idle, window: iw, ssthresh_floor: 0 },
            IdleRule::Linux => {
                let halvings = idle.0 / rto.0.max(1);
                let window = if halvings < 63 { cwnd >> halvings } else { 0 };
                Restart { idle, window: window.max(iw.min(cwnd)), ssthresh_floor: cwnd / 4 * 3 }
            }
        };
        self.with_cc(now, |cc, cx| cc.on_restart(cx, restart));
        self.window = self.control.cwnd;
        self.last_sent = now;
    }

    fn persist_interval(&self) -> Span {
        let rto = self.rtt.rto();
        Span((u128::from(rto.0) << self.persist_backoff.min(20)).min(u128::from(self.config.max_rto.0)) as u64)
    }

    /// The persist timer expired: probe the peer's closed window (RFC 9293 §3.8.6.1).
    pub(super) fn on_persist(&mut self, now: Time, timers: &mut Timers) {
        let (len, fin) = self.available();
        if self.board.outstanding() > 0 || (len == 0 && !fin) {
            return;
        }
        self.probe = true;
        self.persist_backoff += 1;
        timers.set_after(Timer::Persist, now, self.persist_interval());
    }
}
