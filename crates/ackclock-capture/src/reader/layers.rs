//! What stands before IP in a frame: headers of links, tags, tunnels.

use super::{Skip, overlays, wrapped};
use ackclock_core::packet::Address;
use ackclock_core::packet::wire::{Ip, protocol};

/// Most VLAN tags and MPLS labels of a packet.
const MOST_TAGS: u8 = 4;
/// Most tunnels.
const MOST_TUNNELS: u8 = 4;

const ETHERNET: u16 = 1;
const FDDI_HEADER: usize = 13;
const SLL_HEADER: usize = 16;
const SLL2_HEADER: usize = 20;

mod ether {
    pub const IPV4: u16 = 0x0800;
    pub const BRIDGED: u16 = 0x6558;
    pub const VLAN: u16 = 0x8100;
    pub const IPV6: u16 = 0x86dd;
    pub const PPP: u16 = 0x880b;
    pub const MPLS: u16 = 0x8847;
    pub const MPLS_UPSTREAM: u16 = 0x8848;
    pub const PPPOE_SESSION: u16 = 0x8864;
    pub const QINQ: u16 = 0x88a8;
    pub const ERSPAN: [u16; 2] = [0x88be, 0x22eb];
    pub const OLDER_QINQ: [u16; 2] = [0x9100, 0x9200];
    /// Numbers below are lengths (IEEE 802.3).
    pub const LEAST: u16 = 0x0600;
    /// The frame is one of IEEE 802.2, in Linux's cooked header.
    pub const LLC: u16 = 4;
}

/// The tags and tunnels that a packet is in, as a number that is the same for the same ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stack {
    mixed: u64,
    tags: u8,
    tunnels: u8,
}

impl Stack {
    #[cold]
    pub(super) fn mix(&mut self, word: u64) {
        let product = u128::from(self.mixed ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.mixed = (product as u64 ^ (product >> 64) as u64).wrapping_add(1);
    }

    fn tag(&mut self, kind: u16, number: u32) -> Result<(), Skip> {
        self.tags += 1;
        self.mix(u64::from(kind) << 32 | u64::from(number));
        if self.tags > MOST_TAGS { Err(Skip::Tags) } else { Ok(()) }
    }

    fn tunnel(&mut self) -> Result<(), Skip> {
        self.tunnels += 1;
        if self.tunnels > MOST_TUNNELS { Err(Skip::Tunnels) } else { Ok(()) }
    }

    fn address(&mut self, address: &Address) {
        match address {
            Address::V4(octets) => self.mix(u64::from(u32::from_be_bytes(*octets))),
            Address::V6(octets) => {
                let whole = u128::from_be_bytes(*octets);
                self.mix((whole >> 64) as u64);
                self.mix(whole as u64);
            }
        }
    }

    /// 0 if there are none; never a number that the table of connections has a use of its own for.
    #[inline]
    pub fn digest(&self) -> u32 {
        if self.tags == 0 && self.tunnels == 0 {
            return 0;
        }
        ((self.mixed >> 34) as u32 & 0x3fff_ffff) + 1
    }
}

/// What comes next in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layer {
    Ethernet,
    Llc,
    Ppp,
    /// What an EtherType says.
    Type(u16),
    Ip,
}

/// The number at `at`.
#[inline]
pub(super) fn half(bytes: &[u8], at: usize) -> Result<u16, Skip> {
    match bytes.get(at..at + 2) {
        Some(&[a, b]) => Ok(u16::from_be_bytes([a, b])),
        _ => Err(Skip::Short),
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> Result<u32, Skip> {
    Ok(u32::from(half(bytes, at)?) << 16 | u32::from(half(bytes, at + 2)?))
}

pub(super) fn byte(bytes: &[u8], at: usize) -> Result<u8, Skip> {
    bytes.get(at).copied().ok_or(Skip::Short)
}

/// Where in a frame of this link type IP begins.
#[inline]
pub fn network(link: u16, bytes: &[u8], stack: &mut Stack) -> Result<usize, Skip> {
    match (link, bytes.get(12..14)) {
        // Nearly every frame.
        (ETHERNET, Some([8, 0] | [0x86, 0xdd])) => Ok(14),
        (12 | 14 | 101 | 228 | 229, _) => Ok(0),
        _ => {
            let (layer, at) = first(link, bytes)?;
            behind(layer, at, bytes, stack)
        }
    }
}

/// What a frame of this link type begins with.
pub(super) fn first(link: u16, bytes: &[u8]) -> Result<(Layer, usize), Skip> {
    Ok(match link {
        0 | 108 => {
            // The number of the address family, in the order of whatever machine wrote it.
            let family = word(bytes, 0)?;
            match family.min(family.swap_bytes()) {
                2 | 10 | 23 | 24 | 28 | 30 => (Layer::Ip, 4),
                _ => return Err(Skip::NotIp),
            }
        }
        ETHERNET => (Layer::Ethernet, 0),
        9 => (Layer::Ppp, 0),
        50 => match half(bytes, 0)? {
            // Cisco's framing: unicast or multicast, then an EtherType.
            0x0f00 | 0x8f00 => (Layer::Type(half(bytes, 2)?), 4),
            _ => (Layer::Ppp, 0),
        },
        51 => (Layer::Type(ether::PPPOE_SESSION), 0),
        10 => (Layer::Llc, FDDI_HEADER),
        113 => (cooked(half(bytes, 14)?), SLL_HEADER),
        276 => (cooked(half(bytes, 0)?), SLL2_HEADER),
        _ => wrapped::inside(link, bytes)?,
    })
}

fn cooked(kind: u16) -> Layer {
    if kind == ether::LLC { Layer::Llc } else { Layer::Type(kind) }
}

/// Steps over headers until IP begins.
#[cold]
fn behind(mut layer: Layer, mut at: usize, bytes: &[u8], stack: &mut Stack) -> Result<usize, Skip> {
    // Every step goes on by at least a byte or ends, and what may repeat is counted.
    loop {
        layer = match layer {
            Layer::Ip => return Ok(at),
            Layer::Ethernet => {
                let kind = half(bytes, at + 12)?;
                at += 14;
                if kind < ether::LEAST { Layer::Llc } else { Layer::Type(kind) }
            }
            Layer::Llc => match (half(bytes, at)?, byte(bytes, at + 2)?) {
                (0xaaaa, 3) => {
                    // SNAP; an organisation other than 0 (and the bridges' 0000f8) numbers its own protocols.
                    let organisation = word(bytes, at + 2)? & 0xff_ffff;
                    if organisation != 0 && organisation != 0xf8 {
                        return Err(Skip::NotIp);
                    }
                    at += 8;
                    Layer::Type(half(bytes, at - 2)?)
                }
                (0x0606, 3) => {
                    at += 3;
                    Layer::Ip
                }
                _ => return Err(Skip::NotIp),
            },
            Layer::Ppp => {
                if half(bytes, at)? == 0xff03 {
                    at += 2;
                }
                // An odd first byte is all of the number (RFC 1661 §6.5).
                let short = byte(bytes, at)?;
                let kind = if short & 1 != 0 { u16::from(short) } else { half(bytes, at)? };
                at += 2 - usize::from(short & 1);
                match kind {
                    0x0021 | 0x0057 => Layer::Ip,
                    0x0281 => Layer::Type(ether::MPLS),
                    0x0283 => Layer::Type(ether::MPLS_UPSTREAM),
                    _ => return Err(Skip::NotIp),
                }
            }
            Layer::Type(kind) => match kind {
                ether::IPV4 | ether::IPV6 => Layer::Ip,
                ether::VLAN | ether::QINQ => tagged(kind, &mut at, bytes, stack)?,
                kind if ether::OLDER_QINQ.contains(&kind) => tagged(kind, &mut at, bytes, stack)?,
                ether::PPPOE_SESSION => {
                    // Version and type 1, a code of 0 for data, the session, a length.
                    if half(bytes, at)? != 0x1100 {
                        return Err(Skip::NotIp);
                    }
                    stack.tunnel()?;
                    stack.mix(u64::from(kind) << 32 | u64::from(half(bytes, at + 2)?));
                    at += 6;
                    Layer::Ppp
                }
                ether::MPLS | ether::MPLS_UPSTREAM => {
                    let entry = word(bytes, at)?;
                    stack.tag(ether::MPLS, entry >> 12)?;
                    at += 4;
                    match entry & 0x100 {
                        0 => Layer::Type(kind),
                        // What is below the last label is told by its first four bits.
                        _ if matches!(byte(bytes, at)? >> 4, 4 | 6) => Layer::Ip,
                        _ => return Err(Skip::NotIp),
                    }
                }
                _ => return Err(Skip::NotIp),
            },
        }
    }
}

fn tagged(kind: u16, at: &mut usize, bytes: &[u8], stack: &mut Stack) -> Result<Layer, Skip> {
    // Priority changes within a connection; the VLAN does not.
    stack.tag(kind, u32::from(half(bytes, *at)? & 0xfff))?;
    *at += 4;
    let next = half(bytes, *at - 2)?;
    Ok(if next < ether::LEAST { Layer::Llc } else { Layer::Type(next) })
}

/// Where in a packet that carries another one that begins; nothing if it carries none.
#[inline]
pub fn tunnelled(ip: &Ip<'_>, stack: &mut Stack) -> Result<Option<usize>, Skip> {
    match ip.protocol {
        protocol::IPV4 | protocol::IPV6 | protocol::GRE => inner(ip, stack).map(Some),
        protocol::UDP => overlaid(ip, stack),
        _ => Ok(None),
    }
}

#[cold]
fn overlaid(ip: &Ip<'_>, stack: &mut Stack) -> Result<Option<usize>, Skip> {
    if ip.fragment.is_some_and(|fragment| fragment.offset > 0) {
        return Ok(None);
    }
    let Some((layer, at)) = overlays::in_udp(ip.payload, stack) else { return Ok(None) };
    stack.tunnel()?;
    stack.address(&ip.source);
    stack.address(&ip.destination);
    Ok(Some(ip.header_len + behind(layer, at, ip.payload, stack)?))
}

#[cold]
fn inner(ip: &Ip<'_>, stack: &mut Stack) -> Result<usize, Skip> {
    if ip.fragment.is_some_and(|fragment| fragment.offset > 0) {
        return Err(Skip::Fragment);
    }
    stack.tunnel()?;
    stack.mix(u64::from(ip.protocol));
    stack.address(&ip.source);
    stack.address(&ip.destination);
    if ip.protocol != protocol::GRE {
        return Ok(ip.header_len);
    }
    let bytes = ip.payload;
    let flags = half(bytes, 0)?;
    let kind = half(bytes, 2)?;
    let has = |flag: u16| usize::from(flags & flag != 0);
    let at = match flags & 7 {
        // RFC 2784 and 2890: checksum or (RFC 1701) routing, key, number. Routes themselves are not followed.
        0 if flags & 0x4000 == 0 => {
            if flags & 0x2000 != 0 {
                stack.mix(u64::from(word(bytes, 4 + 4 * has(0x8000))?));
            }
            4 + 4 * (has(0x8000) + has(0x2000) + has(0x1000))
        }
        // RFC 2637: length and call, number, acknowledgment.
        1 => {
            stack.mix(u64::from(half(bytes, 6)?));
            8 + 4 * (has(0x1000) + has(0x0080))
        }
        _ => return Err(Skip::NotIp),
    };
    let (layer, at) = match kind {
        ether::PPP => (Layer::Ppp, at),
        ether::BRIDGED => (Layer::Ethernet, at),
        kind if ether::ERSPAN.contains(&kind) => {
            (Layer::Ethernet, overlays::mirrored(kind, flags & 0x1000 != 0, at, bytes)?)
        }
        kind => (Layer::Type(kind), at),
    };
    Ok(ip.header_len + behind(layer, at, bytes, stack)?)
}
