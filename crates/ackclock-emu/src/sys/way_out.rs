//! A way from a host into another network: a pair of devices, one in either (veth(4)), routes, and addresses that are hidden
//! behind others on the way (nf_tables).

use super::namespace::Namespace;
use super::netlink::{
    AF_INET, AF_INET6, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, RT_SCOPE_LINK, RT_TABLE_MAIN, RTA_DST, RTA_OIF,
    RTM_NEWLINK, RTM_NEWROUTE, RTN_UNICAST, RTPROT_STATIC, ask, attribute, message, say,
};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netlink, socket_with};
use std::io;

const NLM_F_EXCL: u16 = 0x200;
const RTM_NEWADDR: u16 = 20;
const IFF_UP: u32 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_F_NODAD: u8 = 2;
const RTA_GATEWAY: u16 = 5;
const NESTED: u16 = 0x8000;
/// Messages of nf_tables have the number of this part of netfilter above their own.
const NF_TABLES: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = 0;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
/// A table that is gone when the socket is by which it was made.
const OWNED: u32 = 2;
const POSTROUTING: u32 = 4;
/// Where sources are changed (NF_IP_PRI_NAT_SRC).
const SOURCES: u32 = 100;

/// Numbers of the devices: of one in a network that others have devices in too it is above theirs.
pub const INSIDE: u32 = 100;

/// One end's address of a version, the bits of its network, and that of the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// 4 or 16 octets.
    pub own: Vec<u8>,
    /// See `own`.
    pub other: Vec<u8>,
    /// Bits of the network, whole octets.
    pub bits: u8,
}

impl Side {
    fn family(&self) -> u8 {
        if self.own.len() == 4 { AF_INET } else { AF_INET6 }
    }
}

/// What a message about a device begins with (`struct ifinfomsg`).
fn device(index: u32, flags: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    [index, flags, flags].iter().for_each(|word| body.extend(word.to_ne_bytes()));
    body
}

/// Makes a pair of devices: `name` with number `index` in the calling thread's network, `out0` in `other`.
///
/// # Errors
/// The system does not allow it.
pub fn pair(name: &str, index: u32, other: &Namespace) -> io::Result<()> {
    // It cannot be up before it has a peer.
    let mut peer = device(INSIDE, 0);
    attribute(&mut peer, IFLA_IFNAME, b"out0\0");
    attribute(&mut peer, IFLA_NET_NS_FD, &(other.fd().as_raw_fd() as u32).to_ne_bytes());
    let (mut data, mut info, mut body) = (Vec::new(), Vec::new(), device(index, IFF_UP));
    attribute(&mut data, NESTED | VETH_INFO_PEER, &peer);
    attribute(&mut info, IFLA_INFO_KIND, b"veth\0");
    attribute(&mut info, NESTED | IFLA_INFO_DATA, &data);
    attribute(&mut body, IFLA_IFNAME, format!("{name}\0").as_bytes());
    attribute(&mut body, NESTED | IFLA_LINKINFO, &info);
    ask(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body)
}

/// The device with number `index`, or none: that inside, has the address of `side`; inside everything that has no other way goes
/// to the other end.
///
/// # Errors
/// The system does not allow it.
pub fn address(index: Option<u32>, side: &Side) -> io::Result<()> {
    let (family, number) = (side.family(), index.unwrap_or(INSIDE));
    let mut body = vec![family, side.bits, if family == AF_INET6 { IFA_F_NODAD } else { 0 }, 0];
    body.extend(number.to_ne_bytes());
    attribute(&mut body, IFA_LOCAL, &side.own);
    attribute(&mut body, IFA_ADDRESS, &side.own);
    ask(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body)?;
    ask(RTM_NEWLINK, 0, &device(number, IFF_UP))?;
    if index.is_some() {
        return Ok(());
    }
    towards(&[], Some(&side.other), number, family == AF_INET6)
}

/// In the calling thread's network, what is for the network that begins with these octets goes to the device with number `index`,
/// to be sent on by `gateway` if there is one.
///
/// # Errors
/// The system does not allow it.
pub fn towards(network: &[u8], gateway: Option<&[u8]>, index: u32, version_6: bool) -> io::Result<()> {
    let (family, length) = if version_6 { (AF_INET6, 16) } else { (AF_INET, 4) };
    let scope = if version_6 || gateway.is_some() { 0 } else { RT_SCOPE_LINK };
    let bits = 8 * network.len() as u8;
    let mut body = vec![family, bits, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, scope, RTN_UNICAST, 0, 0, 0, 0];
    if bits > 0 {
        let mut whole = network.to_vec();
        whole.resize(length, 0);
        attribute(&mut body, RTA_DST, &whole);
    }
    if let Some(gateway) = gateway {
        attribute(&mut body, RTA_GATEWAY, gateway);
    }
    attribute(&mut body, RTA_OIF, &index.to_ne_bytes());
    ask(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &body)
}

fn nested(into: &mut Vec<u8>, kind: u16, with: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    with(&mut inner);
    attribute(into, NESTED | kind, &inner);
}

fn word(into: &mut Vec<u8>, kind: u16, value: u32) {
    attribute(into, kind, &value.to_be_bytes());
}

/// An expression of a rule.
fn expression(into: &mut Vec<u8>, name: &str, with: impl FnOnce(&mut Vec<u8>)) {
    nested(into, 1, |element| {
        attribute(element, 1, format!("{name}\0").as_bytes());
        nested(element, 2, with);
    });
}

/// In the calling thread's network, what comes from the network that begins with these octets of an address of version 4 or 6
/// leaves with the address of the device by which it leaves. This ends with what is returned.
///
/// # Errors
/// The system cannot do it, or does not allow it.
pub fn hide(version_6: bool, network: &[u8]) -> io::Result<OwnedFd> {
    let (family, offset) = if version_6 { (AF_INET6, 8) } else { (AF_INET, 12) };
    let name = format!("ackclock-{}\0", std::process::id());
    let head = |resource: u16| vec![family, 0, (resource >> 8) as u8, resource as u8];
    let mut text = Vec::new();
    message(&mut text, BATCH_BEGIN, 0, &[0, 0, 0, NF_TABLES as u8]);
    let mut table = head(0);
    attribute(&mut table, 1, name.as_bytes());
    word(&mut table, 2, OWNED);
    message(&mut text, NF_TABLES << 8 | NEW_TABLE, NLM_F_CREATE, &table);
    let mut chain = head(0);
    attribute(&mut chain, 1, name.as_bytes());
    attribute(&mut chain, 3, b"leaving\0");
    nested(&mut chain, 4, |hook| {
        word(hook, 1, POSTROUTING);
        word(hook, 2, SOURCES);
    });
    attribute(&mut chain, 7, b"nat\0");
    message(&mut text, NF_TABLES << 8 | NEW_CHAIN, NLM_F_CREATE, &chain);
    let mut rule = head(0);
    attribute(&mut rule, 1, name.as_bytes());
    attribute(&mut rule, 2, b"leaving\0");
    nested(&mut rule, 4, |list| {
        expression(list, "payload", |of| {
            // Into the first register, from the network header, the begin of the source's address.
            for (kind, value) in [(1, 1), (2, 1), (3, offset), (4, network.len() as u32)] {
                word(of, kind, value);
            }
        });
        expression(list, "cmp", |of| {
            word(of, 1, 1);
            word(of, 2, 0);
            nested(of, 3, |data| attribute(data, 1, network));
        });
        expression(list, "masq", |_| {});
    });
    message(&mut text, NF_TABLES << 8 | NEW_RULE, NLM_F_CREATE | NLM_F_ACK, &rule);
    message(&mut text, BATCH_END, 0, &[0, 0, 0, NF_TABLES as u8]);
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::NETFILTER))?;
    say(&socket, &text)?;
    Ok(socket)
}
