//! Where open connections are: in chunks that never move, so that room grows without a copy, and used again.

use super::connection::{Connection, End};
use super::key::Key;
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

/// An open connection, and by what it is found.
pub struct Place {
    /// The connection.
    pub connection: Connection,
    /// Its ends and the tags of its first packet.
    pub key: Key,
    /// Where its other direction has other tags: the key of that.
    pub other: Option<Box<Key>>,
    /// Whether its direction 0 goes from the lower end to the higher one.
    pub forward: bool,
    /// Whether it is closed, and waits for what may still come.
    pub closing: bool,
    open: bool,
}

impl Place {
    /// The sender of direction 0, that of direction 1.
    pub fn ends(&self) -> [End; 2] {
        let [low, high] = self.key.ends();
        if self.forward {
            [low, high]
        } else {
            [high, low]
        }
    }

    /// Which direction a segment is of that goes from the lower end to the higher one, or not.
    #[inline]
    pub fn direction(&self, s: &Segment, forward: bool) -> usize {
        if self.key.is_of_one_end() {
            // Both ends are alike: tell them by what they send.
            return usize::from(self.connection.directions[1].known && near_second(&self.connection, s));
        }
        usize::from(forward != self.forward)
    }

    /// Which of its keys.
    pub fn key(&self, which: u32) -> Option<Key> {
        match which {
            OWN => Some(self.key),
            GENERAL => Some(self.key.with_tags(ANY_TAGS)),
            _ => self.other.as_deref().copied(),
        }
    }
}

/// Of a connection of an end with itself: whether `s` continues the second direction rather than the first.
fn near_second(connection: &Connection, s: &Segment) -> bool {
    let off = |d: usize| (s.seq.wrapping_sub(connection.directions[d].max as u32) as i32).unsigned_abs();
    off(1) < off(0)
}

/// What a connection without data takes, but for its queues: there may be 100,000 of them.
const _: () = assert!(size_of::<Place>() <= 688);

/// Places of a chunk, as a power of two.
const CHUNK: u32 = 6;

/// Places without a connection that keep room for the next one: the last ones that were closed, which are used first.
const SPARE: usize = 256;

/// All of them.
#[derive(Default)]
pub struct Places {
    chunks: Vec<Vec<Place>>,
    free: Vec<u32>,
    open: usize,
}

impl Places {
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

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut Place> {
        let place = self.chunks.get_mut((at >> CHUNK) as usize)?.get_mut((at & ((1 << CHUNK) - 1)) as usize)?;
        place.open.then_some(place)
    }

    /// Opens one: where it is.
    pub fn open_new(&mut self, number: u64, s: &Segment, key: Key, forward: bool) -> u32 {
        self.open += 1;
        if let Some(at) = self.free.pop() {
            let chunk = self.chunks.get_mut((at >> CHUNK) as usize);
            if let Some(place) = chunk.and_then(|chunk| chunk.get_mut((at & ((1 << CHUNK) - 1)) as usize)) {
                place.connection.renew(number, s);
                (place.key, place.other, place.forward, place.closing, place.open) = (key, None, forward, false, true);
                return at;
            }
        }
        let connection = Connection::new(number, s);
        let place = Place { connection, key, other: None, forward, closing: false, open: true };
        let count = match self.chunks.last_mut().filter(|chunk| chunk.len() < 1 << CHUNK) {
            Some(chunk) => {
                chunk.push(place);
                chunk.len()
            }
            None => {
                let mut chunk = Vec::with_capacity(1 << CHUNK);
                chunk.push(place);
                self.chunks.push(chunk);
                1
            }
        };
        ((self.chunks.len() - 1) << CHUNK) as u32 + count as u32 - 1
    }

    /// The connection at `at` is over; what it had on the heap is given back, but for the little that the next one needs.
    pub fn close(&mut self, at: u32) {
        let soon = self.free.len() < SPARE;
        if let Some(place) = self.get_mut(at) {
            place.open = false;
            place.connection.release(soon);
            self.open -= 1;
            self.free.push(at);
        }
    }

    /// All that are open, with where they are.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Place)> {
        let all = (0..).zip(self.chunks.iter().flatten());
        all.filter(|(_, place)| place.open)
    }
}
