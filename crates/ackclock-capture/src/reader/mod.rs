//! Capture files read as a stream, and TCP segments in their packets.
//!
//! * [`Capture`]: packets of a file of either format; `pcap` and `pcapng` the formats, `options` of blocks, [`Interface`];
//!   `source` the bytes, `unpack` of compressed files; [`Fault`], [`Cut`] why a file is not read, or not to its end
//! * [`Decoder`]: the segment of a packet; `plain` the headers of most, `layers` what stands before IP, `wrapped`
//!   link types around another, `overlays` tunnels in UDP, `fragments`; [`order`]: in the order of time
//!
//! A file is not trusted: nothing is allocated by a length that it states, and what it says wrong ends it there, or counts.

mod capture;
mod fault;
mod fragments;
mod interface;
mod layers;
mod options;
pub mod order;
mod overlays;
mod packet;
mod pcap;
mod pcapng;
mod plain;
mod source;
mod unpack;
mod wrapped;

use capture::Found;

pub use capture::{Capture, Record};
pub use fault::{Cut, Fault, Why};
pub use interface::{Interface, MOST_INTERFACES};
pub use packet::{Decoder, Skip, blank};

/// Most bytes of a packet that any capture has.
const MOST_CAPTURED: u32 = 262_144;

/// The number at `at`; 0 where there is none.
#[inline]
fn word(bytes: &[u8], at: usize, big: bool) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|w| w.try_into().ok()).unwrap_or_default();
    if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
}

#[inline]
fn half(bytes: &[u8], at: usize, big: bool) -> u16 {
    let half = bytes.get(at..at + 2).and_then(|w| w.try_into().ok()).unwrap_or_default();
    if big { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) }
}
