//! The header of IP version 4 (RFC 791).

use super::super::Ecn;
use super::{Fault, Sum};

/// A header, without its checksum: [`Ipv4::write`] makes that, [`Ipv4::checksum_holds`] checks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ipv4<'a> {
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Bytes of the packet with its header; 0 where the network card was to fill it in.
    pub total_len: u16,
    /// Identification.
    pub id: u16,
    /// The flag DF.
    pub dont_fragment: bool,
    /// The flag MF.
    pub more_fragments: bool,
    /// Where this fragment begins in what was sent, in units of 8 bytes.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// What it carries ([`super::protocol`]).
    pub protocol: u8,
    /// Who sent it.
    pub source: [u8; 4],
    /// Whom it is for.
    pub destination: [u8; 4],
    /// The options as they stand, a multiple of 4 bytes, at most 40.
    pub options: &'a [u8],
}

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

impl<'a> Ipv4<'a> {
    /// Reads the header that `bytes` begin with. The flag that is reserved (and the evil bit, RFC 3514) is not kept.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Ipv4<'a>, Fault> {
        let h: &[u8; 20] = bytes.first_chunk().ok_or(Fault::Cut)?;
        if h[0] >> 4 != 4 {
            return Err(Fault::Version);
        }
        let length = usize::from(h[0] & 15) * 4;
        if length < 20 {
            return Err(Fault::HeaderLength);
        }
        let options = bytes.get(20..length).ok_or(Fault::Cut)?;
        let total_len = u16::from_be_bytes([h[2], h[3]]);
        if total_len != 0 && usize::from(total_len) < length {
            return Err(Fault::TotalLength);
        }
        let fragment = u16::from_be_bytes([h[6], h[7]]);
        Ok(Ipv4 {
            dscp: h[1] >> 2,
            ecn: Ecn::of_bits(h[1]),
            total_len,
            id: u16::from_be_bytes([h[4], h[5]]),
            dont_fragment: fragment & DONT_FRAGMENT != 0,
            more_fragments: fragment & MORE_FRAGMENTS != 0,
            fragment_offset: fragment & OFFSET,
            ttl: h[8],
            protocol: h[9],
            source: [h[12], h[13], h[14], h[15]],
            destination: [h[16], h[17], h[18], h[19]],
            options,
        })
    }

    /// Bytes of the header with its options.
    #[inline]
    pub fn header_len(&self) -> usize {
        20 + self.options.len()
    }

    /// Writes the header to the begin of `out` and answers its length; nothing if it does not fit or its options have a
    /// length that no header has.
    #[inline]
    pub fn write(&self, out: &mut [u8]) -> Option<usize> {
        let length = self.header_len();
        if length > 60 || length % 4 != 0 {
            return None;
        }
        let out = out.get_mut(..length)?;
        let (h, options) = out.split_first_chunk_mut::<20>()?;
        options.copy_from_slice(self.options);
        let flags = if self.dont_fragment { DONT_FRAGMENT } else { 0 }
            | if self.more_fragments { MORE_FRAGMENTS } else { 0 }
            | self.fragment_offset & OFFSET;
        h[0] = 0x40 | (length / 4) as u8;
        h[1] = self.dscp << 2 | self.ecn as u8;
        [h[2], h[3]] = self.total_len.to_be_bytes();
        [h[4], h[5]] = self.id.to_be_bytes();
        [h[6], h[7]] = flags.to_be_bytes();
        h[8] = self.ttl;
        h[9] = self.protocol;
        [h[10], h[11]] = [0, 0];
        [h[12], h[13], h[14], h[15]] = self.source;
        [h[16], h[17], h[18], h[19]] = self.destination;
        let checksum = Sum::default().octets(h).octets(options).checksum();
        [h[10], h[11]] = checksum.to_be_bytes();
        Some(length)
    }

    /// Whether the header that `bytes` begin with has the right checksum; unknown if it is cut or none.
    pub fn checksum_holds(bytes: &[u8]) -> Option<bool> {
        let header = bytes.get(..usize::from(bytes.first()? & 15) * 4)?;
        (header.len() >= 20).then(|| Sum::default().octets(header).checksum() == 0)
    }
}
