//! The path of a run with packets as bytes, driven from outside: no clock, no system call.
//!
//! * [`Network`]: the elements of the run, what enters them and what comes out
//! * [`Packets`]: the bytes, a [`Store`](ackclock_core::path::Store) of the elements
//! * [`Addressed`]: whose a packet is, from its addresses; [`Stream`]: which connection
//! * [`Split`], [`Joining`]: super-packets, split before they enter and joined when they leave
//! * [`Tally`]: what is counted of flows; [`replay`](replay()): arrivals of a record in place of those of a clock

mod addressed;
mod agenda;
mod network;
mod offload;
mod packets;
mod replay;
mod streams;
mod tally;

pub use addressed::{Addressed, Addresses};
pub use network::{Delivered, Network};
pub use offload::{HEADER as OFFLOAD_HEADER, Joining, Offload, Split, complete};
pub use packets::Packets;
pub use replay::{Record, replay};
pub use streams::Streams;
pub use tally::Tally;
