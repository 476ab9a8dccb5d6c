//! Headers of captures and of standards' examples, and what is no header.

use super::*;
use crate::packet::{Address, Ecn, Family, FourTuple};
use crate::tcp::segment::{SackBlock, Segment, flags as bits};

/// RFC 1071 §3's example, and RFC 1624 §4's of a header whose sum becomes zero.
#[test]
fn checksums_of_the_standards() {
    let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(!Sum::default().octets(&example).checksum(), 0xddf2);
    assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    // An odd byte stands in the upper half of its word.
    assert_eq!(Sum::default().octets(&[0x12]).checksum(), !0x1200);
}

/// A header with its checksum as it is printed in many places, from a capture of UDP.
const UDP_IN_IPV4: [u8; 20] = [
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00,
    0xc7,
];

#[test]
fn a_header_of_version_4_both_ways() {
    let header = Ipv4::parse(&UDP_IN_IPV4).unwrap();
    let expected = Ipv4 {
        total_len: 0x73,
        dont_fragment: true,
        ttl: 64,
        protocol: protocol::UDP,
        source: [192, 168, 0, 1],
        destination: [192, 168, 0, 199],
        ..Ipv4::default()
    };
    assert_eq!(header, expected);
    assert_eq!(Ipv4::checksum_holds(&UDP_IN_IPV4), Some(true));
    let mut written = [0xff; 20];
    assert_eq!((header.write(&mut written), written), (Some(20), UDP_IN_IPV4));
    written[3] ^= 1;
    assert_eq!(Ipv4::checksum_holds(&written), Some(false));
    assert_eq!(header.write(&mut [0; 19]), None);
    assert_eq!(Ipv4 { options: &[1; 3], ..header }.write(&mut [0; 60]), None, "no multiple of 4");
}

#[test]
fn what_contradicts_itself_is_told_from_what_is_cut() {
    let with = |at: usize, value: u8| {
        let mut bytes = UDP_IN_IPV4;
        bytes[at] = value;
        Ip::parse(&bytes).err()
    };
    assert_eq!(Ip::parse(&[]), Err(Fault::Cut));
    assert_eq!(Ip::parse(&UDP_IN_IPV4[..19]), Err(Fault::Cut));
    assert_eq!(with(0, 0x55), Some(Fault::Version));
    assert_eq!(with(0, 0x44), Some(Fault::HeaderLength));
    assert_eq!(with(0, 0x46), Some(Fault::Cut), "its options are not there");
    assert_eq!(with(3, 19), Some(Fault::TotalLength));
    assert_eq!(with(3, 20), None);
    assert_eq!(Tcp::parse(&[0; 13]), Err(Fault::Cut));
    assert_eq!(Tcp::parse(&[0x40; 20]), Err(Fault::HeaderLength));
    assert_eq!(Udp::parse(&[0; 7]), Err(Fault::Cut));
    assert_eq!(Udp::parse(&[0, 1, 0, 2, 0, 7, 0, 0]), Err(Fault::TotalLength));
}

#[test]
fn padding_is_left_out_and_an_unknown_length_said() {
    let mut frame = [0; 46];
    let header = Ipv4 { total_len: 40, protocol: protocol::TCP, ..Ipv4::default() };
    header.write(&mut frame).unwrap();
    let ip = Ip::parse(&frame).unwrap();
    assert_eq!((ip.payload.len(), ip.payload_len, ip.is_whole()), (20, Some(20), true));
    let ip = Ip::parse(&frame[..34]).unwrap();
    assert_eq!((ip.payload.len(), ip.payload_len, ip.is_whole()), (14, Some(20), false));
    Ipv4 { total_len: 0, ..header }.write(&mut frame).unwrap();
    let ip = Ip::parse(&frame).unwrap();
    assert_eq!((ip.payload.len(), ip.payload_len, ip.is_whole()), (26, None, false));
}

#[test]
fn fragments_say_where_they_belong() {
    let mut bytes = [0; 40];
    let header = Ipv4 { total_len: 40, id: 7, more_fragments: true, fragment_offset: 185, ..Ipv4::default() };
    header.write(&mut bytes).unwrap();
    let fragment = Fragment { id: 7, offset: 1480, more: true };
    assert_eq!(Ip::parse(&bytes).unwrap().fragment, Some(fragment));
    assert_eq!(Ip::parse(&UDP_IN_IPV4).unwrap().fragment, None);
}

/// Version 6 with hop-by-hop options (8 bytes), routing (24), a fragment header with `offset`, and TCP's number.
fn extended(offset: u16) -> [u8; 100] {
    let mut bytes = [0; 100];
    let header = Ipv6 { payload_len: 60, next_header: 0, hop_limit: 3, ecn: Ecn::Ect1, ..Ipv6::default() };
    header.write(&mut bytes).unwrap();
    (bytes[40], bytes[41]) = (43, 0);
    (bytes[48], bytes[49]) = (44, 2);
    bytes[72] = protocol::TCP;
    [bytes[74], bytes[75]] = (offset | 1).to_be_bytes();
    [bytes[76], bytes[77], bytes[78], bytes[79]] = 0x01020304u32.to_be_bytes();
    bytes
}

#[test]
fn extension_headers_are_stepped_over() {
    let bytes = extended(0);
    let ip = Ip::parse(&bytes).unwrap();
    assert_eq!((ip.protocol, ip.header_len, ip.payload_len), (protocol::TCP, 80, Some(20)));
    assert_eq!((ip.ecn, ip.ttl, ip.id), (Ecn::Ect1, 3, 0));
    assert_eq!(ip.fragment, Some(Fragment { id: 0x01020304, offset: 0, more: true }));
    assert_eq!(Ip::parse(&bytes[..79]), Err(Fault::Cut));
    // Behind a later fragment's header is no header, whatever the number says.
    let mut later = extended(800);
    later[72] = 60;
    let ip = Ip::parse(&later).unwrap();
    assert_eq!((ip.protocol, ip.payload.len()), (60, 20));
    // Headers that go beyond the packet's own length.
    let mut short = extended(0);
    short[5] = 39;
    assert_eq!(Ip::parse(&short), Err(Fault::TotalLength));
    assert_eq!(Ip::parse(&short[..79]), Err(Fault::TotalLength));
}

#[test]
fn fourteen_bytes_of_a_segment_are_enough() {
    let mut bytes = [0; 60];
    let mut list = [0; MOST_OPTION_BYTES];
    let options = Options { timestamps: Some((1, 2)), ..Options::default() };
    let length = options.write(&mut list).unwrap();
    let header = Tcp { seq: 5, ack: 6, window: Some(9), option_bytes: &list[..length], ..Tcp::default() };
    assert_eq!(header.write(&mut bytes, Sum::default()), Some(32));
    let cut = Tcp::parse(&bytes[..14]).unwrap();
    assert_eq!((cut.seq, cut.ack, cut.header_len, cut.window, cut.options_cut()), (5, 6, 32, None, true));
    assert_eq!(cut.options(), Options::default());
    assert_eq!(Tcp::parse(&bytes[..16]).unwrap().window, Some(9));
    let whole = Tcp::parse(&bytes[..32]).unwrap();
    assert_eq!((whole.options(), whole.options_cut()), (options, false));
    assert!(Tcp::parse(&bytes[..31]).unwrap().options_cut());
}

#[test]
fn odd_lists_of_options() {
    let read = |bytes: &[u8]| {
        let found = Options::parse(bytes);
        (found.mss, found.timestamps, found.sack.len(), found.irregular)
    };
    // MPTCP's (kind 30) and an unknown one are stepped over, as is an MSS of five bytes.
    assert_eq!(read(&[30, 4, 9, 9, 253, 2, 2, 5, 0, 0, 0, 2, 4, 5, 180]), (Some(1460), None, 0, false));
    assert_eq!(read(&[0, 2, 4, 5, 180]), (None, None, 0, false), "behind the end");
    assert_eq!(read(&[2, 4, 5, 180, 253, 1, 2, 4, 1, 1]), (Some(1460), None, 0, true), "a length below two");
    assert_eq!(read(&[2, 4, 5, 180, 8, 10, 1]), (Some(1460), None, 0, true), "past the end");
    assert_eq!(read(&[1, 1, 1, 253]), (None, None, 0, true), "no length");
    // Timestamps at an unusual place, and twice.
    let mut stamps = vec![8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(read(&stamps), (None, Some((1, 2)), 0, false));
    stamps.extend([8, 10, 0, 0, 0, 3, 0, 0, 0, 4]);
    assert_eq!(read(&stamps), (None, Some((3, 4)), 0, false));
    // Five blocks, which no header has room for, and a block and a half.
    let mut blocks = vec![5, 42];
    blocks.extend([1; 40]);
    assert_eq!(read(&blocks), (None, None, 4, false));
    blocks[1] = 14;
    assert_eq!(read(&blocks[..14]), (None, None, 0, false));
}

fn segment(flags: u8, mss: u16) -> Segment {
    let mut segment = Segment::default();
    (segment.flags, segment.mss) = (flags, mss);
    segment
}

#[test]
fn options_stand_in_the_order_of_linux() {
    let written = |segment: &Segment| {
        let mut out = [0; MOST_OPTION_BYTES];
        let length = Options::of(segment).write(&mut out).unwrap();
        assert_eq!(length as u32, segment.option_bytes());
        out[..length].to_vec()
    };
    let mut syn = segment(bits::SYN, 1460);
    assert_eq!(written(&syn), [2, 4, 5, 180]);
    syn.set_sack_permitted();
    assert_eq!(written(&syn), [2, 4, 5, 180, 1, 1, 4, 2]);
    syn.set_timestamps(1, 0);
    syn.set_window_scale(7);
    assert_eq!(written(&syn), [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
    let mut ack = segment(bits::ACK, 0);
    ack.push_sack(SackBlock { start: 1, end: 2 });
    assert_eq!(written(&ack), [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    ack.set_timestamps(3, 4);
    assert_eq!(written(&ack)[..16], [1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4, 1, 1, 5, 10]);
    // More than a header has room for.
    let four = [SackBlock::default(); 4].into_iter().collect();
    let many = Options { timestamps: Some((1, 2)), sack: four, ..Options::default() };
    assert_eq!(many.write(&mut [0; MOST_OPTION_BYTES]), None);
}

/// A segment or datagram of `length` bytes of payload between the hosts of a flow, written with checksums.
fn packet(family: Family, protocol: u8, length: u16, header: impl Fn(&mut [u8], Sum) -> usize) -> Vec<u8> {
    let FourTuple { source, destination, .. } = FourTuple::of_connection(family, 0, 0);
    let mut bytes = vec![0; 2000];
    let at = if family == Family::V4 { 20 } else { 40 };
    let mut scratch = [0; 60];
    let behind = header(&mut scratch, Sum::default()) as u16 + length;
    header(&mut bytes[at..], Sum::pseudo(&source, &destination, protocol, u32::from(behind)));
    match (source, destination) {
        (Address::V4(source), Address::V4(destination)) => {
            Ipv4 { total_len: 20 + behind, protocol, source, destination, ..Ipv4::default() }.write(&mut bytes)
        }
        (Address::V6(source), Address::V6(destination)) => {
            Ipv6 { payload_len: behind, next_header: protocol, source, destination, ..Ipv6::default() }
                .write(&mut bytes)
        }
        _ => unreachable!(),
    };
    bytes.truncate(at + usize::from(behind));
    bytes
}

#[test]
fn written_checksums_hold_and_a_flipped_bit_does_not() {
    let segment = |out: &mut [u8], others: Sum| Tcp { flags: 0x1ff, ..Tcp::default() }.write(out, others).unwrap();
    let datagram = |out: &mut [u8], others: Sum| Udp { len: 8 + 101, ..Udp::default() }.write(out, others).unwrap();
    for family in [Family::V4, Family::V6] {
        for mut bytes in [packet(family, protocol::TCP, 1001, segment), packet(family, protocol::UDP, 101, datagram)] {
            let ip = Ip::parse(&bytes).unwrap();
            assert_eq!(ip.checksum_holds(), Some(true), "{ip:?}");
            assert_eq!(Ip::parse(&bytes[..90]).unwrap().checksum_holds(), None, "it is cut");
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            assert_eq!(Ip::parse(&bytes).unwrap().checksum_holds(), Some(false));
        }
    }
}

#[test]
fn a_datagram_without_a_checksum_and_one_whose_checksum_is_zero() {
    let mut out = [0; 8];
    // The sum of ports and length is 2^16 - 1, whose complement is 0.
    let header = Udp { source_port: 0xfff0, destination_port: 7, len: 8 };
    assert_eq!(header.write(&mut out, Sum::default()), Some(8));
    assert_eq!(out[6..], [0xff, 0xff]);
    let mut bytes = packet(Family::V4, protocol::UDP, 0, |out, others| header.write(out, others).unwrap());
    assert_eq!(Ip::parse(&bytes).unwrap().checksum_holds(), Some(true));
    [bytes[26], bytes[27]] = [0, 0];
    assert_eq!(Ip::parse(&bytes).unwrap().checksum_holds(), None);
}

#[test]
fn marks_are_rewritten_in_place() {
    let mut bytes = UDP_IN_IPV4;
    set_ecn(&mut bytes, Ecn::Ce).unwrap();
    assert_eq!((Ip::parse(&bytes).unwrap().ecn, Ipv4::checksum_holds(&bytes)), (Ecn::Ce, Some(true)));
    set_ecn(&mut bytes, Ecn::NotEct).unwrap();
    assert_eq!(bytes, UDP_IN_IPV4);
    let mut bytes = extended(0);
    let before = Ip::parse(&extended(0)).unwrap().payload.len();
    set_ecn(&mut bytes, Ecn::Ce).unwrap();
    assert_eq!(Ip::parse(&bytes).map(|ip| (ip.ecn, ip.payload.len())), Ok((Ecn::Ce, before)));
    assert_eq!(set_ecn(&mut bytes[..39], Ecn::Ce), Err(Fault::Cut));
    assert_eq!(set_ecn(&mut [], Ecn::Ce), Err(Fault::Cut));
    assert_eq!(set_ecn(&mut [0x50; 40], Ecn::Ce), Err(Fault::Version));
}
