//! What a fair scheduler keeps: a FIFO per flow, all in one slab of packets.
//!
//! Flows are found by their number, which is dense: the table grows to the largest number seen. The slots of packets
//! that left are used again, so nothing is allocated per packet once the queue has been as long as it gets.

use crate::packet::Parcel;
use crate::queue::Backlog;
use crate::queue::fattest::Sizes;

const NONE: u32 = u32::MAX;

/// A packet with its neighbours in its flow.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// What the scheduler noted about it at its arrival.
    tag: u128,
    parcel: Parcel,
    /// The packet before it in its flow.
    before: u32,
    /// The packet after it, or the next free slot.
    after: u32,
}

/// A flow's packets.
#[derive(Clone, Copy, Debug)]
struct Flow {
    first: u32,
    last: u32,
    packets: u32,
}

const EMPTY: Flow = Flow { first: NONE, last: NONE, packets: 0 };

/// The packets that wait, by flow.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    slots: Vec<Slot>,
    free: u32,
    flows: Vec<Flow>,
    sizes: Sizes,
    total: Backlog,
}

impl Flows {
    /// No packets.
    pub fn new() -> Flows {
        Flows { slots: Vec::new(), free: NONE, flows: Vec::new(), sizes: Sizes::default(), total: Backlog::default() }
    }

    /// All that waits.
    #[inline]
    pub fn total(&self) -> Backlog {
        self.total
    }

    /// How many packets of `flow` wait.
    #[inline]
    pub fn packets(&self, flow: u32) -> u64 {
        self.flows.get(flow as usize).map_or(0, |f| u64::from(f.packets))
    }

    /// The bytes of `flow`.
    #[inline]
    pub fn bytes(&self, flow: u32) -> u64 {
        if (flow as usize) < self.flows.len() { self.sizes.get(flow as usize) } else { 0 }
    }

    /// The flow with the most bytes, and its bytes.
    pub fn longest(&mut self) -> Option<(u32, u64)> {
        let (flow, bytes) = self.sizes.fattest()?;
        Some((flow as u32, bytes))
    }

    /// The first packet of `flow`, with its tag.
    #[inline]
    pub fn first(&self, flow: u32) -> Option<(&Parcel, u128)> {
        let flow = self.flows.get(flow as usize)?;
        self.slots.get(flow.first as usize).map(|s| (&s.parcel, s.tag))
    }

    /// Appends `parcel` to its flow.
    pub fn push(&mut self, parcel: Parcel, tag: u128) {
        let n = parcel.flow as usize;
        if self.flows.len() <= n {
            self.flows.resize(n + 1, EMPTY);
            self.sizes.grow(n + 1);
        }
        let slot = Slot { tag, parcel, before: self.flows[n].last, after: NONE };
        let i = self.take(slot);
        let flow = &mut self.flows[n];
        match self.slots.get_mut(flow.last as usize) {
            Some(last) => last.after = i,
            None => flow.first = i,
        }
        flow.last = i;
        flow.packets += 1;
        self.sizes.add(n, parcel.len);
        self.total.packets += 1;
        self.total.bytes += u64::from(parcel.len);
    }

    /// Removes the first packet of `flow`.
    pub fn pop_first(&mut self, flow: u32) -> Option<Parcel> {
        let f = self.flows.get_mut(flow as usize)?;
        let i = f.first;
        let slot = *self.slots.get(i as usize)?;
        f.first = slot.after;
        match self.slots.get_mut(slot.after as usize) {
            Some(next) => next.before = NONE,
            None => f.last = NONE,
        }
        self.release(i);
        Some(slot.parcel)
    }

    /// Removes the last packet of `flow`.
    pub fn pop_last(&mut self, flow: u32) -> Option<Parcel> {
        let f = self.flows.get_mut(flow as usize)?;
        let i = f.last;
        let slot = *self.slots.get(i as usize)?;
        f.last = slot.before;
        match self.slots.get_mut(slot.before as usize) {
            Some(next) => next.after = NONE,
            None => f.first = NONE,
        }
        self.release(i);
        Some(slot.parcel)
    }

    /// A slot for a packet: a free one, or one more.
    fn take(&mut self, slot: Slot) -> u32 {
        let i = self.free;
        match self.slots.get_mut(i as usize) {
            Some(old) => {
                self.free = old.after;
                *old = slot;
                i
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Gives slot `i` back, whose packet has been unlinked.
    fn release(&mut self, i: u32) {
        let slot = &mut self.slots[i as usize];
        slot.after = self.free;
        self.free = i;
        let (flow, len) = (slot.parcel.flow, slot.parcel.len);
        self.flows[flow as usize].packets -= 1;
        self.sizes.remove(flow as usize, len);
        self.total.packets -= 1;
        self.total.bytes -= u64::from(len);
    }
}

/// Makes room in a table by flow number.
#[inline]
pub(super) fn reach<T: Clone + Default>(table: &mut Vec<T>, flow: u32) -> &mut T {
    let n = flow as usize;
    if table.len() <= n {
        table.resize(n + 1, T::default());
    }
    &mut table[n]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use std::collections::VecDeque;

    #[test]
    fn it_agrees_with_a_list_per_flow() {
        let mut rng = Stream::named(1, 0, "flows");
        let mut flows = Flows::new();
        let mut lists: Vec<VecDeque<Parcel>> = vec![VecDeque::new(); 5];
        let bytes = |list: &VecDeque<Parcel>| list.iter().map(|p| u64::from(p.len)).sum::<u64>();
        let mut most = 0;
        for id in 0..20_000 {
            let flow = rng.below(5) as u32;
            let list = &mut lists[flow as usize];
            match rng.below(4) {
                0 => assert_eq!(flows.pop_first(flow), list.pop_front()),
                1 => assert_eq!(flows.pop_last(flow), list.pop_back()),
                _ if list.len() < 30 => {
                    let parcel = Parcel { id, flow, len: 40 + rng.below(1461) as u32, ..Parcel::default() };
                    flows.push(parcel, u128::from(id));
                    list.push_back(parcel);
                }
                _ => {}
            }
            let list = &lists[flow as usize];
            assert_eq!((flows.packets(flow), flows.bytes(flow)), (list.len() as u64, bytes(list)));
            assert_eq!(flows.first(flow), list.front().map(|p| (p, u128::from(p.id))));
            let packets = lists.iter().map(VecDeque::len).sum::<usize>();
            assert_eq!(flows.total(), Backlog { packets: packets as u64, bytes: lists.iter().map(bytes).sum() });
            let longest = lists.iter().map(bytes).max().filter(|b| *b > 0);
            assert_eq!(flows.longest().map(|(_, bytes)| bytes), longest);
            most = most.max(packets);
        }
        assert_eq!(flows.slots.len(), most, "slots are used again");
    }
}
