//! What is outstanding: everything from the highest acknowledgment to the highest byte seen, as pieces in order.

use super::packing::Coder;
use super::ring::Ring;

/// No retransmission.
pub const NEVER: u32 = u32::MAX;

/// Most holes of a direction; what would be one more counts as seen.
pub const MOST_HOLES: u16 = 4096;

/// Pieces that are cut in two by blocks or segments that begin within them: as many as there may be holes and ranges.
const MOST_SPLITS: u16 = 4 * MOST_HOLES;

/// How many pieces are looked at where that is enough.
const NEAR: usize = 64;

/// How a piece came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its bytes passed.
    Seen,
    /// A later segment passed instead; `sent`, `tsval` and `ip_id` are those of that segment.
    Hole,
    /// It must have passed before the capture began, or is a probe that was taken after all: not counted as missed.
    Assumed,
}

/// A range of bytes that have the same history.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where it ends. It begins where the one before ends.
    pub end: u64,
    /// When it passed last, ns.
    pub sent: i64,
    /// Timestamp value it had then.
    pub tsval: u32,
    /// The last retransmission that carried it, or [`NEVER`].
    pub rtx: u32,
    /// IP identification; of holes only.
    pub ip_id: u16,
    /// How it came about.
    pub kind: Kind,
    /// How often it passed, up to 2.
    pub sends: u8,
    /// Whether a SACK block has covered it.
    pub sacked: bool,
}

/// A piece in three words.
#[derive(Clone, Copy, Debug, Default)]
struct Packed {
    /// `end`, and in the low bits how it came about, how often it passed, and whether it is covered.
    word: u64,
    sent: i64,
    tsval: u32,
    /// Of a hole, which no retransmission has carried, `ip_id`; else `rtx`.
    other: u32,
}

/// Bits of the low part.
const LOW: u32 = 5;
/// No stream comes so far in a file that anybody has; what does, ends here.
const MOST_END: u64 = u64::MAX >> LOW;

impl Packed {
    #[inline]
    fn end(&self) -> u64 {
        self.word >> LOW
    }

    #[inline]
    fn is_hole(&self) -> bool {
        self.word & 3 == Kind::Hole as u64
    }
}

impl From<Piece> for Packed {
    #[inline]
    fn from(p: Piece) -> Packed {
        let low = p.kind as u64 | u64::from(p.sends.min(2)) << 2 | u64::from(p.sacked) << 4;
        let other = if p.kind == Kind::Hole { u32::from(p.ip_id) } else { p.rtx };
        Packed { word: p.end.min(MOST_END) << LOW | low, sent: p.sent, tsval: p.tsval, other }
    }
}

impl From<Packed> for Piece {
    #[inline]
    fn from(p: Packed) -> Piece {
        let kind = match p.word & 3 {
            0 => Kind::Seen,
            1 => Kind::Hole,
            _ => Kind::Assumed,
        };
        let (rtx, ip_id) = if kind == Kind::Hole { (NEVER, p.other as u16) } else { (p.other, 0) };
        let (sends, sacked) = ((p.word >> 2 & 3) as u8, p.word & 16 != 0);
        Piece { end: p.end(), sent: p.sent, tsval: p.tsval, rtx, ip_id, kind, sends, sacked }
    }
}

/// The pieces above `una`.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    una: u64,
    of: Ring<Packed>,
    holes: u16,
    splits: u16,
    /// How many were left when they were joined last.
    joined: u32,
}

impl Pieces {
    /// Where the first one begins.
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Begins anew at `una` with nothing outstanding.
    pub fn restart(&mut self, una: u64) {
        self.clear(NEAR);
        self.una = una;
    }

    /// How many there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether bytes may be missing.
    #[inline]
    pub fn has_holes(&self) -> bool {
        self.holes > 0
    }

    /// Where the first hole begins; `max` without any.
    pub fn in_order(&self, max: u64) -> u64 {
        let hole = self.of.iter().position(Packed::is_hole);
        hole.map_or(max, |at| self.begin(at))
    }

    /// Adds one at the end. A hole beyond the cap is taken as assumed; then the answer is false.
    #[inline]
    pub fn append(&mut self, mut piece: Piece) -> bool {
        let mut kept = true;
        if piece.kind == Kind::Hole {
            kept = self.holes < MOST_HOLES;
            if kept {
                self.holes += 1;
            } else {
                piece.kind = Kind::Assumed;
            }
        }
        self.of.push_back(piece.into());
        kept
    }

    /// Removes what is below `ack`; `take` is called with every piece of which something was removed, and how many bytes
    /// that was.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, mut take: impl FnMut(&Piece, u64)) {
        while let Some(piece) = self.of.front().map(|p| Piece::from(*p)) {
            if piece.end > ack {
                if ack > self.una {
                    take(&piece, ack - self.una);
                    self.una = ack;
                }
                break;
            }
            take(&piece, piece.end.saturating_sub(self.una));
            self.una = self.una.max(piece.end);
            self.holes -= u16::from(piece.kind == Kind::Hole);
            self.of.skip_first();
        }
        self.una = self.una.max(ack);
        if self.of.is_empty() {
            self.splits = 0;
        }
    }

    /// Whether one of the first pieces is such.
    pub fn waits(&self, such: impl Fn(&Piece) -> bool) -> bool {
        self.of.iter().take(NEAR).any(|p| such(&Piece::from(*p)))
    }

    /// Calls `each` with begin and piece of everything in `start..end`, without cutting any.
    pub fn within(&self, start: u64, end: u64, mut each: impl FnMut(u64, &Piece)) {
        let first = self.of.partition_point(|p| p.end() <= start);
        let mut from = self.begin(first);
        for packed in self.of.from(first) {
            if from >= end {
                break;
            }
            each(from, &Piece::from(*packed));
            from = packed.end();
        }
    }

    /// Calls `change` with begin and piece of everything in `start..end`, cut at these. False: pieces have been cut too
    /// often, and those at the borders were changed as they are.
    pub fn change(&mut self, start: u64, end: u64, mut change: impl FnMut(u64, &mut Piece)) -> bool {
        let regular = self.cut(start) & self.cut(end);
        let first = self.of.partition_point(|p| p.end() <= start);
        let mut from = self.begin(first);
        for at in first..self.of.len() {
            let Some(packed) = self.of.get_mut(at).filter(|_| from < end) else { break };
            let (was_hole, mut piece) = (packed.is_hole(), Piece::from(*packed));
            change(from, &mut piece);
            *packed = piece.into();
            self.holes -= u16::from(was_hole && piece.kind != Kind::Hole);
            from = piece.end;
        }
        regular
    }

    fn begin(&self, index: usize) -> u64 {
        match index.checked_sub(1).and_then(|before| self.of.get(before)) {
            Some(before) => before.end(),
            None => self.una,
        }
    }

    fn cut(&mut self, at: u64) -> bool {
        let index = self.of.partition_point(|p| p.end() <= at);
        let begin = self.begin(index);
        let Some(piece) = self.of.get(index).copied().filter(|_| begin < at) else { return true };
        if self.splits >= MOST_SPLITS || piece.is_hole() && self.holes >= MOST_HOLES {
            return false;
        }
        self.splits += 1;
        self.holes += u16::from(piece.is_hole());
        self.of.insert(index, Piece { end: at, ..piece.into() }.into());
        true
    }

    /// Joins the older where there are more than `most`; again when a quarter of that has come since, however many are left.
    #[inline]
    pub fn confine(&mut self, most: usize) {
        if self.of.len() > most.max(self.joined as usize + most / 4) {
            self.compact();
            self.joined = self.of.len() as u32;
        }
    }

    /// Joins neighbours of the older half that differ only in when they passed. What is joined gives no RTT.
    fn compact(&mut self) {
        let older = self.of.len() / 2;
        let mut kept = 0;
        for at in 1..self.of.len() {
            let pair = (self.of.get(kept).map(|p| Piece::from(*p)), self.of.get(at).map(|p| Piece::from(*p)));
            let (Some(last), Some(next)) = pair else { break };
            let alike = last.kind != Kind::Hole && next.kind != Kind::Hole && last.sacked == next.sacked;
            let whole = if at < older && alike {
                // What passed and what is taken for passed may alternate without end: where they meet, nothing was missed.
                let kind = if last.kind == next.kind { next.kind } else { Kind::Assumed };
                Piece { sends: 2, rtx: NEVER, kind, ..next }
            } else {
                kept += 1;
                next
            };
            if let Some(place) = self.of.get_mut(kept) {
                *place = whole.into();
            }
        }
        self.of.truncate(kept + 1);
    }

    /// All of it; `max` and `last` are near. See [`Coder`].
    pub fn code<C: Coder>(&mut self, c: &mut C, kept: usize, max: u64, last: i64) {
        let Pieces { una, of, holes, splits, joined } = self;
        c.near(una, max);
        // Mostly none of these.
        let mut rare = u64::from(*joined) << 32 | u64::from(*splits) << 16 | u64::from(*holes);
        c.word(&mut rare);
        (*holes, *splits, *joined) = (rare as u16, (rare >> 16) as u16, (rare >> 32) as u32);
        let mut before = (*una << LOW, last, 0);
        of.code(c, kept, |c, Packed { word, sent, tsval, other }| {
            c.near(word, before.0);
            c.time(sent, before.1);
            c.int_near(tsval, before.2);
            c.int_near(other, NEVER);
            before = (*word, *sent, *tsval);
        });
    }

    /// Gives back what room above `kept` it does not need.
    pub fn shrink(&mut self, kept: usize) {
        self.of.shrink(kept);
    }

    /// None, from the begin; room for more than `kept` is given back.
    pub fn clear(&mut self, kept: usize) {
        self.of.clear(kept);
        (self.una, self.holes, self.splits, self.joined) = (0, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(end: u64, kind: Kind) -> Piece {
        Piece { end, sent: end as i64, tsval: 0, rtx: NEVER, ip_id: 0, kind, sends: 1, sacked: false }
    }

    #[test]
    fn pieces_are_cut_where_a_change_begins_and_ends() {
        let mut pieces = Pieces::default();
        pieces.restart(100);
        assert!(pieces.append(piece(200, Kind::Seen)) && pieces.append(piece(300, Kind::Hole)));
        assert!(pieces.change(150, 250, |_, p| p.kind = Kind::Seen));
        let mut found = Vec::new();
        pieces.within(0, 1000, |begin, p| found.push((begin, p.end, p.kind)));
        let seen = Kind::Seen;
        assert_eq!(found, [(100, 150, seen), (150, 200, seen), (200, 250, seen), (250, 300, Kind::Hole)]);
        assert!(pieces.has_holes());
        let mut taken = Vec::new();
        pieces.acknowledge(260, |p, bytes| taken.push((p.kind == Kind::Hole, bytes)));
        assert_eq!(taken, [(false, 50), (false, 50), (false, 50), (true, 10)]);
        pieces.acknowledge(300, |_, bytes| assert_eq!(bytes, 40));
        assert!(!pieces.has_holes() && pieces.len() == 0 && pieces.una() == 300);
    }

    #[test]
    fn joined_pieces_cover_the_same_bytes() {
        let mut pieces = Pieces::default();
        for i in 1..=100 {
            pieces.append(piece(i * 10, if i % 10 == 0 { Kind::Hole } else { Kind::Seen }));
        }
        pieces.compact();
        assert!(pieces.len() < 65);
        let (mut at, mut holes) = (0, 0);
        pieces.within(0, 1000, |begin, p| {
            assert_eq!(begin, at);
            at = p.end;
            holes += u64::from(p.kind == Kind::Hole) * (p.end - begin);
        });
        assert_eq!((at, holes), (1000, 100));
    }
}
