//! What single options promise: the same exchange with an option on and off, or with each of its words.
//!
//! Segments have 1000 bytes, the handshake takes 100 ms.

use super::recovery::{after, numbers, sack, sender, text, windows};
use super::*;
use crate::cc::Signal;

fn ms(n: u64) -> Value {
    Value::Duration(Span::from_millis(n))
}

fn on(name: &'static str, is: bool) -> (&'static str, Value) {
    (name, Value::Bool(is))
}

/// Lets timers expire until segments leave: when, in microseconds, and how many.
fn next_departure(e: &mut Endpoint) -> (u64, usize) {
    loop {
        let due = e.next_deadline();
        assert_ne!(due, Time::NEVER);
        e.on_timer(due);
        let left = std::iter::from_fn(|| e.poll_transmit(due)).count();
        if left > 0 {
            return (due.0 / 1000, left);
        }
    }
}

/// A receiver with Linux's policy whose window is open from the start and the same for ever.
fn linux_receiver(options: &[(&str, Value)]) -> Endpoint {
    let window = |name| (name, Value::Int(64_000));
    let mut all = vec![("ack_policy", text("linux")), window("receive_buffer"), window("initial_receive_window")];
    all.extend(options.iter().cloned());
    connected(rfc(&all))
}

/// For segments `numbers` of the peer, one per `gap` ms from 200 ms on: which are acknowledged at once.
fn at_once(e: &mut Endpoint, numbers: impl IntoIterator<Item = u32>, gap: u64) -> Vec<bool> {
    let arrivals = numbers.into_iter().zip(0..);
    arrivals.map(|(n, i)| !give(e, 200 + i * gap, &data(1000 * (n - 1) + 1, 1000)).is_empty()).collect()
}

#[test]
fn a_timer_tick_rounds_timers_up_and_the_longer_ones_more_coarsely() {
    // Linux's timer wheel: from 63 ticks on a timer ends on a multiple of 8 of them, from 504 on of 64, and on the one
    // after its time. A delayed acknowledgment is due at 200 + 200 ms, a retransmission at 200 + 1000 ms.
    for (tick, acknowledged, repeated) in [(0, 400, 1200), (1, 408, 1216), (10, 410, 1280)] {
        let mut e = connected(rfc(&[("timer_tick", ms(tick))]));
        assert!(give(&mut e, 200, &data(1, 1000)).is_empty());
        assert_eq!(next_departure(&mut e), (1000 * acknowledged, 1), "acknowledgment, tick of {tick} ms");
        let mut e = sender(1, 1000, &[("timer_tick", ms(tick))]);
        assert_eq!(numbers(&mut e, 200), [1]);
        assert_eq!(next_departure(&mut e), (1000 * repeated, 1), "timeout, tick of {tick} ms");
    }
}

#[test]
fn linux_acknowledges_at_once_while_its_window_opens_and_then_every_second_segment() {
    // A buffer that holds twice the window and a segment, 130,000, of which 139/256 are payload: 70,585. A segment in
    // it takes 994 of them, so the window opens from 64,000 by 2000, 2000 and 1591: three segments.
    let options = |policy: &str, quick| {
        [
            ("ack_policy", text(policy)),
            ("initial_receive_window", Value::Int(64_000)),
            ("quick_acks", Value::Int(quick)),
        ]
    };
    let answers = |policy, quick| at_once(&mut connected(rfc(&options(policy, quick))), 1..=11, 1);
    let every_second = |from: u32| (1..=11).map(|n| n <= from || (n - from) % 2 == 0).collect::<Vec<_>>();
    assert_eq!(answers("rfc", 0), every_second(0));
    assert_eq!(answers("linux", 0), every_second(3));
    assert_eq!(answers("rfc", 4), every_second(4));
    assert_eq!(answers("linux", 4), every_second(3 + 4), "quick acknowledgments begin where the window stays");
}

#[test]
fn linux_offers_half_of_a_limited_buffer_until_a_segment_shows_its_share() {
    // 139 of 256 parts of such segments are payload: a window of 200,000 is 368,345 of memory, half of which is 184,172.
    let mut e = connected(rfc(&[("ack_policy", text("linux")), ("receive_buffer", Value::Int(200_000))]));
    let mut window = |n: u32| {
        let left = give(&mut e, 200 + u64::from(n), &data(1000 * (n - 1) + 1, 1000));
        left.first().map(|s| u64::from(s.window) << 2)
    };
    // It opens by two segments each, up to what the buffer holds besides the segment that opens it, 994, in units of 4.
    let windows = [1, 2, 3, 4, 5, 6, 7, 8].map(&mut window);
    assert_eq!(windows, std::array::from_fn(|i| Some((186_172 + 2000 * i as u64).min(199_008))));
    assert_eq!([9, 10].map(window), [None, Some(199_008)]);
}

#[test]
fn linux_acknowledges_a_segment_when_it_is_read_if_it_takes_room_of_a_window_that_was_said_whole() {
    let mut e = linux_receiver(&[]);
    // The handshake offered everything, and what is read leaves it.
    assert!(give(&mut e, 200, &data(1, 1000)).is_empty());
    assert_eq!(give(&mut e, 201, &data(1001, 1000))[0].window, 64_000);
    assert!(give(&mut e, 202, &data(2001, 1000)).is_empty());
    // What waits for its acknowledgment has been read, too.
    let due = e.next_deadline();
    e.on_timer(due);
    assert_eq!(e.poll_transmit(due).map(|s| s.window), Some(64_000));
}

#[test]
fn linux_tells_at_once_of_the_window_where_a_segment_had_taken_all_of_it() {
    let small = [("ack_policy", text("linux")), ("quick_acks", Value::Int(3)), ("receive_buffer", Value::Int(1000))];
    let mut e = connected(rfc(&small));
    let windows: Vec<_> = give(&mut e, 200, &data(1, 900)).iter().map(|s| (s.ack, u64::from(s.window))).collect();
    // Of the 1000 that the SYN offered 100 are left; when the segment has been read everything is free again.
    assert_eq!(windows, [(5901, 100), (5901, 920)]);
    assert!(give(&mut e, 201, &data(901, 0)).is_empty());
}

#[test]
fn the_delay_of_an_acknowledgment_is_fixed_or_follows_the_pauses() {
    let delay = [("delayed_ack_timeout", ms(40))];
    // Linux: half of the last delay and the pause, 40/2 + 30 and then 50/2 + 30; for a pause below 20 half of the least.
    for (linux, gap, delay_ms) in [(false, 30, 40), (true, 1, 40), (true, 30, 55)] {
        let mut e = if linux { linux_receiver(&delay) } else { connected(rfc(&delay)) };
        assert_eq!(at_once(&mut e, 1..=3, gap), [false, true, false]);
        assert_eq!(next_departure(&mut e), (1000 * (200 + 2 * gap + delay_ms), 1), "linux {linux}, {gap} ms");
    }
}

#[test]
fn acknowledgments_of_segments_out_of_order_are_compressed_beyond_the_third() {
    for compress in [false, true] {
        let mut e = linux_receiver(&[on("ack_compression", compress)]);
        at_once(&mut e, 1..=2, 1);
        // Segment 3 is missing.
        let told = at_once(&mut e, 4..=9, 0);
        if !compress {
            assert_eq!(told, [true; 6]);
            continue;
        }
        assert_eq!(told, [true, true, true, false, false, false]);
        // One for all: a twentieth of 100 ms is more than 1 ms, and the slack is 0.1 ms. It names all six.
        let due = e.next_deadline();
        assert_eq!(due, at(200) + Span::from_micros(1100));
        e.on_timer(due);
        let left: Vec<Segment> = std::iter::from_fn(|| e.poll_transmit(due)).collect();
        assert_eq!((left.len(), left[0].ack), (1, THEIRS + 2001));
        assert_eq!(left[0].sack(), [crate::tcp::segment::SackBlock { start: THEIRS + 3001, end: THEIRS + 9001 }]);
        // The hole is filled: at once.
        assert_eq!(at_once(&mut e, [3], 0), [true]);
    }
}

#[test]
fn a_short_path_compresses_for_a_twentieth_of_its_round_trip_time_and_at_most_44_segments() {
    let mut c = Config::profile(Profile::Rfc);
    for (name, value) in [("ack_policy", text("linux")), on("ack_compression", true), on("timestamps", false)] {
        c.set(name, &value).unwrap();
    }
    for window in ["receive_buffer", "initial_receive_window"] {
        c.set(window, &Value::Int(64_000)).unwrap();
    }
    let cc = registry::build("reno", &[], slowstart::build("standard", &[]).unwrap()).unwrap();
    let mut e = Endpoint::new(&c, MSS, cc, Stream::named(1, 0, "test"));
    e.connect();
    sent(&mut e, 0);
    give(&mut e, 4, &syn_ack());
    let told = at_once(&mut e, 2..=49, 0);
    assert_eq!(told, (1..=48).map(|n| n <= 3 || n == 48).collect::<Vec<_>>());
    // 4 ms / 20 + 0.1 ms.
    at_once(&mut e, [50], 0);
    assert_eq!(e.next_deadline(), at(200) + Span::from_micros(300));
}

/// Numbers of the segments that leave with PSH.
fn marked(left: &[Segment]) -> Vec<u32> {
    left.iter().filter(|s| s.has(flags::PSH)).map(|s| (s.seq - 1) / 1000 + 1).collect()
}

#[test]
fn the_send_buffer_says_which_segments_are_pushed() {
    // A queued segment takes 1832 bytes. The buffer is full after 10 or 20 of them; with 6 or 13 left a third of it is
    // free, and the acknowledgment that brings this about lets the application fill it again: 4 of segment 4, 8 and so
    // on, or 5 and then 9, where every second is acknowledged. Each fill ends with a push, as long as it is less than half
    // of 64 KB.
    let segments = |n: u64| Value::Int(1832 * n);
    for (block, buffer, step, pushed) in [
        (131_072, 10, 1, vec![10, 14, 18, 22, 26, 30]),
        (131_072, 10, 2, vec![10, 15, 19, 23, 27]),
        (131_072, 20, 1, vec![20, 27]),
        (0, 10, 1, vec![]),
    ] {
        for predicts in [true, false] {
            let mut e = sender(4, 1_000_000, &[("write_bytes", Value::Int(block)), ("send_buffer", segments(buffer))]);
            if !predicts {
                e.predict_nothing();
            }
            let mut told = marked(&sent(&mut e, 200));
            for n in (1..28).step_by(step) {
                e.on_segment(at(300), &ack(1 + 1000 * n));
                e.tx.tcb.set_window(at(300), 4000);
                told.extend(marked(&sent(&mut e, 300)));
            }
            told.retain(|n| *n <= 30);
            assert_eq!(told, pushed, "{buffer} segments, {block}, acknowledged {step} at a time");
        }
    }
}

#[test]
fn segments_sacked_one_behind_the_other_make_room_in_the_send_buffer() {
    // A buffer of 30 segments; of each that is merged with the one before it only 1000 of 1832 bytes stay. Two thirds are
    // 36,640 bytes: 30 * 1832 - 22 * 832 = 36,656, with 23 merged 35,824. Then 41 segments fill it.
    let mut e = sender(25, 1_000_000, &[("write_bytes", Value::Int(131_072)), ("send_buffer", Value::Int(30 * 1832))]);
    assert_eq!(marked(&sent(&mut e, 200)), []);
    for (now, last) in [(300, 24), (301, 25)] {
        e.tx.tcb.set_window(at(now), 0);
        e.on_segment(at(now), &sack(1, &[(2, last)]));
    }
    // The repair arrives: 25 leave 16 of 41 in the buffer, which is filled up to 55.
    sent(&mut e, 301);
    e.on_segment(at(400), &ack(1 + 25_000));
    e.tx.tcb.set_window(at(400), 60_000);
    assert_eq!(marked(&sent(&mut e, 400)), [30, 41, 55]);
}

#[test]
fn a_segment_without_payload_has_the_size_asked_for() {
    for (option, bare, with_blocks) in [(0, 52, 72), (40, 40, 40), (64, 64, 64)] {
        let mut e = rfc(&[("ack_bytes", Value::Int(option))]);
        e.connect();
        let first = sent(&mut e, 0)[0];
        assert_eq!(e.wire_bytes(&first), if option > 0 { option as u32 } else { 60 }, "SYN");
        e.tx.write(1000);
        let first = give(&mut e, 100, &syn_ack())[0];
        assert_eq!((first.len, e.wire_bytes(&first)), (1000, 1052), "data has its headers");
        give(&mut e, 200, &timestamped(data(1, 1000), 901, 0));
        let second = give(&mut e, 200, &timestamped(data(1001, 1000), 901, 0))[0];
        assert_eq!(e.wire_bytes(&second), bare);
        give(&mut e, 200, &timestamped(data(4001, 1000), 901, 0));
        let two_holes = give(&mut e, 200, &timestamped(data(6001, 1000), 901, 0))[0];
        assert_eq!((two_holes.sack().len(), e.wire_bytes(&two_holes)), (2, with_blocks));
    }
}

#[test]
fn the_acknowledgment_that_ends_the_handshake_leaves_alone_if_asked() {
    for alone in [false, true] {
        for (bytes, data) in [(0, vec![]), (1500, vec![(1, 1000), (1001, 500)])] {
            let mut e = rfc(&[on("handshake_ack", alone)]);
            e.tx.write(bytes);
            e.connect();
            sent(&mut e, 0);
            let left = give(&mut e, 100, &syn_ack());
            assert!(left.iter().all(|s| s.ack == THEIRS + 1 && s.has(flags::ACK)));
            // Without data to ride on it leaves alone anyway, and once.
            let bare = if alone || bytes == 0 { vec![(1, 0)] } else { vec![] };
            let got: Vec<_> = left.iter().map(|s| (s.seq, s.len)).collect();
            assert_eq!(got, [bare, data].concat(), "alone {alone}");
        }
    }
}

/// The window after one round in which `used` segments of 10 are sent, each acknowledged alone.
fn grown(validated: bool, slow_start: bool, used: u64) -> f64 {
    let mut e = sender(10, 1000, &[on("window_validation", validated)]);
    // A first segment, so that the round before is none of the handshake's.
    numbers(&mut e, 200);
    after(&mut e, 300, &sack(2, &[]));
    e.tx.tcb.decide(at(300), |cc, cx| {
        if !slow_start {
            cc.on_congestion(cx, Signal::Loss { flight: 20_000 });
        }
        cc.set_window(cx, 10_000);
    });
    e.tx.write(1000 * used);
    assert_eq!(numbers(&mut e, 300).len() as u64, used);
    for n in 1..=used as u32 {
        after(&mut e, 400, &sack(2 + n, &[]));
    }
    windows(&e).0
}

#[test]
fn a_window_that_does_not_hold_the_sender_back_does_not_grow() {
    // Slow start: a window of 10 grows by a segment per acknowledgment while less than twice the flight.
    assert_eq!([4, 5, 6, 8, 10].map(|used| grown(true, true, used)), [10.0, 10.0, 12.0, 16.0, 20.0]);
    assert_eq!([4, 5, 6, 8, 10].map(|used| grown(false, true, used)), [14.0, 15.0, 16.0, 18.0, 20.0]);
    // Congestion avoidance, threshold 10: a tenth of a segment per acknowledgment, when the window was full.
    assert_eq!([4, 9].map(|used| grown(true, false, used)), [10.0, 10.0]);
    assert!((10.38..=10.40).contains(&grown(false, false, 4)), "{}", grown(false, false, 4));
    for validated in [false, true] {
        let full = grown(validated, false, 10);
        assert!((10.9..=11.0).contains(&full), "{full}");
    }
}

#[test]
//= test: RFC 2018 §8 forget
fn a_timeout_forgets_what_was_selectively_acknowledged_if_asked() {
    for detection in ["dupack", "rack"] {
        for (forgets, then) in [(false, [11, 12]), (true, [4, 5])] {
            let mut e = sender(10, 100_000, &[on("clear_sack_on_rto", forgets), ("loss_detection", text(detection))]);
            assert_eq!(numbers(&mut e, 200).len(), 10);
            after(&mut e, 300, &sack(1, &[(4, 10)]));
            assert_eq!(e.tx.tcb.board.sacked(), 7000);
            let due = next_departure(&mut e).0 / 1000;
            assert_eq!((e.tx.stats().timeouts, e.tx.tcb.board.sacked()), (1, if forgets { 0 } else { 7000 }));
            assert_eq!(e.tx.in_flight(), 1000, "the first segment");
            // The receiver has thrown away what lay beyond the hole, as RFC 2018 §8 allows, and reports it no more.
            assert_eq!(after(&mut e, due + 100, &sack(2, &[])), [2, 3]);
            let left = after(&mut e, due + 200, &sack(4, &[]));
            assert_eq!(left[..2], then, "{detection}, forgets: {forgets}");
        }
    }
}

#[test]
//= test: RFC 2018 §8 left-edge
fn a_timeout_sends_the_first_segment_again_though_it_was_selectively_acknowledged() {
    for detection in ["dupack", "rack"] {
        let mut e = sender(10, 10_000, &[on("clear_sack_on_rto", false), ("loss_detection", text(detection))]);
        assert_eq!(numbers(&mut e, 200).len(), 10);
        after(&mut e, 300, &sack(1, &[(4, 10)]));
        // The receiver gets 1 to 3 and has thrown away the rest.
        after(&mut e, 400, &sack(4, &[]));
        let due = next_departure(&mut e);
        assert_eq!((e.tx.stats().timeouts, e.tx.tcb.board.sacked()), (1, 0), "{detection}");
        // What was delivered once does not open the window again.
        assert_eq!(after(&mut e, due.0 / 1000 + 100, &sack(5, &[])), [5], "{detection}");
    }
}
