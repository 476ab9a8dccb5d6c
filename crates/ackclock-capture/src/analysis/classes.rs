//! The class of a segment with data: new, sent again, overtaken, a keepalive or a probe.

use super::connection::{Connection, Context};
use super::moment::Moment;
use super::pieces::{Kind, NEVER, Piece};
use super::repairs::{Cause, Open, Proof, Repair};
use super::rtt::older;
use super::segment::{Segment, unwrapped};
use super::sink::{Happening, Metric, Sink};
use ackclock_core::packet::wire::flags;

/// A segment's place in its stream.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    end: u64,
}

/// What its bytes below `max` are.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Acknowledged or seen.
    old: u64,
    /// In holes.
    missing: u64,
    /// Of the first hole: when it came about, timestamp value and IP identification of the segment that passed instead.
    hole: Option<(i64, u32, u16)>,
}

impl Connection {
    /// Takes the data and the FIN of `s`, which direction `d` sent.
    pub(super) fn data<S: Sink>(&mut self, s: &Segment, d: usize, cx: &mut Context<S>) {
        let x = &mut self.directions[d];
        if !x.known {
            x.stand_at(s.seq);
        }
        let start = unwrapped(s.seq, x.max) + u64::from(s.has(flags::SYN));
        let place = Place { start, end: start + u64::from(s.length) };
        if s.length <= 1 && s.flags & (flags::SYN | flags::FIN) == 0 && self.asks(s, d, place, cx) {
            return;
        }
        if s.length > 0 {
            self.bytes(s, d, place, cx);
        }
        if s.has(flags::FIN) {
            self.fin(s, d, place, cx);
        }
    }

    /// Whether it only asks for an acknowledgment: a keepalive, or a probe of a closed window.
    fn asks<S: Sink>(&mut self, s: &Segment, d: usize, place: Place, cx: &mut Context<S>) -> bool {
        let x = &mut self.directions[d];
        let closed = x.window_known && x.window == 0;
        let behind = place.start + 1 == x.max;
        let kind = if behind && x.pieces.una() == x.max && !closed {
            x.counts.keepalives += 1;
            Happening::Keepalive
        } else if closed && (s.length == 0 && behind || s.length == 1 && place.start >= x.edge) {
            x.counts.probes += 1;
            x.loss.probed = x.loss.probed.max(place.end);
            Happening::Probe
        } else {
            return false;
        };
        self.tell(cx, s, d, kind, place.start, u64::from(s.length));
        true
    }

    fn fin<S: Sink>(&mut self, s: &Segment, d: usize, place: Place, cx: &mut Context<S>) {
        let x = &mut self.directions[d];
        x.stirred = x.stirred.max(s.time);
        if s.length == 0 {
            x.ending.bare = Some((s.time, x.ending.fin.is_none()));
        }
        if x.ending.fin.is_some() {
            x.counts.fin_retransmissions += 1;
            self.tell(cx, s, d, Happening::FinRetransmission, place.end, 0);
            return;
        }
        if place.end > x.max {
            x.counts.gap_bytes += place.end - x.max;
            let hole = Piece { kind: Kind::Hole, ..piece(s, place.end) };
            if !x.pieces.append(hole) {
                x.counts.irregular = true;
            }
            x.max = place.end;
        }
        x.ending.fin = Some(place.end.max(x.max));
        if self.both_syns() && self.directions[d].data {
            let path = self.path(d);
            self.directions[d].sending.limits.advance(s.time, &path);
            self.directions[d].sending.limits.fin = true;
        }
    }

    fn bytes<S: Sink>(&mut self, s: &Segment, d: usize, place: Place, cx: &mut Context<S>) {
        let x = &mut self.directions[d];
        let Place { start, end } = place;
        let length = u64::from(s.length);
        if x.sending.size.is_news(s.length) {
            self.learn_size(s, d);
        }
        let x = &mut self.directions[d];
        if !x.data {
            x.data = true;
            x.changed = s.time;
            if x.offer.is_none() && start > x.max {
                // It began before the capture: what lies between passed then.
                x.pieces.append(Piece { kind: Kind::Assumed, sends: 2, sacked: false, ..piece(s, start) });
                x.max = start;
            }
            let (una, edge) = (x.pieces.una(), x.edge);
            x.sending.limits.begin(self.first, self.opened.get(), una, edge);
            x.sending.rounds.end = una;
        }
        let mss = self.mss(d);
        let x = &mut self.directions[d];
        let segments = x.segments(length, mss);
        let sending = &mut x.sending;
        sending.volume.packets += 1;
        sending.volume.super_packets += u64::from(length > u64::from(mss));
        sending.volume.sent_bytes += length;
        sending.volume.sent_segments += segments;
        if !x.initial_over && start >= x.max {
            let (bytes, all, _) = sending.rounds.initial;
            sending.rounds.initial = (bytes + length, all + segments, (length - 1) as u32 % mss + 1);
        }
        if s.marked {
            x.counts.marked += segments;
        }
        let (flight, max) = (x.in_flight(), x.max);
        if start == max {
            self.leave_timeout(d);
            self.directions[d].pieces.append(piece(s, end));
            self.tell(cx, s, d, Happening::New, start, length);
        } else if start > max {
            x.counts.gap_bytes += start - max;
            if !x.pieces.append(Piece { kind: Kind::Hole, ..piece(s, start) }) {
                x.counts.irregular = true;
            }
            x.pieces.append(piece(s, end));
            self.tell(cx, s, d, Happening::Gap, start, length);
        } else {
            self.below(s, d, place, mss, cx);
        }
        let x = &mut self.directions[d];
        x.stirred = x.stirred.max(s.time);
        x.sending.last_data = if end > x.pieces.una() { s.time } else { x.sending.last_data };
        if end > max {
            x.max = end;
            self.newly_sent(s, d, place, cx);
        }
        self.directions[d].weigh(s.time, flight);
        self.confine(d);
        if cx.series {
            let (sent, again) =
                (self.directions[d].sending.volume.sent_bytes, self.directions[d].counts.retransmitted_bytes);
            self.record(cx, s.time, d, Metric::Sent, sent as f64);
            if end <= max {
                self.record(cx, s.time, d, Metric::Retransmitted, again as f64);
            }
            self.record_flight(s.time, d, cx);
        }
    }

    /// What a packet tells of the size of full segments.
    #[cold]
    fn learn_size(&mut self, s: &Segment, d: usize) {
        let offered =
            self.directions[d].offer.is_some() && self.directions[1 - d].offer.is_some_and(|o| o.mss.is_some());
        let size = &mut self.directions[d].sending.size;
        if !offered {
            size.seen(s.length);
        } else if !s.has(flags::PSH) && !s.has(flags::FIN) && !s.has(flags::SYN) {
            size.filled(s.length, self.agreement.largest[d]);
        }
    }

    /// What new data tell of who limits.
    fn newly_sent<S: Sink>(&mut self, s: &Segment, d: usize, place: Place, cx: &mut Context<S>) {
        if !self.both_syns() {
            return;
        }
        let path = self.path(d);
        let x = &mut self.directions[d];
        x.sending.limits.advance(s.time, &path);
        let limit = x.sending.limits.sent(s.time, s.length, place.end, &path);
        self.in_network(s, d, limit, &path, cx);
    }

    fn known(&self, d: usize, place: Place) -> Known {
        let x = &self.directions[d];
        let una = x.pieces.una();
        let mut known = Known { old: place.end.min(una).saturating_sub(place.start), ..Known::default() };
        let (from, to) = (place.start.max(una), place.end.min(x.max));
        if !x.pieces.has_holes() {
            known.old += to.saturating_sub(from);
            return known;
        }
        x.pieces.within(from, to, |begin, piece| {
            let bytes = piece.end.min(to) - begin.max(from);
            if piece.kind == Kind::Hole {
                known.missing += bytes;
                known.hole.get_or_insert((piece.sent, piece.tsval, piece.ip_id));
            } else {
                known.old += bytes;
            }
        });
        known
    }

    /// It begins below `max`.
    fn below<S: Sink>(&mut self, s: &Segment, d: usize, place: Place, mss: u32, cx: &mut Context<S>) {
        let known = self.known(d, place);
        let Place { start, end } = place;
        let max = self.directions[d].max;
        let overtaken = known.old == 0 && known.hole.is_some_and(|hole| overtaken(s, hole, self.round(d)));
        if overtaken {
            let x = &mut self.directions[d];
            x.counts.reordered_segments += x.segments(known.missing, mss);
            let by = known.hole.map_or(0, |hole| s.time - hole.0);
            x.counts.max_reorder = x.counts.max_reorder.max(by);
            self.fill(s, d, place, NEVER);
            self.tell(cx, s, d, Happening::Reordered, start, known.missing);
        } else {
            let again = if known.old > 0 { known.old } else { known.missing };
            let cause = self.cause(s, d, start, end);
            let x = &mut self.directions[d];
            let mut repair = Repair::new(start, end.min(max), s.time, s.number, cause);
            repair.segments = x.segments(again, mss) as u32;
            repair.tsval = s.options.timestamps.map(|t| t.0);
            repair.evident = x.is_lost(start, end);
            repair.opened = self.begin_episode(d, cause, s.time);
            let x = &mut self.directions[d];
            if x.loss.episode.open != Open::No {
                repair.episode = x.loss.episode.number;
                x.loss.episode.repairs.0 += 1;
            }
            let acked = end <= x.pieces.una();
            repair.settled = acked;
            (repair.needless, repair.told) = (acked, acked);
            x.counts.retransmitted_bytes += again;
            x.counts.retransmitted[cause as usize] += u64::from(repair.segments);
            let partial = end > max || known.old > 0 && known.missing > 0;
            if partial {
                x.counts.partial += 1;
            }
            x.repaired = true;
            x.sending.rounds.level.0 = Moment::NEVER;
            let id = x.loss.repairs.push(repair);
            self.fill(s, d, place, id);
            let kind = if partial { Happening::Partial } else { Happening::Retransmission };
            let proof = acked.then_some(Proof::Acked);
            self.tell_why(cx, s, d, kind, start, again, Some(cause), proof);
            if acked {
                self.needless(&repair, Proof::Acked, s.time, d, cx);
            }
        }
        if end > max {
            self.directions[d].pieces.append(piece(s, end));
        }
    }

    /// Holes in its place are filled, and what had passed has passed again.
    fn fill(&mut self, s: &Segment, d: usize, place: Place, rtx: u32) {
        let x = &mut self.directions[d];
        let (from, to) = (place.start.max(x.pieces.una()), place.end.min(x.max));
        if from >= to {
            return;
        }
        if from == x.pieces.una() {
            x.loss.overtaken = None;
        }
        let tsval = s.options.timestamps.map_or(0, |t| t.0);
        let regular = x.pieces.change(from, to, |_, piece| {
            (piece.sends, piece.kind) = if piece.kind == Kind::Hole { (1, Kind::Seen) } else { (2, piece.kind) };
            (piece.sent, piece.tsval, piece.rtx) = (s.time, tsval, rtx);
        });
        if !regular {
            x.counts.irregular = true;
        }
    }

    /// Opens the episode that a retransmission for `cause` begins. True: it opened one.
    fn begin_episode(&mut self, d: usize, cause: Cause, time: i64) -> bool {
        let (sack, round) = (self.sack(), self.round(d));
        let x = &mut self.directions[d];
        let max = x.max;
        // Without SACK repairs that follow the first answer acknowledgments of parts; three more duplicates begin another.
        let anew = !sack && x.dups >= 3 && !x.repaired;
        match cause {
            Cause::Rto => {
                x.counts.timeouts += 1;
                let already = x.loss.episode.open == Open::Rto;
                x.loss.episode.time_out(max, time, round);
                if already {
                    return false;
                }
            }
            Cause::Fast if x.loss.episode.open != Open::Fast || anew => {
                x.counts.recoveries += 1;
                x.loss.episode.begin(Open::Fast, max);
            }
            Cause::Tlp => {
                x.counts.tlp_probes += 1;
                return false;
            }
            Cause::RtoRecovery => {
                // It goes back: it did not find the timeout spurious.
                x.loss.episode.given_up = i64::MIN;
                return false;
            }
            _ => return false,
        }
        x.sending.limits.set_episode(true);
        true
    }
}

fn piece(s: &Segment, end: u64) -> Piece {
    let tsval = s.options.timestamps.map_or(0, |t| t.0);
    Piece { end, sent: s.time, tsval, rtx: NEVER, ip_id: s.ip_id, kind: Kind::Seen, sends: 1, sacked: false }
}

/// Whether a segment that fills a hole was sent before the segment that passed instead of it.
fn overtaken(s: &Segment, (at, tsval, ip_id): (i64, u32, u16), round: i64) -> bool {
    if let Some((own, _)) = s.options.timestamps.filter(|(own, _)| tsval != 0 && *own != tsval) {
        return older(own, tsval);
    }
    if s.ip_id != 0 && ip_id != 0 && s.ip_id != ip_id {
        return (s.ip_id.wrapping_sub(ip_id) as i16) < 0;
    }
    (s.time - at).saturating_mul(10) < round * 9
}
