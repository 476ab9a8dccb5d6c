//! Writes a capture of many connections to standard output: so many packets, connections, and of these open at a time.
//!
//!     cargo run --release -p ackclock-capture --example flood PACKETS CONNECTIONS OPEN > FILE
use ackclock_capture::write::{LinkType, Seen, Truth, Writer};
use ackclock_core::packet::{Family, FourTuple, Packet};
use ackclock_core::tcp::segment::{Segment, flags};
use ackclock_core::time::Time;
use std::io::{self, BufWriter};
use std::process::ExitCode;

const MSS: u32 = 1448;
const SPACING_NS: u64 = 10_000;
/// SYN, SYN/ACK, its acknowledgment; two FINs and the last acknowledgment.
const OTHERS: u64 = 6;

/// Packet `step` of a connection that has `last` as its last one, and whether it goes back.
fn packet(step: u64, last: u64) -> (bool, Segment) {
    let mut s = Segment::default();
    (s.window, s.flags) = (60_000, flags::ACK);
    s.set_timestamps(step as u32 + 1, step as u32);
    // Two data segments and their acknowledgment.
    let (third, sent) = ((step - step.min(3)) % 3, ((step - step.min(3)) / 3 * 2) as u32);
    let all = ((last - OTHERS + 1) / 3 * 2 + (last - OTHERS + 1) % 3) as u32;
    let back = match step {
        0 => {
            (s.seq, s.flags, s.mss) = (0, flags::SYN, 1460);
            s.set_sack_permitted();
            s.set_window_scale(7);
            false
        }
        1 => {
            (s.seq, s.ack, s.flags, s.mss) = (0, 1, flags::SYN | flags::ACK, 1460);
            s.set_sack_permitted();
            s.set_window_scale(7);
            true
        }
        2 => {
            (s.seq, s.ack) = (1, 1);
            false
        }
        _ if step + 2 == last => {
            (s.seq, s.ack, s.flags) = (1 + all * MSS, 1, flags::FIN | flags::ACK);
            false
        }
        _ if step + 1 == last => {
            (s.seq, s.ack, s.flags) = (1, 2 + all * MSS, flags::FIN | flags::ACK);
            true
        }
        _ if step == last => {
            (s.seq, s.ack) = (2 + all * MSS, 2);
            false
        }
        _ if third < 2 => {
            (s.seq, s.ack, s.len) = (1 + (sent + third as u32) * MSS, 1, MSS);
            false
        }
        _ => {
            (s.seq, s.ack) = (1, 1 + (sent + 2) * MSS);
            true
        }
    };
    (back, s)
}

fn run() -> Result<(), String> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    let &[packets, connections, open] = numbers.as_slice() else {
        return Err("how many packets, connections, and open at a time?".to_string());
    };
    let each = packets / connections.max(1);
    if each <= OTHERS || open == 0 || open > connections {
        return Err(format!("more than {OTHERS} packets for each connection, and of these at least one open"));
    }
    let out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let mut writer = Writer::new(out, (LinkType::Raw, Family::V4), "{}", &["flood"]);
    // Which connection has each place, and how far it is. They begin one after another, so that they end so too.
    let mut places: Vec<(u64, u64)> = Vec::new();
    let (mut next, mut at) = (0, 0);
    for round in 0.. {
        let begun = open.min(connections).min((round + 1) * open / each + 1);
        while round < each && (places.len() as u64) < begun {
            places.push((next, 0));
            next += 1;
        }
        if places.is_empty() {
            break;
        }
        places.retain_mut(|(connection, step)| {
            let (back, segment) = packet(*step, each - 1);
            let forth = FourTuple::of_connection(Family::V4, (*connection / 50_000) as u32, *connection % 50_000);
            let addresses = if back { forth.reversed() } else { forth };
            let packet = &Packet::Tcp(segment);
            at += SPACING_NS;
            writer.packet(&Seen {
                at: Time(at),
                interface: 0,
                addresses,
                packet,
                id: at as u16 | 1,
                truth: Truth::default(),
            });
            *step += 1;
            if *step < each {
                return true;
            }
            (*connection, *step) = (next, 0);
            next += 1;
            next <= connections
        });
    }
    writer.finish().map(|_| ()).map_err(|e| e.to_string())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("flood: {problem}");
            ExitCode::FAILURE
        }
    }
}
