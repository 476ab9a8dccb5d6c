//! The capture of a transfer: rounds of 40 segments, every second one acknowledged, and in every 25th round a loss, reported by
//! SACK blocks and repaired.

use ackclock_capture::write::{LinkType, Seen, Truth, Writer};
use ackclock_core::packet::{Family, FourTuple, Packet};
use ackclock_core::tcp::segment::{SackBlock, Segment, flags};
use ackclock_core::time::Time;

const MSS: u32 = 1448;
const WINDOW: u32 = 40;
const ROUND_NS: u64 = 20_000_000;
const SPACING_NS: u64 = 100_000;
const ROUNDS_PER_LOSS: u32 = 25;

/// Writes the packets of one connection.
pub struct Made {
    writer: Writer<Vec<u8>>,
    forth: FourTuple,
    id: u16,
}

impl Made {
    /// One that has no packet.
    pub fn new() -> Made {
        let writer = Writer::new(Vec::new(), (LinkType::Raw, Family::V4), "{}", &["flows.0.source"]);
        Made { writer, forth: FourTuple::of_connection(Family::V4, 0, 0), id: 0 }
    }

    fn packet(&mut self, at: u64, back: bool, mut segment: Segment) {
        let stamp = (at / 1_000_000) as u32;
        segment.set_timestamps(1 + stamp, 1 + stamp.saturating_sub(10));
        self.id = self.id.wrapping_add(1).max(1);
        let addresses = if back { self.forth.reversed() } else { self.forth };
        let packet = &Packet::Tcp(segment);
        self.writer.packet(&Seen {
            at: Time(at),
            interface: 0,
            addresses,
            packet,
            id: self.id,
            truth: Truth::default(),
        });
    }

    fn data(&mut self, at: u64, seq: u32) {
        let mut segment = Segment::default();
        (segment.seq, segment.len, segment.ack, segment.window) = (seq, MSS, 1, 512);
        segment.flags = flags::ACK;
        self.packet(at, false, segment);
    }

    fn acknowledgment(&mut self, at: u64, ack: u32, block: Option<SackBlock>) {
        let mut segment = Segment::default();
        (segment.seq, segment.ack, segment.window, segment.flags) = (1, ack, 60_000, flags::ACK);
        segment.extend_sack(block.into_iter());
        self.packet(at, true, segment);
    }

    /// SYN and SYN/ACK; the third packet of the handshake goes with the first data.
    fn handshake(&mut self) {
        for (at, back) in [(0, false), (ROUND_NS, true)] {
            let mut segment = Segment::default();
            (segment.seq, segment.ack, segment.window, segment.mss) = (0, u32::from(back), 60_000, 1460);
            segment.flags = if back { flags::SYN | flags::ACK } else { flags::SYN };
            segment.set_sack_permitted();
            segment.set_window_scale(7);
            self.packet(at, back, segment);
        }
    }

    /// What was sent in the round before is acknowledged, and as much is sent.
    fn round(&mut self, begin: u64, first: u32) {
        for pair in 0..WINDOW / 2 {
            let at = begin + u64::from(pair) * 2 * SPACING_NS;
            let covered = first.wrapping_add((pair + 1) * 2 * MSS);
            self.acknowledgment(at, covered, None);
            let next = covered.wrapping_add((WINDOW - 2) * MSS);
            self.data(at + 1000, next);
            self.data(at + 2000, next.wrapping_add(MSS));
        }
    }

    /// Of what was sent in the round before the first segment was lost: the others are reported, it is sent again.
    fn loss(&mut self, begin: u64, first: u32) {
        for n in 1..WINDOW {
            let at = begin + u64::from(n) * SPACING_NS;
            let block = SackBlock { start: first.wrapping_add(MSS), end: first.wrapping_add((n + 1) * MSS) };
            self.acknowledgment(at, first, Some(block));
            if n == 3 {
                self.data(at + 1000, first);
            }
        }
        let at = begin + ROUND_NS / 2;
        self.acknowledgment(at, first.wrapping_add(WINDOW * MSS), None);
        for n in 0..WINDOW {
            self.data(at + u64::from(n) * SPACING_NS, first.wrapping_add((WINDOW + n) * MSS));
        }
    }

    /// A transfer of so many rounds, as a file.
    pub fn transfer(mut self, rounds: u32) -> Vec<u8> {
        self.handshake();
        for n in 0..WINDOW {
            self.data(ROUND_NS + u64::from(n + 1) * SPACING_NS, 1 + n * MSS);
        }
        for round in 1..=rounds {
            let (begin, first) =
                (u64::from(round + 1) * ROUND_NS + 2 * SPACING_NS, 1u32.wrapping_add((round - 1) * WINDOW * MSS));
            if round % ROUNDS_PER_LOSS == 0 {
                self.loss(begin, first);
            } else {
                self.round(begin, first);
            }
        }
        self.writer.finish().map(|(bytes, _)| bytes).unwrap_or_default()
    }
}
