//! The header of IP version 6 and those behind it (RFC 8200).

use super::super::Ecn;
use super::{Fault, Fragment};

/// A header, without extensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv6 {
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Bytes behind this header; 0 for jumbograms (RFC 2675) and where the network card was to fill it in.
    pub payload_len: u16,
    /// What it carries: a protocol or an extension header.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Who sent it.
    pub source: [u8; 16],
    /// Whom it is for.
    pub destination: [u8; 16],
}

impl Ipv6 {
    /// Bytes of the header.
    pub const LEN: usize = 40;

    /// Reads the header that `bytes` begin with.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Ipv6, Fault> {
        let (h, rest) = bytes.split_first_chunk::<8>().ok_or(Fault::Cut)?;
        if h[0] >> 4 != 6 {
            return Err(Fault::Version);
        }
        let (source, rest) = rest.split_first_chunk::<16>().ok_or(Fault::Cut)?;
        let destination = rest.first_chunk::<16>().ok_or(Fault::Cut)?;
        let class = h[0] << 4 | h[1] >> 4;
        Ok(Ipv6 {
            dscp: class >> 2,
            ecn: Ecn::of_bits(class),
            flow_label: u32::from_be_bytes([0, h[1] & 15, h[2], h[3]]),
            payload_len: u16::from_be_bytes([h[4], h[5]]),
            next_header: h[6],
            hop_limit: h[7],
            source: *source,
            destination: *destination,
        })
    }

    /// Writes the header to the begin of `out` and answers its length; nothing if it does not fit.
    #[inline]
    pub fn write(&self, out: &mut [u8]) -> Option<usize> {
        let (h, rest) = out.split_first_chunk_mut::<8>()?;
        let (source, rest) = rest.split_first_chunk_mut::<16>()?;
        let destination = rest.first_chunk_mut::<16>()?;
        let class = u32::from(self.dscp << 2 | self.ecn as u8);
        [h[0], h[1], h[2], h[3]] = (6 << 28 | class << 20 | self.flow_label & 0xf_ffff).to_be_bytes();
        [h[4], h[5]] = self.payload_len.to_be_bytes();
        h[6] = self.next_header;
        h[7] = self.hop_limit;
        *source = self.source;
        *destination = self.destination;
        Some(Ipv6::LEN)
    }
}

/// What stands between the header and what the packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Bytes of them all.
    pub len: usize,
    /// What comes behind them; of a fragment that is not the first, what the first one carries.
    pub protocol: u8,
    /// Which part of a larger packet this is.
    pub fragment: Option<Fragment>,
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;

impl Extensions {
    /// Steps over the extension headers that `bytes` begin with, the first of which is `next`: hop-by-hop and destination
    /// options, routing, and fragment headers. Any other number is what the packet carries. Behind a fragment header that
    /// is not that of the first fragment there is no header any more.
    #[inline]
    pub fn parse(next: u8, bytes: &[u8]) -> Result<Extensions, Fault> {
        let mut found = Extensions { len: 0, protocol: next, fragment: None };
        loop {
            let rest = bytes.get(found.len..).unwrap_or_default();
            match found.protocol {
                HOP_BY_HOP | ROUTING | DESTINATION => {
                    let h: &[u8; 2] = rest.first_chunk().ok_or(Fault::Cut)?;
                    // Every step is at least 8 bytes, so the walk ends with the bytes.
                    let length = (usize::from(h[1]) + 1) * 8;
                    if rest.len() < length {
                        return Err(Fault::Cut);
                    }
                    (found.protocol, found.len) = (h[0], found.len + length);
                }
                FRAGMENT => {
                    let h: &[u8; 8] = rest.first_chunk().ok_or(Fault::Cut)?;
                    let field = u16::from_be_bytes([h[2], h[3]]);
                    let id = u32::from_be_bytes([h[4], h[5], h[6], h[7]]);
                    (found.protocol, found.len) = (h[0], found.len + 8);
                    // Of several the first that makes a part of it: an atomic one behind does not make it whole again.
                    found.fragment = found.fragment.or(Fragment::new(id, u32::from(field & !7), field & 1 != 0));
                    if field & !7 != 0 {
                        return Ok(found);
                    }
                }
                _ => return Ok(found),
            }
        }
    }
}
