//! Files that are broken or mean harm: where they end and why, what is not believed, and what is kept of too much.

use crate::files::*;
use ackclock_capture::drive::Options;
use ackclock_capture::reader::{Fault, Skip, Why};
use std::io::Write;

/// Why a file ends, and how many packets came before.
fn end(file: &[u8]) -> (u64, Option<Why>) {
    let found = read(file).summary;
    (found.packets, found.truncated.map(|cut| cut.why))
}

fn begun(order: Order) -> Vec<u8> {
    [section(order, &[]), interface(order, 101, 0, &[])].concat()
}

#[test]
fn what_is_no_capture_is_a_fault() {
    let fault = |file: &[u8]| read_with(file, &Options::default()).err().map(|fault| fault.to_string());
    for (file, said) in [
        (&b""[..], "is empty"),
        (b"\xa1", "ends within the header"),
        (b"GET / HTTP/1.1\r\n", "begins with 47455420"),
        (&plain(101, &[])[..23], "ends within the header"),
        (&section(LITTLE, &[])[..27], "ends within the header"),
        (&[&b"\x0a\x0d\x0d\x0a\x1c\0\0\0"[..], &[9; 20]].concat(), "09090909 for a byte order"),
    ] {
        let fault = fault(file).unwrap();
        assert!(fault.contains(said), "{fault}");
        assert_eq!(fault.lines().count(), 1);
    }
    let mut other = plain(101, &[]);
    other[4] = 9;
    assert!(matches!(read_with(&other, &Options::default()), Err(Fault::Version("pcap", 9, 4))));
    let mut long = section(LITTLE, &[]);
    long[4..8].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    assert!(matches!(read_with(&long, &Options::default()), Err(Fault::FirstBlock(0xffff_fff0))));
}

#[test]
fn cut_anywhere_a_file_has_what_came_before() {
    let frame = segment();
    let packets: Vec<_> = (0..3).map(|n| enhanced(LITTLE, 0, n, &frame, &[(1, b"note")])).collect();
    let pcapng = [&begun(LITTLE)[..], &packets.concat()].concat();
    let classic = plain(101, &[frame.clone(), frame.clone(), frame.clone()]);
    for (file, head, each) in [(&pcapng, begun(LITTLE).len(), packets[0].len()), (&classic, 24, 16 + frame.len())] {
        for length in head..=file.len() {
            let (whole, rest) = ((length - head) / each, (length - head) % each);
            assert_eq!(end(&file[..length]), (whole as u64, (rest > 0).then_some(Why::Ends)), "{length}");
        }
    }
}

#[test]
fn lengths_that_cannot_be_end_the_file_there() {
    let frame = segment();
    for order in [LITTLE, BIG] {
        let good = pcap(order, 0xa1b2_c3d4, 101, &[(1, 0, &frame)]);
        for (captured, why) in
            [(262_145, Why::Captured(262_145)), (u32::MAX, Why::Captured(u32::MAX)), (262_144, Why::Ends)]
        {
            let record = [&order.words(&[1, 0, captured, captured])[..], &[0; 1000]].concat();
            assert_eq!(end(&[&good[..], &record].concat()), (1, Some(why)));
        }
        let good = [begun(order), enhanced(order, 0, 1, &frame, &[])].concat();
        let changed = |at: usize, to: u32| {
            let mut block = enhanced(order, 0, 1, &frame, &[]);
            block[at..at + 4].copy_from_slice(&order.word(to));
            end(&[&good[..], &block, &[0; 64]].concat())
        };
        for length in [0, 4, 8, 11, 13, 79, 0x0100_0004, 0xffff_fff0, u32::MAX] {
            assert_eq!(changed(4, length), (1, Some(Why::BlockLength(length))));
        }
        // 16 MiB can be, and are not there.
        assert_eq!(changed(4, 0x0100_0000), (1, Some(Why::Ends)));
        let length = enhanced(order, 0, 1, &frame, &[]).len();
        assert_eq!(changed(length - 4, 84), (1, Some(Why::LengthsDiffer(length as u32, 84))));
        assert_eq!(changed(20, 49), (1, Some(Why::Beyond(49))));
        assert_eq!(changed(20, u32::MAX), (1, Some(Why::Captured(u32::MAX))));
        assert_eq!(changed(8, 1), (1, Some(Why::Interface(1))));
        for (kind, least) in [(1, 20), (2, 32), (3, 16), (6, 32)] {
            let short = block(order, kind, &vec![0; least - 12 - 4]);
            assert_eq!(end(&[&good[..], &short].concat()), (1, Some(Why::BlockLength(least as u32 - 4))), "{kind}");
        }
    }
}

#[test]
fn sixty_five_thousand_interfaces_and_not_one_more() {
    let mut file = section(LITTLE, &[]);
    for _ in 0..65_536 {
        file.extend(interface(LITTLE, 101, 0, &[]));
    }
    file.extend(enhanced(LITTLE, 65_535, 1, &segment(), &[]));
    let found = read(&file);
    assert_eq!((found.summary.truncated, found.segments[0].interface), (None, 65_535));
    file.extend(interface(LITTLE, 101, 0, &[]));
    file.extend(enhanced(LITTLE, 0, 1, &segment(), &[]));
    assert_eq!(end(&file), (1, Some(Why::MostInterfaces)));
    // Nor section by section, each with others.
    let one = |n: u32| [section(LITTLE, &[]), interface(LITTLE, 101, 0, &[(2, n.to_string().as_bytes())])].concat();
    let file = (0..65_537).map(one).collect::<Vec<_>>().concat();
    assert_eq!(end(&file), (0, Some(Why::MostInterfaces)));
}

#[test]
fn options_are_looked_at_up_to_64_kib() {
    let frame = segment();
    let filler = vec![0; 60_000];
    let noted = |before: &[u8]| {
        let with = [(0xbad, before), (1, b"seen")];
        read(&[begun(LITTLE), enhanced(LITTLE, 0, 1, &frame, &with)].concat()).comments.len()
    };
    assert_eq!((noted(&filler), noted(&[0; 65_532])), (1, 0));
    // One that goes past its block ends the list, nothing else.
    let mut past = enhanced(LITTLE, 0, 1, &frame, &[(0xbad, b"1234"), (1, b"lost")]);
    let at = 28 + frame.len().next_multiple_of(4) + 2;
    past[at..at + 2].copy_from_slice(&[255, 255]);
    let found = read(&[&begun(LITTLE)[..], &past].concat());
    assert_eq!((found.comments.len(), found.segments.len(), found.summary.truncated), (0, 1, None));
}

#[test]
fn four_tags_and_four_tunnels_are_gone_through() {
    let skipped = |file: &[u8]| read(file).summary.skipped().collect::<Vec<_>>();
    let tagged = |n: u16| {
        let tags = (0..n).flat_map(|n| [[0x81, 0], n.to_be_bytes()]).flatten().chain([8, 0]).collect::<Vec<u8>>();
        plain(1, &[[&[0; 12], &tags[..], &segment()].concat()])
    };
    assert_eq!((skipped(&tagged(4)), skipped(&tagged(5))), (vec![], vec![(Skip::Tags, 1)]));
    let tunnelled = |n: usize| plain(101, &[(0..n).fold(segment(), |inner, _| ipv4(4, &inner))]);
    assert_eq!((skipped(&tunnelled(4)), skipped(&tunnelled(5))), (vec![], vec![(Skip::Tunnels, 1)]));
}

#[test]
fn what_unpacks_to_more_is_read_so_far() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&plain(101, &[segment()])).unwrap();
    // Records without end, of packets of which nothing was captured: 256 MiB of them are less than 512 KiB.
    let record = [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0];
    let records = record.repeat((1 << 20) / record.len());
    for _ in 0..256 {
        packed.write_all(&records).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1 << 19);
    let found = read_with(&packed, &Options { most_bytes: Some(1 << 20), ..Options::default() }).unwrap().summary;
    assert_eq!((found.bytes <= 1 << 20, found.truncated.map(|cut| cut.why)), (true, Some(Why::MostBytes)));
    // Damaged in the middle.
    let half = &packed[..packed.len() / 2];
    let found = read_with(half, &Options { most_bytes: None, ..Options::default() }).unwrap().summary;
    assert_eq!((found.segments, found.truncated.map(|cut| cut.why)), (1, Some(Why::Packed)));
}

#[test]
fn garbage_counts_and_changes_no_connection() {
    let frames: Vec<_> = (0..200).map(|n| ipv4(6, &tcp(7 + 5 * n, 5))).collect();
    let clean = read(&plain(101, &frames));
    let mut state = 3u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mixed: Vec<_> = frames
        .iter()
        .flat_map(|frame| {
            // A header that contradicts itself, and bytes of no kind: nothing of version 4 or 6.
            let shorter = [&frame[..2], &[0, 10], &frame[4..]].concat();
            let any: Vec<u8> = std::iter::once(0x10).chain((0..60).map(|_| byte())).collect();
            [frame.clone(), shorter, any]
        })
        .collect();
    let found = read(&plain(101, &mixed));
    assert_eq!((found.summary.segments, found.summary.malformed), (200, 400));
    let sent = |of: &Read| of.rows.iter().map(|r| (r.sent_bytes, r.packets, r.retransmitted_bytes)).collect::<Vec<_>>();
    assert_eq!(sent(&found), sent(&clean));
}
