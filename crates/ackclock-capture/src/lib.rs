//! Packet captures: files are read, TCP connections in them analysed, and captures of simulated runs written.
//!
//! * [`analysis`]: TCP connections from segments
//! * [`reader`]: files of the classic pcap format, and the segments in them
//! * [`write`]: pcapng from the simulator
#![forbid(unsafe_code)]

pub mod analysis;
pub mod reader;
pub mod write;
