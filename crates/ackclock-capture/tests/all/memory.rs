//! How much memory an open connection takes.

use crate::allocator::live_bytes;
use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::{Analyzer, Segment, Settings};
use ackclock_capture::reader::blank;
use ackclock_core::packet::Address;
use ackclock_core::packet::wire::flags;

/// Connections: the difference between many and few is what one takes, without what there is once.
const CONNECTIONS: [u32; 2] = [1000, 5000];
/// Most of them are without packets for a while whenever one of them has one.
const AWAKE: usize = 64;
const MSS: u32 = 1448;
const SECOND: i64 = 1_000_000_000;

/// Up to 20 ms, ns.
fn jitter(step: u32, connection: u32) -> i64 {
    let mixed = u64::from(step * 8191 + connection + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as i64 % 20_000_000
}

/// All connections, packet by packet: each has its next one a second later.
struct Flood {
    connections: u32,
    analyzer: Analyzer<Vec<FlowRow>>,
    step: u32,
    sent: u32,
    number: u64,
}

impl Flood {
    fn pass(&mut self, back: bool, fill: impl Fn(&mut Segment)) {
        self.step += 1;
        for i in 0..self.connections {
            let (ends, ports) = ([Address::V4([10, 0, 0, 1]), Address::V4([10, 1, 0, 1])], [1024 + i as u16, 80]);
            let [one, other] = if back { [1, 0] } else { [0, 1] };
            self.number += 1;
            let mut s = Segment {
                // Round trips of a second, more or less.
                time: i64::from(self.step) * SECOND + i64::from(i) * 10_000 + jitter(self.step, i),
                number: self.number,
                source: ends[one],
                destination: ends[other],
                source_port: ports[one],
                destination_port: ports[other],
                ip_id: self.number as u16 | 1,
                flags: flags::ACK,
                window: Some(60_000),
                ..blank()
            };
            s.options.timestamps = Some((self.step, self.step - 1));
            fill(&mut s);
            self.analyzer.take(&s);
        }
    }

    fn data(&mut self) {
        let at = 1 + self.sent * MSS;
        self.sent += 1;
        self.pass(false, |s| (s.seq, s.ack, s.length) = (at, 1, MSS));
    }

    /// Bytes that so many connections take with `out` segments outstanding each, after so many rounds of two segments and their
    /// acknowledgment.
    fn all(connections: u32, rounds: u32, out: u32) -> usize {
        let before = live_bytes();
        let settings = Settings { most_awake: AWAKE, ..Settings::default() };
        let analyzer = Analyzer::new(Vec::new(), settings);
        let mut flood = Flood { connections, analyzer, step: 0, sent: 0, number: 0 };
        let open = |s: &mut Segment| {
            (s.options.mss, s.options.window_scale, s.options.sack_permitted) = (Some(1460), Some(7), true);
        };
        flood.pass(false, |s| (s.flags, ()) = (flags::SYN, open(s)));
        flood.pass(true, |s| (s.flags, s.ack, ()) = (flags::SYN | flags::ACK, 1, open(s)));
        flood.pass(false, |s| (s.seq, s.ack) = (1, 1));
        for _ in 0..rounds {
            flood.data();
            flood.data();
            let ack = 1 + flood.sent * MSS;
            flood.pass(true, |s| (s.seq, s.ack) = (1, ack));
        }
        (0..out).for_each(|_| flood.data());
        let taken = live_bytes().wrapping_sub(before);
        assert_eq!(flood.analyzer.open(), connections as usize);
        let rows = flood.analyzer.finish();
        assert!(rows.iter().all(|row| row.retransmitted_segments == 0));
        taken
    }

    /// Of which one takes this.
    fn taken(rounds: u32, out: u32) -> usize {
        let [few, many] = CONNECTIONS;
        (Flood::all(many, rounds, out) - Flood::all(few, rounds, out)) / (many - few) as usize
    }
}

#[test]
fn an_open_connection_is_small() {
    // One direction has data: its state, times and samples of round trips come to those of both ends. Each sample takes
    // about two bytes where times differ by 20 ms.
    for (rounds, most) in [(0, 288), (1, 448), (8, 512), (32, 512)] {
        let taken = Flood::taken(rounds, 0);
        println!("{taken} bytes after {rounds} rounds");
        assert!(taken <= most, "more than {most}");
    }
    let (none, some) = (Flood::taken(8, 0), Flood::taken(8, 32));
    assert!(some <= none + 32 * 40, "{none} bytes, {some} with 32 segments outstanding");
}
