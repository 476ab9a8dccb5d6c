//! Reassembly, windows and the acknowledgment rules.

use super::*;
use crate::params::Value;
use crate::tcp::config::Profile;

fn receiver(options: &[(&str, Value)]) -> Receiver {
    let mut c = Config::profile(Profile::Rfc);
    for (name, value) in options {
        c.set(name, value).unwrap();
    }
    let mut r = Receiver::new(&c, 1000);
    r.open(0);
    answer(&mut r, 0);
    r
}

fn answer(r: &mut Receiver, now: u64) -> Segment {
    let mut s = Segment::default();
    r.acknowledge(Time(now), &mut s, true, true);
    s
}

fn blocks(s: &Segment) -> Vec<(u32, u32)> {
    s.sack().iter().map(|b| (b.start, b.end)).collect()
}

#[test]
//= test: RFC 7323 §2.3 shift-limit
fn scale_is_the_smallest_that_fits() {
    for (buffer, scale) in [(65_535, 0), (65_536, 1), (6_291_456, 7), ((1 << 30) - 1, 14)] {
        assert_eq!(receiver(&[("receive_buffer", Value::Int(buffer))]).scale(), scale);
    }
}

#[test]
//= test: RFC 9293 §3.8.6.3 second-segment
fn every_second_full_segment_is_acknowledged() {
    let mut r = receiver(&[]);
    r.on_data(Time(1), 1, 1000, false);
    assert!(!r.wants_ack_now());
    assert_eq!(r.ack_wait(), Some(AckWait::Delayed(Span::from_millis(200))));
    r.on_data(Time(2), 1001, 1000, false);
    assert!(r.wants_ack_now());
    assert_eq!(answer(&mut r, 3).ack, 2001);
    assert_eq!(r.ack_wait(), None);
}

#[test]
fn the_first_segments_are_acknowledged_at_once_if_asked() {
    let mut c = Config::profile(Profile::Ns3);
    c.set("quick_acks", &Value::Int(2)).unwrap();
    let mut r = Receiver::new(&c, 1000);
    r.open(0);
    let mut at_once = vec![];
    for n in 0..5 {
        r.on_data(Time(n), 1 + 1000 * n, 1000, false);
        at_once.push(r.wants_ack_now());
        if r.wants_ack_now() {
            answer(&mut r, n);
        }
    }
    assert_eq!(at_once, [true, true, false, true, false]);
}

#[test]
//= test: RFC 5681 §4.2 ack-disorder
//= test: RFC 2018 §4 first-block
//= test: RFC 2018 §4 as-many
fn the_block_that_just_came_is_reported_first() {
    let mut r = receiver(&[]);
    for pos in [2001, 4001, 6001] {
        r.on_data(Time(1), pos, 1000, false);
        assert!(r.wants_ack_now());
    }
    assert_eq!(blocks(&answer(&mut r, 2)), [(6001, 7001), (4001, 5001), (2001, 3001)]);
    r.on_data(Time(3), 3001, 1000, false);
    assert_eq!(blocks(&answer(&mut r, 3)), [(2001, 5001), (6001, 7001)]);
    r.on_data(Time(4), 1, 2000, false);
    assert!(r.wants_ack_now());
    let s = answer(&mut r, 4);
    assert_eq!((s.ack, blocks(&s)), (5001, vec![(6001, 7001)]));
}

#[test]
//= test: RFC 2883 §4 first-block
//= test: RFC 2883 §4 once
fn duplicates_are_reported_as_dsack() {
    let mut r = receiver(&[]);
    r.on_data(Time(1), 1, 1000, false);
    r.on_data(Time(2), 1, 1000, false);
    assert!(r.wants_ack_now());
    assert_eq!(blocks(&answer(&mut r, 2)), [(1, 1001)]);
    assert_eq!((r.stats.delivered, r.stats.duplicate), (1000, 1000));
    r.on_data(Time(3), 3001, 1000, false);
    answer(&mut r, 3);
    r.on_data(Time(4), 3001, 1000, false);
    assert_eq!(blocks(&answer(&mut r, 4)), [(3001, 4001), (3001, 4001)]);
}

#[test]
//= test: RFC 9293 §3.8.6 no-shrinking-offer
//= test: RFC 9293 §3.8.6.2.2 sws-receiver
fn a_slow_reader_closes_and_reopens_the_window() {
    let mut r = receiver(&[("receive_buffer", Value::Int(4000)), ("app_read_rate", Value::Int(1000))]);
    for i in 0..4 {
        r.on_data(Time(1), 1 + i * 1000, 1000, false);
    }
    assert_eq!(answer(&mut r, 1).window, 0);
    let at = r.window_update_due(Time(2)).unwrap();
    assert!((1_000_000_000..1_010_000_000).contains(&at.0), "{at:?}");
    assert_eq!(answer(&mut r, at.0).window, 1000);
}

#[test]
fn a_window_opens_by_what_its_scale_can_express() {
    // 200 MB take a shift of 12: steps of 4096 bytes, more than a segment.
    let mut r = receiver(&[("receive_buffer", Value::Int(200_000_000)), ("app_read_rate", Value::Int(1_000_000))]);
    r.on_data(Time(1), 1, 200_000_000, false);
    assert_eq!((answer(&mut r, 1).window, r.scale()), (0, 12));
    let at = r.window_update_due(Time(2)).unwrap();
    assert!((4_096_000..4_100_000).contains(&at.0), "{at:?}");
    assert_eq!(answer(&mut r, at.0).window, 1);
}

#[test]
//= test: RFC 9293 §3.10.7.4 out-of-order
fn one_segment_can_reach_over_several_islands() {
    let mut r = receiver(&[]);
    for (pos, len) in [(501, 200), (1001, 200), (1501, 1000)] {
        r.on_data(Time(1), pos, len, false);
    }
    answer(&mut r, 1);
    r.on_data(Time(2), 1, 1700, false);
    let s = answer(&mut r, 2);
    assert_eq!((s.ack, r.out_of_order_bytes(), r.stats.delivered, r.stats.duplicate), (2501, 0, 2500, 600));
    assert_eq!(blocks(&s), [(501, 701)], "the first of what came twice");
}

#[test]
//= test: RFC 2883 §4 first-block
fn of_a_segment_that_is_partly_known_the_known_part_is_reported() {
    // RFC 2883 §4.2.1 to §4.2.3: below the acknowledgment, and inside a block.
    let mut r = receiver(&[]);
    r.on_data(Time(1), 1, 1500, false);
    r.on_data(Time(2), 1001, 1000, false);
    let s = answer(&mut r, 2);
    assert_eq!((s.ack, blocks(&s)), (2001, vec![(1001, 1501)]));
    r.on_data(Time(3), 4001, 1000, false);
    r.on_data(Time(4), 6001, 1000, false);
    answer(&mut r, 4);
    for ((pos, len), reported) in
        [((3501, 1000), (4001, 4501)), ((4501, 1000), (4501, 5001)), ((3001, 9000), (3501, 5501))]
    {
        r.on_data(Time(5), pos, len, false);
        assert_eq!(blocks(&answer(&mut r, 5))[0], reported);
    }
    assert!(blocks(&answer(&mut r, 6)).iter().all(|b| *b == (3001, 12_001)), "a duplicate is reported once");
}

#[test]
//= test: RFC 7323 §5.3 paws
fn a_duplicate_with_an_old_timestamp_is_reported_too() {
    let mut r = receiver(&[]);
    r.on_data(Time(1), 1, 1500, false);
    r.on_old_timestamp(1001, 1000);
    assert!(r.wants_ack_now());
    assert_eq!(blocks(&answer(&mut r, 2)), [(1001, 1501)]);
    r.on_old_timestamp(3001, 1000);
    assert!(blocks(&answer(&mut r, 3)).is_empty(), "never taken");
}

#[test]
//= test: RFC 9293 §3.8.6 no-shrinking-offer
fn the_right_edge_never_moves_left() {
    let mut r = receiver(&[("receive_buffer", Value::Int(100_000)), ("window_counts_ooo", Value::Bool(true))]);
    let mut edge = r.edge();
    for i in 1..40 {
        r.on_data(Time(i), 1 + i * 1500, 1000, false);
        answer(&mut r, i);
        assert!(r.edge() >= edge);
        edge = r.edge();
    }
}

#[test]
//= test: RFC 9293 §3.10.7.4 fin
fn fin_ends_the_stream() {
    let mut r = receiver(&[]);
    r.on_data(Time(1), 1001, 500, true);
    assert!(!r.finished());
    r.on_data(Time(2), 1, 1000, false);
    assert!(r.finished() && r.wants_ack_now());
    assert_eq!((answer(&mut r, 3).ack, r.stats.delivered), (1502, 1500));
    r.on_data(Time(4), 1501, 0, true);
    assert!(r.wants_ack_now(), "a repeated FIN is acknowledged again");
}

#[test]
fn an_application_that_does_not_read_closes_the_window() {
    let mut r = receiver(&[("receive_buffer", Value::Int(4000))]);
    r.read_by_hand();
    for i in 0..4 {
        r.on_data(Time(1), 1 + i * 1000, 1000, false);
    }
    assert_eq!((answer(&mut r, 1).window, r.unread(), r.stats.delivered), (0, 4000, 4000));
    // RFC 9293 §3.8.6.2.2: no update for less than a segment, one when a segment fits.
    assert_eq!(r.read(Time(2), 999), 999);
    assert!(!r.wants_ack_now());
    assert_eq!(answer(&mut r, 2).window, 0);
    assert_eq!(r.read(Time(3), 1), 1);
    assert!(r.wants_ack_now());
    assert_eq!(answer(&mut r, 3).window, 1000);
    // While a segment is welcome, reading says nothing; the next acknowledgment does.
    assert_eq!(r.read(Time(4), 5000), 3000);
    assert!(!r.wants_ack_now());
    r.on_data(Time(5), 4001, 1000, false);
    r.request_ack();
    assert_eq!((answer(&mut r, 5).window, r.unread()), (3000, 1000));
}

#[test]
fn a_stream_that_has_ended_can_still_be_read() {
    let mut r = receiver(&[]);
    r.read_by_hand();
    r.on_data(Time(1), 1, 1500, true);
    assert!(r.finished());
    assert_eq!((r.unread(), r.read(Time(2), 1000), r.read(Time(3), 1000), r.read(Time(4), 1000)), (1500, 1000, 500, 0));
}

#[test]
fn linux_tells_at_once_of_a_window_that_reading_has_doubled() {
    let mut c = Config::profile(Profile::Linux);
    // tcp_rmem 4096 131072 131072: a buffer that does not grow.
    for (name, bytes) in [("receive_buffer", 131_072), ("initial_receive_window", 64_088)] {
        c.set(name, &Value::Int(bytes)).unwrap();
    }
    let mut r = Receiver::new(&c, 1448);
    r.open(0);
    answer(&mut r, 0);
    r.read_by_hand();
    let mut end = 1;
    while r.edge() - r.nxt() >= 1448 {
        r.on_data(Time(end), end, 1448, false);
        end += 1448;
        answer(&mut r, end);
    }
    // The window never shrinks, and only what is told grows: within the buffer's share of payload, 162 of 256, twice, as two
    // segments share its memory.
    assert!(r.nxt() < 2 * 131_072 * 162 / 256 && r.nxt() > 64_088, "{}", r.nxt());
    let open = |r: &mut Receiver, now: u64| u64::from(answer(r, now).window) << r.scale();
    let before = r.edge() - r.nxt();
    assert_eq!(r.read(Time(end), 1448), 1448);
    assert!(!r.wants_ack_now(), "less than a sixteenth of the buffer is free");
    assert_eq!(r.read(Time(end), 20 * 1448), 20 * 1448);
    assert!(r.wants_ack_now());
    // Of 21 segments read ten buffers are free.
    assert!(open(&mut r, end) >= (2 * before).max(10 * (1448 + 832) * 162 / 256));
}

/// The windows of the recorded slow reader (conformance/kernel/limited, `slowread`), in order of the segments.
#[test]
fn linux_keeps_two_unread_segments_in_the_memory_of_one() {
    let mut c = Config::profile(Profile::Linux);
    for (name, bytes) in [("receive_buffer", 1 << 20), ("initial_receive_window", 65_536 - 1448)] {
        c.set(name, &Value::Int(bytes)).unwrap();
    }
    let mut r = Receiver::new(&c, 1448);
    r.open(0);
    answer(&mut r, 0);
    r.established(Time(60_030_000), Span::from_millis(40));
    r.read_by_hand();
    let (mut nxt, mut told) = (1, Vec::new());
    // Two flights, of 10 and 13 segments 0.6 ms apart; everything is read between them.
    for (begin, count) in [(60_663_000, 10), (101_270_000, 13)] {
        for k in 0..count {
            let now = Time(begin + 605_600 * k);
            r.on_data(now, nxt, 1448, false);
            nxt += 1448;
            told.push(u32::from(answer(&mut r, now.0).window) << r.scale());
        }
        r.read(Time(begin + 9_400_000), 12_500);
        answer(&mut r, begin + 9_400_000);
        r.read(Time(begin + 19_400_000), 12_500);
        answer(&mut r, begin + 19_400_000);
    }
    let first = [67_008, 69_888, 72_800, 75_680, 78_592, 78_624, 77_184, 77_184, 75_744, 75_744];
    let second = [81_504, 80_064, 78_624, 77_184, 75_744, 74_304];
    assert_eq!(told[..10], first);
    assert_eq!(told[10..22], second.map(|w| [w; 2]).concat());
}

/// As in a capture of Linux 6.12 (tcp_sack_new_ofo_skb): of every second segment of a window the last are remembered, and
/// segments that fill the holes farther down are blocks of their own. RFC 2018 §4 wants all that is contiguous.
#[test]
fn linux_joins_only_the_blocks_that_it_remembers() {
    for (profile, told) in [
        (Profile::Linux, vec![vec![(3, 4), (20, 21), (18, 19), (16, 17)], vec![(5, 6), (3, 4), (20, 21), (18, 19)]]),
        (Profile::Rfc, vec![vec![(2, 5), (20, 21), (18, 19), (16, 17)], vec![(2, 7), (20, 21), (18, 19), (16, 17)]]),
    ] {
        let mut r = Receiver::new(&Config::profile(profile), 1000);
        r.open(0);
        answer(&mut r, 0);
        let mut bring = |segment: u64| {
            r.on_data(Time::ZERO, segment * 1000, 1000, false);
            blocks(&answer(&mut r, 0)).iter().map(|b| (b.0 / 1000, b.1 / 1000)).collect::<Vec<_>>()
        };
        (1..=10).for_each(|i| drop(bring(2 * i)));
        assert_eq!([3, 5].map(&mut bring).to_vec(), told, "{profile:?}");
        // Between two that both remember.
        assert_eq!(bring(19)[0], (18, 21));
    }
}

/// Linux's pingpong mode (tcp_event_data_sent, tcp_in_quickack_mode, tcp_enter_quickack_mode, tcp_delack_timer_handler).
#[test]
fn linux_acknowledges_an_application_that_answers_with_its_data() {
    for (wait_ms, again) in [(39, [false, true, false, true]), (41, [true; 4])] {
        let mut r = Receiver::new(&Config::profile(Profile::Linux), 1448);
        r.open(0);
        answer(&mut r, 0);
        let (mut now, mut end) = (Time(1_000_000_000), 1);
        let mut bring = |r: &mut Receiver, now: Time, pushed: bool| {
            r.on_header(1448, pushed, 0);
            r.on_data(now, end, 1448, false);
            end += 1448;
            let at_once = r.wants_ack_now();
            if at_once {
                answer(r, now.0);
            }
            at_once
        };
        // Quick acknowledgments of which some are left when the request leaves.
        assert_eq!([(); 4].map(|()| bring(&mut r, now, false)), [true; 4]);
        let request = |r: &mut Receiver, now: Time| {
            r.acknowledge(now, &mut Segment { len: 800, ..Segment::default() }, true, true);
        };
        now += Span::from_millis(wait_ms);
        request(&mut r, now);
        assert_eq!([(); 4].map(|()| bring(&mut r, now, false)), again, "{wait_ms} ms");
        // What is pushed waits for the next request, too, or for the timer, which ends the mode.
        assert_eq!(bring(&mut r, now, true), again[0]);
        if again[0] {
            continue;
        }
        r.on_delay_expired();
        assert!(r.wants_ack_now());
        answer(&mut r, now.0);
        assert_eq!([(); 2].map(|()| bring(&mut r, now, false)), [true; 2]);
        // A duplicate ends it as well.
        request(&mut r, now);
        assert_eq!([(); 2].map(|()| bring(&mut r, now, false)), [false, true]);
        r.on_data(now, 1, 1448, false);
        answer(&mut r, now.0);
        assert_eq!([(); 2].map(|()| bring(&mut r, now, false)), [true; 2]);
    }
}

/// The second of two short segments that nobody answered is acknowledged when it is read (ICSK_ACK_PUSHED2), whether it was
/// pushed or not (tcp_measure_rcv_mss, tcp_cleanup_rbuf of Linux 6.12); a full one waits for the answer.
#[test]
fn linux_acknowledges_the_second_short_segment_that_is_not_answered() {
    let second = |len: u32, pushed: bool| {
        let mut r = Receiver::new(&Config::profile(Profile::Linux), 1448);
        r.open(0);
        answer(&mut r, 0);
        let (now, mut end) = (Time(1_000_000_000), 1);
        let mut bring = |r: &mut Receiver, len: u32, pushed: bool| {
            // One after the other, each read before the next comes.
            let now = now + Span(end);
            r.on_header(len, pushed, 0);
            r.on_data(now, end, len, false);
            end += u64::from(len);
            r.wants_ack_now()
        };
        // A question that is answered at once: from then on acknowledgments wait for answers.
        bring(&mut r, 1448, true);
        r.acknowledge(now, &mut Segment { len: 800, ..Segment::default() }, true, true);
        assert!(!bring(&mut r, 200, true), "the first");
        let at_once = bring(&mut r, len, pushed);
        answer(&mut r, now.0);
        assert!(!bring(&mut r, 200, true), "the first after an acknowledgment");
        at_once
    };
    assert_eq!([second(200, true), second(200, false)], [true, true]);
    // With the first more than a full one, which is acknowledged in any mode; the first alone is not.
    assert!(second(1448, true));
}

/// What comes at one moment, as a radio's block of data brings it, is read behind it: while that leaves less window than was said,
/// tcp_ack_snd_check of Linux 6.12 leaves the acknowledgment to tcp_cleanup_rbuf, which sends one for all.
#[test]
fn linux_acknowledges_what_came_at_once_when_it_is_read_where_its_window_is_limited() {
    for (apart, due) in [(Span(0), [false, false, false]), (Span(1), [false, true, true])] {
        let mut config = Config::profile(Profile::Linux);
        config.set("receive_buffer", &Value::Int(20_000)).unwrap();
        let mut r = Receiver::new(&config, 1448);
        r.open(0);
        r.comes_in_blocks();
        let mut now = Time(1_000_000_000);
        let bring = |r: &mut Receiver, now: Time| {
            let at = r.nxt();
            r.on_header(1448, false, 0);
            r.on_data(now, at, 1448, false);
            r.wants_ack_now()
        };
        // Until the window is as large as it gets, each by itself.
        for _ in 0..200 {
            now += Span::from_millis(1);
            if bring(&mut r, now) || r.ack_wait() == Some(AckWait::READ) {
                answer(&mut r, now.0);
            }
        }
        answer(&mut r, now.0);
        now += Span::from_millis(1);
        assert_eq!([0, 1, 2].map(|i| bring(&mut r, now + apart * i)), due);
        assert_eq!(r.ack_wait() == Some(AckWait::READ), apart == Span(0));
    }
}

/// So does what is said of the window: the second of three at a moment leaves room for what is behind it only as far as two are
/// unread, and as much is free when the next second comes. On Linux 6.12, to whose phone of 144 KiB a radio brings two and three
/// segments in turns, the first 29 are acknowledged when the thirtieth is not.
#[test]
fn linux_says_a_window_in_which_all_that_came_at_once_is_unread() {
    let mut config = Config::profile(Profile::Linux);
    config.set("receive_buffer", &Value::Int(144 << 10)).unwrap();
    let mut r = Receiver::new(&config, 1448);
    r.open(0);
    r.comes_in_blocks();
    answer(&mut r, 0);
    let mut acknowledged = Vec::new();
    for segment in 1..=30u64 {
        // Five in two milliseconds.
        let now = Time(1_000_000_000 + (segment * 2 - 1) / 5 * 1_000_000);
        let at = r.nxt();
        r.on_header(1448, false, 0);
        r.on_data(now, at, 1448, false);
        if r.wants_ack_now() {
            answer(&mut r, now.0);
            acknowledged.push(segment);
        }
        assert_ne!(r.ack_wait(), Some(AckWait::READ), "{segment}");
    }
    assert_eq!(acknowledged, [(1..=27).collect(), vec![29]].concat());
}

/// tcp_data_queue of Linux 6.12 opens the window before it moves what a hole had held back, which takes memory until it is
/// read. So the segment that fills the hole finds no room for what the window lacks, and the next one opens it and is
/// acknowledged at once (in a trace: segments 769 lost, 770 to 799 held, 800 acknowledged alone).
#[test]
fn linux_counts_what_a_hole_held_back_when_it_is_filled() {
    let mut r = Receiver::new(&Config::profile(Profile::Linux), 1448);
    r.open(0);
    answer(&mut r, 0);
    let mut bring = |segment: u64| {
        r.on_data(Time(segment * 1_000_000), 1 + 1448 * (segment - 1), 1448, false);
        let at_once = r.wants_ack_now();
        if at_once {
            answer(&mut r, segment * 1_000_000);
        }
        at_once
    };
    // 8 387 160 bytes at first and two segments for each of 768: the window lacks 5 544 bytes of the 10 616 832 that the
    // buffer allows, the first segment out of order brings half of them.
    (1..=768).for_each(|segment| assert!(bring(segment), "{segment}"));
    for segment in 770..800 {
        bring(segment);
    }
    assert_eq!([769, 800, 801, 802, 803, 804].map(bring), [true, true, false, true, false, true]);
}
