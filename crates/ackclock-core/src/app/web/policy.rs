//! How many connections a client uses for a page.
//!
//! A policy sees what a client can know: how long handshakes take, when bytes of which connection come, what failed. It does
//! not see the network, nor what an object has before it comes. It is asked whenever something changes, and may give another
//! answer each time: more connections are opened as long as objects wait for one, and where it says fewer, those that are
//! too many stay unused. One file each; [`make`] has the list.
//!
//! * [`Fixed`]: always as many
//! * [`adaptive`]: as many as the path seems to need

mod adaptive;

use crate::app::params::{Given, Problem};
use crate::time::{Span, Time};
pub use adaptive::Adaptive;

/// Most connections of a page at a time.
pub const MOST: u64 = 1024;

/// The words for policies.
pub const WORDS: &[&str] = &["fixed", "adaptive"];

/// What the client is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The time.
    pub now: Time,
    /// Connections that are there or being opened.
    pub open: u32,
    /// Objects under way.
    pub under_way: u32,
    /// Objects that are known and wait.
    pub waiting: u32,
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
    Ok(match given.word("policy") {
        Some("adaptive") => Box::new(Adaptive::new(most as u32, given.whole("window_bytes").unwrap_or(0))),
        _ => Box::new(Fixed(most as u32)),
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
        let view = View { now: Time(0), open: 0, under_way: 0, waiting: 1 };
        assert_eq!(make(&given).unwrap().connections(&view), 1);
        given.insert("connections", Value::Whole(6));
        assert_eq!(make(&given).unwrap().connections(&view), 6);
        given.insert("policy", Value::Word("adaptive".to_owned()));
        assert_eq!(make(&given).unwrap().connections(&view), 1, "as long as it knows nothing");
        given.insert("connections", Value::Whole(0));
        assert_eq!(make(&given).err().unwrap().key, "connections");
    }
}
