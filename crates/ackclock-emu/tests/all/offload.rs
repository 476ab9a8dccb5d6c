//! Super-packets beside an independent reading of them (the crate etherparse): what is split has the right headers and checksums
//! and all bytes; what is joined is split into the same again.
#![allow(clippy::unwrap_used)]

use ackclock_emu::path::{Joining, Offload, Split, complete};
use etherparse::{PacketBuilder, SlicedPacket, TcpHeader, TcpOptionElement, TransportSlice};
use proptest::collection::vec;
use proptest::prelude::*;

const ROOM: usize = 70_000;

/// A packet as a host sends it, with a checksum that is complete.
#[derive(Clone, Debug)]
struct Sent {
    six: bool,
    bytes: Vec<u8>,
    payload: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Flags {
    fin: bool,
    psh: bool,
    cwr: bool,
    ece: bool,
}

fn sent((six, sequence, id, flags, timestamps): (bool, u32, u16, Flags, bool), payload: Vec<u8>) -> Sent {
    let mut tcp = TcpHeader::new(4000, 5001, sequence, 777);
    (tcp.ack, tcp.acknowledgment_number) = (true, 99);
    (tcp.fin, tcp.psh, tcp.cwr, tcp.ece) = (flags.fin, flags.psh, flags.cwr, flags.ece);
    if timestamps {
        tcp.set_options(&[TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(5, 6)]).unwrap();
    }
    let mut bytes = Vec::new();
    if six {
        PacketBuilder::ipv6([7; 16], [9; 16], 64).tcp_header(tcp).write(&mut bytes, &payload).unwrap();
    } else {
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp_header(tcp).write(&mut bytes, &payload).unwrap();
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        bytes[10..12].fill(0);
        let sum = etherparse::checksum::Sum16BitWords::new();
        let sum =
            bytes[..20].chunks(4).fold(sum, |mut sum, word| sum.add_4bytes(word.try_into().unwrap())).ones_complement();
        bytes[10..12].copy_from_slice(&sum.to_ne_bytes());
    }
    Sent { six, bytes, payload }
}

fn super_packet() -> impl Strategy<Value = (Sent, u16)> {
    let flags = any::<[bool; 4]>().prop_map(|[fin, psh, cwr, ece]| Flags { fin, psh, cwr, ece });
    let head = (any::<bool>(), any::<u32>(), any::<u16>(), flags, any::<bool>());
    (head, vec(any::<u8>(), 1..20_000), 400u16..3000).prop_map(|(head, payload, mss)| (sent(head, payload), mss))
}

/// What an independent reader makes of a packet: TCP header, payload, identification; its checksums hold.
fn read(bytes: &[u8]) -> (TcpHeader, Vec<u8>, u16) {
    let packet = SlicedPacket::from_ip(bytes).unwrap();
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no segment") };
    let (header, payload) = (tcp.to_header(), tcp.payload().to_vec());
    let (sum, id) = match packet.net.unwrap() {
        etherparse::NetSlice::Ipv4(ip) => {
            let ip = ip.header().to_header();
            assert_eq!(ip.calc_header_checksum(), ip.header_checksum);
            (header.calc_checksum_ipv4(&ip, &payload).unwrap(), ip.identification)
        }
        etherparse::NetSlice::Ipv6(ip) => (header.calc_checksum_ipv6(&ip.header().to_header(), &payload).unwrap(), 0),
        _ => panic!("no IP"),
    };
    assert_eq!(sum, header.checksum);
    (header, payload, id)
}

fn split(bytes: &[u8], segment: u16) -> Vec<Vec<u8>> {
    let split = Split::new(bytes, segment).unwrap();
    let mut out = vec![0; ROOM];
    (0..split.segments()).map(|i| split.write(i, &mut out).map(|len| out[..len].to_vec()).unwrap()).collect()
}

/// The bytes of packets joined as they are handed on, with a checksum that is then completed, and what the host is told.
fn join(parts: &[Vec<u8>]) -> (Vec<u8>, Offload, usize) {
    let mut joining = Joining::new(&parts[0]).unwrap();
    let taken = parts[1..].iter().take_while(|next| joining.takes(&parts[0], next)).count() + 1;
    let mut bytes = vec![0; 100];
    let told = joining.write((&parts[0], &parts[taken - 1]), &mut bytes).unwrap();
    bytes.truncate(joining.headers());
    parts[..taken].iter().for_each(|part| bytes.extend(&part[joining.headers()..]));
    assert!(complete(&mut bytes, told.partial.unwrap()));
    (bytes, told, taken)
}

proptest! {
    #[test]
    fn segments_have_the_headers_that_a_card_would_give_them((whole, mss) in super_packet()) {
        let (before, payload, first_id) = read(&whole.bytes);
        let segments = split(&whole.bytes, mss);
        prop_assert_eq!(segments.len(), payload.len().div_ceil(usize::from(mss)));
        let mut all = Vec::new();
        for (i, segment) in segments.iter().enumerate() {
            let (tcp, bytes, id) = read(segment);
            let (first, last) = (i == 0, i + 1 == segments.len());
            prop_assert_eq!(tcp.sequence_number, before.sequence_number.wrapping_add(all.len() as u32));
            prop_assert_eq!((tcp.fin, tcp.psh), (before.fin && last, before.psh && last));
            prop_assert_eq!((tcp.cwr, tcp.ece, tcp.ack), (before.cwr && first, before.ece, true));
            let same = TcpHeader {
                sequence_number: before.sequence_number,
                checksum: before.checksum,
                fin: before.fin,
                psh: before.psh,
                cwr: before.cwr,
                ..tcp
            };
            prop_assert_eq!(same, before.clone());
            prop_assert_eq!(id, if whole.six { 0 } else { first_id.wrapping_add(i as u16) });
            prop_assert!(last || bytes.len() == usize::from(mss));
            all.extend(bytes);
        }
        prop_assert_eq!(&all, &whole.payload);
    }

    #[test]
    fn what_is_joined_is_split_into_the_same_bytes((whole, mss) in super_packet(), hole in 0usize..30, change in any::<u8>()) {
        // What ends the stream or answers a mark is never joined; all else is joined and comes apart as it was.
        let segments = split(&whole.bytes, mss);
        let mut at = 0;
        while at < segments.len() {
            if Joining::new(&segments[at]).is_none() {
                let (tcp, _, _) = read(&segments[at]);
                prop_assert!(tcp.fin || tcp.cwr);
                at += 1;
                continue;
            }
            let (joined, told, taken) = join(&segments[at..]);
            read(&joined);
            prop_assert_eq!(&split(&joined, told.segment)[..], &segments[at..at + taken]);
            at += taken;
        }
        // With another byte anywhere in the headers of one it is not taken.
        let (Some(first), Some(next)) = (segments.first(), segments.get(1)) else { return Ok(()) };
        let Some(mut joining) = Joining::new(first) else { return Ok(()) };
        let mut other = next.clone();
        let place = hole % joining.headers();
        let checksums = if whole.six { vec![56, 57] } else { vec![10, 11, 36, 37] };
        let push = if whole.six { 53 } else { 33 };
        if !checksums.contains(&place) && place != push {
            other[place] ^= change;
            let taken = joining.takes(first, &other);
            prop_assert!(!taken || change == 0, "byte {}", place);
        }
    }

    #[test]
    fn a_partial_checksum_is_completed((whole, _) in super_packet()) {
        // As the kernel leaves it: the sum of the pseudo header, which joining makes.
        let ip = if whole.six { 40 } else { 20 };
        let mut bytes = whole.bytes.clone();
        let carried = (bytes.len() - ip) as u32;
        let sum = etherparse::checksum::Sum16BitWords::new();
        let ends = if whole.six { &bytes[8..40] } else { &bytes[12..20] };
        let mut sum = ends.chunks(4).fold(sum, |mut sum, word| sum.add_4bytes(word.try_into().unwrap()));
        sum = sum.add_4bytes(carried.to_be_bytes());
        let sum = sum.add_2bytes([0, 6]).ones_complement();
        bytes[ip + 16..ip + 18].copy_from_slice(&(!sum).to_ne_bytes());
        prop_assert!(complete(&mut bytes, (ip as u16, 16)));
        prop_assert_eq!(bytes, whole.bytes);
    }

    #[test]
    fn what_is_no_segment_is_neither_split_nor_joined(bytes in vec(any::<u8>(), 0..200), segment: u16, start: u16, offset: u16) {
        let mut out = vec![0; ROOM];
        if let Some(split) = Split::new(&bytes, segment) {
            (0..split.segments()).for_each(|i| assert!(split.write(i, &mut out).is_some()));
        }
        if let Some(mut joining) = Joining::new(&bytes) {
            joining.takes(&bytes, &bytes);
        }
        let mut bytes = bytes;
        complete(&mut bytes, (start, offset));
    }
}
