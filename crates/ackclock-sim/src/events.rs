//! The event queue: one pending event per element, and for endpoints a second one, their departure.
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
//!
//! The departures of paced segments come and go while the timers stay where they are. In one heap each of them would
//! leave an entry of its endpoint's timers behind, to be ignored; so they are kept apart, in a calendar.

mod departures;
mod few;
mod waiting;

use ackclock_core::time::Time;
use departures::Departures;
use few::{FEW, Few};
use waiting::Waiting;

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
const fn time_of(k: Key) -> Time {
    Time((k >> 64) as u64)
}

/// Pending events of elements that are numbered from zero, and of [`LAST`].
#[derive(Clone, Debug)]
pub struct Events {
    /// The first elements, if they are few.
    few: Few,
    /// The others.
    others: Waiting,
    /// The departures of those that have any.
    departures: Departures,
    /// When [`LAST`] is due.
    last: Time,
    /// The earliest of the others, departures and [`LAST`].
    top: Key,
}

impl Events {
    /// For elements `0..busy + endpoints`, none of which is due. The `busy` ones have most of the events; only the others
    /// have departures.
    pub fn new(busy: usize, endpoints: usize) -> Events {
        Events {
            few: Few::new(if busy <= FEW { busy } else { 0 }),
            others: Waiting::new(busy + endpoints),
            departures: Departures::new(busy + endpoints),
            last: Time::NEVER,
            top: NOTHING,
        }
    }

    /// Adds `more` elements behind those there are, none of which is due.
    pub fn grow(&mut self, more: usize) {
        self.others.grow(more);
        self.departures.grow(more);
    }

    /// Makes sure that `element` is visited at `at` or before.
    #[inline]
    pub fn schedule(&mut self, element: u32, at: Time) {
        if self.few.has(element) {
            self.schedule_few(element, at);
        } else if self.others.schedule(element, at) {
            self.top = self.top.min(key(at, element));
        }
    }

    /// Makes sure that `element` is visited for its departure at `at` or before; it is `now`.
    #[inline]
    pub fn schedule_departure(&mut self, element: u32, now: Time, at: Time) {
        if self.departures.schedule(element, now, at) {
            self.top = self.top.min(key(at, element));
        }
    }

    #[inline]
    fn schedule_few(&mut self, element: u32, at: Time) {
        if at < self.few.due(element) {
            self.few.set(element, at);
        }
    }

    /// A time not later than when `element`, which is not one of the busy ones, is due for anything but its departure.
    #[inline]
    pub fn due_bound(&self, element: u32) -> Time {
        self.others.bound(element)
    }

    /// `element` is not due any more: it begins anew, and no entry of before wakes it. It may be the one that is visited.
    /// It is not one of the busy ones.
    pub fn forget(&mut self, element: u32) {
        debug_assert!(!self.few.has(element));
        self.others.forget(element);
        self.departures.forget(element);
        self.find_top();
    }

    /// Makes sure that [`LAST`] is visited at `at` or before.
    pub fn schedule_last(&mut self, at: Time) {
        self.last = self.last.min(at);
        self.top = self.top.min(key(at, LAST));
    }

    /// The next element to visit and the time. It stays in the queue until [`Events::done`] or [`Events::departed`].
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
            self.few.put_back(element, at);
        } else if element == LAST {
            self.last = at;
            self.find_top();
        } else {
            self.others.done(element, at);
            self.find_top();
        }
    }

    /// The element that [`Events::earliest`] returned was visited at `now` for its departure; the next one is at `at`.
    #[inline]
    pub fn departed(&mut self, element: u32, now: Time, at: Time) {
        self.departures.done(element, now, at);
        self.find_top();
    }

    /// Looks for the earliest of what is not in the row of the few.
    #[inline]
    fn find_top(&mut self) {
        self.top = self.others.first().min(self.departures.first()).min(key(self.last, LAST));
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
            assert!(e.others.entries() <= 2 * n, "what is ignored does not pile up");
        }
    }

    #[test]
    fn departures_come_in_order_with_all_others() {
        // Gaps of nanoseconds, a microsecond, a millisecond, and now and then of a minute; and of a second, for which days
        // get longer.
        let days = [&[3][..], &[10], &[20], &[10, 20, 36, 10], &[30]].map(departures_in_order);
        assert_eq!(days[..4], [1 << 10; 4]);
        assert!(days[4] > 1 << 10, "{days:?}");
    }

    /// Visits as the engine makes them: whoever is due for anything else is not visited for its departure alone. Returns how
    /// long days are in the end.
    fn departures_in_order(magnitudes: &[u32]) -> u64 {
        let mut rng = Stream::named(1, 0, "departures");
        let (busy, mut n) = (3, 40);
        let mut e = Events::new(busy, n - busy);
        let (mut due, mut leaves) = (vec![Time::NEVER; n], vec![Time::NEVER; n]);
        let (mut now, mut visits, mut departed) = (Time::ZERO, 0, 0);
        for turn in 0..15_000 {
            if turn == 7_000 {
                e.grow(5);
                n += 5;
                due.resize(n, Time::NEVER);
                leaves.resize(n, Time::NEVER);
            }
            for _ in 0..2 {
                let i = rng.below(n as u64) as usize;
                let magnitude = magnitudes[rng.below(magnitudes.len() as u64) as usize];
                let at = Time(now.0 + rng.below(1 << magnitude));
                if i >= busy && rng.below(4) > 0 {
                    leaves[i] = at;
                    e.schedule_departure(i as u32, now, at);
                } else {
                    due[i] = at;
                    e.schedule(i as u32, at);
                }
            }
            if rng.below(50) == 0 {
                let gone = busy + rng.below((n - busy) as u64) as usize;
                (due[gone], leaves[gone]) = (Time::NEVER, Time::NEVER);
                e.forget(gone as u32);
            }
            let Some((at, element)) = e.earliest() else { continue };
            assert!(at >= now);
            now = at;
            let earliest = (0..n).map(|i| (due[i].min(leaves[i]), i)).min();
            let i = element as usize;
            assert!(earliest.is_some_and(|first| first >= (at, i)), "nothing is overlooked");
            if i >= busy && e.due_bound(element) > now {
                assert!(due[i] > now);
                departed += u32::from(leaves[i] == now);
                if leaves[i] <= now {
                    leaves[i] = Time::NEVER;
                }
                e.departed(element, now, leaves[i]);
            } else {
                visits += u32::from(due[i] == now);
                if due[i] <= now {
                    due[i] = Time::NEVER;
                }
                e.done(element, due[i]);
            }
        }
        assert!(visits > 1_000 && departed > 1_000, "{visits} {departed}");
        e.departures.day()
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
            assert!(e.others.entries() <= 2 * n);
        }
        e.others.tidy();
        assert_eq!(e.others.entries(), n);
    }
}
