//! How many random cases a test plays, and from which seed. Included by `#[path]`: it belongs to no crate that is shipped.
#![allow(dead_code)] // not every program draws by a seed

fn number(variable: &str) -> Option<u64> {
    let set = std::env::var(variable).ok()?;
    Some(set.parse().unwrap_or_else(|_| panic!("{variable}: {set:?} must be a whole number")))
}

/// `ACKCLOCK_CASES` where it is set, else `default`.
pub fn cases(default: u64) -> u64 {
    number("ACKCLOCK_CASES").unwrap_or(default)
}

/// `ACKCLOCK_SEED`, or 1: the cases are the same in every run unless others are requested.
pub fn seed() -> u64 {
    number("ACKCLOCK_SEED").unwrap_or(1)
}
