//! The simulator's host: applications act on endpoints and links in virtual time.
//!
//! * [`virtual_host`]: what an application can do
//! * [`calls`]: when it is called, and what its calls leave to be done
//! * [`connections`]: places of connections, taken when they are opened and given back when they are over
//! * [`relays`]: flows that a relay splits
//! * [`datagrams`]: what is counted of datagrams
//!
//! An application's calls into the host change endpoints; what follows from them (segments, calls to applications) happens
//! when it has returned, in the order in which it asked for it.

mod calls;
mod connections;
mod datagrams;
mod relays;
mod virtual_host;

use ackclock_core::time::Time;
use std::collections::VecDeque;

pub use connections::{Blueprint, Maker};
pub use datagrams::Datagrams;

/// No side: see [`Host::settle`](crate::engine::Sim).
pub(crate) const NO_SIDE: usize = usize::MAX;

/// What an application and its host have to say to each other of one side of a connection.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// Number of the connection among all of the run; with its place the application's name for it.
    pub serial: u64,
    /// This side opened it.
    pub opener: bool,
    /// There is a connection, and the application has not been told that it failed, nor given it up.
    pub there: bool,
    /// The application gave it up: that the other side is reset then is no failure.
    pub aborted: bool,
    /// What the application has been told.
    pub established: bool,
    /// See `established`.
    pub closed: bool,
    /// It reads by hand, and found less than it asked for.
    pub by_hand: bool,
    /// See `by_hand`.
    pub hungry: bool,
    /// Position up to which it wants to be told of what was read; none: it does not.
    pub mark: Option<u64>,
    /// The last such position.
    pub asked: u64,
    /// It wants to be told when no more than this is unsent.
    pub low: Option<u64>,
    /// Ends of the messages that are coming, and their words.
    pub messages: VecDeque<(u64, u64)>,
    /// A relay is here: what it knows of the connection.
    pub relayed: Option<Box<Relayed>>,
}

/// What a relay has been told of one side of a connection.
#[derive(Debug, Default)]
pub(crate) struct Relayed {
    /// Room that the endpoint has by its own options, bytes.
    pub own: u64,
    /// It has been told that the handshake waits.
    pub held: bool,
    /// Bytes arrived and acknowledged.
    pub seen: (u64, u64),
}

/// What calls of applications have left to be done.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Sides whose applications may have something to be told.
    pub tell: VecDeque<u32>,
    /// Sides that may have something to send.
    pub send: VecDeque<u32>,
    /// Connections that could not be opened: flow, end and name.
    pub refused: VecDeque<(u32, usize, u64)>,
    /// Connections opened so far.
    pub serial: u64,
    /// Places that can be used again, the one that has been free for longest first.
    pub free: VecDeque<u32>,
    /// When the present call happens.
    pub now: Time,
}
