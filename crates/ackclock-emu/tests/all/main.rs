//! All integration tests of ackclock-emu, as one program: linked once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod hostile;
mod idle;
mod offload;
