//! What the kernel says of a TCP connection (`TCP_INFO`) to the end that receives.

use rustix::fd::{AsFd, AsRawFd};
use std::io;

/// `struct tcp_info` of Linux 6.12; an older kernel fills a part.
const SIZE: usize = 248;

/// In the kernel's words: times in microseconds, windows in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Smoothed round trip of what this end sent: its handshake and requests.
    pub rtt: u32,
    /// The shortest of them.
    pub min_rtt: u32,
    /// Smoothed round trip of what comes, by its timestamps or windows; 0: not known yet.
    pub rcv_rtt: u32,
    /// Segments with data that came.
    pub data_segs_in: u32,
    /// Of them those that came out of order; none of a kernel before 5.4.
    pub out_of_order: Option<u32>,
    /// The window that this end offers; none of a kernel before 6.2.
    pub rcv_wnd: Option<u32>,
    /// Payload that came.
    pub bytes_received: u64,
}

/// What the kernel says of the connection of `socket`.
///
/// # Errors
/// It is no TCP socket.
pub fn info(socket: &impl AsFd) -> io::Result<Info> {
    let mut bytes = [0u8; SIZE];
    let mut length = SIZE as libc::socklen_t;
    // SAFETY: the descriptor is open; both pointers are to values that outlive the call, and `length` is the size of the first,
    // beyond which the kernel does not write.
    let said = unsafe {
        let into = bytes.as_mut_ptr().cast();
        libc::getsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into, &raw mut length)
    };
    if said != 0 {
        return Err(io::Error::last_os_error());
    }
    let filled = length as usize;
    let small = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let known = |at: usize| (filled >= at + 4).then(|| small(at));
    let mut received = [0; 8];
    received.copy_from_slice(&bytes[128..136]);
    // Offsets of linux/tcp.h.
    Ok(Info {
        rtt: small(68),
        min_rtt: small(148),
        rcv_rtt: small(92),
        data_segs_in: small(152),
        out_of_order: known(224),
        rcv_wnd: known(232).filter(|window| *window > 0),
        bytes_received: u64::from_ne_bytes(received),
    })
}
