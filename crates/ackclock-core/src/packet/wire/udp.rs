//! The header of a datagram (RFC 768).

use super::{Fault, Sum};

/// A header, without its checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Udp {
    /// From which port.
    pub source_port: u16,
    /// To which.
    pub destination_port: u16,
    /// Bytes of the datagram with this header; 0 for jumbograms (RFC 2675).
    pub len: u16,
}

impl Udp {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Reads the header that `bytes` begin with.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Udp, Fault> {
        let h: &[u8; Udp::LEN] = bytes.first_chunk().ok_or(Fault::Cut)?;
        let len = u16::from_be_bytes([h[4], h[5]]);
        if len != 0 && usize::from(len) < Udp::LEN {
            return Err(Fault::TotalLength);
        }
        Ok(Udp {
            source_port: u16::from_be_bytes([h[0], h[1]]),
            destination_port: u16::from_be_bytes([h[2], h[3]]),
            len,
        })
    }

    /// Writes the header to the begin of `out` and answers its length; nothing if it does not fit. `others` sums the
    /// pseudo header and the payload. A checksum of zero is written as all ones, since zero says that there is none.
    #[inline]
    pub fn write(&self, out: &mut [u8], others: Sum) -> Option<usize> {
        let h: &mut [u8; Udp::LEN] = out.first_chunk_mut()?;
        [h[0], h[1]] = self.source_port.to_be_bytes();
        [h[2], h[3]] = self.destination_port.to_be_bytes();
        [h[4], h[5]] = self.len.to_be_bytes();
        [h[6], h[7]] = [0, 0];
        let checksum = match others.octets(h).checksum() {
            0 => u16::MAX,
            sum => sum,
        };
        [h[6], h[7]] = checksum.to_be_bytes();
        Some(Udp::LEN)
    }
}
