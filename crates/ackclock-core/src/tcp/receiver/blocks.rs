//! What a receiver says of the data it holds out of order: SACK blocks (RFC 2018, RFC 2883).

use crate::tcp::segment::{MAX_SACK_BLOCKS, SackBlock, Segment};

/// Intervals to report, most recent first; empty ones end the list.
pub(super) type Report = [(u64, u64); MAX_SACK_BLOCKS];

/// What is to be reported. It takes memory from the first segment out of order on: most connections of a crowd have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks(Option<Box<Held>>);

#[derive(Clone, Debug, Default)]
struct Held {
    recent: Report,
    /// Duplicate data, to report first.
    duplicate: Option<(u64, u64)>,
    /// What to report once in place of the latest.
    instead: Option<Report>,
}

impl Blocks {
    fn held(&mut self) -> &mut Held {
        self.0.get_or_insert_default()
    }

    /// Duplicate data, to report first, in place of any before it.
    //= RFC 2883 §4 first-block
    pub fn set_duplicate(&mut self, range: (u64, u64)) {
        self.held().duplicate = Some(range);
    }

    /// Duplicate data, to report first, unless there is some already.
    pub fn add_duplicate(&mut self, range: (u64, u64)) {
        self.held().duplicate.get_or_insert(range);
    }

    /// The duplicate data was reported, or is not to be.
    pub fn clear_duplicate(&mut self) {
        if let Some(held) = &mut self.0 {
            held.duplicate = None;
        }
    }

    /// Moves `range` to the front (RFC 2018 §4); what it swallowed goes.
    //= RFC 2018 §4 first-block
    pub fn first(&mut self, range: (u64, u64)) {
        let mut keep = Report::default();
        keep[0] = range;
        let held = self.held();
        let others = held.recent.iter().filter(|r| r.1 > r.0 && (r.1 < range.0 || range.1 < r.0));
        for (slot, r) in keep[1..].iter_mut().zip(others) {
            *slot = *r;
        }
        held.recent = keep;
    }

    /// `pos..end` and what it touches of the blocks that are remembered: all that Linux says of it, whatever else is held.
    pub fn joined(&self, pos: u64, end: u64) -> (u64, u64) {
        let touching = |a: (u64, u64), r: &(u64, u64)| {
            let apart = r.1 == r.0 || r.1 < a.0 || a.1 < r.0;
            if apart { a } else { (a.0.min(r.0), a.1.max(r.1)) }
        };
        self.0.iter().flat_map(|held| &held.recent).fold((pos, end), touching)
    }

    /// The stream has advanced to `nxt`.
    pub fn trim(&mut self, nxt: u64) {
        let Some(held) = &mut self.0 else { return };
        let mut keep = Report::default();
        for (slot, r) in keep.iter_mut().zip(held.recent.iter().filter(|r| r.1 > nxt)) {
            *slot = *r;
        }
        held.recent = keep;
    }

    /// Linux keeps little memory of blocks: before `pos..end` touches one that stands far back, or pushes all back by
    /// a new one, what is waiting is acknowledged without it, but for the block it extends. True when that is so.
    pub fn flush(&mut self, pos: u64, end: u64) -> bool {
        let held = self.held();
        let mut report = held.recent;
        match report.iter().position(|r| r.1 > r.0 && pos <= r.1 && r.0 <= end) {
            Some(0 | 1) => return false,
            Some(i) => report[i] = (report[i].0.min(pos), report[i].1.max(end)),
            None if report[1].1 == 0 => return false,
            None => {}
        }
        held.instead = Some(report);
        true
    }

    /// Writes the blocks into `seg`; `origin` is the wire number of position 0.
    #[inline]
    pub fn write(&mut self, seg: &mut Segment, origin: u32) {
        let wire =
            |(a, b): (u64, u64)| SackBlock { start: origin.wrapping_add(a as u32), end: origin.wrapping_add(b as u32) };
        let Some(held) = &mut self.0 else { return };
        if let Some(d) = held.duplicate {
            seg.push_sack(wire(d));
        }
        let instead = held.instead.take();
        let report = instead.as_ref().unwrap_or(&held.recent);
        seg.extend_sack(report.iter().take_while(|r| r.1 > r.0).map(|r| wire(*r)));
    }
}
