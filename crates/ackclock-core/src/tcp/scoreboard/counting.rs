//! What a segment counts in windows and flights: its bytes, or as much as a full one, as in Linux, which counts packets.

use super::Scoreboard;

impl Scoreboard {
    /// The same, counting every segment as `unit` bytes; with 0 as the bytes it has.
    pub fn counting(self, unit: u32) -> Scoreboard {
        Scoreboard { unit: u64::from(unit), ..self }
    }

    /// What a segment of `len` positions counts.
    #[inline]
    pub fn count(&self, len: u32) -> u64 {
        if self.unit > 0 { self.unit } else { u64::from(len) }
    }

    /// What of a record of which `len` positions are acknowledged, not all of them if `cut`, counts as delivered: as long
    /// as something of a packet is missing, it is.
    #[inline]
    pub(super) fn count_of(&self, len: u32, cut: bool) -> u64 {
        match (self.unit, cut) {
            (0, _) => u64::from(len),
            (_, true) => 0,
            (unit, false) => unit,
        }
    }

    /// Whether at least `least` segments of up to `mss` bytes are SACKed.
    pub fn has_sacked_segments(&self, least: u64, mss: u32) -> bool {
        if self.sacked >= least * u64::from(mss) {
            return true;
        }
        let mut found = 0;
        for (start, end) in (0..self.ranges.len()).filter_map(|i| self.ranges.get(i)) {
            found += self.find(end - 1) - self.find(start) + 1;
            if found >= least {
                return true;
            }
        }
        false
    }

    /// Segments, of `mss` bytes if bytes are what counts, that are SACKed together with the one before them.
    pub fn sacked_behind_others(&self, mss: u32) -> u64 {
        (self.sacked / u64::from(mss)).saturating_sub(self.ranges.len() as u64)
    }

    /// What is outstanding, delivered or not, counts.
    #[inline]
    pub fn occupied(&self) -> u64 {
        (self.nxt - self.una).wrapping_add(self.padding)
    }

    /// Sums up what the pipe counts beyond the bytes outstanding.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.beyond = self.padding.wrapping_sub(self.sacked).wrapping_sub(self.lost).wrapping_add(self.retrans);
    }

    /// `segments` that ended with position `ack` are gone from the records: what they counted beyond their bytes.
    #[inline]
    pub(super) fn forget_padding(&mut self, segments: u64, ack: u64) {
        let counted = segments.wrapping_mul(self.unit);
        self.padding = self.padding.wrapping_sub(counted).wrapping_add(ack - self.una);
    }

    /// Of `delivered`, which counts segments, the payload: everything acknowledged cumulatively or selectively.
    pub fn payload_of(&self, delivered: u64) -> u64 {
        if self.unit == 0 {
            return delivered;
        }
        let sacked: u64 = (0..self.ranges.len()).filter_map(|i| self.ranges.get(i)).map(|(a, b)| b - a).sum();
        self.una.saturating_sub(1) + sacked
    }

    /// Payload ever marked lost, each time it was.
    pub fn lost_payload(&self) -> u64 {
        self.lost_payload
    }
}
