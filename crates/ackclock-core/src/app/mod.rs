//! Applications: what the programs at the two ends of a flow do.
//!
//! An application is a state machine like everything in this crate: its host calls it when something has happened, and it
//! acts through the [`Host`]. It opens any number of connections, writes, reads, closes and aborts, sends datagrams, and
//! wants to be called again at a time of its own ([`Application::due`]). A virtual host makes it part of a simulation, one
//! of sockets a program.
//!
//! A flow has **two applications, one at each end**: the *source*, whose data takes the way out, and the *sink*. They share
//! nothing. Each sees its own end only, by its own host: what has come, never what is under way or what the other end has.
//! What the one needs to know of the other it is told in a message ([`Host::say`]). Either end may open connections; the
//! other one *accepts* them. The scenario's times of activity ([`Application::begin`], [`Application::pause`]) are told to
//! the end that opens, its [`End`] in [`Made`].
//!
//! * [`bulk`], [`paced`] (constant rate, on and off, datagrams too), [`files`], [`requests`], [`video`]: one file each;
//!   [`web`] pages: a folder
//! * [`pulse`]: the clock of packets at a given rate; [`params`]: how a scenario's keys come here
//! * [`registry`]: the list
//! * [`relay`]: what stands between the two connections of a split one
//! * [`parallel`]: how many connections a long download uses

pub mod bulk;
pub mod files;
pub mod paced;
pub mod parallel;
pub mod params;
pub mod pulse;
pub mod registry;
pub mod relay;
pub mod requests;
#[cfg(test)]
pub(crate) mod testing;
pub mod video;
pub mod web;

use crate::packet::Ecn;
use crate::rng::Stream;
use crate::time::{Span, Time};

/// A connection, as the application at one end names it. No name is used twice at an end; that of a connection which is
/// over does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conn(pub u64);

/// Why a connection is over before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer did not answer, or refused.
    Connect,
    /// The same segment timed out too often.
    Timeout,
    /// The peer reset the connection.
    Reset,
}

/// How the data of accepted connections is read until the application says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// The host reads for it, everything as it comes.
    #[default]
    AtOnce,
    /// By [`Host::read`].
    ByHand,
}

/// A datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Payload, bytes.
    pub payload: u32,
    /// UDP and IP headers, bytes.
    pub headers: u32,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// A datagram that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Payload, bytes.
    pub payload: u32,
    /// When it was sent, by the clock of its sender, who wrote it into the payload.
    pub sent: Time,
    /// It came with a congestion mark (CE).
    pub marked: bool,
}

/// What an application can do, and all that it can see. Nothing it asks for calls it back before it returns.
pub trait Host {
    /// The time.
    fn now(&self) -> Time;

    /// Opens a connection to the other end. It may be written to at once; the data waits for the handshake.
    fn open(&mut self) -> Conn;

    /// Appends `bytes` to the stream; [`u64::MAX`]: as much as the transport takes, until [`Host::cancel`]. The send buffer
    /// has no end.
    fn write(&mut self, conn: Conn, bytes: u64);

    /// Appends a message of `bytes`, one at least, that carries `word`: with its last byte read the other end learns the word
    /// ([`Application::on_message`]). A host of sockets writes it into the first bytes, and no message shorter than these.
    fn say(&mut self, conn: Conn, bytes: u64, word: u64);

    /// Forgets what was written and not sent yet, messages included.
    fn cancel(&mut self, conn: Conn);

    /// Asks to be called ([`Application::on_received`]) when `bytes` more than asked for so far have been read.
    fn receive(&mut self, conn: Conn, bytes: u64);

    /// From now on the application reads this connection itself, by [`Host::read`]: what it leaves takes room in the
    /// receiver's buffer, and in the end closes the window (RFC 9293 §3.8.6.2.2).
    fn read_by_hand(&mut self, conn: Conn);

    /// Reads up to `most` bytes of what is there; returns how many. After less than it asked for the application is told
    /// when more comes ([`Application::on_readable`]).
    fn read(&mut self, conn: Conn, most: u64) -> u64;

    /// Bytes read so far.
    fn received(&self, conn: Conn) -> u64;

    /// Segments that came ahead of others so far (`tcpi_rcv_ooopack` of Linux).
    fn out_of_order(&self, conn: Conn) -> u64;

    /// Bytes that were written and have not been sent yet.
    fn unsent(&self, conn: Conn) -> u64;

    /// Asks to be called ([`Application::on_writable`]) when there are at most `least` such bytes: once, and not before
    /// something has been heard of the other end.
    fn await_unsent(&mut self, conn: Conn, least: u64);

    /// Ends the stream of this end behind what was written (FIN); the other direction stays open.
    fn close(&mut self, conn: Conn);

    /// Ends the connection at once and forgets it: what was not sent or not read is lost, the peer is reset (RFC 9293
    /// §3.10.5).
    fn abort(&mut self, conn: Conn);

    /// Sends a datagram to the other end.
    fn send(&mut self, datagram: Datagram);

    /// Reports: transfer number `transfer` of this application begins, `bytes` long. Transfers are numbered from 0 by one end,
    /// without gaps.
    fn begun(&mut self, transfer: u64, bytes: u64);

    /// Reports: the last byte of the transfer has come.
    fn done(&mut self, transfer: u64);

    /// Reports: everything that this application will ever do is done.
    fn completed(&mut self);
}

/// What runs at one end of a flow. Every method but [`Application::due`] is called by the host when it has happened; those
/// that an application does not need it leaves out.
#[allow(unused_variables)]
pub trait Application: Send {
    /// A time of activity begins. Only the end that opens is told.
    fn begin(&mut self, host: &mut dyn Host) {}

    /// A time of activity ends, or with `last` the last one.
    fn pause(&mut self, host: &mut dyn Host, last: bool) {}

    /// When it wants to be called next; asked after every call. [`Time::NEVER`]: not.
    fn due(&self) -> Time {
        Time::NEVER
    }

    /// The time it named has come. What is due at the same time is done in this call: it is due later afterwards.
    fn on_due(&mut self, host: &mut dyn Host) {}

    /// Whether it accepts connections. Where it does not, who asks for one is reset.
    fn listens(&self) -> bool {
        true
    }

    /// How connections that it accepts are read at first.
    fn reading(&self) -> Reading {
        Reading::AtOnce
    }

    /// The other end's connection is established here.
    fn on_accepted(&mut self, host: &mut dyn Host, conn: Conn) {}

    /// The connection it opened is established.
    fn on_connected(&mut self, host: &mut dyn Host, conn: Conn) {}

    /// As much as it asked for by [`Host::receive`] has been read.
    fn on_received(&mut self, host: &mut dyn Host, conn: Conn) {}

    /// A message has been read to its end; this is its word.
    fn on_message(&mut self, host: &mut dyn Host, conn: Conn, word: u64) {}

    /// There is something to read again.
    fn on_readable(&mut self, host: &mut dyn Host, conn: Conn) {}

    /// So much has been sent that no more is left than it asked to be told of by [`Host::await_unsent`].
    fn on_writable(&mut self, host: &mut dyn Host, conn: Conn) {}

    /// The other end closed its direction, and everything before has been read. By default this end closes as well.
    fn on_closed(&mut self, host: &mut dyn Host, conn: Conn) {
        host.close(conn);
    }

    /// The connection failed; its name means nothing any more.
    fn on_failed(&mut self, host: &mut dyn Host, conn: Conn, why: Failure) {}

    /// A datagram came.
    fn on_datagram(&mut self, host: &mut dyn Host, datagram: Arrival) {}

    /// What it has measured up to `now`, by name, for the results.
    fn measures(&self, now: Time) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The pages that it has loaded, or is loading, for the results.
    fn pages(&self) -> Vec<web::report::Page> {
        Vec::new()
    }

    /// The objects of these, if it was asked to keep them.
    fn objects(&self) -> Vec<web::report::Object> {
        Vec::new()
    }
}

/// The ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// What it sends takes the way out.
    Source = 0,
    /// What it sends takes the way back.
    Sink = 1,
}

/// How many connections an application has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Connections {
    /// None: it sends datagrams.
    None,
    /// One for all its life; opening another fails.
    One,
    /// Any number, each with a transfer of its own; during a run about so many at most.
    Many(f64),
}

/// The applications of one flow and what to know of them.
pub struct Made {
    /// Those at the source and at the sink.
    pub ends: [Box<dyn Application>; 2],
    /// Which of them opens connections, and is told of the times of activity.
    pub opens: End,
    /// How many.
    pub connections: Connections,
    /// Bytes that it has under way at a time, at most or nearly so; none: any number.
    pub at_once: Option<u64>,
    /// All that it has to do happens in its first time of activity.
    pub once: bool,
    /// It consists of transfers, whose number and times the results summarise.
    pub in_transfers: bool,
}

/// What an application is made with besides its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Master seed and number of the replication.
    pub seed: (u64, u64),
    /// Name of the flow.
    pub flow: &'a str,
    /// Nothing happens after this.
    pub end: Time,
}

impl Setup<'_> {
    /// The random stream of this flow for `what`. It depends on nothing that happens.
    pub fn stream(&self, what: &str) -> Stream {
        Stream::named(self.seed.0, self.seed.1, &format!("flow {} {what}", self.flow))
    }

    /// The longest that anything can last.
    pub fn longest(&self) -> Span {
        Span(self.end.0)
    }
}
