//! What writing a packet into a capture costs, beside copying as many bytes: nanoseconds per packet, the least of some
//! turns.
//!
//!     cargo run --release -p ackclock-capture --example write_cost
use ackclock_capture::write::{LinkType, Seen, Truth, Writer};
use ackclock_core::packet::{Family, FourTuple, Packet};
use ackclock_core::tcp::segment::{SackBlock, Segment, flags};
use ackclock_core::time::Time;
use std::hint::black_box;
use std::io;
use std::time::Instant;

const PACKETS: u64 = 1_000_000;
const TURNS: usize = 15;

/// Data, every second time its acknowledgment, every eighth with SACK blocks.
fn packet(n: u64) -> Packet {
    let mut segment = Segment::default();
    (segment.seq, segment.ack, segment.window, segment.flags) = (n as u32 * 1448, 1, 512, flags::ACK);
    segment.set_timestamps(n as u32, n as u32);
    match n % 8 {
        1 => segment.extend_sack((0..3).map(|i| SackBlock { start: i, end: i + 1448 })),
        3 | 5 | 7 => {}
        _ => segment.len = 1448,
    }
    Packet::Tcp(segment)
}

fn least(mut turn: impl FnMut()) -> f64 {
    let times = (0..TURNS).map(|_| {
        let begun = Instant::now();
        turn();
        begun.elapsed().as_nanos() as f64 / PACKETS as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn main() {
    let packets: Vec<Packet> = (0..64).map(packet).collect();
    let addresses = FourTuple::of_connection(Family::V4, 0, 0);
    let written = least(|| {
        let mut writer = Writer::new(io::sink(), (LinkType::Raw, Family::V4), "{}", &["flows.0.source"]);
        for n in 0..PACKETS {
            let packet = &packets[(n % 64) as usize];
            let seen = Seen { at: Time(n), interface: 0, addresses, packet, id: n as u16 | 1, truth: Truth::default() };
            writer.packet(black_box(&seen));
        }
        let _ = black_box(writer.finish());
    });
    let mut buffer: Vec<u8> = Vec::with_capacity(1 << 18);
    let block = [7u8; 128];
    let copied = least(|| {
        for _ in 0..PACKETS {
            if buffer.len() > (1 << 18) - 128 {
                buffer.clear();
            }
            buffer.extend_from_slice(black_box(&block));
        }
        black_box(&buffer);
    });
    println!("written {written:.1} ns per packet, copied {copied:.1} ns");
}
