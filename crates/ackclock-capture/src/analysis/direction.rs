//! One direction of a connection: the data that X sends, as they pass P, and what Y acknowledges of them.

use super::counts::{Counts, Volume};
use super::limits::Limits;
use super::moment::Moment;
use super::pieces::{Kind, NEVER, Pieces};
use super::ranges::Ranges;
use super::recent::Recent;
use super::repairs::{Episode, Open, Repairs};
use super::rtt::{Rtt, Stamps};
use super::segment_size::SegmentSize;

/// Numbers of 64 bits leave room below them.
pub(super) const ABOVE: u64 = 1 << 33;
/// Room of a queue that the next connection at the same place gets.
pub(super) const KEPT: usize = 16;

/// What the SYN of this direction offered.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Initial sequence number.
    pub isn: u32,
    /// Largest segment it takes.
    pub mss: Option<u16>,
    /// Its window scale, at most 14.
    pub scale: Option<u8>,
    /// Whether the capture cut its options off before there was a window scale.
    pub cut: bool,
    /// Whether it offers SACK.
    pub sack: bool,
    /// Whether it offers timestamps.
    pub timestamps: bool,
    /// Whether ECE and CWR are set as RFC 3168 asks, or AE too.
    pub ecn: bool,
}

/// Everything about one direction.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// What its SYN offered; none while that was not seen.
    pub offer: Option<Offer>,
    /// Whether any packet has passed, and any with data.
    pub seen: bool,
    /// Whether data have passed.
    pub data: bool,
    /// Whether `max` is known.
    pub known: bool,
    /// Whether `window` is known.
    pub window_known: bool,
    /// Whether it is known which tags its packets have.
    pub tagged: bool,
    /// Whether SACK blocks were seen at all.
    pub blocks: bool,
    /// Whether something was retransmitted since una moved.
    pub repaired: bool,
    /// Whether data have been acknowledged: what is sent before that is the initial window.
    pub initial_over: bool,
    /// Latest window of the other end, scaled as far as that is known: at most 2^30.
    pub window: u32,
    /// Duplicate acknowledgments since una moved.
    pub dups: u32,
    /// First byte of data; for `seq` of events.
    pub origin: u64,
    /// End of the highest byte seen.
    pub max: u64,
    /// Highest acknowledgment plus window ever.
    pub edge: u64,
    /// When the other end acknowledged last, with news or without, ns.
    pub answered: i64,
    /// When something passed last after which a sender sets its timers or sends: its data, or an acknowledgment with news.
    pub stirred: i64,
    /// When the flight changed last, ns.
    pub changed: i64,
    /// Round trip of P-X-P, the smallest, ns.
    pub up: Moment,
    /// Everything from the highest acknowledgment on.
    pub pieces: Pieces,
    /// Its last packets.
    pub recent: Recent,
    /// Its timestamps on their way.
    pub stamps: Stamps,
    /// What was counted.
    pub counts: Counts,
    /// Round trips to the other end.
    pub rtt: Rtt,
    /// What only data need.
    pub sending: Sending,
    /// What only losses need, and closed windows.
    pub loss: Loss,
    /// What FIN brings.
    pub ending: Ending,
}

/// What only a direction with data has.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The account of who limits.
    pub limits: Limits,
    /// Rounds: where this one ends, its largest pipe, begin of the plateau, its pipe.
    pub rounds: Rounds,
    /// How much passed.
    pub volume: Volume,
    /// When the latest segment passed that is known to have arrived, ns (RFC 8985 §6.2, step 2).
    pub arrived: i64,
    /// When data passed last that had not been acknowledged, ns.
    pub last_data: i64,
    /// What its segments tell of the size that it fills.
    pub size: SegmentSize,
}

impl Default for Sending {
    fn default() -> Sending {
        Sending {
            limits: Limits::NONE,
            rounds: Rounds::NONE,
            volume: Volume::NONE,
            arrived: 0,
            last_data: 0,
            size: SegmentSize::NONE,
        }
    }
}

/// Losses, what repairs them, and windows that close.
#[derive(Clone, Debug, Default)]
pub struct Loss {
    /// What SACK blocks have reported.
    pub sacked: Ranges,
    /// The open episode.
    pub episode: Episode,
    /// Retransmissions.
    pub repairs: Repairs,
    /// Since when the window is closed.
    pub closed_since: Option<i64>,
    /// Bytes of a probe of a closed window that may have been taken.
    pub probed: u64,
    /// Since when the first byte out, sent again, has been overtaken by what was sent later, ns.
    pub overtaken: Option<i64>,
}

/// How it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ending {
    /// Where the stream ends.
    pub fin: Option<u64>,
    /// Whether FIN was acknowledged.
    pub acked: bool,
    /// Whether a SACK block has covered it.
    pub sacked: bool,
    /// When a FIN without data passed, and whether it did so once.
    pub bare: Option<(i64, bool)>,
    /// When all of it was acknowledged, and when the last of it passed, ns.
    pub done: Option<(i64, i64)>,
}

/// Rounds of the sender, for the estimate of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// The round is over when this is acknowledged.
    pub end: u64,
    /// Largest pipe in it while the network limited.
    pub largest: u64,
    /// Since when the pipe is the same, and what it is.
    pub level: (Moment, u64),
    /// Before the first acknowledgment of data: bytes, segments, length of the last segment.
    pub initial: (u64, u64, u32),
    /// Whether the plateau was told.
    pub told: bool,
}

impl Rounds {
    pub(super) const NONE: Rounds =
        Rounds { end: 0, largest: 0, level: (Moment::NEVER, 0), initial: (0, 0, 0), told: false };
}

impl Direction {
    /// Bytes out.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.max.saturating_sub(self.pieces.una())
    }

    /// Whether anything is out: data, or FIN.
    #[inline]
    pub fn is_out(&self) -> bool {
        self.in_flight() > 0 || self.ending.fin.is_some() && !self.ending.acked
    }

    /// Bytes out that no SACK block has covered.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.in_flight().saturating_sub(self.loss.sacked.bytes())
    }

    /// When the byte `seq`, which is out, passed last, and whether as a retransmission. Of what did not pass: never.
    pub fn passed_last(&self, seq: u64) -> (i64, bool) {
        let mut last = (i64::MAX, false);
        self.pieces.within(seq, seq + 1, |_, piece| {
            if piece.kind == Kind::Seen {
                last = (piece.sent, piece.rtx != NEVER);
            }
        });
        last
    }

    /// Whether acknowledgments tell that `start..end` is lost: of what was sent later some has come.
    pub fn is_lost(&self, start: u64, end: u64) -> bool {
        self.loss.sacked.end() > end || self.passed_last(start).0 < self.sending.arrived
    }

    /// An acknowledgment has passed at `time`; `moved`: what is out begins with another byte now.
    pub fn look_at_first(&mut self, time: i64, moved: bool) {
        if self.loss.episode.open == Open::No {
            return;
        }
        let (sent, repaired) = self.passed_last(self.pieces.una());
        let before = self.loss.overtaken.filter(|_| !moved);
        self.loss.overtaken = (repaired && sent <= self.sending.arrived).then_some(before.unwrap_or(time));
    }

    /// An episode is over, all of it is acknowledged. What it sent again of data behind its end is still out: then a sender
    /// recovers on, up to what is out now.
    pub fn recover_further(&mut self) {
        let (before, una) = (self.loss.episode.number, self.pieces.una());
        let mut next = self.loss.episode;
        next.begin(Open::Fast, self.max);
        next.repairs.0 = self.loss.repairs.carry(before, next.number, una);
        if next.repairs.0 > 0 {
            self.loss.episode = next;
            self.counts.recoveries += 1;
        }
    }

    /// The stream stands at `seq`, as a number in 64 bits that leaves room below it.
    pub fn stand_at(&mut self, seq: u32) {
        let at = u64::from(seq) + ABOVE;
        (self.max, self.origin, self.edge, self.known) = (at, at, at, true);
        self.pieces.restart(at);
    }

    /// Number of a byte from the begin of the stream, 1 being the first of the data.
    #[inline]
    pub fn relative(&self, seq: u64) -> i64 {
        seq.wrapping_sub(self.origin) as i64 + 1
    }

    /// Segments of so many bytes.
    #[inline]
    pub fn segments(&self, bytes: u64, mss: u32) -> u64 {
        if bytes <= u64::from(mss) { 1 } else { bytes.div_ceil(u64::from(mss.max(1))) }
    }

    /// Takes down how much is out: after every change.
    #[inline]
    pub fn weigh(&mut self, time: i64, flight_before: u64) {
        let passed = time - self.changed;
        if flight_before > 0 && passed > 0 {
            let flight = &mut self.sending.volume.flight;
            flight.0 += flight_before as f64 * passed as f64;
            flight.1 += passed;
        }
        self.changed = self.changed.max(time);
        let flight = self.in_flight();
        if flight > self.sending.volume.max_in_flight {
            self.sending.volume.max_in_flight = flight;
        }
    }

    /// Nothing is known of it any more; the room of its short queues is left for the next one.
    pub fn renew(&mut self) {
        let mut left = std::mem::take(self);
        left.recent.clear(KEPT);
        left.stamps.clear(KEPT);
        left.pieces.clear(KEPT);
        left.rtt.clear();
        left.loss.sacked.clear(KEPT);
        left.loss.repairs.clear(KEPT);
        left.sending.limits.clear(KEPT);
        let Direction { recent, stamps, pieces, rtt, sending: Sending { limits, .. }, loss, .. } = left;
        let Loss { sacked, repairs, .. } = loss;
        let sending = Sending { limits, ..Sending::default() };
        let loss = Loss { sacked, repairs, ..Loss::default() };
        *self = Direction { recent, stamps, pieces, rtt, sending, loss, ..Direction::default() };
    }

    /// The connection is closed: little more will pass.
    pub fn shrink(&mut self) {
        self.pieces.shrink(KEPT);
        self.recent.shrink(KEPT);
        self.stamps.shrink(KEPT);
        self.rtt.shrink();
        self.sending.limits.shrink(KEPT);
    }
}
