//! Blocks as the format's draft has them, and packets as our own codec reads them.

use super::*;
use ackclock_core::packet::wire::{Ip, Ipv4, Tcp, Udp, flags};
use ackclock_core::packet::{Datagram, Ecn};
use ackclock_core::tcp::Segment;
use ackclock_core::tcp::segment::{SackBlock, flags as bits};
use proptest::prelude::*;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The blocks of a file: kind and body.
fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
    let mut found = Vec::new();
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert_eq!((length % 4, word(file, length - 4) as usize), (0, length), "both lengths");
        found.push((word(file, 0), &file[8..length - 4]));
        file = &file[length..];
    }
    found
}

/// Options: code and value.
fn options(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while bytes.len() >= 4 {
        let [a, b, c, d] = bytes[..4].try_into().unwrap();
        let length = usize::from(u16::from_le_bytes([c, d]));
        found.push((u16::from_le_bytes([a, b]), &bytes[4..4 + length]));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
    found
}

fn seen(packet: &Packet, truth: Truth) -> Seen<'_> {
    let addresses = FourTuple::of_connection(Family::V4, 3, 0);
    Seen { at: Time(5_000_000_007), interface: 1, addresses, packet, id: 77, truth }
}

fn written(kind: (LinkType, Family), all: &[Seen<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), kind, r#"{"run":0}"#, &["flows.0.source", "links.längs.in"]);
    all.iter().for_each(|seen| writer.packet(seen));
    let (file, packets) = writer.finish().unwrap();
    assert_eq!(packets, all.len() as u64);
    file
}

fn data(len: u32) -> Packet {
    let mut segment = Segment::default();
    (segment.seq, segment.ack, segment.len, segment.window) = (1000, 2000, len, 512);
    (segment.flags, segment.ecn) = (bits::ACK | bits::PSH, Ecn::Ect0);
    segment.set_timestamps(7, 6);
    segment.set_ace(5);
    Packet::Tcp(segment)
}

#[test]
fn a_section_with_its_interfaces() {
    let file = written((LinkType::Raw, Family::V4), &[]);
    let blocks = blocks(&file);
    assert_eq!(blocks.iter().map(|b| b.0).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 1]);
    let section = blocks[0].1;
    assert_eq!((word(section, 0), &section[4..8], &section[8..16]), (0x1a2b_3c4d, &[1, 0, 0, 0][..], &[0xff; 8][..]));
    assert_eq!(options(&section[16..])[0], (1, &br#"{"run":0}"#[..]));
    let interface = blocks[2].1;
    assert_eq!((word(interface, 0), word(interface, 4)), (101, 96));
    let expected = [(2, "links.längs.in".as_bytes()), (9, &[9][..]), (0, &[][..])];
    assert_eq!(options(&interface[8..]), expected);
    let ethernet = written((LinkType::Ethernet, Family::V6), &[]);
    let interface = super::tests::blocks(&ethernet)[1].1;
    assert_eq!((word(interface, 0), word(interface, 4)), (1, 114), "room for the largest headers");
}

#[test]
fn a_segment_is_written_as_it_is() {
    let packet = data(1448);
    let file = written((LinkType::Raw, Family::V4), &[seen(&packet, Truth::default())]);
    let body = blocks(&file)[3].1;
    let time = u64::from(word(body, 4)) << 32 | u64::from(word(body, 8));
    assert_eq!((word(body, 0), time, word(body, 12), word(body, 16)), (1, 5_000_000_007, 96, 1500));
    assert_eq!(body.len(), 20 + 96, "no options");
    let bytes = &body[20..];
    assert_eq!(Ipv4::checksum_holds(bytes), Some(true));
    let header = Ipv4::parse(bytes).unwrap();
    assert_eq!((header.total_len, header.id, header.dont_fragment, header.ttl), (1500, 77, true, 64));
    let ip = Ip::parse(bytes).unwrap();
    assert_eq!((ip.source.to_string(), ip.destination.to_string()), ("10.0.0.7".into(), "10.0.0.8".into()));
    assert_eq!((ip.ecn, ip.payload_len), (Ecn::Ect0, Some(1480)));
    let tcp = Tcp::parse(ip.payload).unwrap();
    assert_eq!((tcp.source_port, tcp.destination_port, tcp.seq, tcp.ack), (1024, 5001, 1000, 2000));
    assert_eq!((tcp.window, tcp.options().timestamps), (Some(512), Some((7, 6))));
    assert_eq!(tcp.flags, flags::ACK | flags::PSH | flags::AE | flags::ECE);
    // With its payload of zeros the checksum holds.
    let mut whole = bytes[..52].to_vec();
    whole.resize(1500, 0);
    assert_eq!(Ip::parse(&whole).unwrap().checksum_holds(), Some(true));
}

#[test]
fn comments_say_what_happened() {
    let packet = data(0);
    let truth = |repeated, dropped, copy| Truth { repeated, dropped, copy };
    let cases = [
        (truth(Some("rto_recovery"), None, false), r#"{"rtx":"rto_recovery"}"#),
        (truth(None, Some("threshold"), false), r#"{"drop":"threshold"}"#),
        (truth(None, None, true), r#"{"copy":1}"#),
        (truth(Some("rto_recovery"), Some("threshold"), true), r#"{"rtx":"rto_recovery","drop":"threshold","copy":1}"#),
    ];
    for (truth, text) in cases {
        let file = written((LinkType::Raw, Family::V4), &[seen(&packet, truth)]);
        let body = blocks(&file)[3].1;
        let captured = word(body, 12) as usize;
        assert_eq!(options(&body[20 + captured.next_multiple_of(4)..]), [(1, text.as_bytes()), (0, &[][..])]);
    }
    // A reason that nobody has thought of yet must not break the block.
    let long = "a reason that is much longer than any reason for which a packet is dropped";
    let file = written((LinkType::Raw, Family::V4), &[seen(&packet, truth(None, Some(long), false))]);
    assert_eq!(blocks(&file)[3].1.len(), 20 + 52);
}

#[test]
fn frames_of_ethernet_and_datagrams() {
    let packet = Packet::Datagram(Datagram::new(Time(0), 1, 1200, Ecn::NotEct));
    let file = written((LinkType::Ethernet, Family::V4), &[seen(&packet, Truth::default())]);
    let body = blocks(&file)[3].1;
    assert_eq!((word(body, 12), word(body, 16)), (14 + 96, 14 + 1228));
    assert_eq!(body[20..34], [2, 0, 10, 0, 0, 8, 2, 0, 10, 0, 0, 7, 8, 0]);
    let mut whole = body[34..34 + 28].to_vec();
    assert_eq!(Udp::parse(&whole[20..]).unwrap(), Udp { source_port: 1024, destination_port: 5001, len: 1208 });
    whole.resize(1228, 0);
    assert_eq!(Ip::parse(&whole).unwrap().checksum_holds(), Some(true));
}

#[test]
fn a_packet_beyond_the_length_field_says_so() {
    let file = written((LinkType::Raw, Family::V4), &[seen(&data(65_535), Truth::default())]);
    let body = blocks(&file)[3].1;
    assert_eq!(word(body, 16), 65_535 + 52);
    assert_eq!(Ip::parse(&body[20..]).unwrap().payload_len, None);
}

#[test]
fn what_cannot_be_written_is_said_at_the_end() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for room in [100, CHUNK, usize::MAX] {
        let packet = data(1000);
        let mut writer = Writer::new(Full(room), (LinkType::Raw, Family::V4), "{}", &["a", "b"]);
        (0..5000).for_each(|_| writer.packet(&seen(&packet, Truth::default())));
        let outcome = writer.finish().map(|(_, packets)| packets).map_err(|e| e.kind());
        let expected = if room == usize::MAX { Ok(5000) } else { Err(std::io::ErrorKind::StorageFull) };
        assert_eq!(outcome, expected);
    }
}

proptest! {
    /// Whatever a segment says, its block can be read, and its checksums hold.
    #[test]
    fn any_segment(
        (seq, ack, len, window, mss) in any::<(u32, u32, u16, u16, u16)>(),
        (flags, ace, ecn, v6) in (any::<u8>(), 0..8u8, 0..4u8, any::<bool>()),
        (stamps, scale, permitted) in (any::<Option<(u32, u32)>>(), any::<Option<u8>>(), any::<bool>()),
        blocks_of_sack in proptest::collection::vec(any::<(u32, u32)>(), 0..5),
        ethernet in any::<bool>(),
    ) {
        let mut segment = Segment::default();
        (segment.seq, segment.ack, segment.len) = (seq, ack, u32::from(len) / 2);
        (segment.window, segment.mss) = (window, mss);
        (segment.flags, segment.ecn) = (flags & 0x1f, Ecn::of_bits(ecn));
        segment.set_ace(ace);
        if let Some((value, echo)) = stamps {
            segment.set_timestamps(value, echo);
        }
        if let Some(shift) = scale {
            segment.set_window_scale(shift);
        }
        if permitted {
            segment.set_sack_permitted();
        }
        segment.extend_sack(blocks_of_sack.into_iter().map(|(start, end)| SackBlock { start, end }));
        let packet = Packet::Tcp(segment);
        let family = if v6 { Family::V6 } else { Family::V4 };
        let link = if ethernet { LinkType::Ethernet } else { LinkType::Raw };
        let addresses = FourTuple::of_connection(family, 9_000_000, 5).reversed();
        let addresses = if v6 { addresses } else { FourTuple::of_connection(family, 9, 5) };
        let file = written((link, family), &[Seen { addresses, ..seen(&packet, Truth::default()) }]);
        let body = blocks(&file)[3].1;
        let captured = word(body, 12) as usize;
        let bytes = &body[20 + link.header()..20 + captured];
        let ip = Ip::parse(bytes).unwrap();
        let tcp = Tcp::parse(ip.payload).unwrap();
        prop_assert!(!tcp.options_cut() && captured <= 114);
        let headers = ip.header_len + tcp.header_len;
        prop_assert_eq!(word(body, 16), (link.header() + headers) as u32 + segment.len);
        prop_assert_eq!((tcp.seq, tcp.ack, tcp.window, tcp.ace()), (seq, ack, Some(window), ace));
        prop_assert_eq!((tcp.options().timestamps, ip.ecn), (stamps, segment.ecn));
        if flags & bits::SYN == 0 {
            prop_assert_eq!(&*tcp.options().sack, segment.sack());
        } else {
            let scale = scale.map(|shift| shift.min(14));
            let read = (tcp.options().mss, tcp.options().window_scale, tcp.options().sack_permitted);
            // What timestamps take of a segment is no part of the option.
            let offered = mss.saturating_add(if stamps.is_some() { 12 } else { 0 });
            prop_assert_eq!(read, (Some(offered), scale, permitted));
        }
        prop_assert_eq!(tcp.header_len as u32, 20 + segment.option_bytes());
        let mut whole = bytes[..headers].to_vec();
        whole.resize(headers + segment.len as usize, 0);
        prop_assert_eq!(Ip::parse(&whole).unwrap().checksum_holds(), Some(true));
    }
}
