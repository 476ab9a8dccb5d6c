//! The size of the segments that a sender fills: at most what the other end's SYN offers, often less.
//!
//! An MSS option binds the other end alone, and the path MTU, options and the sender's own interface lower the size further
//! (RFC 9293 §3.7.1, RFC 6691). A sender sets PSH where its buffer is empty (RFC 9293 §3.9.1.2): a segment without PSH is one
//! that more data followed at once, so it was cut at the segment size, or at the end of the window.

use super::packing::Coder;

/// Segments in a row below the size after which the size is taken to have fallen.
const FELL: u32 = 16;
/// Most segments that a super-packet is taken apart into: 512 kB of 1448 bytes are 363.
const MOST: u32 = 512;
/// No size is known: larger than any.
const UNKNOWN: u32 = u32::MAX;
/// The largest segment of a sender whose peer's SYN was not seen: an interface of 1500 bytes.
pub const UNOFFERED: u32 = 1460;
/// From this size on a length that is a multiple of it is a super-packet.
const LEAST: u32 = 536;

/// What segments without PSH tell of the size that a sender fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentSize {
    /// The size, bytes; [`UNKNOWN`] until two packets in a row agree on it.
    size: u32,
    /// The largest of those below it since one had it; before there is a size, the one that the last packet had.
    below: u32,
    /// How many these were.
    fewer: u32,
}

impl SegmentSize {
    /// Nothing is known.
    pub const NONE: SegmentSize = SegmentSize { size: UNKNOWN, below: 0, fewer: 0 };

    /// A packet with `length` bytes of data and without PSH or FIN has passed; `bound` is the largest segment allowed.
    pub fn filled(&mut self, length: u32, bound: u32) {
        if length <= bound {
            self.take(length);
        } else if self.is_known() && length % self.size == 0 {
            (self.below, self.fewer) = (0, 0);
        } else {
            // A super-packet of whole segments: the fewest that fit the bound and share it evenly.
            let least = length.div_ceil(bound.max(1));
            if least > MOST {
                return;
            }
            if let Some(count) = (least..=2 * least).find(|count| length % *count == 0) {
                self.take(length / count);
            }
        }
    }

    /// A packet has passed in a connection whose SYNs were not seen: the largest that may be a single segment counts.
    pub fn seen(&mut self, length: u32) {
        if length <= UNOFFERED && !(self.is_known() && length <= self.size) {
            self.size = length;
        }
    }

    fn is_known(&self) -> bool {
        self.size != UNKNOWN
    }

    /// Whether a packet with `length` bytes may tell something new: most have the size that is known.
    #[inline]
    pub fn is_news(&self, length: u32) -> bool {
        length != self.size || self.fewer != 0
    }

    /// All of it. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C) {
        let SegmentSize { size, below, fewer } = self;
        let mut both = u64::from(size.wrapping_add(1)) << 1 | u64::from(*fewer > 0);
        c.word(&mut both);
        *size = ((both >> 1) as u32).wrapping_sub(1);
        if both & 1 != 0 {
            c.int(below);
            c.int(fewer);
        } else {
            (*below, *fewer) = (0, 0); // another connection may have been here before
        }
    }

    fn take(&mut self, size: u32) {
        // Only above the size of an Ethernet segment may one packet below the offer be several segments.
        let multiple =
            |large: u32, small: u32| large > UNOFFERED && small >= LEAST && large > small && large % small == 0;
        if size == 0 || size == UNKNOWN {
            return;
        }
        if !self.is_known() {
            if self.below == size {
                *self = SegmentSize { size, ..SegmentSize::NONE };
            } else {
                (self.below, self.fewer) = (size, 1);
            }
            return;
        }
        let raised = size > self.size && !multiple(size, self.size);
        if raised || multiple(self.size, size) {
            *self = SegmentSize { size, ..SegmentSize::NONE };
        } else if size >= self.size {
            (self.below, self.fewer) = (0, 0);
        } else {
            self.below = self.below.max(size);
            self.fewer += 1;
            if self.fewer >= FELL {
                *self = SegmentSize { size: self.below, ..SegmentSize::NONE };
            }
        }
    }

    /// The size of full segments: what was seen, else the bound.
    #[inline]
    pub fn at_most(&self, bound: u32) -> u32 {
        self.size.min(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lengths: impl IntoIterator<Item = u32>, bound: u32) -> u32 {
        let mut size = SegmentSize::NONE;
        lengths.into_iter().for_each(|length| size.filled(length, bound));
        size.at_most(bound)
    }

    #[test]
    fn nothing_seen_is_what_was_offered() {
        assert_eq!(after([], 1448), 1448);
        assert_eq!(after([1000], 1448), 1448, "one packet is no evidence");
    }

    #[test]
    fn segments_below_the_offer_are_full() {
        assert_eq!(after([1447; 3], 1448), 1447);
        assert_eq!(after([1208; 3], 1448), 1208);
    }

    #[test]
    fn a_segment_cut_by_the_window_changes_nothing() {
        assert_eq!(after([1368, 1368, 400, 1368, 90, 1368], 1448), 1368);
        assert_eq!(after([200, 1368, 1368], 1448), 1368, "a first one that is short");
    }

    #[test]
    fn super_packets_tell_the_segments_they_are_made_of() {
        assert_eq!(after([13_680; 2], 1448), 1368);
        assert_eq!(after([41_040; 2], 1448), 1368, "30 segments where 29 of the bound would do");
        assert_eq!(after([14_480, 2896, 1448, 65_160], 1448), 1448);
        assert_eq!(
            after([2896, 1448, 1448, 2896], 8948),
            1448,
            "jumbo offers, a path of 1500: two segments are below the offer"
        );
        assert_eq!(after([1448, 1448, 2896, 14_480], 8948), 1448);
    }

    #[test]
    fn a_lower_path_mtu_is_noticed_and_a_higher_one_at_once() {
        assert_eq!(after([1448; 10].into_iter().chain([1368; 15]), 1448), 1448);
        assert_eq!(after([1448; 10].into_iter().chain([1368; 16]), 1448), 1368);
        assert_eq!(after([1368; 10].into_iter().chain([1448]), 1448), 1448);
        assert_eq!(after([724, 724, 1448], 1448), 1448, "twice the size, and no super-packet");
        assert_eq!(after([1448, 1448, 724, 1448], 1448), 1448, "half the size once");
    }

    #[test]
    fn any_length_and_bound_is_taken() {
        for length in [0, 1, 2, 535, 536, 1460, 65_535, u32::MAX - 1, u32::MAX] {
            for bound in [0, 1, 535, 1448, 65_535, u32::MAX] {
                assert!(after([length, 1448, length], bound) <= bound);
            }
        }
    }
}
