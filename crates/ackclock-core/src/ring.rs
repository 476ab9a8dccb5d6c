//! A growable ring whose entries keep their number.
//!
//! Entry numbers count up from zero for ever, so others can point into the ring by number while entries leave at the
//! front. The capacity is a power of two and grows by doubling; in a steady state nothing is allocated.

/// A FIFO of `T` addressed by absolute entry number.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    head: u64,
    tail: u64,
}

impl<T: Copy + Default> Default for Ring<T> {
    fn default() -> Self {
        Ring { slots: Vec::new(), head: 0, tail: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    /// An empty ring with room for at least `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Ring { slots: vec![T::default(); capacity.next_power_of_two()], head: 0, tail: 0 }
    }

    /// Number of the first entry.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Number that the next pushed entry will get.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        (self.tail - self.head) as usize
    }

    /// True when there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    fn slot(&self, n: u64) -> usize {
        n as usize & (self.slots.len() - 1)
    }

    /// Appends an entry and returns its number.
    #[inline]
    pub fn push(&mut self, value: T) -> u64 {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let n = self.tail;
        let i = self.slot(n);
        self.slots[i] = value;
        self.tail += 1;
        n
    }

    #[cold]
    fn grow(&mut self) {
        let mut bigger = vec![T::default(); (self.slots.len() * 2).max(16)];
        let mask = bigger.len() - 1;
        for n in self.head..self.tail {
            bigger[n as usize & mask] = self.slots[self.slot(n)];
        }
        self.slots = bigger;
    }

    /// The first entry.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self.slots[self.slot(self.head)])
    }

    /// The last entry.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self.slots[self.slot(self.tail - 1)])
    }

    /// Removes and returns the first entry.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let v = self.slots[self.slot(self.head)];
        self.head += 1;
        Some(v)
    }

    /// Removes the first entry, which its caller has seen.
    #[inline]
    pub fn skip(&mut self) {
        debug_assert!(!self.is_empty());
        self.head += 1;
    }

    /// Removes the entries before number `n`, which its caller has seen.
    #[inline]
    pub fn skip_to(&mut self, n: u64) {
        debug_assert!(n >= self.head && n <= self.tail);
        self.head = n;
    }

    /// Removes and returns the last entry; the next one pushed gets its number.
    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.tail -= 1;
        Some(self.slots[self.slot(self.tail)])
    }

    /// Entry number `n`, which must be in `head..tail`.
    #[inline]
    pub fn get(&self, n: u64) -> &T {
        debug_assert!(n >= self.head && n < self.tail);
        &self.slots[self.slot(n)]
    }

    /// Entry number `n`, which may have left at the front since the last push.
    #[inline]
    pub fn get_left(&self, n: u64) -> &T {
        debug_assert!(n < self.tail && self.tail - n <= self.slots.len() as u64);
        &self.slots[self.slot(n)]
    }

    /// Entry number `n`, which must be in `head..tail`.
    #[inline]
    pub fn get_mut(&mut self, n: u64) -> &mut T {
        debug_assert!(n >= self.head && n < self.tail);
        let i = self.slot(n);
        &mut self.slots[i]
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn numbers_survive_growth_and_pops() {
        let mut r: Ring<u32> = Ring::default();
        for i in 0..1000u32 {
            assert_eq!(r.push(i), u64::from(i));
            if i % 3 == 0 {
                r.pop();
            }
        }
        for n in r.head()..r.tail() {
            assert_eq!(u64::from(*r.get(n)), n);
        }
        assert_eq!(r.len(), 666);
        assert_eq!(r.front().copied(), Some(334));
        assert_eq!(*r.get_left(333), 333, "what left stays until something takes its place");
        assert_eq!(r.back().copied(), Some(999));
        assert_eq!((r.pop_back(), r.back().copied(), r.push(7)), (Some(999), Some(998), 999));
    }

    #[test]
    fn an_empty_ring_has_nothing() {
        let mut r: Ring<u8> = Ring::with_capacity(3);
        assert!(r.is_empty() && r.front().is_none() && r.back().is_none() && r.pop().is_none());
    }
}
