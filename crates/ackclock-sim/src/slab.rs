//! Packets in flight: headers in a slab, named by their slot, and beside each where it comes from and how far it is.

use crate::routes::Route;
use crate::tap::Notes;
use ackclock_core::packet::{Ecn, Packet, Parcel};
use ackclock_core::path::Store;
use ackclock_core::queue::Reason;

/// No packet: a place on a link whose packet was lost.
pub const NONE: u32 = u32::MAX;

/// Slots that are made at a time.
const MADE_TOGETHER: usize = 256;

/// A packet in flight, in a cache line of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Slot {
    /// The packet.
    pub packet: Packet,
    /// Who sent it: twice the connection's number, plus one for its server.
    pub side: u32,
    /// Where the table of routes says what comes after the element it is in.
    pub next: u32,
    /// Class of service.
    pub class: u8,
    /// Which of the connections that had the sender's place sent it.
    pub generation: u16,
    /// Whether it is the second of two that a medium made of one.
    pub copy: bool,
}

/// What a connection puts on its packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// How many connections had the place before, modulo 2^16: a packet would have to be under way for as many of them to
    /// be taken for one of another connection.
    pub generation: u16,
    /// Class of service.
    pub class: u8,
}

const _: () = assert!(std::mem::size_of::<Slot>() == 64);

impl Slot {
    /// The packet leaves `side` on `route`.
    #[inline]
    pub fn leaves(&mut self, side: u32, route: Route, stamp: Stamp) {
        (self.side, self.next, self.copy) = (side, route.next, false);
        (self.generation, self.class) = (stamp.generation, stamp.class);
    }

    /// What an element is told of the packet, besides its name and length.
    #[inline]
    pub fn parcel(&self) -> Parcel {
        let (ecn, data) = (self.packet.ecn(), self.packet.payload() > 0);
        Parcel { flow: self.connection(), class: self.class, ecn, data, ..Parcel::default() }
    }

    /// Number of the connection it belongs to.
    #[inline]
    pub fn connection(&self) -> u32 {
        self.side / 2
    }
}

/// Packets with a free list. Freed slots are used again first, while they are in the cache.
#[derive(Clone, Debug, Default)]
pub struct Slab {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// What captures keep with packets, if somebody captures.
    notes: Option<Box<Notes>>,
}

impl Slab {
    /// Takes a slot, which may hold an old packet.
    #[inline]
    pub fn reserve(&mut self) -> u32 {
        match self.free.pop() {
            Some(id) => id,
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let first = self.slots.len();
        if first == self.slots.capacity() {
            // In large steps: what is aligned to cache lines cannot grow in place.
            self.slots.reserve_exact((3 * first).max(MADE_TOGETHER));
            self.free.reserve(self.slots.capacity());
        }
        let end = self.slots.capacity().min(first + MADE_TOGETHER);
        self.slots.resize(end, Slot::default());
        self.free.extend((first as u32 + 1..end as u32).rev());
        first as u32
    }

    /// Slot `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &Slot {
        &self.slots[id as usize]
    }

    /// Slot `id`.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Slot {
        &mut self.slots[id as usize]
    }

    /// Slot `id` will be needed soon: brings it near by reading it, for nothing waits. Of thousands of packets in flight the
    /// next is seldom in the first-level cache.
    #[inline]
    pub fn fetch(&self, id: u32) {
        if let Some(slot) = self.slots.get(id as usize) {
            std::hint::black_box(slot.next);
        }
    }

    /// Packet `id` of `len` bytes as an element sees it.
    #[inline]
    pub fn parcel(&self, id: u32, len: u32) -> Parcel {
        Parcel { id, len, ..self.get(id).parcel() }
    }

    /// Frees slot `id`.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// What captures keep with packets, from now on.
    pub(crate) fn notes(&mut self) -> &mut Notes {
        self.notes.get_or_insert_default()
    }

    /// Every slot that is taken.
    pub fn each(&self, mut f: impl FnMut(u32, &Slot)) {
        let mut taken = vec![true; self.slots.len()];
        for id in &self.free {
            taken[*id as usize] = false;
        }
        for (id, slot) in self.slots.iter().enumerate().filter(|(id, _)| taken[*id]) {
            f(id as u32, slot);
        }
    }

    /// Packets in flight.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Store for Slab {
    fn drop(&mut self, id: u32) {
        if let Some(notes) = &mut self.notes {
            notes.dropped(id, "lost");
        }
        self.remove(id);
    }

    fn dropped(&mut self, id: u32, reason: Reason) {
        if let Some(notes) = &mut self.notes {
            notes.dropped(id, reason.name());
        }
        self.remove(id);
    }

    fn mark(&mut self, id: u32) {
        self.get_mut(id).packet.set_ecn(Ecn::Ce);
    }

    fn duplicate(&mut self, id: u32) -> Option<u32> {
        let copy = self.reserve();
        *self.get_mut(copy) = Slot { copy: true, ..*self.get(id) };
        if let Some(notes) = &mut self.notes {
            notes.copied(id, copy);
        }
        Some(copy)
    }
}
