//! How many random cases a test plays, and from which seed. Included by `#[path]`: it belongs to no crate that is shipped.
#![allow(dead_code)] // not every program draws by a seed

fn number(variable: &str) -> Option<u64> {
    let set = std::env::var(variable).ok()?;
    Some(set.parse().unwrap_or_else(|_| panic!("{variable}: {set:?} must be a whole number")))
}

/// What a test plays of its cases where `ACKCLOCK_CASES` is not set: one in so many.
const QUICK: u64 = 5;

/// How many of its `all` cases a test plays: a fifth; all where `ACKCLOCK_CASES` is `all`; as many as it says where it is a
/// number.
pub fn cases(all: u64) -> u64 {
    match std::env::var("ACKCLOCK_CASES").as_deref() {
        Err(_) => all / QUICK,
        Ok("all") => all,
        Ok(_) => number("ACKCLOCK_CASES").unwrap_or(all),
    }
}

/// How much of `count` is expected of a test that plays [`cases`]`(all)`, if all its cases give `count`.
pub fn share(count: u64, all: u64) -> u64 {
    count * cases(all) / all
}

/// `ACKCLOCK_SEED`, or 1: the cases are the same in every run unless others are requested.
pub fn seed() -> u64 {
    number("ACKCLOCK_SEED").unwrap_or(1)
}
