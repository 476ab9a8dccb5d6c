//! Segments that no TCP would send: nothing panics, and no count contradicts another.

mod script;
use ackclock_capture::analysis::Settings;
use ackclock_core::tcp::segment::SackBlock;
use script::{analysed, packet, Setting};

#[test]
fn random_segments_do_no_harm() {
    let mut state = 1u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..2000 {
        let of = Setting { isn: draw(2) as u32 * 0u32.wrapping_sub(3000), ..Setting::default() };
        let mut ms = 0.0;
        let mut all = Vec::new();
        for number in 0..60 {
            ms += draw(300) as f64 - if draw(20) == 0 { 400.0 } else { 0.0 };
            let mut s = packet(&of, ms, draw(2) == 0);
            let near = |n: u64| of.isn.wrapping_add(n as u32);
            (s.number, s.seq, s.ack) = (number, near(draw(6) * 500), near(draw(6) * 500));
            s.flags = [0x10, 0x10, 0x10, 0x12, 0x02, 0x11, 0x14, draw(512)][draw(8) as usize] as u16;
            s.length = [0, 0, 1, 500, 1000, 70_000, u32::MAX][draw(7) as usize];
            s.window = [None, Some(0), Some(60_000)][draw(3) as usize];
            s.ip_id = draw(3) as u16;
            s.options.timestamps = [None, Some((draw(9) as u32, draw(9) as u32))][draw(2) as usize];
            s.options.mss = [None, Some(draw(3) as u16)][draw(2) as usize];
            s.options.window_scale = [None, Some(draw(256) as u8)][draw(2) as usize];
            let block = |a: u64, b: u64| SackBlock { start: near(a * 300), end: near(b * 300) };
            s.options.sack = (0..draw(4)).map(|_| block(draw(9), draw(9))).collect();
            all.push(s);
        }
        let found = analysed(&all, Settings { series: true, events: true, ..Settings::default() });
        assert!(found.rows.iter().all(|row| row.retransmitted_bytes <= row.sent_bytes));
    }
}
