//! What the kernel says of a TCP connection (`TCP_INFO`), those fields of it that tell one leg from the other.

use rustix::fd::{AsFd, AsRawFd};
use serde::Serialize;
use std::io;

/// `struct tcp_info` of Linux 6.12; an older kernel fills a part.
const SIZE: usize = 248;

/// States of a connection whose handshake is not done (linux/tcp_states.h), and the option that says that a SYN's data were taken.
const SYN_SENT: u8 = 2;
const SYN_RECEIVED: u8 = 3;
const SYN_DATA: u8 = 32;

/// One leg, in the kernel's words: times in microseconds, windows in segments, rates in bytes a second.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)] // the names are the kernel's
pub struct Info {
    #[serde(skip)]
    pub state: u8,
    /// Segments, a FIN's included, that the other end has not acknowledged, and bytes that were not sent yet.
    #[serde(skip)]
    pub unacked: u32,
    #[serde(skip)]
    pub notsent_bytes: u32,
    /// Whether data that came, or went, with the SYN were taken (RFC 7413).
    pub syn_data: bool,
    pub rtt: u32,
    pub rttvar: u32,
    pub min_rtt: u32,
    pub snd_cwnd: u32,
    pub snd_mss: u32,
    pub snd_wnd: u32,
    pub rcv_space: u32,
    pub pacing_rate: u64,
    pub delivery_rate: u64,
    pub bytes_sent: u64,
    pub bytes_acked: u64,
    pub bytes_retrans: u64,
    pub bytes_received: u64,
    pub total_retrans: u32,
    pub segs_in: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub dsack_dups: u32,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
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
    let small = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let large = |at: usize| {
        let mut of = [0; 8];
        of.copy_from_slice(&bytes[at..at + 8]);
        u64::from_ne_bytes(of)
    };
    // Offsets of linux/tcp.h.
    Ok(Info {
        state: bytes[0],
        unacked: small(24),
        notsent_bytes: small(144),
        syn_data: bytes[5] & SYN_DATA != 0,
        rtt: small(68),
        rttvar: small(72),
        min_rtt: small(148),
        snd_cwnd: small(80),
        snd_mss: small(16),
        snd_wnd: small(228),
        rcv_space: small(96),
        pacing_rate: large(104),
        delivery_rate: large(160),
        bytes_sent: large(200),
        bytes_acked: large(120),
        bytes_retrans: large(208),
        bytes_received: large(128),
        total_retrans: small(100),
        segs_in: small(140),
        data_segs_in: small(152),
        data_segs_out: small(156),
        dsack_dups: small(216),
        busy_time: large(168),
        rwnd_limited: large(176),
        sndbuf_limited: large(184),
    })
}

impl Info {
    /// Whether the other end has acknowledged all, of a connection that did not fail.
    pub fn all_acknowledged(&self) -> bool {
        self.unacked == 0 && self.notsent_bytes == 0
    }

    /// How long the handshake took of which this end answered the first segment, of a connection that is new: what the kernel
    /// measured between its SYN and the acknowledgment. Microseconds; nothing if that has not come yet, for the client's SYN had
    /// data, or cannot be told.
    pub fn answered_after(&self) -> Option<u32> {
        (self.state != SYN_RECEIVED && self.rtt > 0).then_some(self.rtt)
    }
}

/// Whether the server has not answered yet.
pub fn unanswered(socket: &impl AsFd) -> bool {
    info(socket).is_ok_and(|of| of.state == SYN_SENT)
}
