//! What an application does when something is due, when its data has come, and when a stream has ended.

use super::App;
use crate::engine::Sim;
use crate::flow::snapshot;
use ackclock_core::packet::Packet;
use ackclock_core::time::{Span, Time};

impl Sim {
    /// The application with connection `c` does what is due.
    #[cold]
    pub(crate) fn act(&mut self, now: Time, c: usize) {
        if matches!(self.flows[c].app, App::Files(_)) {
            return self.open_transfers(now, c);
        }
        if self.flows[c].periods.due() <= now {
            if self.flows[c].periods.turn() {
                self.begin(now, c);
            } else {
                self.pause(now, c);
            }
        }
        if self.flows[c].periods.active() {
            self.tick(now, c);
        }
        self.conns[c].due = self.flows[c].due();
    }

    /// Packets, writes and requests whose time has come.
    fn tick(&mut self, now: Time, c: usize) {
        loop {
            match &mut self.flows[c].app {
                App::Writes(bytes, pulse) if pulse.next <= now => {
                    pulse.advance();
                    if let Some(endpoint) = &mut self.sides[2 * c].endpoint {
                        endpoint.tx.write(*bytes);
                    }
                }
                App::Datagrams(d) if d.pulse.next <= now => {
                    d.pulse.advance();
                    let id = self.spare;
                    let (packet, len, route) = (d.next_packet(now), d.wire, self.sides[2 * c].route);
                    let slot = self.slab.get_mut(id);
                    slot.packet = Packet::Datagram(packet);
                    slot.leaves(2 * c as u32, route);
                    self.spare = self.slab.reserve();
                    self.enter(now, route.first, id, len);
                }
                App::Requests(r) if r.next <= now => {
                    self.ask(now, c);
                    self.transmit(now, 2 * c + 1);
                }
                _ => return,
            }
        }
    }

    /// An interval of activity begins.
    fn begin(&mut self, now: Time, c: usize) {
        let flow = &mut self.flows[c];
        let first = !std::mem::replace(&mut self.conns[c].opened, true);
        let mut asks = false;
        match &mut flow.app {
            App::Bulk(bytes) => {
                if let Some(client) = &mut self.sides[2 * c].endpoint {
                    client.tx.write(bytes.unwrap_or(u64::MAX));
                    if bytes.is_some() {
                        client.close();
                    }
                }
            }
            App::Writes(_, pulse) => pulse.begin(now),
            App::Datagrams(d) => return d.pulse.begin(now),
            App::Requests(r) => {
                asks = true;
                if r.begun.is_none() && r.left > 0 {
                    r.next = now;
                }
            }
            App::Files(_) => {}
        }
        if first {
            let handshake = flow.handshake;
            self.connect(now, c, usize::from(asks), handshake);
        }
    }

    /// An interval of activity ends.
    fn pause(&mut self, now: Time, c: usize) {
        let flow = &mut self.flows[c];
        let last = flow.periods.over();
        let ends = match &mut flow.app {
            App::Bulk(_) => {
                if let Some(client) = &mut self.sides[2 * c].endpoint {
                    client.tx.stop();
                }
                last
            }
            App::Writes(..) => last,
            App::Requests(r) => {
                r.next = Time::NEVER;
                if last && r.begun.is_none() {
                    self.conclude(now, c);
                    self.transmit(now, 2 * c + 1);
                }
                false
            }
            App::Datagrams(_) | App::Files(_) => false,
        };
        if ends {
            if let Some(client) = &mut self.sides[2 * c].endpoint {
                client.close();
            }
        }
    }

    /// Side `side` of connection `c` opens it; the other waits for it.
    fn connect(&mut self, now: Time, c: usize, side: usize, handshake: bool) {
        let [Some(active), Some(passive)] = [side, side ^ 1].map(|s| self.sides[2 * c + s].endpoint.take()) else {
            return;
        };
        let (mut active, mut passive) = (active, passive);
        if handshake {
            passive.listen();
            active.connect();
        } else {
            passive.assume_established(now);
            active.assume_established(now);
        }
        self.sides[2 * c + side].endpoint = Some(active);
        self.sides[2 * c + (side ^ 1)].endpoint = Some(passive);
    }

    /// The transfers of group `g` that have arrived begin.
    fn open_transfers(&mut self, now: Time, g: usize) {
        loop {
            let App::Files(files) = &mut self.flows[g].app else { return };
            let c = files.next;
            let due = if c < files.end { self.conns[c].start } else { Time::NEVER };
            if due > now {
                self.conns[g].due = due;
                return;
            }
            files.next += 1;
            let (n, request, handshake) = (c - files.first, files.request, files.blueprint.handshake());
            let [Ok(mut source), Ok(mut sink)] = [0, 1].map(|side| files.blueprint.endpoint(n, side)) else {
                continue;
            };
            if request > 0 {
                sink.tx.write(request);
                self.sides[2 * c].watch = request;
            } else {
                source.tx.write(self.conns[c].bytes);
                source.close();
            }
            self.sides[2 * c].endpoint = Some(Box::new(source));
            self.sides[2 * c + 1].endpoint = Some(Box::new(sink));
            self.conns[c].opened = true;
            self.conns[c].cwnd_at = now;
            let active = usize::from(request > 0);
            self.connect(now, c, active, handshake);
            self.transmit(now, 2 * c + active);
        }
    }

    /// The client of `c` makes its next request.
    fn ask(&mut self, now: Time, c: usize) {
        let App::Requests(r) = &mut self.flows[c].app else { return };
        let request = r.draw(0, 1);
        r.size = r.draw(1, 1);
        (r.begun, r.next) = (Some(now), Time::NEVER);
        r.asked += request;
        r.answered = r.answered.saturating_add(r.size);
        self.sides[2 * c].watch = r.asked;
        self.sides[2 * c + 1].watch = r.answered;
        if let Some(client) = &mut self.sides[2 * c + 1].endpoint {
            client.tx.write(request);
        }
    }

    /// The last answer has come: the client closes.
    fn conclude(&mut self, now: Time, c: usize) {
        self.conns[c].completed.get_or_insert(now);
        if let Some(client) = &mut self.sides[2 * c + 1].endpoint {
            client.close();
        }
    }

    /// As much as the application waited for has come to `side`, or its peer has closed.
    #[cold]
    pub(crate) fn on_progress(&mut self, now: Time, side: usize) {
        let Some(endpoint) = &self.sides[side].endpoint else { return };
        let (closed, come) = (endpoint.peer_closed(), endpoint.rx.stats.delivered);
        if come >= self.sides[side].watch {
            self.sides[side].watch = u64::MAX;
            self.on_awaited(now, side);
        }
        if closed {
            // The receiver has everything: the flow is complete, and it closes its own direction.
            let conn = &mut self.conns[side / 2];
            if side & 1 == 1 && conn.completed.is_none() {
                conn.completed = Some(now);
            }
            if let Some(endpoint) = &mut self.sides[side].endpoint {
                endpoint.close();
            }
        }
    }

    fn on_awaited(&mut self, now: Time, side: usize) {
        let (c, source) = (side / 2, side & 1 == 0);
        let flow = &mut self.flows[self.conns[c].flow as usize];
        let active = flow.periods.active();
        let last = flow.periods.over();
        match &mut flow.app {
            // The request for a transfer.
            App::Files(_) => {
                let bytes = self.conns[c].bytes;
                if let Some(endpoint) = &mut self.sides[side].endpoint {
                    endpoint.tx.write(bytes);
                    endpoint.close();
                }
            }
            App::Requests(r) if source => {
                let size = r.size;
                if let Some(server) = &mut self.sides[side].endpoint {
                    server.tx.write(size);
                }
            }
            App::Requests(r) => {
                let Some(begun) = r.begun.take() else { return };
                r.done.push((begun, now, r.size));
                r.left -= 1;
                if r.left == 0 || last {
                    self.conclude(now, c);
                } else if active {
                    r.next = now + Span(r.draw(2, 0));
                    if r.next == now {
                        self.ask(now, c);
                    }
                }
                self.conns[c].due = self.flows[c].due();
                self.events.schedule(self.layout.sides + 2 * c as u32, self.conns[c].due);
            }
            _ => {}
        }
    }

    /// A packet came to a side without an endpoint: a datagram at its sink, or one late for a transfer that is over.
    #[cold]
    pub(crate) fn on_datagram(&mut self, now: Time, side: usize, id: u32) {
        let flow = &mut self.flows[self.conns[side / 2].flow as usize];
        let slot = self.slab.get(id);
        if let (App::Datagrams(d), Packet::Datagram(packet), false) = (&mut flow.app, &slot.packet, slot.copy) {
            d.arrived(now, packet);
        }
        self.slab.remove(id);
    }

    /// Counts the datagrams that the end of the run finds under way.
    pub(crate) fn count_datagrams(&mut self) {
        if !self.flows.iter().any(|f| matches!(f.app, App::Datagrams(_))) {
            return;
        }
        let (flows, conns, spare) = (&mut self.flows, &self.conns, self.spare);
        self.slab.each(|id, slot| {
            let Packet::Datagram(packet) = &slot.packet else { return };
            if id == spare || slot.copy {
                return;
            }
            let c = slot.side as usize / 2;
            if let App::Datagrams(d) = &mut flows[conns[c].flow as usize].app {
                d.under_way(packet);
            }
        });
    }

    /// Endpoints of a transfer that has ended on both sides go; their counters stay.
    #[cold]
    pub(crate) fn reap(&mut self, c: usize) {
        if c < self.flows.len() {
            return;
        }
        let [Some(source), Some(sink)] = [0, 1].map(|s| self.sides[2 * c + s].endpoint.as_deref()) else { return };
        if !(source.finished() && sink.finished()) {
            return;
        }
        let counters = snapshot(source, sink);
        let App::Files(files) = &mut self.flows[self.conns[c].flow as usize].app else { return };
        files.ended.add(&counters);
        for side in [2 * c, 2 * c + 1] {
            self.sides[side].endpoint = None;
        }
        while files.oldest < files.next && self.sides[2 * files.oldest].endpoint.is_none() {
            files.oldest += 1;
        }
    }
}
