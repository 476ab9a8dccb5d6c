//! The client: it begins pages, opens connections, requests objects and notes what comes when.

use super::MOST_FAILURES;
use super::load::Load;
use super::page::{Pages, Plan};
use super::policy::{Policy, Received, View};
use super::report::{Object, Outcome, Page};
use super::server::{answer, request};
use crate::app::{Application, Conn, Failure, Host};
use crate::time::{Span, Time};

/// In which way objects are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A connection for each object.
    Http10,
    /// One object after the other over each connection.
    Http11,
    /// All objects over one connection.
    H2,
}

/// What a client is told.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// See [`Protocol`].
    pub protocol: Protocol,
    /// Bytes of a request.
    pub request: u64,
    /// From the last byte of an object to when what it refers to is known.
    pub parse: Span,
    /// All connections are opened with the page.
    pub preopen: bool,
    /// Objects are bound to so many connections.
    pub fixed: Option<u32>,
    /// A page that is not done when the next is due is given up.
    pub abort: bool,
    /// Objects are reported.
    pub keep_objects: bool,
}

/// What a connection waits for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    First,
    /// The bytes that the policy wants to be told of, with so many behind them.
    Train(u64, u64),
    Last,
}

/// A place for a connection.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// None: there is none there now.
    conn: Option<Conn>,
    /// Its number among those of the page.
    number: u32,
    opened: Time,
    connected: Option<Time>,
    /// Nothing has been requested over it.
    fresh: bool,
    /// Segments that had come out of order on it when the last object was requested.
    disorder: u64,
    /// What is under way; of one for all objects nothing is noted here.
    busy: Option<(u32, Stage)>,
}

/// The client.
pub struct Client {
    options: Options,
    pages: Pages,
    policy: Box<dyn Policy>,
    /// To the first page.
    first: Span,
    /// Pages still to begin.
    left: u64,
    /// Number of the next page.
    number: u64,
    /// When it is due; none before the flow has begun.
    next: Option<Time>,
    active: bool,
    over: bool,
    load: Option<Load>,
    /// The page began later than it was due.
    deferred: bool,
    lines: Vec<Line>,
    /// Bytes of the page that came over connections which are not there any more.
    gone: u64,
    /// Connections opened for the page, failures of such, and what the policy said last.
    opened: u32,
    failures: u32,
    allowed: u32,
    reports: Vec<Page>,
    kept: Vec<Object>,
}

impl Client {
    /// One that begins with its first page after `first`, and loads `left`.
    pub fn new(options: Options, pages: Pages, policy: Box<dyn Policy>, first: Span, left: u64) -> Client {
        Client {
            options,
            pages,
            policy,
            first,
            left,
            number: 0,
            next: None,
            active: false,
            over: false,
            load: None,
            deferred: false,
            lines: Vec::new(),
            gone: 0,
            opened: 0,
            failures: 0,
            allowed: 1,
            reports: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Whether a page is to begin by `now`.
    fn is_due(&self, now: Time) -> bool {
        self.active && self.left > 0 && self.next.is_some_and(|next| next <= now)
    }

    /// Begins the next page, `late` if it should have begun before.
    fn begin_page(&mut self, host: &mut dyn Host, late: bool) {
        let now = host.now();
        let plan: Plan = self.pages.plan(self.number);
        let load = Load::new(self.number, now, &plan, self.options.parse, self.options.fixed);
        self.left -= 1;
        self.number += 1;
        self.next = Some(now + plan.interval);
        (self.deferred, self.opened, self.failures, self.allowed, self.gone) = (late, 0, 0, 1, 0);
        host.begun(load.number, load.size().1);
        self.load = Some(load);
        self.policy.begin(now);
        self.go_on(host);
    }

    fn open(&mut self, host: &mut dyn Host) {
        let (conn, opened) = (Some(host.open()), host.now());
        let line = Line { conn, number: self.opened, opened, connected: None, fresh: true, disorder: 0, busy: None };
        self.opened += 1;
        match self.lines.iter().position(|l| l.conn.is_none()) {
            Some(place) => self.lines[place] = line,
            None => self.lines.push(line),
        }
    }

    /// Requests what waits where there is room, and opens connections for the rest.
    fn go_on(&mut self, host: &mut dyn Host) {
        let Some(load) = &mut self.load else { return };
        let under_way = self.lines.iter().filter(|l| l.busy.is_some()).count() as u32;
        let open = self.lines.iter().filter(|l| l.conn.is_some()).count() as u32;
        let connected = self.lines.iter().filter(|l| l.conn.is_some() && l.connected.is_some()).count() as u32;
        let here: u64 = self.lines.iter().filter_map(|l| l.conn).map(|conn| host.received(conn)).sum();
        let (now, received) = (host.now(), self.gone + here);
        let view = View { now, open, connected, under_way, waiting: load.waiting() as u32, received };
        self.allowed = self.policy.connections(&view).max(1);
        let mut busy = under_way;
        for place in 0..self.lines.len() {
            let Line { conn: Some(conn), connected: Some(connected), opened, busy: None, .. } = self.lines[place]
            else {
                continue;
            };
            while busy < self.allowed || self.options.protocol == Protocol::H2 {
                let Some(object) = load.take(place) else { break };
                let line = &mut self.lines[place];
                load.requested(object, view.now, (line.number, opened, connected), line.fresh);
                line.fresh = false;
                line.disorder = host.out_of_order(conn);
                host.say(conn, self.options.request, request(object, load.bytes(object)));
                if self.options.protocol != Protocol::H2 {
                    line.busy = Some((object, Stage::First));
                    host.receive(conn, 1);
                    busy += 1;
                    break;
                }
            }
        }
        let needed = match (self.options.protocol, self.options.fixed) {
            (Protocol::H2, _) => 1,
            (_, Some(all)) => load.embedded().clamp(1, all),
            _ => self.allowed.min(load.waiting() as u32 + busy),
        };
        let wanted = if self.options.preopen && load.done() == 0 { needed.max(self.allowed) } else { needed };
        for _ in open..wanted {
            self.open(host);
        }
    }

    /// The last byte of an object has come.
    fn finish(&mut self, host: &mut dyn Host, place: usize, object: u32) {
        let Some(load) = &mut self.load else { return };
        let now = host.now();
        let line = &mut self.lines[place];
        line.busy = None;
        let out_of_order = line.conn.map_or(0, |conn| host.out_of_order(conn).saturating_sub(line.disorder));
        if self.options.protocol == Protocol::Http10 {
            self.gone += line.conn.take().map_or(0, |conn| host.received(conn));
        }
        let seen = load.times(object);
        load.finished(object, now);
        let under_way = self.lines.iter().filter(|l| l.busy.is_some()).count() as u32;
        let (requested, first_byte) = seen.unwrap_or((now, now));
        self.policy.received(&Received {
            now,
            bytes: load.bytes(object),
            requested,
            first_byte,
            out_of_order,
            under_way,
        });
        if load.complete() {
            host.done(load.number);
            self.end_page(host, Outcome::Completed, Some(object));
        } else {
            self.go_on(host);
        }
    }

    /// The page is over; `last` came last. The next one begins if it is due.
    fn end_page(&mut self, host: &mut dyn Host, outcome: Outcome, last: Option<u32>) {
        let Some(load) = self.load.take() else { return };
        let now = host.now();
        self.reports.push(self.report(&load, outcome, Some(now), last));
        if self.options.keep_objects {
            self.kept.extend(load.objects());
        }
        for conn in self.lines.drain(..).filter_map(|l| l.conn) {
            if outcome == Outcome::Completed {
                host.close(conn);
            } else {
                host.abort(conn);
            }
        }
        if self.left == 0 || self.over {
            host.completed();
        } else if self.is_due(now) {
            self.begin_page(host, self.next.is_some_and(|next| next < now));
        }
    }

    fn report(&self, load: &Load, outcome: Outcome, end: Option<Time>, last: Option<u32>) -> Page {
        let (objects, bytes) = load.size();
        Page {
            number: load.number,
            start: load.start,
            end,
            outcome,
            deferred: self.deferred,
            objects,
            bytes,
            done: load.done(),
            connections: self.opened,
            allowed: self.allowed,
            split: last.map(|object| load.split(object)),
        }
    }

    fn place(&self, conn: Conn) -> Option<usize> {
        self.lines.iter().position(|l| l.conn == Some(conn))
    }
}

impl Application for Client {
    fn begin(&mut self, host: &mut dyn Host) {
        self.active = true;
        let now = host.now();
        let next = self.next.map_or(now + self.first, |next| next.max(now));
        self.next = Some(next);
    }

    /// No further page begins; the present one may end.
    fn pause(&mut self, host: &mut dyn Host, last: bool) {
        (self.active, self.over) = (false, last);
        if last && self.load.is_none() {
            host.completed();
        }
    }

    fn due(&self) -> Time {
        let begins = self.active && self.left > 0 && (self.load.is_none() || self.options.abort);
        let next = self.next.filter(|_| begins).unwrap_or(Time::NEVER);
        self.load.as_ref().map_or(next, |load| load.due().min(next))
    }

    fn on_due(&mut self, host: &mut dyn Host) {
        let now = host.now();
        if let Some(load) = &mut self.load {
            load.wake(now);
            self.go_on(host);
            if self.options.abort && self.is_due(now) {
                self.end_page(host, Outcome::Aborted, None);
            }
        } else if self.is_due(now) {
            self.begin_page(host, false);
        }
    }

    fn on_connected(&mut self, host: &mut dyn Host, conn: Conn) {
        let Some(place) = self.place(conn) else { return };
        let line = &mut self.lines[place];
        line.connected = Some(host.now());
        self.policy.connected(host.now().since(line.opened));
        self.go_on(host);
    }

    fn on_received(&mut self, host: &mut dyn Host, conn: Conn) {
        let Some(place) = self.place(conn) else { return };
        let (Some((object, stage)), Some(load)) = (self.lines[place].busy, &mut self.load) else { return };
        let (now, bytes) = (host.now(), load.bytes(object));
        let more = match stage {
            Stage::First => {
                load.first_byte(object, now);
                let train = if object == 0 { self.policy.train().min(bytes).saturating_sub(1) } else { 0 };
                if train > 0 {
                    Some((Stage::Train(train, bytes - 1 - train), train))
                } else {
                    Some((Stage::Last, bytes - 1))
                }
            }
            Stage::Train(train, behind) => {
                if let Some((_, first)) = load.times(object) {
                    self.policy.came(train, now.since(first));
                }
                Some((Stage::Last, behind))
            }
            Stage::Last => None,
        };
        match more {
            Some((stage, n)) if n > 0 => {
                self.lines[place].busy = Some((object, stage));
                host.receive(conn, n);
            }
            _ => self.finish(host, place, object),
        }
    }

    /// Of a connection for all objects: the first or the last byte of one of them.
    fn on_message(&mut self, host: &mut dyn Host, conn: Conn, word: u64) {
        let Some(place) = self.place(conn) else { return };
        let (object, last) = answer(word);
        if last {
            self.finish(host, place, object);
        } else if let Some(load) = &mut self.load {
            load.first_byte(object, host.now());
        }
    }

    /// What was under way waits again; the connection is opened anew if something waits for one.
    fn on_failed(&mut self, host: &mut dyn Host, conn: Conn, _: Failure) {
        let Some(place) = self.place(conn) else { return };
        let Some(load) = &mut self.load else { return };
        let line = &mut self.lines[place];
        // Its name means nothing any more, and nothing is said of what came over it since the last look.
        line.conn = None;
        match (line.busy.take(), self.options.protocol) {
            (Some((object, _)), _) => load.lost(object, place),
            (None, Protocol::H2) => load.lost_all(),
            (None, _) => {}
        }
        self.policy.failed();
        self.failures += 1;
        if self.failures < MOST_FAILURES {
            self.go_on(host);
        } else {
            self.end_page(host, Outcome::Failed, None);
        }
    }

    fn pages(&self) -> Vec<Page> {
        let mut all = self.reports.clone();
        all.extend(self.load.as_ref().map(|load| self.report(load, Outcome::Unfinished, None, None)));
        all
    }

    fn objects(&self) -> Vec<Object> {
        let present = self.load.iter().filter(|_| self.options.keep_objects).flat_map(Load::objects);
        self.kept.iter().copied().chain(present).collect()
    }
}
