//! Header prediction (Jacobson 1990, "4BSD header prediction"): the two segments that a connection in good order gets.
//!
//! One is the next data of the stream, the other acknowledges new data and says nothing else. Most of what
//! [`Endpoint::on_segment`] looks for cannot be the case for them, which a few comparisons find out; what is left is done
//! here in the order of the general path and with the same parts. Whatever is not predicted takes that path, and nothing
//! but time depends on which of the two it was: a test plays both.

use super::endpoint::Endpoint;
use super::scoreboard::Delivery;
use super::segment::{Segment, flags, seq_before};
use super::sender::Sender;
use super::timers::{Timer, Timers};
use crate::cc::Ack;
use crate::time::Time;

/// How the headers of arriving segments are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Those that were to be expected are recognised.
    Predicting,
    /// All in full.
    InFull,
    /// All in full, for congestion marks as well: both sides use ECN.
    ForMarks,
}

impl Endpoint {
    /// From now on every segment takes the general path: for tests, which compare the two.
    pub fn predict_nothing(&mut self) {
        if self.reading == Reading::Predicting {
            self.reading = Reading::InFull;
        }
    }

    /// Takes `seg` if it was to be expected. The connection is established. False: it is as if nothing had come.
    #[inline(always)]
    pub(super) fn take_predicted(&mut self, now: Time, seg: &Segment) -> bool {
        let plain = seg.flags & !flags::PSH == flags::ACK && seg.sack_count == 0;
        if !plain
            || seg.seq != self.rx.next_seq()
            || self.reading != Reading::Predicting
            || self.timestamps != seg.has_timestamps()
        {
            return false;
        }
        if self.timestamps && seq_before(seg.tsval(), self.ts_recent) {
            return false;
        }
        let taken = if seg.len > 0 { self.take_next_data(now, seg) } else { self.take_plain_ack(now, seg) };
        if taken && self.timestamps && self.rx.nxt() - u64::from(seg.len) <= self.rx.last_ack_sent() {
            (self.ts_recent, self.ts_recent_at) = (seg.tsval(), now);
        }
        taken
    }

    /// The next data, with nothing held behind it, from a peer to which nothing is under way.
    #[inline(always)]
    fn take_next_data(&mut self, now: Time, seg: &Segment) -> bool {
        if !self.rx.expects_nothing_else() || !self.tx.is_old_news(seg) {
            return false;
        }
        if !self.rx.acknowledges_by_number() {
            self.take_next_as_linux(now, seg);
        } else if let Some(wait) = self.rx.take_next(seg.len, seg.has(flags::PSH)) {
            self.timers.set_earlier(Timer::DelayedAck, now, wait);
        }
        true
    }

    #[inline(never)]
    fn take_next_as_linux(&mut self, now: Time, seg: &Segment) {
        self.on_data_header(now, seg);
        self.rx.take_next_as_linux(now, seg.len);
        self.arm_receiver(now);
    }

    /// What the header of a segment with payload says to the receiver besides.
    #[inline]
    pub(super) fn on_data_header(&mut self, now: Time, seg: &Segment) {
        if self.rx.on_header(seg.len, seg.has(flags::PSH), seg.tsecr()) && self.timestamps && seg.has_timestamps() {
            if let Some(age) = self.age(now, seg.tsecr()) {
                self.rx.on_echo(age);
            }
        }
    }

    #[inline(never)]
    fn take_plain_ack(&mut self, now: Time, seg: &Segment) -> bool {
        let acked = seg.ack.wrapping_sub(self.tx.tcb.iss.wrapping_add(self.tx.tcb.board.una() as u32));
        if !self.tx.is_undisturbed() || acked == 0 || u64::from(acked) > self.tx.tcb.board.outstanding() {
            return false;
        }
        self.tx.on_plain_ack(now, seg, u64::from(acked), &mut self.timers);
        self.mind_wake(now);
        true
    }
}

impl Sender {
    /// Nothing is under way, and `seg` neither acknowledges anything nor moves the peer's window.
    #[inline]
    pub(super) fn is_old_news(&self, seg: &Segment) -> bool {
        let una = self.tcb.board.una();
        self.tcb.board.outstanding() == 0
            && !self.tcb.congestion.needs().observe_idle
            && seg.ack == self.tcb.iss.wrapping_add(una as u32)
            && !self.peer.would_open(una, seg.window)
    }

    /// Nothing is lost, doubtful, sent again, probed or marked, and no packet pairs are measured.
    #[inline]
    fn is_undisturbed(&self) -> bool {
        !self.tcb.congestion.needs().pairs && self.recovery.is_undisturbed() && self.tcb.is_undisturbed()
    }

    /// The acknowledgment in `seg` of the next `acked` bytes: [`Sender::on_ack`] for a sender that is undisturbed.
    #[inline]
    fn on_plain_ack(&mut self, now: Time, seg: &Segment, acked: u64, timers: &mut Timers) {
        let Sender { tcb, recovery, peer, pacer, stream, .. } = self;
        let ack = tcb.board.una() + acked;
        let opened = peer.offer(ack, seg.window);
        tcb.stats.acks += 1;
        let in_flight_before = tcb.board.occupied();

        // What was sent in order needs no telling apart by its times.
        let mut d = Delivery { now, min_rtt: tcb.rtt.min(), forward: tcb.board.forward(), ..Delivery::default() };
        tcb.blocks.clear();
        tcb.board.acknowledge(ack, &mut d);
        let rtt = tcb.sample_rtt(now, seg, &d, true);
        tcb.congestion.add_delivered(d.bytes);
        let round = tcb.count_round();
        recovery.update_rack(&d);

        let mut ack = Ack {
            delivered: d.bytes,
            acked,
            segments: d.segments,
            rtt,
            in_flight_before,
            una: ack,
            nxt: tcb.board.nxt(),
            round,
            plain: opened == acked,
            window_limited: tcb.window_limited(),
            ..Ack::default()
        };
        let needs = *tcb.congestion.needs();
        if needs.rate {
            ack.rate = tcb.board.rate_sample(now, tcb.congestion.delivered(), d.bytes, tcb.rtt.min());
            ack.departs = pacer.gate();
        }
        if needs.observe {
            ack.one_way = tcb.one_way(seg);
            tcb.decide(now, |cc, cx| cc.observe(cx, &ack));
        }
        ack.grow = true;
        if needs.rate && tcb.validation.is_some() {
            tcb.validate(now, &mut ack);
        }
        if (ack.grow && d.bytes > 0) || tcb.congestion.recovers() {
            tcb.decide(now, |cc, cx| cc.on_ack(cx, &ack));
            if needs.rate && tcb.congestion.limits_itself() {
                tcb.board.note_app_limited(tcb.congestion.delivered());
            }
        }
        recovery.restart_timer(now, tcb, timers);
        if opened > 0 {
            peer.opened(ack.una, timers);
        }
        stream.acknowledged(ack.una, &tcb.board, tcb.mss, peer);
    }
}
