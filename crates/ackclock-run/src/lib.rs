//! What every engine reads and writes: the resolved run, the parts of its network, and the tables of its results.
//!
//! The simulator, the emulator and the agents on real kernels are given the same document, make the same elements of it and
//! return the same tables; this is the room they share. It decides nothing and knows no clock.
//!
//! * [`spec`]: the resolved run; [`check`](check()): what no engine can play
//! * [`links`], [`cells`], [`hspa`], [`others`]: from the document to the elements of `ackclock_core::path`
//! * [`ways`]: when flows start and what they pass; [`periods`]: when their sources are active
//! * [`output`], [`rows`], [`series`]: the tables; [`warnings`]: what to know about them
#![forbid(unsafe_code)]

pub mod cells;
pub mod check;
mod exchange;
pub mod given;
pub mod hspa;
pub mod links;
pub mod others;
pub mod output;
pub mod periods;
pub mod rows;
pub mod series;
pub mod spec;
pub mod warnings;
pub mod ways;

pub use check::check;
pub use output::Output;
pub use spec::{Run, SpecError};
