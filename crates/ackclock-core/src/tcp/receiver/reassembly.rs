//! Reassembly: what is held out of order, and which of it comes twice (RFC 2883).

use super::Receiver;

impl Receiver {
    /// Keeps `pos..end`, which lies above a hole.
    //= RFC 9293 §3.10.7.4 out-of-order
    pub(super) fn store(&mut self, pos: u64, end: u64) {
        self.stats.out_of_order += 1;
        let mut new = 0;
        // A FIN is no payload.
        let fin_again = self.fin_ends_at(end) && self.ooo.covers(self.fin_at, end);
        // The first contiguous part that was there before (RFC 2883 §4).
        let mut again = (pos, end);
        let merged = self.ooo.insert(pos, end, |a, b| {
            new += b - a;
            match again {
                (start, _) if start == a => again = (b, end),
                (start, stop) if start < a && a < stop => again.1 = a,
                _ => {}
            }
        });
        if new < end - pos {
            self.stats.duplicate += end - pos - new - u64::from(fin_again);
            self.blocks.set_duplicate(again);
        }
        self.ooo_bytes += new;
        let mut block = merged;
        if let Some(l) = &mut self.linux {
            block = self.blocks.joined(pos, end);
            self.flushed = l.compressing() && self.blocks.flush(pos, end);
            if l.window.out_of_order(pos, end) {
                l.opened();
            }
        }
        self.blocks.first(block);
        self.blocks_due = true;
    }

    /// A segment up to `end` came in order: takes what it joins.
    pub(super) fn fill_gap(&mut self, end: u64) {
        // One segment can reach over several islands and up to another.
        let before = self.ooo_bytes;
        while let Some((start, stop)) = self.ooo.get(0).filter(|island| island.0 <= self.nxt) {
            let again = stop.min(end) - start;
            if again > 0 {
                self.blocks.add_duplicate((start, start + again));
            }
            self.stats.duplicate += again - u64::from(self.fin_ends_at(start + again));
            self.nxt = self.nxt.max(stop);
            self.ooo_bytes -= stop - start;
            self.ooo.trim_below(stop);
        }
        if let Some(l) = &mut self.linux {
            l.window.released(before, self.ooo_bytes);
        }
        self.blocks.trim(self.nxt);
        self.blocks_due = true;
    }

    /// `start..end` came again, which the next acknowledgment says (RFC 2883).
    #[cold]
    //= RFC 2883 §4 first-block
    pub(super) fn report_duplicate(&mut self, start: u64, end: u64) {
        self.blocks.set_duplicate((start, end));
        self.blocks_due = true;
    }

    /// Whether data up to `end`, with a FIN behind it or not, cannot be of the stream that came so far: it goes on behind
    /// the FIN, or the FIN lies elsewhere now, or before data that is here.
    #[inline]
    pub(super) fn contradicts_fin(&self, end: u64, fin: bool) -> bool {
        end > self.fin_at || (fin && self.ends_elsewhere(end))
    }

    #[cold]
    fn ends_elsewhere(&self, end: u64) -> bool {
        if self.fin_at != u64::MAX {
            return end != self.fin_at;
        }
        let farthest = self.ooo.len().checked_sub(1).and_then(|last| self.ooo.get(last)).map_or(self.nxt, |i| i.1);
        end < farthest
    }

    /// The peer's FIN is known and the last position before `end`.
    pub(super) fn fin_ends_at(&self, end: u64) -> bool {
        self.fin_at < end && self.fin_at + 1 == end
    }

    /// Gives `bytes` positions to the application.
    pub(super) fn deliver(&mut self, bytes: u64) {
        let payload = bytes - u64::from(bytes > 0 && self.fin_ends_at(self.nxt));
        self.stats.delivered += payload;
        if self.by_hand || self.read_rate > 0 {
            self.unread += payload;
        }
    }
}
