//! The departures of paced segments: a calendar queue (Brown 1988, "Calendar queues").
//!
//! A sender that is paced leaves one entry after the other, each a gap ahead, and with a hundred of them a heap would be
//! sorted for each. A calendar has a day for every so many nanoseconds and finds the next day with an entry by its bits, so
//! that an entry costs the same however many wait. What is more than a year ahead waits in a heap. Which of the two an
//! entry is in, and how long a day is, changes time only: the earliest entry is the earliest either way.

use super::waiting::Waiting;
use super::{Key, NOTHING, key, time_of};
use ackclock_core::time::Time;

/// Days of a year: as many as a word has bits, squared.
const DAYS: usize = 64 * 64;
/// No element: the end of the list of a day.
const END: u32 = u32::MAX;
/// Nanoseconds of a day at first, as a power of two.
const SHORTEST_DAY: u32 = 10;
/// How many more entries have to lie beyond a year than within before days get longer.
const TOO_MANY_BEYOND: u32 = 256;

/// At most one departure per element.
#[derive(Clone, Debug)]
pub(super) struct Departures {
    /// When each element's next segment leaves.
    due: Vec<Time>,
    /// The next element of the same day.
    next: Vec<u32>,
    /// The first element of each day.
    days: Vec<u32>,
    /// Which days have any, and which words of that are not zero.
    bits: [u64; 64],
    words: u64,
    /// Length of a day, as a power of two.
    day: u32,
    /// The present day, not modulo the year: none of the entries lies before it, and those of the calendar less than a year
    /// behind it.
    today: u64,
    /// What lies further ahead.
    beyond: Waiting,
    /// Counts entries beyond the year, less those within.
    excess: u32,
    /// The earliest entry, which is neither in the calendar nor in the heap: a single flow needs nothing else.
    top: Key,
}

impl Departures {
    /// For elements `0..count`, none of which is due.
    pub fn new(count: usize) -> Departures {
        Departures {
            due: vec![Time::NEVER; count],
            next: vec![END; count],
            days: Vec::new(),
            bits: [0; 64],
            words: 0,
            day: SHORTEST_DAY,
            today: 0,
            beyond: Waiting::new(count),
            excess: 0,
            top: NOTHING,
        }
    }

    /// Adds `more` elements behind those there are, none of which is due.
    pub fn grow(&mut self, more: usize) {
        self.due.resize(self.due.len() + more, Time::NEVER);
        self.next.resize(self.due.len(), END);
        self.beyond.grow(more);
    }

    /// The earliest entry; of two at the same time that of the lower number.
    #[inline]
    pub fn first(&self) -> Key {
        self.top
    }

    /// Makes sure that `element` is visited at `at` or before; it is `now`. Says whether it would have been too late.
    #[inline]
    pub fn schedule(&mut self, element: u32, now: Time, at: Time) -> bool {
        let due = self.due[element as usize];
        if at >= due {
            return false;
        }
        if due.is_set() {
            self.remove(element);
        }
        self.today = now.0 >> self.day;
        self.due[element as usize] = at;
        let k = key(at, element);
        if k < self.top {
            let later = std::mem::replace(&mut self.top, k);
            if later != NOTHING {
                self.insert(later as u32, time_of(later));
            }
        } else {
            self.insert(element, at);
        }
        true
    }

    /// `element` is not due any more.
    pub fn forget(&mut self, element: u32) {
        if self.due[element as usize].is_set() {
            self.remove(element);
            if self.top == NOTHING {
                self.find_top(NOTHING);
            }
        }
    }

    /// `element`, whose entry was the earliest, was visited at `now` and is due again at `at`.
    #[inline]
    pub fn done(&mut self, element: u32, now: Time, at: Time) {
        if self.top as u32 != element {
            return self.done_behind(element, now, at);
        }
        self.today = now.0 >> self.day;
        self.due[element as usize] = at;
        let k = if at.is_set() { key(at, element) } else { NOTHING };
        if self.words == 0 && self.beyond.first() == NOTHING {
            self.top = k;
        } else {
            self.find_top(k);
        }
    }

    /// The visit made another one due at once.
    #[cold]
    fn done_behind(&mut self, element: u32, now: Time, at: Time) {
        if self.due[element as usize].is_set() {
            self.remove(element);
        }
        if at.is_set() {
            self.schedule(element, now, at);
        }
    }

    /// Enters `element`, which is due at `at`, into the calendar or the heap.
    #[inline]
    fn insert(&mut self, element: u32, at: Time) {
        let day = at.0 >> self.day;
        // What is late counts as far ahead: the heap takes anything.
        if day.wrapping_sub(self.today) >= DAYS as u64 {
            return self.insert_beyond(element, at);
        }
        self.excess = self.excess.saturating_sub(1);
        if self.days.is_empty() {
            self.days.resize(DAYS, END); // only who paces needs them
        }
        let day = day as usize % DAYS;
        self.next[element as usize] = self.days[day];
        self.days[day] = element;
        self.bits[day / 64] |= 1 << (day % 64);
        self.words |= 1 << (day / 64);
    }

    #[cold]
    fn insert_beyond(&mut self, element: u32, at: Time) {
        self.beyond.schedule(element, at);
        self.excess += 1;
        if self.excess > TOO_MANY_BEYOND && self.day < 40 {
            self.lengthen_days();
        }
    }

    /// Makes days four times as long, so that a year holds more of what comes.
    fn lengthen_days(&mut self) {
        self.excess = 0;
        let mut entries = Vec::new();
        for first in std::mem::take(&mut self.days) {
            let mut element = first;
            while element != END {
                entries.push(element);
                element = self.next[element as usize];
            }
        }
        (self.bits, self.words) = ([0; 64], 0);
        self.day += 2;
        self.today >>= 2;
        for element in entries {
            self.insert(element, self.due[element as usize]);
        }
    }

    /// Takes the entry of `element` out.
    #[inline]
    fn remove(&mut self, element: u32) {
        let at = std::mem::replace(&mut self.due[element as usize], Time::NEVER);
        if self.top as u32 == element {
            self.top = NOTHING;
            return;
        }
        self.remove_from_calendar(element, at);
    }

    #[inline]
    fn remove_from_calendar(&mut self, element: u32, at: Time) {
        let day = (at.0 >> self.day) as usize % DAYS;
        match self.days.get(day) {
            Some(&first) if first == element => {
                let next = self.next[element as usize];
                self.days[day] = next;
                if next == END {
                    self.bits[day / 64] &= !(1 << (day % 64));
                    if self.bits[day / 64] == 0 {
                        self.words &= !(1 << (day / 64));
                    }
                }
            }
            _ => self.remove_behind(element, day),
        }
    }

    /// It is not the first of its day, or it is beyond the year.
    #[inline(never)]
    fn remove_behind(&mut self, element: u32, day: usize) {
        let mut at = self.days.get(day).copied().unwrap_or(END);
        while at != END {
            let next = self.next[at as usize];
            if next == element {
                self.next[at as usize] = self.next[element as usize];
                return;
            }
            at = next;
        }
        self.beyond.forget(element);
    }

    /// Takes the earliest entry out of calendar and heap, unless `k` is earlier, which is entered otherwise.
    #[inline]
    fn find_top(&mut self, k: Key) {
        let mut top = self.beyond.first();
        if self.words != 0 {
            let mut element = self.days[self.first_day()];
            while element != END {
                top = top.min(key(self.due[element as usize], element));
                element = self.next[element as usize];
            }
        }
        if top < k {
            self.remove_from_calendar(top as u32, time_of(top));
            if k != NOTHING {
                self.insert(k as u32, time_of(k));
            }
        }
        self.top = top.min(k);
    }

    /// The next day from today on that has an entry; there is one.
    #[inline]
    fn first_day(&self) -> usize {
        let today = self.today as usize % DAYS;
        let (word, bit) = (today / 64, today % 64);
        let rest = self.bits[word] >> bit;
        if rest != 0 {
            return today + rest.trailing_zeros() as usize;
        }
        // The words behind that of today come first, then those before it, then what of its own lies before today.
        let behind = self.words.rotate_right(word as u32 + 1);
        let word = (word + 1 + behind.trailing_zeros() as usize) % 64;
        word * 64 + self.bits[word].trailing_zeros() as usize
    }

    /// Length of a day in nanoseconds: for tests.
    #[cfg(test)]
    pub fn day(&self) -> u64 {
        1 << self.day
    }
}
