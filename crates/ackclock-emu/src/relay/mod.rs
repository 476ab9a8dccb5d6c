//! Relays on a real kernel: flows that are split, each by a host of its own between its two legs, in which the program
//! `ackclock-proxy` runs.
//!
//! * [`split`]: which flows these are, what of a relay the program can be, how its host is set up
//! * [`program`]: the program: begun, watched, ended; [`told`]: what it says of connections

pub mod program;
pub mod split;
pub mod told;

pub use program::Proxies;
pub use split::{Split, splits};
