//! All integration tests of ackclock-proxy, as one program: linked once.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod asking;
mod common;
mod confined;
mod draining;
mod faults;
mod headers;
mod level;
mod relay;
