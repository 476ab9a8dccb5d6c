//! Segments of a connection or two, in any order and with any fields near what is expected: nothing panics, and what is
//! counted fits together.
#![no_main]

use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::{Analyzer, RttRule, Segment, Settings};
use ackclock_capture::reader::blank;
use ackclock_core::packet::Address;
use ackclock_core::tcp::segment::SackBlock;
use libfuzzer_sys::fuzz_target;

/// Bytes that a segment is made of.
const SIZE: usize = 16;

/// Sequence numbers in steps that make segments meet; the highest values are far away.
fn near(isn: u32, step: u8) -> u32 {
    match step {
        0..=239 => isn.wrapping_add(u32::from(step) * 250),
        far => isn.wrapping_add(u32::from(far - 239) << 27),
    }
}

fn segment(b: &[u8; SIZE], time: i64, number: u64, isns: [u32; 2]) -> Segment {
    let forward = b[0] & 1 == 0;
    let ends = [Address::V4([10, 0, 0, 1]), Address::V4([10, 0, 0, 2 - (b[0] >> 1 & 1)])];
    let [one, other] = if forward { [0, 1] } else { [1, 0] };
    let blocks = usize::from(b[0] >> 6);
    let mut s = Segment {
        time,
        number,
        interface: u32::from(b[0] >> 2 & 1),
        tags: u32::from(b[0] >> 3 & 1),
        source: ends[one],
        destination: ends[other],
        source_port: 1000 + one as u16,
        destination_port: 1000 + other as u16,
        ip_id: u16::from(b[1] & 7),
        marked: b[1] & 8 != 0,
        length: [0, 1, 250, 500, 1000, 5000, 70_000, u32::MAX][usize::from(b[1] >> 5)],
        seq: near(isns[one], b[4]),
        ack: near(isns[other], b[5]),
        flags: u16::from(b[6]) | u16::from(b[1] & 16) << 4,
        window: (b[7] != 255).then_some(u16::from(b[7]) * 16),
        ..blank()
    };
    s.options_cut = b[0] & 16 != 0;
    s.options.timestamps = (b[0] & 32 != 0).then_some((u32::from(b[8]), u32::from(b[9])));
    s.options.mss = (b[10] > 128).then_some(u16::from(b[10]) << 3);
    s.options.window_scale = (b[11] > 128).then(|| b[11] - 129);
    s.options.sack_permitted = b[11] & 1 != 0;
    let block = |i: usize| SackBlock { start: near(isns[other], b[12 + i]), end: near(isns[other], b[13 + i]) };
    s.options.sack = (0..blocks).map(block).collect();
    s
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, rest)) = bytes.split_first() else { return };
    let settings = Settings {
        series: how & 1 != 0,
        events: how & 2 != 0,
        merge_interfaces: how & 4 != 0,
        rule: if how & 8 != 0 { RttRule::Sender } else { RttRule::Latest },
        most_connections: if how & 16 != 0 { 2 } else { 100 },
        most_awake: if how & 64 != 0 { 1 } else { 100 },
    };
    let isns = if how & 32 != 0 { [0u32.wrapping_sub(3000), u32::MAX] } else { [0, 7000] };
    let mut analyzer = Analyzer::new(Vec::<FlowRow>::new(), settings);
    let mut time = 0i64;
    let mut taken = 0;
    for b in rest.chunks_exact(SIZE) {
        let Ok(b) = <&[u8; SIZE]>::try_from(b) else { continue };
        // Up to 1.6 s later, and now and then earlier.
        time += (i64::from(u16::from_be_bytes([b[2], b[3]])) - i64::from(b[2] == 0) * 500) * 25_000;
        taken += 1;
        analyzer.take(&segment(b, time, taken, isns));
    }
    let connections = analyzer.connections();
    let rows = analyzer.finish();
    assert_eq!(rows.len() as u64, 2 * connections);
    for row in rows {
        assert!(row.retransmitted_bytes <= row.sent_bytes);
        assert!(row.retransmitted_segments <= row.sent_segments);
        assert!(row.packets + row.duplicate_packets <= taken);
        if let Some(shares) = row.shares {
            let sum = shares.handshake_s + shares.app_s + shares.rwnd_s + shares.network_s;
            let whole = (row.end - row.start) as f64 * 1e-9;
            assert!((sum - whole).abs() <= 1e-9 + whole * 1e-9, "{sum} {whole}");
        }
    }
});
