//! The deadlines of many elements, of which the earliest is looked at: a flat four-ary heap.

use super::{Key, LAST, NOTHING, key, time_of};
use ackclock_core::time::Time;

const ARITY: usize = 4;

/// At most one deadline per element. The heap only has to hold an entry at or before it.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// The time of each element's live entry.
    live: Vec<Time>,
    heap: Vec<Key>,
    /// The earliest live entry.
    top: Key,
    /// Entries that the heap may have before those to be ignored are looked for.
    most: usize,
}

impl Waiting {
    /// For elements `0..count`, none of which is due.
    pub fn new(count: usize) -> Waiting {
        let most = 2 * count;
        Waiting { live: vec![Time::NEVER; count], heap: Vec::new(), top: NOTHING, most }
    }

    /// Adds `more` elements behind those there are, none of which is due.
    pub fn grow(&mut self, more: usize) {
        self.live.resize(self.live.len() + more, Time::NEVER);
        self.most = 2 * self.live.len();
    }

    /// The earliest live entry; of two at the same time that of the lower number.
    #[inline]
    pub fn first(&self) -> Key {
        self.top
    }

    /// A time not later than when `element` is due.
    #[inline]
    pub fn bound(&self, element: u32) -> Time {
        self.live[element as usize]
    }

    /// Makes sure that `element` is visited at `at` or before. Says whether it would have been too late.
    #[inline]
    pub fn schedule(&mut self, element: u32, at: Time) -> bool {
        let sooner = at < self.live[element as usize];
        if sooner {
            self.live[element as usize] = at;
            self.push(key(at, element));
        }
        sooner
    }

    /// `element` is not due any more, and no entry of before wakes it.
    pub fn forget(&mut self, element: u32) {
        self.live[element as usize] = Time::NEVER;
        if self.top as u32 == element {
            self.find_top();
        }
    }

    fn push(&mut self, k: Key) {
        if self.heap.len() >= self.most {
            self.forget_ignored();
        }
        self.heap.push(k);
        self.sift_up(self.heap.len() - 1);
        self.top = self.top.min(k);
    }

    /// Drops the entries that would be ignored when their time came, before they pile up.
    #[cold]
    fn forget_ignored(&mut self) {
        let live = &self.live;
        self.heap.retain(|&k| live[k as u32 as usize] == time_of(k));
        self.heap.sort_unstable(); // and what is sorted is a heap
        self.heap.dedup(); // of a deadline that was left and taken up again
    }

    /// `element`, whose entry was the earliest, was visited and is due again at `at`.
    #[inline]
    pub fn done(&mut self, element: u32, at: Time) {
        if self.heap.first().map(|k| *k as u32) != Some(element) {
            self.done_behind(element, at);
        } else {
            self.live[element as usize] = at;
            if at.is_set() {
                self.heap[0] = key(at, element);
                self.sift_down();
            } else {
                self.remove_top();
            }
        }
        self.find_top();
    }

    /// The visit made an element of a lower number due at once: its entry stands in front, and that of `element` is
    /// left to be recognised by its time.
    #[cold]
    fn done_behind(&mut self, element: u32, at: Time) {
        if self.live[element as usize] != at {
            self.live[element as usize] = Time::NEVER;
            self.schedule(element, at);
        }
    }

    /// Looks for the earliest live entry, past those to be ignored.
    #[inline]
    fn find_top(&mut self) {
        while let Some(&k) = self.heap.first() {
            if self.live[k as u32 as usize] == time_of(k) {
                self.top = k;
                return;
            }
            self.remove_top();
        }
        self.top = NOTHING;
    }

    fn remove_top(&mut self) {
        self.heap.swap_remove(0);
        if !self.heap.is_empty() {
            self.sift_down();
        }
    }

    #[inline]
    fn sift_up(&mut self, mut i: usize) {
        let k = self.heap[i];
        while i > 0 {
            let parent = (i - 1) / ARITY;
            if self.heap[parent] <= k {
                break;
            }
            self.heap[i] = self.heap[parent];
            i = parent;
        }
        self.heap[i] = k;
    }

    #[inline]
    fn sift_down(&mut self) {
        let k = self.heap[0];
        let mut i = 0;
        while let Some((least, key)) = self.least_child(i) {
            if k <= key {
                break;
            }
            self.heap[i] = key;
            i = least;
        }
        self.heap[i] = k;
    }

    /// The earliest of the entries below one, and where it is.
    #[inline]
    fn least_child(&self, i: usize) -> Option<(usize, Key)> {
        let first = i * ARITY + 1;
        let children = self.heap.get(first..)?;
        if let Some(&[a, b, c, d]) = children.first_chunk() {
            let ab = if b < a { (first + 1, b) } else { (first, a) };
            let cd = if d < c { (first + 3, d) } else { (first + 2, c) };
            return Some(if cd.1 < ab.1 { cd } else { ab });
        }
        (first..).zip(children.iter().copied()).min_by_key(|child| child.1)
    }

    /// Entries in the heap, live or not: for tests.
    #[cfg(test)]
    pub fn entries(&self) -> usize {
        self.heap.len()
    }

    /// Tidies up as when there are too many entries: for tests.
    #[cfg(test)]
    pub fn tidy(&mut self) {
        self.forget_ignored();
    }
}

const _: () = assert!(time_of(NOTHING).0 == u64::MAX && NOTHING as u32 == LAST);
