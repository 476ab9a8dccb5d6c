//! Flows that a relay splits: its two hosts, whose application is at which side of a leg, what the relay is told.

use super::Relayed;
use super::virtual_host::{VirtualHost, name};
use crate::engine::Sim;
use crate::flow::Split;
use ackclock_core::app::relay::{Leg, Legs, News, Node, Relay};
use ackclock_core::app::{Conn, Failure};
use ackclock_core::tcp::endpoint::{self, State};
use ackclock_core::time::Time;

/// The hosts of both legs of a flow, with the numbers of the legs and of the node.
struct Both<'a> {
    host: VirtualHost<'a>,
    legs: [u32; 2],
    node: u32,
}

impl Legs for Both<'_> {
    fn at(&mut self, leg: usize) -> &mut dyn Leg {
        // Of the leg towards the source it is the sink, and the other way round.
        (self.host.flow, self.host.end) = (self.legs[leg] as usize, 1 - leg);
        &mut self.host
    }

    fn node(&mut self) -> &mut Node {
        &mut self.host.sim.nodes[self.node as usize]
    }
}

impl Leg for VirtualHost<'_> {
    fn arrived(&self, conn: Conn) -> u64 {
        let endpoint = self.side(conn).and_then(|side| self.sim.sides[side].endpoint.as_deref());
        endpoint.map_or(0, |e| e.rx.stats.delivered)
    }

    fn acknowledged(&self, conn: Conn) -> u64 {
        let endpoint = self.side(conn).and_then(|side| self.sim.sides[side].endpoint.as_deref());
        endpoint.map_or(0, |e| e.tx.acknowledged())
    }

    fn offer(&mut self, conn: Conn, room: u64) {
        let Some(side) = self.side(conn) else { return };
        let own = self.sim.talks[side].relayed.as_ref().map_or(u64::MAX, |r| r.own);
        self.act(conn, |e| e.rx.limit_offer(room.min(own)));
    }

    fn hold(&mut self, conn: Conn) {
        if let Some((_, endpoint)) = self.endpoint(conn) {
            endpoint.hold();
        }
    }

    fn release(&mut self, conn: Conn) {
        let now = self.sim.work.now;
        if let Some(side) = self.act(conn, |e| e.release(now)) {
            // It may be established by it.
            self.sim.work.tell.push_back(side as u32);
        }
    }
}

impl Sim {
    /// The flow whose connections the application at end `end` of flow number `f` has: the flow itself, or a leg.
    pub(super) fn leg_of(&self, f: usize, end: usize) -> usize {
        match self.flows[f].split.as_deref() {
            Some(Split::Whole(legs, ..)) => legs[end] as usize,
            _ => f,
        }
    }

    /// The application at end `end` of flow number `f`: of which flow, and at which end. None where a relay is.
    pub(super) fn application(&self, f: usize, end: usize) -> Option<(usize, usize)> {
        match self.flows[f].split.as_deref() {
            Some(Split::Leg(whole, which, _)) => (end == *which).then_some((*whole as usize, end)),
            _ => Some((f, end)),
        }
    }

    /// The flows that have the connections of flow number `f`.
    pub(crate) fn connected(&self, f: usize) -> Vec<usize> {
        match self.flows[f].split.as_deref() {
            Some(Split::Whole(legs, ..)) => legs.map(|leg| leg as usize).to_vec(),
            _ => vec![f],
        }
    }

    fn relay(&mut self, f: usize) -> Option<([u32; 2], u32, &mut Option<Relay>)> {
        match self.flows[f].split.as_deref_mut() {
            Some(Split::Whole(legs, relay, node)) => Some((*legs, *node, relay)),
            _ => None,
        }
    }

    /// A connection of flow number `f` begins at `side`, where there may be a relay.
    pub(super) fn welcome_relay(&mut self, f: usize, side: usize) {
        let Some(Split::Leg(_, which, buffer)) = self.flows[f].split.as_deref() else { return };
        if side & 1 == *which {
            return;
        }
        let client = !self.talks[side].opener;
        let Some(endpoint) = &mut self.sides[side].endpoint else { return };
        let own = endpoint.rx.room();
        endpoint.rx.limit_offer(own.min(*buffer));
        if client {
            endpoint.hold();
        }
        self.talks[side].relayed = Some(Box::new(Relayed { own, ..Relayed::default() }));
        self.sides[side].watch = 0;
    }

    /// Calls the relay of flow number `whole`.
    fn call_relay(&mut self, now: Time, whole: usize, call: impl FnOnce(&mut Relay, &mut dyn Legs)) {
        let Some((legs, node, place)) = self.relay(whole) else { return };
        let Some(mut relay) = place.take() else { return };
        self.work.now = now;
        call(&mut relay, &mut Both { host: VirtualHost { sim: self, flow: whole, end: 0 }, legs, node });
        // The event of the first leg, which has nothing else that is due by itself.
        let (leg, due) = (legs[0] as usize, relay.due());
        if let Some((.., place)) = self.relay(whole) {
            *place = Some(relay);
        }
        if self.conns[leg].due != due {
            self.conns[leg].due = due;
            self.events.schedule(self.layout.sides + 2 * leg as u32, due);
        }
    }

    /// Something is due at flow number `f`, if that is a leg: by its relay.
    pub(super) fn on_relay_due(&mut self, now: Time, f: usize) -> bool {
        let Some(Split::Leg(whole, ..)) = self.flows[f].split.as_deref() else { return false };
        self.call_relay(now, *whole as usize, |relay, legs| relay.on_due(legs, now));
        self.settle(now, 2 * f);
        true
    }

    /// Tells the relay at `side` what has happened there.
    pub(super) fn tell_relay(&mut self, now: Time, side: usize) {
        let Some(Split::Leg(whole, which, _)) = self.flows[self.conns[side / 2].flow as usize].split.as_deref() else {
            return;
        };
        let (whole, which) = (*whole as usize, *which);
        while let Some(news) = self.relay_news(now, side) {
            let conn = Conn(name(self.talks[side].serial, side / 2));
            self.call_relay(now, whole, |relay, legs| relay.on_news(legs, which, conn, news));
        }
    }

    /// The next thing that the relay at `side` has not been told.
    fn relay_news(&mut self, now: Time, side: usize) -> Option<News> {
        let endpoint = self.sides[side].endpoint.as_deref_mut()?;
        let talk = &mut self.talks[side];
        endpoint.take_news();
        let relayed = talk.relayed.as_mut().filter(|_| talk.there)?;
        if let Some(failure) = endpoint.failure() {
            talk.there = false;
            return Some(News::Failed(match failure {
                endpoint::Failure::Connect => Failure::Connect,
                endpoint::Failure::Timeout => Failure::Timeout,
                endpoint::Failure::Reset => Failure::Reset,
            }));
        }
        if endpoint.holds() && !relayed.held {
            relayed.held = true;
            return Some(News::Held);
        }
        if !talk.established && endpoint.state() == State::Established {
            talk.established = true;
            return Some(News::Established);
        }
        let arrived = endpoint.rx.stats.delivered;
        if let Some((end, word)) = talk.messages.front().copied().filter(|m| m.0 <= arrived) {
            talk.messages.pop_front();
            return Some(News::Message(end, word));
        }
        let seen = (arrived, endpoint.tx.acknowledged());
        if seen != relayed.seen {
            relayed.seen = seen;
            return Some(News::Moved);
        }
        if !talk.closed && endpoint.peer_closed() {
            talk.closed = true;
            if side & 1 == 1 {
                self.conns[side / 2].complete(now);
            }
            return Some(News::Closed);
        }
        None
    }
}
