//! The event queue: one pending event per element.
//!
//! Links and delay lines carry nearly every event and are few: their deadlines stand in a short sorted row, in which
//! one that was visited has few others to pass. Endpoints are many and wait for timers that hardly ever expire:
//! theirs are in a flat four-ary heap, of which an event on a link sees the top alone, so that it costs the same
//! whether a thousand endpoints wait or one. Where links are many they stand in the heap, too.
//!
//! An element's due time is what counts; the heap only has to hold an entry at or before it. A deadline that moves
//! later pushes nothing: its old entry comes to the front and is moved (a retransmission timer restarted on every
//! acknowledgment costs nothing). One that moves earlier pushes an entry into a second heap and leaves the first in
//! place, to which the element comes back when it was visited: a paced sender waits a moment for its next segment and long
//! for its timeout, and only the moment is pushed and removed for each. What is left there of a deadline that moved
//! earlier once more is recognised by its time and ignored, and forgotten before such entries pile up. Events at the same nanosecond run in the order of
//! the elements, which are links, delay lines, other elements of a path, endpoints, sampler: an arrival is handled before
//! the timer it would have stopped. So the order does not depend on how events came to be scheduled.

mod few;
mod heap;

use ackclock_core::time::Time;
use few::{FEW, Few};
use heap::Heap;

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
    /// When each element is due.
    live: Vec<Time>,
    /// The time of the entry that an element has in `far`, never if it has none.
    held: Vec<Time>,
    /// The first elements, if they are few.
    few: Few,
    /// An entry of each of the others that was ever due, at the time at which it is due, before, or, with another one in
    /// `near`, behind.
    far: Heap,
    /// Entries of those that are due before their entry in `far`: what waits for a timer far away is also woken for something
    /// near, again and again, and the one need not pass the other.
    near: Heap,
    /// When [`LAST`] is due.
    last: Time,
    /// The earliest of the others and [`LAST`].
    top: Key,
    /// Entries that `near` may have before those to be ignored are looked for.
    most: usize,
}

impl Events {
    /// For elements `0..busy + others`, none of which is due. The `busy` ones have most of the events.
    pub fn new(busy: usize, others: usize) -> Events {
        let few = Few::new(if busy <= FEW { busy } else { 0 });
        let n = busy + others;
        let (live, held) = (vec![Time::NEVER; n], vec![Time::NEVER; n]);
        let (far, near) = (Heap::with_capacity(n), Heap::default());
        Events { live, held, few, far, near, last: Time::NEVER, top: NOTHING, most: 2 * n }
    }

    /// Adds `more` elements behind those there are, none of which is due.
    pub fn grow(&mut self, more: usize) {
        let n = self.live.len() + more;
        self.live.resize(n, Time::NEVER);
        self.held.resize(n, Time::NEVER);
        self.most = 2 * n;
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

    /// `element`, which was not due before, is due at `at`. An entry that is earlier is there in its place.
    #[inline(never)]
    fn push(&mut self, element: u32, at: Time) {
        let held = &mut self.held[element as usize];
        if *held <= at {
            return;
        }
        let k = key(at, element);
        if held.is_set() {
            if self.near.len() >= self.most {
                self.forget_ignored();
            }
            self.near.push(k);
        } else {
            *held = at;
            self.far.push(k);
        }
        self.top = self.top.min(k);
    }

    /// Drops the entries in `near` that would be ignored when their time came.
    #[cold]
    fn forget_ignored(&mut self) {
        let live = &self.live;
        self.near.retain(|k| live[k as u32 as usize] == time_of(k));
    }

    /// The next element to visit and the time. It stays in the queue until [`Events::done`].
    #[inline]
    pub fn earliest(&self) -> Option<(Time, u32)> {
        // Of two at the same time the lower number comes first.
        let first = self.few.first().min(self.top);
        let at = time_of(first);
        at.is_set().then_some((at, first as u32))
    }

    /// Whether [`LAST`], or an element that is not one of the busy ones, may be due at `at` or before.
    #[inline]
    pub fn is_behind(&self, at: Time) -> bool {
        time_of(self.top) <= at
    }

    /// The busy elements and when they are due, the earliest first; none where they are many.
    #[inline]
    pub fn busy(&self) -> impl Iterator<Item = (Time, u32)> {
        self.few.all().iter().map(|k| (time_of(*k), *k as u32))
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
            self.done_in_heaps(element, at);
        }
    }

    #[inline]
    fn done_in_heaps(&mut self, element: u32, at: Time) {
        let visited = key(self.live[element as usize], element);
        self.live[element as usize] = at;
        let held = self.held[element as usize];
        if self.near.first() == Some(visited) {
            if at < held {
                self.near.replace_first(key(at, element));
            } else {
                self.near.remove_first();
            }
        } else if at < held {
            // The visit made an element of a lower number due at once, whose entry stands in front; that of the visit is
            // left to be recognised by its time.
            self.push(element, at);
        }
        self.find_top();
    }

    /// Looks for the earliest of what is not in the row of the few. Entries that say too early come to where their elements
    /// are due, and those to be ignored go.
    #[inline]
    fn find_top(&mut self) {
        self.top = key(self.last, LAST);
        while let Some(k) = self.near.first() {
            if self.live[k as u32 as usize] == time_of(k) {
                self.top = self.top.min(k);
                break;
            }
            self.near.remove_first();
        }
        while let Some(k) = self.far.first() {
            // What says too late has an entry in `near`, which is in front of it.
            if k >= self.top || self.live[k as u32 as usize] <= time_of(k) {
                self.top = self.top.min(k);
                return;
            }
            self.postpone(k as u32);
        }
    }

    /// The first entry in `far`, that of `element`, says too early.
    fn postpone(&mut self, element: u32) {
        let at = self.live[element as usize];
        self.held[element as usize] = at;
        if at.is_set() {
            self.far.replace_first(key(at, element));
        } else {
            self.far.remove_first();
        }
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
            assert!(e.far.len() <= n && e.near.len() <= 2 * n, "what is ignored does not pile up");
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
            assert!(e.far.len() + e.near.len() <= 2 * n);
        }
        e.forget_ignored();
        assert_eq!((e.far.len(), e.near.len()), (n, 0));
    }
}
