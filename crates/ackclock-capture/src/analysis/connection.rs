//! A connection: both directions, its handshake and its end.

use super::direction::Direction;
use super::handshake::Agreement;
use super::limits::{Limit, Path};
use super::moment::Moment;
use super::packing::{self, Coder, Reader, Writer};
use super::repairs::{Cause, Proof};
use super::rtt::LONGEST;
use super::segment::{Segment, unwrapped};
use super::sink::{Event, FlowId, Happening, Metric, Sample, Sink};
use ackclock_core::packet::Address;
use ackclock_core::packet::wire::flags;

const MS: i64 = 1_000_000;
/// Round trip time while nothing is known.
const UNKNOWN_ROUND: i64 = 200 * MS;
/// Farther than this from what was expected is not of the connection.
const STRAY: u32 = 1 << 30;
/// Outstanding pieces, of directions whose acknowledgments are seen and of others, from which on the older are joined.
const MOST_PIECES: [usize; 2] = [65_536, 4096];

/// Which sample of round trip time an acknowledgment gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RttRule {
    /// From the latest of the segments that it covers newly.
    #[default]
    Latest,
    /// As senders do: from the oldest; by timestamps where only repeated data are covered.
    Sender,
}

/// Where results go and which are wanted.
pub struct Context<'a, S> {
    /// Takes them.
    pub sink: &'a mut S,
    /// Whether samples are wanted.
    pub series: bool,
    /// Whether events are.
    pub events: bool,
    /// Which round trip times.
    pub rule: RttRule,
    /// Room for the retransmissions that one acknowledgment covers.
    pub repairs: &'a mut Vec<u32>,
    /// Room for those that it proves needless.
    pub proved: &'a mut Vec<super::repairs::Repair>,
}

/// One end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its address.
    pub address: Address,
    /// Its port.
    pub port: u16,
}

/// Everything about a connection. Direction 0 are the data of whoever sent its first packet.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Number, in the order of first packets.
    pub number: u64,
    /// Interface of its packets.
    pub interface: u32,
    /// The directions.
    pub directions: [Direction; 2],
    /// Time of its first packet, ns.
    pub first: i64,
    /// Latest time of a packet.
    pub last: i64,
    /// Who opened it: a direction.
    pub initiator: Option<u8>,
    /// When SYN, SYN/ACK and the third packet of the handshake passed first.
    pub handshake: [Moment; 3],
    /// When it was over, whichever of them were seen.
    pub opened: Moment,
    /// Whether one of these was repeated.
    pub repeated: bool,
    /// Whether it was closed.
    pub closed: bool,
    /// The direction that sent RST.
    pub reset: Option<u8>,
    /// Written out as the table was full.
    pub evicted: bool,
    pub(super) agreement: Agreement,
    /// Bytes that it was packed to, for the next time.
    pub room: Box<[u8]>,
}

impl Connection {
    /// It is over: what it has on the heap is given back, but for the little that nearly every one needs.
    pub fn clear(&mut self) {
        self.directions.iter_mut().for_each(Direction::renew);
    }

    /// Becomes another one, from its first packet, in the room of this, which was [cleared](Connection::clear).
    pub fn renew(&mut self, number: u64, s: &Segment) {
        (self.number, self.interface, self.first, self.last) = (number, s.interface, s.time, s.time);
        (self.initiator, self.handshake, self.opened) = (None, [Moment::NEVER; 3], Moment::NEVER);
        (self.repeated, self.closed, self.reset, self.evicted) = (false, false, None, false);
        self.agreement = Agreement::default();
    }

    /// As bytes, in the room `before` if they fit that. None: it is too much.
    pub fn pack(&mut self, writer: &mut Writer, before: Box<[u8]>) -> Option<Box<[u8]>> {
        writer.begin();
        self.code(writer);
        writer.finish(self.number, self.last, before)
    }

    /// Becomes what was packed to these bytes, whatever it is.
    pub fn unpack(&mut self, reader: &mut Reader, bytes: &[u8]) {
        (self.number, self.last) = (packing::number(bytes), packing::last(bytes));
        reader.begin(bytes);
        self.code(reader);
    }

    fn code<C: Coder>(&mut self, c: &mut C) {
        let Connection {
            // These are in front.
            number: _,
            last,
            interface,
            directions: [one, other],
            first,
            initiator,
            handshake,
            opened,
            repeated,
            closed,
            reset,
            evicted,
            agreement,
            room: _,
        } = self;
        let last = *last;
        let mut small = [*initiator, *reset].map(|who| who.map_or(0, |d| d + 1));
        let Agreement {
            both,
            largest: [largest, other_largest],
            shifts: [shift, other_shift],
            sack,
            timestamps,
            handshake_rtt,
        } = agreement;
        let [opener, resetter] = &mut small;
        let bits = [(opener, 2), (resetter, 2), (shift, 4), (other_shift, 4)];
        c.small([repeated, closed, evicted, both, sack, timestamps], bits, largest);
        if C::READS {
            [*initiator, *reset] = small.map(|who| who.checked_sub(1));
        }
        c.int_near(other_largest, *largest);
        c.int(interface);
        c.time(first, last);
        let [syn, answer, third] = handshake;
        let begin = *first;
        for at in [syn, answer, third, opened] {
            c.moment(at, begin);
        }
        c.moment(handshake_rtt, 0);
        one.code(c, last);
        other.code(c, last);
    }

    /// It is closed: what has more room than it needs keeps that.
    pub fn shrink(&mut self) {
        self.directions.iter_mut().for_each(Direction::shrink);
    }

    /// SYNs of both were seen: windows can be known.
    #[inline]
    pub fn both_syns(&self) -> bool {
        self.agreement.both
    }

    /// Whether SACK is in use; without both SYNs once a block was seen.
    #[inline]
    pub fn sack(&self) -> bool {
        match self.agreement.both {
            true => self.agreement.sack,
            false => self.directions.iter().any(|d| d.blocks),
        }
    }

    /// Whether timestamps are.
    pub fn timestamps(&self) -> Option<bool> {
        self.agreement.both.then_some(self.agreement.timestamps)
    }

    /// By how much windows that direction `d` announces are shifted.
    #[inline]
    pub fn shift(&self, d: usize) -> u8 {
        self.agreement.shifts[d]
    }

    /// Size of a full segment of direction `d`: what its segments show, at most what the other end takes.
    #[inline]
    pub fn mss(&self, d: usize) -> u32 {
        self.directions[d].sending.size.at_most(self.agreement.largest[d])
    }

    /// SYN to third packet, ns, unless one was repeated.
    #[inline]
    pub fn handshake_rtt(&self) -> Option<i64> {
        self.agreement.handshake_rtt.get()
    }

    /// The part of the handshake that the data of direction `d` would take from here and back, ns.
    pub fn handshake_part(&self, d: usize) -> Option<i64> {
        (!self.repeated).then_some(())?;
        let [syn, answer, third] = self.handshake.map(Moment::get);
        let part = if usize::from(self.initiator?) == d { answer? - syn? } else { third? - answer? };
        (part >= 0).then_some(part.min(LONGEST))
    }

    /// The shortest time in which an acknowledgment of direction `d` came back here, the handshake's included, ns.
    pub fn least(&self, d: usize) -> i64 {
        let measured = self.directions[d].rtt.least();
        measured.into_iter().chain(self.handshake_part(d)).min().unwrap_or(0)
    }

    /// What a round trip of direction `d` takes at most, as far as that is known, ns.
    #[inline]
    pub fn round(&self, d: usize) -> i64 {
        let x = &self.directions[d];
        let measured = x.rtt.smoothed().map(|rtt| rtt + x.up.get().unwrap_or(0));
        match (self.handshake_rtt(), measured) {
            (Some(a), Some(b)) => a.max(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => UNKNOWN_ROUND,
        }
    }

    /// Share of the round trip of direction `d` that is beyond the capture point: 1 at the sender.
    pub fn vantage(&self, d: usize) -> Option<f64> {
        let x = &self.directions[d];
        // A single acknowledgment may have waited for its timer: the handshake does not.
        let beyond = x.rtt.least().into_iter().chain(self.handshake_part(d)).min()?;
        let up = x.up.get()?;
        Some(if beyond + up > 0 { beyond as f64 / (beyond + up) as f64 } else { 1.0 })
    }

    /// What the account of who limits needs to know.
    #[inline]
    pub fn path(&self, d: usize) -> Path {
        let x = &self.directions[d];
        let up = x.up.get().unwrap_or(0);
        let beyond = x.rtt.smoothed().or_else(|| self.handshake_part(d)).unwrap_or(0);
        Path { round: self.round(d), up, at_sender: up * 9 < beyond, mss: self.mss(d) }
    }

    /// The identity of a direction in results.
    #[inline]
    pub fn id(&self, d: usize) -> FlowId {
        FlowId { connection: self.number, direction: d as u8 }
    }

    /// Tells an event of the data of direction `d`, of which `seq` is the first byte.
    #[inline]
    pub fn tell<S: Sink>(&self, cx: &mut Context<S>, s: &Segment, d: usize, kind: Happening, seq: u64, bytes: u64) {
        self.tell_why(cx, s, d, kind, seq, bytes, None, None);
    }

    /// The same with cause and proof.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn tell_why<S: Sink>(
        &self,
        cx: &mut Context<S>,
        s: &Segment,
        d: usize,
        kind: Happening,
        seq: u64,
        bytes: u64,
        cause: Option<Cause>,
        spurious: Option<Proof>,
    ) {
        if cx.events {
            let (id, seq) = (self.id(d), self.directions[d].relative(seq));
            cx.sink.event(Event { time: s.time, id, kind, seq, bytes, cause, spurious, packet: s.number });
        }
    }

    /// A sample of direction `d`.
    #[inline]
    pub fn record<S: Sink>(&self, cx: &mut Context<S>, time: i64, d: usize, metric: Metric, value: f64) {
        if cx.series {
            cx.sink.sample(Sample { time, id: self.id(d), metric, value });
        }
    }

    /// Takes the packet `s` that direction `d` sent.
    pub fn take<S: Sink>(&mut self, s: &Segment, d: usize, cx: &mut Context<S>) {
        let e = 1 - d;
        if self.strays(s, d) {
            self.directions[d].counts.stray += 1;
            return;
        }
        let round = self.round(d);
        let fresh = self.is_fresh(s, d);
        let x = &mut self.directions[d];
        if x.recent.is_copy(s, fresh, round) {
            self.copied(s, d, cx);
            return;
        }
        x.seen = true;
        if s.time < self.last {
            x.counts.time_back += 1;
        }
        if s.options_cut {
            x.counts.options_cut += 1;
        }
        if s.has(flags::SYN) {
            self.syn(s, d, cx);
            self.agree();
        }
        self.shake(s, d);
        if let Some((value, echo)) = s.options.timestamps {
            self.directions[d].stamps.passed(value, s.time);
            if s.has(flags::ACK) {
                if let Some(ns) = self.directions[e].stamps.echoed(echo, s.time) {
                    self.directions[d].up.lower(ns);
                    self.record(cx, s.time, e, Metric::RttTs, ns as f64 * 1e-9);
                }
            }
        }
        if cx.rule == RttRule::Sender {
            self.time_handshake(s, d, cx);
        }
        if !s.has(flags::RST) {
            if s.has(flags::ACK) {
                self.acknowledgment(s, d, cx);
            }
            self.data(s, d, cx);
        } else {
            self.reset.get_or_insert(d as u8);
            self.closed = true;
        }
        self.closed |= self.directions.iter().all(|x| x.ending.fin.is_some());
        self.last = self.last.max(s.time);
    }

    /// A copy counts, and is nothing else.
    pub fn copied<S: Sink>(&mut self, s: &Segment, d: usize, cx: &mut Context<S>) {
        self.directions[d].counts.duplicate_packets += 1;
        let seq = unwrapped(s.seq, self.directions[d].max);
        self.tell(cx, s, d, Happening::DuplicatePacket, seq, u64::from(s.length));
    }

    fn strays(&self, s: &Segment, d: usize) -> bool {
        let far = |low: u32, x: &Direction| {
            let off = low.wrapping_sub(x.max as u32) as i32;
            x.known && off.unsigned_abs() > STRAY
        };
        !s.has(flags::SYN) && far(s.seq, &self.directions[d])
            || s.has(flags::ACK) && far(s.ack, &self.directions[1 - d])
    }

    /// Whether it moves on what was sent or acknowledged, so that it cannot be a copy.
    #[inline]
    fn is_fresh(&self, s: &Segment, d: usize) -> bool {
        let (x, y) = (&self.directions[d], &self.directions[1 - d]);
        !x.seen
            || !x.known
            || s.length > 0 && unwrapped(s.seq, x.max) + u64::from(s.length) > x.max
            || s.has(flags::ACK)
                && y.known
                && unwrapped(s.ack, y.max) > y.pieces.una().max(y.ending.fin.map_or(0, |fin| fin + 1))
    }

    /// Joins old pieces where there are too many.
    pub fn confine(&mut self, d: usize) {
        let one_sided = !self.directions[1 - d].seen;
        let x = &mut self.directions[d];
        x.pieces.confine(MOST_PIECES[usize::from(one_sided)]);
    }

    /// What limits direction `d`, to the series.
    pub fn record_limit<S: Sink>(&self, cx: &mut Context<S>, time: i64, d: usize, limit: Limit) {
        self.record(cx, time, d, Metric::Limit, f64::from(limit as u8));
    }
}
