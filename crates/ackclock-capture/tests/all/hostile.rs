//! Segments that no TCP would send: nothing panics, and no count contradicts another.

#![allow(clippy::unwrap_used)]

use crate::script::{Setting, analysed, packet};
use ackclock_capture::analysis::rows::FlowRow;
use ackclock_capture::analysis::sink::Sink;
use ackclock_capture::analysis::{Analyzer, Segment, Settings};
use ackclock_core::packet::Address;
use ackclock_core::packet::wire::flags;
use ackclock_core::tcp::segment::SackBlock;
use std::time::Duration;

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

/// Counts connections, and whether they come in the order of their first packets.
#[derive(Default)]
struct Order {
    connections: u64,
    evicted: u64,
    disordered: u64,
    next: u64,
}

impl Sink for Order {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        self.connections += 1;
        self.evicted += u64::from(rows[0].evicted);
        self.disordered += u64::from(rows[0].id.connection != self.next);
        self.next = rows[0].id.connection + 1;
    }
}

#[test]
fn a_million_connections_are_no_more_than_the_table_holds_at_a_time() {
    let of = Setting { handshake: false, ..Setting::default() };
    let mut analyzer = Analyzer::new(Order::default(), Settings::default());
    for n in 0..1_000_000u32 {
        let mut s = packet(&of, f64::from(n) * 1e-3, true);
        (s.source, s.source_port, s.seq) = (Address::V4((n / 50_000).to_be_bytes()), (n % 50_000) as u16, n);
        (s.ack, s.flags) = (0, flags::SYN);
        analyzer.take(&s);
        assert!(analyzer.open() <= 131_072);
    }
    assert_eq!(analyzer.connections(), 1_000_000);
    let found = analyzer.finish();
    assert_eq!((found.connections, found.evicted, found.disordered), (1_000_000, 1_000_000 - 131_072, 0));
}

#[test]
fn a_connection_that_must_go_while_all_are_busy_is_said_to_have_gone() {
    let of = Setting { handshake: false, ..Setting::default() };
    let settings = Settings { most_connections: 2, ..Settings::default() };
    let mut analyzer = Analyzer::new(Vec::new(), settings);
    for (ms, port) in [(0.0, 1), (1.0, 2), (2.0, 2), (3.0, 1), (4.0, 3)] {
        let mut s = packet(&of, ms, true);
        s.source_port = port;
        analyzer.take(&s);
    }
    let rows: Vec<FlowRow> = analyzer.finish();
    let gone: Vec<_> = rows.iter().step_by(2).map(|row| (row.source.port, row.evicted)).collect();
    assert_eq!(gone, [(1, true), (2, false), (3, false)]);
}

/// CPU time of this thread: what other programs do meanwhile does not count.
fn used() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `time`, and to nothing else.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What one of `n` segments takes.
fn each(n: u32, segment: impl Fn(u32) -> Segment) -> (Duration, FlowRow) {
    let begun = used();
    let mut analyzer = Analyzer::new(Vec::new(), Settings::default());
    (0..n).for_each(|i| analyzer.take(&segment(i)));
    let rows: Vec<FlowRow> = analyzer.finish();
    ((used() - begun) / n, rows[usize::from(rows[1].irregular)].clone())
}

/// Turns of which the least time counts: who shares the caches makes some of them slower, and none faster.
const TURNS: u32 = 6;

/// Of eight times as many segments each takes about as long: if it grew with them it would be eight times.
fn stays_as_it_is(name: &str, n: u32, segment: impl Fn(u32) -> Segment) -> FlowRow {
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        few = few.min(each(n, &segment).0);
        let (time, row) = each(8 * n, &segment);
        many = many.min(time);
        if many < few * 4 + Duration::from_nanos(500) {
            return row;
        }
    }
    panic!("{name}: {few:?} each of {n}, {many:?} each of {}", 8 * n);
}

#[test]
fn nothing_takes_longer_the_more_there_is() {
    let of = Setting { handshake: false, ..Setting::default() };
    let data = |i: u32, seq: u32, length: u32| {
        let mut s = packet(&of, f64::from(i) * 1e-3, true);
        (s.number, s.seq, s.length) = (u64::from(i), seq, length);
        s
    };
    let answer = |i: u32, ack: u32, blocks: &[(u32, u32)]| {
        let mut s = packet(&of, f64::from(i) * 1e-3, false);
        (s.number, s.ack) = (u64::from(i), ack);
        s.options.sack = blocks.iter().map(|&(start, end)| SackBlock { start, end }).collect();
        s
    };
    let row = stays_as_it_is("a hole before each segment", 50_000, |i| data(i, 2 * i, 1));
    assert!(row.irregular);
    let row = stays_as_it_is("the same, with the other end there", 50_000, |i| match i {
        0 => answer(0, 0, &[]),
        _ => data(i, 2 * i, 1),
    });
    assert!(row.irregular);
    stays_as_it_is("nothing is acknowledged", 50_000, |i| match i {
        0 => answer(0, 0, &[]),
        _ => data(i, i, 1),
    });
    stays_as_it_is("a hole in the SACK ranges for each", 50_000, |i| match i % 2 {
        0 => data(i, 1000 * (i / 2), 1000),
        _ => answer(i, 0, &[(500 * i, 500 * i + 100)]),
    });
    stays_as_it_is("each segment again", 50_000, |i| data(i, 1000 * (i / 2), 1000));
    stays_as_it_is("always the same again, reported each time", 20_000, |i| match i % 2 {
        0 => data(i, 0, 1000),
        _ => answer(i, 1000, &[(0, 1000)]),
    });
    stays_as_it_is("a connection for each", 8_000, |i| {
        let mut s = data(i, i, 0);
        (s.source, s.flags) = (Address::V4(i.to_be_bytes()), flags::SYN);
        s
    });
    stays_as_it_is("the same ends, opened anew each time", 8_000, |i| {
        let mut s = data(i, i << 12, 0);
        s.flags = flags::SYN;
        s
    });
    stays_as_it_is("other tags each time", 8_000, |i| {
        let mut s = data(i, i, 1);
        s.tags = i + 1;
        s
    });
}
