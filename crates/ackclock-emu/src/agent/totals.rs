//! What is counted of connections.

use crate::sys::tcp::Info;

/// Counters of the source of a connection, and what its sink has read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Payload read at the sink.
    pub read: u64,
    /// Payload sent, repeated included, and repeated.
    pub sent_bytes: u64,
    /// See `sent_bytes`.
    pub repeated_bytes: u64,
    /// Segments with payload sent, repeated included, and repeated.
    pub sent: u64,
    /// See `sent`.
    pub repeated: u64,
    /// Segments without payload that came.
    pub acks: u64,
    /// Duplicates that the other end reported.
    pub dsacks: u64,
    /// Payload that the source knows to have arrived.
    pub acknowledged: u64,
    /// Retransmission timeouts, where the kernel counts them of a connection ([`Info::counts_timeouts`]).
    pub timeouts: u64,
    /// Time in which something was under way, and of it that in which the peer's window, or the send buffer, was what held it
    /// back, microseconds.
    pub busy: u64,
    /// See `busy`.
    pub window_limited: u64,
    /// See `busy`.
    pub buffer_limited: u64,
}

/// Payload in the segments that were acknowledged, cumulatively or selectively. The kernel counts segments, of which the first
/// is the SYN; short ones are the reason why it may be less than they could hold.
fn acknowledged(info: &Info) -> u64 {
    let segments = u64::from(info.delivered.saturating_sub(1));
    let once = info.bytes_sent.saturating_sub(info.bytes_retrans);
    (segments * u64::from(info.snd_mss)).min(once)
}

impl Totals {
    /// Of a source of which the kernel says `info`; the sink has read `read`.
    pub fn of(info: &Info, read: u64) -> Totals {
        Totals {
            read,
            sent_bytes: info.bytes_sent,
            repeated_bytes: info.bytes_retrans,
            sent: u64::from(info.data_segs_out),
            repeated: u64::from(info.total_retrans),
            acks: u64::from(info.segs_in).saturating_sub(u64::from(info.data_segs_in)),
            dsacks: u64::from(info.dsack_dups),
            acknowledged: acknowledged(info),
            timeouts: u64::from(info.total_rto),
            busy: info.busy_time,
            window_limited: info.rwnd_limited,
            buffer_limited: info.sndbuf_limited,
        }
    }

    /// With `other` together.
    pub fn plus(self, other: Totals) -> Totals {
        self.each(other, u64::saturating_add)
    }

    /// What came since `other`.
    pub fn since(self, other: Totals) -> Totals {
        self.each(other, u64::saturating_sub)
    }

    fn each(self, other: Totals, f: fn(u64, u64) -> u64) -> Totals {
        Totals {
            read: f(self.read, other.read),
            sent_bytes: f(self.sent_bytes, other.sent_bytes),
            repeated_bytes: f(self.repeated_bytes, other.repeated_bytes),
            sent: f(self.sent, other.sent),
            repeated: f(self.repeated, other.repeated),
            acks: f(self.acks, other.acks),
            dsacks: f(self.dsacks, other.dsacks),
            acknowledged: f(self.acknowledged, other.acknowledged),
            timeouts: f(self.timeouts, other.timeouts),
            busy: f(self.busy, other.busy),
            window_limited: f(self.window_limited, other.window_limited),
            buffer_limited: f(self.buffer_limited, other.buffer_limited),
        }
    }
}
