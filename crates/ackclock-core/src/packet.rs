//! What a queue or link needs to know of a packet.

use crate::time::Time;

/// The IP ECN field (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint 1 (L4S).
    Ect1 = 1,
    /// ECN-capable, codepoint 0.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// A packet as queues and links see it: its owner keeps the headers or bytes under `id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parcel {
    /// The owner's name for the packet.
    pub id: u32,
    /// Bytes on this link, its framing included.
    pub len: u32,
    /// Flow number, for fair queueing and statistics.
    pub flow: u32,
    /// Class of service, for schedulers with priorities or weights; 0 is the first.
    pub class: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// When the packet reached this queue.
    pub arrived: Time,
}

const _: () = assert!(std::mem::size_of::<Parcel>() <= 32);
