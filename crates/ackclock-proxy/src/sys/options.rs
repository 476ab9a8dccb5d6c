//! Options of sockets that have no other door, and what their queues hold (tcp(7), ip(7), socket(7)).

use rustix::fd::{AsFd, AsRawFd};
use std::io;
use std::mem::size_of_val;
use std::time::Duration;

/// An option with a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Unsent bytes beyond which the socket takes no more (`TCP_NOTSENT_LOWAT`).
    UnsentLowWater,
    /// Bytes a second at which it sends at most (`SO_MAX_PACING_RATE`).
    PacingRate,
    /// It may have an address of others: connections to them are its own (`IP_TRANSPARENT`).
    Transparent4,
    /// The same of version 6.
    Transparent6,
    /// How many connections whose SYN has data may be there before their handshake is done (`TCP_FASTOPEN`).
    FastOpenQueue,
    /// The first bytes go with the SYN, once there are some (`TCP_FASTOPEN_CONNECT`).
    FastOpenConnect,
}

/// Sets `what` of `socket`.
///
/// # Errors
/// The kernel does not take the value.
pub fn set(socket: &impl AsFd, what: Setting, value: u64) -> io::Result<()> {
    let small = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
    match what {
        Setting::UnsentLowWater => option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &small),
        Setting::PacingRate => option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &value),
        Setting::Transparent4 => option(socket, libc::SOL_IP, libc::IP_TRANSPARENT, &small),
        Setting::Transparent6 => option(socket, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, &small),
        Setting::FastOpenQueue => option(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &small),
        Setting::FastOpenConnect => option(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, &small),
    }
}

/// A number that the kernel reads: plain, without padding.
pub trait Plain: Copy {}
impl Plain for libc::c_int {}
impl Plain for u64 {}

fn option<T: Plain>(socket: &impl AsFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the descriptor is open; the pointer is to a plain number that outlives the call, and `length` is its size.
    let said =
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), length) };
    match said {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the kernel has of `what` for `socket`, whose value is a `T`.
#[cfg(test)]
pub fn get<T: Plain + Default>(socket: &impl AsFd, level: i32, name: i32) -> T {
    let mut value = T::default();
    let mut length = size_of_val(&value) as libc::socklen_t;
    let to = std::ptr::from_mut(&mut value).cast();
    // SAFETY: the descriptor is open; the kernel writes at most `length` bytes, which is the size of the plain number at `to`.
    let said = unsafe { libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, to, &raw mut length) };
    assert_eq!((said, length as usize), (0, size_of_val(&value)), "{}", io::Error::last_os_error());
    value
}

fn asked(socket: &impl AsFd, what: libc::Ioctl) -> u64 {
    let mut found: libc::c_int = 0;
    // SAFETY: the descriptor is open; all requests of this file write one int, to which the pointer is.
    let said = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), what, &raw mut found) };
    if said == 0 { found.max(0) as u64 } else { 0 }
}

/// Bytes that `socket` was given and the other end has not acknowledged; a FIN counts as one.
pub fn unacknowledged(socket: &impl AsFd) -> u64 {
    asked(socket, libc::TIOCOUTQ as libc::Ioctl)
}

/// Bytes that have come in order and were not read, up to urgent data.
pub fn unread(socket: &impl AsFd) -> u64 {
    asked(socket, libc::FIONREAD as libc::Ioctl)
}

/// Whether the next byte is an urgent one (RFC 6093): nothing is spliced beyond it.
pub fn at_urgent(socket: &impl AsFd) -> bool {
    const SIOCATMARK: libc::Ioctl = 0x8905; // linux/sockios.h
    asked(socket, SIOCATMARK) == 1
}

/// Closing `socket` resets the connection from now on, and what it has not sent is given up.
pub fn reset_when_closed(socket: &impl AsFd) {
    // A socket that is not connected any more refuses, and has nothing left to reset.
    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
