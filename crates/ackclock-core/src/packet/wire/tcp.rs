//! The header of a TCP segment (RFC 9293).

use super::{Fault, MOST_OPTION_BYTES, Options, Sum};
use crate::tcp::Segment;

/// The flags as they stand in the header, the three reserved bits above them.
pub mod flags {
    /// Last byte of the stream.
    pub const FIN: u16 = 0x001;
    /// Opens a connection.
    pub const SYN: u16 = 0x002;
    /// Aborts a connection.
    pub const RST: u16 = 0x004;
    /// The sender's buffer is empty after this segment.
    pub const PSH: u16 = 0x008;
    /// The acknowledgment field counts.
    pub const ACK: u16 = 0x010;
    /// The urgent pointer counts.
    pub const URG: u16 = 0x020;
    /// ECN echo (RFC 3168), bit 0 of ACE (RFC 9768).
    pub const ECE: u16 = 0x040;
    /// Congestion window reduced (RFC 3168), bit 1 of ACE.
    pub const CWR: u16 = 0x080;
    /// Accurate ECN, bit 2 of ACE (RFC 9768); once the nonce sum (RFC 3540).
    pub const AE: u16 = 0x100;
}

/// A header, without its checksum, of which a capture may have cut off the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// From which port.
    pub source_port: u16,
    /// To which.
    pub destination_port: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Bytes of the header with its options by its own account, 20 to 60.
    pub header_len: usize,
    /// [`flags`], 12 bits.
    pub flags: u16,
    /// Window field, before scaling; unknown if fewer than 16 bytes are there.
    pub window: Option<u16>,
    /// Urgent pointer; 0 if it is not there.
    pub urgent: u16,
    /// What there is of the options.
    pub option_bytes: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// Bytes that the header has without options.
    pub const LEAST: usize = 20;

    /// Reads the header that `bytes` begin with, of which 14 are enough: ports, numbers, length and flags.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Tcp<'a>, Fault> {
        let h: &[u8; 14] = bytes.first_chunk().ok_or(Fault::Cut)?;
        let header_len = usize::from(h[12] >> 4) * 4;
        if header_len < Tcp::LEAST {
            return Err(Fault::HeaderLength);
        }
        let (window, urgent) = match bytes.first_chunk::<20>() {
            Some(h) => (Some(u16::from_be_bytes([h[14], h[15]])), u16::from_be_bytes([h[18], h[19]])),
            None => (bytes.get(14..16).map(|w| u16::from_be_bytes([w[0], w[1]])), 0),
        };
        Ok(Tcp {
            source_port: u16::from_be_bytes([h[0], h[1]]),
            destination_port: u16::from_be_bytes([h[2], h[3]]),
            seq: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
            ack: u32::from_be_bytes([h[8], h[9], h[10], h[11]]),
            header_len,
            flags: u16::from_be_bytes([h[12] & 15, h[13]]),
            window,
            urgent,
            option_bytes: bytes.get(Tcp::LEAST..header_len.min(bytes.len())).unwrap_or_default(),
        })
    }

    /// True when flag bits `f` are all set.
    #[inline]
    pub fn has(&self, f: u16) -> bool {
        self.flags & f == f
    }

    /// The ACE field: AE, CWR and ECE as a number (RFC 9768 §3.2).
    #[inline]
    pub fn ace(&self) -> u8 {
        ((self.flags & (flags::AE | flags::CWR | flags::ECE)) >> 6) as u8
    }

    /// Whether some of the options are missing.
    #[inline]
    pub fn options_cut(&self) -> bool {
        Tcp::LEAST + self.option_bytes.len() < self.header_len
    }

    /// What the options say; of cut ones those that are whole.
    #[inline]
    pub fn options(&self) -> Options {
        Options::parse(self.option_bytes)
    }

    /// The header of `segment`, with options that [`Options::write`] has made of [`Options::of`] it.
    #[inline]
    pub fn of(segment: &Segment, ports: (u16, u16), option_bytes: &'a [u8]) -> Tcp<'a> {
        let ae = if segment.ace() & 4 != 0 { flags::AE } else { 0 };
        Tcp {
            source_port: ports.0,
            destination_port: ports.1,
            seq: segment.seq,
            ack: segment.ack,
            header_len: Tcp::LEAST + option_bytes.len(),
            flags: u16::from(segment.flags) | ae,
            window: Some(segment.window),
            urgent: 0,
            option_bytes,
        }
    }

    /// Writes the header to the begin of `out` and answers its length; nothing if it does not fit, or its options have a
    /// length that no header has. `others` sums the pseudo header and the payload. `header_len` is not read: it follows
    /// from the options. A window that is not known is written as 0.
    #[inline]
    pub fn write(&self, out: &mut [u8], others: Sum) -> Option<usize> {
        let length = Tcp::LEAST + self.option_bytes.len();
        if self.option_bytes.len() > MOST_OPTION_BYTES || length % 4 != 0 {
            return None;
        }
        let (h, options) = out.get_mut(..length)?.split_first_chunk_mut::<20>()?;
        options.copy_from_slice(self.option_bytes);
        [h[0], h[1]] = self.source_port.to_be_bytes();
        [h[2], h[3]] = self.destination_port.to_be_bytes();
        [h[4], h[5], h[6], h[7]] = self.seq.to_be_bytes();
        [h[8], h[9], h[10], h[11]] = self.ack.to_be_bytes();
        [h[12], h[13]] = ((length as u16 / 4) << 12 | self.flags & 0xfff).to_be_bytes();
        [h[14], h[15]] = self.window.unwrap_or(0).to_be_bytes();
        [h[16], h[17]] = [0, 0];
        [h[18], h[19]] = self.urgent.to_be_bytes();
        let checksum = others.octets(h).octets(options).checksum();
        [h[16], h[17]] = checksum.to_be_bytes();
        Some(length)
    }
}
