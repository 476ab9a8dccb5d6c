//! Trains of paced segments: departures that are known in advance leave together, each at its own time.
//!
//! Between two acknowledgments a paced sender is woken for nothing but its next segment. Where nothing can reach a sender
//! or its first link before that is due, it leaves in the same visit, at the time at which it is due: the link is solved on
//! arrival and takes it then. [`Sim::next_of_train`] is the one place where it is decided whether a train goes on or is
//! split; nothing is ever taken back. Nothing but time depends on it: a test plays runs both ways
//! ([ADR 0032](../../../docs/adr/0032-paced-trains.md)).

use crate::engine::Sim;
use crate::flow::Flow;
use crate::routes::{END, Route};
use crate::wire::Link;
use ackclock_core::time::{Span, Time};

/// Where and how far trains go.
#[derive(Debug, Default)]
pub(crate) struct Trains {
    /// The run is one of those in which there can be any.
    possible: bool,
    /// None goes beyond this.
    until: Time,
    /// Of each link and delay line: so long after a packet has come out of it nothing that it causes has reached a sender or
    /// the first element of its route.
    reach: Vec<Span>,
}

impl Sim {
    /// From now on every segment that the pacer held back is an event: for tests, which compare.
    pub fn split_trains(&mut self) {
        self.trains.possible = false;
    }

    /// Trains may go up to `until`.
    #[inline]
    pub(crate) fn let_trains_go(&mut self, until: Time) {
        self.trains.until = if self.trains.possible { until } else { Time::ZERO };
    }

    /// Finds out where there can be trains: where senders hear of nothing but acknowledgments, applications do not act for
    /// what arrives at the other end, and nobody watches the order in which events of several connections are handled.
    pub(crate) fn prepare_trains(&mut self) {
        let plain = |f: &Flow| f.kind == "bulk" && !f.many && f.datagrams.is_none() && f.split.is_none();
        let solved = |first: u32| matches!(self.links.get(first as usize), Some(Link::Fused(_)));
        let watched = self.probes.follows_flow_events() || self.taps.is_some();
        self.trains.possible = self.flows.iter().all(plain)
            && self.sides.iter().step_by(2).all(|client| solved(client.route.first))
            && self.others.is_empty()
            && !watched;
        if self.trains.possible {
            self.trains.reach = self.reach();
        }
    }

    /// See [`Trains::reach`].
    fn reach(&self) -> Vec<Span> {
        let firsts: Vec<u32> = self.sides.iter().step_by(2).map(|client| client.route.first).collect();
        let mut reach = vec![Span(u64::MAX); self.layout.sides as usize];
        for connection in self.sides.chunks_exact(2) {
            // What arrives at the server is answered.
            let mut at_end = Span::ZERO;
            for side in connection.iter().rev() {
                for element in self.elements(side.route).into_iter().rev() {
                    let least = &mut reach[element as usize];
                    *least = (*least).min(at_end);
                    at_end = if firsts.contains(&element) { Span::ZERO } else { at_end + self.least_delay(element) };
                }
            }
        }
        reach
    }

    fn elements(&self, route: Route) -> Vec<u32> {
        let behind = (route.next..).map(|at| self.routes.stop(at)).take_while(|stop| *stop != END);
        std::iter::once(route.first).chain(behind).collect()
    }

    /// No packet comes out of `element` sooner than so long after it went in.
    fn least_delay(&self, element: u32) -> Span {
        match self.links.get(element as usize) {
            Some(link) => link.least_delay(),
            None => self.delays[(element - self.layout.delays) as usize].delay(),
        }
    }

    /// When the next segment of `side` leaves if it goes with the one that has left at `now`.
    #[inline]
    pub(crate) fn next_of_train(&mut self, now: Time, side: usize) -> Option<Time> {
        let endpoint = self.sides[side].endpoint.as_mut()?;
        let at = endpoint.gate();
        let free = at <= self.trains.until && !self.events.is_behind(at);
        if !free || !endpoint.departs_next(now) || self.is_reached(now, at) {
            return None;
        }
        let (cwnd, conn) = (self.sides[side].endpoint.as_ref()?.tx.cwnd(), &mut self.conns[side / 2]);
        if cwnd != conn.cwnd {
            conn.note_window(now, cwnd, self.from);
        }
        Some(at)
    }

    /// Whether what comes out of links and delay lines may have reached a sender, or the first element of its route, at
    /// `at`.
    #[inline]
    fn is_reached(&self, now: Time, at: Time) -> bool {
        for (due, element) in self.events.busy() {
            if due > at {
                break;
            }
            // One that is being visited is due when its next packet is.
            let due = if due == now { self.due_of(element) } else { due };
            if due + self.trains.reach[element as usize] <= at {
                return true;
            }
        }
        false
    }

    fn due_of(&self, element: u32) -> Time {
        match self.links.get(element as usize) {
            Some(link) => link.next_due(),
            None => self.delays[(element - self.layout.delays) as usize].due(),
        }
    }
}
