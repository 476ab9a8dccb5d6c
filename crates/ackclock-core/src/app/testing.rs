//! A host for tests of applications: it notes what they do, and has what the test gives it.

use super::params::{Given, Problem, Value};
use super::registry::Entry;
use super::{Conn, Datagram, Host, Made, Setup};
use crate::time::Time;
use std::collections::BTreeMap;

/// One thing that an application did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Did {
    Open(Conn),
    Write(Conn, u64),
    Say(Conn, u64, u64),
    Cancel(Conn),
    Receive(Conn, u64),
    ReadByHand(Conn),
    AwaitUnsent(Conn, u64),
    Close(Conn),
    Abort(Conn),
    Send(Datagram),
    Begun(u64, u64),
    Done(u64),
    Completed,
}

/// The host.
#[derive(Debug, Default)]
pub struct Fake {
    pub now: Time,
    pub did: Vec<Did>,
    /// What the host says of any connection has not been sent.
    pub unsent: u64,
    /// Segments out of order on any connection.
    pub disorder: u64,
    /// Bytes that are there to be read, by connection.
    pub unread: BTreeMap<Conn, u64>,
    read: BTreeMap<Conn, u64>,
    opened: u64,
}

impl Fake {
    /// What applications are made with here.
    pub fn setup() -> Setup<'static> {
        Setup { seed: (1, 0), flow: "0", end: Time(1 << 60) }
    }

    fn make(entry: &Entry, values: &[(&str, Value)]) -> Result<Made, Problem> {
        let mut given = Given::default();
        for (name, value) in values {
            assert!(entry.params.iter().any(|p| p.name == *name), "{name}");
            given.insert(name, value.clone());
        }
        (entry.make)(&given, &Fake::setup())
    }

    /// The application with these parameters.
    pub fn made(entry: &Entry, values: &[(&str, Value)]) -> Made {
        Fake::make(entry, values).unwrap_or_else(|p| panic!("{}: {}", p.key, p.text))
    }

    /// What is wrong with these parameters.
    pub fn refused(entry: &Entry, values: &[(&str, Value)]) -> Problem {
        Fake::make(entry, values).err().expect("a problem")
    }

    /// Reads everything that is there.
    pub fn take_all(&mut self, conn: Conn) {
        self.read(conn, u64::MAX);
    }
}

impl Host for Fake {
    fn now(&self) -> Time {
        self.now
    }

    fn open(&mut self) -> Conn {
        let conn = Conn(self.opened);
        self.opened += 1;
        self.did.push(Did::Open(conn));
        conn
    }

    fn write(&mut self, conn: Conn, bytes: u64) {
        self.did.push(Did::Write(conn, bytes));
    }

    fn say(&mut self, conn: Conn, bytes: u64, word: u64) {
        self.did.push(Did::Say(conn, bytes, word));
    }

    fn cancel(&mut self, conn: Conn) {
        self.did.push(Did::Cancel(conn));
    }

    fn receive(&mut self, conn: Conn, bytes: u64) {
        self.did.push(Did::Receive(conn, bytes));
    }

    fn read_by_hand(&mut self, conn: Conn) {
        self.did.push(Did::ReadByHand(conn));
    }

    fn read(&mut self, conn: Conn, most: u64) -> u64 {
        let there = self.unread.entry(conn).or_default();
        let bytes = most.min(*there);
        *there -= bytes;
        *self.read.entry(conn).or_default() += bytes;
        bytes
    }

    fn received(&self, conn: Conn) -> u64 {
        self.read.get(&conn).copied().unwrap_or(0)
    }

    fn out_of_order(&self, _: Conn) -> u64 {
        self.disorder
    }

    fn unsent(&self, _: Conn) -> u64 {
        self.unsent
    }

    fn await_unsent(&mut self, conn: Conn, least: u64) {
        self.did.push(Did::AwaitUnsent(conn, least));
    }

    fn close(&mut self, conn: Conn) {
        self.did.push(Did::Close(conn));
    }

    fn abort(&mut self, conn: Conn) {
        self.did.push(Did::Abort(conn));
    }

    fn send(&mut self, datagram: Datagram) {
        self.did.push(Did::Send(datagram));
    }

    fn begun(&mut self, transfer: u64, bytes: u64) {
        self.did.push(Did::Begun(transfer, bytes));
    }

    fn done(&mut self, transfer: u64) {
        self.did.push(Did::Done(transfer));
    }

    fn completed(&mut self) {
        self.did.push(Did::Completed);
    }
}
