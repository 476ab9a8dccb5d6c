//! Loss recovery: how losses are repaired and what the window does meanwhile.

mod classic;
mod frto;
pub mod probe;
pub mod prr;
mod sack;
pub mod undo;

/// The algorithm in charge, fixed when the connection is established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Slow start from the lost segment (Jacobson 1988).
    Tahoe,
    /// RFC 5681 fast recovery.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675: the window falls to ssthresh at once.
    Sack,
    /// RFC 9937 over RFC 6675's or RFC 8985's scoreboard.
    Prr,
}
