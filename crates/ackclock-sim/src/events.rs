//! The event queue: one pending event per element, in a flat four-ary heap or, when elements are few, in no order at
//! all: looking at a dozen deadlines is cheaper than keeping them sorted.
//!
//! An element's due time is what counts; the heap only has to hold an entry at or before it. A deadline that moves
//! later pushes nothing: its old entry fires, finds nothing due and is pushed again (a retransmission timer restarted
//! on every acknowledgment costs nothing). One that moves earlier pushes a new entry; the old one is recognised by
//! its time and ignored, and forgotten before such entries pile up. Events at the same nanosecond run in the order of the elements, which are links, delay
//! lines, endpoints, sampler: an arrival is handled before the timer it would have stopped. So the order does not
//! depend on how events came to be scheduled.

use ackclock_core::time::Time;

const ARITY: usize = 4;
/// Most elements whose deadlines are looked at one by one.
const FEW: usize = 20;

/// Time in the upper half, element in the lower: one comparison orders both.
type Key = u128;

#[inline]
fn key(at: Time, element: u32) -> Key {
    (u128::from(at.0) << 64) | u128::from(element)
}

#[inline]
fn time_of(k: Key) -> Time {
    Time((k >> 64) as u64)
}

/// Pending events of a fixed number of elements.
#[derive(Clone, Debug)]
pub struct Events {
    /// Empty when elements are few.
    heap: Vec<Key>,
    /// The time of each element's live entry.
    live: Vec<Time>,
    few: bool,
    /// Entries that the heap may have before those to be ignored are looked for.
    most: usize,
}

impl Events {
    /// For elements `0..elements`, none of which is due.
    pub fn new(elements: usize) -> Events {
        let most = 2 * elements;
        let live = vec![Time::NEVER; elements];
        Events { heap: Vec::with_capacity(most), live, few: elements <= FEW, most }
    }

    /// Makes sure that `element` is visited at `at` or before.
    #[inline]
    pub fn schedule(&mut self, element: u32, at: Time) {
        if at >= self.live[element as usize] {
            return;
        }
        self.live[element as usize] = at;
        if self.few {
            return;
        }
        if self.heap.len() >= self.most {
            self.forget_ignored();
        }
        self.heap.push(key(at, element));
        self.sift_up(self.heap.len() - 1);
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
    pub fn earliest(&mut self) -> Option<(Time, u32)> {
        if self.few {
            let mut first = (Time::NEVER, 0);
            for (element, &at) in self.live.iter().enumerate() {
                // Of two at the same time the lower number comes first.
                if at < first.0 {
                    first = (at, element as u32);
                }
            }
            return first.0.is_set().then_some(first);
        }
        loop {
            let k = *self.heap.first()?;
            let (at, element) = (time_of(k), k as u32);
            if self.live[element as usize] == at {
                return Some((at, element));
            }
            self.remove_top();
        }
    }

    /// The element that [`Events::earliest`] returned was visited and is due again at `at`.
    #[inline]
    pub fn done(&mut self, element: u32, at: Time) {
        if self.few {
            self.live[element as usize] = at;
            return;
        }
        if self.heap[0] as u32 != element {
            return self.done_behind(element, at);
        }
        self.live[element as usize] = at;
        if at.is_set() {
            self.heap[0] = key(at, element);
            self.sift_down();
        } else {
            self.remove_top();
        }
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
        before_it(4);
        before_it(FEW + 1);
    }

    fn before_it(n: usize) {
        let mut e = Events::new(n);
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
        for n in [5, FEW, FEW + 1, 50] {
            visits_in_order(n);
        }
    }

    fn visits_in_order(n: usize) {
        let mut rng = Stream::named(1, 0, "events");
        let mut e = Events::new(n);
        let mut due = vec![Time::NEVER; n];
        let mut last = (Time::ZERO, 0);
        for _ in 0..20_000 {
            for _ in 0..2 {
                let i = rng.below(n as u64) as usize;
                let at = Time(last.0 .0 + rng.below(40));
                // Later deadlines are set without telling the queue.
                due[i] = at;
                e.schedule(i as u32, at);
            }
            let Some((at, element)) = e.earliest() else { continue };
            assert!(at >= last.0);
            last = (at, element);
            let i = element as usize;
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
        let mut e = Events::new(n);
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
