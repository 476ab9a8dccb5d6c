//! How many random cases a test plays, and from which seed. Included by `#[path]`: it belongs to no crate that is shipped.
#![allow(dead_code)] // not every program draws by a seed

fn number(variable: &str) -> Option<u64> {
    let set = std::env::var(variable).ok()?;
    Some(set.parse().unwrap_or_else(|_| panic!("{variable}: {set:?} must be a whole number")))
}

/// `ACKCLOCK_CASES` where it is set. Otherwise `default`, divided by `ACKCLOCK_SHARE` where that is set: `make test` plays a
/// fifth of the cases, `make test-rust-more` and `cargo test` all.
pub fn cases(default: u64) -> u64 {
    number("ACKCLOCK_CASES").unwrap_or_else(|| (default / number("ACKCLOCK_SHARE").unwrap_or(1).max(1)).max(1))
}

/// `ACKCLOCK_SEED`, or 1: the cases are the same in every run unless others are requested.
pub fn seed() -> u64 {
    number("ACKCLOCK_SEED").unwrap_or(1)
}
