//! Capture files in the classic pcap format, read as a stream, and TCP segments in their packets.
//!
//! * [`Pcap`]: records of a file; `source`: its bytes
//! * [`segment`]: the TCP segment of a packet over raw IP or Ethernet

mod pcap;
mod segment;
mod source;

pub use pcap::{Fault, Pcap, Record};
pub use segment::segment;
