//! What our reader of headers says beside `etherparse`'s, for the same bytes. What is not compared: `tests/wire.rs`.

use ackclock_core::packet::Ecn;
use ackclock_core::packet::wire::{Extensions, Fault, Ipv4, Ipv6, Options, Sum, Tcp, Udp};
use ackclock_core::tcp::segment::SackBlock;
use etherparse::{Ipv6Extensions, TcpOptionElement, TcpOptionReadError, TcpOptionsIterator};

/// Its options by etherparse's reader, which is started again behind what it refuses.
pub fn their_options(mut rest: &[u8]) -> Options {
    let mut found = Options::default();
    loop {
        let mut list = TcpOptionsIterator::from_slice(rest);
        match list.next() {
            None => return found,
            Some(Ok(element)) => {
                match element {
                    TcpOptionElement::Noop => {}
                    TcpOptionElement::MaximumSegmentSize(mss) => found.mss = Some(mss),
                    TcpOptionElement::WindowScale(shift) => found.window_scale = Some(shift),
                    TcpOptionElement::SelectiveAcknowledgementPermitted => found.sack_permitted = true,
                    TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                        let all = [Some(first), others[0], others[1], others[2]].into_iter().flatten();
                        found.sack = all.map(|(start, end)| SackBlock { start, end }).collect();
                    }
                    TcpOptionElement::Timestamp(value, echo) => found.timestamps = Some((value, echo)),
                }
                rest = list.rest();
            }
            Some(Err(error)) => {
                let length = rest.get(1).map_or(0, |length| usize::from(*length));
                if length < 2 || length > rest.len() {
                    found.irregular = true;
                    return found;
                }
                let known = !matches!(error, TcpOptionReadError::UnknownId(_));
                assert!(!known || length != 4 || rest[0] != 2, "a right MSS was refused");
                rest = &rest[length..];
            }
        }
    }
}

/// Both read the same, or both refuse.
pub fn ipv4_agrees(bytes: &[u8]) {
    let ours = match (Ipv4::parse(bytes), etherparse::Ipv4HeaderSlice::from_slice(bytes)) {
        (Err(Fault::TotalLength), Ok(theirs)) => {
            return assert!(usize::from(theirs.total_len()) < theirs.slice().len());
        }
        (Err(_), Err(_)) => return,
        (Ok(ours), Ok(theirs)) => {
            let read = Ipv4 {
                dscp: theirs.dcp().value(),
                ecn: Ecn::of_bits(theirs.ecn().value()),
                total_len: theirs.total_len(),
                id: theirs.identification(),
                dont_fragment: theirs.dont_fragment(),
                more_fragments: theirs.more_fragments(),
                fragment_offset: theirs.fragments_offset().value(),
                ttl: theirs.ttl(),
                protocol: theirs.protocol().0,
                source: theirs.source(),
                destination: theirs.destination(),
                options: theirs.options(),
            };
            assert_eq!(ours, read);
            let right = theirs.to_header().calc_header_checksum() == theirs.header_checksum();
            // The reserved flag is summed, but is not in their header; and 0xffff is 0, where they want what they would write.
            if bytes[6] & 0x80 == 0 && theirs.header_checksum() != 0xffff {
                assert_eq!(Ipv4::checksum_holds(bytes), Some(right));
            }
            ours
        }
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    };
    let mut again = vec![0; ours.header_len()];
    assert_eq!(ours.write(&mut again), Some(again.len()));
    assert_eq!(Ipv4::parse(&again), Ok(ours));
    assert_eq!(Ipv4::checksum_holds(&again), Some(true));
}

/// Both read the same, or both refuse.
pub fn ipv6_agrees(bytes: &[u8]) {
    match (Ipv6::parse(bytes), etherparse::Ipv6HeaderSlice::from_slice(bytes)) {
        (Err(_), Err(_)) => {}
        (Ok(ours), Ok(theirs)) => {
            let class = theirs.traffic_class();
            let read = Ipv6 {
                dscp: class >> 2,
                ecn: Ecn::of_bits(class),
                flow_label: theirs.flow_label().value(),
                payload_len: theirs.payload_length(),
                next_header: theirs.next_header().0,
                hop_limit: theirs.hop_limit(),
                source: theirs.source(),
                destination: theirs.destination(),
            };
            assert_eq!(ours, read);
            let mut again = [0; 40];
            assert_eq!((ours.write(&mut again), &again[..]), (Some(40), &bytes[..40]), "byte for byte");
        }
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
}

/// Both read the same, or both refuse.
pub fn tcp_agrees(bytes: &[u8]) {
    match (Tcp::parse(bytes), etherparse::TcpHeaderSlice::from_slice(bytes)) {
        (Ok(ours), Err(_)) => assert!(bytes.len() < ours.header_len, "{ours:?}"),
        (Err(_), Err(_)) => {}
        (Ok(ours), Ok(theirs)) => {
            let flags = [theirs.ns(), theirs.cwr(), theirs.ece(), theirs.urg(), theirs.ack()]
                .into_iter()
                .chain([theirs.psh(), theirs.rst(), theirs.syn(), theirs.fin()])
                .fold(0, |all, bit| all << 1 | u16::from(bit));
            let read = Tcp {
                source_port: theirs.source_port(),
                destination_port: theirs.destination_port(),
                seq: theirs.sequence_number(),
                ack: theirs.acknowledgment_number(),
                header_len: theirs.slice().len(),
                flags: ours.flags & 0xe00 | flags,
                window: Some(theirs.window_size()),
                urgent: theirs.urgent_pointer(),
                option_bytes: theirs.options(),
            };
            assert_eq!((ours, ours.options_cut()), (read, false));
            assert_eq!(ours.options(), their_options(theirs.options()));
            let mut again = bytes[..ours.header_len].to_vec();
            assert_eq!(ours.write(&mut again, Sum::default()), Some(again.len()));
            assert_eq!(
                (&again[..16], &again[18..]),
                (&bytes[..16], &bytes[18..ours.header_len]),
                "all but the checksum"
            );
        }
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
}

/// Both read the same, or both refuse.
pub fn udp_agrees(bytes: &[u8]) {
    match (Udp::parse(bytes), etherparse::UdpHeaderSlice::from_slice(bytes)) {
        (Err(Fault::TotalLength), Ok(theirs)) => assert!((1..8).contains(&theirs.length())),
        (Err(_), Err(_)) => {}
        (Ok(ours), Ok(theirs)) => {
            let read = Udp {
                source_port: theirs.source_port(),
                destination_port: theirs.destination_port(),
                len: theirs.length(),
            };
            assert_eq!(ours, read);
        }
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
}

/// Which extension headers etherparse handles otherwise.
fn left_out(next: u8, bytes: &[u8]) -> bool {
    let (mut next, mut at, mut first, mut later) = (next, 0, true, false);
    while let Some(length) = bytes.get(at..at + 2).map(|h| (usize::from(h[1]) + 1) * 8) {
        if later || next == 0 && !first || [51, 135, 139, 140].contains(&next) {
            return true;
        }
        match next {
            0 | 43 | 60 => (next, at) = (bytes[at], at + length),
            44 if at + 8 <= bytes.len() => {
                later = bytes[at + 2] != 0 || bytes[at + 3] & 0xf8 != 0;
                (next, at) = (bytes[at], at + 8);
            }
            _ => return false,
        }
        first = false;
    }
    // Also at the very end.
    later || next == 0 && !first || [51, 135, 139, 140].contains(&next)
}

/// Both read the same, or both refuse.
pub fn extensions_agree(next: u8, bytes: &[u8]) {
    if left_out(next, bytes) {
        return;
    }
    let theirs = etherparse::Ipv6ExtensionsSlice::from_slice(etherparse::IpNumber(next), bytes);
    match (Extensions::parse(next, bytes), theirs) {
        (Err(_), Err(_)) => {}
        (Ok(ours), Ok((theirs, protocol, behind))) => {
            assert_eq!((ours.protocol, ours.len), (protocol.0, bytes.len() - behind.len()));
            assert_eq!(ours.fragment.is_some(), theirs.is_fragmenting_payload());
        }
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
    // Their other reader has room for one of each and stops before a second.
    let theirs = Ipv6Extensions::from_slice(etherparse::IpNumber(next), bytes);
    if let (Ok(Extensions { fragment, len, .. }), Ok((theirs, _, _))) = (Extensions::parse(next, bytes), theirs) {
        if theirs.header_len() < len {
            return;
        }
        let read = theirs.fragment.filter(etherparse::Ipv6FragmentHeader::is_fragmenting_payload);
        let fields = read.map(|f| (f.identification, u32::from(f.fragment_offset.byte_offset()), f.more_fragments));
        assert_eq!(fragment.map(|f| (f.id, f.offset, f.more)), fields);
    }
}
