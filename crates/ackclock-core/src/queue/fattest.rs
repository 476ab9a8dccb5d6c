//! Which of many queues holds most bytes, without looking at all of them.
//!
//! Queues lie in groups of 64. Each group has an upper bound for its queues, which arrivals raise and departures leave
//! alone; a search looks into those groups only whose bound exceeds the best so far, and makes their bounds exact.

/// Queues in a group.
const GROUP: usize = 64;

/// The bytes of each of a number of queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    bytes: Vec<u64>,
    bounds: Vec<u64>,
}

impl Sizes {
    /// Makes room for `queues` queues, the new ones empty.
    pub(super) fn grow(&mut self, queues: usize) {
        self.bytes.resize(queues, 0);
        self.bounds.resize(queues.div_ceil(GROUP), 0);
    }

    /// Bytes of queue `i`.
    #[inline]
    pub(super) fn get(&self, i: usize) -> u64 {
        self.bytes[i]
    }

    /// `len` bytes joined queue `i`.
    #[inline]
    pub(super) fn add(&mut self, i: usize, len: u32) {
        let size = self.bytes[i] + u64::from(len);
        self.bytes[i] = size;
        let bound = &mut self.bounds[i / GROUP];
        *bound = size.max(*bound);
    }

    /// `len` bytes left queue `i`; returns what remains.
    #[inline]
    pub(super) fn remove(&mut self, i: usize, len: u32) -> u64 {
        self.bytes[i] -= u64::from(len);
        self.bytes[i]
    }

    /// The queue with most bytes and how many; of several the first. None when all are empty.
    pub(super) fn fattest(&mut self) -> Option<(usize, u64)> {
        // The group that promises most comes first: what it holds rules out most others.
        let promising = (0..self.bounds.len()).max_by_key(|&g| self.bounds[g])?;
        let known = self.inspect(promising).1;
        let mut best = (0, 0);
        for group in 0..self.bounds.len() {
            let bound = self.bounds[group];
            if bound >= known && bound > best.1 {
                let other = self.inspect(group);
                if other.1 > best.1 {
                    best = other;
                }
            }
        }
        (best.1 > 0).then_some(best)
    }

    /// The largest queue of a group, whose bound becomes exact.
    fn inspect(&mut self, group: usize) -> (usize, u64) {
        let first = group * GROUP;
        let members = &self.bytes[first..self.bytes.len().min(first + GROUP)];
        let mut best = (first, 0);
        for (i, &size) in members.iter().enumerate() {
            if size > best.1 {
                best = (first + i, size);
            }
        }
        self.bounds[group] = best.1;
        best
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;
    use crate::rng::Stream;

    #[test]
    fn it_finds_what_a_look_at_all_finds() {
        let mut rng = Stream::named(1, 0, "sizes");
        let mut sizes = Sizes::default();
        assert_eq!(sizes.fattest(), None);
        let mut plain = vec![0u64; 300];
        sizes.grow(10);
        assert_eq!(sizes.fattest(), None);
        for round in 0..20_000 {
            let queues = if round < 1000 { 10 } else { 300 };
            sizes.grow(queues);
            let i = rng.below(queues as u64) as usize;
            // Few different lengths, so that several are the largest.
            let len = rng.below(4) as u32 * 100;
            if plain[i] >= u64::from(len) && rng.below(2) == 0 {
                plain[i] -= u64::from(len);
                assert_eq!(sizes.remove(i, len), plain[i]);
            } else {
                plain[i] += u64::from(len);
                sizes.add(i, len);
            }
            assert_eq!(sizes.bytes[i], plain[i]);
            if rng.below(4) == 0 {
                let most = plain.iter().max().copied().unwrap();
                match sizes.fattest() {
                    Some((i, bytes)) => assert_eq!((Some(i), bytes), (plain.iter().position(|&b| b == most), most)),
                    None => assert_eq!(most, 0),
                }
            }
        }
    }
}
