//! A flow: two applications, and their connections.

use super::totals::Totals;
use ackclock_core::app::{Application, Connections};
use ackclock_core::time::Time;
use ackclock_run::others::Others;
use ackclock_run::periods::Periods;
use ackclock_run::ways::{self, Path};
use ackclock_run::{Run, SpecError, spec};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;

/// A flow.
pub struct Flow {
    /// Name.
    pub id: String,
    /// The flow that it is a leg of: its applications are that one's.
    pub leg_of: Option<usize>,
    /// Its application's.
    pub kind: &'static str,
    /// Its controller's in the document.
    pub controller: String,
    /// When the source becomes active first.
    pub start: Time,
    /// When it is active.
    pub periods: Periods,
    /// The applications at its two ends; none while it is called.
    pub applications: [Option<Box<dyn Application>>; 2],
    /// Which of them opens connections.
    pub opens: usize,
    /// It has become active.
    pub began: bool,
    /// It opens as many connections as it needs, not one.
    pub many: bool,
    /// It consists of transfers.
    pub in_transfers: bool,
    /// Payload of its datagrams, if it sends such.
    pub datagrams: Option<spec::Datagrams>,
    /// Numbers of its connections that are not over.
    pub open: Vec<u32>,
    /// How many it has opened.
    pub opened: u64,
    /// Counters of those that are over.
    pub ended: Totals,
    /// Counters at the begin of the measurement.
    pub baseline: Totals,
    /// Why the first of those that failed did, and how many did.
    pub failed: Option<(&'static str, usize)>,
    /// What its applications reported: when transfers began and ended, and their bytes.
    pub transfers: Vec<(Time, Option<Time>, u64)>,
    /// When they reported that everything is done.
    pub completed: Option<Time>,
    /// What the way would take at best.
    pub path: Path,
    /// Datagrams: payload sent and received since the start, and within the measurement.
    pub payload: [u64; 4],
    /// When the last one came.
    pub last: Time,
}

impl Flow {
    /// That of `f`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn of(f: &spec::Flow, run: &Run, others: &Others, path: &str) -> Result<Flow, SpecError> {
        let f = &ways::drawn(f, run);
        let start = ways::start(f, run);
        let periods = Periods::of(f, start, path)?;
        let made = spec::made(f, run, path)?;
        let start = periods.all().first().map_or(start, |p| p.0);
        let datagrams = f.app.datagrams();
        Ok(Flow {
            id: f.id.clone(),
            leg_of: None,
            kind: f.app.entry(path)?.kind,
            controller: if datagrams.is_some() { "none".to_owned() } else { f.cc.name.clone() },
            start,
            periods,
            applications: made.ends.map(Some),
            opens: made.opens as usize,
            began: false,
            many: matches!(made.connections, Connections::Many(_)),
            in_transfers: made.in_transfers,
            datagrams,
            open: Vec::new(),
            opened: 0,
            ended: Totals::default(),
            baseline: Totals::default(),
            failed: None,
            transfers: Vec::new(),
            completed: None,
            path: ways::best(f, run, others),
            payload: [0; 4],
            last: Time::ZERO,
        })
    }

    /// It is a leg of flow number `whole`: nothing happens at its ends by itself.
    pub fn be_leg(&mut self, whole: usize) {
        self.leg_of = Some(whole);
        (self.applications, self.periods, self.began, self.in_transfers) =
            ([None, None], Periods::new(Vec::new()), true, false);
    }

    /// When something happens at its ends by itself.
    pub fn due(&self) -> Time {
        let of = |end: usize| self.applications[end].as_ref().map_or(Time::NEVER, |app| app.due());
        self.periods.due().min(of(0)).min(of(1))
    }

    /// When it was over: everything that it will ever send is delivered by then.
    pub fn over(&self, end: Time) -> Option<Time> {
        if !self.many {
            return self.completed;
        }
        let more = self.applications[self.opens].as_ref().is_some_and(|app| app.due().is_set());
        let paused = !self.periods.active() && self.periods.due() <= end;
        if more || paused || self.transfers.iter().any(|t| t.1.is_none()) {
            return None;
        }
        self.transfers.iter().filter_map(|t| t.1).max()
    }
}

/// One end of a connection, as its application sees it, and its socket.
#[derive(Debug, Default)]
pub struct Side {
    /// None: the other end's request has not come yet, or the connection is over.
    pub socket: Option<OwnedFd>,
    /// This end opened it.
    pub opener: bool,
    /// The application knows of it and it is not over.
    pub there: bool,
    /// The application has been told that it is established.
    pub told: bool,
    /// The handshake is done.
    pub established: bool,
    /// The application reads by itself.
    pub by_hand: bool,
    /// It asked for more than there was and waits.
    pub hungry: bool,
    /// Bytes to be written still; `u64::MAX` without end.
    pub pending: u64,
    /// Bytes that the socket has taken.
    pub written: u64,
    /// The socket has no room.
    pub blocked: bool,
    /// The stream ends behind what is to be written.
    pub closing: bool,
    /// It has ended.
    pub shut: bool,
    /// Bytes read.
    pub read: u64,
    /// Bytes that the application asked to be told of, all together, and when that is.
    pub asked: u64,
    /// See `asked`.
    pub mark: Option<u64>,
    /// Words that come with the bytes up to here.
    pub messages: VecDeque<(u64, u64)>,
    /// So few unsent bytes the application wants to be told of.
    pub low: Option<u64>,
    /// The other end's stream has ended behind what was read or waits.
    pub ended: bool,
    /// The application knows that.
    pub closed: bool,
    /// Why it failed.
    pub failure: Option<ackclock_core::app::Failure>,
    /// What the system waits for at its socket.
    pub interest: u32,
}

impl Side {
    /// Bytes that were written and of which the socket has not taken any.
    pub fn offered(&self) -> u64 {
        self.written.saturating_add(self.pending)
    }

    /// Everything is said and heard.
    pub fn over(&self) -> bool {
        (self.shut && self.ended && self.closed) || self.failure.is_some() || (!self.there && self.socket.is_none())
    }
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// Number of its flow.
    pub flow: u32,
    /// From which port it was opened.
    pub port: u16,
    /// Source and sink.
    pub sides: [Side; 2],
    /// Its last counters.
    pub totals: Totals,
}
