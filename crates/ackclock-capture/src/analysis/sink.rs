//! Where results go: rows of connections, samples over time, and what happened.

use super::repairs::{Cause, Proof};
use super::rows::FlowRow;

/// What a sample is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Bytes sent and not acknowledged.
    InFlight,
    /// Of these, what no SACK block has covered.
    Pipe,
    /// Room that the receiver's window leaves above the highest acknowledgment, bytes.
    Rwnd,
    /// Round trip time from here to the receiver, s.
    Rtt,
    /// The same by timestamps, s.
    RttTs,
    /// Bytes acknowledged.
    Delivered,
    /// Bytes sent, retransmissions included.
    Sent,
    /// Bytes retransmitted.
    Retransmitted,
    /// Largest pipe of a round that the network limited, bytes.
    CwndEstimate,
    /// Who limits: the number of a [`Limit`](super::limits::Limit).
    Limit,
}

impl Metric {
    /// All, in the order of their numbers.
    pub const ALL: [Metric; 10] = [
        Metric::InFlight,
        Metric::Pipe,
        Metric::Rwnd,
        Metric::Rtt,
        Metric::RttTs,
        Metric::Delivered,
        Metric::Sent,
        Metric::Retransmitted,
        Metric::CwndEstimate,
        Metric::Limit,
    ];

    /// As it is written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::InFlight => "in_flight",
            Metric::Pipe => "pipe",
            Metric::Rwnd => "rwnd",
            Metric::Rtt => "rtt",
            Metric::RttTs => "rtt_ts",
            Metric::Delivered => "delivered",
            Metric::Sent => "sent",
            Metric::Retransmitted => "retransmitted",
            Metric::CwndEstimate => "cwnd_estimate",
            Metric::Limit => "limit",
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// New data.
    New,
    /// New data behind bytes that did not pass.
    Gap,
    /// Data sent again.
    Retransmission,
    /// The same, with new data behind.
    Partial,
    /// Data that were overtaken.
    Reordered,
    /// A copy of a packet.
    DuplicatePacket,
    /// A SYN again.
    SynRetransmission,
    /// A FIN again.
    FinRetransmission,
    /// A keepalive.
    Keepalive,
    /// A probe of a closed window.
    Probe,
    /// A duplicate acknowledgment of this direction's data.
    DupAck,
    /// An acknowledgment that only moves the window.
    WindowUpdate,
    /// The window closes.
    ZeroWindow,
    /// An acknowledgment of what did not pass.
    AckUnseen,
    /// New SACK information; bytes of it.
    Sack,
    /// A DSACK block.
    Dsack,
    /// A retransmission proves needless; `packet` is its own.
    Spurious,
    /// The flow is limited by a send buffer or a clamp, it seems: its pipe stays the same.
    Plateau,
}

impl Happening {
    /// As it is written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Happening::New => "new",
            Happening::Gap => "gap",
            Happening::Retransmission => "retransmission",
            Happening::Partial => "partial",
            Happening::Reordered => "reordered",
            Happening::DuplicatePacket => "duplicate_packet",
            Happening::SynRetransmission => "syn_retransmission",
            Happening::FinRetransmission => "fin_retransmission",
            Happening::Keepalive => "keepalive",
            Happening::Probe => "probe",
            Happening::DupAck => "dup_ack",
            Happening::WindowUpdate => "window_update",
            Happening::ZeroWindow => "zero_window",
            Happening::AckUnseen => "ack_unseen",
            Happening::Sack => "sack",
            Happening::Dsack => "dsack",
            Happening::Spurious => "spurious",
            Happening::Plateau => "plateau",
        }
    }
}

/// Which row of `flows` something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId {
    /// Number of the connection, in the order of first packets.
    pub connection: u64,
    /// 0 for the data of whoever sent the first packet, 1 for the other direction.
    pub direction: u8,
}

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When, ns.
    pub time: i64,
    /// Whose.
    pub id: FlowId,
    /// What of.
    pub metric: Metric,
    /// The value.
    pub value: f64,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, ns.
    pub time: i64,
    /// To whose data.
    pub id: FlowId,
    /// What.
    pub kind: Happening,
    /// First byte, from the begin of the stream (1 is the first byte of data).
    pub seq: i64,
    /// How many bytes.
    pub bytes: u64,
    /// Of retransmissions: why.
    pub cause: Option<Cause>,
    /// Of needless ones: what proves it.
    pub spurious: Option<Proof>,
    /// Number of the packet.
    pub packet: u64,
}

/// Takes results as they come.
pub trait Sink {
    /// Both directions of a connection that is over.
    fn flows(&mut self, rows: [FlowRow; 2]);
    /// A value over time; only where series are asked for.
    fn sample(&mut self, _: Sample) {}
    /// What happened; only where events are asked for.
    fn event(&mut self, _: Event) {}
}

impl Sink for Vec<FlowRow> {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        self.extend(rows);
    }
}

impl<T: Sink> Sink for &mut T {
    fn flows(&mut self, rows: [FlowRow; 2]) {
        T::flows(self, rows);
    }
    fn sample(&mut self, sample: Sample) {
        T::sample(self, sample);
    }
    fn event(&mut self, event: Event) {
        T::event(self, event);
    }
}
