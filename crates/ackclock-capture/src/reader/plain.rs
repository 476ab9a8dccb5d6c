//! What nearly every packet is, read at once: IP version 4 without options and in one piece, with a TCP header that was
//! captured whole. Everything else takes the way through the layers, which reads these the same.

use crate::analysis::Segment;
use ackclock_core::packet::wire::{Tcp, protocol};
use ackclock_core::packet::{Address, Ecn};

/// Bytes of a header of IP version 4 without options.
const IP: usize = 20;
/// The flag MF and the offset of a fragment, in the high byte of their field.
const IN_PIECES: u8 = 0x3f;

/// Writes what the headers say that `bytes` begin with to `s`, if they are of this kind.
#[inline]
pub fn read(bytes: &[u8], s: &mut Segment) -> bool {
    let Some(h) = bytes.first_chunk::<{ IP + Tcp::LEAST }>() else { return false };
    if h[0] != 0x45 || h[9] != protocol::TCP || h[6] & IN_PIECES | h[7] != 0 {
        return false;
    }
    let total = usize::from(u16::from_be_bytes([h[2], h[3]]));
    let header = usize::from(h[IP + 12] >> 4) * 4;
    let behind = IP + header;
    if header < Tcp::LEAST || total < behind {
        return false;
    }
    let Some(options) = bytes.get(IP + Tcp::LEAST..behind) else { return false };
    s.source = Address::V4([h[12], h[13], h[14], h[15]]);
    s.destination = Address::V4([h[16], h[17], h[18], h[19]]);
    s.source_port = u16::from_be_bytes([h[20], h[21]]);
    s.destination_port = u16::from_be_bytes([h[22], h[23]]);
    s.ip_id = u16::from_be_bytes([h[4], h[5]]);
    s.marked = Ecn::of_bits(h[1]) == Ecn::Ce;
    s.length = (total - behind) as u32;
    s.seq = u32::from_be_bytes([h[24], h[25], h[26], h[27]]);
    s.ack = u32::from_be_bytes([h[28], h[29], h[30], h[31]]);
    s.flags = u16::from_be_bytes([h[32] & 15, h[33]]);
    s.window = Some(u16::from_be_bytes([h[34], h[35]]));
    s.options.read(options);
    s.options_cut = false;
    true
}
