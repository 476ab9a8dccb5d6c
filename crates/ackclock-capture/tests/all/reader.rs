//! Files of the classic format and of pcapng, in every variant that there is.

use crate::files::*;
use ackclock_capture::drive::Options;
use ackclock_capture::reader::{Decoder, Record, blank};
use ackclock_capture::write::{LinkType, Seen, Truth, Writer};
use ackclock_core::packet::{Address, Family, FourTuple, Packet};
use ackclock_core::tcp::segment::{Segment, flags};
use ackclock_core::time::Time;
use std::io::Write;

fn times(file: &[u8]) -> Vec<i64> {
    read(file).segments.iter().map(|s| s.time).collect()
}

#[test]
fn the_classic_format_in_both_orders_units_and_headers() {
    let frame = segment();
    for order in [LITTLE, BIG] {
        for (magic, part) in [(0xa1b2_c3d4, 500_000), (0xa1b2_3c4d, 500_000_000), (0xa1b2_cd34, 500_000)] {
            let found = read(&pcap(order, magic, 101, &[(1, part, &frame), (2, part, &frame)]));
            let s = &found.segments[0];
            assert_eq!((s.time, s.number, s.length, s.seq, s.ack, s.window), (1_500_000_000, 1, 5, 7, 8, Some(256)));
            assert_eq!((s.source_port, s.destination_port, s.ip_id), (40000, 80, 9));
            assert_eq!(s.source, Address::V4([10, 0, 0, 1]));
            assert_eq!(found.segments[1].time, 2_500_000_000);
            let summary = &found.summary;
            assert_eq!((summary.format, summary.packets, summary.segments, summary.truncated), ("pcap", 2, 2, None));
            assert_eq!((summary.times, summary.connections), (Some((1_500_000_000, 2_500_000_000)), 1));
        }
    }
}

#[test]
fn flags_beside_the_link_type_are_not_part_of_it() {
    // The frames end with a checksum of 4 bytes, says the file.
    assert_eq!(read(&plain(0x2400_0065, &[segment()])).summary.segments, 1);
}

#[test]
fn what_our_own_writer_writes() {
    let addresses = FourTuple::of_connection(Family::V4, 3, 0);
    let mut segment = Segment::default();
    (segment.seq, segment.len, segment.flags) = (77, 1000, flags::ACK);
    let packet = Packet::Tcp(segment);
    for link in [LinkType::Raw, LinkType::Ethernet] {
        let mut writer =
            Writer::new(Vec::new(), (link, Family::V4), r#"{"run":0}"#, &["flows.0.source", "flows.0.sink"]);
        let truth = Truth { repeated: Some("rto"), ..Truth::default() };
        writer.packet(&Seen { at: Time(5), interface: 0, addresses, packet: &packet, id: 1, truth });
        writer.packet(&Seen { at: Time(7), interface: 1, addresses, packet: &packet, id: 1, truth: Truth::default() });
        let found = read(&writer.finish().unwrap().0);
        let seen: Vec<_> = found.segments.iter().map(|s| (s.time, s.interface, s.seq, s.length)).collect();
        assert_eq!(seen, [(5, 0, 77, 1000), (7, 1, 77, 1000)]);
        assert_eq!(found.comments, [(0, r#"{"run":0}"#.into()), (1, r#"{"rtx":"rto"}"#.into())]);
        assert_eq!(found.summary.interface(1).unwrap().name, "flows.0.sink");
        assert_eq!(found.rows.len(), 4, "an interface is no other's");
        assert!(found.rows.iter().all(|row| found.summary.interface(row.interface).is_some()));
    }
}

#[test]
fn units_and_offsets_of_time() {
    let frame = segment();
    for order in [LITTLE, BIG] {
        let half = 1u64 << 31;
        for (resolution, units, ns) in [
            (None, 1_500_000, 1_500_000_000),
            (Some(0), 3, 3_000_000_000),
            (Some(3), 1_500, 1_500_000_000),
            (Some(9), 1_500_000_001, 1_500_000_001),
            (Some(12), 1_500_000_001_999, 1_500_000_001),
            (Some(0x80 | 32), 3 * half, 1_500_000_000),
            (Some(0x80), 2, 2_000_000_000),
            (Some(0x80 | 63), 3 << 62, 1_500_000_000),
            // Nobody counts in such units, but nothing may overflow.
            (Some(127), u64::MAX, 0),
            (Some(0xff), u64::MAX, 0),
            (Some(0), u64::MAX, 1 << 62),
        ] {
            let value = [resolution.unwrap_or(0)];
            let with: &[(u16, &[u8])] = if resolution.is_some() { &[(9, &value)] } else { &[] };
            let begin = [section(order, &[]), interface(order, 101, 0, with)].concat();
            let file = [begin, enhanced(order, 0, units, &frame, &[])].concat();
            assert_eq!(times(&file), [ns], "{resolution:?}");
        }
        let with = [(9, &[9][..]), (14, &order.long(1_000))];
        let begin = [section(order, &[]), interface(order, 101, 0, &with)].concat();
        assert_eq!(times(&[begin, enhanced(order, 0, 5, &frame, &[])].concat()), [1_000_000_000_005]);
        let with = [(14, &order.long(-1000i64 as u64)[..])];
        let begin = [section(order, &[]), interface(order, 101, 0, &with)].concat();
        assert_eq!(times(&[begin, enhanced(order, 0, 5, &frame, &[])].concat()), [-999_999_995_000]);
    }
}

#[test]
fn every_kind_of_block() {
    for order in [LITTLE, BIG] {
        let frame = segment();
        let length = frame.len() as u32;
        let mut file = section(order, &[(1, b"first"), (1, b"second"), (4, b"tool")]);
        file.extend(interface(order, 101, 0, &[(2, b"eth0"), (1, b"comment of an interface")]));
        file.extend(interface(order, 1, 50, &[(2, "längs".as_bytes())]));
        file.extend(block(order, 4, &[0; 16])); // names
        file.extend(enhanced(order, 0, 1_000_000, &frame, &[(2, &[0; 4]), (1, b"of a packet")]));
        let obsolete = [&order.half(0)[..], &order.half(3), &order.words(&[0, 2_000_000, length, length]), &frame];
        file.extend(block(order, 2, &obsolete.concat()));
        file.extend(block(order, 3, &[&order.word(length)[..], &frame].concat())); // simple
        file.extend(block(order, 0x8000_0bad, &[7; 400])); // somebody's own
        file.extend(enhanced(order, 1, 3_000_000, &ethernet(0x800, &frame), &[]));
        let drops = options(order, &[(4, &order.long(99)), (5, &order.long(7)), (7, &order.long(2))]);
        file.extend(block(order, 5, &[&order.words(&[1, 0, 0])[..], &drops].concat()));
        let found = read(&file);
        let seen: Vec<_> = found.segments.iter().map(|s| (s.time / 1_000_000_000, s.interface, s.number)).collect();
        assert_eq!(seen, [(1, 0, 1), (2, 0, 2), (2, 0, 3), (3, 1, 4)], "a packet without a time has the last");
        let summary = &found.summary;
        assert_eq!((summary.format, summary.timeless, summary.truncated, summary.malformed), ("pcapng", 1, None, 0));
        assert_eq!(summary.bytes, file.len() as u64);
        let of = |n| summary.interface(n).map(|i| (i.name.as_str(), i.link, i.snaplen, i.packets, i.drops)).unwrap();
        assert_eq!(of(0), ("eth0", 101, 0, 3, Some(3)));
        assert_eq!(of(1), ("längs", 1, 50, 1, Some(9)));
        assert_eq!(found.comments, [(0, "first".into()), (0, "second".into()), (1, "of a packet".into())]);
    }
}

#[test]
fn a_simple_packet_is_as_long_as_the_snapshot_length_leaves_it() {
    let frame = ipv4(6, &tcp(7, 500));
    let mut file = [section(LITTLE, &[]), interface(LITTLE, 101, 40, &[])].concat();
    file.extend(block(LITTLE, 3, &[&LITTLE.word(frame.len() as u32)[..], &frame[..40]].concat()));
    assert_eq!(read(&file).segments[0].length, 500);
}

#[test]
fn sections_have_orders_and_interfaces_of_their_own() {
    let frame = segment();
    let one = |order, name: &[u8], units| {
        let with = [(2u16, name), (9, &[6][..])];
        [section(order, &[]), interface(order, 101, 0, &with), enhanced(order, 0, units, &frame, &[])].concat()
    };
    let file = [one(LITTLE, b"eth0", 1), one(BIG, b"eth0", 2), one(LITTLE, b"wlan0", 3)].concat();
    let found = read(&file);
    let seen: Vec<_> = found.segments.iter().map(|s| (s.time, s.interface)).collect();
    assert_eq!(seen, [(1000, 0), (2000, 0), (3000, 1)], "the same interface goes on where it is described alike");
    assert_eq!((found.summary.sections, found.interfaces.len()), (3, 2));
    assert_eq!(found.summary.interface(1).unwrap().name, "wlan0");
}

#[test]
fn compressed_files_are_known_by_their_first_bytes() {
    let file = plain(101, &[segment(), segment()]);
    let (begin, end) = file.split_at(50);
    let pack = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let whole = read(&file);
    for packed in [pack(&file), [pack(begin), pack(end)].concat()] {
        let found = read(&packed);
        assert_eq!(found.summary, whole.summary);
        assert_eq!(found.rows.len(), 2);
    }
}

#[test]
fn going_back_in_time_is_counted_and_can_be_put_in_order() {
    let frames: Vec<_> = (0..3).map(|n| ipv4(6, &tcp(7 + 5 * n, 5))).collect();
    let file = pcap(LITTLE, 0xa1b2_c3d4, 101, &[(3, 0, &frames[2]), (1, 0, &frames[0]), (2, 0, &frames[1])]);
    let seconds = |found: &Read| found.segments.iter().map(|s| s.time / 1_000_000_000).collect::<Vec<_>>();
    let found = read(&file);
    assert_eq!((seconds(&found), found.summary.time_back), (vec![3, 1, 2], 2));
    for (sort, expected) in [(1, vec![1, 2, 3]), (2, vec![1, 2, 3]), (100, vec![1, 2, 3])] {
        let found = read_with(&file, &Options { sort, ..Options::default() }).unwrap();
        assert_eq!((seconds(&found), found.summary.time_back), (expected, 2), "{sort}");
    }
}

#[test]
fn headers_that_are_read_at_once_say_the_same_layer_by_layer() {
    let mut state = 7u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    // Looking at checksums takes the way through the layers.
    let (mut at_once, mut by_layers) = (Decoder::new(false), Decoder::new(true));
    let (mut one, mut other) = (blank(), blank());
    let options = [1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8, 1, 1, 5, 10, 0, 0, 0, 7, 0, 0, 0, 9];
    let mut read = 0;
    for _ in 0..200_000 {
        let mut frame = [&segment()[..40], &options[..], &[0; 30][..]].concat();
        (frame[3], frame[32]) = (64 + draw(40) as u8, [0x50, 0x80, 0xb0, 0xf0, 0x40][draw(5)]);
        for _ in 0..draw(4) {
            let at = draw(70);
            frame[at] = [0, 0x20, 0x40, 0x45, 6, 255, draw(256) as u8][draw(7)];
        }
        frame.truncate([94, draw(94)][draw(2)]);
        let record = Record::new(101, &frame);
        let (first, second) = (at_once.read(&record, &mut one), by_layers.read(&record, &mut other));
        assert_eq!(first, second, "{frame:?}");
        if first.is_ok() {
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "{frame:?}");
            read += 1;
        }
    }
    assert!(read > 50_000, "{read}");
}
