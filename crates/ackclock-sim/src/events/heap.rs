//! A flat four-ary heap of keys.

use super::Key;

const ARITY: usize = 4;

/// Keys, the least in front.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    keys: Vec<Key>,
}

impl Heap {
    /// An empty one with room for `capacity` keys.
    pub fn with_capacity(capacity: usize) -> Heap {
        Heap { keys: Vec::with_capacity(capacity) }
    }

    /// How many keys there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The least key.
    #[inline]
    pub fn first(&self) -> Option<Key> {
        self.keys.first().copied()
    }

    /// Adds a key.
    #[inline]
    pub fn push(&mut self, k: Key) {
        self.keys.push(k);
        self.sift_up();
    }

    /// Removes the first key.
    #[inline]
    pub fn remove_first(&mut self) {
        if let Some(k) = self.keys.pop() {
            if !self.keys.is_empty() {
                self.sift_down(k);
            }
        }
    }

    /// Puts `k` in the place of the first key, of which there is one.
    #[inline]
    pub fn replace_first(&mut self, k: Key) {
        self.sift_down(k);
    }

    /// Keeps the keys for which `keep` holds, of equal ones the first.
    pub fn retain(&mut self, mut keep: impl FnMut(Key) -> bool) {
        self.keys.retain(|&k| keep(k));
        self.keys.sort_unstable(); // and what is sorted is a heap
        self.keys.dedup();
    }

    /// The last key rises to its place.
    #[inline]
    fn sift_up(&mut self) {
        let Some(mut i) = self.keys.len().checked_sub(1) else { return };
        let k = self.keys[i];
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.keys[parent] <= k {
                break;
            }
            self.keys[i] = self.keys[parent];
            i = parent;
        }
        self.keys[i] = k;
    }

    /// `k` sinks from the front to its place.
    #[inline]
    fn sift_down(&mut self, k: Key) {
        let mut i = 0;
        while let Some((least, key)) = self.least_child(i) {
            if k <= key {
                break;
            }
            self.keys[i] = key;
            i = least;
        }
        self.keys[i] = k;
    }

    /// The earliest of the entries below one, and where it is.
    #[inline]
    fn least_child(&self, i: usize) -> Option<(usize, Key)> {
        let first = i * ARITY + 1;
        let children = self.keys.get(first..)?;
        if let Some(&[a, b, c, d]) = children.first_chunk() {
            let ab = if b < a { (first + 1, b) } else { (first, a) };
            let cd = if d < c { (first + 3, d) } else { (first + 2, c) };
            return Some(if cd.1 < ab.1 { cd } else { ab });
        }
        (first..).zip(children.iter().copied()).min_by_key(|child| child.1)
    }
}
