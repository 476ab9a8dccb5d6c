//! What tells connections apart, and its hash: keyed per process, so that no file can be made to collide.

use super::connection::End;
use super::segment::Segment;
use ackclock_core::packet::Address;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// Ends in order, interface, tags.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    words: [u64; 4],
    ports: u32,
    interface: u32,
    tags: u32,
    family: u8,
}

fn words(address: &Address) -> [u64; 2] {
    match address {
        Address::V4(octets) => [0, u64::from(u32::from_be_bytes(*octets))],
        Address::V6(octets) => {
            let whole = u128::from_be_bytes(*octets);
            [(whole >> 64) as u64, whole as u64]
        }
    }
}

impl Key {
    /// That of the connection of a segment, and whether the segment goes from the lower end to the higher one.
    #[inline]
    pub fn of(s: &Segment, interface: u32) -> (Key, bool) {
        let one = (words(&s.source), s.source_port);
        let other = (words(&s.destination), s.destination_port);
        let forward = one <= other;
        let (low, high) = if forward { (one, other) } else { (other, one) };
        // Tags belong to a direction.
        let tags = if s.tags == 0 { 0 } else { s.tags.rotate_left(1) & !1 | u32::from(forward) };
        let family = u8::from(matches!(s.source, Address::V6(_)));
        let ports = u32::from(low.1) << 16 | u32::from(high.1);
        (Key { words: [low.0[0], low.0[1], high.0[0], high.0[1]], ports, interface, tags, family }, forward)
    }

    /// The lower end, the higher one.
    pub fn ends(&self) -> [End; 2] {
        [(0, self.ports >> 16), (2, self.ports & 0xffff)].map(|(at, port)| {
            let (high, low) = (self.words[at], self.words[at + 1]);
            let address = match self.family {
                0 => Address::V4((low as u32).to_be_bytes()),
                _ => Address::V6((u128::from(high) << 64 | u128::from(low)).to_be_bytes()),
            };
            End { address, port: port as u16 }
        })
    }

    /// Whether it is of an end with itself.
    #[inline]
    pub fn is_of_one_end(&self) -> bool {
        self.words[..2] == self.words[2..] && self.ports >> 16 == self.ports & 0xffff
    }

    /// Digest of its tags, and which way these go.
    pub fn tags(&self) -> u32 {
        self.tags
    }

    /// The same ends with other tags.
    pub fn with_tags(&self, tags: u32) -> Key {
        Key { tags, ..*self }
    }
}

impl PartialEq for Key {
    /// Word by word, as it was written: in wider steps it would have to wait for that.
    #[inline]
    fn eq(&self, other: &Key) -> bool {
        let [a, b, c, d] = self.words;
        let [e, f, g, h] = other.words;
        a == e
            && b == f
            && c == g
            && d == h
            && self.ports == other.ports
            && self.interface == other.interface
            && self.tags == other.tags
            && self.family == other.family
    }
}

impl Eq for Key {}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words.iter().for_each(|word| state.write_u64(*word));
        state.write_u64(u64::from(self.ports) << 32 | u64::from(self.interface));
        state.write_u64(u64::from(self.tags) << 8 | u64::from(self.family));
    }
}

/// Makes hashers with this process's key.
#[derive(Clone, Debug)]
pub struct Keys(u64, u64);

impl Keys {
    /// With a key that the system drew; with a fixed one in a fuzz target, whose inputs must reach the same edges in every run.
    pub fn new() -> Keys {
        if cfg!(fuzzing) {
            return Keys(0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03);
        }
        let drawn = RandomState::new();
        Keys(drawn.hash_one(1u8), drawn.hash_one(2u8) | 1)
    }
}

impl Default for Keys {
    fn default() -> Keys {
        Keys::new()
    }
}

impl BuildHasher for Keys {
    type Hasher = Folded;

    #[inline]
    fn build_hasher(&self) -> Folded {
        Folded { state: self.0, key: self.1 }
    }
}

/// Multiplies and folds the halves of the product, word by word.
#[derive(Clone, Debug)]
pub struct Folded {
    state: u64,
    key: u64,
}

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        fold(self.state, self.key)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.state = fold(self.state ^ word, self.key).wrapping_add(self.key);
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
