//! An IP packet of either version, as far as it was captured.

use super::super::{Address, Ecn};
use super::{Extensions, Fault, Ipv4, Ipv6, Sum, protocol};

/// Which part of a larger packet a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The same in all its fragments; of version 4 the identification.
    pub id: u32,
    /// Where it begins in the payload of the whole, bytes.
    pub offset: u32,
    /// Whether another one follows.
    pub more: bool,
}

impl Fragment {
    /// Nothing if it is the whole packet (an atomic fragment, RFC 6946).
    #[inline]
    pub(super) fn new(id: u32, offset: u32, more: bool) -> Option<Fragment> {
        (more || offset != 0).then_some(Fragment { id, offset, more })
    }
}

/// What the headers say that are the network's, and what they carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip<'a> {
    /// Who sent it.
    pub source: Address,
    /// Whom it is for.
    pub destination: Address,
    /// What it carries ([`protocol`]), extension headers stepped over.
    pub protocol: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Time to live or hop limit.
    pub ttl: u8,
    /// Identification of version 4; 0 of version 6, and of senders that do not use it.
    pub id: u16,
    /// Which part of a larger packet it is, unless it is all of one.
    pub fragment: Option<Fragment>,
    /// Bytes of the headers, extension headers and options included.
    pub header_len: usize,
    /// Bytes of what it carries by its own account; unknown if the length field is 0 (offload, jumbograms).
    pub payload_len: Option<u32>,
    /// What was captured of it: padding of the frame behind it is left out.
    pub payload: &'a [u8],
}

impl<'a> Ip<'a> {
    /// Reads the packet that `bytes` begin with; they may end before it does, and go on behind it.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Ip<'a>, Fault> {
        match bytes.first().ok_or(Fault::Cut)? >> 4 {
            4 => Ip::v4(bytes),
            6 => Ip::v6(bytes),
            _ => Err(Fault::Version),
        }
    }

    #[inline]
    fn v4(bytes: &'a [u8]) -> Result<Ip<'a>, Fault> {
        let h = Ipv4::parse(bytes)?;
        let header_len = h.header_len();
        let payload_len = (h.total_len != 0).then(|| u32::from(h.total_len).saturating_sub(header_len as u32));
        Ok(Ip {
            source: Address::V4(h.source),
            destination: Address::V4(h.destination),
            protocol: h.protocol,
            ecn: h.ecn,
            ttl: h.ttl,
            id: h.id,
            fragment: Fragment::new(u32::from(h.id), u32::from(h.fragment_offset) * 8, h.more_fragments),
            header_len,
            payload_len,
            payload: captured(bytes, header_len, payload_len),
        })
    }

    #[inline]
    fn v6(bytes: &'a [u8]) -> Result<Ip<'a>, Fault> {
        let h = Ipv6::parse(bytes)?;
        // Headers beyond the packet's length would be padding.
        let stated = usize::from(h.payload_len);
        let behind = bytes.get(Ipv6::LEN..).unwrap_or_default();
        let whole = stated != 0 && stated <= behind.len();
        let within = if whole { &behind[..stated] } else { behind };
        let extensions = match Extensions::parse(h.next_header, within) {
            Err(Fault::Cut) if whole => Err(Fault::TotalLength),
            other => other,
        }?;
        if stated != 0 && stated < extensions.len {
            return Err(Fault::TotalLength);
        }
        let header_len = Ipv6::LEN + extensions.len;
        let payload_len = (stated != 0).then(|| (stated - extensions.len) as u32);
        Ok(Ip {
            source: Address::V6(h.source),
            destination: Address::V6(h.destination),
            protocol: extensions.protocol,
            ecn: h.ecn,
            ttl: h.hop_limit,
            id: 0,
            fragment: extensions.fragment,
            header_len,
            payload_len,
            payload: captured(bytes, header_len, payload_len),
        })
    }

    /// Whether all of the payload was captured.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.payload_len.is_some_and(|length| self.payload.len() == length as usize)
    }

    /// Whether the checksum of the TCP segment or UDP datagram is right; unknown for fragments, for what was not captured
    /// whole, for a datagram without one, and for what is neither. The header's own: [`Ipv4::checksum_holds`].
    pub fn checksum_holds(&self) -> Option<bool> {
        if self.fragment.is_some() || !self.is_whole() {
            return None;
        }
        let covered = match self.protocol {
            protocol::TCP => self.payload,
            protocol::UDP => {
                let h: &[u8; 8] = self.payload.first_chunk()?;
                if (h[6], h[7]) == (0, 0) {
                    return None;
                }
                self.payload.get(..usize::from(u16::from_be_bytes([h[4], h[5]])))?
            }
            _ => return None,
        };
        let pseudo = Sum::pseudo(&self.source, &self.destination, self.protocol, covered.len() as u32);
        Some(pseudo.octets(covered).checksum() == 0)
    }
}

/// The part of `bytes` behind `header` of them that belongs to the packet.
#[inline]
fn captured(bytes: &[u8], header: usize, payload: Option<u32>) -> &[u8] {
    let behind = bytes.get(header..).unwrap_or_default();
    payload.and_then(|length| behind.get(..length as usize)).unwrap_or(behind)
}
