//! The Internet checksum (RFC 1071), also of a header of which one word has changed (RFC 1624).

use super::super::Address;

/// A sum of 16-bit words that is not folded yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Of the pseudo header of `length` bytes of `protocol` between two hosts (RFC 9293 §3.1, RFC 8200 §8.1).
    #[inline]
    pub fn pseudo(source: &Address, destination: &Address, protocol: u8, length: u32) -> Sum {
        Sum::default().octets(source.octets()).octets(destination.octets()).double(length).word(u16::from(protocol))
    }

    /// With `bytes`, which stand at an even place; an odd last one is padded with zero.
    #[inline]
    pub fn octets(self, bytes: &[u8]) -> Sum {
        let mut sum = self.0;
        // Words of four bytes sum to the same: 2^16 is 1 modulo 2^16 - 1. A packet has too few for 64 bits to overflow.
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            sum += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
        }
        let mut last = [0; 4];
        let rest = words.remainder();
        last[..rest.len()].copy_from_slice(rest);
        Sum(sum + u64::from(u32::from_be_bytes(last)))
    }

    /// With a word of two bytes.
    #[inline]
    pub fn word(self, word: u16) -> Sum {
        Sum(self.0 + u64::from(word))
    }

    /// With a word of four bytes.
    #[inline]
    pub fn double(self, word: u32) -> Sum {
        Sum(self.0 + u64::from(word))
    }

    /// What goes into the header, whose own field was summed as zero; 0 when the field was there and is right.
    #[inline]
    pub fn checksum(self) -> u16 {
        let mut sum = (self.0 >> 32) + (self.0 & 0xffff_ffff);
        sum = (sum >> 32) + (sum & 0xffff_ffff);
        sum = (sum >> 16) + (sum & 0xffff);
        sum = (sum >> 16) + (sum & 0xffff);
        sum = (sum >> 16) + (sum & 0xffff);
        !(sum as u16)
    }
}

/// The checksum of a header whose checksum was `checksum`, after its word `old` has become `new` (RFC 1624 §3, equation 3).
#[inline]
pub fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    Sum::default().word(!checksum).word(!old).word(new).checksum()
}
