//! DropTail: first in, first out; what finds no room is dropped.

use super::{Backlog, Queue, Reason};
use crate::packet::Parcel;
use crate::ring::Ring;
use crate::time::Time;

/// The room of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most packets.
    pub packets: u64,
    /// Most bytes.
    pub bytes: u64,
    /// Whether the packet in transmission takes room (Linux netem, ns-3 devices) or not (ns-2).
    pub includes_service: bool,
}

impl Limits {
    /// Whether a packet of `len` bytes finds room. `waiting` excludes the packet `in_service`.
    #[inline]
    pub fn admit(&self, waiting: Backlog, in_service: Backlog, len: u32) -> bool {
        let (packets, bytes) = if self.includes_service {
            (waiting.packets + in_service.packets, waiting.bytes + in_service.bytes)
        } else if in_service.packets == 0 {
            // An idle link takes the packet at once: it never waits.
            return true;
        } else {
            (waiting.packets, waiting.bytes)
        };
        packets < self.packets && bytes + u64::from(len) <= self.bytes
    }
}

/// A FIFO with a limit.
#[derive(Clone, Debug)]
pub struct DropTail {
    limits: Limits,
    fifo: Ring<Parcel>,
    bytes: u64,
}

impl DropTail {
    /// An empty queue.
    pub fn new(limits: Limits) -> DropTail {
        DropTail { limits, fifo: Ring::default(), bytes: 0 }
    }
}

impl Queue for DropTail {
    fn enqueue(
        &mut self,
        _now: Time,
        parcel: Parcel,
        in_service: Backlog,
        sink: &mut dyn FnMut(Parcel, Reason),
    ) -> bool {
        if !self.limits.admit(self.backlog(), in_service, parcel.len) {
            sink(parcel, Reason::Full);
            return false;
        }
        self.bytes += u64::from(parcel.len);
        self.fifo.push(parcel);
        true
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn FnMut(Parcel, Reason)) -> Option<Parcel> {
        let parcel = self.fifo.pop()?;
        self.bytes -= u64::from(parcel.len);
        Some(parcel)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.fifo.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(limits: Limits, n: u64, in_service: u64) -> u64 {
        let mut q = DropTail::new(limits);
        let service = Backlog { packets: in_service, bytes: in_service * 1000 };
        let mut drops = 0;
        for id in 0..n {
            let p = Parcel { id: id as u32, len: 1000, ..Parcel::default() };
            q.enqueue(Time(id), p, service, &mut |_, _| drops += 1);
        }
        assert_eq!(q.backlog(), Backlog { packets: n - drops, bytes: (n - drops) * 1000 });
        drops
    }

    #[test]
    fn limits_count_what_they_say() {
        let packets = Limits { packets: 10, bytes: u64::MAX, includes_service: false };
        assert_eq!(fill(packets, 15, 1), 5);
        assert_eq!(fill(Limits { includes_service: true, ..packets }, 15, 1), 6);
        let bytes = Limits { packets: u64::MAX, bytes: 9_999, includes_service: false };
        assert_eq!(fill(bytes, 15, 1), 6);
    }
}
