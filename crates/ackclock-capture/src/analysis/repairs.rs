//! Retransmissions that may turn out needless, and the episodes they belong to.

use std::collections::VecDeque;

/// Retransmissions that are remembered.
const REMEMBERED: usize = 1024;

/// Why a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The retransmission timer.
    Rto,
    /// Sent after a timeout, before everything outstanding then was acknowledged.
    RtoRecovery,
    /// A tail loss probe (RFC 8985 §7).
    Tlp,
    /// Duplicate acknowledgments or SACK.
    Fast,
    /// Nothing of these.
    Unknown,
}

impl Cause {
    /// As it is written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Rto => "rto",
            Cause::RtoRecovery => "rto_recovery",
            Cause::Tlp => "tlp",
            Cause::Fast => "fast",
            Cause::Unknown => "unknown",
        }
    }
}

/// What proves that a retransmission was needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// Its bytes had been acknowledged.
    Acked,
    /// A DSACK block (RFC 2883) overlaps it.
    Dsack,
    /// The first acknowledgment that covers it echoes an older timestamp (RFC 3522).
    Eifel,
    /// That acknowledgment came too early to be for it.
    Early,
}

impl Proof {
    /// As it is written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Proof::Acked => "acked",
            Proof::Dsack => "dsack",
            Proof::Eifel => "eifel",
            Proof::Early => "early",
        }
    }
}

/// One retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Repair {
    /// First byte.
    pub start: u64,
    /// Behind its last byte.
    pub end: u64,
    /// When it passed, ns.
    pub time: i64,
    /// Number of its packet.
    pub number: u64,
    /// Its timestamp value.
    pub tsval: Option<u32>,
    /// How many segments it counts.
    pub segments: u32,
    /// Number of the episode, 0 outside.
    pub episode: u32,
    /// Why it was sent.
    pub cause: Cause,
    /// Whether it began its episode.
    pub opened: bool,
    /// Whether an acknowledgment has covered it.
    pub settled: bool,
    /// Whether it is needless.
    pub needless: bool,
    reported: bool,
}

impl Repair {
    /// One that nothing is known of.
    pub fn new(start: u64, end: u64, time: i64, number: u64, cause: Cause) -> Repair {
        Repair {
            start,
            end,
            time,
            number,
            tsval: None,
            segments: 1,
            episode: 0,
            cause,
            opened: false,
            settled: false,
            needless: false,
            reported: false,
        }
    }
}

/// The latest retransmissions of a direction.
#[derive(Clone, Debug, Default)]
pub struct Repairs {
    of: VecDeque<Repair>,
    first: u32,
}

impl Repairs {
    /// Remembers one; the answer is its number.
    pub fn push(&mut self, repair: Repair) -> u32 {
        if self.of.len() >= REMEMBERED {
            self.of.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.of.push_back(repair);
        self.first.wrapping_add(self.of.len() as u32 - 1)
    }

    /// Number `id`, if it is remembered.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Repair> {
        self.of.get_mut(id.wrapping_sub(self.first) as usize)
    }

    /// A DSACK block: one copy of each of its bytes was needless, of several the latest that no block has told of yet.
    /// Calls `needless` with those of which it was not known.
    pub fn reported(&mut self, start: u64, end: u64, mut needless: impl FnMut(&Repair)) {
        let (mut low, mut high) = (start, end);
        for repair in self.of.iter_mut().rev() {
            if low >= high {
                break;
            }
            if repair.reported || repair.start >= high || repair.end <= low {
                continue;
            }
            repair.reported = true;
            if !repair.needless {
                repair.needless = true;
                needless(repair);
            }
            if repair.start <= low {
                low = repair.end;
            } else if repair.end >= high {
                high = repair.start;
            }
        }
    }
}

/// What kind of episode is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Open {
    /// None.
    #[default]
    No,
    /// A fast recovery.
    Fast,
    /// The recovery after a timeout.
    Rto,
}

/// The episode of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Episode {
    /// Whether one is open.
    pub open: Open,
    /// It ends when this is acknowledged.
    pub end: u64,
    /// Its number.
    pub number: u32,
    /// Retransmissions in it, and the needless ones among them.
    pub repairs: (u32, u32),
}

impl Episode {
    /// Opens one up to `end`.
    pub fn begin(&mut self, open: Open, end: u64) {
        *self = Episode { open, end, number: self.number.wrapping_add(1).max(1), repairs: (0, 0) };
    }

    /// A retransmission turned out needless.
    pub fn needless(&mut self, repair: &Repair) {
        if self.open == Open::No || repair.episode != self.number {
            return;
        }
        self.repairs.1 += 1;
        let over = match self.open {
            Open::Rto => repair.opened,
            _ => self.repairs.1 >= self.repairs.0,
        };
        if over {
            self.open = Open::No;
        }
    }

    /// `una` is acknowledged.
    #[inline]
    pub fn acknowledged(&mut self, una: u64) {
        if self.open != Open::No && una >= self.end {
            self.open = Open::No;
        }
    }
}
