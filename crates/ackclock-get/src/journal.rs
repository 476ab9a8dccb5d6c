//! What of a download is there: a file beside it, so that it goes on after whatever ended it.
//!
//! What a journal says is there was written before it, and has reached the disk ([`crate::folder::Folder::keep`]).

use crate::ranges::Piece;
use serde::{Deserialize, Serialize};

/// The version of the format.
const VERSION: u32 = 1;
/// Bytes of a journal that is read.
pub const MOST: u64 = 16 << 20;

/// One download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    version: u32,
    /// What was asked for.
    pub url: String,
    /// What says that the file is still the same: the entity tag or the time that the server gave.
    pub validator: String,
    /// Its bytes.
    pub total: u64,
    /// What is there.
    pub finished: Vec<Piece>,
}

impl Journal {
    /// Of a download.
    pub fn new(url: &str, validator: &str, total: u64, finished: Vec<Piece>) -> Journal {
        Journal { version: VERSION, url: url.to_owned(), validator: validator.to_owned(), total, finished }
    }

    /// From a file's text; none if it is no journal, or that of another version.
    pub fn parse(text: &str) -> Option<Journal> {
        let journal: Journal = serde_json::from_str(text).ok()?;
        let inside = journal.finished.iter().all(|piece| piece.start <= piece.end && piece.end <= journal.total);
        (journal.version == VERSION && inside).then_some(journal)
    }

    /// Its text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        let journal = Journal::new("http://a.example/x", "\"1\"", 10, vec![Piece { start: 2, end: 4 }]);
        assert_eq!(Journal::parse(&journal.text()), Some(journal.clone()));
        assert_eq!(Journal::parse(&journal.text()[..40]), None);
        assert_eq!(Journal::parse(&journal.text().replace("\"version\":1", "\"version\":2")), None);
        assert_eq!(Journal::parse(&journal.text().replace("\"end\":4", "\"end\":40")), None);
    }
}
