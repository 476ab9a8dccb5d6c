//! What is counted of the datagrams of a flow: of those that its source sends.

use crate::engine::Sim;
use crate::histogram::Histogram;
use ackclock_core::packet::{Datagram, Ecn, Packet};
use ackclock_core::time::Time;

/// Counters.
#[derive(Clone, Debug)]
pub struct Datagrams {
    /// Number of the next, modulo 2^32.
    pub(crate) next: u32,
    /// Begin of the measurement.
    pub(crate) from: Time,
    /// Payload sent and received since the start, for series, and packets sent.
    pub(crate) total_sent: u64,
    pub(crate) total_received: u64,
    pub(crate) total_packets: u64,
    /// Packets sent within the measurement, and their payload.
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    /// Packets that arrived within it, and their payload.
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    /// When the last one did.
    pub(crate) last: Time,
    /// Packets sent within it that arrived.
    pub(crate) of_sent: u64,
    /// Packets that arrived marked within it.
    pub(crate) marked: u64,
    /// Their one-way delays.
    pub(crate) delay: Histogram,
    /// Packets sent within the measurement that were under way at the end of the run.
    pub(crate) in_flight: u64,
}

impl Datagrams {
    /// For a measurement that begins at `from`.
    pub fn new(from: Time) -> Datagrams {
        Datagrams {
            next: 0,
            from,
            total_sent: 0,
            total_received: 0,
            total_packets: 0,
            sent: 0,
            sent_bytes: 0,
            received: 0,
            received_bytes: 0,
            last: Time::ZERO,
            of_sent: 0,
            marked: 0,
            delay: Histogram::default(),
            in_flight: 0,
        }
    }

    /// The next datagram, which leaves at `now`.
    pub(super) fn next_packet(&mut self, now: Time, payload: u32, ecn: Ecn) -> Datagram {
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        self.total_sent += u64::from(payload);
        self.total_packets += 1;
        if now >= self.from {
            self.sent += 1;
            self.sent_bytes += u64::from(payload);
        }
        Datagram::new(now, sequence, payload, ecn)
    }

    /// A datagram arrived; not a copy that a medium made, those count for nothing.
    pub(super) fn arrived(&mut self, now: Time, packet: &Datagram) {
        self.total_received += u64::from(packet.len);
        if now < self.from {
            return;
        }
        self.received += 1;
        self.received_bytes += u64::from(packet.len);
        self.last = now;
        self.of_sent += u64::from(packet.sent() >= self.from);
        self.marked += u64::from(packet.ecn == Ecn::Ce);
        self.delay.record(now.since(packet.sent()).0);
    }

    /// A datagram, not a copy, is still under way as the run ends.
    fn under_way(&mut self, packet: &Datagram) {
        self.in_flight += u64::from(packet.sent() >= self.from);
    }
}

impl Sim {
    /// Counts the datagrams that the end of the run finds under way.
    pub(crate) fn count_datagrams(&mut self) {
        if !self.flows.iter().any(|f| f.datagrams.is_some()) {
            return;
        }
        let (flows, conns, spare) = (&mut self.flows, &self.conns, self.spare);
        self.slab.each(|id, slot| {
            let Packet::Datagram(packet) = &slot.packet else { return };
            if id == spare || slot.copy || slot.side & 1 == 1 {
                return;
            }
            let flow = conns[slot.side as usize / 2].flow as usize;
            if let Some(d) = &mut flows[flow].datagrams {
                d.under_way(packet);
            }
        });
    }
}
