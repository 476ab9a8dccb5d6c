//! What the kernel says of a TCP connection (`TCP_INFO`), and options of sockets that have no other door.

use rustix::fd::{AsFd, AsRawFd};
use std::io;
use std::mem::{offset_of, size_of_val};

/// `struct tcp_info` of Linux 6.12: a kernel that is older fills a part, one that is newer leaves out what it has more.
/// The C library's own ends where kernels of 2007 did.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // the names are the kernel's
pub struct Info {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub scales: u8,
    pub bits: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time: u32,
    /// Bytes of the above that the kernel filled; no member of the kernel's.
    pub filled: u32,
}

/// Bytes of the kernel's structure.
const SIZE: usize = offset_of!(Info, filled);
const _: () = assert!(SIZE == 248);

impl Info {
    /// Whether the kernel counts retransmission timeouts of each connection (6.7 and later).
    pub fn counts_timeouts(&self) -> bool {
        self.filled as usize >= offset_of!(Info, total_rto) + size_of_val(&self.total_rto)
    }
}

/// What the kernel says of the connection of `socket`.
///
/// # Errors
/// It is no TCP socket.
pub fn info(socket: &impl AsFd) -> io::Result<Info> {
    let mut info = Info::default();
    let mut length = SIZE as libc::socklen_t;
    // SAFETY: the descriptor is open; both pointers are to values that outlive the call, and `length` is less than the size of the
    // first, beyond which the kernel does not write. Every pattern of bits is an Info.
    let said = unsafe {
        let into = (&raw mut info).cast();
        libc::getsockopt(socket.as_fd().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into, &raw mut length)
    };
    info.filled = length;
    match said {
        0 => Ok(info),
        _ => Err(io::Error::last_os_error()),
    }
}

/// An option of TCP with a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Payload of the largest segment, options not taken off.
    MaxSegment,
    /// Unsent bytes beyond which the socket takes no more.
    UnsentLowWater,
    /// Segments are acknowledged at once, for now.
    QuickAck,
}

/// Segments of `socket` are spread over time, whatever its controller is: a largest rate, which is beyond all, turns the
/// kernel's own pacing on (`SO_MAX_PACING_RATE` of socket(7)).
///
/// # Errors
/// The kernel does not take it.
pub fn pace(socket: &impl AsFd) -> io::Result<()> {
    // In bytes per second, unsigned; all bits would mean that there is none.
    option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, -2)
}

/// Sets `what` of `socket`.
///
/// # Errors
/// The kernel does not take the value.
pub fn set(socket: &impl AsFd, what: Setting, value: u32) -> io::Result<()> {
    let name = match what {
        Setting::MaxSegment => libc::TCP_MAXSEG,
        Setting::UnsentLowWater => libc::TCP_NOTSENT_LOWAT,
        Setting::QuickAck => libc::TCP_QUICKACK,
    };
    option(socket, libc::IPPROTO_TCP, name, value as libc::c_int)
}

pub(super) fn option(socket: &impl AsFd, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the descriptor is open; the pointer is to an int that outlives the call, and `length` is its size.
    let said = unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw const value).cast(), length) };
    match said {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn bytes(socket: &impl AsFd, what: libc::Ioctl) -> u64 {
    let mut found: libc::c_int = 0;
    // SAFETY: the descriptor is open; both requests of this file write one int, to which the pointer is.
    let said = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), what, &raw mut found) };
    if said == 0 { found.max(0) as u64 } else { 0 }
}

/// Bytes that `socket` was given and has not sent yet.
pub fn unsent(socket: &impl AsFd) -> u64 {
    bytes(socket, libc::SIOCOUTQNSD as libc::Ioctl)
}

/// Bytes that have come in order and were not read.
pub fn unread(socket: &impl AsFd) -> u64 {
    bytes(socket, libc::FIONREAD)
}

/// Reads up to `most` bytes of `socket` without looking at them: the kernel need not copy them (`MSG_TRUNC` of tcp(7)).
///
/// # Errors
/// None are there ([`io::ErrorKind::WouldBlock`]), or the connection failed.
pub fn discard(socket: &impl AsFd, most: usize) -> io::Result<usize> {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with MSG_TRUNC on a TCP socket the kernel discards data and writes nothing, so no buffer is needed; were it to
    // write, the null pointer would make it fail with EFAULT.
    let read = unsafe { libc::recv(socket.as_fd().as_raw_fd(), std::ptr::null_mut(), most, flags) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_that_is_shorter_counts_no_timeouts() {
        // Linux 6.1 ends with snd_wnd, 6.2 with rehash, 6.7 with total_rto_time.
        for (filled, counts) in [(232, false), (240, false), (248, true)] {
            assert_eq!(Info { filled, ..Info::default() }.counts_timeouts(), counts, "{filled}");
        }
    }
}
