//! Tunnels in UDP, and mirrored frames in GRE: what overlays of containers, cellular cores and switches put around a frame.

use super::Skip;
use super::layers::{Layer, Stack, byte, half, word};

/// Bytes of the header of UDP.
const UDP: usize = 8;
/// Ports of VXLAN (RFC 7348), of Linux's older VXLAN, of Geneve (RFC 8926) and of GTP-U (3GPP TS 29.281).
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;
const GTP_U: u16 = 2152;
/// EtherType of a frame behind Geneve.
const BRIDGED: u16 = 0x6558;

/// What a datagram carries whose header of UDP is at the beginning of `bytes`, and where; nothing where it is no tunnel.
pub(super) fn in_udp(bytes: &[u8], stack: &mut Stack) -> Option<(Layer, usize)> {
    let port = half(bytes, 2).ok()?;
    let (layer, at, number) = match port {
        GENEVE => geneve(bytes).ok()?,
        GTP_U => gtp(bytes).ok()?,
        port if VXLAN.contains(&port) => vxlan(bytes).ok()?,
        _ => return None,
    };
    stack.mix(u64::from(port) << 32 | u64::from(number));
    Some((layer, at))
}

fn vxlan(bytes: &[u8]) -> Result<(Layer, usize, u32), Skip> {
    // The flag of a number, and nothing in the reserved bits that older and newer ones agree on.
    match byte(bytes, UDP)? & 0x88 {
        0x08 => Ok((Layer::Ethernet, UDP + 8, word(bytes, UDP + 4)? >> 8)),
        _ => Err(Skip::NotIp),
    }
}

fn geneve(bytes: &[u8]) -> Result<(Layer, usize, u32), Skip> {
    let first = byte(bytes, UDP)?;
    if first >> 6 != 0 {
        return Err(Skip::NotIp);
    }
    let kind = half(bytes, UDP + 2)?;
    let layer = if kind == BRIDGED { Layer::Ethernet } else { Layer::Type(kind) };
    Ok((layer, UDP + 8 + 4 * usize::from(first & 0x3f), word(bytes, UDP + 4)? >> 8))
}

fn gtp(bytes: &[u8]) -> Result<(Layer, usize, u32), Skip> {
    /// A user's packet.
    const USER: u8 = 255;
    let flags = byte(bytes, UDP)?;
    // Version 1 of GTP, not GTP'.
    if flags >> 4 != 3 || byte(bytes, UDP + 1)? != USER {
        return Err(Skip::NotIp);
    }
    let tunnel = word(bytes, UDP + 4)?;
    let mut at = UDP + 8;
    if flags & 7 != 0 {
        at += 4;
        let mut next = if flags & 4 != 0 { byte(bytes, at - 1)? } else { 0 };
        while next != 0 {
            let length = 4 * usize::from(byte(bytes, at)?);
            if length == 0 {
                return Err(Skip::NotIp);
            }
            at += length;
            next = byte(bytes, at - 1)?;
        }
    }
    match byte(bytes, at)? >> 4 {
        4 | 6 => Ok((Layer::Ip, at, tunnel)),
        _ => Err(Skip::NotIp),
    }
}

/// The frame that a switch mirrored with ERSPAN (draft-foschiano-erspan), whose header is at `at`; `numbered`: whether GRE has a
/// sequence number, without which there is no header.
pub(super) fn mirrored(kind: u16, numbered: bool, at: usize, bytes: &[u8]) -> Result<usize, Skip> {
    const THIRD: u16 = 0x22eb;
    Ok(at
        + match (kind, numbered) {
            (THIRD, _) if byte(bytes, at + 11)? & 1 != 0 => 20,
            (THIRD, _) => 12,
            (_, true) => 8,
            (_, false) => 0,
        })
}
