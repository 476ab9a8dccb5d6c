//! The TCP endpoint: sans-IO, byte-exact, one object per side of a connection.
//!
//! `on_segment(now, &Segment)` takes what arrives, `poll_transmit(now)` yields what leaves, `next_deadline()` says
//! when to call `on_timer(now)`. Positions in the stream are 64-bit inside and 32-bit on the wire.
//!
//! One concept, one file: [`config`] (options and profiles), [`segment`], [`receiver`] (reassembly and the ACK
//! policy), [`scoreboard`] (what is outstanding), [`sender`] with its parts (`input` and [`output`] are what it does,
//! `congestion` its window, `recovery` its answer to losses), [`endpoint`] (handshake, options, FIN: the whole; `prediction` is its short way).

pub mod config;
mod congestion;
mod control_block;
pub mod ecn;
pub mod endpoint;
mod input;
mod intervals;
pub mod output;
mod outside;
mod pacer;
mod pair;
mod peer_window;
mod prediction;
mod pushes;
pub mod receiver;
mod recovery;
mod repeated;
mod sack_blocks;
pub mod scoreboard;
pub mod segment;
mod send_stream;
pub mod sender;
mod timers;
mod usage;
mod validation;

pub use config::{Config, Profile};
pub use endpoint::{Endpoint, State};
pub use repeated::Cause;
pub use segment::Segment;
