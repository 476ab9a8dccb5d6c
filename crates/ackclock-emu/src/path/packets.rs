//! The bytes of packets that are under way.

use ackclock_core::packet::wire::set_ecn;
use ackclock_core::packet::{Ecn, Parcel};
use ackclock_core::path::Store;
use ackclock_core::time::Time;

/// Slots whose bytes lie together.
const CHUNK: usize = 256;

/// What is known of a packet besides its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// Bytes of the packet.
    pub len: u32,
    /// Who sent it: twice the number of the flow, plus one for its sink.
    pub side: u32,
    /// Where the table of routes says what comes after the element it is in.
    pub next: u32,
    /// The last link it has passed.
    pub link: u32,
    /// Its number among the streams that queues tell apart.
    pub stream: u32,
    /// Payload of its transport.
    pub payload: u32,
    /// Class of service.
    pub class: u8,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Whether it is the second of two that a medium made of one.
    pub copy: bool,
    /// Its transport's checksum is known to be right: it was made here.
    pub sound: bool,
    /// Whether the slot is taken.
    pub taken: bool,
    /// When it entered the path.
    pub entered: Time,
}

/// Packets in slots of equal size, with a free list. Nothing is allocated per packet once there are as many slots as packets
/// are under way at a time.
#[derive(Debug)]
pub struct Packets {
    size: usize,
    chunks: Vec<Box<[u8]>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Packets {
    /// For packets of at most `size` bytes.
    pub fn new(size: usize) -> Packets {
        Packets { size, chunks: Vec::new(), slots: Vec::new(), free: Vec::new() }
    }

    /// A free slot, which the next call gives again unless it was taken.
    pub fn spare(&mut self) -> u32 {
        if let Some(id) = self.free.last() {
            return *id;
        }
        let first = self.slots.len();
        self.reserve(first + 1);
        first as u32
    }

    /// Makes room for so many packets at once.
    pub fn reserve(&mut self, packets: usize) {
        while self.slots.len() < packets {
            let first = self.slots.len();
            self.chunks.push(vec![0; CHUNK * self.size].into_boxed_slice());
            self.slots.resize(first + CHUNK, Slot::default());
            self.free.extend((first..first + CHUNK).rev().map(|id| id as u32));
        }
    }

    fn place(&self, id: u32) -> (usize, usize) {
        (id as usize / CHUNK, id as usize % CHUNK * self.size)
    }

    /// All bytes that slot `id` has room for.
    pub fn room(&mut self, id: u32) -> &mut [u8] {
        let (chunk, at) = self.place(id);
        &mut self.chunks[chunk][at..at + self.size]
    }

    /// The packet in slot `id`.
    pub fn bytes(&self, id: u32) -> &[u8] {
        let (chunk, at) = self.place(id);
        &self.chunks[chunk][at..at + self.slots[id as usize].len as usize]
    }

    /// Takes the slot that [`Packets::spare`] gave.
    pub fn take(&mut self, id: u32, slot: Slot) {
        debug_assert_eq!(self.free.last(), Some(&id), "the spare slot is the one to be taken");
        self.free.pop();
        self.slots[id as usize] = Slot { taken: true, ..slot };
    }

    /// What is known of the packet in slot `id`.
    pub fn get(&self, id: u32) -> &Slot {
        &self.slots[id as usize]
    }

    /// What is known of the packet in slot `id`.
    pub fn get_mut(&mut self, id: u32) -> &mut Slot {
        &mut self.slots[id as usize]
    }

    /// What an element is told of the packet in slot `id`.
    pub fn parcel(&self, id: u32) -> Parcel {
        let slot = self.get(id);
        Parcel {
            id,
            len: slot.len,
            flow: slot.stream,
            class: slot.class,
            ecn: slot.ecn,
            data: slot.payload > 0,
            ..Parcel::default()
        }
    }

    /// Frees slot `id`.
    pub fn remove(&mut self, id: u32) {
        self.slots[id as usize].taken = false;
        self.free.push(id);
    }

    /// The packets under way.
    pub fn each(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.taken)
    }
}

impl Store for Packets {
    fn drop(&mut self, id: u32) {
        self.remove(id);
    }

    fn mark(&mut self, id: u32) {
        self.get_mut(id).ecn = Ecn::Ce;
        let (chunk, at) = self.place(id);
        // What entered had a header that can be read, so its field can be written.
        let written = set_ecn(&mut self.chunks[chunk][at..at + self.size], Ecn::Ce);
        debug_assert_eq!(written, Ok(()));
    }

    fn duplicate(&mut self, id: u32) -> Option<u32> {
        let copy = self.spare();
        let slot = Slot { copy: true, ..*self.get(id) };
        let bytes = slot.len as usize;
        let ((from, a), (to, b)) = (self.place(id), self.place(copy));
        if from == to {
            self.chunks[from].copy_within(a..a + bytes, b);
        } else {
            let (head, tail) = self.chunks.split_at_mut(from.max(to));
            let (low, high) = (&mut head[from.min(to)], &mut tail[0]);
            let (source, target) = if from < to { (low, high) } else { (high, low) };
            target[b..b + bytes].copy_from_slice(&source[a..a + bytes]);
        }
        self.take(copy, slot);
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::wire::Ipv4;

    fn with_packet(packets: &mut Packets, last: u8) -> u32 {
        let id = packets.spare();
        let header = Ipv4 { ecn: Ecn::Ect0, ttl: 64, total_len: 21, ..Ipv4::default() };
        header.write(packets.room(id)).unwrap();
        packets.room(id)[20] = last;
        packets.take(id, Slot { len: 21, ecn: Ecn::Ect0, ..Slot::default() });
        id
    }

    #[test]
    fn a_mark_leaves_a_valid_header_and_the_payload() {
        let mut packets = Packets::new(64);
        let id = with_packet(&mut packets, 7);
        packets.mark(id);
        assert_eq!(Ipv4::checksum_holds(packets.bytes(id)), Some(true));
        assert_eq!(Ipv4::parse(packets.bytes(id)).unwrap().ecn, Ecn::Ce);
        assert_eq!((packets.bytes(id)[20], packets.get(id).ecn), (7, Ecn::Ce));
    }

    #[test]
    fn copies_have_the_same_bytes_within_a_chunk_and_across_two() {
        let mut packets = Packets::new(64);
        let first = with_packet(&mut packets, 9);
        for _ in 0..2 * CHUNK {
            let copy = packets.duplicate(first).unwrap();
            assert!(packets.get(copy).copy && packets.bytes(copy) == packets.bytes(first));
        }
        assert_eq!(packets.each().count(), 2 * CHUNK + 1);
        packets.drop(first);
        assert_eq!((packets.each().count(), packets.spare()), (2 * CHUNK, first));
    }
}
