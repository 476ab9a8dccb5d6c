//! A datagram of UDP, with what a measuring application writes into its payload.

use super::Ecn;
use crate::time::Time;

/// The header of a datagram (RFC 768) and the begin of its payload: number and time, by which a sink knows loss, order and
/// one-way delay.
// Aligned as the words of a header are, so that with its routing it stays in a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub struct Datagram {
    sent: Time,
    /// Bytes of payload.
    pub len: u32,
    /// How many its source had sent before, modulo 2^32.
    pub sequence: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
}

impl Datagram {
    /// Number `sequence` of its source, with `len` bytes of payload, which leaves at `sent`.
    pub fn new(sent: Time, sequence: u32, len: u32, ecn: Ecn) -> Datagram {
        Datagram { sent, len, sequence, ecn }
    }

    /// When it left its source.
    #[inline]
    pub fn sent(&self) -> Time {
        self.sent
    }
}
