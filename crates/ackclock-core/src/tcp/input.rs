//! The sending half: what an acknowledgment does.

use super::config::RtoRule;
use super::ecn::Feedback;
use super::recovery::undo::Report;
use super::recovery::Repair;
use super::scoreboard::Delivery;
use super::segment::{flags, unwrap_seq, SackBlock, Segment, MAX_SACK_BLOCKS};
use super::sender::{Phase, Sender};
use super::timers::{Timer, Timers};
use crate::cc::Ack;
use crate::time::{Span, Time};

/// What one acknowledgment said, for the recovery algorithms.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckEvent<'a> {
    pub now: Time,
    /// SND.UNA advanced.
    pub advanced: bool,
    /// A duplicate acknowledgment (RFC 5681 §2; with SACK RFC 6675 §2).
    pub duplicate: bool,
    /// The segment that carries it.
    pub seg: &'a Segment,
    /// What the receiver reports to have come twice (RFC 2883).
    pub report: Option<Report>,
}

/// The SACK blocks of the last acknowledgment, taken already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    blocks: [SackBlock; MAX_SACK_BLOCKS],
    count: usize,
}

impl Heard {
    #[inline]
    fn contains(&self, block: &SackBlock) -> bool {
        self.blocks[..self.count].contains(block)
    }

    #[inline]
    fn take(&mut self, blocks: &[SackBlock]) {
        self.count = blocks.len();
        self.blocks[..self.count].copy_from_slice(blocks);
    }

    /// Nothing is known of what they reported.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

impl Sender {
    /// Takes the acknowledgment in `seg`.
    pub(super) fn on_ack(&mut self, now: Time, seg: &Segment, timers: &mut Timers) {
        let una = self.board.una();
        let ack = unwrap_seq(seg.ack, self.iss, una);
        if ack > self.board.nxt() {
            return;
        }
        let edge_before = self.peer_edge;
        self.peer_edge = self.peer_edge.max(ack + (u64::from(seg.window) << self.peer_scale));
        if self.board.outstanding() == 0 {
            if !seg.sack().is_empty() {
                self.take_late_report(now, seg, ack);
            }
            if self.peer_edge > edge_before {
                self.end_persist(timers);
            }
            return;
        }
        self.stats.acks += 1;
        let in_flight_before = self.board.pipe();
        let mut d = Delivery { now, min_rtt: self.rtt.min(), forward: self.board.forward(), ..Delivery::default() };
        let mut report = None;
        if !seg.sack().is_empty() {
            report = self.take_dsack(seg, ack, una);
            self.take_sacks(seg, ack, &mut d);
        } else {
            self.heard.clear();
        }
        let advanced = ack > una;
        if advanced {
            if self.board.may_be_resent() && seg.has_timestamps() {
                d.unanswered = Some(self.next_tick(now, seg.tsecr));
            }
            self.board.acknowledge(ack, &mut d);
            self.retries = 0;
        }
        if self.needs.pairs {
            self.pair_acknowledged(now);
        }
        let rtt = self.take_rtt(now, seg, &d, advanced);
        self.delivered += d.bytes;
        if self.board.una() > self.round_end {
            self.round += 1;
            self.round_end = self.board.nxt();
        }
        let news = match self.repair {
            Repair::Sack | Repair::Prr => d.sacked > 0,
            _ => ack == una && self.peer_edge == edge_before,
        };
        let duplicate = !advanced && seg.len == 0 && seg.flags & (flags::SYN | flags::FIN) == 0 && news;
        if duplicate {
            self.stats.dup_acks += 1;
        }
        if d.reordering > 0 {
            self.reordering_seen = true;
        }
        if let Some(k) = d.rack {
            let newest = (k.xmit, k.end) > (self.rack.xmit, self.rack.end);
            self.rack.rtt = k.rtt;
            if newest {
                self.rack = k;
            }
        }
        let event = AckEvent { now, advanced, duplicate, seg, report };
        if let Some(end) = self.tail.end {
            self.judge_probe(end, &event, &d, self.peer_edge == edge_before);
        }
        let mut ack = Ack {
            delivered: d.bytes,
            acked: d.acked,
            duplicate,
            rtt,
            in_flight_before,
            una: self.board.una(),
            nxt: self.board.nxt(),
            round: self.round,
            plain: advanced && seg.sack().is_empty() && self.peer_edge - edge_before == d.acked,
            window_limited: !self.config.window_validation || self.window_limited(),
            lost: 0,
            marked: 0,
            ece: false,
            one_way: None,
            rate: None,
            departs: Time::ZERO,
            grow: false,
        };
        if self.needs.rate {
            ack.rate = self.board.rate_sample(now, self.delivered, d.bytes, self.rtt.min());
            ack.departs = self.pacer.gate();
        }
        if self.marks.feedback != Feedback::Off {
            self.take_marks(seg, &mut ack);
        }
        if self.needs.observe {
            ack.one_way = self.one_way(seg);
            self.with_cc(now, |cc, cx| cc.observe(cx, &ack));
        }
        let lost_before = self.lost;
        if self.marks.reducing {
            self.end_reduction(now);
        }
        let mut grow = match self.repair {
            Repair::Sack | Repair::Prr => self.repair_with_sack(&event, &d, timers),
            _ => self.repair_without_sack(&event, &d, timers),
        };
        if self.marks.feedback != Feedback::Off {
            grow = self.respond_to_marks(now, &ack, advanced, self.lost == lost_before, grow);
        }
        if self.board.has_losses_to_tell() {
            self.tell_losses(now);
        }
        self.tell_phase(now);
        ack.grow = grow && advanced;
        if self.validation.on {
            self.validate(now, &mut ack);
        }
        ack.lost = self.lost - lost_before;
        if (ack.grow && d.bytes > 0) || self.controller_recovers() {
            self.with_cc(now, |cc, cx| cc.on_ack(cx, &ack));
            self.window = self.control.cwnd;
            if self.needs.rate && self.cc.limits_itself() {
                self.board.note_app_limited(self.delivered);
            }
        }
        if advanced || self.outlives_head(&d) {
            self.restart_timer(now, timers);
        }
        if self.peer_edge > edge_before {
            self.end_persist(timers);
        }
    }

    /// Takes the SACK blocks in the order of the stream: what one of them reports is not reordered by the next. Those
    /// of the acknowledgment before, which a receiver repeats, say nothing new.
    #[inline(never)]
    fn take_sacks(&mut self, seg: &Segment, ack: u64, d: &mut Delivery) {
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS];
        let mut count = 0;
        for block in seg.sack() {
            if self.heard.contains(block) {
                continue;
            }
            let range = (unwrap_seq(block.start, self.iss, ack), unwrap_seq(block.end, self.iss, ack));
            if range.1 <= ack {
                continue;
            }
            let mut i = count;
            while i > 0 && blocks[i - 1] > range {
                blocks[i] = blocks[i - 1];
                i -= 1;
            }
            blocks[i] = range;
            count += 1;
        }
        self.heard.take(seg.sack());
        for &(start, end) in &blocks[..count] {
            self.board.sack(start, end, d);
        }
    }

    /// An acknowledgment with SACK blocks came while nothing is outstanding: it can only tell of duplicates.
    fn take_late_report(&mut self, now: Time, seg: &Segment, ack: u64) {
        if let Some(report) = self.take_dsack(seg, ack, self.board.una()) {
            if self.tail.end == Some(report.end) {
                self.tail.end = None;
            }
            self.undo_duplicates(now);
        }
    }

    /// The first time at which the timestamp clock shows more than `echo`.
    fn next_tick(&self, now: Time, echo: u32) -> Time {
        let tick = self.config.timestamp_tick.0.max(1);
        let shown = now.0 / tick;
        let age = (shown as u32).wrapping_sub(echo);
        Time((shown.saturating_sub(u64::from(age)) + 1) * tick)
    }

    /// Samples the round-trip time: exactly from segments sent once, else from the echoed timestamp (Karn's rule).
    /// Returns the sample of the newest segment, for the controller.
    #[inline]
    fn take_rtt(&mut self, now: Time, seg: &Segment, d: &Delivery, advanced: bool) -> Option<Span> {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let exact = match d.ack_xmit {
            Some(times) if !d.acked_retransmitted => Some(times),
            _ => d.sack_xmit,
        };
        if let Some((first, last)) = exact {
            // The newest delivered segment was delayed least; selectively acknowledged ones are newer.
            let newest = d.sack_xmit.map_or(last, |s| s.1);
            let sample = now.since(newest);
            self.rtt.note_min(sample);
            self.rtt.sample(now.since(first), una, nxt);
            return Some(sample);
        }
        if advanced && seg.has_timestamps() {
            let tick = self.config.timestamp_tick.0.max(1);
            let ticks = ((now.0 / tick) as u32).wrapping_sub(seg.tsecr);
            if self.config.rto == RtoRule::Linux {
                // In whole ticks, rounded either way; it counts for the minimum and for the controller too.
                let sample = Span(u64::from(ticks.max(1)).saturating_mul(tick));
                self.rtt.note_min(sample);
                self.rtt.sample(sample, una, nxt);
                return Some(sample);
            }
            let sample = Span(u64::from(ticks) * tick + now.0 % tick);
            self.rtt.sample(sample, una, nxt);
        }
        None
    }

    /// One-way delay of what caused `seg`, up to the difference of the two clocks.
    fn one_way(&self, seg: &Segment) -> Option<Span> {
        let tick = self.config.timestamp_tick.0;
        seg.has_timestamps().then(|| Span(u64::from(seg.tsval.wrapping_sub(seg.tsecr)).saturating_mul(tick)))
    }

    /// Whether the window was what held the sender back (Linux's rule, which RFC 9438 §5.8 leaves open): it was full
    /// within the last round, or, in slow start, at least half used.
    #[inline]
    fn window_limited(&self) -> bool {
        self.limited || (self.control.cwnd < self.control.ssthresh && self.control.cwnd < 2 * self.max_outstanding)
    }

    /// RFC 6298 §5.2 and §5.3: an acknowledgment of new data restarts or stops the timer.
    #[inline]
    fn restart_timer(&mut self, now: Time, timers: &mut Timers) {
        if self.board.outstanding() == 0 {
            timers.clear(Timer::Rto);
            timers.clear(Timer::Reorder);
            timers.clear(Timer::Probe);
            return;
        }
        let partial = self.repair == Repair::NewReno && self.phase == Phase::Recovery;
        if partial && self.config.newreno_impatient && !self.first_partial {
            return;
        }
        self.first_partial = false;
        self.set_timers(now, timers);
    }

    fn end_persist(&mut self, timers: &mut Timers) {
        self.largest_window = self.largest_window.max(self.peer_edge - self.board.una());
        self.persist_backoff = 0;
        self.probe = false;
        timers.clear(Timer::Persist);
    }
}
