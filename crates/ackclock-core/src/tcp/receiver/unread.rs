//! The memory that data in order takes in Linux until the application reads it.
//!
//! Where segments are not merged on their way in, the buffer of each has room for about as much again behind its payload: the
//! next segment is copied there and takes no memory of its own. A buffer is free when all of it has been read.

use crate::ring::Ring;

/// A buffer of the receive queue.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    /// Position behind its last byte.
    end: u64,
    /// Bytes that still fit behind it.
    room: u64,
    memory: u64,
}

/// Buffers that the application has not read, or not to their end.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    buffers: Ring<Buffer>,
    memory: u64,
}

impl Unread {
    /// The segment `from..end` came in order, in a buffer of `memory`.
    pub fn take(&mut self, from: u64, end: u64, memory: u64) {
        let bytes = end - from;
        self.put(end, bytes, Buffer { end, room: bytes, memory });
    }

    /// What was held out of order reaches from `from` to `end`, two segments of `mss` bytes in each buffer of `memory`.
    pub fn join(&mut self, mut from: u64, end: u64, mss: u64, memory: u64) {
        while from < end {
            let bytes = (end - from).min(2 * mss);
            from += bytes;
            self.put(from, bytes, Buffer { end: from, room: if bytes <= mss { bytes } else { 0 }, memory });
        }
    }

    /// The next `bytes`, which end at `end`, come into the last buffer if they fit there, or are `new`.
    fn put(&mut self, end: u64, bytes: u64, new: Buffer) {
        if let Some(last) = self.buffers.back().copied().filter(|b| b.room >= bytes) {
            self.buffers.pop_back();
            self.buffers.push(Buffer { end, room: last.room - bytes, ..last });
        } else {
            self.buffers.push(new);
            self.memory += new.memory;
        }
    }

    /// Where the first of them ends.
    pub fn first_end(&self) -> Option<u64> {
        self.buffers.front().map(|b| b.end)
    }

    /// The application has read everything before `pos`.
    pub fn release(&mut self, pos: u64) {
        while let Some(first) = self.buffers.front().copied().filter(|b| b.end <= pos) {
            self.buffers.skip();
            self.memory -= first.memory;
        }
    }

    /// Memory of all of them.
    pub fn memory(&self) -> u64 {
        self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_segments_share_a_buffer_until_both_are_read() {
        let mut unread = Unread::default();
        for n in 0..5 {
            unread.take(1 + 1000 * n, 1001 + 1000 * n, 1800);
        }
        assert_eq!((unread.memory(), unread.first_end()), (3 * 1800, Some(2001)));
        unread.release(2000);
        assert_eq!(unread.memory(), 3 * 1800, "a byte is left");
        unread.release(4500);
        assert_eq!((unread.memory(), unread.first_end()), (1800, Some(5001)));
        unread.take(5001, 6001, 1800);
        assert_eq!(unread.memory(), 1800, "read in part, it has room all the same");
        unread.release(6001);
        assert_eq!((unread.memory(), unread.first_end()), (0, None));
    }

    #[test]
    fn what_was_out_of_order_keeps_its_buffers() {
        let mut unread = Unread::default();
        unread.take(1, 1001, 1800);
        unread.join(1001, 5001, 1000, 4000);
        unread.take(5001, 6001, 1800);
        assert_eq!(unread.memory(), 2 * 1800 + 2 * 4000);
        unread.release(3001);
        assert_eq!((unread.memory(), unread.first_end()), (1800 + 4000, Some(5001)));
        // One segment fits behind the one that came last, and one behind the first of another pair.
        unread.join(6001, 7001, 1000, 4000);
        unread.join(7001, 8001, 1000, 4000);
        unread.take(8001, 9001, 1800);
        assert_eq!(unread.memory(), 1800 + 2 * 4000);
    }
}
