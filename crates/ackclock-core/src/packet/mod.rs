//! Packets: what their headers say, where they come from, and what a path needs to know of one.
//!
//! * [`Packet`]: the header of a TCP segment or of a datagram, kept by whoever owns the packet
//! * [`FourTuple`]: addresses and ports, the same for all packets of a connection in one direction
//! * [`Parcel`]: the packet as queues and links see it, which know neither
//! * [`wire`]: headers as bytes

mod address;
mod datagram;
pub mod wire;

use crate::tcp::Segment;
use crate::time::Time;

pub use address::{Address, Family, FourTuple};
pub use datagram::Datagram;

/// The IP ECN field (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint 1 (L4S).
    Ect1 = 1,
    /// ECN-capable, codepoint 0.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// The header of a packet, with what its transport needs of the IP header (lengths, ECN).
///
/// Where it goes and how far it has come stands beside it, with its owner; addresses and ports stand with the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Of TCP.
    Tcp(Segment),
    /// Of UDP.
    Datagram(Datagram),
}

// A simulator keeps one for every packet in flight: with eight bytes of routing and some flags it is a cache line.
const _: () = assert!(std::mem::size_of::<Packet>() <= 52);

impl Default for Packet {
    fn default() -> Packet {
        Packet::Tcp(Segment::default())
    }
}

impl Packet {
    /// Bytes of payload.
    #[inline]
    pub fn payload(&self) -> u32 {
        match self {
            Packet::Tcp(s) => s.len,
            Packet::Datagram(d) => d.len,
        }
    }

    /// The ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match self {
            Packet::Tcp(s) => s.ecn,
            Packet::Datagram(d) => d.ecn,
        }
    }

    /// Sets the ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        match self {
            Packet::Tcp(s) => s.ecn = ecn,
            Packet::Datagram(d) => d.ecn = ecn,
        }
    }

    /// The TCP segment, if it is one.
    #[inline]
    pub fn tcp(&self) -> Option<&Segment> {
        match self {
            Packet::Tcp(s) => Some(s),
            Packet::Datagram(_) => None,
        }
    }
}

/// A packet as the elements of a path see it: its owner keeps the header or the bytes under `id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parcel {
    /// The owner's name for the packet.
    pub id: u32,
    /// Bytes; within a link its framing included.
    pub len: u32,
    /// Flow number, for fair queueing and scripts of loss.
    pub flow: u32,
    /// For the element it is in: which of its ways it takes, the user of a cell.
    pub way: u16,
    /// Class of service, for schedulers with priorities or weights; 0 is the first.
    pub class: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Whether it carries payload.
    pub data: bool,
    /// When the packet reached the element it is in.
    pub arrived: Time,
}

const _: () = assert!(std::mem::size_of::<Parcel>() <= 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_carry_payload_and_marks() {
        let datagram = Datagram::new(Time(5), 3, 1200, Ecn::NotEct);
        let mut segment = Segment::default();
        segment.len = 1448;
        assert_eq!((Packet::Tcp(segment).tcp(), Packet::Datagram(datagram).tcp()), (Some(&segment), None));
        for (mut packet, len) in [(Packet::Datagram(datagram), 1200), (Packet::Tcp(segment), 1448)] {
            packet.set_ecn(Ecn::Ect0);
            assert_eq!((packet.payload(), packet.ecn()), (len, Ecn::Ect0));
            packet.set_ecn(Ecn::Ce);
            assert_eq!(packet.ecn(), Ecn::Ce);
        }
    }
}
