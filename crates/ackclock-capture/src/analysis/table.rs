//! The connections that are open, and when they are over.

use super::connection::{Connection, Context, End, RttRule};
use super::index::{Index, Named};
use super::key::Key;
use super::segment::Segment;
use super::sink::Sink;
use ackclock_core::packet::wire::flags;
use std::collections::VecDeque;

const SECOND: i64 = 1_000_000_000;
/// A closed connection is kept for this long.
const LINGER: i64 = 5 * SECOND;
/// One without packets for this long.
const IDLE: i64 = 600 * SECOND;
/// Connections that are looked at per packet, so that no packet costs much.
const LOOKED_AT: usize = 4;
/// The key of whichever connection of its ends takes packets with other tags.
const ANY_TAGS: u32 = u32::MAX;

/// What is wanted, and how much may be kept.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Samples over time.
    pub series: bool,
    /// What happened.
    pub events: bool,
    /// Which round trip times.
    pub rule: RttRule,
    /// Packets of different interfaces may be of one connection.
    pub merge_interfaces: bool,
    /// Most connections that are open at a time.
    pub most_connections: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            series: false,
            events: false,
            rule: RttRule::Latest,
            merge_interfaces: false,
            most_connections: 131_072,
        }
    }
}

/// Analyses segments in the order of their file.
pub struct Analyzer<S> {
    /// Where results go.
    pub sink: S,
    settings: Settings,
    index: Index,
    /// Each open connection at its place.
    places: Places,
    free: Vec<u32>,
    /// Open connections with the time at which they are looked at, in the order of that; and of the closed.
    watch: VecDeque<(i64, u32, u64)>,
    closing: VecDeque<(i64, u32, u64)>,
    next: u64,
    /// Where the connection of the last segment is.
    last: u32,
    repairs: Vec<u32>,
    proved: Vec<super::repairs::Repair>,
}

struct Place {
    connection: Connection,
    /// Whether its direction 0 goes from the lower end to the higher one.
    forward: bool,
    key: Key,
    /// Where its other direction has other tags: the key of that.
    other: Option<Box<Key>>,
    closing: bool,
}

type Places = Vec<Option<Box<Place>>>;

/// Keys of a place: its own, the same without tags, and that of its other direction.
const OWN: u32 = 0;
const GENERAL: u32 = 1;
const OTHER: u32 = 2;

impl Place {
    /// The sender of direction 0, that of direction 1.
    fn ends(&self) -> [End; 2] {
        let [low, high] = self.key.ends();
        if self.forward {
            [low, high]
        } else {
            [high, low]
        }
    }

    /// Which direction a segment is of that goes from the lower end to the higher one, or not.
    #[inline]
    fn direction(&self, s: &Segment, forward: bool) -> usize {
        if self.key.is_of_one_end() {
            // Both ends are alike: tell them by what they send.
            return usize::from(self.connection.directions[1].known && near_second(&self.connection, s));
        }
        usize::from(forward != self.forward)
    }

    fn key(&self, which: u32) -> Option<Key> {
        match which {
            OWN => Some(self.key),
            GENERAL => Some(self.key.with_tags(ANY_TAGS)),
            _ => self.other.as_deref().copied(),
        }
    }
}

fn key(places: &Places, named: Named) -> Option<Key> {
    places.get(named.at() as usize)?.as_ref()?.key(named.which())
}

impl<S: Sink> Analyzer<S> {
    /// With nothing seen.
    pub fn new(sink: S, settings: Settings) -> Analyzer<S> {
        Analyzer {
            sink,
            settings,
            index: Index::default(),
            places: Vec::new(),
            free: Vec::new(),
            watch: VecDeque::new(),
            closing: VecDeque::new(),
            next: 0,
            last: 0,
            repairs: Vec::new(),
            proved: Vec::new(),
        }
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Connections that there were.
    pub fn connections(&self) -> u64 {
        self.next
    }

    /// Takes a segment.
    #[inline]
    pub fn take(&mut self, s: &Segment) {
        self.expire(s.time);
        let interface = if self.settings.merge_interfaces { 0 } else { s.interface };
        let (key, forward) = Key::of(s, interface);
        let found = match self.places.get(self.last as usize) {
            Some(Some(place)) if place.key == key => Some(self.last),
            _ => self.index.get(&key, |named| self::key(&self.places, named)),
        };
        let at = match found {
            Some(at) => at,
            None => match self.other_tags(s, &key) {
                Some(at) => at,
                None => return,
            },
        };
        let at = if s.has(flags::SYN) { self.reopened(s, at, &key) } else { at };
        self.last = at;
        self.pass(s, at, forward);
    }

    fn pass(&mut self, s: &Segment, at: u32, forward: bool) {
        let Settings { series, events, rule, .. } = self.settings;
        let Some(place) = self.places.get_mut(at as usize).and_then(Option::as_mut) else { return };
        let d = place.direction(s, forward);
        place.connection.directions[d].tags.get_or_insert(s.tags);
        let (repairs, proved) = (&mut self.repairs, &mut self.proved);
        let mut cx = Context { sink: &mut self.sink, series, events, rule, repairs, proved };
        place.connection.take(s, d, &mut cx);
        if !place.closing && place.connection.closed.is_some() {
            place.closing = true;
            self.closing.push_back((s.time, at, place.connection.number));
        }
    }

    /// No connection has packets with these tags. One of the same ends whose direction has others: the packet is a copy,
    /// or of another connection. Nothing: it was a copy.
    fn other_tags(&mut self, s: &Segment, key: &Key) -> Option<u32> {
        let general = key.with_tags(ANY_TAGS);
        let Some(at) = self.index.get(&general, |named| self::key(&self.places, named)) else {
            return Some(self.open_new(s, key));
        };
        let Settings { series, events, rule, .. } = self.settings;
        let Some(place) = self.places.get_mut(at as usize).and_then(Option::as_mut) else {
            return Some(self.open_new(s, key));
        };
        let d = place.direction(s, Key::of(s, s.interface).1);
        let c = &mut place.connection;
        if c.directions[d].tags.is_none() {
            if place.other.is_none() {
                place.other = Some(Box::new(*key));
                self.index.insert(key, Named::new(at, OTHER), |named| self::key(&self.places, named));
            }
            return Some(at);
        }
        let round = c.round(d);
        if c.directions[d].recent.is_copy_elsewhere(s, round) {
            let (repairs, proved) = (&mut self.repairs, &mut self.proved);
            let mut cx = Context { sink: &mut self.sink, series, events, rule, repairs, proved };
            c.copied(s, d, &mut cx);
            return None;
        }
        Some(self.open_new(s, key))
    }

    fn open_new(&mut self, s: &Segment, key: &Key) -> u32 {
        if self.open() >= self.settings.most_connections {
            self.evict();
        }
        let number = self.next;
        self.next += 1;
        let general = key.with_tags(ANY_TAGS);
        let place = Box::new(Place {
            connection: Connection::new(number, s),
            forward: Key::of(s, s.interface).1,
            key: *key,
            other: None,
            closing: false,
        });
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = Some(place);
                at
            }
            None => {
                self.places.push(Some(place));
                self.places.len() as u32 - 1
            }
        };
        for (key, which) in [(key, OWN), (&general, GENERAL)] {
            self.index.insert(key, Named::new(at, which), |named| self::key(&self.places, named));
        }
        self.watch.push_back((s.time, at, number));
        self.forget_gone();
        at
    }

    /// A SYN with another number than the known one opens a new connection between the same ends.
    fn reopened(&mut self, s: &Segment, at: u32, key: &Key) -> u32 {
        let Some(place) = self.places.get(at as usize).and_then(Option::as_ref) else { return at };
        let d = place.direction(s, Key::of(s, s.interface).1);
        let c = &place.connection;
        let (x, y) = (&c.directions[d], &c.directions[1 - d]);
        let answers = s.has(flags::ACK) && y.offer.as_ref().is_some_and(|o| o.isn.wrapping_add(1) == s.ack);
        let other = match &x.offer {
            Some(offer) => offer.isn != s.seq,
            None => x.seen,
        };
        if !other || answers {
            return at;
        }
        self.finish_at(at);
        self.open_new(s, key)
    }

    fn finish_at(&mut self, at: u32) {
        let Some(place) = self.places.get_mut(at as usize).and_then(Option::take) else { return };
        for which in [OWN, GENERAL, OTHER] {
            if let Some(key) = place.key(which) {
                self.index.remove(&key, Named::new(at, which));
            }
        }
        self.free.push(at);
        let ends = place.ends();
        self.sink.flows(place.connection.rows(ends));
    }

    fn is(&self, at: u32, number: u64) -> Option<&Place> {
        let place = self.places.get(at as usize)?.as_deref()?;
        (place.connection.number == number).then_some(place)
    }

    /// Connections that are over are watched no longer, as soon as they are most of those that are.
    fn forget_gone(&mut self) {
        if self.watch.len() > 2 * self.open() + LOOKED_AT {
            let mut watch = std::mem::take(&mut self.watch);
            watch.retain(|&(_, at, number)| self.is(at, number).is_some());
            self.watch = watch;
        }
    }

    /// Writes out what is over at `now`.
    #[inline]
    fn expire(&mut self, now: i64) {
        for _ in 0..LOOKED_AT {
            match self.closing.front() {
                Some(&(since, at, number)) if now - since > LINGER => {
                    self.closing.pop_front();
                    if self.is(at, number).is_some() {
                        self.finish_at(at);
                    }
                }
                _ => break,
            }
        }
        for _ in 0..LOOKED_AT {
            match self.watch.front() {
                Some(&(since, at, number)) if now - since > IDLE => {
                    self.watch.pop_front();
                    let Some(last) = self.is(at, number).map(|place| place.connection.last) else { continue };
                    if now - last > IDLE {
                        self.finish_at(at);
                    } else {
                        self.watch.push_back((last, at, number));
                    }
                }
                _ => break,
            }
        }
    }

    /// The table is full: the connection without packets for longest goes, as far as that is known without a search.
    fn evict(&mut self) {
        for _ in 0..self.watch.len() {
            let Some((since, at, number)) = self.watch.pop_front() else { return };
            let Some(last) = self.is(at, number).map(|place| place.connection.last) else { continue };
            if last > since {
                self.watch.push_back((last, at, number));
                continue;
            }
            return self.put_out(at);
        }
        // All had packets since they were looked at last.
        if let Some((_, at, _)) = self.watch.pop_front() {
            self.put_out(at);
        }
    }

    fn put_out(&mut self, at: u32) {
        if let Some(place) = self.places.get_mut(at as usize).and_then(Option::as_mut) {
            place.connection.evicted = true;
        }
        self.finish_at(at);
    }

    /// The end of the files: everything is written out, in the order of first packets. The answer is where it went.
    pub fn finish(mut self) -> S {
        let mut left: Vec<(u64, u32)> = Vec::new();
        for (at, place) in (0..).zip(&self.places) {
            left.extend(place.as_ref().map(|place| (place.connection.number, at)));
        }
        left.sort_unstable();
        for (_, at) in left {
            self.finish_at(at);
        }
        self.sink
    }
}

/// Of a connection of an end with itself: whether `s` continues the second direction rather than the first.
fn near_second(connection: &Connection, s: &Segment) -> bool {
    let off = |d: usize| (s.seq.wrapping_sub(connection.directions[d].max as u32) as i32).unsigned_abs();
    off(1) < off(0)
}
