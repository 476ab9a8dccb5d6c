//! What is asked of the system. All of the crate's `unsafe` is here.
//!
//! * [`clock`]: the time; [`waits`]: for a processor; [`realtime`]: priority, memory, slack; [`process`]: rights and limits
//! * [`namespace`]: hosts; [`tun`]: their devices; [`settings`]: what is written to files below `/proc/sys`
//! * [`netlink`]: what has no file; [`tcp`]: what the kernel says of connections; [`udp`]: datagrams with their marks; [`counters`]: of a host

pub mod clock;
pub mod counters;
pub mod namespace;
pub mod netlink;
pub mod process;
pub mod realtime;
pub mod settings;
pub mod tcp;
pub mod tun;
pub mod udp;
pub mod waits;

use ackclock_core::packet::Address;
use std::net::{IpAddr, SocketAddr};

/// `address` and `port` as the standard library has them.
pub fn socket_address(address: Address, port: u16) -> SocketAddr {
    SocketAddr::new(ip(address), port)
}

/// `address` as the standard library has it.
pub fn ip(address: Address) -> IpAddr {
    match address {
        Address::V4(octets) => IpAddr::from(octets),
        Address::V6(octets) => IpAddr::from(octets),
    }
}
