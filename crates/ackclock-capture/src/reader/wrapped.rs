//! Link types whose header stands before another one: of wireless frames, firewalls, macOS, InfiniBand.

use super::Skip;
use super::layers::{Layer, byte, first, half};

const CISCO_HDLC: u16 = 104;
const WIRELESS: u16 = 105;
const ENC: u16 = 109;
const PFLOG: u16 = 117;
const RADIOTAP: u16 = 127;
const NFLOG: u16 = 239;
const IPOIB: u16 = 242;
const PKTAP: u16 = 258;

/// What a frame of one of these link types carries, and where that begins. Formats: tcpdump.org's list of link types.
pub(super) fn inside(link: u16, bytes: &[u8]) -> Result<(Layer, usize), Skip> {
    match link {
        // Address, control, EtherType.
        CISCO_HDLC => Ok((Layer::Type(half(bytes, 2)?), 4)),
        WIRELESS => wireless(bytes, 0, false),
        // Address family, SPI, flags.
        ENC => Ok((Layer::Ip, 12)),
        // Its length, without the bytes that fill it up to whole words.
        PFLOG => Ok((Layer::Ip, usize::from(byte(bytes, 0)?).next_multiple_of(4))),
        RADIOTAP => wireless(bytes, usize::from(half(bytes, 2)?.swap_bytes()), is_padded(bytes)?),
        NFLOG => logged(bytes),
        // A global route header, EtherType, two bytes of nothing.
        IPOIB => Ok((Layer::Type(half(bytes, 40)?), 44)),
        PKTAP => apple(bytes),
        _ => Err(Skip::LinkType),
    }
}

/// A number of 32 bits, the lowest byte first.
fn little(bytes: &[u8], at: usize) -> Result<u32, Skip> {
    let low = half(bytes, at)?.swap_bytes();
    Ok(u32::from(half(bytes, at + 2)?.swap_bytes()) << 16 | u32::from(low))
}

/// Whether the header of the frame behind this radiotap header is filled up to whole words.
fn is_padded(bytes: &[u8]) -> Result<bool, Skip> {
    let mut at = 4;
    let present = little(bytes, at)?;
    // Words of presence go on while their highest bit is set.
    while little(bytes, at)? >> 31 != 0 {
        at += 4;
    }
    at += 4;
    if present & 1 != 0 {
        at = at.next_multiple_of(8) + 8; // the time
    }
    Ok(present & 2 != 0 && byte(bytes, at)? & 0x20 != 0)
}

/// A frame of IEEE 802.11 at `at`: one with data that is not encrypted and not an aggregate (§9.2, §9.3.2).
fn wireless(bytes: &[u8], at: usize, padded: bool) -> Result<(Layer, usize), Skip> {
    let (control, flags) = (byte(bytes, at)?, byte(bytes, at + 1)?);
    let (is_data, is_null, has_quality) = (control >> 2 & 3 == 2, control & 0x40 != 0, control & 0x80 != 0);
    if !is_data || is_null || flags & 0x40 != 0 {
        return Err(Skip::NotIp);
    }
    let mut header = if flags & 3 == 3 { 30 } else { 24 };
    if has_quality {
        if byte(bytes, at + header)? & 0x80 != 0 {
            return Err(Skip::NotIp);
        }
        header += if flags & 0x80 != 0 { 6 } else { 2 };
    }
    if padded {
        header = header.next_multiple_of(4);
    }
    Ok((Layer::Llc, at + header))
}

/// A packet that Linux's netfilter logged: attributes of length and type, in the order of the machine that wrote them.
fn logged(bytes: &[u8]) -> Result<(Layer, usize), Skip> {
    const PAYLOAD: u16 = 9;
    let mut at = 4;
    loop {
        let (length, kind) = (half(bytes, at)?, half(bytes, at + 2)?);
        // Types are below 256, with flags in the two highest bits: their zero byte shows the order.
        let (length, kind) = if kind & 0xff == 0 { (length.swap_bytes(), kind.swap_bytes()) } else { (length, kind) };
        if length < 4 {
            return Err(Skip::NotIp);
        }
        if kind & 0x3fff == PAYLOAD {
            return Ok((Layer::Ip, at + 4));
        }
        at += usize::from(length).next_multiple_of(4);
    }
}

/// What macOS puts before a frame: the length of that, and the link type of the frame.
fn apple(bytes: &[u8]) -> Result<(Layer, usize), Skip> {
    let length = little(bytes, 0)? as usize;
    let link = u16::try_from(little(bytes, 8)?).map_err(|_| Skip::LinkType)?;
    if length < 12 || link == PKTAP {
        return Err(Skip::NotIp);
    }
    let frame = bytes.get(length..).ok_or(Skip::Short)?;
    let (layer, at) = match link {
        12 | 14 | 101 | 228 | 229 => (Layer::Ip, 0),
        _ => first(link, frame)?,
    };
    Ok((layer, length + at))
}
