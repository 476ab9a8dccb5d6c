//! Weighted fair queueing: the packet that would leave the fluid system first is next.
//!
//! Demers, Keshav and Shenker, Analysis and simulation of a fair queueing algorithm, SIGCOMM 1989 (equal weights, "bit
//! rounds"); Parekh and Gallager 1993 (packet GPS). Virtual time is exact: `gps.rs`.

use super::flows::{reach, Flows};
use super::gps::Gps;
use super::heap::Heap;
use super::weights::{Share, Weights};
use super::{Discipline, Fair, Scheduler, DROP, DROP_END, PER_FLOW_LIMIT};
use crate::packet::Parcel;
use crate::time::Time;

pub(super) const ENTRY: Discipline = Discipline {
    name: "wfq",
    source:
        "Demers, Keshav and Shenker, SIGCOMM 1989; Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3), 1993",
    summary: "packet GPS: the packet that would leave a fluid fair server first is next",
    params: &[DROP, DROP_END, PER_FLOW_LIMIT],
    default_limit: None,
    build: |p, site| {
        let weights = Weights::new(&site)?;
        let wfq = Wfq { tags: Tags::new(Gps::new(&site, &weights)?, weights), next: Heap::default() };
        Fair::boxed(p, &site, wfq)
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

struct Wfq {
    tags: Tags,
    /// Flows that wait, by F of their first packet.
    next: Heap<u128>,
}

impl Wfq {
    fn tag_first(&mut self, flow: u32, flows: &Flows) {
        match self.tags.tag_first(flow, flows) {
            Some((_, f)) => self.next.set(flow, f),
            None => self.next.remove(flow),
        }
    }
}

impl Scheduler for Wfq {
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

    fn choose(&mut self, _now: Time, _flows: &Flows) -> Option<u32> {
        self.next.first().map(|(_, flow)| flow)
    }

    fn served(&mut self, _now: Time, parcel: &Parcel, flows: &Flows) {
        self.tags.serve(parcel.flow);
        self.tag_first(parcel.flow, flows);
    }
}
