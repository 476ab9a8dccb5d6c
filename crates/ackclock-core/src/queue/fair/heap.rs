//! A binary heap of numbered things, each at most once, whose keys may change.

/// The least key first; the lesser number first among equal keys. Numbers are dense: the heap keeps a place for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap<K> {
    order: Vec<(K, u32)>,
    /// Where a number stands in `order`; [`OUT`] when it is not in the heap.
    place: Vec<u32>,
}

const OUT: u32 = u32::MAX;

impl<K: Copy + Ord> Heap<K> {
    /// The first, with its key.
    #[inline]
    pub fn first(&self) -> Option<(K, u32)> {
        self.order.first().copied()
    }

    /// Whether `item` is in the heap.
    pub fn contains(&self, item: u32) -> bool {
        self.place.get(item as usize).is_some_and(|p| *p != OUT)
    }

    /// The key of `item`, if it is in the heap.
    pub fn key(&self, item: u32) -> Option<K> {
        let place = *self.place.get(item as usize)?;
        self.order.get(place as usize).map(|(key, _)| *key)
    }

    /// Gives `item` this key: puts it in, or moves it.
    pub fn set(&mut self, item: u32, key: K) {
        if self.place.len() <= item as usize {
            self.place.resize(item as usize + 1, OUT);
        }
        let place = self.place[item as usize];
        if place == OUT {
            self.order.push((key, item));
            self.rise(self.order.len() - 1);
        } else {
            let old = std::mem::replace(&mut self.order[place as usize].0, key);
            if key < old {
                self.rise(place as usize);
            } else {
                self.sink(place as usize);
            }
        }
    }

    /// Takes `item` out, if it is in.
    pub fn remove(&mut self, item: u32) {
        let place = self.place.get(item as usize).copied().unwrap_or(OUT) as usize;
        if place >= self.order.len() {
            return;
        }
        self.order.swap_remove(place);
        self.place[item as usize] = OUT;
        if place < self.order.len() {
            let moved = self.order[place];
            self.rise(place);
            // It rose, or it may have to sink: what is at `place` now tells.
            if self.order[place] == moved {
                self.sink(place);
            }
        }
    }

    /// Moves the entry at `i` towards the front, as far as it belongs.
    fn rise(&mut self, mut i: usize) {
        let entry = self.order[i];
        while i > 0 {
            let parent = (i - 1) / 2;
            if self.order[parent] <= entry {
                break;
            }
            self.put(i, self.order[parent]);
            i = parent;
        }
        self.put(i, entry);
    }

    /// Moves the entry at `i` towards the back, as far as it belongs.
    fn sink(&mut self, mut i: usize) {
        let entry = self.order[i];
        let n = self.order.len();
        loop {
            let mut child = 2 * i + 1;
            if child >= n {
                break;
            }
            if child + 1 < n && self.order[child + 1] < self.order[child] {
                child += 1;
            }
            if entry <= self.order[child] {
                break;
            }
            self.put(i, self.order[child]);
            i = child;
        }
        self.put(i, entry);
    }

    #[inline]
    fn put(&mut self, i: usize, entry: (K, u32)) {
        self.order[i] = entry;
        self.place[entry.1 as usize] = i as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;
    use crate::rng::Stream;

    #[test]
    fn it_agrees_with_a_sorted_list() {
        let mut rng = Stream::named(1, 0, "heap");
        let mut heap: Heap<u64> = Heap::default();
        let mut list: Vec<Option<u64>> = vec![None; 20];
        for _ in 0..20_000 {
            let item = rng.below(20) as u32;
            if rng.below(3) == 0 {
                heap.remove(item);
                list[item as usize] = None;
            } else {
                let key = rng.below(30);
                heap.set(item, key);
                list[item as usize] = Some(key);
            }
            let least = (0..20).filter_map(|i| list[i].map(|key| (key, i as u32))).min();
            assert_eq!(heap.first(), least);
            assert_eq!(heap.contains(item), list[item as usize].is_some());
            assert_eq!(heap.key(item), list[item as usize]);
        }
    }
}
