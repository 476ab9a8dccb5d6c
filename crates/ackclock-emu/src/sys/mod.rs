//! What is asked of the system. All of the crate's `unsafe` is here.
//!
//! * [`clock`]: the time; [`waits`]: for a processor; [`realtime`]: priority, memory, slack; [`process`]: rights and limits
//! * [`namespace`]: hosts; [`tun`]: their devices; [`settings`]: what is written to files below `/proc/sys`
//! * [`signals`], [`terminal`], [`mounts`]: of programs that a user starts in a host
//! * [`netlink`]: what has no file; [`way_out`]: from a host into another network; [`tcp`]: what the kernel says of connections; [`udp`]: datagrams with their marks; [`counters`]: of a host
//! * [`guest`]: of the kernel of a guest; [`host_files`]: what it sees of the computer's files

pub mod clock;
pub mod counters;
pub mod guest;
pub mod host_files;
pub mod mounts;
pub mod namespace;
pub mod netlink;
pub mod process;
pub mod realtime;
pub mod settings;
pub mod signals;
pub mod tcp;
pub mod terminal;
pub mod tun;
pub mod udp;
pub mod waits;
pub mod way_out;

use ackclock_core::packet::Address;
use rustix::fd::{FromRawFd, OwnedFd};
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

/// The descriptor that this process was started with under this number, from which on it is the caller's.
///
/// # Errors
/// It is none.
pub fn inherited(number: &str) -> Result<OwnedFd, String> {
    let wrong = || format!("{number}: give the number of an open descriptor");
    let raw: i32 = number.parse().ok().filter(|n| *n > 2).ok_or_else(wrong)?;
    // SAFETY: the descriptor is open, or this returns; nobody else in this process has one that was open when it started, and
    // what was asked for by number is asked for once.
    let fd = unsafe {
        if libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) < 0 {
            return Err(wrong());
        }
        OwnedFd::from_raw_fd(raw)
    };
    Ok(fd)
}
