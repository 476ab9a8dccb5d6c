//! What an application can do in a simulation.

use super::Talk;
use crate::engine::Sim;
use crate::flow::Transfer;
use ackclock_core::app::{Conn, Datagram, Host, Reading};
use ackclock_core::packet::Packet;
use ackclock_core::tcp::Endpoint;
use ackclock_core::time::Time;

/// Bits of an application's name for a connection that say its place.
const PLACE_BITS: u32 = 24;
/// The name of a connection that could not be opened has this place.
const NOWHERE: u64 = (1 << PLACE_BITS) - 1;

/// The name of the connection with this number of all, at place `c`.
pub(super) fn name(serial: u64, c: usize) -> u64 {
    (serial << PLACE_BITS) | c as u64
}

/// The host of the application at end `end` (0: the source) of flow number `flow`, during one call.
pub(super) struct VirtualHost<'a> {
    pub sim: &'a mut Sim,
    pub flow: usize,
    pub end: usize,
}

impl VirtualHost<'_> {
    /// The side that `conn` names, if it is still there.
    pub(super) fn side(&self, conn: Conn) -> Option<usize> {
        let side = 2 * (conn.0 & NOWHERE) as usize + self.end;
        let talk = self.sim.talks.get(side)?;
        (talk.there && talk.serial == conn.0 >> PLACE_BITS).then_some(side)
    }

    pub(super) fn endpoint(&mut self, conn: Conn) -> Option<(usize, &mut Endpoint)> {
        let side = self.side(conn)?;
        self.sim.sides[side].endpoint.as_deref_mut().map(|e| (side, e))
    }

    /// Does something to an endpoint that may make it send.
    pub(super) fn act(&mut self, conn: Conn, f: impl FnOnce(&mut Endpoint)) -> Option<usize> {
        let (side, endpoint) = self.endpoint(conn)?;
        f(endpoint);
        self.sim.work.send.push_back(side as u32);
        Some(side)
    }
}

impl Host for VirtualHost<'_> {
    fn now(&self) -> Time {
        self.sim.work.now
    }

    fn open(&mut self) -> Conn {
        let now = self.now();
        let end = self.end;
        let f = self.sim.leg_of(self.flow, end);
        let sim = &mut *self.sim;
        let serial = sim.work.serial;
        sim.work.serial += 1;
        let Some(c) = sim.take_place(now, f) else {
            let conn = name(serial, NOWHERE as usize);
            sim.work.refused.push_back((f as u32, end, conn));
            return Conn(conn);
        };
        sim.flows[f].opened += 1;
        sim.conns[c].cwnd_at = now;
        let handshake = sim.flows[f].handshake;
        for side in [2 * c + end, 2 * c + (end ^ 1)] {
            let opener = side & 1 == end;
            let app = sim.application(f, side & 1).and_then(|(f, end)| sim.flows[f].apps[end].as_ref());
            let by_hand = !opener && app.is_some_and(|app| app.reading() == Reading::ByHand);
            let refuses = app.is_some_and(|app| !app.listens());
            sim.talks[side] = Talk { serial, opener, there: true, by_hand, ..Talk::default() };
            sim.welcome_relay(f, side);
            let Some(endpoint) = &mut sim.sides[side].endpoint else { continue };
            if by_hand {
                endpoint.rx.read_by_hand();
            }
            match (handshake, opener) {
                (true, true) => endpoint.connect(),
                (true, false) if refuses => endpoint.refuse(),
                (true, false) => endpoint.listen(),
                (false, _) => {
                    endpoint.assume_established(now);
                    sim.work.tell.push_back(side as u32);
                }
            }
        }
        sim.work.send.push_back((2 * c + end) as u32);
        Conn(name(serial, c))
    }

    fn write(&mut self, conn: Conn, bytes: u64) {
        self.act(conn, |e| e.send(bytes));
    }

    fn say(&mut self, conn: Conn, bytes: u64, word: u64) {
        let mut end = 0;
        let side = self.act(conn, |e| {
            e.send(bytes.max(1));
            end = e.tx.offered();
        });
        if let Some(side) = side {
            // The word travels with the bytes: the other side learns it when it has read them.
            self.sim.talks[side ^ 1].messages.push_back((end, word));
            self.sim.set_watch(side ^ 1);
        }
    }

    fn cancel(&mut self, conn: Conn) {
        let mut end = 0;
        let side = self.act(conn, |e| {
            e.tx.stop();
            end = e.tx.offered();
        });
        if let Some(side) = side {
            self.sim.talks[side ^ 1].messages.retain(|m| m.0 <= end);
            self.sim.set_watch(side ^ 1);
        }
    }

    fn receive(&mut self, conn: Conn, bytes: u64) {
        let Some(side) = self.side(conn) else { return };
        let talk = &mut self.sim.talks[side];
        talk.asked = talk.asked.saturating_add(bytes);
        talk.mark = Some(talk.asked);
        self.sim.work.tell.push_back(side as u32);
    }

    fn read_by_hand(&mut self, conn: Conn) {
        let Some((side, endpoint)) = self.endpoint(conn) else { return };
        endpoint.rx.read_by_hand();
        self.sim.talks[side].by_hand = true;
        self.sim.set_watch(side);
    }

    fn read(&mut self, conn: Conn, most: u64) -> u64 {
        let now = self.now();
        let Some((side, endpoint)) = self.endpoint(conn) else { return 0 };
        let bytes = endpoint.rx.read(now, most);
        let work = &mut self.sim.work;
        work.send.push_back(side as u32);
        // Messages may have been read to their end, or the stream.
        work.tell.push_back(side as u32);
        self.sim.talks[side].hungry |= bytes < most;
        bytes
    }

    fn received(&self, conn: Conn) -> u64 {
        let endpoint = self.side(conn).and_then(|side| self.sim.sides[side].endpoint.as_deref());
        endpoint.map_or(0, |e| e.rx.stats.delivered - e.rx.unread())
    }

    fn out_of_order(&self, conn: Conn) -> u64 {
        let endpoint = self.side(conn).and_then(|side| self.sim.sides[side].endpoint.as_deref());
        endpoint.map_or(0, |e| e.rx.stats.out_of_order)
    }

    fn unsent(&self, conn: Conn) -> u64 {
        let endpoint = self.side(conn).and_then(|side| self.sim.sides[side].endpoint.as_deref());
        endpoint.map_or(0, |e| e.tx.unsent())
    }

    fn await_unsent(&mut self, conn: Conn, least: u64) {
        let Some(side) = self.side(conn) else { return };
        self.sim.talks[side].low = Some(least);
        self.sim.set_watch(side);
    }

    fn close(&mut self, conn: Conn) {
        self.act(conn, Endpoint::close);
    }

    fn abort(&mut self, conn: Conn) {
        if let Some(side) = self.act(conn, Endpoint::abort) {
            let talk = &mut self.sim.talks[side];
            (talk.there, talk.aborted) = (false, true);
        }
    }

    fn send(&mut self, datagram: Datagram) {
        let (now, side) = (self.now(), 2 * self.flow + self.end);
        let sim = &mut *self.sim;
        let Some(counters) = &mut sim.flows[self.flow].datagrams else { return };
        let packet = if self.end == 0 {
            counters.next_packet(now, datagram.payload, datagram.ecn)
        } else {
            ackclock_core::packet::Datagram::new(now, 0, datagram.payload, datagram.ecn)
        };
        let (id, route, stamp) = (sim.spare, sim.sides[side].route, sim.sides[side].stamp);
        let slot = sim.slab.get_mut(id);
        slot.packet = Packet::Datagram(packet);
        slot.leaves(side as u32, route, stamp);
        sim.spare = sim.slab.reserve();
        sim.enter(now, route.first, id, datagram.payload + datagram.headers);
    }

    fn begun(&mut self, transfer: u64, bytes: u64) {
        let start = self.now();
        let transfers = &mut self.sim.flows[self.flow].transfers;
        debug_assert_eq!(transfer, transfers.len() as u64, "transfers are numbered without gaps");
        transfers.push(Transfer { start, end: None, bytes });
    }

    fn done(&mut self, transfer: u64) {
        let now = self.now();
        if let Some(t) = self.sim.flows[self.flow].transfers.get_mut(transfer as usize) {
            t.end.get_or_insert(now);
        }
    }

    fn completed(&mut self) {
        let now = self.now();
        let sim = &mut *self.sim;
        sim.flows[self.flow].completed.get_or_insert(now);
        for f in sim.connected(self.flow) {
            for c in &sim.flows[f].open {
                sim.conns[*c as usize].complete(now);
            }
        }
    }
}
