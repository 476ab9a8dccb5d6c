//! Where Linux pushes the stream of a bulk sender: which of its segments carry PSH.
//!
//! The application writes blocks. While the first send buffer fills, only the window of the SYN is known, and whatever
//! half of that has been queued is pushed, but not across the end of a block. Later the application is woken when a
//! third of the buffer is free, and each refill ends with a push.

use super::config::Config;

/// Bytes queued since the last push that make Linux push: half of the largest window a SYN can show.
const QUEUED: u64 = 65_535 / 2;
/// Memory of a queued segment beyond its payload.
const OVERHEAD: u64 = 832;

/// The next segment that is pushed, and the rule that finds it.
#[derive(Clone, Debug)]
pub(super) struct Pushes {
    /// Its end in the stream; `u64::MAX`: nothing is pushed.
    next: u64,
    rule: Option<Box<Rule>>,
}

/// Sizes, bytes.
#[derive(Clone, Debug)]
struct Rule {
    mss: u64,
    block: u64,
    /// What fills the buffer, and what fills it again when a third of it is free.
    first_fill: u64,
    refill: u64,
}

impl Pushes {
    pub fn new(config: &Config, mss: u32) -> Pushes {
        let rule = Rule::new(config, mss).map(Box::new);
        Pushes { next: rule.as_ref().map_or(u64::MAX, |r| r.after(0)), rule }
    }

    /// New data up to stream position `end` (1 is the first byte's) leaves. True when it is pushed.
    #[inline]
    pub fn take(&mut self, end: u64) -> bool {
        if end <= self.next {
            return false;
        }
        self.advance(end)
    }

    #[cold]
    fn advance(&mut self, end: u64) -> bool {
        let pushed = end - 1 == self.next;
        self.next = self.rule.as_ref().map_or(u64::MAX, |r| r.after(end - 1));
        pushed
    }

    /// Whether data up to stream position `end`, sent before, was pushed.
    pub fn is(&self, end: u64) -> bool {
        self.rule.as_ref().is_some_and(|r| end >= 2 && r.after(end - 2) == end - 1)
    }
}

impl Rule {
    fn new(config: &Config, mss: u32) -> Option<Rule> {
        let mss = u64::from(mss.max(1));
        // The segment that exceeds the buffer is still taken.
        let full = config.send_buffer.div_ceil(mss + OVERHEAD);
        let kept = 2 * config.send_buffer / 3 / (mss + OVERHEAD);
        let (first_fill, refill) = (full * mss, (full - kept).max(1) * mss);
        (config.write_bytes > 0).then_some(Rule { mss, block: config.write_bytes, first_fill, refill })
    }

    /// First segment end beyond `end` that is pushed, in bytes of the stream.
    fn after(&self, end: u64) -> u64 {
        let segment = |bytes: u64| bytes / self.mss + 1;
        let step = segment(QUEUED);
        let mut start = end / self.block * self.block;
        while start < self.first_fill {
            let first = segment(start + QUEUED);
            let steps = (end / self.mss + step).saturating_sub(first) / step;
            let n = (first + steps * step) * self.mss;
            if n <= (start + self.block).min(self.first_fill) {
                return n;
            }
            start += self.block;
        }
        self.first_fill + (end + self.refill).saturating_sub(self.first_fill) / self.refill * self.refill
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    #[test]
    fn pushes_of_a_bulk_sender() {
        let mut p = Pushes::new(&Config::profile(Profile::Linux), 1448);
        let pushed: Vec<u64> = (1..15_000).filter(|n| p.take(1 + n * 1448)).collect();
        assert_eq!(pushed[..10], [23, 46, 69, 114, 137, 160, 204, 227, 250, 295]);
        assert_eq!(pushed[pushed.len() - 4..], [7359, 9813, 12267, 14721]);
        assert!((1..15_000).all(|n| p.is(1 + n * 1448) == pushed.contains(&n)));
        let mut none = Pushes::new(&Config::profile(Profile::Rfc), 1448);
        assert!(!(1..15_000).any(|n| none.take(1 + n * 1448)));
    }
}
