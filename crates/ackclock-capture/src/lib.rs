//! Packet captures: files are read, TCP connections in them analysed, and captures of simulated runs written.
//!
//! * [`write`]: pcapng from the simulator
#![forbid(unsafe_code)]

pub mod write;
