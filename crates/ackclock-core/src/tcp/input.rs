//! The sending half: what an acknowledgment does.

use super::config::RtoRule;
use super::control_block::ControlBlock;
use super::recovery::{AckEvent, Recovery};
use super::scoreboard::Delivery;
use super::segment::{OLDEST_ECHO, Segment, flags, unwrap_seq};
use super::sender::Sender;
use super::timers::Timers;
use crate::cc::Ack;
use crate::time::{Span, Time};

impl Sender {
    /// Takes the acknowledgment in `seg` (RFC 9293 §3.10.7.4, fifth). False if it is not acceptable, of something that was not
    /// sent or older than the largest window (RFC 5961 §5.2): then nothing of the segment may be taken.
    pub(super) fn on_ack(&mut self, now: Time, seg: &Segment, timers: &mut Timers) -> bool {
        let Sender { tcb, recovery, peer, stream, pacer, marks, pair } = self;
        let una = tcb.board.una();
        let ack = unwrap_seq(seg.ack, tcb.iss, una);
        //= RFC 5961 §5.2 ack-range
        if ack > tcb.board.nxt() || ack.saturating_add(peer.widest()) < una {
            return false;
        }
        // The peer's window (RFC 9293 §3.8.6).
        let opened = peer.offer(ack, seg.window);
        if tcb.board.outstanding() == 0 {
            // The acknowledgment that ends a handshake is none of the controller's.
            if tcb.congestion.needs().observe_idle && ack == una && (seg.len > 0 || tcb.stats.acks > 0) {
                // Linux's header prediction leaves data to the general path when its socket has no memory in use.
                let plain = seg.len == 0 && seg.sack().is_empty() && opened == 0;
                let ack = Ack { una, nxt: una, round: tcb.count_round(), plain, ..Ack::default() };
                tcb.decide(now, |cc, cx| cc.observe(cx, &ack));
            }
            if !seg.sack().is_empty() {
                recovery.take_late_report(now, seg, ack, peer.largest(), tcb);
            }
            if opened > 0 {
                peer.opened(una, timers);
            }
            return true;
        }
        tcb.stats.acks += 1;
        let in_flight_before = tcb.board.pipe();

        // What it delivers: duplicates (RFC 2883), selectively (RFC 2018), cumulatively.
        let (forward, flight) = (tcb.board.forward(), tcb.board.occupied());
        let mut d =
            Delivery { now, stamps: recovery.stamps(), min_rtt: tcb.rtt.min(), forward, flight, ..Delivery::default() };
        let mut report = None;
        if seg.sack().is_empty() {
            tcb.blocks.clear();
        } else {
            report = recovery.take_dsack(seg, (una, ack), peer.largest(), tcb);
            tcb.blocks.take(seg, tcb.iss, ack, &mut tcb.board, &mut d);
        }
        let advanced = ack > una;
        if advanced {
            if tcb.board.may_be_resent() && seg.has_timestamps() {
                d.unanswered = Some(tcb.next_tick(now, seg.tsecr()));
            }
            tcb.board.acknowledge(ack, &mut d);
        }
        if tcb.congestion.needs().pairs {
            pair.acknowledged(now, tcb);
        }

        // What it measures: the round-trip time (RFC 6298 §3), the round.
        let rtt = tcb.sample_rtt(now, seg, &d, advanced);
        let delivered = Recovery::counted(report, &d, tcb);
        tcb.congestion.add_delivered(delivered);
        let round = tcb.count_round();

        // What it says of losses: duplicates (RFC 5681 §2, RFC 6675 §2), reordering (RFC 8985 §6.2), the probe (§7.4).
        let same_window = opened == 0;
        //= RFC 5681 §2 duplicate-ack
        let bare = seg.len == 0 && seg.flags & (flags::SYN | flags::FIN) == 0;
        let repeated = ack == una && same_window;
        let duplicate = !advanced && recovery.is_duplicate(&d, bare && repeated);
        if duplicate {
            tcb.stats.dup_acks += 1;
        }
        recovery.update_rack(&d);
        let event = AckEvent { now, advanced, duplicate, same_window, seg, report, stream, peer };
        recovery.judge_probe(&event, &d, tcb);

        // What the controller is to know of it, and its estimators first.
        let needs = *tcb.congestion.needs();
        let mut ack = Ack {
            delivered,
            acked: d.acked,
            segments: d.segments,
            duplicate,
            rtt,
            in_flight_before,
            una: tcb.board.una(),
            nxt: tcb.board.nxt(),
            round,
            plain: advanced && seg.sack().is_empty() && opened == d.acked,
            window_limited: tcb.window_limited(),
            ..Ack::default()
        };
        if needs.rate {
            ack.rate = tcb.board.rate_sample(now, tcb.congestion.delivered(), delivered, tcb.rtt.min());
            ack.departs = pacer.gate();
        }
        if tcb.congestion.ecn() {
            marks.take(seg, tcb.mss, &mut ack);
            tcb.stats.marked_bytes += ack.marked;
            if ack.ece {
                recovery.on_echo();
            }
        }
        if needs.observe {
            ack.one_way = tcb.one_way(seg);
            tcb.decide(now, |cc, cx| cc.observe(cx, &ack));
        }

        // Losses are found and repaired (RFC 5681, 6582, 6675, 8985), marks answered (RFC 3168).
        let lost_before = tcb.board.total_lost();
        recovery.end_reduction(now, tcb);
        let mut grow = recovery.on_ack(&event, &d, tcb, timers);
        ack.lost = tcb.board.total_lost() - lost_before;
        if tcb.congestion.ecn() {
            let safe = advanced && ack.lost == 0;
            grow = recovery.respond_to_marks(now, &ack, (safe, grow, d.flight), tcb, pacer);
        }
        if tcb.board.has_losses_to_report() {
            tcb.report_losses(now);
        }
        recovery.report_phase(now, tcb);

        // The window grows, if it may (RFC 5681 §3.1, RFC 7661).
        ack.grow = grow && advanced;
        if needs.rate && tcb.validation.is_some() && recovery.is_open() {
            tcb.validate(now, &mut ack);
        }
        if (ack.grow && delivered > 0) || tcb.congestion.recovers() {
            tcb.decide(now, |cc, cx| cc.on_ack(cx, &ack));
            if needs.rate && tcb.congestion.limits_itself() {
                tcb.board.note_app_limited(tcb.congestion.delivered());
            }
        }

        // The timers: retransmission and probe (RFC 6298 §5.2 and §5.3, RFC 8985 §7.2), persist.
        if advanced || recovery.outlives_head(&d, tcb) {
            recovery.restart_timer(now, tcb, timers);
        }
        if opened > 0 {
            peer.opened(tcb.board.una(), timers);
        }
        self.let_application_write();
        true
    }
}

impl Sender {
    /// An acknowledgment may have made room in the send buffer.
    #[inline(never)]
    fn let_application_write(&mut self) {
        let board = &self.tcb.board;
        self.stream.acknowledged(board.una() + board.sacked(), board, self.tcb.mss, &self.peer);
    }
}

impl ControlBlock {
    /// The first time at which the timestamp clock shows more than `echo`.
    fn next_tick(&self, now: Time, echo: u32) -> Time {
        let tick = self.config.timestamp_tick.0.max(1);
        let shown = now.0 / tick;
        let age = (shown as u32).wrapping_sub(echo);
        Time((shown.saturating_sub(u64::from(age)) + 1) * tick)
    }

    /// Samples the round-trip time: exactly from segments sent once, else from the echoed timestamp (Karn's rule).
    /// Returns the sample of the newest segment, for the controller.
    #[inline(always)]
    //= RFC 6298 §3 karn
    pub(super) fn sample_rtt(&mut self, now: Time, seg: &Segment, d: &Delivery, advanced: bool) -> Option<Span> {
        let exact = match d.ack_xmit {
            Some(times) if !d.acked_retransmitted => Some(times),
            _ => d.sack_xmit,
        };
        let Some((first, last)) = exact else {
            return if advanced && seg.has_timestamps() { self.sample_echo(now, seg.tsecr()) } else { None };
        };
        // The newest delivered segment was delayed least; selectively acknowledged ones are newer.
        let newest = d.sack_xmit.map_or(last, |s| s.1);
        let sample = now.since(newest);
        let lone = advanced && d.acked < u64::from(self.mss) && self.answers_lone(seg);
        self.rtt.note_min(now, sample, lone);
        self.rtt.sample(now.since(first), self.board.una(), self.board.nxt());
        Some(sample)
    }

    /// Whether `seg` acknowledges the one segment that left when nothing was outstanding, and has nothing else to say. If that
    /// is short, the receiver may have delayed it (Linux's tcp_clean_rtx_queue).
    #[cold]
    fn answers_lone(&self, seg: &Segment) -> bool {
        let news = !seg.sack().is_empty() || self.board.sacked() > 0 || (self.congestion.ecn() && seg.has(flags::ECE));
        self.board.una() == self.alone_end && !news
    }

    /// Samples the round-trip time from an echoed timestamp (RFC 7323 §4).
    //= RFC 7323 §4.1 echo-sample
    fn sample_echo(&mut self, now: Time, echo: u32) -> Option<Span> {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let tick = self.config.timestamp_tick.0.max(1);
        let ticks = ((now.0 / tick) as u32).wrapping_sub(echo);
        if Span(u64::from(ticks).saturating_mul(tick)) > OLDEST_ECHO {
            return None;
        }
        if self.config.rto == RtoRule::Linux {
            // In whole ticks, rounded either way; it counts for the minimum and for the controller too.
            let sample = Span(u64::from(ticks.max(1)).saturating_mul(tick));
            self.rtt.note_min(now, sample, false);
            self.rtt.sample(sample, una, nxt);
            return Some(sample);
        }
        let sample = Span(u64::from(ticks) * tick + now.0 % tick);
        self.rtt.note_min(now, sample, false);
        self.rtt.sample(sample, una, nxt);
        None
    }

    /// One-way delay of what caused `seg`, up to the difference of the two clocks.
    pub(super) fn one_way(&self, seg: &Segment) -> Option<Span> {
        let tick = self.config.timestamp_tick.0;
        seg.has_timestamps().then(|| Span(u64::from(seg.tsval().wrapping_sub(seg.tsecr())).saturating_mul(tick)))
    }
}
