//! What an acknowledgment tells of the data that it acknowledges.

use super::connection::{Connection, Context, RttRule};
use super::coverage::Covered;
use super::limits::View;
use super::pieces::{Kind, NEVER, Piece};
use super::repairs::{Cause, Open, Proof, Repair};
use super::rtt::older;
use super::segment::{Segment, unwrapped};
use super::sink::{Event, Happening, Metric, Sink};
use ackclock_core::packet::wire::flags;

impl Connection {
    /// Takes acknowledgment and window of `s`, which direction `d` sent, for the data of the other.
    pub(super) fn acknowledgment<S: Sink>(&mut self, s: &Segment, d: usize, cx: &mut Context<S>) {
        let e = 1 - d;
        let y = &mut self.directions[e];
        if !y.known {
            y.stand_at(s.ack);
        }
        y.counts.pure_acks += u64::from(s.is_pure_ack());
        if !s.has(flags::SYN) {
            y.answered = s.time;
        }
        if !y.data && self.says_again(s, d) {
            self.directions[e].weigh(s.time, 0);
            return;
        }
        let y = &mut self.directions[e];
        let (flight, una, out) = (y.in_flight(), y.pieces.una(), y.is_out());
        let (dups, edge) = (y.dups, y.edge);
        let whole = unwrapped(s.ack, y.max);
        let mut ack = whole;
        let ends = y.ending.fin.filter(|fin| ack > *fin);
        if let Some(fin) = ends {
            ack = fin;
        }
        y.counts.acks += u64::from(out && ack <= y.max && !s.has(flags::SYN));
        if ack > y.max {
            self.unseen(s, e, ack, cx);
        }
        let y = &mut self.directions[e];
        let mut covered = Covered::of(s, cx.events);
        let ended = ends.is_some() && !y.ending.acked;
        if ended {
            y.ending.acked = true;
        }
        let moved = ack > una || ended;
        if moved {
            covered.take_fin_of(y, ended, false);
            y.cover(ack, &mut covered, cx.repairs);
            (y.dups, y.repaired) = (0, false);
            y.initial_over |= y.data;
        }
        if !s.options.sack.is_empty() {
            y.cover_blocks(s, whole, &mut covered, cx.repairs);
        }
        let una_now = y.pieces.una();
        if y.loss.episode.open == Open::Rto && covered.sent_once_before(y.loss.episode.timed_out) {
            y.loss.episode.survived = true;
        }
        let over = y.loss.episode.open != Open::No && y.loss.episode.acknowledged(una_now);
        if y.ending.done.is_none() && y.ending.fin == Some(una_now) {
            // Without data the FIN alone is the end of the stream.
            let passed = if y.data { Some(y.sending.last_data) } else { y.ending.bare.map(|fin| fin.0) };
            y.ending.done = Some((s.time, passed.filter(|at| *at >= self.first).unwrap_or(s.time)));
        }
        if !cx.repairs.is_empty() {
            let mut repairs = std::mem::take(cx.repairs);
            for id in repairs.drain(..) {
                self.settle(id, s, e, una, cx);
            }
            *cx.repairs = repairs;
        }
        if let Some(block) = covered.dsack {
            self.duplicate_reported(s, e, block, cx);
        }
        let least = self.least(e);
        let y = &mut self.directions[e];
        if let Some(at) = covered.latest(s.time, least) {
            if at > y.sending.arrived {
                y.sending.arrived = at;
            }
        }
        self.directions[e].look_at_first(s.time, moved);
        if over && self.sack() {
            self.directions[e].recover_further();
        }
        self.time(s, e, &covered, moved, cx);
        self.window(s, e, (ack, una), (out, moved), &covered, cx);
        let y = &mut self.directions[e];
        if moved || covered.fresh > 0 || covered.dsack.is_some() || y.dups != dups || y.edge != edge {
            y.stirred = y.stirred.max(s.time);
        }
        y.weigh(s.time, flight);
        self.after_acknowledgment(s, e, moved || covered.fresh > 0, cx);
    }

    /// Whether acknowledgment and window of `s`, which direction `d` sent, are those of before, of a peer that has nothing
    /// out: so it is with most data of a connection that sends in one direction.
    #[inline]
    fn says_again(&self, s: &Segment, d: usize) -> bool {
        let y = &self.directions[1 - d];
        let ack = unwrapped(s.ack, y.max);
        let same = s.window.is_some_and(|window| u32::from(window) << self.shift(d) == y.window && window > 0);
        let quiet = y.ending.fin.is_none() && y.loss.episode.open == Open::No && y.loss.closed_since.is_none();
        same && quiet
            && y.window_known
            && ack == y.max
            && ack == y.pieces.una()
            && y.edge == ack + u64::from(y.window)
            && y.counts.rwnd().is_some()
            && s.options.sack.is_empty()
            && !s.has(flags::SYN)
    }

    /// `ack` is above everything that passed.
    fn unseen<S: Sink>(&mut self, s: &Segment, e: usize, ack: u64, cx: &mut Context<S>) {
        let y = &mut self.directions[e];
        let from = y.max;
        y.pieces.append(Piece {
            end: ack,
            sent: s.time,
            tsval: 0,
            rtx: NEVER,
            ip_id: 0,
            kind: Kind::Assumed,
            sends: 1,
            sacked: true,
        });
        y.max = ack;
        // The byte of a probe that found room is no surprise.
        if ack > y.loss.probed {
            y.counts.ack_unseen += 1;
            y.counts.missed_bytes += ack - from;
            self.tell(cx, s, e, Happening::AckUnseen, from, ack - from);
        }
    }

    /// An acknowledgment covers retransmission `id` for the first time: was it needed? Before it everything up to `una` was
    /// acknowledged.
    fn settle<S: Sink>(&mut self, id: u32, s: &Segment, e: usize, una: u64, cx: &mut Context<S>) {
        let least = self.least(e);
        let Some(repair) = self.directions[e].loss.repairs.get_mut(id).filter(|r| !r.settled) else { return };
        repair.settled = true;
        let proof = match (repair.tsval, s.options.timestamps) {
            // The echo is that of the segment at the edge (RFC 7323 §4.3): of others behind it, it says nothing.
            (Some(own), Some((_, echo))) => (repair.start <= una && older(echo, own)).then_some(Proof::Eifel),
            (None, _) => (s.time - repair.time < least / 2).then_some(Proof::Early),
            _ => None,
        };
        if let Some(proof) = proof.filter(|_| !repair.needless) {
            repair.needless = true;
            repair.told = proof != Proof::Early;
            let repair = *repair;
            self.needless(&repair, proof, s.time, e, cx);
        }
    }

    /// A DSACK block.
    fn duplicate_reported<S: Sink>(&mut self, s: &Segment, e: usize, block: (u64, u64), cx: &mut Context<S>) {
        let y = &mut self.directions[e];
        y.counts.dsacks += 1;
        let mut proved = std::mem::take(cx.proved);
        y.loss.repairs.reported(block.0, block.1, |repair| proved.push(*repair));
        self.tell(cx, s, e, Happening::Dsack, block.0, block.1 - block.0);
        for repair in proved.drain(..) {
            if repair.needless {
                self.directions[e].loss.episode.needless(&repair, Proof::Dsack);
            } else {
                self.needless(&repair, Proof::Dsack, s.time, e, cx);
            }
        }
        *cx.proved = proved;
    }

    /// A retransmission of direction `d` has proved needless.
    pub(super) fn needless<S: Sink>(&mut self, r: &Repair, proof: Proof, time: i64, d: usize, cx: &mut Context<S>) {
        let x = &mut self.directions[d];
        x.counts.spurious_segments += u64::from(r.segments);
        x.counts.spurious_timeouts += u64::from(r.cause == Cause::Rto && r.opened);
        if proof != Proof::Early {
            // How early is for us to see; a sender has no timestamps by which it could.
            x.loss.episode.needless(r, proof);
        }
        if cx.events {
            let (id, seq, bytes) = (self.id(d), self.directions[d].relative(r.start), r.end - r.start);
            let (cause, spurious) = (Some(r.cause), Some(proof));
            cx.sink.event(Event { time, id, kind: Happening::Spurious, seq, bytes, cause, spurious, packet: r.number });
        }
    }

    fn time<S: Sink>(&mut self, s: &Segment, e: usize, covered: &Covered, moved: bool, cx: &mut Context<S>) {
        let y = &mut self.directions[e];
        let sent = covered.sent();
        if sent.is_none() && moved && covered.repeated {
            let echoed = s.options.timestamps.and_then(|(_, echo)| y.stamps.last_echoed(echo));
            // No sample, but what the sender's timer goes by.
            if let Some(at) = echoed {
                y.rtt.smooth(s.time - at);
            }
        }
        if let Some(ns) = sent.map(|sent| s.time - sent) {
            if y.rtt.sample(ns) && cx.rule == RttRule::Latest {
                self.record(cx, s.time, e, Metric::Rtt, ns as f64 * 1e-9);
            }
        }
        if cx.rule == RttRule::Sender {
            self.time_as_sender(s, e, covered, moved, cx);
        }
    }

    /// The window that `s` leaves for direction `e`, and whether it is a duplicate or only moves the window.
    fn window<S: Sink>(
        &mut self,
        s: &Segment,
        e: usize,
        (ack, una): (u64, u64),
        (out, moved): (bool, bool),
        covered: &Covered,
        cx: &mut Context<S>,
    ) {
        let Some(window) = s.window else { return };
        let is_syn = s.has(flags::SYN);
        let window = u32::from(window) << if is_syn { 0 } else { self.shift(1 - e) };
        let sack = self.sack();
        let y = &mut self.directions[e];
        let widened = ack + u64::from(window) > y.edge;
        let known = y.window_known;
        y.edge = y.edge.max(ack + u64::from(window));
        let mut closes = false;
        if ack >= una {
            if window == 0 && !is_syn && (y.window > 0 || !known) {
                y.counts.zero_windows += 1;
                y.loss.closed_since = Some(s.time);
                closes = true;
            } else if window > 0 {
                if let Some(since) = y.loss.closed_since {
                    y.loss.closed_since = None;
                    y.counts.zero_window = y.counts.zero_window.saturating_add((s.time - since).max(0));
                }
            }
            (y.window, y.window_known) = (window, true);
        }
        let mut kind = None;
        if s.length == 0 && s.flags & (flags::SYN | flags::FIN) == 0 && !moved && ack == una {
            let duplicate = out && if sack { covered.fresh > 0 } else { !widened };
            if duplicate {
                y.counts.dup_acks += 1;
                y.dups = y.dups.saturating_add(1);
                kind = Some(Happening::DupAck);
            } else if widened && known && covered.fresh == 0 {
                y.counts.window_updates += 1;
                kind = Some(Happening::WindowUpdate);
            }
        }
        if cx.events {
            for (from, to) in covered.stretches.iter().flatten() {
                self.tell(cx, s, e, Happening::Sack, *from, to - from);
            }
            if closes {
                self.tell(cx, s, e, Happening::ZeroWindow, ack, 0);
            }
            if let Some(kind) = kind {
                self.tell(cx, s, e, kind, ack, 0);
            }
        }
    }

    /// Series, rounds, and the account of who limits.
    fn after_acknowledgment<S: Sink>(&mut self, s: &Segment, e: usize, news: bool, cx: &mut Context<S>) {
        let both_syns = self.both_syns();
        let y = &mut self.directions[e];
        let una = y.pieces.una();
        if both_syns && !s.has(flags::SYN) {
            let left = y.edge.saturating_sub(una);
            y.counts.leave(left);
        }
        if !y.data {
            return;
        }
        if both_syns {
            let view = View { time: s.time, una, edge: y.edge, episode: y.loss.episode.open != Open::No };
            let path = self.path(e);
            self.directions[e].sending.limits.acknowledged(view, &path);
        }
        let y = &mut self.directions[e];
        if una >= y.sending.rounds.end {
            let largest = std::mem::take(&mut y.sending.rounds.largest);
            y.sending.rounds.end = y.max.max(una + 1);
            if largest > 0 {
                self.record(cx, s.time, e, Metric::CwndEstimate, largest as f64);
            }
        }
        if cx.series && news {
            let y = &self.directions[e];
            let delivered = una.wrapping_sub(y.origin) as f64;
            self.record(cx, s.time, e, Metric::Delivered, delivered);
        }
        self.record_flight(s.time, e, cx);
    }

    /// Flight, pipe and window, to the series.
    pub(super) fn record_flight<S: Sink>(&self, time: i64, d: usize, cx: &mut Context<S>) {
        if !cx.series {
            return;
        }
        let x = &self.directions[d];
        self.record(cx, time, d, Metric::InFlight, x.in_flight() as f64);
        self.record(cx, time, d, Metric::Pipe, x.pipe() as f64);
        if self.both_syns() {
            self.record(cx, time, d, Metric::Rwnd, x.edge.saturating_sub(x.pieces.una()) as f64);
            if let Some(limit) = x.sending.limits.limit(self.mss(d)) {
                self.record_limit(cx, time, d, limit);
            }
        }
    }
}
