//! How many connections a client uses for a page.
//!
//! A policy sees what a client can know: how long handshakes take, when bytes of which connection come, what failed. It does
//! not see the network, nor what an object has before it comes. It is asked whenever something changes, and may give another
//! answer each time: more connections are opened as long as objects wait for one, and where it says fewer, those that are
//! too many stay unused. One file each; [`make`] has the list.
//!
//! * [`Fixed`]: always as many
//! * [`adaptive`]: as many as the path seems to need
//! * [`download`]: as many as a long download would have
//! * [`learning`], [`plateau`]: what suggests itself, for comparison: loss, delay, throughput from page to page

mod adaptive;
mod download;
mod learning;
mod plateau;

use crate::app::params::{Given, Problem};
use crate::time::{Span, Time};
pub use adaptive::{Adaptive, Limits};
pub use download::Download;
pub use learning::{Learning, Sign};
pub use plateau::Plateau;

/// Most connections of a page at a time.
pub const MOST: u64 = 1024;

/// The words for policies.
pub const WORDS: &[&str] = &["fixed", "adaptive", "download", "throughput", "loss", "delay"];

/// Least connections of [`Adaptive`] where nothing else is said.
const LEAST: u64 = 3;

/// What the client is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The time.
    pub now: Time,
    /// Connections that are there or being opened.
    pub open: u32,
    /// Of them those that are there.
    pub connected: u32,
    /// Objects under way.
    pub under_way: u32,
    /// Objects that are known and wait.
    pub waiting: u32,
    /// Bytes that have come over the page's connections so far.
    pub received: u64,
}

/// An object that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// When.
    pub now: Time,
    /// Its bytes.
    pub bytes: u64,
    /// When it was requested.
    pub requested: Time,
    /// When its first byte came.
    pub first_byte: Time,
    /// Segments that came out of order on its connection since it was requested: some before them were lost, or overtaken.
    pub out_of_order: u64,
    /// Objects that are still under way.
    pub under_way: u32,
}

/// Decides how many connections a page may have.
pub trait Policy: Send {
    /// A page begins: what it knows of the path stays, what it knows of the page does not.
    fn begin(&mut self, _now: Time) {}

    /// How many connections there may be now, one at least.
    fn connections(&mut self, view: &View) -> u32;

    /// Bytes of the main object whose arrival it wants to be told of; 0: it does not.
    fn train(&self) -> u64 {
        0
    }

    /// So many bytes of the main object came in this time behind its first byte.
    fn came(&mut self, _bytes: u64, _took: Span) {}

    /// A connection was established, this time after it was asked for.
    fn connected(&mut self, _took: Span) {}

    /// An object has come.
    fn received(&mut self, _object: &Received) {}

    /// A connection failed.
    fn failed(&mut self) {}
}

/// The policy that the parameters describe.
///
/// # Errors
/// A number of connections that cannot be.
pub fn make(given: &Given) -> Result<Box<dyn Policy>, Problem> {
    let most = given.whole("connections").unwrap_or(1);
    if most == 0 || most > MOST {
        return Err(Problem::new("connections", format!("a page has 1 to {MOST} connections, not {most}")));
    }
    let least = given.whole("least").unwrap_or(LEAST);
    if least == 0 || least > MOST {
        return Err(Problem::new("least", format!("a page has 1 to {MOST} connections, not {least}")));
    }
    let most = most as u32;
    Ok(match given.word("policy") {
        Some("adaptive") => {
            let limits = Limits { least: least as u32, most };
            Box::new(Adaptive::new(limits, given.whole("window_bytes").unwrap_or(0)))
        }
        Some("download") => Box::new(Download::new(most)),
        Some("throughput") => Box::new(Plateau::new(most)),
        Some("loss") => Box::new(Learning::new(Sign::Loss, most)),
        Some("delay") => Box::new(Learning::new(Sign::Delay, most)),
        _ => Box::new(Fixed(most)),
    })
}

/// Always as many.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(pub u32);

impl Policy for Fixed {
    fn connections(&mut self, _: &View) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::params::Value;

    #[test]
    fn a_policy_is_named_and_bounded() {
        let mut given = Given::default();
        let view = View { now: Time(0), open: 0, connected: 0, under_way: 0, waiting: 1, received: 0 };
        assert_eq!(make(&given).unwrap().connections(&view), 1);
        given.insert("connections", Value::Whole(6));
        assert_eq!(make(&given).unwrap().connections(&view), 6);
        for word in WORDS.iter().filter(|word| **word != "fixed") {
            given.insert("policy", Value::Word((*word).to_owned()));
            assert_eq!(make(&given).unwrap().connections(&view), 1, "{word}, as long as it knows nothing");
        }
        given.insert("least", Value::Whole(0));
        assert_eq!(make(&given).err().unwrap().key, "least");
        given.insert("connections", Value::Whole(0));
        assert_eq!(make(&given).err().unwrap().key, "connections");
    }
}
