//! Weighted fair queueing: the packet that would leave the fluid system first is next.
//!
//! Demers, Keshav and Shenker, Analysis and simulation of a fair queueing algorithm, SIGCOMM 1989 (equal weights, "bit
//! rounds"); Parekh and Gallager 1993 (packet GPS). Virtual time is exact: `gps.rs`.

use super::flows::{Flows, reach};
use super::gps::Gps;
use super::heap::Heap;
use super::weights::{Share, Weights};
use super::{DROP, DROP_END, Discipline, Fair, PER_FLOW_LIMIT, Scheduler};
use crate::packet::Parcel;
use crate::time::Time;

pub(super) const ENTRY: Discipline = Discipline {
    name: "wfq",
    source: "Demers, Keshav and Shenker, SIGCOMM 1989; Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3), 1993",
    summary: "packet GPS: the packet that would leave a fluid fair server first is next",
    params: &[DROP, DROP_END, PER_FLOW_LIMIT],
    default_limit: None,
    build: |p, site| {
        let weights = Weights::new(&site)?;
        let tags = Tags::new(Gps::new(&site, &weights)?, weights);
        Fair::boxed(p, &site, ByTags::new(tags, Finish::default()))
    },
};

#[derive(Clone, Copy, Debug, Default)]
struct State {
    share: Share,
    /// F of its last packet served.
    served: u128,
    /// S and F of its first packet.
    first: (u128, u128),
}

/// The tags S and F of the packets that are first in their flows.
///
/// A packet is tagged when it becomes the first of its flow, with V of its arrival noted beside it: what was dropped
/// before it moves no tag.
pub(super) struct Tags {
    pub gps: Gps,
    weights: Weights,
    flows: Vec<State>,
    /// The largest F served.
    largest: u128,
}

impl Tags {
    /// Nothing has arrived.
    pub fn new(gps: Gps, weights: Weights) -> Tags {
        Tags { gps, weights, flows: Vec::new(), largest: 0 }
    }

    /// The link is idle.
    pub fn idle(&mut self) {
        self.gps.idle(self.largest);
    }

    /// `parcel` arrives; `V(now)`.
    pub fn arrives(&mut self, now: Time, parcel: &Parcel) -> u128 {
        let share = self.weights.of(parcel.class);
        self.gps.arrive(now, parcel.flow, share, parcel.len)
    }

    /// Tags the first packet of `flow`: (S, F), if there is one.
    pub fn tag_first(&mut self, flow: u32, flows: &Flows) -> Option<(u128, u128)> {
        let (parcel, arrival) = flows.first(flow)?;
        let state = reach(&mut self.flows, flow);
        if flows.packets(flow) == 1 {
            // The weight of the fluid system, which changes only when the flow has nothing left there.
            state.share = self.gps.share(flow).unwrap_or(self.weights.of(parcel.class));
        }
        let begin = state.served.max(arrival);
        state.first = (begin, begin + state.share.tags(parcel.len));
        Some(state.first)
    }

    /// The first packet of `flow` has been taken.
    pub fn serve(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        state.served = state.first.1;
        self.largest = self.largest.max(state.served);
    }
}

/// Who of those that wait is next, by the tags of their first packets.
pub(super) trait Order {
    /// The first packet of `flow` has these tags S and F.
    fn wait(&mut self, flow: u32, tags: (u128, u128));
    /// `flow` has nothing that waits.
    fn leave(&mut self, flow: u32);
    /// The flow to serve at `now`.
    fn next(&mut self, tags: &mut Tags, now: Time) -> Option<u32>;
}

/// A scheduler that serves packets by their tags in the fluid system.
pub(super) struct ByTags<O> {
    tags: Tags,
    order: O,
}

impl<O: Order> ByTags<O> {
    pub fn new(tags: Tags, order: O) -> ByTags<O> {
        ByTags { tags, order }
    }

    fn tag_first(&mut self, flow: u32, flows: &Flows) {
        match self.tags.tag_first(flow, flows) {
            Some(tags) => self.order.wait(flow, tags),
            None => self.order.leave(flow),
        }
    }
}

impl<O: Order + Send> Scheduler for ByTags<O> {
    fn idle(&mut self, _now: Time) {
        self.tags.idle();
    }

    fn arrives(&mut self, now: Time, parcel: &Parcel) -> u128 {
        self.tags.arrives(now, parcel)
    }

    fn arrived(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        if flows.packets(parcel.flow) == 1 {
            self.tag_first(parcel.flow, flows);
        }
    }

    fn lost(&mut self, now: Time, parcel: &Parcel, flows: &Flows) {
        self.tags.gps.lose(now, parcel.flow, parcel.len);
        self.tag_first(parcel.flow, flows);
    }

    fn choose(&mut self, now: Time, _flows: &Flows) -> Option<u32> {
        self.order.next(&mut self.tags, now)
    }

    fn served(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        self.tags.serve(parcel.flow);
        self.tag_first(parcel.flow, flows);
    }
}

/// Smallest F first.
#[derive(Default)]
struct Finish(Heap<u128>);

impl Order for Finish {
    fn wait(&mut self, flow: u32, (_, f): (u128, u128)) {
        self.0.set(flow, f);
    }

    fn leave(&mut self, flow: u32) {
        self.0.remove(flow);
    }

    fn next(&mut self, _tags: &mut Tags, _now: Time) -> Option<u32> {
        self.0.first().map(|(_, flow)| flow)
    }
}
