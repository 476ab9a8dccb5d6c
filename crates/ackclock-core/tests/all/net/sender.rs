//! The sending side of one direction: what may leave, what may leave again, and why.

use super::spans::Spans;
use super::view::{Check, View, holds};
use super::{Report, Truth};
use ackclock_core::cc::{RecoveryBy, Signal};
use ackclock_core::tcp::config::{Config, LossDetection, PrrRule, Recovery, WindowUnit};
use ackclock_core::tcp::segment::flags;
use ackclock_core::tcp::sender::Phase;
use ackclock_core::tcp::{Endpoint, Segment};
use ackclock_core::time::{Span, Time};
use std::collections::BTreeMap;

/// One proportional rate reduction, while it is proportional.
#[derive(Debug)]
struct Reduction {
    reference: u64,
    delivered: u64,
    sent: u64,
}

/// What the sender of one direction has done.
pub struct SenderCheck {
    mss: u64,
    /// Windows count segments, not bytes.
    packets: bool,
    /// What the acknowledgments of this event delivered, counted so.
    delivered: u64,
    sack: bool,
    by_count: bool,
    /// The controller sets its threshold when it likes: its window is in force at all times, or the threshold is an
    /// estimate of its own, as Westwood+'s at the end of a recovery, undone or not.
    pub own_threshold: bool,
    prr: Option<PrrRule>,
    limited_transmit: bool,
    limited_after_timeout: bool,
    dupthresh: u64,
    reduces_again: bool,
    /// End and last transmission of what is outstanding, by first position.
    transmitted: BTreeMap<u64, (u64, Time)>,
    /// Last transmission and end of the most recently sent segment that was delivered.
    newest_delivered: (Time, u64),
    /// Times of transmission are told apart by so many nanoseconds: one, or those of a microsecond (Linux).
    told_apart: u64,
    /// What the acknowledgments handed over so far have said.
    sacked: Spans,
    /// An acknowledgment that did not advance came since the last one that did.
    duplicates: bool,
    /// SND.NXT and SND.UNA at the last congestion signal, and whether that was a timeout.
    signalled: (u64, u64, bool),
    /// SND.NXT at the last recovery that reduced nothing, because a mark just had.
    repaired_to: u64,
    /// The last signal was a mark.
    marked: bool,
    /// The controller answers a mark by its share: a loss that follows is another matter.
    pub scalable: bool,
    /// SND.NXT at the last timeout.
    timed_out: u64,
    rescues: u64,
    /// SND.NXT at the last tail loss probe, until something else has happened.
    probed: u64,
    /// Tail loss probes are on; F-RTO; anything that takes a reaction back.
    probes: bool,
    frto: bool,
    undoes: bool,
    /// A retransmission already left on the present event.
    repeated: bool,
    reduction: Option<Reduction>,
    shortest_rtt: u64,
    /// Payload in all segments sent.
    pub sent: u64,
}

impl SenderCheck {
    /// `sack`: both sides offered it. `shortest_rtt`: nanoseconds, of the empty network.
    pub fn new(c: &Config, mss: u32, sack: bool, repairs: RecoveryBy, shortest_rtt: u64) -> SenderCheck {
        let sack = sack && repairs != RecoveryBy::SlowStart;
        let own_window = repairs == RecoveryBy::Controller;
        let by_prr = sack && matches!(c.recovery, Recovery::Auto | Recovery::Prr) && !own_window;
        SenderCheck {
            mss: u64::from(mss),
            packets: c.window_unit == WindowUnit::Packets,
            delivered: 0,
            sack,
            by_count: c.loss_detection == LossDetection::Dupack,
            own_threshold: own_window,
            prr: by_prr.then_some(c.prr),
            // RFC 5681 to the letter: Reno may recover again from what the first recovery left.
            reduces_again: !sack && c.recovery == Recovery::Reno && !c.careful,
            limited_transmit: c.limited_transmit,
            limited_after_timeout: c.limited_transmit_after_timeout,
            dupthresh: c.dupthresh,
            transmitted: BTreeMap::new(),
            newest_delivered: (Time::ZERO, 0),
            told_apart: if c.prr == PrrRule::Linux { 1000 } else { 1 },
            sacked: Spans::default(),
            duplicates: false,
            signalled: (0, 0, false),
            repaired_to: 0,
            marked: false,
            scalable: false,
            timed_out: 0,
            rescues: 0,
            probed: 0,
            probes: c.tlp && sack,
            frto: c.frto && sack,
            undoes: (c.eifel || c.dsack_undo) && sack,
            repeated: false,
            reduction: None,
            shortest_rtt,
            sent: 0,
        }
    }

    /// The sender sent `seg`. `edge`: the furthest right edge its peer ever advertised.
    pub fn on_transmit(
        &mut self,
        now: Time,
        (before, after): (&View, &View),
        end: &Endpoint,
        (seg, truth): (&Segment, &Truth),
        edge: u64,
        report: &mut Report,
    ) -> Check {
        let n = u64::from(seg.seq_len());
        if seg.has(flags::SYN) {
            return Ok(());
        }
        if n == 0 {
            // An acknowledgment, or a window probe.
            holds!(3, truth.pos == before.nxt || truth.pos + 1 == before.nxt, "an empty segment at {}", truth.pos);
            return Ok(());
        }
        self.sent += u64::from(seg.len);
        if let Some(r) = &mut self.reduction {
            r.sent += if self.packets { self.mss } else { u64::from(seg.len) };
            let rounding = if self.prr == Some(PrrRule::Linux) { self.mss } else { 0 };
            let share = (u128::from(r.delivered) * u128::from(after.ssthresh)).div_ceil(u128::from(r.reference)) as u64;
            holds!(
                11,
                r.sent <= share + self.mss + rounding,
                "{} sent in recovery, {share} allowed: {r:?} {after:?}",
                r.sent
            );
            report.reductions += 1;
        }
        if after.stats.tlp_probes > before.stats.tlp_probes {
            self.probe((before, after), end, (seg, truth), edge)?;
            report.probes += 1;
        } else if truth.pos == before.nxt {
            self.new_data((before, after), (seg, truth), edge)?;
        } else {
            self.retransmission(now, (before, after), end, (seg, truth), report)?;
        }
        self.transmitted.insert(truth.pos, (truth.pos + n, now));
        Ok(())
    }

    fn new_data(&mut self, (before, after): (&View, &View), (seg, truth): (&Segment, &Truth), edge: u64) -> Check {
        let (len, n) = (u64::from(seg.len), u64::from(seg.seq_len()));
        holds!(3, after.nxt == before.nxt + n, "SND.NXT is {} after {n} at {}", after.nxt, before.nxt);
        holds!(1, truth.pos + len <= edge, "{len} bytes at {} pass the right edge {edge}", truth.pos);
        let room = after.cwnd + self.limited_transmit(before.phase);
        // The second segment of a packet pair leaves whatever the window.
        let paired = after.pair_end == Some(truth.pos + len);
        holds!(1, paired || before.pipe + self.count(len) <= room, "pipe {} + {len} > {room}: {before:?}", before.pipe);
        holds!(8, after.pipe == before.pipe + self.count(n), "pipe {} after {n} with {}", after.pipe, before.pipe);
        Ok(())
    }

    /// A tail loss probe (RFC 8985 §7): one at a time, nothing being repaired, whatever the window.
    fn probe(
        &mut self,
        (before, after): (&View, &View),
        end: &Endpoint,
        (seg, truth): (&Segment, &Truth),
        edge: u64,
    ) -> Check {
        let (pos, n) = (truth.pos, u64::from(seg.seq_len()));
        holds!(7, self.probes, "a probe at {pos}");
        holds!(7, matches!(before.phase, Phase::Open | Phase::Reduction), "a probe in {:?}", before.phase);
        holds!(7, before.una >= self.probed, "a second probe at {pos}, the first up to {}", self.probed);
        self.probed = after.nxt;
        if pos == before.nxt {
            holds!(3, after.nxt == before.nxt + n, "SND.NXT is {} after {n} at {}", after.nxt, before.nxt);
            holds!(1, pos + u64::from(seg.len) <= edge, "a probe of {n} bytes at {pos} passes the right edge {edge}");
            holds!(
                8,
                after.pipe == before.pipe + self.count(n),
                "pipe {} after a probe with {}",
                after.pipe,
                before.pipe
            );
            return Ok(());
        }
        let Some(k) = end.known(pos).filter(|k| k.span == (pos, pos + n)) else {
            return Err(format!("invariant 7: {pos}..{} is probed but not outstanding", pos + n));
        };
        holds!(7, !k.sacked && !k.lost, "{pos} is probed although delivered or lost: {k:?}");
        holds!(7, self.sacked.covers(pos + n, after.nxt) || pos + n == after.nxt, "{pos}..{} is not the last", pos + n);
        holds!(8, after.pipe == before.pipe, "pipe {} after a probe with {}", after.pipe, before.pipe);
        Ok(())
    }

    /// What a segment of `n` positions counts.
    fn count(&self, n: u64) -> u64 {
        if self.packets { self.mss } else { n }
    }

    /// What is outstanding above `una` counts, and what of it is not delivered.
    fn outstanding(&self, una: u64) -> (u64, u64) {
        let all = self.transmitted.iter().filter(|(_, t)| t.0 > una);
        let missing = all.clone().filter(|(start, t)| !self.sacked.covers(**start, t.0)).count() as u64;
        (all.count() as u64 * self.mss, missing * self.mss)
    }

    /// What the first two duplicates add to the window (RFC 3042).
    fn limited_transmit(&self, phase: Phase) -> u64 {
        let applies =
            matches!(phase, Phase::Open | Phase::Reduction) || (phase == Phase::Loss && self.limited_after_timeout);
        let limited = applies && self.duplicates && !self.sack && self.limited_transmit;
        u64::from(limited) * 2 * self.mss
    }

    fn retransmission(
        &mut self,
        now: Time,
        (before, after): (&View, &View),
        end: &Endpoint,
        (seg, truth): (&Segment, &Truth),
        report: &mut Report,
    ) -> Check {
        let (pos, n) = (truth.pos, u64::from(seg.seq_len()));
        let Some(k) = end.known(pos).filter(|k| k.span == (pos, pos + n)) else {
            return Err(format!("invariant 7: {pos}..{} is sent again but not outstanding", pos + n));
        };
        holds!(7, !k.sacked, "{pos} is sent again although delivered");
        // Only the first one of an event may leave whatever the window.
        let fits = before.pipe + self.count(u64::from(seg.len)) <= after.cwnd + self.limited_transmit(before.phase);
        holds!(1, fits || !self.repeated, "{n} more with pipe {} and cwnd {}", before.pipe, after.cwnd);
        self.repeated = true;
        let again = after.pipe == before.pipe;
        holds!(
            8,
            again || after.pipe == before.pipe + self.count(n),
            "pipe {} after {n} with {}",
            after.pipe,
            before.pipe
        );
        let recovering = before.phase == Phase::Recovery;
        report.retransmissions += 1;
        if again || !k.lost {
            // RFC 6675 rules 3 and 4.
            let top = self.sacked.0.last().map_or(0, |s| s.1);
            holds!(7, recovering && self.sack && self.by_count, "{pos} is sent again without a loss: {k:?}");
            self.rescues += u64::from(again || pos >= top);
            holds!(7, self.rescues <= 1, "a second rescue at {pos}");
            report.speculative += 1;
            return Ok(());
        }
        let first = self.transmitted.get(&pos).map_or((0, Time::ZERO), |t| *t);
        let after_timeout = pos < self.timed_out;
        let justified = match before.phase {
            Phase::Open => false,
            Phase::Loss if after_timeout => true,
            _ if !self.sack => {
                pos == before.una || (before.phase == Phase::Loss && pos < self.signalled.0.max(self.repaired_to))
            }
            _ if self.by_count => after_timeout || pos == before.una || self.is_lost(pos),
            // RFC 8985: something sent later was delivered, and at least a round-trip time has passed.
            _ => {
                let (sent, now) = (self.told(first.1), self.told(now));
                let overtaken = (sent, first.0) < self.newest_delivered;
                after_timeout || (overtaken && now >= sent + Span(self.told(Time(self.shortest_rtt)).0))
            }
        };
        holds!(7, justified, "{pos} is sent again in {:?} for no reason: {k:?}", before.phase);
        Ok(())
    }

    /// `time` as far as the sender tells it.
    fn told(&self, time: Time) -> Time {
        Time(time.0 - time.0 % self.told_apart)
    }

    /// RFC 6675's IsLost, from the acknowledgments themselves.
    fn is_lost(&self, pos: u64) -> bool {
        let (ranges, bytes) = self.sacked.above(pos);
        ranges >= self.dupthresh || bytes > (self.dupthresh - 1) * self.mss
    }

    pub fn shortest(&self) -> u64 {
        self.shortest_rtt
    }

    /// An event begins: what leaves next belongs to it.
    pub fn on_event(&mut self) {
        self.repeated = false;
    }

    /// The sender was given an acknowledgment.
    pub fn on_acknowledgment(
        &mut self,
        before: &View,
        after: &View,
        truth: &Truth,
        count: usize,
        prompt: bool,
    ) -> Check {
        let expected = before.una.max(truth.ack);
        let taken = after.una == expected;
        holds!(3, taken || (!prompt && after.una == before.una), "SND.UNA is {}, not {expected}", after.una);
        let missing = self.outstanding(before.una).1;
        for &(start, end) in truth.blocks[..count].iter().filter(|b| b.1 > truth.ack) {
            self.sacked.insert(start, end);
        }
        self.sacked.trim_below(after.una);
        self.delivered = missing.saturating_sub(self.outstanding(after.una).1);
        let delivered = |start: u64, end: u64| end <= after.una || self.sacked.covers(start, end);
        for (start, (end, xmit)) in &self.transmitted {
            if delivered(*start, *end) {
                self.newest_delivered = self.newest_delivered.max((Time(xmit.0 - xmit.0 % self.told_apart), *end));
            }
        }
        self.transmitted.retain(|_, t| t.0 > after.una);
        self.duplicates = after.una == before.una;
        if let Some(r) = &mut self.reduction {
            r.delivered += if self.packets {
                self.delivered
            } else {
                (after.una + after.sacked).saturating_sub(before.una + before.sacked)
            };
            if self.prr == Some(PrrRule::Linux) && after.stats.dsacks > before.stats.dsacks {
                let (start, end) = truth.blocks[0];
                r.delivered += (end - start).div_ceil(self.mss) * self.mss;
            }
        }
        Ok(())
    }

    /// What an event did to window and phase. `signals`: what the controller was told on it.
    pub fn after_event(&mut self, before: &View, after: &View, signals: &[Signal], report: &mut Report) -> Check {
        holds!(3, after.una >= before.una && after.una <= after.nxt, "{before:?} {after:?}");
        holds!(3, after.nxt == before.nxt && after.edge >= before.edge, "{before:?} {after:?}");
        let (old, new) = (&before.stats, &after.stats);
        let undone = new.undos > old.undos;
        if undone {
            let timeout = new.spurious_timeouts > old.spurious_timeouts;
            holds!(5, self.undoes || (self.frto && timeout), "a reaction is taken back: {after:?}");
            holds!(
                5,
                after.ssthresh >= before.ssthresh || !signals.is_empty() || self.own_threshold,
                "taken back to a lower threshold: {after:?}"
            );
            self.signalled = (0, 0, false);
            // Nothing is lost any more.
            self.timed_out = if timeout { 0 } else { self.timed_out };
            report.undos += 1;
            report.spurious += u64::from(timeout);
        }
        let by_probe = new.tlp_recoveries - old.tlp_recoveries;
        // A recovery, even one that a mark has paid for, ends the probe.
        if !signals.is_empty() || new.recoveries > old.recoveries {
            self.probed = 0;
        }
        if signals.is_empty() && new.recoveries > old.recoveries {
            // A loss in the window of a mark: it is repaired, but nothing is reduced a second time.
            holds!(5, before.phase == Phase::Reduction, "a recovery without a signal: {before:?}");
            self.repaired_to = after.nxt;
            self.rescues = 0;
        }
        for signal in &signals[by_probe as usize..] {
            // DCTCP and Prague answer a loss that follows a mark (RFC 8257 §3.4); Linux repairs it within the mark's window.
            let worse = self.scalable && self.marked && matches!(signal, Signal::Loss { .. });
            match *signal {
                Signal::Timeout { repeated, .. } => {
                    let again = self.signalled == (self.signalled.0, after.una, true);
                    holds!(5, repeated || !again, "ssthresh falls twice for the timeouts of {}", after.una);
                    holds!(5, !again || after.ssthresh == before.ssthresh, "ssthresh changes at a repeated timeout");
                    self.timed_out = after.nxt;
                    report.timeouts += 1;
                }
                Signal::Loss { .. } | Signal::Ecn { .. } => {
                    // A retransmission lost after a timeout is found by RFC 8985 only.
                    let over = after.una >= self.signalled.0;
                    let lost_again = self.signalled.2 && self.sack && !self.by_count;
                    let again = lost_again || worse || self.reduces_again;
                    holds!(5, over || again, "a second reduction below {}: {signal:?} {after:?}", self.signalled.0);
                    report.recoveries += 1;
                    self.rescues = 0;
                }
            }
            if worse {
                self.repaired_to = after.nxt;
            } else {
                self.signalled = (after.nxt, after.una, matches!(signal, Signal::Timeout { .. }));
            }
            self.marked = matches!(signal, Signal::Ecn { .. });
        }
        holds!(5, signals.len() as u64 <= 1 + by_probe, "several reductions on one event: {signals:?}");
        holds!(5, after.cwnd >= self.mss, "cwnd is {}: {after:?}", after.cwnd);
        holds!(5, after.ssthresh >= 2 * self.mss, "ssthresh is {}", after.ssthresh);
        self.follow_reduction(before, after);
        self.delivered = 0;
        if undone {
            self.reduction = None;
        }
        Ok(())
    }

    fn follow_reduction(&mut self, before: &View, after: &View) {
        // A recovery that goes on from the reduction for a mark keeps that one's account.
        let begins = after.stats.recoveries > before.stats.recoveries && before.phase != Phase::Reduction;
        if begins && self.prr.is_some() {
            let acked = after.una - before.una;
            let (occupied, missing) = self.outstanding(after.una);
            let reference = match self.prr {
                Some(PrrRule::Linux) => before.cwnd,
                Some(PrrRule::Ns3) if self.packets => occupied,
                _ if self.packets => missing + self.delivered,
                Some(PrrRule::Ns3) => after.nxt - after.una,
                // RecoverFS (RFC 9937 §6): outstanding before this acknowledgment, less what was SACKed before it.
                _ => after.nxt - before.una - before.sacked,
            };
            let bytes = (acked + after.sacked).saturating_sub(before.sacked);
            let delivered = if self.packets { self.delivered } else { bytes };
            self.reduction = Some(Reduction { reference: reference.max(1), delivered, sent: 0 });
        }
        // Below ssthresh the rule is another one; Linux lets as much leave again as is found lost without a delivery.
        let nothing = after.una + after.sacked == before.una + before.sacked;
        let replaced = self.prr == Some(PrrRule::Linux) && nothing && after.pipe < before.pipe;
        // Between one recovery and the next, on one acknowledgment, there was a window that cannot be seen.
        let unseen = begins && before.phase == Phase::Recovery && self.prr == Some(PrrRule::Linux);
        if after.phase != Phase::Recovery || after.pipe <= after.ssthresh || replaced || unseen {
            self.reduction = None;
        }
    }
}
