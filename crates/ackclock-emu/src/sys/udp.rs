//! Datagrams with their ECN field.

use super::tcp::option;
use ackclock_core::packet::{Ecn, Family};
use rustix::fd::{AsFd, AsRawFd};
use std::io;
use std::mem::{size_of, zeroed};

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// Bytes of payload, also of one that the buffer was too short for.
    pub bytes: usize,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// What `socket` sends has the ECN field `ecn`.
///
/// # Errors
/// The kernel does not take it.
pub fn send_ecn(socket: &impl AsFd, family: Family, ecn: Ecn) -> io::Result<()> {
    match family {
        Family::V4 => option(socket, libc::IPPROTO_IP, libc::IP_TOS, ecn as i32),
        Family::V6 => option(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, ecn as i32),
    }
}

/// From now on the kernel says with what `socket` receives which ECN field it has.
///
/// # Errors
/// The kernel does not know this.
pub fn tell_ecn(socket: &impl AsFd, family: Family) -> io::Result<()> {
    match family {
        Family::V4 => option(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1),
        Family::V6 => option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1),
    }
}

/// The next datagram that has come to `socket`; its first bytes are written to `into`.
///
/// # Errors
/// None is there ([`io::ErrorKind::WouldBlock`]), or the socket failed.
pub fn receive(socket: &impl AsFd, into: &mut [u8]) -> io::Result<Came> {
    let mut control = [0u64; 8];
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: a msghdr is integers and pointers, for which zeros are values.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = (control.len() * size_of::<u64>()) as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: the descriptor is open; the message points to one part, which is all of `into`, and to `control` with its whole
    // length, aligned for headers of control messages; all of them outlive the call.
    let read = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
    let bytes = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let mut ecn = Ecn::NotEct;
    // SAFETY: the kernel has written whole control messages and their length to `message`; these functions step over them
    // within it, and the first byte of the data of both kinds read here is there: a byte, or an int whose low byte comes first
    // on the little-endian machines that this crate builds for.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let of = ((*header).cmsg_level, (*header).cmsg_type);
            if matches!(of, (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)) {
                ecn = Ecn::of_bits(*libc::CMSG_DATA(header));
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(Came { bytes, ecn })
}
