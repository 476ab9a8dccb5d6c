//! Copies of a packet: the same packet seen again, as mirror ports, bridges and "any" interfaces record it.

use super::packing::Coder;
use super::ring::Ring;
use super::segment::Segment;

/// How many packets of a direction are remembered.
const REMEMBERED: usize = 64;
const MS: i64 = 1_000_000;

/// The last packets of a direction.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// Digest of what must be equal, with the IP identification in the low 16 bits; and when it passed.
    of: Ring<(u64, i64)>,
}

/// What must be equal.
#[inline]
fn digest(s: &Segment) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = (u64::from(s.seq) << 32 | u64::from(s.ack)).wrapping_mul(K);
    let mut mix = |v: u64| h = (h ^ (h >> 29) ^ v).wrapping_mul(K);
    mix(u64::from(s.flags) << 48 | u64::from(s.window.unwrap_or(0)) << 32 | u64::from(s.length));
    if let Some((value, echo)) = s.options.timestamps {
        mix(u64::from(value) << 32 | u64::from(echo));
    }
    for block in s.options.sack.iter() {
        mix(u64::from(block.start) << 32 | u64::from(block.end));
    }
    (h ^ (h >> 31)) & !0xffff | u64::from(s.ip_id)
}

impl Recent {
    /// Whether the packet is a copy of one of the last. If not, it is remembered.
    ///
    /// `fresh`: it moves on the sequence number or the acknowledgment, so that it cannot be one. `round` is the round trip
    /// time that is known, ns.
    #[inline]
    pub fn is_copy(&mut self, s: &Segment, fresh: bool, round: i64) -> bool {
        if !fresh && self.is_copy_elsewhere(s, round) {
            return true;
        }
        let with_id = (20 * MS).max(round / 2);
        // What is too old for any copy need not be kept.
        while let Some(&(_, at)) = self.of.front() {
            if self.of.len() < REMEMBERED && s.time - at <= 2 * with_id {
                break;
            }
            self.of.skip_first();
        }
        self.of.push_back((digest(s), s.time));
        false
    }

    /// Forgets all; room for more than `kept` is given back.
    pub fn clear(&mut self, kept: usize) {
        self.of.clear(kept);
    }

    /// All of it; `last` is near. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, kept: usize, last: i64) {
        let mut before = last;
        self.of.code(c, kept, |c, (digest, at)| {
            c.word(digest);
            c.time(at, before);
            before = *at;
        });
    }

    /// Gives back what room above `kept` it does not need.
    pub fn shrink(&mut self, kept: usize) {
        self.of.shrink(kept);
    }

    /// Whether a packet with other tags is a copy of one of these.
    pub fn is_copy_elsewhere(&self, s: &Segment, round: i64) -> bool {
        let most = match (s.ip_id, s.length) {
            (0, 0) => return false,
            (0, _) => round.min(40 * MS) / 2,
            _ => (20 * MS).max(round / 2),
        };
        let own = digest(s);
        self.of.iter().rev().any(|&(other, at)| other == own && (0..=most).contains(&(s.time - at)))
    }
}
