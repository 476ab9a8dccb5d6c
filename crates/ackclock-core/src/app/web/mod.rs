//! Web pages: a client that loads one after the other over several connections, and their server.
//!
//! A page is a main object and what it refers to. The client opens a connection, requests the main object when it is
//! established, and knows of the others a parse delay after the last byte of what refers to them. They wait in one queue:
//! a connection that is free takes the next, requests it and waits for its last byte (HTTP/1.1 without pipelining). As many
//! further connections are opened as a [`policy`] allows, and no more than there are objects for. The page ends with the
//! last byte of its last object; all connections are closed then. The next page begins a drawn time after the *beginning*
//! of the one before it; if that is not done, when it is, or in its place.
//!
//! * [`page`]: what pages consist of · [`load`]: one that is being loaded · [`client`] · [`server`] · [`policy`]: how many
//!   connections · [`report`]: what results
//! * HTTP/1.0: a connection for each object, as many at a time. One connection for all objects (as HTTP/2 has it): each is
//!   requested when it is known.
//!
//! Not modelled: names (DNS), TLS, caches, headers of answers, time that a server thinks.

pub mod client;
pub mod load;
pub mod page;
pub mod policy;
pub mod report;
pub mod server;

use super::params::{Given, Kind, Problem, optional, required};
use super::registry::Entry;
use super::{Application, Connections, End, Made, Setup};
use crate::time::Span;
use crate::variate::Variate;
use client::{Client, Options, Protocol};
use page::{Counting, Pages};
use server::{Answers, Server};

/// Web pages.
pub const ENTRY: Entry = Entry {
    kind: "web",
    summary: "pages, one after the other: a main object and what it refers to, over several connections",
    params: &[
        optional("page", Kind::Objects, "the objects of every page; without it they are drawn"),
        optional("main", Kind::Distribution, "bytes of the main object"),
        optional("objects", Kind::Distribution, "how many others a page has"),
        optional("counting", Kind::Word(Counting::WORDS), "how a drawn number becomes a whole one; round if left out"),
        optional("embedded", Kind::Distribution, "bytes of each of these"),
        required("interval", Kind::Distribution, "nanoseconds from the start of a page to that of the next"),
        optional("first", Kind::Distribution, "nanoseconds to the first page; none if left out"),
        optional("count", Kind::Whole, "how many pages; without it as many as there is time for"),
        optional(
            "late",
            Kind::Word(&["defer", "abort"]),
            "what a page does whose time comes before the one before it is done",
        ),
        optional("parse_ns", Kind::Whole, "from the last byte of an object to when what it refers to is known"),
        optional("request_bytes", Kind::Whole, "bytes of a request; 800 if left out"),
        optional("protocol", Kind::Word(&["http1.1", "http1.0", "h2"]), "http1.1 if left out"),
        optional("responses", Kind::Word(&["interleaved", "sequential"]), "of h2: in which order objects are sent"),
        optional("policy", Kind::Word(policy::WORDS), "who decides on the number of connections; fixed if left out"),
        optional("connections", Kind::Whole, "how many at a time, the first included, or at most; 1 if left out"),
        optional(
            "least",
            Kind::Whole,
            "of adaptive: connections where the path is not full at the start; 3 if left out",
        ),
        optional("window_bytes", Kind::Whole, "of adaptive: what a connection sends in its first round trip"),
        optional("preopen", Kind::Flag, "all connections are opened with the page"),
        optional(
            "fixed_assignment",
            Kind::Flag,
            "each object has its connection: the one with its number modulo theirs",
        ),
        optional("keep_objects", Kind::Flag, "the results have every object"),
    ],
    make,
};

/// Failures of connections after which a page is given up.
const MOST_FAILURES: u32 = 8;

fn make(given: &Given, setup: &Setup<'_>) -> Result<Made, Problem> {
    let protocol = match given.word("protocol") {
        Some("http1.0") => Protocol::Http10,
        Some("h2") => Protocol::H2,
        _ => Protocol::Http11,
    };
    let one = protocol == Protocol::H2;
    for key in ["connections", "policy", "preopen", "fixed_assignment"] {
        if one && given.has(key) {
            return Err(Problem::new(key, "h2 has one connection; leave it out"));
        }
    }
    if !one && given.has("responses") {
        return Err(Problem::new("responses", "it is for h2; leave it out"));
    }
    let chosen = given.word("policy").is_some_and(|policy| policy != "fixed");
    if given.flag("fixed_assignment") && (chosen || protocol == Protocol::Http10) {
        return Err(Problem::new("fixed_assignment", "it is for http1.1 and a fixed number of connections"));
    }
    if given.word("policy") == Some("download") && protocol == Protocol::Http10 {
        return Err(Problem::new("policy", "download is for http1.1, whose connections stay; take another"));
    }
    let request = given.whole("request_bytes").unwrap_or(800);
    let left = given.whole("count").unwrap_or(u64::MAX);
    for (key, n) in [("request_bytes", request), ("count", left)] {
        if n == 0 {
            return Err(Problem::new(key, "a number above zero is needed"));
        }
    }
    let policy = policy::make(given)?;
    let most = given.whole("connections").unwrap_or(1);
    let options = Options {
        protocol,
        request,
        parse: Span(given.whole("parse_ns").unwrap_or(0)),
        preopen: given.flag("preopen"),
        fixed: given.flag("fixed_assignment").then_some(most as u32),
        abort: given.word("late") == Some("abort"),
        keep_objects: given.flag("keep_objects"),
    };
    let pages = Pages::new(given, setup)?;
    // Of a page that was given up some bytes may be under way when the next one begins.
    let at_once = Some(pages.large().saturating_mul(2));
    let first = given.draws("first", Variate::Constant(0.0), setup, "first page").whole(0);
    let answers = match (protocol, given.word("responses")) {
        (Protocol::Http10, _) => Answers::One,
        (Protocol::Http11, _) => Answers::InTurn,
        (Protocol::H2, Some("sequential")) => Answers::Sequential,
        (Protocol::H2, _) => Answers::Interleaved,
    };
    // Connections of a page are closed before those of the next are opened, or soon afterwards.
    let connections = Connections::Many(2.0 * most as f64);
    let client = Client::new(options, pages, policy, Span(first), left);
    let ends: [Box<dyn Application>; 2] = [Box::new(Server::new(answers)), Box::new(client)];
    Ok(Made { ends, opens: End::Sink, connections, at_once, once: false, in_transfers: true })
}

#[cfg(test)]
mod tests;
