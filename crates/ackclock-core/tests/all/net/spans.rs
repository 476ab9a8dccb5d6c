//! A set of positions, the plain way: the model that the endpoint's own bookkeeping is held against.

/// Sorted, disjoint intervals.
#[derive(Clone, Debug, Default)]
pub struct Spans(pub Vec<(u64, u64)>);

impl Spans {
    pub fn insert(&mut self, start: u64, end: u64) {
        let mut merged = (start, end);
        self.0.retain(|s| {
            let apart = s.1 < merged.0 || merged.1 < s.0;
            if !apart {
                merged = (merged.0.min(s.0), merged.1.max(s.1));
            }
            apart
        });
        let at = self.0.partition_point(|s| s.0 < merged.0);
        self.0.insert(at, merged);
    }

    pub fn covers(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|s| s.0 <= start && end <= s.1)
    }

    pub fn touches(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|s| s.0 < end && start < s.1)
    }

    /// The end of the interval that starts at or below `from`, or `from`.
    pub fn contiguous(&self, from: u64) -> u64 {
        self.0.iter().find(|s| s.0 <= from && from < s.1).map_or(from, |s| s.1)
    }

    pub fn trim_below(&mut self, x: u64) {
        self.0.retain(|s| s.1 > x);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(x);
        }
    }

    /// Intervals and bytes above `x`.
    pub fn above(&self, x: u64) -> (u64, u64) {
        let over = self.0.iter().filter(|s| s.1 > x);
        over.fold((0, 0), |(n, bytes), s| (n + 1, bytes + s.1 - s.0.max(x)))
    }
}
