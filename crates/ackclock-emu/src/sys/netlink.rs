//! What only rtnetlink(7) can set: how many segments a device takes at a time, and what a route says of its connections.

use ackclock_core::packet::Address;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use std::io;

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
const NLM_F_REQUEST: u16 = 1;
pub(super) const NLM_F_ACK: u16 = 4;
pub(super) const NLM_F_REPLACE: u16 = 0x100;
pub(super) const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;
pub(super) const RTM_NEWLINK: u16 = 16;
pub(super) const RTM_NEWROUTE: u16 = 24;
const IFLA_TXQLEN: u16 = 13;
const IFLA_GSO_MAX_SEGS: u16 = 40;
pub(super) const RTA_DST: u16 = 1;
pub(super) const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_QUICKACK: u16 = 15;
pub(super) const RT_TABLE_MAIN: u8 = 254;
pub(super) const RTPROT_STATIC: u8 = 4;
pub(super) const RT_SCOPE_LINK: u8 = 253;
pub(super) const RTN_UNICAST: u8 = 1;
pub(super) const AF_INET: u8 = 2;
pub(super) const AF_INET6: u8 = 10;

/// An attribute: length, type, value, padded to four bytes.
pub(super) fn attribute(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend((4 + value.len() as u16).to_ne_bytes());
    into.extend(kind.to_ne_bytes());
    into.extend(value);
    into.resize(into.len().next_multiple_of(4), 0);
}

/// A message: header and body.
pub(super) fn message(into: &mut Vec<u8>, kind: u16, flags: u16, body: &[u8]) {
    into.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    into.extend(kind.to_ne_bytes());
    into.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    into.extend([0; 8]);
    into.extend(body);
    into.resize(into.len().next_multiple_of(4), 0);
}

/// Asks the kernel for one thing and waits for its answer.
pub(super) fn ask(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    // Protocol 0 is that of routes and devices (NETLINK_ROUTE).
    let socket: OwnedFd = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut text = Vec::with_capacity(HEADER + body.len());
    message(&mut text, kind, NLM_F_ACK | flags, body);
    say(&socket, &text)
}

/// Sends messages, of which one at least asks for an answer, and waits for the first.
pub(super) fn say(socket: &OwnedFd, text: &[u8]) -> io::Result<()> {
    send(socket, text, SendFlags::empty())?;
    let mut answer = [0u8; 4096];
    let (bytes, _) = recv(socket, &mut answer, RecvFlags::empty())?;
    let kind = answer.get(4..6).filter(|_| bytes >= HEADER + 4).map(|k| u16::from_ne_bytes([k[0], k[1]]));
    let code = answer.get(HEADER..HEADER + 4).map_or(0, |c| i32::from_ne_bytes([c[0], c[1], c[2], c[3]]));
    match (kind, code) {
        (Some(NLMSG_ERROR), 0) => Ok(()),
        (Some(NLMSG_ERROR), code) => Err(Errno::from_raw_os_error(-code).into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of netlink that is none")),
    }
}

/// The device with this index takes `segments` segments at a time (none: as many as it likes), and keeps `queue` packets until they are read.
///
/// # Errors
/// The kernel does not do it.
pub fn device(index: u32, segments: Option<u32>, queue: u32) -> io::Result<()> {
    // struct ifinfomsg: family, padding, type, index, flags, change.
    let mut body = vec![0; 4];
    body.extend(index.to_ne_bytes());
    body.extend([0; 8]);
    attribute(&mut body, IFLA_TXQLEN, &queue.to_ne_bytes());
    if let Some(segments) = segments {
        attribute(&mut body, IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes());
    }
    ask(RTM_NEWLINK, 0, &body)
}

/// What a route says of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Segments of the window that they begin with.
    InitialWindow(u32),
    /// Every segment is acknowledged at once.
    QuickAcks,
}

impl Metric {
    fn of_kernel(self) -> (u16, u32) {
        match self {
            Metric::InitialWindow(segments) => (RTAX_INITCWND, segments),
            Metric::QuickAcks => (RTAX_QUICKACK, 1),
        }
    }
}

/// Of connections by the device with this index, of version 4 or 6, `metrics` hold.
///
/// # Errors
/// The kernel does not do it.
pub fn connections(index: u32, version_6: bool, metrics: &[Metric]) -> io::Result<()> {
    // The routes that the addresses of hosts have brought: 10.0.0.0/8, and fd00::/8.
    let destination = if version_6 { [vec![0xfd], vec![0; 15]].concat() } else { vec![10, 0, 0, 0] };
    // One bit longer than the route of the address, so that it goes before it, for either half of what there is.
    for half in [0u8, 0x80] {
        let mut network = destination.clone();
        network[1] = half;
        route(index, (&network, 9), metrics)?;
    }
    Ok(())
}

/// What is for `address` leaves by the device with this index, whatever other devices have; of such connections `metrics` hold.
///
/// # Errors
/// The kernel does not do it.
pub fn towards(index: u32, address: Address, metrics: &[Metric]) -> io::Result<()> {
    match address {
        Address::V4(octets) => route(index, (&octets, 32), metrics),
        Address::V6(octets) => route(index, (&octets, 128), metrics),
    }
}

/// A route to `network`, of which so many bits count.
fn route(index: u32, (network, bits): (&[u8], u8), metrics: &[Metric]) -> io::Result<()> {
    let version_6 = network.len() > 4;
    let (family, scope) = if version_6 { (AF_INET6, 0) } else { (AF_INET, RT_SCOPE_LINK) };
    // struct rtmsg: family, lengths of prefixes, service, table, protocol, scope, type, flags.
    let mut body = vec![family, bits, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, scope, RTN_UNICAST, 0, 0, 0, 0];
    attribute(&mut body, RTA_DST, network);
    attribute(&mut body, RTA_OIF, &index.to_ne_bytes());
    let mut list = Vec::new();
    for (kind, value) in metrics.iter().map(|metric| metric.of_kernel()) {
        attribute(&mut list, kind, &value.to_ne_bytes());
    }
    if !list.is_empty() {
        attribute(&mut body, RTA_METRICS, &list);
    }
    ask(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_their_length_is_not() {
        let mut body = Vec::new();
        attribute(&mut body, 7, &[1, 2, 3, 4, 5]);
        assert_eq!(body.len(), 12);
        assert_eq!(
            (body[..2].to_vec(), body[4..].to_vec()),
            (9u16.to_ne_bytes().to_vec(), vec![1, 2, 3, 4, 5, 0, 0, 0])
        );
    }
}
