//! A TCP segment's header, without its payload, in 52 bytes.

use crate::packet::Ecn;
use crate::time::Span;

/// Header flags.
pub mod flags {
    /// Last byte of the stream.
    pub const FIN: u8 = 0x01;
    /// Opens a connection.
    pub const SYN: u8 = 0x02;
    /// Aborts a connection.
    pub const RST: u8 = 0x04;
    /// The sender's buffer is empty after this segment.
    pub const PSH: u8 = 0x08;
    /// The acknowledgment field counts.
    pub const ACK: u8 = 0x10;
    /// The receiver echoes a congestion mark (RFC 3168); on a SYN: it can.
    pub const ECE: u8 = 0x40;
    /// The sender has reduced its window; on a SYN: see [`ECE`].
    pub const CWR: u8 = 0x80;
}

/// One SACK block on the wire: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

/// An echoed timestamp that is older than this, 36 minutes, is no echo of ours (Linux's `tcp_rtt_tsopt_us`).
pub const OLDEST_ECHO: Span = Span(i32::MAX as u64 * 1000);

/// Most SACK blocks in a header (RFC 2018); three when timestamps take their room.
pub const MAX_SACK_BLOCKS: usize = 4;

/// The header of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Payload bytes.
    pub len: u32,
    /// Window field, before scaling.
    pub window: u16,
    /// The MSS option (SYN segments).
    pub mss: u16,
    /// [`flags`].
    pub flags: u8,
    pub(super) options: u8,
    pub(super) sack_count: u8,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// As in a real header, timestamps take the room of the last block.
    pub(super) sack: [SackBlock; MAX_SACK_BLOCKS],
}

const _: () = assert!(std::mem::size_of::<Segment>() <= 52);
/// Where the timestamps stand.
const STAMPS: usize = MAX_SACK_BLOCKS - 1;

const OPT_TIMESTAMPS: u8 = 0x10;
const OPT_SACK_PERMITTED: u8 = 0x20;
const OPT_SCALE: u8 = 0x40;
/// RFC 9768's AE flag, for which the flags have no bit left.
const OPT_AE: u8 = 0x80;
const SCALE_MASK: u8 = 0x0f;

impl Segment {
    /// True when flag bits `f` are all set.
    #[inline]
    pub fn has(&self, f: u8) -> bool {
        self.flags & f == f
    }

    /// True when the timestamp option is present.
    #[inline]
    pub fn has_timestamps(&self) -> bool {
        self.options & OPT_TIMESTAMPS != 0
    }

    /// Adds the timestamp option (RFC 7323). A fourth SACK block gives way.
    #[inline]
    pub fn set_timestamps(&mut self, tsval: u32, tsecr: u32) {
        self.options |= OPT_TIMESTAMPS;
        self.sack_count = self.sack_count.min(STAMPS as u8);
        self.sack[STAMPS] = SackBlock { start: tsval, end: tsecr };
    }

    /// Timestamp value, meaningful if [`Segment::has_timestamps`].
    #[inline]
    pub fn tsval(&self) -> u32 {
        self.sack[STAMPS].start
    }

    /// Timestamp echo, meaningful if [`Segment::has_timestamps`].
    #[inline]
    pub fn tsecr(&self) -> u32 {
        self.sack[STAMPS].end
    }

    /// True when SACK is offered (SYN segments).
    pub fn sack_permitted(&self) -> bool {
        self.options & OPT_SACK_PERMITTED != 0
    }

    /// Offers SACK.
    pub fn set_sack_permitted(&mut self) {
        self.options |= OPT_SACK_PERMITTED;
    }

    /// The window scale offered (SYN segments).
    pub fn window_scale(&self) -> Option<u8> {
        (self.options & OPT_SCALE != 0).then_some(self.options & SCALE_MASK)
    }

    /// Offers a window scale of at most 14.
    //= RFC 7323 §2.3 shift-limit
    pub fn set_window_scale(&mut self, shift: u8) {
        self.options = (self.options & !SCALE_MASK) | OPT_SCALE | shift.min(14);
    }

    /// The ACE field: the flags AE, CWR and ECE as a number (RFC 9768 §3.2).
    pub fn ace(&self) -> u8 {
        let ae = u8::from(self.options & OPT_AE != 0);
        ae << 2 | u8::from(self.has(flags::CWR)) << 1 | u8::from(self.has(flags::ECE))
    }

    /// Writes the ACE field, of which the last three bits of `ace` count.
    pub fn set_ace(&mut self, ace: u8) {
        self.options = (self.options & !OPT_AE) | if ace & 4 != 0 { OPT_AE } else { 0 };
        self.flags &= !(flags::CWR | flags::ECE);
        self.flags |= if ace & 2 != 0 { flags::CWR } else { 0 } | if ace & 1 != 0 { flags::ECE } else { 0 };
    }

    /// The SACK blocks.
    #[inline]
    pub fn sack(&self) -> &[SackBlock] {
        &self.sack[..self.sack_count as usize]
    }

    /// Adds SACK blocks, as many as there is room for.
    #[inline]
    //= RFC 2018 §4 as-many
    pub fn extend_sack(&mut self, blocks: impl Iterator<Item = SackBlock>) {
        let room = MAX_SACK_BLOCKS - usize::from(self.has_timestamps());
        let used = usize::from(self.sack_count).min(room);
        for (slot, block) in self.sack[used..room].iter_mut().zip(blocks) {
            *slot = block;
            self.sack_count += 1;
        }
    }

    /// Adds a SACK block; ignored when there is no room.
    #[inline]
    pub fn push_sack(&mut self, block: SackBlock) {
        let room = MAX_SACK_BLOCKS - usize::from(self.has_timestamps());
        if (self.sack_count as usize) < room {
            self.sack[self.sack_count as usize] = block;
            self.sack_count += 1;
        }
    }

    /// Sequence numbers the segment occupies: payload, SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u32 {
        self.len + u32::from(self.flags & flags::SYN != 0) + u32::from(self.flags & flags::FIN != 0)
    }

    /// Bytes of TCP options, padded to four as real headers are.
    #[inline]
    pub fn option_bytes(&self) -> u32 {
        if self.has(flags::SYN) {
            return self.syn_option_bytes();
        }
        let stamps = if self.has_timestamps() { 12 } else { 0 };
        match u32::from(self.sack_count) {
            0 => stamps,
            blocks => stamps + 4 + 8 * blocks,
        }
    }

    #[cold]
    fn syn_option_bytes(&self) -> u32 {
        let scale = if self.window_scale().is_some() { 4 } else { 0 };
        // SACK-permitted fills the two padding bytes of the timestamp option when both are there.
        let others = match (self.has_timestamps(), self.sack_permitted()) {
            (true, _) => 12,
            (false, true) => 4,
            (false, false) => 0,
        };
        4 + scale + others
    }
}

/// The 64-bit position of wire number `wire`, given a nearby position and the wire number of position 0.
///
/// Right while the two are less than 2^31 apart; windows are below 2^30 because the scale is at most 14.
#[inline]
//= RFC 9293 §3.4 modulo
pub fn unwrap_seq(wire: u32, origin: u32, near: u64) -> u64 {
    let near_wire = origin.wrapping_add(near as u32);
    let diff = wire.wrapping_sub(near_wire) as i32;
    near.saturating_add_signed(i64::from(diff))
}

/// True when wire number `a` comes before `b` (RFC 9293 §3.4).
#[inline]
//= RFC 9293 §3.4 modulo
pub fn seq_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    //= test: RFC 9293 §3.4 modulo
    fn wrapping_order() {
        assert!(seq_before(0xFFFF_FF00, 0x0000_0100));
        assert!(!seq_before(0x0000_0100, 0xFFFF_FF00));
    }

    #[test]
    //= test: RFC 9293 §3.4 modulo
    fn positions_survive_the_wrap() {
        let origin = u32::MAX - 999;
        for near in [0u64, 500, 1000, 5_000_000_000] {
            for d in [-400i64, 0, 1, 1_000_000] {
                let pos = near.saturating_add_signed(d);
                assert_eq!(unwrap_seq(origin.wrapping_add(pos as u32), origin, near), pos);
            }
        }
    }

    #[test]
    fn option_sizes() {
        let mut syn = Segment { flags: flags::SYN, ..Segment::default() };
        syn.set_timestamps(1, 0);
        syn.set_sack_permitted();
        syn.set_window_scale(7);
        assert_eq!(syn.option_bytes(), 20);
        let mut ack = Segment { flags: flags::ACK, ..Segment::default() };
        ack.set_timestamps(1, 1);
        assert_eq!(ack.option_bytes(), 12);
        for n in 1..=3 {
            ack.push_sack(SackBlock { start: n, end: n + 1 });
            assert_eq!(ack.option_bytes(), 12 + 4 + 8 * n);
        }
    }

    #[test]
    //= test: RFC 2018 §4 as-many
    fn a_fourth_block_and_timestamps_exclude_each_other() {
        let block = |n: u32| SackBlock { start: n, end: n + 1 };
        let mut ack = Segment { flags: flags::ACK, ..Segment::default() };
        (1..=5).for_each(|n| ack.push_sack(block(n)));
        assert_eq!((ack.sack().len(), ack.option_bytes()), (4, 4 + 8 * 4), "no room for a fifth");
        ack.set_timestamps(70, 60);
        ack.push_sack(block(6));
        assert_eq!((ack.sack(), ack.tsval(), ack.tsecr()), (&[block(1), block(2), block(3)][..], 70, 60));
        assert_eq!(ack.option_bytes(), 40, "all that a header has room for");
    }
}
