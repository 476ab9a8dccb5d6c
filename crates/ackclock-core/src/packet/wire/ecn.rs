//! Marks rewritten in the bytes of a packet, as a router does it.

use super::super::Ecn;
use super::{Fault, updated};

/// Sets the ECN field of the IP header that `packet` begins with; of version 4 with the header's checksum, which stays as
/// right or wrong as it was (RFC 1624).
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) -> Result<(), Fault> {
    let first = *packet.first().ok_or(Fault::Cut)?;
    match first >> 4 {
        4 => {
            let header: &mut [u8; 20] = packet.first_chunk_mut().ok_or(Fault::Cut)?;
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] = header[1] & !3 | ecn as u8;
            let new = u16::from_be_bytes([header[0], header[1]]);
            if new != old {
                let checksum = updated(u16::from_be_bytes([header[10], header[11]]), old, new);
                [header[10], header[11]] = checksum.to_be_bytes();
            }
        }
        6 => {
            let header: &mut [u8; 40] = packet.first_chunk_mut().ok_or(Fault::Cut)?;
            header[1] = header[1] & !0x30 | (ecn as u8) << 4;
        }
        _ => return Err(Fault::Version),
    }
    Ok(())
}
