//! A queue that begins with room for one and doubles it: most connections have few segments out. Three words of its own, and
//! none on the heap while it is empty.

use super::packing::Coder;

/// Values in order, in a box whose room is a power of two.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    room: Option<Box<[T]>>,
    head: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring::EMPTY
    }
}

impl<T> Ring<T> {
    /// Without room.
    pub const EMPTY: Ring<T> = Ring { room: None, head: 0, len: 0 };
}

impl<T: Copy + Default> Ring<T> {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn room(&self) -> &[T] {
        self.room.as_deref().unwrap_or(&[])
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        (self.head as usize + index) & self.room().len().wrapping_sub(1)
    }

    /// Number `index` from the front.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        self.room().get(self.slot(index))
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len() {
            return None;
        }
        let slot = self.slot(index);
        self.room.as_deref_mut()?.get_mut(slot)
    }

    /// The first one.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        self.room().get(self.head as usize)
    }

    /// Adds one at the end.
    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.room().len() {
            self.resize((2 * self.len()).max(1));
        }
        let slot = self.slot(self.len());
        if let Some(place) = self.room.as_deref_mut().and_then(|room| room.get_mut(slot)) {
            *place = value;
            self.len += 1;
        }
    }

    /// Takes the first one.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.skip_first();
        Some(first)
    }

    /// Leaves the first one out, if there is one.
    #[inline]
    pub fn skip_first(&mut self) {
        if self.len > 0 {
            self.head = self.slot(1) as u32;
            self.len -= 1;
        }
    }

    /// Gives it room for `room`, which is at least what is in it.
    #[cold]
    fn resize(&mut self, room: usize) {
        let mut wider = Vec::with_capacity(room);
        let (front, back) = self.parts();
        wider.extend_from_slice(front);
        wider.extend_from_slice(back);
        wider.resize(room, T::default());
        (self.room, self.head) = (Some(wider.into_boxed_slice()), 0);
    }

    /// Front and back part.
    #[inline]
    fn parts(&self) -> (&[T], &[T]) {
        let (room, head) = (self.room(), self.head as usize);
        let (back, front) = room.split_at(head.min(room.len()));
        let first = front.len().min(self.len());
        (&front[..first], &back[..self.len() - first])
    }

    /// All, in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        let (front, back) = self.parts();
        front.iter().chain(back)
    }

    /// All from number `first` on.
    #[inline]
    pub fn from(&self, first: usize) -> impl Iterator<Item = &T> {
        let (front, back) = self.parts();
        let within = first.min(front.len());
        front[within..].iter().chain(&back[(first - within).min(back.len())..])
    }

    /// The first number of which `before` does not hold, where it holds for all up to some number and for none behind.
    #[inline]
    pub fn partition_point(&self, mut before: impl FnMut(&T) -> bool) -> usize {
        let (front, back) = self.parts();
        match front.last() {
            Some(last) if before(last) => front.len() + back.partition_point(before),
            _ => front.partition_point(before),
        }
    }

    /// Puts one before number `index`.
    pub fn insert(&mut self, index: usize, value: T) {
        self.push_back(value);
        let mut at = self.len() - 1;
        while at > index {
            let before = self.slot(at - 1);
            let moved = self.room()[before];
            if let Some(place) = self.get_mut(at) {
                *place = moved;
            }
            at -= 1;
        }
        if let Some(place) = self.get_mut(index) {
            *place = value;
        }
    }

    /// Changes all.
    pub fn change(&mut self, mut change: impl FnMut(&mut T)) {
        for index in 0..self.len() {
            if let Some(value) = self.get_mut(index) {
                change(value);
            }
        }
    }

    /// Keeps the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len as u32);
    }

    /// Empties it; room for more than `kept` is given back.
    pub fn clear(&mut self, kept: usize) {
        (self.head, self.len) = (0, 0);
        if self.room().len() > kept {
            self.room = None;
        }
    }

    /// Each with `each`; what is read comes into no more room than it needs, or `kept`.
    pub fn code<C: Coder>(&mut self, c: &mut C, kept: usize, mut each: impl FnMut(&mut C, &mut T)) {
        let mut count = self.len;
        c.int(&mut count);
        if C::READS {
            self.clear(kept);
        }
        for index in 0..count as usize {
            if C::READS {
                self.push_back(T::default());
            }
            if let Some(value) = self.get_mut(index) {
                each(c, value);
            }
        }
    }

    /// Gives back what room above `kept` it does not need.
    pub fn shrink(&mut self, kept: usize) {
        if self.room().len() <= kept {
            return;
        }
        let needed = self.len().next_power_of_two();
        if self.is_empty() {
            self.room = None;
        } else if needed < self.room().len() {
            self.resize(needed);
        }
    }
}
