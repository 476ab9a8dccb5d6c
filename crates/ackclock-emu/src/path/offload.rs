//! Super-packets: what a host with segmentation offload sends at a time is split into the packets that a line would carry, and
//! packets that leave together are joined again for the host that receives them.
//!
//! The headers follow what network cards do (Linux `Documentation/networking/segmentation-offloads.rst`): sequence numbers and
//! the identification of version 4 count up, FIN and PSH stay with the last segment, CWR with the first (RFC 3168 §6.1.2), all
//! other fields and the options are the same in all. Joined is only what splitting gives back to the byte.

use ackclock_core::packet::Address;
use ackclock_core::packet::wire::{Ip, Sum, Tcp, flags, protocol};

/// What comes with a packet from a host (`struct virtio_net_hdr` of the Virtio specification 1.2, §5.1.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Payload of a segment; 0: it is one packet.
    pub segment: u16,
    /// Where the checksum begins that is to be completed, and where behind that it stands; none: it is complete.
    pub partial: Option<(u16, u16)>,
    /// The checksum need not be looked at by who receives it.
    pub sound: bool,
    /// Bytes of all headers of what is to be split.
    pub headers: u16,
}

/// Bytes of `struct virtio_net_hdr`.
pub const HEADER: usize = 10;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_ECN: u8 = 0x80;
/// Where the checksum stands in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// Where the flags stand in a TCP header that a mark, the end of the stream or a push changes.
const TCP_FLAGS: usize = 13;
/// Largest packet of IP.
const LARGEST: usize = 65_535;
/// Segments that are joined at most: more would not fit the slices of a call.
const MOST: usize = 60;

impl Offload {
    /// What `header` says; words are in the order of this computer.
    pub fn read(header: &[u8; HEADER]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let partial = (header[0] & NEEDS_CSUM != 0).then(|| (word(6), word(8)));
        let split = header[1] & !GSO_ECN != GSO_NONE;
        Offload {
            segment: if split { word(4) } else { 0 },
            partial,
            sound: header[0] & DATA_VALID != 0,
            headers: word(2),
        }
    }

    /// The header that says it of `packet`.
    pub fn write(&self, packet: &[u8]) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let mut word = |at: usize, value: u16| header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        word(2, self.headers);
        word(4, self.segment);
        let (start, offset) = self.partial.unwrap_or_default();
        word(6, start);
        word(8, offset);
        header[0] = if self.partial.is_some() { NEEDS_CSUM } else { 0 } | if self.sound { DATA_VALID } else { 0 };
        if self.segment > 0 {
            let four = packet.first().is_some_and(|b| b >> 4 == 4);
            header[1] = if four { GSO_TCPV4 } else { GSO_TCPV6 };
        }
        header
    }
}

/// Completes a checksum of which the field holds the sum of the pseudo header. Whether there was room for it.
pub fn complete(packet: &mut [u8], (start, offset): (u16, u16)) -> bool {
    let Some(covered) = packet.get_mut(usize::from(start)..) else { return false };
    let at = usize::from(offset);
    if covered.len() < at + 2 {
        return false;
    }
    // A datagram whose sum is zero says so by ones (RFC 768); of a segment both are the same number.
    let sum = match Sum::default().octets(covered).checksum() {
        0 => 0xffff,
        sum => sum,
    };
    covered[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// A super-packet that is being split.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    whole: &'a [u8],
    /// Bytes of the IP headers, and with those of TCP.
    ip: usize,
    headers: usize,
    segment: usize,
    ends: (Address, Address),
}

impl<'a> Split<'a> {
    /// Of `whole` into segments of `segment` bytes; none if it is no TCP segment that can be split.
    pub fn new(whole: &'a [u8], segment: u16) -> Option<Split<'a>> {
        let ip = Ip::parse(whole).ok()?;
        if ip.protocol != protocol::TCP || ip.fragment.is_some() || segment == 0 || !ip.is_whole() {
            return None;
        }
        let whole = whole.get(..ip.header_len + ip.payload.len())?;
        let tcp = Tcp::parse(ip.payload).ok()?;
        let headers = ip.header_len + tcp.header_len;
        let fits = tcp.header_len <= ip.payload.len() && headers + usize::from(segment) <= LARGEST;
        let ends = (ip.source, ip.destination);
        fits.then_some(Split { whole, ip: ip.header_len, headers, segment: segment.into(), ends })
    }

    /// How many segments it has.
    pub fn segments(&self) -> usize {
        (self.whole.len() - self.headers).div_ceil(self.segment).max(1)
    }

    /// Writes segment number `i` to the begin of `out`; its length, or nothing if there is no room for it.
    pub fn write(&self, i: usize, out: &mut [u8]) -> Option<usize> {
        let from = (self.headers + i * self.segment).min(self.whole.len());
        let to = (from + self.segment).min(self.whole.len());
        let len = self.headers + to - from;
        let out = out.get_mut(..len)?;
        out[..self.headers].copy_from_slice(&self.whole[..self.headers]);
        out[self.headers..].copy_from_slice(&self.whole[from..to]);
        let (ip, tcp) = out.split_at_mut(self.ip);
        let carried = tcp.len();
        if ip[0] >> 4 == 4 {
            let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(i as u16);
            ip[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            ip[4..6].copy_from_slice(&id.to_be_bytes());
            ip[10..12].fill(0);
            let sum = Sum::default().octets(ip).checksum();
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            ip[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
        }
        let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add((i * self.segment) as u32);
        tcp[4..8].copy_from_slice(&seq.to_be_bytes());
        if to < self.whole.len() {
            tcp[TCP_FLAGS] &= !((flags::FIN | flags::PSH) as u8);
        }
        if i > 0 {
            tcp[TCP_FLAGS] &= !(flags::CWR as u8);
        }
        tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].fill(0);
        let pseudo = Sum::pseudo(&self.ends.0, &self.ends.1, protocol::TCP, carried as u32);
        let sum = pseudo.octets(tcp).checksum();
        tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        Some(len)
    }
}

/// Packets for one host that are being joined.
#[derive(Clone, Copy, Debug)]
pub struct Joining {
    /// Bytes of the IP headers, and with those of TCP.
    ip: usize,
    headers: usize,
    segment: usize,
    payload: usize,
    count: usize,
    open: bool,
    ends: (Address, Address),
}

impl Joining {
    /// That `first` begins; none if nothing can be joined to it.
    pub fn new(first: &[u8]) -> Option<Joining> {
        let ip = Ip::parse(first).ok()?;
        let plain = match ip.source {
            Address::V4(_) => ip.header_len == 20,
            Address::V6(_) => ip.header_len == 40,
        };
        if !plain
            || ip.protocol != protocol::TCP
            || ip.fragment.is_some()
            || ip.header_len + ip.payload.len() != first.len()
        {
            return None;
        }
        let tcp = Tcp::parse(ip.payload).ok().filter(|tcp| tcp.header_len < ip.payload.len() && tcp.urgent == 0)?;
        let only = tcp.flags & !(flags::ECE | flags::AE | flags::PSH) == flags::ACK;
        let segment = ip.payload.len() - tcp.header_len;
        only.then_some(Joining {
            ip: ip.header_len,
            headers: ip.header_len + tcp.header_len,
            segment,
            payload: segment,
            count: 1,
            open: !tcp.has(flags::PSH),
            ends: (ip.source, ip.destination),
        })
    }

    /// How many packets it has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Where in each packet its payload begins.
    pub fn headers(&self) -> usize {
        self.headers
    }

    /// Adds `next`, if what it makes with those before, of which `first` was the first, is split into just these again.
    pub fn takes(&mut self, first: &[u8], next: &[u8]) -> bool {
        let most = self.headers + self.payload + self.segment <= LARGEST && self.count < MOST;
        let bytes = next.len().saturating_sub(self.headers);
        if !self.open || !most || bytes == 0 || bytes > self.segment || first.len() < self.headers {
            return false;
        }
        let (a, b) = (&first[..self.headers], &next[..self.headers]);
        let (ip_a, tcp_a) = a.split_at(self.ip);
        let (ip_b, tcp_b) = b.split_at(self.ip);
        let same_ip = if self.ip == 20 {
            let id = |ip: &[u8]| u16::from_be_bytes([ip[4], ip[5]]);
            // All but length, identification and checksum.
            let same = ip_a[..2] == ip_b[..2] && ip_a[6..10] == ip_b[6..10] && ip_a[12..] == ip_b[12..];
            same && id(ip_b) == id(ip_a).wrapping_add(self.count as u16)
        } else {
            ip_a[..4] == ip_b[..4] && ip_a[6..] == ip_b[6..]
        };
        let seq = |tcp: &[u8]| u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let push = flags::PSH as u8;
        let same_tcp = tcp_a[..4] == tcp_b[..4]
            && tcp_a[8..TCP_FLAGS] == tcp_b[8..TCP_FLAGS]
            && tcp_a[TCP_FLAGS] == tcp_b[TCP_FLAGS] & !push
            && tcp_a[14..TCP_CHECKSUM] == tcp_b[14..TCP_CHECKSUM]
            && tcp_a[18..] == tcp_b[18..]
            && seq(tcp_b) == seq(tcp_a).wrapping_add(self.payload as u32);
        if !same_ip || !same_tcp || !length_holds(ip_b, next.len()) {
            return false;
        }
        self.payload += bytes;
        self.count += 1;
        self.open = bytes == self.segment && tcp_b[TCP_FLAGS] & push == 0;
        true
    }

    /// The headers of all of them, of which `first` was the first and `last` the last, into the begin of `out`, and what the host
    /// is told of them. The checksum is a partial one.
    pub fn write(&self, (first, last): (&[u8], &[u8]), out: &mut [u8]) -> Option<Offload> {
        let out = out.get_mut(..self.headers)?;
        out.copy_from_slice(first.get(..self.headers)?);
        let len = self.headers + self.payload;
        let (ip, tcp) = out.split_at_mut(self.ip);
        tcp[TCP_FLAGS] = *last.get(self.ip + TCP_FLAGS)?;
        if self.ip == 20 {
            ip[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            ip[10..12].fill(0);
            let sum = Sum::default().octets(ip).checksum();
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            ip[4..6].copy_from_slice(&((len - self.ip) as u16).to_be_bytes());
        }
        let pseudo = !Sum::pseudo(&self.ends.0, &self.ends.1, protocol::TCP, (len - self.ip) as u32).checksum();
        tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&pseudo.to_be_bytes());
        Some(Offload {
            segment: self.segment as u16,
            partial: Some((self.ip as u16, TCP_CHECKSUM as u16)),
            sound: false,
            headers: self.headers as u16,
        })
    }
}

/// Whether the packet with this IP header says of itself that it has `len` bytes.
fn length_holds(ip: &[u8], len: usize) -> bool {
    let (at, more) = if ip[0] >> 4 == 4 { (2, 0) } else { (4, 40) };
    usize::from(u16::from_be_bytes([ip[at], ip[at + 1]])) + more == len
}
