//! The connections that are open, and when they are over.

use super::connection::{Context, RttRule};
use super::index::{Index, Named};
use super::key::Key;
use super::place::{ANY_TAGS, GENERAL, OTHER, OWN, Place, Places};
use super::segment::Segment;
use super::sink::Sink;
use ackclock_core::packet::wire::flags;
use std::collections::VecDeque;
use std::hint::black_box;

const SECOND: i64 = 1_000_000_000;
/// A closed connection is kept for this long.
const LINGER: i64 = 5 * SECOND;
/// One without packets for this long.
const IDLE: i64 = 600 * SECOND;
/// Connections that are looked at per packet, so that no packet costs much.
const LOOKED_AT: usize = 4;

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
    /// Of these, at most how many are kept as they are used: the others take less memory, and more time when they are.
    pub most_awake: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            series: false,
            events: false,
            rule: RttRule::Latest,
            merge_interfaces: false,
            most_connections: 131_072,
            most_awake: 2048,
        }
    }
}

/// Analyses segments in the order of their file.
pub struct Analyzer<S> {
    /// Where results go.
    pub sink: S,
    settings: Settings,
    index: Index,
    places: Places,
    /// The closed connections, and since when they are.
    closing: VecDeque<Closed>,
    next: u64,
    /// Where the connection of the last segment is.
    last: u32,
    repairs: Vec<u32>,
    proved: Vec<super::repairs::Repair>,
    sought: Vec<Sought>,
}

/// When a connection was closed, where it is, and the low half of its number: of the next one there it is another.
type Closed = (i64, u32, u32);

/// Segments that are taken together.
pub const TOGETHER: usize = 16;
/// Connections from which on the state of one is seldom near.
const MANY: usize = 8000;

/// Of a segment: its key, whether it goes from the lower end to the higher one, and where its connection may be.
struct Sought {
    key: Key,
    forward: bool,
    at: u32,
}

fn key(places: &Places, named: Named) -> Option<Key> {
    places.get(named.at())?.key(named.which())
}

impl<S: Sink> Analyzer<S> {
    /// With nothing seen.
    pub fn new(sink: S, settings: Settings) -> Analyzer<S> {
        Analyzer {
            sink,
            settings,
            index: Index::default(),
            places: Places::new(settings.most_awake),
            closing: VecDeque::new(),
            next: 0,
            last: 0,
            repairs: Vec::new(),
            proved: Vec::new(),
            sought: Vec::new(),
        }
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.places.open()
    }

    /// Connections that there were.
    pub fn connections(&self) -> u64 {
        self.next
    }

    /// Takes some segments, in their order; `before` is called with each before it is.
    ///
    /// Where there are many connections, the state of most is far away. It is asked for ahead and of all together, so that
    /// the segments wait for it once.
    #[inline]
    pub fn take_all(&mut self, segments: &[Segment], mut before: impl FnMut(&Segment)) {
        for segments in segments.chunks(TOGETHER) {
            let mut sought = std::mem::take(&mut self.sought);
            if self.places.open() > MANY {
                self.seek(segments, &mut sought);
            }
            for (n, s) in segments.iter().enumerate() {
                before(s);
                match sought.get(n) {
                    Some(of) => self.take_of(s, &of.key, of.forward, of.at),
                    None => self.take(s),
                }
            }
            sought.clear();
            self.sought = sought;
        }
    }

    #[inline(never)]
    fn seek(&self, segments: &[Segment], sought: &mut Vec<Sought>) {
        sought.extend(segments.iter().map(|s| {
            let (key, forward) = self.key(s);
            let at = self.index.get(&key, |named| self::key(&self.places, named)).unwrap_or(u32::MAX);
            Sought { key, forward, at }
        }));
        let places = || sought.iter().filter_map(|of| self.places.get(of.at));
        black_box(places().map(Place::touch).fold(0, u64::wrapping_add));
    }

    #[inline]
    fn key(&self, s: &Segment) -> (Key, bool) {
        Key::of(s, if self.settings.merge_interfaces { 0 } else { s.interface })
    }

    /// Takes a segment.
    #[inline]
    pub fn take(&mut self, s: &Segment) {
        let (key, forward) = self.key(s);
        self.take_of(s, &key, forward, self.last);
    }

    /// Takes a segment whose connection may be at `near`.
    #[inline]
    fn take_of(&mut self, s: &Segment, key: &Key, forward: bool, near: u32) {
        self.expire(s.time);
        let found = match self.places.get(near) {
            Some(place) if place.key == *key => Some(near),
            _ => self.index.get(key, |named| self::key(&self.places, named)),
        };
        let at = match found {
            Some(at) => at,
            None => match self.other_tags(s, key) {
                Some(at) => at,
                None => return,
            },
        };
        let at = if s.has(flags::SYN) { self.reopened(s, at, key) } else { at };
        self.last = at;
        self.pass(s, at, forward);
    }

    fn pass(&mut self, s: &Segment, at: u32, forward: bool) {
        let Settings { series, events, rule, .. } = self.settings;
        let Some(place) = self.places.get_mut(at) else { return };
        let (d, closing) = (place.direction(s, forward), place.closing);
        let Some(connection) = place.connection() else { return };
        connection.directions[d].tagged = true;
        let (repairs, proved) = (&mut self.repairs, &mut self.proved);
        let mut cx = Context { sink: &mut self.sink, series, events, rule, repairs, proved };
        connection.take(s, d, &mut cx);
        if !closing && connection.closed {
            connection.shrink();
            self.closing.push_back((s.time, at, connection.number as u32));
            place.closing = true;
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
        let Some(place) = self.places.get_mut(at) else {
            return Some(self.open_new(s, key));
        };
        let (d, alone) = (place.direction(s, Key::of(s, s.interface).1), place.other == ANY_TAGS);
        let Some(c) = place.connection() else { return Some(at) };
        if !c.directions[d].tagged {
            if alone {
                place.other = key.tags();
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
        let at = self.places.open_new(number, s, *key, Key::of(s, s.interface).1);
        for (key, which) in [(key, OWN), (&general, GENERAL)] {
            self.index.insert(key, Named::new(at, which), |named| self::key(&self.places, named));
        }
        at
    }

    /// A SYN with another number than the known one opens a new connection between the same ends.
    fn reopened(&mut self, s: &Segment, at: u32, key: &Key) -> u32 {
        let Some(place) = self.places.get_mut(at) else { return at };
        let d = place.direction(s, Key::of(s, s.interface).1);
        let Some(c) = place.connection() else { return at };
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
        let Some(place) = self.places.get(at) else { return };
        for which in [OWN, GENERAL, OTHER] {
            if let Some(key) = place.key(which) {
                self.index.remove(&key, Named::new(at, which));
            }
        }
        let sink = &mut self.sink;
        self.places.close(at, |connection, ends| sink.flows(connection.rows(ends)));
    }

    fn is(&self, at: u32, number: u32) -> Option<&Place> {
        let place = self.places.get(at)?;
        (place.number() as u32 == number).then_some(place)
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
            match self.places.first_watched() {
                Some((at, since)) if now - since > IDLE => {
                    let last = self.places.get(at).map_or(now, Place::last);
                    if now - last > IDLE {
                        self.finish_at(at);
                    } else {
                        self.places.unwatch(at);
                        self.places.watch(at, last);
                    }
                }
                _ => break,
            }
        }
    }

    /// The table is full: the connection without packets for longest goes, as far as that is known without a search.
    fn evict(&mut self) {
        for _ in 0..self.places.open() {
            let Some((at, since)) = self.places.first_watched() else { return };
            let last = self.places.get(at).map_or(since, Place::last);
            if last <= since {
                return self.put_out(at);
            }
            self.places.unwatch(at);
            self.places.watch(at, last);
        }
        // All had packets since they were looked at last.
        if let Some((at, _)) = self.places.first_watched() {
            self.put_out(at);
        }
    }

    fn put_out(&mut self, at: u32) {
        if let Some(connection) = self.places.get_mut(at).and_then(Place::connection) {
            connection.evicted = true;
        }
        self.finish_at(at);
    }

    /// The end of the files: everything is written out, in the order of first packets. The answer is where it went.
    pub fn finish(mut self) -> S {
        let mut left: Vec<_> = self.places.iter().map(|(at, place)| (place.number(), at)).collect();
        left.sort_unstable();
        for (_, at) in left {
            self.finish_at(at);
        }
        self.sink
    }
}
