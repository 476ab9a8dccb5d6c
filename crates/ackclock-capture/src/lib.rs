//! Packet captures: files are read, TCP connections in them analysed, and captures of simulated runs written.
//!
//! * [`analysis`]: TCP connections from segments
//! * [`reader`]: files of the formats pcap and pcapng, and the segments in them; [`drive`]: from a file to rows
//! * [`write`]: pcapng from the simulator
#![forbid(unsafe_code)]

pub mod analysis;
pub mod drive;
pub mod reader;
pub mod write;
