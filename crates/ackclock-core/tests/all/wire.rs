//! The codec of headers beside `etherparse`, an independent one: random headers, random bytes, and headers with bytes
//! changed and cut off. Both give the same fields or both refuse. Where they do not, by what they are:
//!
//! * lengths: etherparse does not check a header's total length when it reads the header alone; ours refuses one shorter
//!   than the headers, and refuses a UDP length below 8;
//! * extension headers: etherparse refuses hop-by-hop options that are not first, steps over mobility, HIP, Shim6 and
//!   authentication headers, and reads on behind the header of a later fragment; such packets are left out;
//! * TCP cut behind its flags is a header here and none there (a capture may hold so little);
//! * options: etherparse stops at unknown ones and at known ones with a length that they cannot have; ours steps over.
//!
//! The draws are the same in every run. `ACKCLOCK_CASES` sets how many cases a test plays, `ACKCLOCK_SEED` draws others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use crate::beside::{extensions_agree, ipv4_agrees, ipv6_agrees, tcp_agrees, their_options, udp_agrees};
use crate::random_cases::{cases, seed};
use ackclock_core::packet::wire::{
    Ip, Ipv4, Ipv6, MOST_OPTION_BYTES, Options, SackList, Sum, Tcp, Udp, protocol, set_ecn,
};
use ackclock_core::packet::{Address, Ecn};
use ackclock_core::tcp::segment::SackBlock;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

fn config() -> Config {
    Config {
        cases: cases(20_000) as u32,
        rng_seed: RngSeed::Fixed(seed()),
        failure_persistence: None,
        ..Config::default()
    }
}

fn ecn() -> impl Strategy<Value = Ecn> {
    (0..4u8).prop_map(Ecn::of_bits)
}

/// A header of version 4 with the options given to it later.
fn ipv4() -> impl Strategy<Value = Ipv4<'static>> {
    let numbers = (0..64u8, ecn(), any::<u16>(), any::<u16>(), 0..8192u16);
    let rest = (any::<bool>(), any::<bool>(), any::<u8>(), any::<u8>(), any::<[u8; 4]>(), any::<[u8; 4]>());
    (numbers, rest).prop_map(|((dscp, ecn, total_len, id, fragment_offset), rest)| {
        let (dont_fragment, more_fragments, ttl, protocol, source, destination) = rest;
        let flags = Ipv4 { dont_fragment, more_fragments, ttl, protocol, source, destination, ..Ipv4::default() };
        Ipv4 { dscp, ecn, total_len, id, fragment_offset, ..flags }
    })
}

fn ipv6() -> impl Strategy<Value = Ipv6> {
    let numbers = (0..64u8, ecn(), 0..1u32 << 20, any::<u16>(), any::<u8>(), any::<u8>());
    (numbers, any::<[u8; 16]>(), any::<[u8; 16]>()).prop_map(|(numbers, source, destination)| {
        let (dscp, ecn, flow_label, payload_len, next_header, hop_limit) = numbers;
        Ipv6 { dscp, ecn, flow_label, payload_len, next_header, hop_limit, source, destination }
    })
}

fn options() -> impl Strategy<Value = Options> {
    let block = (any::<u32>(), any::<u32>()).prop_map(|(start, end)| SackBlock { start, end });
    let syn = (option::of(any::<u16>()), option::of(any::<u8>()), any::<bool>());
    (syn, option::of(any::<(u32, u32)>()), vec(block, 0..=4)).prop_map(
        |((mss, window_scale, sack_permitted), timestamps, blocks)| Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            sack: blocks.into_iter().collect(),
            irregular: false,
        },
    )
}

/// Bytes with some changed, and some cut off at the end.
fn damaged(mut bytes: Vec<u8>, changes: &[(usize, u8)], keep: usize) -> Vec<u8> {
    for (at, value) in changes {
        let at = at % bytes.len();
        bytes[at] = *value;
    }
    bytes.truncate(keep.max(1));
    bytes
}

fn changes() -> impl Strategy<Value = (Vec<(usize, u8)>, usize)> {
    // Half of them are whole.
    (vec((0..24usize, any::<u8>()), 0..3), prop_oneof![Just(usize::MAX), 0..120usize])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn headers_of_version_4(header in ipv4(), options in vec(any::<u8>(), 0..=10), (changes, keep) in changes()) {
        let options: Vec<u8> = options.iter().flat_map(|byte| [*byte; 4]).collect();
        let header = Ipv4 { options: &options, ..header };
        let mut bytes = vec![0; header.header_len()];
        prop_assert_eq!(header.write(&mut bytes), Some(bytes.len()));
        if header.total_len == 0 || usize::from(header.total_len) >= bytes.len() {
            prop_assert_eq!(Ipv4::parse(&bytes), Ok(header));
        }
        ipv4_agrees(&bytes);
        ipv4_agrees(&damaged(bytes, &changes, keep));
    }

    #[test]
    fn headers_of_version_6(header in ipv6(), (changes, keep) in changes()) {
        let mut bytes = vec![0; 40];
        prop_assert_eq!(header.write(&mut bytes), Some(40));
        prop_assert_eq!(Ipv6::parse(&bytes), Ok(header));
        ipv6_agrees(&bytes);
        ipv6_agrees(&damaged(bytes, &changes, keep));
    }

    #[test]
    fn extension_headers(
        kinds in vec(prop_oneof![Just(0u8), Just(43), Just(44), Just(60), Just(6), any::<u8>()], 1..6),
        lengths in vec(prop_oneof![Just(0u8), 0..4u8], 6),
        // The field of offset and M where there is a fragment header.
        field in prop_oneof![Just(0u16), Just(1), any::<u16>()],
        keep in 0..200usize,
    ) {
        let mut bytes = Vec::new();
        for (at, kind) in kinds.iter().enumerate() {
            let length = if *kind == 44 { 0 } else { lengths[at] };
            bytes.extend([*kinds.get(at + 1).unwrap_or(&protocol::TCP), length]);
            bytes.extend(field.to_be_bytes());
            bytes.extend([7, 8, 9, 10]);
            bytes.resize(bytes.len() + 8 * usize::from(length), 0);
        }
        extensions_agree(kinds[0], &bytes);
        bytes.truncate(keep);
        extensions_agree(kinds[0], &bytes);
    }

    #[test]
    fn segments(
        all in options(),
        (source_port, destination_port, seq, ack) in any::<(u16, u16, u32, u32)>(),
        (flags, window, urgent) in (0..4096u16, any::<u16>(), any::<u16>()),
        (changes, keep) in changes(),
    ) {
        let mut list = [0; MOST_OPTION_BYTES];
        // A header has not room for all.
        let few = Options { sack: SackList::default(), ..all };
        let options = if all.write(&mut list).is_some() { all } else { few };
        let length = options.write(&mut list).unwrap();
        let option_bytes = &list[..length];
        prop_assert_eq!(Options::parse(option_bytes), options);
        let header_len = 20 + option_bytes.len();
        let window = Some(window);
        let header =
            Tcp { source_port, destination_port, seq, ack, header_len, flags, window, urgent, option_bytes };
        let mut bytes = vec![0; header_len];
        prop_assert_eq!(header.write(&mut bytes, Sum::default()), Some(header_len));
        prop_assert_eq!(Tcp::parse(&bytes), Ok(header));
        tcp_agrees(&bytes);
        tcp_agrees(&damaged(bytes, &changes, keep));
    }

    #[test]
    fn lists_of_options(
        parts in vec((prop_oneof![0..10u8, any::<u8>()], prop_oneof![0..12u8, any::<u8>()], any::<[u8; 34]>()), 0..6),
        keep in 0..=40usize,
    ) {
        let mut bytes = Vec::new();
        for (kind, length, content) in parts {
            bytes.push(kind);
            if kind > 1 {
                // Mostly what such an option has.
                let usual = match kind { 2 => 4, 3 => 3, 4 => 2, 5 => 10 + 8 * (length % 4), 8 => 10, _ => length };
                let length = if content[0] < 200 { usual } else { length };
                bytes.push(length);
                bytes.extend(&content[..usize::from(length.clamp(2, 36)) - 2]);
            }
        }
        bytes.truncate(keep);
        prop_assert_eq!(Options::parse(&bytes), their_options(&bytes));
    }

    #[test]
    fn datagrams(header in any::<(u16, u16, u16)>(), (changes, keep) in changes()) {
        let (source_port, destination_port, len) = header;
        let mut bytes = vec![0; 8];
        prop_assert_eq!(Udp { source_port, destination_port, len }.write(&mut bytes, Sum::default()), Some(8));
        udp_agrees(&bytes);
        udp_agrees(&damaged(bytes, &changes, keep));
    }

    #[test]
    fn bytes_that_are_nothing(bytes in vec(any::<u8>(), 0..120), next in any::<u8>(), first in any::<bool>()) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.first_mut() {
            *byte = if first { 0x40 | *byte & 15 } else { 0x60 | *byte & 15 };
        }
        ipv4_agrees(&bytes);
        ipv6_agrees(&bytes);
        tcp_agrees(&bytes);
        udp_agrees(&bytes);
        extensions_agree(next, &bytes);
        if let Ok(ip) = Ip::parse(&bytes) {
            ip.checksum_holds();
        }
        let changed = set_ecn(&mut bytes, Ecn::Ce).is_ok();
        prop_assert!(!changed || Ip::parse(&bytes).map_or(true, |ip| ip.ecn == Ecn::Ce));
    }

    /// RFC 1624: a mark rewritten leaves the checksum that a header written with that mark has.
    #[test]
    fn rewritten_marks(header in ipv4(), ecn in ecn()) {
        let (mut rewritten, mut written) = ([0; 20], [0; 20]);
        header.write(&mut rewritten);
        set_ecn(&mut rewritten, ecn).unwrap();
        Ipv4 { ecn, ..header }.write(&mut written);
        prop_assert_eq!(rewritten, written);
    }

    #[test]
    fn checksums(source in any::<[u8; 4]>(), destination in any::<[u8; 4]>(), payload in vec(any::<u8>(), 0..99)) {
        let mut bytes = vec![0; 20];
        let theirs = etherparse::TcpHeader::new(1, 2, 3, 4);
        let checksum = theirs.calc_checksum_ipv4_raw(source, destination, &payload).unwrap();
        let length = 20 + payload.len() as u32;
        let pseudo = Sum::pseudo(&Address::V4(source), &Address::V4(destination), protocol::TCP, length);
        let header = Tcp { source_port: 1, destination_port: 2, seq: 3, window: Some(4), ..Tcp::default() };
        header.write(&mut bytes, pseudo.octets(&payload));
        prop_assert_eq!(u16::from_be_bytes([bytes[16], bytes[17]]), checksum);
    }
}
