//! All integration tests of ackclock-capture, as one program: linked once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod allocations;
#[path = "../../../testing/allocator.rs"]
mod allocator;
mod asleep;
mod broken;
mod files;
mod hostile;
#[path = "../../examples/made/mod.rs"]
mod made;
mod memory;
mod payload;
mod reader;
mod script;
mod senders;
mod vectors;
