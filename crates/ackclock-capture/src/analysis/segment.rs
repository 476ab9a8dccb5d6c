//! A TCP segment as it was captured: all that the analysis knows of a packet.

use ackclock_core::packet::Address;
use ackclock_core::packet::wire::{Options, flags};

/// Headers of one packet, with when and where it was captured. Its payload is never kept.
#[derive(Clone, Debug)]
pub struct Segment {
    /// When, ns since the epoch.
    pub time: i64,
    /// Number of the packet in its file, from 1.
    pub number: u64,
    /// Interface it was captured at.
    pub interface: u32,
    /// Digest of its VLAN tags, MPLS labels and tunnels; 0 if it has none.
    pub tags: u32,
    /// Who sent it.
    pub source: Address,
    /// Whom it is for.
    pub destination: Address,
    /// From which port.
    pub source_port: u16,
    /// To which.
    pub destination_port: u16,
    /// Identification of IP version 4, or 0.
    pub ip_id: u16,
    /// Whether it is marked (CE).
    pub marked: bool,
    /// Bytes of payload, by the IP header.
    pub length: u32,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// [`flags`].
    pub flags: u16,
    /// Window field, before scaling; unknown if it was cut off.
    pub window: Option<u16>,
    /// Options that are whole.
    pub options: Options,
    /// Whether options were cut off: SACK and timestamps are then unknown.
    pub options_cut: bool,
}

impl Segment {
    /// True when flag bits `f` are all set.
    #[inline]
    pub fn has(&self, f: u16) -> bool {
        self.flags & f == f
    }

    /// Whether it carries neither data nor SYN, FIN or RST.
    #[inline]
    pub fn is_pure_ack(&self) -> bool {
        self.length == 0 && self.flags & (flags::SYN | flags::FIN | flags::RST | flags::ACK) == flags::ACK
    }
}

/// The number in 64 bits that has the low half `low` and is nearest to `near`.
#[inline]
pub fn unwrapped(low: u32, near: u64) -> u64 {
    near.wrapping_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}
