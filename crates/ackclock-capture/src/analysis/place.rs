//! Where open connections are: in chunks that never move, so that room grows without a copy, and used again.

use super::connection::{Connection, End};
use super::key::Key;
use super::packing::{self, Reader, Writer};
use super::segment::Segment;
use std::mem::size_of;

/// The key of whichever connection of its ends takes packets with other tags.
pub const ANY_TAGS: u32 = u32::MAX;

/// Keys of a place: its own, the same without tags, and that of its other direction.
pub const OWN: u32 = 0;
/// See [`OWN`].
pub const GENERAL: u32 = 1;
/// See [`OWN`].
pub const OTHER: u32 = 2;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// An open connection, and by what it is found.
pub struct Place {
    /// Its ends and the tags of its first packet.
    pub key: Key,
    state: State,
    /// In the order in which they are looked at: when it came into that, what is before and behind it.
    since: i64,
    before: u32,
    behind: u32,
    /// Where its other direction has other tags: these; else [`ANY_TAGS`].
    pub other: u32,
    /// Whether its direction 0 goes from the lower end to the higher one.
    pub forward: bool,
    /// Whether it is closed, and waits for what may still come.
    pub closing: bool,
    open: bool,
    /// Whether it is in the list of those that are awake, and whether it had a packet since somebody looked.
    listed: bool,
    used: bool,
}

/// A connection takes packets as what it is, or waits for some in little memory.
enum State {
    Awake(Box<Connection>),
    Asleep(Box<[u8]>),
}

/// What a connection takes besides its bytes: there may be 100,000 of them.
const _: () = assert!(size_of::<Place>() <= 96);

impl Place {
    /// The sender of direction 0, that of direction 1.
    pub fn ends(&self) -> [End; 2] {
        let [low, high] = self.key.ends();
        if self.forward { [low, high] } else { [high, low] }
    }

    /// Its connection, if that is awake.
    #[inline]
    pub fn connection(&mut self) -> Option<&mut Connection> {
        match &mut self.state {
            State::Awake(connection) => Some(connection),
            State::Asleep(_) => None,
        }
    }

    /// Which direction a segment is of that goes from the lower end to the higher one, or not.
    #[inline]
    pub fn direction(&self, s: &Segment, forward: bool) -> usize {
        match &self.state {
            // Both ends are alike: tell them by what they send.
            State::Awake(connection) if self.key.is_of_one_end() => {
                usize::from(connection.directions[1].known && near_second(connection, s))
            }
            _ => usize::from(forward != self.forward),
        }
    }

    /// Which of its keys.
    pub fn key(&self, which: u32) -> Option<Key> {
        match which {
            OWN => Some(self.key),
            GENERAL => Some(self.key.with_tags(ANY_TAGS)),
            _ => (self.other != ANY_TAGS).then(|| self.key.with_tags(self.other)),
        }
    }

    /// Number of its connection.
    #[inline]
    pub fn number(&self) -> u64 {
        match &self.state {
            State::Awake(connection) => connection.number,
            State::Asleep(bytes) => packing::number(bytes),
        }
    }

    /// Latest time of a packet of it.
    #[inline]
    pub fn last(&self) -> i64 {
        match &self.state {
            State::Awake(connection) => connection.last,
            State::Asleep(bytes) => packing::last(bytes),
        }
    }

    /// Looks at each line of it in the cache, so that those are near soon. What it answers is of no use.
    pub fn touch(&self) -> u64 {
        match &self.state {
            State::Awake(connection) => connection.number,
            State::Asleep(bytes) => bytes.iter().step_by(64).fold(0, |sum, byte| sum ^ u64::from(*byte)),
        }
    }
}

/// Of a connection of an end with itself: whether `s` continues the second direction rather than the first.
fn near_second(connection: &Connection, s: &Segment) -> bool {
    let off = |d: usize| (s.seq.wrapping_sub(connection.directions[d].max as u32) as i32).unsigned_abs();
    off(1) < off(0)
}

/// Places of a chunk, as a power of two.
const CHUNK: u32 = 6;

/// Connections without a place that keep room for the next one.
const SPARE: usize = 256;

/// Connections that are awake for a short time.
const GUESTS: usize = 64;

/// Of those that are awake, how many are looked at for one that had no packet.
const LOOKED_AT: usize = 4;

/// All of them.
pub struct Places {
    chunks: Vec<Vec<Place>>,
    free: Vec<u32>,
    open: usize,
    first: u32,
    last: u32,
    /// Which are awake, at most how many of these; and which of them was looked at last, when another one was to sleep.
    awake: Vec<u32>,
    most_awake: usize,
    hand: usize,
    /// More of them, for a short time: those that have more packets in that stay awake instead of one that has none. So what
    /// is put to sleep and woken when there are many is always the same little memory.
    guests: Vec<u32>,
    next_guest: usize,
    #[allow(clippy::vec_box)] // They go into places as they are.
    spare: Vec<Box<Connection>>,
    writer: Writer,
    reader: Reader,
}

impl Places {
    /// None; of those to come so many are awake at a time.
    pub fn new(most_awake: usize) -> Places {
        Places {
            chunks: Vec::new(),
            free: Vec::new(),
            open: 0,
            first: NOWHERE,
            last: NOWHERE,
            awake: Vec::new(),
            most_awake: most_awake.max(1),
            hand: 0,
            guests: Vec::new(),
            next_guest: 0,
            spare: Vec::new(),
            writer: Writer::default(),
            reader: Reader::default(),
        }
    }

    /// How many are open.
    #[inline]
    pub fn open(&self) -> usize {
        self.open
    }

    /// That at `at`, if it is open.
    #[inline]
    pub fn get(&self, at: u32) -> Option<&Place> {
        let place = self.chunks.get((at >> CHUNK) as usize)?.get((at & ((1 << CHUNK) - 1)) as usize)?;
        place.open.then_some(place)
    }

    #[inline]
    fn place(&mut self, at: u32) -> Option<&mut Place> {
        self.chunks.get_mut((at >> CHUNK) as usize)?.get_mut((at & ((1 << CHUNK) - 1)) as usize)
    }

    /// The same, to be changed, with its connection awake.
    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut Place> {
        let place = self.place(at).filter(|place| place.open)?;
        if place.listed && matches!(place.state, State::Awake(_)) {
            place.used = true;
        } else {
            self.wake(at);
        }
        self.place(at)
    }

    /// From now on it is awake, and in the list of these.
    #[inline(never)]
    fn wake(&mut self, at: u32) {
        let listed = self.place(at).is_some_and(|place| place.listed);
        let mut room = if listed { None } else { self.list(at) };
        let Some(place) = self.chunks.get_mut((at >> CHUNK) as usize) else { return };
        let Some(place) = place.get_mut((at & ((1 << CHUNK) - 1)) as usize) else { return };
        if let State::Asleep(bytes) = &mut place.state {
            let bytes = std::mem::take(bytes);
            let mut connection = room.take().or_else(|| self.spare.pop()).unwrap_or_default();
            connection.unpack(&mut self.reader, &bytes);
            connection.room = bytes;
            place.state = State::Awake(connection);
        }
        self.keep(room);
    }

    /// Puts it into a list of those that are awake. Another one may have to leave that: the room of its connection.
    fn list(&mut self, at: u32) -> Option<Box<Connection>> {
        if let Some(place) = self.place(at) {
            (place.listed, place.used) = (true, false);
        }
        if self.awake.len() < self.most_awake {
            self.awake.push(at);
            return None;
        }
        let most = GUESTS.min(self.most_awake);
        self.next_guest = (self.next_guest + 1) % most;
        if self.guests.len() < most {
            self.guests.push(at);
            return None;
        }
        let guest = std::mem::replace(self.guests.get_mut(self.next_guest)?, at);
        if !self.place(guest).is_some_and(|place| std::mem::take(&mut place.used) && place.open) {
            return self.sleep(guest);
        }
        for _ in 0..LOOKED_AT {
            self.hand = if self.hand + 1 < self.awake.len() { self.hand + 1 } else { 0 };
            let other = *self.awake.get(self.hand)?;
            if !self.place(other).is_some_and(|place| std::mem::take(&mut place.used) && place.open) {
                *self.awake.get_mut(self.hand)? = guest;
                return self.sleep(other);
            }
        }
        self.sleep(guest)
    }

    /// What is there is no longer in the list. It is made small, unless that is too much work.
    fn sleep(&mut self, at: u32) -> Option<Box<Connection>> {
        let place = self.chunks.get_mut((at >> CHUNK) as usize)?.get_mut((at & ((1 << CHUNK) - 1)) as usize)?;
        place.listed = false;
        let State::Awake(connection) = &mut place.state else { return None };
        let before = std::mem::take(&mut connection.room);
        let bytes = connection.pack(&mut self.writer, before)?;
        match std::mem::replace(&mut place.state, State::Asleep(bytes)) {
            State::Awake(connection) => Some(connection),
            State::Asleep(_) => None,
        }
    }

    /// Room for the next one, unless there is enough.
    fn keep(&mut self, room: Option<Box<Connection>>) {
        if let Some(mut connection) = room.filter(|_| self.spare.len() < SPARE) {
            connection.clear();
            self.spare.push(connection);
        }
    }

    /// Opens one: where it is.
    pub fn open_new(&mut self, number: u64, s: &Segment, key: Key, forward: bool) -> u32 {
        self.open += 1;
        let at = self.free.pop().unwrap_or_else(|| self.add(key));
        let listed = self.place(at).is_some_and(|place| place.listed);
        let room = if listed { None } else { self.list(at) };
        let mut connection = match room {
            Some(mut connection) => {
                connection.clear();
                connection
            }
            None => self.spare.pop().unwrap_or_default(),
        };
        connection.renew(number, s);
        if let Some(place) = self.place(at) {
            place.state = State::Awake(connection);
            (place.key, place.other, place.forward) = (key, ANY_TAGS, forward);
            (place.closing, place.open, place.used) = (false, true, true);
        }
        self.watch(at, s.time);
        at
    }

    fn add(&mut self, key: Key) -> u32 {
        let place = Place {
            key,
            state: State::Asleep(Box::default()),
            since: 0,
            before: NOWHERE,
            behind: NOWHERE,
            other: ANY_TAGS,
            forward: false,
            closing: false,
            open: false,
            listed: false,
            used: false,
        };
        if self.chunks.last().is_none_or(|chunk| chunk.len() == 1 << CHUNK) {
            self.chunks.push(Vec::with_capacity(1 << CHUNK));
        }
        let chunk = (self.chunks.len() - 1) << CHUNK;
        self.chunks.last_mut().map_or(NOWHERE, |last| {
            last.push(place);
            (chunk + last.len() - 1) as u32
        })
    }

    /// The connection at `at` is over; `rows` is called with it and its ends.
    pub fn close(&mut self, at: u32, rows: impl FnOnce(&mut Connection, [End; 2])) {
        let Some(place) = self.place(at).filter(|place| place.open) else { return };
        let (state, ends) = (std::mem::replace(&mut place.state, State::Asleep(Box::default())), place.ends());
        place.open = false;
        let mut connection = match state {
            State::Awake(connection) => connection,
            State::Asleep(bytes) => {
                let mut connection = self.spare.pop().unwrap_or_default();
                connection.unpack(&mut self.reader, &bytes);
                connection
            }
        };
        rows(&mut connection, ends);
        self.keep(Some(connection));
        self.unwatch(at);
        self.open -= 1;
        self.free.push(at);
    }

    /// The one that is looked at next, and since when it waits for that.
    #[inline]
    pub fn first_watched(&self) -> Option<(u32, i64)> {
        self.get(self.first).map(|place| (self.first, place.since))
    }

    /// It is looked at after all others.
    pub fn watch(&mut self, at: u32, since: i64) {
        let last = std::mem::replace(&mut self.last, at);
        if let Some(place) = self.place(at) {
            (place.since, place.before, place.behind) = (since, last, NOWHERE);
        }
        match self.place(last) {
            Some(before) => before.behind = at,
            None => self.first = at,
        }
    }

    /// It is not looked at.
    pub fn unwatch(&mut self, at: u32) {
        let Some(place) = self.place(at) else { return };
        let (before, behind) = (place.before, place.behind);
        match self.place(before) {
            Some(before) => before.behind = behind,
            None => self.first = behind,
        }
        match self.place(behind) {
            Some(behind) => behind.before = before,
            None => self.last = before,
        }
    }

    /// All that are open, with where they are.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Place)> {
        let all = (0..).zip(self.chunks.iter().flatten());
        all.filter(|(_, place)| place.open)
    }
}
