//! The sender of RLC: fills blocks.

use super::{Bearer, Consequences, Pdu, begin};
use crate::cell::params::Mode;
use crate::path::Store;
use crate::time::Time;

/// What was put into a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Number of the RLC block.
    pub number: u64,
    /// Its bytes, without headers.
    pub bytes: u32,
    /// Its bytes with all headers.
    pub size: u32,
    /// Whether a packet may come out when it arrives.
    pub hopeful: bool,
}

impl Bearer {
    /// Fills a transport block of `size` bytes in TTI number `tick`; none when nothing is there or nothing fits.
    pub fn fill<S: Store + ?Sized>(&mut self, tick: u64, size: u32, store: &mut S) -> Option<Filled> {
        let room = size.checked_sub(self.timing.block_overhead).filter(|r| *r > 0)?;
        if !self.again.is_empty() {
            if let Some(filled) = self.fill_again(tick, room) {
                return Some(filled);
            }
        }
        let now = begin(tick);
        let overhead = self.timing.packet_overhead;
        let (mut bytes, mut used, mut end) = (0, 0, self.packets.tail() - u64::from(self.left > 0));
        let before = end;
        loop {
            if self.left == 0 {
                if used + overhead >= room {
                    break;
                }
                let mut sink = Consequences { stats: &mut self.stats, window: self.window, store: &mut *store };
                let Some(parcel) = self.queue.dequeue(now, &mut sink) else { break };
                let wait = now.since(parcel.arrived);
                self.longest_wait = self.longest_wait.max(wait);
                if self.window.covers(now) {
                    self.stats.wait.record(wait.0);
                }
                self.packets.push(parcel);
                self.left = parcel.len;
                used += overhead;
            }
            let part = self.left.min(room - used);
            used += part;
            bytes += part;
            self.left -= part;
            if self.left > 0 {
                break;
            }
            end += 1;
        }
        if bytes == 0 {
            return None;
        }
        let pdu = Pdu { end, missing: bytes, again: 0, partial: self.left > 0, lost: false };
        let number = self.pdus.push(pdu);
        self.stats.blocks += u64::from(self.window.counts(now));
        let hopeful = end > before || self.pdus.head() < self.unsettled;
        Some(Filled { number, bytes, size: used + self.timing.block_overhead, hopeful })
    }

    /// Fills a block with the first one that is to be sent again, or a part of it.
    #[cold]
    fn fill_again(&mut self, tick: u64, room: u32) -> Option<Filled> {
        let i = self.again.iter().position(|a| a.0 <= tick)?;
        let number = self.again[i].1;
        let pdu = self.pdus.get_mut(number);
        let bytes = pdu.again.min(room);
        pdu.again -= bytes;
        if pdu.again == 0 {
            self.again.remove(i);
        }
        self.stats.resent += u64::from(self.window.covers(begin(tick)));
        Some(Filled { number, bytes, size: bytes + self.timing.block_overhead, hopeful: true })
    }

    /// Block `number`, just sent, does not arrive: what is sent behind it may come out at odd times.
    pub fn fails(&mut self, number: u64) {
        self.unsettled = self.unsettled.max(number + 1);
    }

    /// HARQ gives up `bytes` of block `number` in TTI number `tick`; they were sent last in TTI number `sent`.
    #[cold]
    pub fn give_up<S: Store + ?Sized>(&mut self, tick: u64, number: u64, bytes: u32, sent: u64, store: &mut S) {
        if number < self.pdus.head() {
            return;
        }
        self.stats.given_up += u64::from(self.window.covers(begin(tick)));
        if self.timing.mode == Mode::Acknowledged {
            self.pdus.get_mut(number).again += bytes;
            if self.reached <= number {
                // Nobody misses it. The sender asks for its fate after a while, and sends it again in doing so.
                self.resend(number, tick.max(sent + self.timing.poll_retransmit));
            }
            return;
        }
        // Nothing of it can be saved: its packets are dropped where they are, and leave a mark in their places.
        let first = if number == self.pdus.head() { self.packets.head() } else { self.pdus.get(number - 1).end };
        let pdu = *self.pdus.get(number);
        for n in first.max(self.packets.head())..pdu.end + u64::from(pdu.partial) {
            self.lose(n, begin(tick), store);
        }
    }

    /// Packet `n` is lost.
    fn lose<S: Store + ?Sized>(&mut self, n: u64, at: Time, store: &mut S) {
        let packet = self.packets.get_mut(n);
        if packet.len > 0 {
            packet.len = 0;
            store.drop(packet.id);
            self.stats.lost += u64::from(self.window.covers(at));
        }
    }

    /// What is missing of block `number` is sent again from TTI number `tick` on; false when that was known.
    pub(super) fn resend(&mut self, number: u64, tick: u64) -> bool {
        let i = self.again.partition_point(|a| a.1 < number);
        let news = self.again.get(i).is_none_or(|a| a.1 != number);
        if news {
            self.again.insert(i, (tick, number));
        }
        news
    }
}
