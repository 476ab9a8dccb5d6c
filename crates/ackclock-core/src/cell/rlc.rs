//! RLC: packets become blocks of the size that the scheduler gives, and come out in order at the other end.
//!
//! 3GPP TS 36.322. A packet may be spread over several blocks, a block may hold several packets. The receiver gives out what is
//! complete, in order, and waits for a missing block no longer than t-Reordering. Without acknowledgments (UM) a packet of
//! a lost block is lost; with them (AM) the block is sent again. Packets are in a queue of any discipline until their first byte is sent, and
//! only there the queue drops them.
//!
//! What is left out: status reports and polls take no resource blocks; a block that HARQ has not given up is not sent again by RLC.

mod receiver;
mod sender;

use super::TTI;
use super::params::{Mode, Rlc};
use super::stats::{BearerStats, Window};
use crate::packet::Parcel;
use crate::path::{Port, Store};
use crate::queue::{Backlog, Queue, Reason, Sink};
use crate::ring::Ring;
use crate::time::{Span, Time};

pub use sender::Filled;

/// Never, in TTIs.
pub const NEVER: u64 = u64::MAX;

/// A block of RLC that has not been settled.
#[derive(Clone, Copy, Debug, Default)]
struct Pdu {
    /// With it all packets are complete whose number is below.
    end: u64,
    /// Bytes that have not arrived.
    missing: u32,
    /// Bytes that have to be sent again.
    again: u32,
    /// Whether it ends within packet number `end`.
    partial: bool,
    /// Whether nobody waits for it any more.
    lost: bool,
}

/// Times of RLC in TTIs.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// What it does about lost blocks.
    pub mode: Mode,
    /// How long a receiver waits for a missing block.
    pub reordering: u64,
    /// Between two status reports.
    pub status_prohibit: u64,
    /// After this a sender asks for its last block.
    pub poll_retransmit: u64,
    /// From a status report to its effect.
    pub status_delay: u64,
    /// Bytes of headers per block.
    pub block_overhead: u32,
    /// Bytes of headers per packet.
    pub packet_overhead: u32,
}

impl Timing {
    /// As described; a status report takes `status_delay` TTIs.
    pub fn new(rlc: &Rlc, status_delay: u64) -> Timing {
        Timing {
            mode: rlc.mode,
            reordering: ttis(rlc.reordering),
            status_prohibit: ttis(rlc.status_prohibit),
            poll_retransmit: ttis(rlc.poll_retransmit),
            status_delay,
            block_overhead: rlc.block_overhead,
            packet_overhead: rlc.packet_overhead,
        }
    }
}

/// A span in whole TTIs, rounded up.
pub fn ttis(span: Span) -> u64 {
    span.0.div_ceil(TTI)
}

/// When TTI number `tick` begins.
#[inline]
pub fn begin(tick: u64) -> Time {
    Time(tick * TTI)
}

/// One direction of one user: its queue, and both ends of RLC.
pub struct Bearer {
    queue: Box<dyn Queue>,
    timing: Timing,
    port: Port,
    window: Window,
    /// Packets of which something has been sent and that are not out; one without length is lost.
    packets: Ring<Parcel>,
    /// Bytes of the last of them that have not been sent.
    left: u32,
    pdus: Ring<Pdu>,
    /// Blocks to be sent again and from when on, in the order of their numbers.
    again: Vec<(u64, u64)>,
    /// Whether a part of the packet that comes out next is lost.
    damaged: bool,
    /// One more than the highest number of a block that has arrived.
    reached: u64,
    /// When the receiver stops waiting, and for which blocks: those below the number.
    timer: (u64, u64),
    /// The last status report.
    reported: u64,
    /// Before blocks below this number are settled, those behind them may come out at odd times.
    unsettled: u64,
    /// Measurements.
    pub stats: BearerStats,
    /// Bytes that came out in the whole run.
    pub total_bytes: u64,
    /// Longest time from the arrival of a packet to its first transmission since this was read last.
    pub longest_wait: Span,
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bearer").field("port", &self.port).field("backlog", &self.backlog()).finish()
    }
}

/// Counts what the queue decides and tells the owner of the packets.
struct Consequences<'a, S: Store + ?Sized> {
    stats: &'a mut BearerStats,
    window: Window,
    store: &'a mut S,
}

impl<S: Store + ?Sized> Sink for Consequences<'_, S> {
    fn dropped(&mut self, at: Time, parcel: Parcel, reason: Reason) {
        self.stats.drops[reason as usize] += u64::from(self.window.covers(at));
        self.store.dropped(parcel.id, reason);
    }

    fn marked(&mut self, at: Time, parcel: &Parcel, reason: Reason) {
        self.stats.marks[reason as usize] += u64::from(self.window.covers(at));
        self.store.mark(parcel.id);
    }
}

impl Bearer {
    /// Without packets, for those that come by `port`.
    pub fn new(queue: Box<dyn Queue>, timing: Timing, port: Port, window: Window) -> Bearer {
        Bearer {
            queue,
            timing,
            port,
            window,
            packets: Ring::default(),
            left: 0,
            pdus: Ring::default(),
            again: Vec::new(),
            damaged: false,
            reached: 0,
            timer: (NEVER, 0),
            reported: 0,
            unsettled: 0,
            stats: BearerStats::default(),
            total_bytes: 0,
            longest_wait: Span::ZERO,
        }
    }

    /// A packet arrives.
    pub fn enqueue<S: Store + ?Sized>(&mut self, now: Time, mut parcel: Parcel, store: &mut S) {
        parcel.arrived = now;
        if self.window.covers(now) {
            self.stats.arrived += 1;
            self.stats.arrived_bytes += u64::from(parcel.len);
        }
        let service = self.in_service();
        let mut sink = Consequences { stats: &mut self.stats, window: self.window, store };
        self.queue.enqueue(now, parcel, service, &mut sink);
    }

    /// The packet of which a part has been sent.
    fn in_service(&self) -> Backlog {
        Backlog { packets: u64::from(self.left > 0), bytes: u64::from(self.left) }
    }

    /// What waits, a packet of which a part has been sent included with its rest.
    pub fn backlog(&self) -> Backlog {
        let (waiting, service) = (self.queue.backlog(), self.in_service());
        Backlog { packets: waiting.packets + service.packets, bytes: waiting.bytes + service.bytes }
    }

    /// The first TTI from which on a block can be sent again; [`NEVER`] when there is none.
    pub fn next_again(&self) -> u64 {
        self.again.iter().map(|a| a.0).min().unwrap_or(NEVER)
    }

    /// Whether there is anything to send, now or later.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.left > 0 || !self.again.is_empty() || self.queue.backlog().packets > 0
    }

    /// Whether there is anything to send in TTI number `tick`.
    #[inline]
    pub fn is_ready(&self, tick: u64) -> bool {
        self.left > 0 || self.again.iter().any(|a| a.0 <= tick) || self.queue.backlog().packets > 0
    }

    /// Bytes that blocks in TTI number `tick` would need for all that waits, headers included; about: packets may be dropped until then.
    pub fn demand(&self, tick: u64) -> u32 {
        let waiting = self.queue.backlog();
        let again = self.again.iter().filter(|a| a.0 <= tick);
        let again: u32 = again.map(|a| self.pdus.get(a.1).again).sum();
        let headers = self.timing.block_overhead + self.timing.packet_overhead * waiting.packets.min(1 << 16) as u32;
        let bytes = waiting.bytes.min(1 << 24) as u32 + self.left + again;
        if bytes == 0 { 0 } else { bytes + headers }
    }

    /// When the receiver stops waiting for a missing block; [`NEVER`] while it does not wait.
    #[inline]
    pub fn timer(&self) -> u64 {
        self.timer.0
    }

    /// The run ends at `now`: packets that wait no longer count.
    pub fn finish(&mut self, now: Time) {
        struct Nobody<'a>(&'a mut BearerStats, Window);
        impl Sink for Nobody<'_> {
            fn dropped(&mut self, at: Time, _parcel: Parcel, reason: Reason) {
                // Too old before the end: nobody had asked.
                self.0.drops[reason as usize] += u64::from(reason == Reason::Age && self.1.covers(at));
            }
            fn marked(&mut self, _at: Time, _parcel: &Parcel, _reason: Reason) {}
        }
        let mut sink = Nobody(&mut self.stats, self.window);
        while self.queue.dequeue(now, &mut sink).is_some() {}
    }
}

#[cfg(test)]
mod tests;
