//! What a client reports of its pages: when each began and ended, and what its time was spent with.

use crate::time::{Span, Time};

/// How a page ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its last object came to its last byte.
    Completed,
    /// The next page was due before.
    Aborted,
    /// Its connections failed too often.
    Failed,
    /// The run was over before.
    Unfinished,
}

impl Outcome {
    /// Its word in the results.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Aborted => "aborted",
            Outcome::Failed => "failed",
            Outcome::Unfinished => "unfinished",
        }
    }
}

/// What the time of a page was spent with, along the chain of objects that its end waited for: the object that came last,
/// the one that made it known, and so on back to the main object. The parts add up to the page's time, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// A connection was being opened and an object of the chain waited for it, or the page for its first connection.
    pub handshake: Span,
    /// An object of the chain was known, and waited for a connection that others were using.
    pub queueing: Span,
    /// From the request of an object of the chain to its first byte.
    pub first_byte: Span,
    /// From its first byte to its last.
    pub transfer: Span,
    /// From the last byte of one to the time at which the next is known.
    pub parse: Span,
}

impl Split {
    /// The sum of the parts.
    pub fn total(&self) -> Span {
        self.handshake + self.queueing + self.first_byte + self.transfer + self.parse
    }
}

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its number among those of the client, from 0.
    pub number: u64,
    /// When its first connection was opened.
    pub start: Time,
    /// When its last byte had come in order; of one that did not complete, when it was given up.
    pub end: Option<Time>,
    /// How it ended.
    pub outcome: Outcome,
    /// It began when the page before it was done, later than it was due.
    pub deferred: bool,
    /// Objects it has, the main one included.
    pub objects: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that came.
    pub done: u32,
    /// Connections that were opened for it.
    pub connections: u32,
    /// How many it might have had at a time, by what its client decided last.
    pub allowed: u32,
    /// What its time was spent with, if it was completed.
    pub split: Option<Split>,
}

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Number of its page.
    pub page: u64,
    /// Its number within the page; 0 is the main one.
    pub number: u32,
    /// Its bytes.
    pub bytes: u64,
    /// The object whose last byte made it known; none of the main one.
    pub parent: Option<u32>,
    /// When the client knew of it.
    pub known: Option<Time>,
    /// Number of its connection among those of the page, from 0.
    pub connection: Option<u32>,
    /// When that connection was asked for, and when it was there.
    pub opened: Option<Time>,
    /// See `opened`.
    pub connected: Option<Time>,
    /// When it was requested.
    pub requested: Option<Time>,
    /// When its first byte came.
    pub first_byte: Option<Time>,
    /// When its last byte had come.
    pub done: Option<Time>,
}
