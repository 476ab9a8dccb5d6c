//! A simulated packet as the bytes of its headers.

use super::Seen;
use ackclock_core::packet::wire::{Ipv4, Ipv6, MOST_OPTION_BYTES, Options, Sum, Tcp, Udp, protocol};
use ackclock_core::packet::{Address, Ecn, Family, Packet};
use ackclock_core::tcp::segment::Segment;

/// What packets begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkType {
    /// The IP header (LINKTYPE_RAW).
    #[default]
    Raw,
    /// A header of Ethernet, with addresses that follow from those of IP.
    Ethernet,
}

impl LinkType {
    /// Its number among link types.
    pub fn number(self) -> u16 {
        match self {
            LinkType::Raw => 101,
            LinkType::Ethernet => 1,
        }
    }

    /// Bytes before the IP header.
    pub fn header(self) -> usize {
        match self {
            LinkType::Raw => 0,
            LinkType::Ethernet => ETHERNET,
        }
    }

    /// Most bytes of a packet of `family` that are kept.
    pub(super) fn snaplen(self, family: Family) -> u32 {
        let kept = if family == Family::V4 { SNAPLEN } else { MOST_HEADERS };
        (self.header() + kept) as u32
    }
}

/// Bytes of an IP packet that are kept; its headers are in any case.
pub const SNAPLEN: usize = 96;

const ETHERNET: usize = 14;
/// Those of IP version 6 and of TCP with all the options that it has room for.
const MOST_HEADERS: usize = Ipv6::LEN + Tcp::LEAST + MOST_OPTION_BYTES;
pub(super) const MOST_FRAME: usize = ETHERNET + MOST_HEADERS;
const _: () = assert!(MOST_HEADERS >= SNAPLEN);

/// The time to live of a packet that no router has seen, as Linux and the BSDs set it.
const TTL: u8 = 64;

/// Writes the begin of the packet to `out`, which is zero: how many bytes of it, and how many the whole has.
#[inline]
pub(super) fn write(out: &mut [u8], link: LinkType, seen: &Seen<'_>) -> Option<(usize, u32)> {
    let ip = out.get_mut(link.header()..)?;
    let (source, destination) = (seen.addresses.source, seen.addresses.destination);
    let at = match source {
        Address::V4(_) => 20,
        Address::V6(_) => Ipv6::LEN,
    };
    let behind = ip.get_mut(at..)?;
    // A payload of zeros adds nothing to a checksum but its length.
    let payload = seen.packet.payload();
    let sum = |protocol, header: usize| Sum::pseudo(&source, &destination, protocol, header as u32 + payload);
    let ports = (seen.addresses.source_port, seen.addresses.destination_port);
    let (protocol, header) = match seen.packet {
        Packet::Tcp(segment) => {
            let mut options = [0; MOST_OPTION_BYTES];
            let length = offered(segment).write(&mut options)?;
            let header = Tcp::LEAST + length;
            let tcp = Tcp::of(segment, ports, options.get(..length)?);
            (protocol::TCP, tcp.write(behind, sum(protocol::TCP, header))?)
        }
        Packet::Datagram(_) => {
            let len = u16::try_from(Udp::LEN as u32 + payload).unwrap_or(0);
            let udp = Udp { source_port: ports.0, destination_port: ports.1, len };
            (protocol::UDP, udp.write(behind, sum(protocol::UDP, Udp::LEN))?)
        }
    };
    let original = (at + header) as u32 + payload;
    network(ip, seen, protocol, original)?;
    let kept = (original as usize).min(SNAPLEN.max(at + header));
    if link == LinkType::Ethernet {
        ethernet(out, &source, &destination)?;
    }
    Some((link.header() + kept, link.header() as u32 + original))
}

/// What timestamps take of every segment's options.
const STAMPS: u16 = 12;

/// The options of a segment. A MSS option does not count options (RFC 6691), but the simulator's segment size is payload: where
/// timestamps are offered, what they will take is added.
#[inline]
fn offered(segment: &Segment) -> Options {
    let options = Options::of(segment);
    let stamps = if options.timestamps.is_some() { STAMPS } else { 0 };
    Options { mss: options.mss.map(|mss| mss.saturating_add(stamps)), ..options }
}

/// The IP header of a packet of `length` bytes; a length that has no room in it is 0, as with offload.
#[inline]
fn network(out: &mut [u8], seen: &Seen<'_>, protocol: u8, length: u32) -> Option<usize> {
    let ecn: Ecn = seen.packet.ecn();
    match (seen.addresses.source, seen.addresses.destination) {
        (Address::V4(source), Address::V4(destination)) => Ipv4 {
            ecn,
            total_len: u16::try_from(length).unwrap_or(0),
            id: seen.id,
            dont_fragment: true,
            ttl: TTL,
            protocol,
            source,
            destination,
            ..Ipv4::default()
        }
        .write(out),
        (Address::V6(source), Address::V6(destination)) => Ipv6 {
            ecn,
            payload_len: u16::try_from(length - Ipv6::LEN as u32).unwrap_or(0),
            next_header: protocol,
            hop_limit: TTL,
            source,
            destination,
            ..Ipv6::default()
        }
        .write(out),
        _ => None,
    }
}

/// A header of Ethernet: locally administered addresses that end like those of IP.
fn ethernet(out: &mut [u8], source: &Address, destination: &Address) -> Option<()> {
    let station = |address: &Address| {
        let octets = address.octets();
        // Of version 6 the network's number has the bits above 16 of the host's.
        let [a, b, c, d] = match octets {
            [_, b, c, d] => [10, *b, *c, *d],
            _ => [*octets.get(4)?, *octets.get(5)?, *octets.get(14)?, *octets.get(15)?],
        };
        Some([2, 0, a, b, c, d])
    };
    let header: &mut [u8; ETHERNET] = out.first_chunk_mut()?;
    header[..6].copy_from_slice(&station(destination)?);
    header[6..12].copy_from_slice(&station(source)?);
    let kind: u16 = if source.octets().len() == 4 { 0x0800 } else { 0x86dd };
    header[12..].copy_from_slice(&kind.to_be_bytes());
    Some(())
}
