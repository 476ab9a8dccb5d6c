//! What an endpoint has ready enters the network.

use crate::engine::Sim;
use crate::flow::Side;
use ackclock_core::packet::Packet;
use ackclock_core::time::Time;

impl Sim {
    /// Sends what the endpoint has ready and sees to it that its timers are minded.
    #[inline(never)]
    pub(crate) fn transmit(&mut self, now: Time, side: usize) {
        self.transmit_with(now, side, false);
    }

    /// The same; where `trains` may go, what leaves later goes with it if it can: nothing else is to be done for it `now`.
    #[inline(always)]
    pub(crate) fn transmit_with(&mut self, now: Time, side: usize, trains: bool) {
        match self.send(now, side) {
            Some(last) => self.mind(now, side, last),
            None => self.pause(now, side, trains),
        }
    }

    /// Sends what the endpoint has ready. Returns by when it is to be woken and its window; none if the pacer holds back what
    /// may be next.
    #[inline(always)]
    fn send(&mut self, now: Time, side: usize) -> Option<(Time, u64)> {
        loop {
            let Side { endpoint: Some(endpoint), route, stamp, .. } = &mut self.sides[side] else {
                return Some((Time::NEVER, 0));
            };
            let id = self.spare;
            let slot = self.slab.get_mut(id);
            let Packet::Tcp(segment) = &mut slot.packet else {
                slot.packet = Packet::default();
                continue;
            };
            if !endpoint.poll_into(now, segment) {
                return Some((endpoint.deadline_bound(), endpoint.tx.cwnd()));
            }
            let held = endpoint.holds_back(now);
            let len = endpoint.wire_bytes(segment);
            let route = *route;
            slot.leaves(side as u32, route, *stamp);
            if let Some(one_way) = &mut self.one_way {
                one_way.left(now, id);
            }
            self.spare = self.slab.reserve();
            self.enter(now, route.first, id, len);
            if held {
                return None;
            }
        }
    }

    /// The endpoint has sent what it had: its timers are minded.
    #[inline(always)]
    fn mind(&mut self, now: Time, side: usize, (due, cwnd): (Time, u64)) {
        self.events.schedule(self.layout.sides + side as u32, due);
        if side & 1 == 0 {
            let c = side / 2;
            self.conns[c].note_window(now, cwnd, self.from);
            if self.probes.follows_flow_events() && c < self.flows.len() {
                let of = (c, self.flows[c].split.as_deref());
                self.probes.on_flow_event(now, of, &self.sides[side], &self.sides[side + 1]);
            }
        }
    }

    /// A segment of `side` left at `now`, and the pacer holds back what may be next: that leaves, too, at its own time, as
    /// long as `trains` may go on, and then the timers are minded.
    #[inline(never)]
    fn pause(&mut self, mut now: Time, side: usize, trains: bool) {
        let last = loop {
            let next = if trains { self.next_of_train(now, side) } else { None };
            let Some(endpoint) = &mut self.sides[side].endpoint else { return };
            if let Some(at) = next {
                now = at;
            } else if endpoint.pauses(now) {
                break (endpoint.deadline_bound(), endpoint.tx.cwnd());
            }
            if let Some(last) = self.send(now, side) {
                break last;
            }
        };
        self.mind(now, side, last);
    }
}
