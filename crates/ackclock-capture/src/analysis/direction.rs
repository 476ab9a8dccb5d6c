//! One direction of a connection: the data that X sends, as they pass P, and what Y acknowledges of them.

use super::counts::Counts;
use super::limits::Limits;
use super::pieces::{Kind, Pieces, NEVER};
use super::ranges::Ranges;
use super::recent::Recent;
use super::repairs::{Episode, Open, Repairs};
use super::rtt::{Rtt, Stamps};
use super::seldom::{Blank, Seldom};

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
    /// First byte of data; for `seq` of events.
    pub origin: u64,
    /// End of the highest byte seen.
    pub max: u64,
    /// Highest acknowledgment plus window ever.
    pub edge: u64,
    /// Latest window of the other end, scaled as far as that is known.
    pub window: u64,
    /// Whether it is known.
    pub window_known: bool,
    /// Where the stream ends, and whether that is acknowledged.
    pub fin: Option<u64>,
    /// Whether FIN was acknowledged.
    pub fin_acked: bool,
    /// When a FIN without data passed, and whether it did so once.
    pub bare_fin: Option<(i64, bool)>,
    /// Whether a SACK block has covered it.
    pub fin_sacked: bool,
    /// When all of it was acknowledged, and when the last of it passed, ns.
    pub done: Option<(i64, i64)>,
    /// When the latest segment passed that is known to have arrived, ns (RFC 8985 §6.2, step 2).
    pub arrived: i64,
    /// When the other end acknowledged last, with news or without, ns.
    pub answered: i64,
    /// When something passed last after which a sender sets its timers or sends: its data, or an acknowledgment with news.
    pub stirred: i64,
    /// When data passed last that had not been acknowledged, ns.
    pub last_data: i64,
    /// Digest of the tags of its packets; `None` before the first.
    pub tags: Option<u32>,
    /// Everything from the highest acknowledgment on.
    pub pieces: Pieces,
    /// What SACK blocks have reported.
    pub sacked: Seldom<Ranges>,
    /// Whether blocks were seen at all.
    pub blocks: bool,
    /// Duplicate acknowledgments since una moved.
    pub dups: u32,
    /// Whether something was retransmitted since una moved.
    pub repaired: bool,
    /// The open episode.
    pub episode: Episode,
    /// Retransmissions.
    pub repairs: Seldom<Repairs>,
    /// Its last packets.
    pub recent: Recent,
    /// Round trips to the other end.
    pub rtt: Seldom<Rtt>,
    /// Those that the sender takes, where these are wanted.
    pub as_sender: Option<Box<Rtt>>,
    /// Round trip of P-X-P, the smallest, ns.
    pub up: Option<i64>,
    /// Its timestamps on their way.
    pub stamps: Stamps,
    /// Largest segment seen that is no super-packet.
    pub largest: u32,
    /// Whether data have been acknowledged: what is sent before that is the initial window.
    pub initial_over: bool,
    /// When the flight changed last, ns.
    pub changed: i64,
    /// The account of who limits, from the first data on.
    pub limits: Seldom<Limits>,
    /// What most never come to.
    pub odd: Seldom<Odd>,
    /// Rounds: where this one ends, its largest pipe, whether it lost, begin of the plateau, its pipe.
    pub rounds: Seldom<Rounds>,
    /// What was counted.
    pub counts: Counts,
}

/// A window that closes, and a recovery that waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Odd {
    /// Since when it is closed.
    pub closed_since: Option<i64>,
    /// Bytes of a probe of a closed window that may have been taken.
    pub probed: u64,
    /// Since when the first byte out, sent again, has been overtaken by what was sent later, ns.
    pub overtaken: Option<i64>,
}

impl Blank for Odd {
    const BLANK: &'static Odd = &Odd { closed_since: None, probed: 0, overtaken: None };
}

/// Rounds of the sender, for the estimate of the congestion window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// The round is over when this is acknowledged.
    pub end: u64,
    /// Largest pipe in it while the network limited.
    pub largest: u64,
    /// Since when the pipe is the same, and what it is.
    pub level: Option<(i64, u64)>,
    /// Whether that was told.
    pub told: bool,
    /// Before the first acknowledgment of data: bytes, segments, length of the last segment.
    pub initial: (u64, u64, u32),
}

impl Blank for Rounds {
    const BLANK: &'static Rounds = &Rounds { end: 0, largest: 0, level: None, told: false, initial: (0, 0, 0) };
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
        self.in_flight() > 0 || self.fin.is_some() && !self.fin_acked
    }

    /// Bytes out that no SACK block has covered.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.in_flight().saturating_sub(self.sacked.bytes())
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
        self.sacked.end() > end || self.passed_last(start).0 < self.arrived
    }

    /// An acknowledgment has passed at `time`; `moved`: what is out begins with another byte now.
    pub fn look_at_first(&mut self, time: i64, moved: bool) {
        if self.episode.open == Open::No {
            return;
        }
        let (sent, repaired) = self.passed_last(self.pieces.una());
        let before = self.odd.overtaken.filter(|_| !moved);
        self.odd.overtaken = (repaired && sent <= self.arrived).then_some(before.unwrap_or(time));
    }

    /// An episode is over, all of it is acknowledged. What it sent again of data behind its end is still out: then a sender
    /// recovers on, up to what is out now.
    pub fn recover_further(&mut self) {
        let (before, una) = (self.episode.number, self.pieces.una());
        let mut next = self.episode;
        next.begin(Open::Fast, self.max);
        next.repairs.0 = self.repairs.carry(before, next.number, una);
        if next.repairs.0 > 0 {
            self.episode = next;
            self.counts.recoveries += 1;
        }
    }

    /// The stream stands at `seq`, as a number in 64 bits that leaves room below it.
    pub fn stand_at(&mut self, seq: u32) {
        let at = u64::from(seq) + (1 << 33);
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
        if bytes <= u64::from(mss) {
            1
        } else {
            bytes.div_ceil(u64::from(mss.max(1)))
        }
    }

    /// Takes down how much is out: after every change.
    #[inline]
    pub fn weigh(&mut self, time: i64, flight_before: u64) {
        let passed = time - self.changed;
        if flight_before > 0 && passed > 0 {
            self.counts.flight.0 += flight_before as f64 * passed as f64;
            self.counts.flight.1 += passed;
        }
        self.changed = self.changed.max(time);
        self.counts.max_in_flight = self.counts.max_in_flight.max(self.in_flight());
    }
}
