//! What applications are told, and when.

use super::acting::Acting;
use super::{Agent, Work};
use crate::sys::tcp;
use ackclock_core::app::{Application, Conn, Failure, Host};
use ackclock_core::time::Time;

/// What an application is told of a connection.
#[derive(Clone, Copy, Debug)]
enum News {
    Connected,
    Accepted,
    Message(u64),
    Received,
    Readable,
    Writable,
    Closed,
    Failed(Failure),
}

impl Agent<'_> {
    /// Calls the application at end `end` of flow number `flow`.
    pub(super) fn call(&mut self, flow: usize, end: usize, call: impl FnOnce(&mut dyn Application, &mut dyn Host)) {
        let Some(mut app) = self.flows[flow].applications[end].take() else { return };
        call(&mut *app, &mut Acting { agent: self, flow, end });
        self.flows[flow].applications[end] = Some(app);
    }

    /// What is due at the ends of flow number `flow` happens.
    pub(super) fn on_due(&mut self, flow: usize) {
        let now = self.now;
        if self.flows[flow].periods.due() <= now {
            let opens = self.flows[flow].opens;
            if self.flows[flow].periods.turn() {
                self.flows[flow].began = true;
                self.call(flow, opens, |app, host| app.begin(host));
            } else {
                let last = self.flows[flow].periods.over();
                self.call(flow, opens, |app, host| app.pause(host, last));
            }
        }
        for end in 0..2 {
            if self.flows[flow].applications[end].as_ref().is_some_and(|app| app.due() <= now) {
                self.call(flow, end, |app, host| app.on_due(host));
            }
        }
    }

    /// When the first of all flows has something due.
    pub(super) fn due(&self) -> Time {
        self.flows.iter().map(|f| f.due()).min().unwrap_or(Time::NEVER)
    }

    /// Does what calls have left to be done.
    pub(super) fn settle(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Tell(number) => self.tell(number as usize),
                Work::Write(number) => {
                    self.write(number as usize);
                    self.reap(number as usize / 2);
                }
                Work::Refused(flow, end, name) => {
                    self.call(flow as usize, end, |app, host| app.on_failed(host, Conn(name), Failure::Connect));
                }
            }
        }
    }

    /// Writes what calls have left to be written, so that it leaves before what comes next.
    pub(super) fn write_out(&mut self) {
        let written = |work: &Work| if let Work::Write(number) = work { Some(*number as usize) } else { None };
        let waiting: Vec<usize> = self.work.iter().filter_map(written).collect();
        for number in waiting {
            // The work stays: it also looks whether the connection is over.
            self.write(number);
        }
    }

    fn tell(&mut self, number: usize) {
        let (flow, end) = (self.connections[number / 2].flow as usize, number % 2);
        let conn = Conn(number as u64 / 2);
        while let Some(news) = self.news(number) {
            self.call(flow, end, |app, host| match news {
                News::Connected => app.on_connected(host, conn),
                News::Accepted => app.on_accepted(host, conn),
                News::Message(word) => app.on_message(host, conn, word),
                News::Received => app.on_received(host, conn),
                News::Readable => app.on_readable(host, conn),
                News::Writable => app.on_writable(host, conn),
                News::Closed => app.on_closed(host, conn),
                News::Failed(why) => {
                    app.on_failed(host, conn, why);
                }
            });
            if let News::Failed(why) = news {
                self.failed(number, why);
            }
        }
        self.watch(number);
        self.reap(number / 2);
    }

    /// The connection of side `number` failed: its socket is of no more use.
    fn failed(&mut self, number: usize, why: Failure) {
        self.note(number / 2);
        let text = match why {
            Failure::Connect => "no answer to the connection request",
            Failure::Timeout => "the same segment timed out too often",
            Failure::Reset => "reset by the peer",
        };
        let flow = self.connections[number / 2].flow as usize;
        // A reset that this agent itself asked for is no failure of the network.
        let aborted = !self.connections[number / 2].sides[(number % 2) ^ 1].there;
        if !aborted {
            let failed = &mut self.flows[flow].failed;
            *failed = Some((failed.map_or(text, |f| f.0), failed.map_or(0, |f| f.1) + 1));
        }
        self.side(number).socket = None;
        let other = self.side(number ^ 1);
        // A request that was never answered has no other end.
        if other.socket.is_none() {
            other.there = false;
        }
    }

    /// Bytes that were written at side `number` and have not been sent yet.
    pub(super) fn unsent(&self, number: usize) -> u64 {
        let side = &self.connections[number / 2].sides[number % 2];
        side.pending.saturating_add(side.socket.as_ref().map_or(0, tcp::unsent))
    }

    /// The next thing that the application at side `number` has not been told.
    fn news(&mut self, number: usize) -> Option<News> {
        let low = self.side(number).low;
        let drained = low.is_some_and(|low| self.side(number).established && self.unsent(number) <= low);
        let side = self.side(number);
        if !side.there {
            return None;
        }
        if let Some(failure) = side.failure {
            side.there = false;
            return Some(News::Failed(failure));
        }
        if !side.told && side.established {
            side.told = true;
            return Some(if side.opener { News::Connected } else { News::Accepted });
        }
        if !side.told {
            return None;
        }
        if let Some(&(_, word)) = side.messages.front().filter(|m| m.0 <= side.read) {
            side.messages.pop_front();
            return Some(News::Message(word));
        }
        if side.mark.is_some_and(|mark| mark <= side.read) {
            side.mark = None;
            return Some(News::Received);
        }
        let unread = if side.by_hand { side.socket.as_ref().map_or(0, tcp::unread) } else { 0 };
        if side.hungry && unread > 0 {
            side.hungry = false;
            return Some(News::Readable);
        }
        if drained {
            side.low = None;
            return Some(News::Writable);
        }
        if !side.closed && side.ended && unread == 0 {
            side.closed = true;
            return Some(News::Closed);
        }
        None
    }
}
