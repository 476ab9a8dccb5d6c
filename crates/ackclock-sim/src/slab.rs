//! Packets in flight: headers in a slab, named by their slot.

use ackclock_core::tcp::Segment;

/// No packet: a place on a link whose packet was lost.
pub const NONE: u32 = u32::MAX;

/// Segments with a free list. Freed slots are used again first, while they are in the cache.
#[derive(Clone, Debug, Default)]
pub struct Slab {
    slots: Vec<Segment>,
    free: Vec<u32>,
}

impl Slab {
    /// Takes a slot, which may hold an old header.
    #[inline]
    pub fn reserve(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Segment::default());
            (self.slots.len() - 1) as u32
        })
    }

    /// The segment in slot `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &Segment {
        &self.slots[id as usize]
    }

    /// The segment in slot `id`.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Segment {
        &mut self.slots[id as usize]
    }

    /// Frees slot `id`.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Every slot that is taken.
    pub fn each(&self, mut f: impl FnMut(u32, &Segment)) {
        let mut taken = vec![true; self.slots.len()];
        for id in &self.free {
            taken[*id as usize] = false;
        }
        for (id, segment) in self.slots.iter().enumerate().filter(|(id, _)| taken[*id]) {
            f(id as u32, segment);
        }
    }

    /// Packets in flight.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
