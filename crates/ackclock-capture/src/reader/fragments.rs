//! Packets that were sent in fragments: the first has the TCP header, the others complete its length.
//!
//! A first fragment waits for the others, as captures have them one behind the other, and the segment is told of with the
//! last of them, as a receiver would. If they do not come (capture filters by port let only the first through) it is told of
//! with what it has; what comes later is then told of as more data of the same segment.

use crate::analysis::Segment;
use ackclock_core::packet::Address;
use ackclock_core::packet::wire::Fragment;

/// Packets whose fragments are remembered.
pub const MOST: usize = 1024;
/// For how long the first waits.
const WAIT: i64 = 50_000_000;
/// For how long others are of the same packet (RFC 791 has at most this).
const LIFE: i64 = 15_000_000_000;
/// After so many that waited in vain, one behind the other, none waits any more.
const MOST_VAIN: u32 = 8;

/// What is the same in all fragments of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Sender and receiver.
    pub ends: (Address, Address),
    /// The identification.
    pub id: u32,
    /// Interface and tags.
    pub place: (u32, u32),
}

#[derive(Clone, Debug)]
struct Entry {
    of: Whole,
    since: i64,
    /// The segment, with the length of the first fragment, and bytes of its TCP header.
    first: Option<(Segment, u32)>,
    /// Bytes of fragments so far, and of all of them.
    have: u32,
    end: Option<u32>,
    told: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Nothing yet.
    Not,
    /// The first fragment.
    First,
    /// All: what comes is a copy.
    All,
}

/// The packets of which fragments have come.
#[derive(Debug)]
pub struct Fragments {
    entries: Vec<Entry>,
    /// Digests of whole packets, for finding them.
    digests: Vec<u64>,
    /// The place that is used next.
    next: usize,
    /// When the next one has waited long enough.
    deadline: i64,
    vain: u32,
    /// Segments that waited long enough.
    pub late: Vec<Segment>,
}

impl Default for Fragments {
    fn default() -> Fragments {
        Fragments { entries: Vec::new(), digests: Vec::new(), next: 0, deadline: i64::MAX, vain: 0, late: Vec::new() }
    }
}

fn digest(of: &Whole) -> u64 {
    let mut state = u64::from(of.id) << 32 | u64::from(of.place.0) ^ u64::from(of.place.1) << 7;
    for octet in of.ends.0.octets().iter().chain(of.ends.1.octets()) {
        state = (state ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    state
}

impl Fragments {
    /// Tells of what has waited long enough at `now`.
    #[inline]
    pub fn pass(&mut self, now: i64) {
        if now > self.deadline {
            self.release(now);
        }
    }

    #[cold]
    fn release(&mut self, now: i64) {
        self.deadline = i64::MAX;
        for at in 0..self.entries.len() {
            if self.entries[at].told == Told::Not && self.entries[at].first.is_some() {
                let until = self.entries[at].since.saturating_add(WAIT);
                if now > until {
                    self.tell_first(at);
                } else {
                    self.deadline = self.deadline.min(until);
                }
            }
        }
    }

    /// Tells of everything that waits.
    pub fn finish(&mut self) {
        self.release(i64::MAX);
    }

    fn tell_first(&mut self, at: usize) {
        let Some(entry) = self.entries.get_mut(at) else { return };
        if let (Told::Not, Some((segment, _))) = (entry.told, &entry.first) {
            self.late.push(segment.clone());
            entry.told = Told::First;
            self.vain = self.vain.saturating_add(1);
        }
    }

    /// The place of a packet: its own, or that of the oldest.
    fn entry(&mut self, of: Whole, now: i64) -> usize {
        let digest = digest(&of);
        let same = |at: &usize| self.digests[*at] == digest && self.entries[*at].of == of;
        if let Some(at) = (0..self.entries.len()).find(same) {
            if (0..=LIFE).contains(&now.saturating_sub(self.entries[at].since)) {
                return at;
            }
            self.tell_first(at);
            self.entries[at] = Entry::new(of, now);
            return at;
        }
        let at = self.next;
        self.next = (self.next + 1) % MOST;
        if at < self.entries.len() {
            self.tell_first(at);
            (self.entries[at], self.digests[at]) = (Entry::new(of, now), digest);
        } else {
            self.entries.push(Entry::new(of, now));
            self.digests.push(digest);
        }
        at
    }

    /// Takes the fragment that has the TCP header, which is `header` bytes: whether `s` is now to be told of.
    pub fn first(&mut self, of: Whole, header: u32, s: &mut Segment) -> bool {
        let at = self.entry(of, s.time);
        let entry = &mut self.entries[at];
        if entry.first.is_some() {
            return false;
        }
        entry.first = Some((s.clone(), header));
        entry.have = entry.have.saturating_add(header.saturating_add(s.length));
        if entry.complete(s) {
            return true;
        }
        if self.vain >= MOST_VAIN {
            entry.told = Told::First;
            return true;
        }
        self.deadline = self.deadline.min(s.time.saturating_add(WAIT));
        false
    }

    /// Takes another one, of `length` bytes: whether `s`, which is written then but for time and number, is now to be told of.
    pub fn later(&mut self, of: Whole, fragment: &Fragment, length: u32, now: i64, s: &mut Segment) -> bool {
        let at = self.entry(of, now);
        self.vain = 0;
        let entry = &mut self.entries[at];
        entry.have = entry.have.saturating_add(length);
        if !fragment.more {
            entry.end = Some(fragment.offset.saturating_add(length));
        }
        let Some((first, header)) = &entry.first else { return false };
        if entry.told == Told::First {
            let (time, number) = (s.time, s.number);
            s.clone_from(first);
            (s.time, s.number, s.length) = (time, number, length);
            s.seq = s.seq.wrapping_add(fragment.offset.saturating_sub(*header));
            return length > 0;
        }
        entry.complete(s)
    }
}

impl Entry {
    fn new(of: Whole, since: i64) -> Entry {
        Entry { of, since, first: None, have: 0, end: None, told: Told::Not }
    }

    /// Whether the packet has just become whole; it is then written to `s`, which keeps its time and number.
    fn complete(&mut self, s: &mut Segment) -> bool {
        let (Told::Not, Some((first, header)), Some(end)) = (self.told, &self.first, self.end) else { return false };
        if self.have < end {
            return false;
        }
        let (time, number) = (s.time, s.number);
        s.clone_from(first);
        (s.time, s.number, s.length) = (time, number, end.saturating_sub(*header).max(first.length));
        self.told = Told::All;
        true
    }
}
