//! The TCP segment of a packet.

use super::pcap::Record;
use crate::analysis::Segment;
use ackclock_core::packet::wire::{protocol, Ip, Tcp};
use ackclock_core::packet::Ecn;

/// Where IP begins in a frame of this link type: raw IP, or Ethernet without tags.
fn network(link: u16, bytes: &[u8]) -> Option<usize> {
    match link {
        12 | 14 | 101 | 228 | 229 => Some(0),
        1 => matches!(bytes.get(12..14)?, [8, 0] | [0x86, 0xdd]).then_some(14),
        _ => None,
    }
}

/// The segment that `record` carries over link type `link`; nothing if it carries none, or not the whole of one.
pub fn segment(record: &Record<'_>, link: u16) -> Option<Segment> {
    let at = network(link, record.bytes)?;
    let ip = Ip::parse(record.bytes.get(at..)?).ok()?;
    if ip.protocol != protocol::TCP || ip.fragment.is_some() {
        return None;
    }
    let tcp = Tcp::parse(ip.payload).ok()?;
    // A length of 0 was left to the network card: what is not header is payload.
    let carried = ip.payload_len.unwrap_or_else(|| record.length.saturating_sub((at + ip.header_len) as u32));
    Some(Segment {
        time: record.time,
        number: record.number,
        interface: 0,
        tags: 0,
        source: ip.source,
        destination: ip.destination,
        source_port: tcp.source_port,
        destination_port: tcp.destination_port,
        ip_id: ip.id,
        marked: ip.ecn == Ecn::Ce,
        length: carried.checked_sub(tcp.header_len as u32)?,
        seq: tcp.seq,
        ack: tcp.ack,
        flags: tcp.flags,
        window: tcp.window,
        options: tcp.options(),
        options_cut: tcp.options_cut(),
    })
}
