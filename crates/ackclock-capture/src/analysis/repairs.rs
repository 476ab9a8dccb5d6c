//! Retransmissions that may turn out needless, and the episodes they belong to.

use super::packing::Coder;
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
    /// Whether acknowledgments had told that it was needed.
    pub evident: bool,
    /// Whether it began its episode.
    pub opened: bool,
    /// Whether an acknowledgment has covered it.
    pub settled: bool,
    /// Whether it is needless.
    pub needless: bool,
    /// Whether its sender can know that.
    pub told: bool,
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
            evident: false,
            opened: false,
            settled: false,
            needless: false,
            told: false,
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
    /// Calls `needless` with those of which their sender did not know it, as they were.
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
            if !repair.told {
                needless(repair);
                (repair.needless, repair.told) = (true, true);
            }
            if repair.start <= low {
                low = repair.end;
            } else if repair.end >= high {
                high = repair.start;
            }
        }
    }

    /// All of it; `una` and `last` are near. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, una: u64, last: i64) {
        let Repairs { of, first } = self;
        let mut count = of.len() as u64;
        c.word(&mut count);
        c.int(first);
        if C::READS {
            of.clear();
            of.resize(count as usize, Repair::new(0, 0, 0, 0, Cause::Unknown));
        }
        let mut before = (una, last, 0);
        for repair in of {
            let Repair {
                start,
                end,
                time,
                number,
                tsval,
                segments,
                episode,
                cause,
                evident,
                opened,
                settled,
                needless,
                told,
                reported,
            } = repair;
            c.near(start, before.0);
            c.near(end, *start);
            c.time(time, before.1);
            c.near(number, before.2);
            c.maybe(tsval);
            c.int(segments);
            c.int(episode);
            c.choice(cause, [Cause::Rto, Cause::RtoRecovery, Cause::Tlp, Cause::Fast, Cause::Unknown]);
            before = (*start, *time, *number);
            c.flags([evident, opened, settled, needless, told, reported]);
        }
    }

    /// Whether there never was one.
    pub fn is_blank(&self) -> bool {
        self.of.is_empty() && self.first == 0
    }

    /// Forgets all; the room of many is given back.
    pub fn clear(&mut self, kept: usize) {
        self.first = 0;
        self.of.clear();
        if self.of.capacity() > kept {
            self.of = VecDeque::new();
        }
    }

    /// How many of episode `from` above `una` nothing has covered yet; they go on in episode `to`.
    pub fn carry(&mut self, from: u32, to: u32, una: u64) -> u32 {
        let mut carried = 0;
        for repair in self.of.iter_mut().rev().take_while(|r| r.episode == from) {
            if repair.end > una && repair.evident && !repair.settled {
                repair.episode = to;
                carried += 1;
            }
        }
        carried
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Episode {
    /// Whether one is open.
    pub open: Open,
    /// It ends when this is acknowledged.
    pub end: u64,
    /// Its number.
    pub number: u32,
    /// Retransmissions in it, and the needless ones among them.
    pub repairs: (u32, u32),
    /// A timeout within a fast recovery goes on with it.
    pub within: bool,
    /// When the last timeout was, ns.
    pub timed_out: i64,
    /// Since then data have been covered that were sent once, before it: not all was lost (RFC 5682 §2.1, step 3b).
    pub survived: bool,
    /// What was sent before, ns, was taken for lost at the timeout: a round trip had passed.
    pub given_up: i64,
}

impl Episode {
    /// All of it; `una` and `last` are near. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, una: u64, last: i64) {
        let Episode { open, end, number, repairs, within, timed_out, survived, given_up } = self;
        c.choice(open, [Open::No, Open::Fast, Open::Rto]);
        c.flags([within, survived]);
        c.near(end, una);
        c.int(number);
        c.int(&mut repairs.0);
        c.int(&mut repairs.1);
        c.time(timed_out, last);
        c.time(given_up, last);
    }

    /// Opens one up to `end`.
    pub fn begin(&mut self, open: Open, end: u64) {
        *self = Episode { open, end, number: self.number.wrapping_add(1).max(1), ..Episode::default() };
    }

    /// A timeout at `time`, where a round trip takes `round`: an episode of its own, or what goes on of the one that is open, up to `end`.
    pub fn time_out(&mut self, end: u64, time: i64, round: i64) {
        match self.open {
            Open::No => self.begin(Open::Rto, end),
            Open::Fast => (self.open, self.end, self.within) = (Open::Rto, end, true),
            Open::Rto => self.end = end,
        }
        (self.timed_out, self.given_up, self.survived) = (time, time - round, false);
    }

    /// The sender learns that a retransmission was needless. What ends the episode is what makes it undo it: timestamps
    /// show that the timeout it began with was spurious (RFC 3522), or nothing in it was needed (RFC 3708).
    pub fn needless(&mut self, repair: &Repair, proof: Proof) {
        if self.open == Open::No || repair.episode != self.number {
            return;
        }
        self.repairs.1 += 1;
        let spurious = self.open == Open::Rto && repair.opened && !self.within && proof == Proof::Eifel;
        if spurious || self.repairs.1 >= self.repairs.0 {
            self.open = Open::No;
        }
    }

    /// `una` is acknowledged. True: that ends it.
    #[inline]
    pub fn acknowledged(&mut self, una: u64) -> bool {
        let over = self.open != Open::No && una >= self.end;
        if over {
            self.open = Open::No;
        }
        over
    }
}
