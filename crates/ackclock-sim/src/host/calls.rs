//! When applications are called, and what their calls leave to be done.

use super::NO_SIDE;
use super::virtual_host::{VirtualHost, name};
use crate::engine::Sim;
use ackclock_core::app::{Application, Arrival, Conn, Failure, Host};
use ackclock_core::packet::{Ecn, Packet};
use ackclock_core::tcp::endpoint::{self, State};
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

impl Sim {
    /// Calls the application at end `end` of flow number `f`.
    pub(super) fn call(
        &mut self,
        now: Time,
        f: usize,
        end: usize,
        call: impl FnOnce(&mut dyn Application, &mut dyn Host),
    ) {
        let Some(mut app) = self.flows[f].apps[end].take() else { return };
        self.work.now = now;
        call(&mut *app, &mut VirtualHost { sim: self, flow: f, end });
        self.flows[f].apps[end] = Some(app);
        let due = self.app_due(now, f);
        self.conns[f].due = due;
        self.events.schedule(self.layout.sides + 2 * f as u32, due);
    }

    /// Something is due at an end of flow number `f`.
    #[cold]
    pub(crate) fn on_app_due(&mut self, now: Time, f: usize) {
        if self.on_relay_due(now, f) {
            return;
        }
        let flow = &mut self.flows[f];
        if flow.periods.due() <= now {
            let opens = flow.opens;
            if flow.periods.turn() {
                flow.began = true;
                self.call(now, f, opens, |app, host| app.begin(host));
            } else {
                let last = flow.periods.over();
                self.call(now, f, opens, |app, host| app.pause(host, last));
            }
        }
        for end in 0..2 {
            if self.flows[f].apps[end].as_ref().is_some_and(|app| app.due() <= now) {
                self.call(now, f, end, |app, host| app.on_due(host));
            }
        }
        // The source's side is looked at next in any case.
        self.settle(now, 2 * f);
    }

    /// When something is due at the ends of `f`: what an application wants at once again is due a nanosecond later.
    fn app_due(&self, now: Time, f: usize) -> Time {
        let flow = &self.flows[f];
        let due = flow.due();
        if due <= now && flow.periods.due() > now { Time(now.0 + 1) } else { due }
    }

    /// Something may have happened at `side` that its application is to know. True when its endpoint may have something to
    /// send then.
    #[cold]
    pub(crate) fn on_progress(&mut self, now: Time, side: usize) -> bool {
        let watch = self.sides[side].watch;
        let looked_for =
            self.sides[side].endpoint.as_ref().is_some_and(|e| e.peer_closed() || e.rx.stats.delivered >= watch);
        self.tell(now, side);
        self.settle(now, side) || looked_for
    }

    /// Tells the application at `side` what has happened there.
    fn tell(&mut self, now: Time, side: usize) {
        if self.talks[side].relayed.is_some() {
            return self.tell_relay(now, side);
        }
        let (f, end) = (self.conns[side / 2].flow as usize, side & 1);
        let Some((f, end)) = self.application(f, end) else { return };
        while let Some(news) = self.news(now, side) {
            let conn = Conn(name(self.talks[side].serial, side / 2));
            self.call(now, f, end, |app, host| match news {
                News::Connected => app.on_connected(host, conn),
                News::Accepted => app.on_accepted(host, conn),
                News::Message(word) => app.on_message(host, conn, word),
                News::Received => app.on_received(host, conn),
                News::Readable => app.on_readable(host, conn),
                News::Writable => app.on_writable(host, conn),
                News::Closed => app.on_closed(host, conn),
                News::Failed(why) => app.on_failed(host, conn, why),
            });
        }
        self.set_watch(side);
    }

    /// The next thing that the application at `side` has not been told.
    fn news(&mut self, now: Time, side: usize) -> Option<News> {
        let endpoint = self.sides[side].endpoint.as_deref_mut()?;
        let talk = &mut self.talks[side];
        endpoint.take_news();
        if !talk.there {
            return None;
        }
        if let Some(failure) = endpoint.failure() {
            talk.there = false;
            return Some(News::Failed(match failure {
                endpoint::Failure::Connect => Failure::Connect,
                endpoint::Failure::Timeout => Failure::Timeout,
                endpoint::Failure::Reset => Failure::Reset,
            }));
        }
        if !talk.established && endpoint.state() == State::Established {
            talk.established = true;
            return Some(if talk.opener { News::Connected } else { News::Accepted });
        }
        let (come, unread) = (endpoint.rx.stats.delivered, endpoint.rx.unread());
        let read = come - unread;
        if let Some(&(_, word)) = talk.messages.front().filter(|m| m.0 <= read) {
            talk.messages.pop_front();
            return Some(News::Message(word));
        }
        if talk.mark.is_some_and(|mark| mark <= read) {
            talk.mark = None;
            return Some(News::Received);
        }
        if talk.hungry && unread > 0 {
            talk.hungry = false;
            return Some(News::Readable);
        }
        if talk.low.is_some_and(|low| endpoint.tx.unsent() <= low) {
            talk.low = None;
            return Some(News::Writable);
        }
        if !talk.closed && endpoint.peer_closed() && unread == 0 {
            talk.closed = true;
            if side & 1 == 1 {
                self.conns[side / 2].complete(now);
            }
            return Some(News::Closed);
        }
        None
    }

    /// Sets the number of delivered bytes at which the application of `side` is looked at next.
    pub(super) fn set_watch(&mut self, side: usize) {
        let talk = &self.talks[side];
        let Some(endpoint) = &self.sides[side].endpoint else { return };
        self.sides[side].watch = if talk.low.is_some() || talk.relayed.is_some() {
            // Acknowledgments make room, and every segment may bring one.
            0
        } else if talk.by_hand {
            // What it waits for it reads itself.
            if talk.hungry { endpoint.rx.stats.delivered + 1 } else { u64::MAX }
        } else {
            talk.mark.unwrap_or(u64::MAX).min(talk.messages.front().map_or(u64::MAX, |m| m.0))
        };
    }

    /// Does what calls of applications have left: further calls, then segments, in the order in which they were asked for.
    /// `except` sends by itself afterwards; true when it has been asked to. Where others were asked after it, it sends here,
    /// before them.
    pub(super) fn settle(&mut self, now: Time, except: usize) -> bool {
        let mut asked = false;
        loop {
            if let Some((f, end, conn)) = self.work.refused.pop_front() {
                self.call(now, f as usize, end, |app, host| app.on_failed(host, Conn(conn), Failure::Connect));
            } else if let Some(side) = self.work.tell.pop_front() {
                self.tell(now, side as usize);
            } else if let Some(side) = self.work.send.pop_front() {
                let side = side as usize;
                // Once for all that it was asked for.
                self.work.send.retain(|other| *other as usize != side);
                asked |= side == except;
                if side != except || !self.work.send.is_empty() {
                    self.transmit(now, side);
                }
                if side != except {
                    self.reap(now, side / 2);
                }
            } else {
                return asked;
            }
        }
    }

    /// A packet came to a side without an endpoint, or one that is no segment: a datagram at its sink, or one late for a
    /// connection that is over.
    #[cold]
    pub(crate) fn on_datagram(&mut self, now: Time, side: usize, id: u32) {
        let f = self.conns[side / 2].flow as usize;
        let slot = *self.slab.get(id);
        self.slab.remove(id);
        let (Packet::Datagram(packet), false) = (slot.packet, slot.copy) else { return };
        let Some(counters) = &mut self.flows[f].datagrams else { return };
        if side & 1 == 1 {
            counters.arrived(now, &packet);
        }
        let arrival = Arrival { payload: packet.len, sent: packet.sent(), marked: packet.ecn == Ecn::Ce };
        self.call(now, f, side & 1, |app, host| app.on_datagram(host, arrival));
        self.settle(now, NO_SIDE);
    }
}
