//! Packet captures: files are read, TCP connections in them analysed, and captures of simulated runs written.
//!
//! * [`analysis`]: TCP connections from segments
//! * [`write`]: pcapng from the simulator
#![forbid(unsafe_code)]

pub mod analysis;
pub mod write;
