//! The event queue: one pending event per element.
//!
//! Links and delay lines carry nearly every event and are few: their deadlines stand in a short sorted row, in which
//! one that was visited has few others to pass. Endpoints are many and wait for timers that hardly ever expire:
//! theirs are in a flat four-ary heap, of which an event on a link sees the top alone, so that it costs the same
//! whether a thousand endpoints wait or one. Where links are many they stand in the heap, too.
//!
//! An element's due time is what counts; the heap only has to hold an entry at or before it. A deadline that moves
//! later pushes nothing: its old entry fires, finds nothing due and is pushed again (a retransmission timer restarted
//! on every acknowledgment costs nothing). One that moves earlier pushes a new entry; the old one is recognised by
//! its time and ignored, and forgotten before such entries pile up. Events at the same nanosecond run in the order of
//! the elements, which are links, delay lines, other elements of a path, endpoints, sampler: an arrival is handled before
//! the timer it would have stopped. So the order does not depend on how events came to be scheduled.

mod few;

use ackclock_core::time::Time;
use few::{FEW, Few};

const ARITY: usize = 4;

/// The element behind all others, however many there will be: what looks at a moment sees all that happened in it.
pub const LAST: u32 = u32::MAX;

/// Time in the upper half, element in the lower: one comparison orders both.
type Key = u128;

const NOTHING: Key = key(Time::NEVER, LAST);

#[inline]
const fn key(at: Time, element: u32) -> Key {
    ((at.0 as u128) << 64) | element as u128
}

#[inline]
fn time_of(k: Key) -> Time {
    Time((k >> 64) as u64)
}

/// Pending events of elements that are numbered from zero, and of [`LAST`].
#[derive(Clone, Debug)]
pub struct Events {
    /// The time of each element's live entry.
    live: Vec<Time>,
    /// The first elements, if they are few.
    few: Few,
    /// The others.
    heap: Vec<Key>,
    /// When [`LAST`] is due.
    last: Time,
    /// The earliest of the others and [`LAST`].
    top: Key,
    /// Entries that the heap may have before those to be ignored are looked for.
    most: usize,
}

impl Events {
    /// For elements `0..busy + others`, none of which is due. The `busy` ones have most of the events.
    pub fn new(busy: usize, others: usize) -> Events {
        let few = Few::new(if busy <= FEW { busy } else { 0 });
        let live = vec![Time::NEVER; busy + others];
        let most = 2 * live.len();
        Events { live, few, heap: Vec::with_capacity(most), last: Time::NEVER, top: NOTHING, most }
    }

    /// Adds `more` elements behind those there are, none of which is due.
    pub fn grow(&mut self, more: usize) {
        self.live.resize(self.live.len() + more, Time::NEVER);
        self.most = 2 * self.live.len();
    }

    /// Makes sure that `element` is visited at `at` or before.
    #[inline]
    pub fn schedule(&mut self, element: u32, at: Time) {
        if at >= self.live[element as usize] {
            return;
        }
        self.live[element as usize] = at;
        if self.few.has(element) {
            self.few.set(key(at, element));
        } else {
            self.push(element, at);
        }
    }

    /// `element` is not due any more: it begins anew, and no entry of before wakes it. It may be the one that is visited.
    /// It is not one of the busy ones.
    pub fn forget(&mut self, element: u32) {
        debug_assert!(!self.few.has(element));
        self.live[element as usize] = Time::NEVER;
        if self.top as u32 == element {
            self.find_top();
        }
    }

    /// Makes sure that [`LAST`] is visited at `at` or before.
    pub fn schedule_last(&mut self, at: Time) {
        self.last = self.last.min(at);
        self.top = self.top.min(key(at, LAST));
    }

    fn push(&mut self, element: u32, at: Time) {
        if self.heap.len() >= self.most {
            self.forget_ignored();
        }
        let k = key(at, element);
        self.heap.push(k);
        self.sift_up(self.heap.len() - 1);
        self.top = self.top.min(k);
    }

    /// Drops the entries that would be ignored when their time came. A sender that is paced now and waits for
    /// acknowledgments then leaves one each time, until its retransmission timer would have fired.
    #[cold]
    fn forget_ignored(&mut self) {
        let live = &self.live;
        self.heap.retain(|&k| live[k as u32 as usize] == time_of(k));
        self.heap.sort_unstable(); // and what is sorted is a heap
        self.heap.dedup(); // of a deadline that was left and taken up again
    }

    /// The next element to visit and the time. It stays in the queue until [`Events::done`].
    #[inline]
    pub fn earliest(&self) -> Option<(Time, u32)> {
        // Of two at the same time the lower number comes first.
        let first = self.few.first().min(self.top);
        let at = time_of(first);
        at.is_set().then_some((at, first as u32))
    }

    /// The element that [`Events::earliest`] returned was visited and is due again at `at`.
    #[inline]
    pub fn done(&mut self, element: u32, at: Time) {
        if self.few.has(element) {
            self.live[element as usize] = at;
            self.few.put_back(key(at, element));
        } else if element == LAST {
            self.last = at;
            self.find_top();
        } else {
            self.done_in_heap(element, at);
        }
    }

    fn done_in_heap(&mut self, element: u32, at: Time) {
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

    /// Looks for the earliest of what is not in the row of the few, past the entries to be ignored.
    fn find_top(&mut self) {
        self.top = key(self.last, LAST);
        while let Some(&k) = self.heap.first() {
            if self.live[k as u32 as usize] == time_of(k) {
                self.top = self.top.min(k);
                return;
            }
            self.remove_top();
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::rng::Stream;

    #[test]
    fn a_visit_can_make_an_element_before_it_due_at_once() {
        before_it(4, 0);
        before_it(2, FEW);
        before_it(FEW + 1, 0);
    }

    fn before_it(busy: usize, others: usize) {
        let mut e = Events::new(busy, others);
        e.schedule(3, Time(5));
        assert_eq!(e.earliest(), Some((Time(5), 3)));
        e.schedule(1, Time(5));
        e.done(3, Time(9));
        assert_eq!(e.earliest(), Some((Time(5), 1)));
        e.done(1, Time::NEVER);
        assert_eq!(e.earliest(), Some((Time(9), 3)));
        e.done(3, Time::NEVER);
        assert_eq!(e.earliest(), None);
    }

    #[test]
    fn visits_come_in_order_of_time_then_element() {
        for (busy, others) in [(2, 3), (FEW, 0), (2, FEW), (FEW, 30), (FEW + 1, 0), (50, 20)] {
            visits_in_order(busy, others);
        }
    }

    fn visits_in_order(busy: usize, others: usize) {
        let mut rng = Stream::named(1, 0, "events");
        let mut e = Events::new(busy, others);
        let mut n = busy + others;
        // The last place is that of the last element.
        let mut due = vec![Time::NEVER; n + 1];
        let mut last = (Time::ZERO, 0);
        for turn in 0..20_000 {
            if turn == 10_000 {
                e.grow(7);
                n += 7;
                due.splice(n - 7..n - 7, [Time::NEVER; 7]);
            }
            for _ in 0..2 {
                let i = rng.below(n as u64 + 1) as usize;
                let at = Time(last.0.0 + rng.below(40));
                // Later deadlines are set without telling the queue.
                due[i] = at;
                if i == n {
                    e.schedule_last(at);
                } else {
                    e.schedule(i as u32, at);
                }
            }
            let Some((at, element)) = e.earliest() else { continue };
            assert!(at >= last.0);
            last = (at, element);
            let i = if element == LAST { n } else { element as usize };
            if due[i] <= at {
                assert_eq!(due[i], at, "an element is visited when it is due");
                let earliest = due.iter().enumerate().filter(|d| d.1.is_set()).map(|(j, t)| (*t, j)).min();
                assert_eq!(earliest, Some((at, i)));
                due[i] = Time::NEVER;
            }
            e.done(element, due[i]);
            assert!(e.heap.len() <= 2 * n, "what is ignored does not pile up");
        }
    }

    #[test]
    fn a_deadline_that_is_left_and_taken_up_again_is_there_once() {
        let n = FEW + 1;
        let mut e = Events::new(n, 0);
        let far = Time(1 << 40);
        for element in 0..n as u32 {
            e.schedule(element, far);
        }
        for now in 0..10_000 {
            let element = (now % n as u64) as u32;
            e.schedule(element, Time(now));
            assert_eq!(e.earliest(), Some((Time(now), element)));
            e.done(element, far);
            assert!(e.heap.len() <= 2 * n);
        }
        e.forget_ignored();
        assert_eq!(e.heap.len(), n);
    }
}
