//! Fair schedulers over thousands of random arrivals: the order of WFQ, WF2Q and SCFQ by exact fractions, and the bounds
//! that their authors proved for them.
//!
//! The draws are the same in every run. `ACKCLOCK_CASES` sets how many cases each test plays, `ACKCLOCK_SEED` draws others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bounds;
mod exact;
mod world;
